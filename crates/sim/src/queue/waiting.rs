//! Packets that wait, first in, first out.

use std::collections::VecDeque;

use lasthop_packet::Instant;

use crate::packets::PacketKey;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) key: PacketKey,
    pub(crate) len: u32,
    pub(crate) since: Instant,
}

/// First in, first out.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    packets: VecDeque<Waiting>,
    octets: u64,
}

impl Fifo {
    #[inline]
    pub(crate) fn push(&mut self, waiting: Waiting) {
        self.octets += u64::from(waiting.len);
        self.packets.push_back(waiting);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.packets.pop_front()?;
        self.octets -= u64::from(waiting.len);
        Some(waiting)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Packets and octets.
    #[inline]
    pub(crate) fn size(&self) -> (usize, u64) {
        (self.packets.len(), self.octets)
    }
}
