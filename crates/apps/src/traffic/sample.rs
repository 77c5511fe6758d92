//! A packet of voice or video.

use lasthop_packet::Instant;

/// A packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The octets of its payload.
    pub octets: u32,
    /// The RTP marker bit.
    pub marker: bool,
    /// The sampling time, for the RTP timestamp.
    pub sampled: Instant,
}
