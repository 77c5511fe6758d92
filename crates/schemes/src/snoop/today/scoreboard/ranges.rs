//! Ranges of sequence space with their states, and their list in sequence order.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use lasthop_packet::{Instant, Seq};

use super::memory;
use super::transmission::{Sent, serial_after};

/// The state of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Sent and not known to be delivered or lost.
    InFlight,
    /// Selectively acknowledged.
    Sacked,
    /// Lost, and not sent again: there was no cached copy, or it was retransmitted as often as
    /// allowed.
    Lost,
}

/// A range of sequence space whose octets have the same state.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The first sequence number.
    pub seq: Seq,
    /// The end, exclusive.
    pub end: Seq,
    /// The state of its octets.
    pub state: State,
    /// Local retransmissions since the sender last sent it.
    pub copies: u32,
    /// Whether the hole is left to the sender: it has retransmitted it, or there is no cached copy.
    pub by_sender: bool,
    /// Whether the timer sent a copy: an acknowledgment then proves only the delivery of the first
    /// transmission.
    pub(super) probed: bool,
    /// Whether it was sent more than once (Karn's rule: it gives no round-trip time).
    pub(super) ambiguous: bool,
    /// The serial number of the first octet in its last transmission.
    pub(super) serial: u64,
    /// The serial number of the first octet in the earliest transmission that may arrive. An
    /// arrival proves no more than this: otherwise a needless transmission would cause another one,
    /// and that the next.
    pub(super) proves: u64,
    /// The time of the last transmission.
    pub(super) sent: Instant,
    /// When it was first known to be missing.
    pub(super) missing_since: Option<Instant>,
}

impl Range {
    /// Octets of sequence space.
    pub fn octets(&self) -> u64 {
        u64::from(self.end - self.seq)
    }

    pub(super) fn serial_end(&self) -> u64 {
        serial_after(self.serial, self.octets())
    }

    pub(super) fn proves_end(&self) -> u64 {
        serial_after(self.proves, self.octets())
    }
}

/// Ranges in sequence order.
#[derive(Debug, Default)]
pub(super) struct Ranges(VecDeque<Range>);

impl Deref for Ranges {
    type Target = VecDeque<Range>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Ranges {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Ranges {
    /// The index of the first range that ends after `seq`. Usually 0 or the length.
    pub(super) fn first_ending_after(&self, seq: Seq) -> usize {
        match (self.front(), self.back()) {
            (Some(front), _) if front.end.after(seq) => 0,
            (_, Some(back)) if !back.end.after(seq) => self.len(),
            _ => self.partition_point(|range| !range.end.after(seq)),
        }
    }

    /// The index of the first range that is in flight by this transmission; `None` if all of it was
    /// delivered, lost, or sent again.
    pub(super) fn outstanding(&self, sent: &Sent) -> Option<usize> {
        // Usually all of it was acknowledged.
        if self.front().is_none_or(|front| !front.seq.before(sent.end)) {
            return None;
        }
        let serials = sent.serials();
        let is_on_its_way = |range: &Range| range.state == State::InFlight && serials.contains(&range.serial);
        let from = self.first_ending_after(sent.seq);
        let within = self.range(from..).take_while(|range| range.seq.before(sent.end));
        within.into_iter().position(is_on_its_way).map(|at| from + at)
    }

    /// Splits off the part of the first range below `seq`, which lies inside it.
    pub(super) fn cut_front(&mut self, seq: Seq) -> Option<Range> {
        let front = self.front_mut()?;
        let (original, octets) = (*front, u64::from(seq - front.seq));
        front.seq = seq;
        (front.serial, front.proves) =
            (serial_after(original.serial, octets), serial_after(original.proves, octets));
        Some(Range { end: seq, ..original })
    }

    /// Splits a range at `seq`, which lies inside it.
    pub(super) fn split(&mut self, at: usize, seq: Seq) {
        let range = self[at];
        let front = u64::from(seq - range.seq);
        let (serial, proves) = (serial_after(range.serial, front), serial_after(range.proves, front));
        self[at].end = seq;
        self.insert(at + 1, Range { seq, serial, proves, ..range });
    }

    /// Merges a selectively acknowledged range with adjacent ones. Returns the index of the result.
    pub(super) fn merge(&mut self, mut at: usize) -> usize {
        let joins = |a: Option<&Range>, b: Option<&Range>| {
            a.zip(b).is_some_and(|(a, b)| a.state == State::Sacked && b.state == a.state && a.end == b.seq)
        };
        if at > 0 && joins(self.get(at - 1), self.get(at)) {
            at -= 1;
            self[at].end = self[at + 1].end;
            self.remove(at + 1);
        }
        if joins(self.get(at), self.get(at + 1)) {
            self[at].end = self[at + 1].end;
            self.remove(at + 1);
        }
        at
    }

    /// Octets of allocated memory.
    pub(super) fn allocated(&self) -> usize {
        self.capacity() * size_of::<Range>()
    }

    /// Releases unneeded memory.
    pub(super) fn shrink(&mut self) {
        memory::shrink(&mut self.0);
    }
}
