//! Airtime queue limits: how much expected air time may be with the driver (`ieee80211_txq_airtime_check` in Linux's mac80211).

use lasthop_wifi::{MacFrame, Receiver};

use crate::queue::AirtimeLimits;

/// What is expected of one frame has ten bits, in steps of 4 us.
const MOST: u32 = 4_095;

/// Expected air time with the driver, in microseconds.
pub(super) struct Pending {
    limits: Option<AirtimeLimits>,
    of_all: i64,
    /// By station.
    of_each: Vec<i64>,
    /// By key: that of a frame.
    of_frame: Vec<u32>,
}

impl Pending {
    pub(super) const fn new(limits: Option<AirtimeLimits>) -> Self {
        Self { limits, of_all: 0, of_each: Vec::new(), of_frame: Vec::new() }
    }

    /// That of the frames to a station.
    pub(super) fn of(&self, station: usize) -> i64 {
        self.of_each.get(station).copied().unwrap_or_default()
    }

    /// Whether the driver may take a frame to a station.
    pub(super) fn allows(&self, station: usize) -> bool {
        let Some(AirtimeLimits { low, high, threshold }) = self.limits else { return true };
        let its = self.of(station);
        let micros = |limit: std::time::Duration| limit.as_micros() as i64;
        its < micros(low) || (self.of_all < micros(threshold) && its < micros(high))
    }

    /// The driver takes a frame. `expected`: the air time in microseconds that is expected of it.
    pub(super) fn take(&mut self, station: usize, key: u32, expected: u32) {
        if self.limits.is_none() {
            return;
        }
        let expected = expected.min(MOST) / 4 * 4;
        let (place, index) = (station, key as usize);
        if self.of_each.len() <= place {
            self.of_each.resize(place + 1, 0);
        }
        if self.of_frame.len() <= index {
            self.of_frame.resize(index + 1, 0);
        }
        self.of_frame[index] = expected;
        self.of_each[place] += i64::from(expected);
        self.of_all += i64::from(expected);
    }

    /// The driver is done with a frame.
    pub(super) fn complete(&mut self, frame: MacFrame) {
        let Receiver::Station(to) = frame.to else { return };
        let Some(expected) = self.of_frame.get_mut(frame.key as usize).map(std::mem::take) else { return };
        self.of_each[to.index()] -= i64::from(expected);
        self.of_all -= i64::from(expected);
    }
}

#[cfg(test)]
mod tests {
    use lasthop_wifi::StationId;

    use super::*;

    // `ieee80211_txq_airtime_check`: below the lower limit always; below the upper one while all have less than the threshold.
    #[test]
    fn the_upper_limit_holds_while_all_together_have_little() {
        let mut pending = Pending::new(Some(AirtimeLimits::default()));
        let mut key = 0;
        let mut take = |pending: &mut Pending, station, micros| {
            pending.take(station, key, micros);
            key += 1;
        };
        (0..3).for_each(|_| take(&mut pending, 0, 3_999));
        assert_eq!((pending.of(0), pending.allows(0)), (11_988, true));
        take(&mut pending, 0, 12);
        assert_eq!((pending.of(0), pending.allows(0), pending.allows(1)), (12_000, false, true));
        (0..3).for_each(|_| take(&mut pending, 1, 4_000));
        // 24 ms in all: only the lower limit counts.
        assert!(pending.allows(2) && !pending.allows(1));
        take(&mut pending, 2, 4_000);
        assert!(pending.allows(2));
        take(&mut pending, 2, 1_000);
        assert!(!pending.allows(2));
        let frame = MacFrame { to: Receiver::Station(StationId::from_index(0)), key: 0, octets: 1_500 };
        pending.complete(frame);
        assert_eq!(pending.of(0), 12_000 - 3_996);
        pending.complete(frame);
        assert_eq!(pending.of(0), 12_000 - 3_996, "it is done with once");
    }

    #[test]
    fn without_limits_everything_is_allowed() {
        let mut pending = Pending::new(None);
        (0..100).for_each(|key| pending.take(0, key, 4_000));
        assert!(pending.allows(0));
    }
}
