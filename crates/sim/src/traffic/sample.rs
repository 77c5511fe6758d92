//! A packet of voice or video.

use lasthop_packet::Instant;

/// A packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Octets of its payload.
    pub(crate) octets: u32,
    /// RTP's marker bit.
    pub(crate) marker: bool,
    /// When it was sampled: what RTP's timestamp tells.
    pub(crate) sampled: Instant,
}
