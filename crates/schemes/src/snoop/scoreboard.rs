//! Which transmissions towards the receiver were delivered and which were lost: an account by octets, in sequence order, and the
//! same transmissions in sending order.
//!
//! Everything that leaves, first or again, gets serial numbers in sending order, one an octet. A wireless hop is first in,
//! first out. So when an acknowledgment shows that an octet with serial number s was delivered, every outstanding octet that left
//! before it is lost: also one that was itself a retransmission, at once. That is RACK (RFC 8985) with the sending order in place
//! of times. A tolerance of some segments covers hops that reorder a little; it grows where copies turn out to be needless.
//!
//! Cost: O(log n) for each block of an acknowledgment, and amortised O(1) for each transmission. Neighbouring ranges that were
//! selectively acknowledged are one range, so that blocks which the receiver repeats cost nothing anew.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use lasthop_packet::{Instant, Seq};

/// How many of our latest copies are remembered, to know the reports of duplicate data that they cause.
const COPIES_REMEMBERED: usize = 8;

/// What so many points for needless copies add to the tolerance is one segment.
const NEEDLESS_A_SEGMENT: u32 = 8;

/// The largest tolerance, in segments: a hop that reorders more is none that this can be used on.
const LARGEST_TOLERANCE: u32 = 64;

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
    probed: bool,
    /// Whether it left more than once (Karn's rule: it measures no round-trip time).
    ambiguous: bool,
    /// The serial number of its first octet, when it last left.
    serial: u64,
    /// The same of the first transmission that may be the one to arrive: it is no more than that which an arrival proves, or a
    /// transmission in vain would make another one, and that the next.
    proves: u64,
    /// When it last left.
    sent: Instant,
    /// When it was first known to be missing.
    missing_since: Option<Instant>,
}

impl Range {
    /// Octets of sequence space.
    pub fn octets(&self) -> u64 {
        u64::from(self.end - self.seq)
    }

    fn serial_end(&self) -> u64 {
        self.serial + self.octets()
    }

    fn proves_end(&self) -> u64 {
        self.proves + self.octets()
    }
}

/// A transmission, in sending order.
#[derive(Clone, Copy, Debug)]
struct Sent {
    serial: u64,
    seq: Seq,
    end: Seq,
}

/// What an acknowledgment showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Octets delivered that were not known to be.
    pub delivered: u64,
    /// When the latest of them left, of those that left once: it measures the round-trip time.
    pub sent: Option<Instant>,
}

/// The account of one flow.
#[derive(Debug)]
pub struct Scoreboard {
    /// By sequence number; none overlaps another. What is not here never left or is not ours to repair.
    ranges: VecDeque<Range>,
    /// By serial number, what is not judged yet.
    sent: VecDeque<Sent>,
    next_serial: u64,
    /// Everything before this serial number, less the tolerance, was delivered or is lost.
    proved: u64,
    /// The same without tolerance: proved by a copy that a timer sent, long after everything before.
    proved_for_certain: u64,
    /// Octets in ranges that are in flight.
    in_flight: u64,
    /// Octets in ranges that the receiver does not have.
    unsacked: u64,
    /// Segments that may overtake, on a hop where copies are needed.
    tolerance: u32,
    /// Four points for each needless copy, less one for each that was needed.
    needless: u32,
    /// Octets of the largest segment seen.
    segment: u32,
    /// Found lost, to be repaired.
    lost: VecDeque<Seq>,
    /// The latest, and whether a loss called for them.
    copies: [(Seq, Seq, bool); COPIES_REMEMBERED],
    next_copy: u8,
    /// The receiver sends SACK blocks.
    pub sack_seen: bool,
    /// Duplicate ACKs in a row, of a receiver that sends no SACK blocks.
    pub duplicates: u32,
    /// Duplicate ACKs to come that a timer's copies may cause.
    pub expected: u32,
}

