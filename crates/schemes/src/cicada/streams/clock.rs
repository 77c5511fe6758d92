//! The rate of a source's timestamps, which no header states.

use std::time::Duration;

use lasthop_packet::Instant;

/// The duration of one measurement.
const SPAN: Duration = Duration::from_secs(4);

/// A pause of this length ends a measurement: some sources stop their clock in silence.
const PAUSE: Duration = Duration::from_secs(1);

/// Rates of audio and video clocks (RFC 3551, tables 4 and 5; also 24 and 96 kHz), in hertz.
const RATES: [u32; 10] = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000, 96_000];

/// A measurement fits a rate if it differs by at most this fraction of it (1/34); the rates differ
/// by twice as much.
const FRACTION: u64 = 34;

/// A source's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// The start of the measurement: ticks, and their arrival time.
    origin: Option<(u64, Instant)>,
    /// The arrival time of the last ticks.
    last: Option<Instant>,
    /// The result of the last measurement.
    found: Option<u32>,
    rate: Option<u32>,
}

impl Clock {
    /// The rate in hertz, once two consecutive measurements agree.
    pub(super) const fn rate(&self) -> Option<u32> {
        self.rate
    }

    /// Records a packet with this timestamp, extended beyond 32 bits.
    pub(super) fn on_packet(&mut self, ticks: u64, now: Instant) {
        let has_paused = self.last.replace(now).is_none_or(|last| now.since(last) >= PAUSE);
        let Some((first, began)) = self.origin.filter(|_| !has_paused && self.rate.is_none()) else {
            self.origin = Some((ticks, now));
            return;
        };
        let elapsed = now.since(began);
        if elapsed < SPAN {
            return;
        }
        let passed = u128::from(ticks.saturating_sub(first));
        let measured = u64::try_from(passed * 1000 / elapsed.as_millis().max(1)).unwrap_or(u64::MAX);
        let fits = |rate: &u32| u64::from(*rate).abs_diff(measured) <= u64::from(*rate) / FRACTION;
        let found = RATES.into_iter().find(fits);
        if found.is_some() && found == self.found {
            self.rate = found;
        }
        (self.found, self.origin) = (found, Some((ticks, now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate found after packets every 20 ms with these timestamps.
    fn learned(ticks: impl Fn(u64) -> u64, packets: u64) -> Option<u32> {
        let mut clock = Clock::default();
        for packet in 0..packets {
            clock.on_packet(ticks(packet), Instant::from_millis(20 * packet));
        }
        clock.rate()
    }

    #[test]
    fn a_rate_is_known_once_two_measurements_agree() {
        for rate in RATES {
            assert_eq!(learned(|packet| packet * u64::from(rate) / 50, 300), None, "too early");
            assert_eq!(learned(|packet| packet * u64::from(rate) / 50, 500), Some(rate));
        }
    }

    #[test]
    fn timestamps_without_a_clock_have_no_rate() {
        assert_eq!(learned(|packet| packet, 5000), None, "a counter of packets");
        assert_eq!(learned(|_| 7, 5000), None);
        assert_eq!(learned(|packet| packet * packet * 100, 5000), None);
        assert_eq!(learned(|packet| u64::MAX - packet, 5000), None);
        assert_eq!(learned(|packet| if packet < 100 { 7 } else { u64::MAX }, 5000), None, "below zero");
    }

    #[test]
    fn silence_does_not_count() {
        let mut clock = Clock::default();
        let mut now = Instant::ZERO;
        // Talkspurts of half a second, with a clock that stops between them.
        for packet in 0..2000 {
            now += if packet % 25 == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) };
            clock.on_packet(packet * 160, now);
        }
        assert_eq!(clock.rate(), None);
    }
}
