//! Pieces of sequence space, what is known of each, and their list in sequence order.

use lasthop_packet::{Instant, Seq};

use super::Scoreboard;

/// What is known of a piece of sequence space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Sent and not known to be delivered or lost.
    InFlight,
    /// The receiver has it, above a hole.
    Sacked,
    /// Lost, and not sent again: there was nothing to repair it from, or it was retransmitted as often as allowed.
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
    /// Whether the sender retransmitted it: the sender knows of this hole.
    pub by_sender: bool,
    /// Whether a timer sent a copy: an acknowledgment then proves the delivery of the first transmission only.
    pub(super) probed: bool,
    /// Whether it left more than once (Karn's rule: it measures no round-trip time).
    pub(super) ambiguous: bool,
    /// The serial number of its first octet, when it last left.
    pub(super) serial: u64,
    /// The same of the first transmission that may be the one to arrive: it is no more than that which an arrival proves, or a
    /// transmission in vain would make another one, and that the next.
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
        self.serial + self.octets()
    }

    pub(super) fn proves_end(&self) -> u64 {
        self.proves + self.octets()
    }
}

impl Scoreboard {
    /// Divides the range that `seq` lies inside, if there may be more than are here.
    pub fn split_at(&mut self, seq: Seq, splits: usize) {
        let at = self.first_behind(seq);
        let inside = self.ranges.get(at).is_some_and(|range| range.seq.before(seq));
        if inside && self.ranges.len() < splits {
            self.split(at, seq);
        }
    }

    /// The range that `seq` lies in.
    pub fn range_at(&self, seq: Seq) -> Option<&Range> {
        self.ranges.get(self.first_behind(seq)).filter(|range| !range.seq.after(seq))
    }

    /// Divides a range at `seq`, which lies inside it.
    pub(super) fn split(&mut self, at: usize, seq: Seq) {
        let range = self.ranges[at];
        let front = u64::from(seq - range.seq);
        let (serial, proves) = (range.serial + front, range.proves + front);
        self.ranges[at].end = seq;
        self.ranges.insert(at + 1, Range { seq, serial, proves, ..range });
    }

    /// Joins a range that the receiver has with such neighbours; the index of the whole.
    pub(super) fn merge(&mut self, mut at: usize) -> usize {
        let joins = |a: Option<&Range>, b: Option<&Range>| {
            a.zip(b).is_some_and(|(a, b)| a.state == State::Sacked && b.state == a.state && a.end == b.seq)
        };
        if at > 0 && joins(self.ranges.get(at - 1), self.ranges.get(at)) {
            at -= 1;
            self.ranges[at].end = self.ranges[at + 1].end;
            self.ranges.remove(at + 1);
        }
        if joins(self.ranges.get(at), self.ranges.get(at + 1)) {
            self.ranges[at].end = self.ranges[at + 1].end;
            self.ranges.remove(at + 1);
        }
        at
    }

    /// The index of the first range that ends behind `seq`. Mostly the first, or behind the last.
    pub(super) fn first_behind(&self, seq: Seq) -> usize {
        match (self.ranges.front(), self.ranges.back()) {
            (Some(front), _) if front.end.after(seq) => 0,
            (_, Some(back)) if !back.end.after(seq) => self.ranges.len(),
            _ => self.ranges.partition_point(|range| !range.end.after(seq)),
        }
    }
}
