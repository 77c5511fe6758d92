//! Transmissions in sending order, as many as may still be found lost.

use std::collections::VecDeque;

use lasthop_packet::Seq;

use super::memory;
use super::transmission::{NONE, Sent};

/// Transmissions that are kept beside those that are outstanding, before the log is searched for
/// others.
const SPARE: usize = 16;

/// The transmissions of a flow.
#[derive(Debug)]
pub(super) struct Log {
    sent: VecDeque<Sent>,
    next_serial: u64,
}

impl Log {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { sent: VecDeque::new(), next_serial: NONE + 1 }
    }

    /// The number of transmissions.
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    /// Octets of memory that it grows to, at most, with so many ranges: it is trimmed at twice as
    /// many entries and some, and a deque doubles.
    pub(super) const fn most(ranges: usize) -> usize {
        2 * (2 * ranges + SPARE) * size_of::<Sent>()
    }

    /// Octets of memory.
    pub(super) fn allocated(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>()
    }

    /// The earliest.
    pub(super) fn front(&self) -> Option<Sent> {
        self.sent.front().copied()
    }

    /// Forgets the earliest.
    pub(super) fn pop_front(&mut self) {
        self.sent.pop_front();
    }

    /// Puts one more in; the serial number of its first octet.
    pub(super) fn push(&mut self, seq: Seq, end: Seq) -> u64 {
        let serial = self.next_serial;
        self.next_serial += u64::from(end - seq);
        self.sent.push_back(Sent { serial, seq, end });
        serial
    }

    /// Forgets what is not outstanding any more, once there are more than `many`. The front alone
    /// would not do: one segment that stays in flight there would keep everything that the sender
    /// sends again and again behind it. `many` being twice what can be outstanding, half of the log
    /// goes at least, and the search is O(1) for each transmission.
    pub(super) fn trim(&mut self, many: usize, is_outstanding: impl Fn(&Sent) -> bool) {
        if self.sent.len() >= many + SPARE {
            self.sent.retain(is_outstanding);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.sent.clear();
    }

    /// Gives memory back.
    pub(super) fn shrink(&mut self) {
        memory::shrink(&mut self.sent);
    }
}
