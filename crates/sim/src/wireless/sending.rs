//! A frame at its sender.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::packets::PacketKey;

/// A frame from its first transmission to its fate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) key: PacketKey,
    pub(crate) len: u32,
    pub(crate) number: u32,
    pub(crate) transmissions: u32,
    pub(crate) queueing: Duration,
    pub(crate) air_time: Duration,
    /// When the latest transmission began.
    pub(crate) began: Instant,
    /// Whether the transmission under way has been confirmed.
    pub(crate) confirmed: bool,
    /// Whether a copy has reached, or will reach, the receiver.
    pub(crate) copied: bool,
}
