//! A packet of voice or video.

use lasthop_packet::Instant;

/// A packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Octets of its payload.
    pub octets: u32,
    /// RTP's marker bit.
    pub marker: bool,
    /// When it was sampled: what RTP's timestamp tells.
    pub sampled: Instant,
}
