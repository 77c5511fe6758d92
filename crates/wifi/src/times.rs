//! The timing parameters of a cell.

use lasthop_packet::Instant;

/// The timing parameters of a cell, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) slot: u64,
    pub(crate) sifs: u64,
    /// DIFS, or the AIFS of `QoS` stations.
    pub(crate) difs: u64,
    pub(crate) eifs: u64,
    /// The TXOP limit; 0: one exchange.
    pub(crate) txop: u64,
    pub(crate) timeout: u64,
    pub(crate) carrier_sense_delay: u64,
    /// `NAVTimeout`, from the end of an RTS to the moment when a NAV that it has set may be reset:
    /// two SIFS, a CTS, `aRxPHYStartDelay` and two slots (IEEE 802.11-2020, 10.3.2.4). `None`:
    /// never.
    pub(crate) nav_reset: Option<u64>,
}

impl Times {
    /// When slots begin to count after a transmission that ended at `end`: after the interframe
    /// space `ifs`, and not before the DIFS after the NAV.
    pub(crate) fn slots_from(&self, end: Instant, ifs: u64, nav: Instant) -> Instant {
        let after_nav = if nav > end { nav.after_nanos(self.difs) } else { end };
        end.after_nanos(ifs).max(after_nav)
    }
}
