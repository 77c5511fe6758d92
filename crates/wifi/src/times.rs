//! The standard's times, as a cell has them.

use lasthop_packet::Instant;

/// Durations in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) slot: u64,
    pub(crate) sifs: u64,
    pub(crate) difs: u64,
    pub(crate) eifs: u64,
    pub(crate) timeout: u64,
    pub(crate) carrier_sense_delay: u64,
    /// From the end of an RTS to the moment when a NAV that it has set may be reset: two SIFS, a
    /// CTS, `aPHY-RX-START-Delay` and two slots (10.3.2.4 of IEEE 802.11-2020). `None`: never.
    pub(crate) nav_reset: Option<u64>,
}

impl Times {
    /// From when slots count after what ended at `end`: after an inter-frame space, and DIFS after
    /// a NAV.
    pub(crate) fn slots_from(&self, end: Instant, ifs: u64, nav: Instant) -> Instant {
        let after_nav = if nav > end { nav.after_nanos(self.difs) } else { end };
        end.after_nanos(ifs).max(after_nav)
    }
}