impl Scoreboard {
    /// An empty account that tolerates so many segments overtaking.
    pub fn new(reordering: u32) -> Self {
        Self {
            ranges: VecDeque::new(),
            sent: VecDeque::new(),
            next_serial: 1,
            proved: 0,
            proved_for_certain: 0,
            in_flight: 0,
            unsacked: 0,
            tolerance: reordering.min(LARGEST_TOLERANCE),
            needless: 0,
            segment: 1,
            lost: VecDeque::new(),
            copies: [(Seq(0), Seq(0), false); COPIES_REMEMBERED],
            next_copy: 0,
            sack_seen: false,
            duplicates: 0,
            expected: 0,
        }
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::foresee`].
    pub fn look(&self) {
        black_box((
            self.ranges.len(),
            self.sent.len(),
            self.lost.len(),
            self.proved,
            self.unsacked,
            self.copies[0],
            self.copies[COPIES_REMEMBERED - 1],
            self.sack_seen,
        ));
    }

    /// Octets on the hop.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Octets of the largest segment seen.
    pub const fn segment(&self) -> u32 {
        self.segment
    }

    /// A segment of so many octets passed.
    pub fn note_segment(&mut self, octets: u32) {
        self.segment = self.segment.max(octets);
    }

    /// Octets that the receiver is not known to have.
    pub const fn unsacked(&self) -> u64 {
        self.unsacked
    }

    /// Whether at most one segment is outstanding and no more was delivered above it: then its ACK may be delayed.
    pub fn is_single(&self) -> bool {
        let is_hole = self.ranges.back().is_some_and(|last| last.state == State::Sacked);
        self.unsacked <= u64::from(self.segment) && !is_hole
    }

    /// All ranges in sequence order.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = &Range> {
        self.ranges.iter()
    }

    /// Notes that `[seq, end)` leaves for the first time. Only what overlaps nothing that is here is taken in.
    pub fn transmit(&mut self, seq: Seq, end: Seq, now: Instant, by_sender_again: bool) {
        let at = self.first_behind(seq);
        if !end.after(seq) || self.ranges.get(at).is_some_and(|next| next.seq.before(end)) {
            return;
        }
        let serial = self.take_serial(seq, end);
        let range = Range {
            seq,
            end,
            state: State::InFlight,
            copies: 0,
            by_sender: by_sender_again,
            probed: false,
            ambiguous: by_sender_again,
            serial,
            proves: serial,
            sent: now,
            missing_since: None,
        };
        self.in_flight += range.octets();
        self.unsacked += range.octets();
        self.ranges.insert(at, range);
    }

    /// Notes that the sender sent `[seq, end)` again and it passed: what is here of it is in flight anew. Whether there was any.
    /// `splits` is how many more ranges there may be.
    pub fn retransmitted_by_sender(&mut self, seq: Seq, end: Seq, now: Instant, splits: usize) -> bool {
        let mut at = self.first_behind(seq);
        let mut found = false;
        while let Some(range) = self.ranges.get(at).copied().filter(|range| range.seq.before(end)) {
            if range.seq.before(seq) && self.ranges.len() < splits {
                self.split(at, seq);
                at += 1;
                continue;
            }
            if range.end.after(end) && self.ranges.len() < splits {
                self.split(at, end);
            }
            found = true;
            if range.state == State::Sacked {
                // The receiver may have forgotten it. But the block that is said again proves nothing of this transmission: so
                // it keeps its old serial number, and the timer looks after it.
                self.unsack(at);
            } else {
                self.send_again(at, now);
            }
            let range = &mut self.ranges[at];
            (range.by_sender, range.copies, range.missing_since) = (true, 0, None);
            at += 1;
        }
        self.forget_copies(seq, end);
        found
    }

    /// The sender sent `[seq, end)` again: if it arrives twice, that may be told.
    pub fn forget_copies(&mut self, seq: Seq, end: Seq) {
        for copy in &mut self.copies {
            if copy.0.before(end) && copy.1.after(seq) {
                *copy = (Seq(0), Seq(0), false);
            }
        }
    }

    /// Notes a copy of the range at `seq` that takes the place of what is lost.
    pub fn repaired(&mut self, seq: Seq, now: Instant) {
        let at = self.first_behind(seq);
        let Some(range) = self.ranges.get(at).copied() else { return };
        self.send_again(at, now);
        let range = Range { copies: range.copies + 1, probed: false, ..self.ranges[at] };
        self.ranges[at] = range;
        self.remember_copy(range.seq, range.end, true);
    }

    /// Notes a copy of `[seq, end)` that a timer sent, of what may still be on its way: it has the place of the original.
    pub fn probed(&mut self, seq: Seq, end: Seq, now: Instant) {
        let mut at = self.first_behind(seq);
        while let Some(range) = self.ranges.get_mut(at).filter(|range| range.seq.before(end)) {
            (range.probed, range.ambiguous) = (true, true);
            range.missing_since.get_or_insert(now);
            at += 1;
        }
        self.remember_copy(seq, end, false);
    }

    /// Marks what leaves at `seq` as lost: for a receiver that cannot say so itself.
    pub fn mark_lost(&mut self, seq: Seq, now: Instant) {
        let at = self.first_behind(seq);
        if self.ranges.get(at).is_some_and(|range| range.state == State::InFlight) {
            self.lose(at, now);
        }
    }

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

    /// Takes in a cumulative acknowledgment and SACK blocks above it. `hop` is the least round-trip time known: what is
    /// acknowledged sooner after its copy left was not lost. `splits` is how many ranges there may be.
    pub fn acknowledge(
        &mut self,
        ack: Seq,
        blocks: &[(Seq, Seq)],
        now: Instant,
        hop: Duration,
        splits: usize,
    ) -> Progress {
        let mut progress = Progress::default();
        while let Some(front) = self.ranges.front().copied().filter(|front| front.seq.before(ack)) {
            if front.end.after(ack) {
                self.split(0, ack);
            }
            let Some(range) = self.ranges.pop_front() else { break };
            if range.state != State::Sacked {
                self.deliver(&range, now, hop, &mut progress);
            }
        }
        for (left, right) in blocks {
            if left.after(ack) && right.after(*left) {
                self.sack(*left, *right, now, hop, splits, &mut progress);
            }
        }
        if progress.delivered > 0 && self.sack_seen {
            self.judge(now);
        }
        if self.ranges.is_empty() {
            self.shrink();
        }
        progress
    }

    /// Takes the next range that was found lost, if it still is.
    pub fn take_lost(&mut self) -> Option<Range> {
        while let Some(seq) = self.lost.pop_front() {
            let at = self.first_behind(seq);
            if let Some(range) = self.ranges.get(at).filter(|range| range.state == State::Lost) {
                return Some(*range);
            }
        }
        None
    }

    /// Where the first hole begins that the sender need not know of: one that we repair, and have not tried to for
    /// `longest`. Looks at the first `LOOKED_AT` ranges only: a receiver in so much disorder is the sender's business.
    pub fn first_own_hole(&self, now: Instant, longest: Duration) -> Option<Seq> {
        const LOOKED_AT: usize = 64;
        let is_ours = |range: &&Range| {
            range.state == State::InFlight
                && !range.by_sender
                && range.missing_since.is_none_or(|since| now.since(since) < longest)
        };
        self.ranges.iter().take(LOOKED_AT).find(is_ours).map(|range| range.seq)
    }

    /// Whether `[left, right)` was delivered twice because of a copy of ours.
    pub fn is_our_copy(&self, left: Seq, right: Seq) -> bool {
        self.copy_of(left, right).is_some()
    }

    /// Takes note that `[left, right)` was delivered twice: a repair of ours that was taken for needed was not.
    pub fn delivered_twice(&mut self, left: Seq, right: Seq) {
        if self.copy_of(left, right) == Some(true) {
            self.judge_copy(true);
            self.needless += 1;
        }
    }

    /// Whether a loss called for our copy of `[left, right)`; `None` without one.
    fn copy_of(&self, left: Seq, right: Seq) -> Option<bool> {
        let is_in =
            |(seq, end, _): &&(Seq, Seq, bool)| !left.before(*seq) && !right.after(*end) && right.after(left);
        self.copies.iter().find(is_in).map(|(_, _, is_repair)| *is_repair)
    }

    /// Whether something that left after `range` was delivered, tolerance or not.
    pub const fn was_overtaken(&self, range: &Range) -> bool {
        range.serial < self.proved
    }

    /// A copy turned out to be needless, or needed. A hop that reorders makes most of them needless; but also ACKs that are lost
    /// with all they say of more holes than an option has blocks for make some. So one in five is borne.
    fn judge_copy(&mut self, was_needless: bool) {
        self.needless = if was_needless {
            (self.needless + 4).min(NEEDLESS_A_SEGMENT * LARGEST_TOLERANCE)
        } else {
            self.needless.saturating_sub(1)
        };
    }

    fn sack(
        &mut self,
        left: Seq,
        right: Seq,
        now: Instant,
        hop: Duration,
        splits: usize,
        progress: &mut Progress,
    ) {
        let mut at = self.first_behind(left);
        while let Some(range) = self.ranges.get(at).copied().filter(|range| range.seq.before(right)) {
            if range.state != State::Sacked {
                // Once there is no room for more ranges, what is covered in part does not count as delivered.
                let cut = range.seq.before(left) || range.end.after(right);
                if cut && self.ranges.len() >= splits {
                    at += 1;
                    continue;
                }
                if range.seq.before(left) {
                    self.split(at, left);
                    at += 1;
                    continue;
                }
                if range.end.after(right) {
                    self.split(at, right);
                }
                let range = self.ranges[at];
                self.deliver(&range, now, hop, progress);
                self.ranges[at].state = State::Sacked;
                at = self.merge(at);
            }
            at += 1;
        }
    }

    /// Accounts for a range that the receiver turns out to have.
    fn deliver(&mut self, range: &Range, now: Instant, hop: Duration, progress: &mut Progress) {
        if range.state == State::InFlight {
            self.in_flight -= range.octets();
        }
        self.unsacked -= range.octets();
        progress.delivered += range.octets();
        if range.copies > 0 && now.since(range.sent) < hop / 8 * 7 {
            // The copy cannot have been there and back: it was the original that came, late. Its serial number is gone.
            self.judge_copy(true);
            return;
        }
        if range.copies > 0 {
            self.judge_copy(false);
        }
        self.proved = self.proved.max(range.proves_end());
        if range.probed {
            self.proved_for_certain = self.proved_for_certain.max(range.proves);
        }
        if !range.ambiguous {
            progress.sent = progress.sent.max(Some(range.sent));
        }
    }

    /// Finds what is lost by what was delivered.
    fn judge(&mut self, now: Instant) {
        let tolerance =
            u64::from(self.tolerance + self.needless / NEEDLESS_A_SEGMENT) * u64::from(self.segment);
        while let Some(front) = self.sent.front().copied() {
            if front.serial + tolerance >= self.proved && front.serial >= self.proved_for_certain {
                break;
            }
            let serials = front.serial..front.serial + u64::from(front.end - front.seq);
            let mut at = self.first_behind(front.seq);
            while let Some(range) = self.ranges.get(at).filter(|range| range.seq.before(front.end)) {
                let overtaken = range.serial_end() + tolerance < self.proved
                    || range.serial_end() <= self.proved_for_certain;
                if overtaken && range.state == State::InFlight && serials.contains(&range.serial) {
                    self.lose(at, now);
                }
                at += 1;
            }
            if serials.end + tolerance >= self.proved && serials.end > self.proved_for_certain {
                break;
            }
            self.sent.pop_front();
        }
    }

    fn lose(&mut self, at: usize, now: Instant) {
        let range = &mut self.ranges[at];
        range.state = State::Lost;
        range.missing_since.get_or_insert(now);
        self.in_flight -= range.octets();
        self.lost.push_back(range.seq);
    }

    fn send_again(&mut self, at: usize, now: Instant) {
        let range = self.ranges[at];
        match range.state {
            State::InFlight => self.in_flight -= range.octets(),
            State::Sacked => self.unsacked += range.octets(),
            State::Lost => {}
        }
        let serial = self.take_serial(range.seq, range.end);
        let proves = if range.state == State::Lost { serial } else { range.proves };
        self.in_flight += range.octets();
        self.ranges[at] = Range {
            state: State::InFlight,
            ambiguous: true,
            probed: false,
            serial,
            proves,
            sent: now,
            ..range
        };
    }

    fn unsack(&mut self, at: usize) {
        let range = &mut self.ranges[at];
        (range.state, range.ambiguous, range.probed) = (State::InFlight, true, false);
        let octets = range.octets();
        self.in_flight += octets;
        self.unsacked += octets;
    }

    fn take_serial(&mut self, seq: Seq, end: Seq) -> u64 {
        let serial = self.next_serial;
        self.next_serial += u64::from(end - seq);
        self.sent.push_back(Sent { serial, seq, end });
        serial
    }

    fn remember_copy(&mut self, seq: Seq, end: Seq, is_repair: bool) {
        self.copies[usize::from(self.next_copy) % COPIES_REMEMBERED] = (seq, end, is_repair);
        self.next_copy = self.next_copy.wrapping_add(1);
    }

    /// Divides a range at `seq`, which lies inside it.
    fn split(&mut self, at: usize, seq: Seq) {
        let range = self.ranges[at];
        let front = u64::from(seq - range.seq);
        let (serial, proves) = (range.serial + front, range.proves + front);
        self.ranges[at].end = seq;
        self.ranges.insert(at + 1, Range { seq, serial, proves, ..range });
    }

    /// Joins a range that the receiver has with such neighbours; the index of the whole.
    fn merge(&mut self, mut at: usize) -> usize {
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
    fn first_behind(&self, seq: Seq) -> usize {
        match (self.ranges.front(), self.ranges.back()) {
            (Some(front), _) if front.end.after(seq) => 0,
            (_, Some(back)) if !back.end.after(seq) => self.ranges.len(),
            _ => self.ranges.partition_point(|range| !range.end.after(seq)),
        }
    }

    /// Gives the memory back: see [`lasthop_agent::SegmentCache`].
    fn shrink(&mut self) {
        self.ranges = VecDeque::new();
        self.sent = VecDeque::new();
        self.lost = VecDeque::new();
    }
}
