//! The round-trip time measured by a receiver that sends no data.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::arrival::Echo;

/// An estimate as in Linux 6.18 (`tcp_rcv_rtt_update`): the smoothed age of echoed timestamps; and the
/// minimum time in which a complete window arrived, which is a round trip if the sender fills the window,
/// and otherwise longer.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    /// In nanoseconds.
    estimate: Option<u64>,
    /// The last echoed timestamp: each counts once.
    echoed: u32,
    /// When the window being timed was advertised, and its end.
    timed: Option<(Instant, Seq)>,
}

/// The maximum valid age of an echoed timestamp, in milliseconds.
const OLDEST_ECHO: u32 = i32::MAX as u32 / 1_000_000;

impl RoundTrip {
    pub(super) fn estimate(&self) -> Option<Duration> {
        self.estimate.map(Duration::from_nanos)
    }

    /// A full segment echoes a timestamp. While there is unread data, the application causes a delay: then
    /// only shorter samples count.
    pub(super) const fn on_echo(&mut self, echo: Echo, is_read: bool) {
        // An echo of 0 is none.
        if echo.value == self.echoed || echo.value == 0 {
            return;
        }
        self.echoed = echo.value;
        if echo.age > 0 && echo.age <= OLDEST_ECHO {
            self.update(echo.age as u64 * 1_000_000, is_read);
        }
    }

    /// Data up to `next` has arrived, and `window` octets after it are advertised.
    pub(super) fn on_data(&mut self, next: Seq, window: u32, now: Instant) {
        match self.timed {
            Some((_, end)) if next.before(end) => return,
            Some((advertised, _)) => self.update((now.since(advertised).as_nanos() as u64).max(1), false),
            None => {}
        }
        self.timed = Some((now, next + window));
    }

    const fn update(&mut self, sample: u64, may_rise: bool) {
        self.estimate = match self.estimate {
            Some(estimate) if sample >= estimate => {
                Some(if may_rise { estimate - estimate / 8 + sample / 8 } else { estimate })
            }
            _ => Some(sample),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(value: u32, age: u32) -> Echo {
        Echo { value, age }
    }

    #[test]
    fn a_shorter_time_counts_at_once_and_a_longer_one_by_an_eighth() {
        let mut rtt = RoundTrip::default();
        rtt.on_echo(echo(1, 40), true);
        rtt.on_echo(echo(2, 24), true);
        assert_eq!(rtt.estimate(), Some(Duration::from_millis(24)));
        rtt.on_echo(echo(3, 40), true);
        assert_eq!(rtt.estimate(), Some(Duration::from_millis(26)));
    }

    #[test]
    fn an_echo_counts_once_and_only_lowers_the_estimate_with_unread_data() {
        let mut rtt = RoundTrip::default();
        rtt.on_echo(echo(0, 9), true);
        assert_eq!(rtt.estimate(), None, "0 is no echo");
        rtt.on_echo(echo(1, 24), true);
        rtt.on_echo(echo(1, 80), true);
        rtt.on_echo(echo(2, 80), false);
        rtt.on_echo(echo(3, u32::MAX), true);
        assert_eq!(rtt.estimate(), Some(Duration::from_millis(24)));
    }

    #[test]
    fn without_timestamps_the_shortest_time_for_a_window_counts() {
        let mut rtt = RoundTrip::default();
        let at = Instant::from_millis;
        rtt.on_data(Seq(1000), 5000, at(0));
        rtt.on_data(Seq(5999), 5000, at(40));
        assert_eq!(rtt.estimate(), None);
        rtt.on_data(Seq(6000), 5000, at(50));
        assert_eq!(rtt.estimate(), Some(Duration::from_millis(50)));
        rtt.on_data(Seq(11_000), 5000, at(150));
        assert_eq!(rtt.estimate(), Some(Duration::from_millis(50)));
        rtt.on_data(Seq(16_000), 5000, at(180));
        assert_eq!(rtt.estimate(), Some(Duration::from_millis(30)));
    }
}
