//! Pieces of sequence space, what is known of each, and their list in sequence order.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use lasthop_packet::{Instant, Seq};

use super::memory;
use super::transmission::{Sent, behind};

/// What is known of a piece of sequence space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Sent and not known to be delivered or lost.
    InFlight,
    /// The receiver has it, above a hole.
    Sacked,
    /// Lost, and not sent again: there was nothing to repair it from, or it was retransmitted as
    /// often as allowed.
    Lost,
}

/// A piece of sequence space whose octets have the same fate.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Its first number.
    pub seq: Seq,
    /// The number behind it.
    pub end: Seq,
    /// What is known of it.
    pub state: State,
    /// Local retransmissions since the sender last sent it.
    pub copies: u32,
    /// Whether the hole is the sender's to repair: it has retransmitted it, or we kept no copy.
    pub by_sender: bool,
    /// Whether a timer sent a copy: an acknowledgment then proves the delivery of the first
    /// transmission only.
    pub(super) probed: bool,
    /// Whether it left more than once (Karn's rule: it measures no round-trip time).
    pub(super) ambiguous: bool,
    /// The serial number of its first octet, when it last left.
    pub(super) serial: u64,
    /// The same of the first transmission that may be the one to arrive: it is no more than that
    /// which an arrival proves, or a transmission in vain would make another one, and that the
    /// next.
    pub(super) proves: u64,
    /// When it last left.
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
        behind(self.serial, self.octets())
    }

    pub(super) fn proves_end(&self) -> u64 {
        behind(self.proves, self.octets())
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
    /// The index of the first range that ends behind `seq`. Mostly the first, or behind the last.
    pub(super) fn first_behind(&self, seq: Seq) -> usize {
        match (self.front(), self.back()) {
            (Some(front), _) if front.end.after(seq) => 0,
            (_, Some(back)) if !back.end.after(seq) => self.len(),
            _ => self.partition_point(|range| !range.end.after(seq)),
        }
    }

    /// The index of the first range that is on its way by this transmission; `None` if all of it
    /// was delivered, lost, or sent again.
    pub(super) fn outstanding(&self, sent: &Sent) -> Option<usize> {
        // Mostly all of it was acknowledged.
        if self.front().is_none_or(|front| !front.seq.before(sent.end)) {
            return None;
        }
        let serials = sent.serials();
        let is_on_its_way = |range: &Range| range.state == State::InFlight && serials.contains(&range.serial);
        let from = self.first_behind(sent.seq);
        let within = self.range(from..).take_while(|range| range.seq.before(sent.end));
        within.into_iter().position(is_on_its_way).map(|at| from + at)
    }

    /// Takes off what the first range has before `seq`, which lies inside it.
    pub(super) fn cut_front(&mut self, seq: Seq) -> Option<Range> {
        let front = self.front_mut()?;
        let (whole, octets) = (*front, u64::from(seq - front.seq));
        front.seq = seq;
        (front.serial, front.proves) = (behind(whole.serial, octets), behind(whole.proves, octets));
        Some(Range { end: seq, ..whole })
    }

    /// Divides a range at `seq`, which lies inside it.
    pub(super) fn split(&mut self, at: usize, seq: Seq) {
        let range = self[at];
        let front = u64::from(seq - range.seq);
        let (serial, proves) = (behind(range.serial, front), behind(range.proves, front));
        self[at].end = seq;
        self.insert(at + 1, Range { seq, serial, proves, ..range });
    }

    /// Joins a range that the receiver has with such neighbours; the index of the whole.
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

    /// Octets of memory.
    pub(super) fn allocated(&self) -> usize {
        self.capacity() * size_of::<Range>()
    }

    /// Gives memory back.
    pub(super) fn shrink(&mut self) {
        memory::shrink(&mut self.0);
    }
}
