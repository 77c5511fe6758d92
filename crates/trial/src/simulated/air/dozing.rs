//! For how long a station that saves power is awake: from the power management bit of its frames, and the beacons.

use std::time::Duration;

use lasthop_packet::Instant;

/// The states of a station in power-save mode, as its access point knows them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dozing {
    /// Since when it dozes, if it does.
    since: Option<Instant>,
    /// For how long it has dozed before.
    dozed: Duration,
    /// For how long it was awake for beacons while it dozed.
    for_beacons: Duration,
}

impl Dozing {
    /// Its time begins again; its state stays.
    pub(super) fn restart(&mut self) {
        *self = Self { since: self.since.map(|_| Instant::ZERO), ..Self::default() };
    }

    /// A frame of the station was acknowledged, which says whether it dozes from now on (IEEE 802.11-2020, 9.2.4.1.7).
    pub(super) fn set(&mut self, dozes: bool, now: Instant) {
        match (self.since, dozes) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.dozed += now.since(since);
                self.since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// It wakes for a beacon.
    pub(super) fn wake_for(&mut self, beacon: Duration) {
        if self.since.is_some() {
            self.for_beacons += beacon;
        }
    }

    /// For how long it was awake until now.
    pub(super) fn awake(&self, now: Instant) -> Duration {
        let dozed = self.dozed + self.since.map_or(Duration::ZERO, |since| now.since(since));
        now.since(Instant::ZERO).saturating_sub(dozed) + self.for_beacons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_station_is_awake_except_while_it_dozes_between_beacons() {
        let mut dozing = Dozing::default();
        dozing.wake_for(Duration::from_millis(1));
        assert_eq!(dozing.awake(at(10)), Duration::from_millis(10));
        dozing.set(true, at(20));
        dozing.set(true, at(25));
        dozing.wake_for(Duration::from_millis(1));
        assert_eq!(dozing.awake(at(120)), Duration::from_millis(21));
        dozing.set(false, at(120));
        dozing.set(false, at(130));
        assert_eq!(dozing.awake(at(150)), Duration::from_millis(51));
    }

    #[test]
    fn a_station_that_dozes_when_a_run_begins_dozes_on() {
        let mut dozing = Dozing::default();
        dozing.set(true, at(900));
        dozing.restart();
        assert_eq!(dozing.awake(at(50)), Duration::ZERO);
        dozing.set(false, at(50));
        assert_eq!(dozing.awake(at(60)), Duration::from_millis(10));
    }
}
