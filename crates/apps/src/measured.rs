//! The period over which a goodput is measured.

use lasthop_packet::Instant;

/// The period of a run in which received octets are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The start.
    pub from: Instant,
    /// The end; before the start for a flow or session that never started.
    pub until: Instant,
}

impl Measured {
    /// The rate of `octets` in this period, in bits per second; zero if the period is empty.
    pub fn rate_bps(self, octets: u64) -> f64 {
        let seconds = self.until.since(self.from).as_secs_f64();
        if seconds > 0.0 { octets as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// The smallest period that includes both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), until: self.until.max(other.until) }
    }
}
