//! Packets that wait.

use lasthop_link::Length;
use lasthop_packet::Instant;

use crate::packets::PacketKey;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) key: PacketKey,
    pub(crate) len: u32,
    pub(crate) since: Instant,
}

/// Packets of a queue.
pub(crate) type Fifo = lasthop_link::Fifo<Waiting>;

impl Length for Waiting {
    fn octets(&self) -> u32 {
        self.len
    }
}
