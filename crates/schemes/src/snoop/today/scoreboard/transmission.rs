//! Transmissions, and the serial numbers of their octets.

use std::ops::Range;

use lasthop_packet::Seq;

/// The serial number that stands for no transmission.
pub(super) const NONE: u64 = 0;

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub serial: u64,
    pub seq: Seq,
    pub end: Seq,
}

impl Sent {
    /// The serial numbers of its octets.
    pub fn serials(&self) -> Range<u64> {
        self.serial..self.serial + u64::from(self.end - self.seq)
    }
}

/// The serial number `octets` after `serial`.
pub(super) const fn serial_after(serial: u64, octets: u64) -> u64 {
    if serial == NONE { NONE } else { serial + octets }
}
