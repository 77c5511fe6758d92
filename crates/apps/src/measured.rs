//! The time over which a goodput counts.

use lasthop_packet::Instant;

/// The part of a run for which octets that arrived are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its start.
    pub from: Instant,
    /// Its end; before the start for what never began.
    pub until: Instant,
}

impl Measured {
    /// The rate of so many octets in this time, in bits per second; zero if there is no such time.
    pub fn rate_bps(self, octets: u64) -> f64 {
        let seconds = self.until.since(self.from).as_secs_f64();
        if seconds > 0.0 { octets as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// From the start of the earlier to the end of the later.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), until: self.until.max(other.until) }
    }
}
