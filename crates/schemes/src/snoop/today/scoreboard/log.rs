//! The transmissions that may still be found lost, in sending order.

use std::collections::VecDeque;

use lasthop_packet::Seq;

use super::memory;
use super::transmission::{NONE, Sent};

/// Entries beyond the outstanding transmissions that are kept before the log is searched for stale
/// ones.
const SPARE: usize = 16;

/// The transmissions of a flow.
#[derive(Debug)]
pub(super) struct Log {
    sent: VecDeque<Sent>,
    next_serial: u64,
}

impl Log {
    /// An empty log.
    pub(super) const fn new() -> Self {
        Self { sent: VecDeque::new(), next_serial: NONE + 1 }
    }

    /// The number of transmissions.
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    /// The maximum octets of memory with this number of ranges: the log is trimmed at twice as many
    /// entries plus [`SPARE`], and a deque doubles.
    pub(super) const fn max_octets(ranges: usize) -> usize {
        2 * (2 * ranges + SPARE) * size_of::<Sent>()
    }

    /// Octets of allocated memory.
    pub(super) fn allocated(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>()
    }

    /// The earliest transmission.
    pub(super) fn front(&self) -> Option<Sent> {
        self.sent.front().copied()
    }

    /// Removes the earliest transmission.
    pub(super) fn pop_front(&mut self) {
        self.sent.pop_front();
    }

    /// Adds a transmission. Returns the serial number of its first octet.
    pub(super) fn push(&mut self, seq: Seq, end: Seq) -> u64 {
        let serial = self.next_serial;
        self.next_serial += u64::from(end - seq);
        self.sent.push_back(Sent { serial, seq, end });
        serial
    }

    /// Removes transmissions that are no longer outstanding, once there are `limit` plus [`SPARE`]. To pop
    /// the front alone would not suffice: one segment that stays in flight there would keep all
    /// retransmissions by the sender after it. As `limit` is twice the maximum that can be
    /// outstanding, at least half of the log is removed, and the search is O(1) for each
    /// transmission.
    pub(super) fn trim(&mut self, limit: usize, is_outstanding: impl Fn(&Sent) -> bool) {
        if self.sent.len() >= limit + SPARE {
            self.sent.retain(is_outstanding);
        }
    }

    /// Removes all transmissions.
    pub(super) fn clear(&mut self) {
        self.sent.clear();
    }

    /// Releases unneeded memory.
    pub(super) fn shrink(&mut self) {
        memory::shrink(&mut self.sent);
    }
}
