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

mod copies;
mod ranges;
mod tolerance;

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use copies::Copies;
pub use ranges::{Range, State};
use tolerance::Tolerance;

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
    tolerance: Tolerance,
    /// Octets of the largest segment seen.
    segment: u32,
    /// Found lost, to be repaired.
    lost: VecDeque<Seq>,
    /// The latest.
    copies: Copies,
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
            tolerance: Tolerance::new(reordering),
            segment: 1,
            lost: VecDeque::new(),
            copies: Copies::new(),
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
            self.copies.edges(),
            self.sack_seen,
        ));
    }

    /// Octets of memory that it takes.
    pub fn allocated(&self) -> usize {
        self.ranges.capacity() * size_of::<Range>()
            + self.sent.capacity() * size_of::<Sent>()
            + self.lost.capacity() * size_of::<Seq>()
    }

    /// Octets of memory that it takes more, at most, once another transmission is noted.
    pub fn cost_of_one(&self) -> usize {
        let growth = |len: usize, capacity: usize| if len == capacity { capacity.max(4) } else { 0 };
        growth(self.ranges.len(), self.ranges.capacity()) * size_of::<Range>()
            + growth(self.sent.len(), self.sent.capacity()) * size_of::<Sent>()
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
        self.copies.forget(seq, end);
    }

    /// Notes a copy of the range at `seq` that takes the place of what is lost.
    pub fn repaired(&mut self, seq: Seq, now: Instant) {
        let at = self.first_behind(seq);
        let Some(range) = self.ranges.get(at).copied() else { return };
        self.send_again(at, now);
        let range = Range { copies: range.copies + 1, probed: false, ..self.ranges[at] };
        self.ranges[at] = range;
        self.copies.remember(range.seq, range.end, true);
    }

    /// Notes a copy of `[seq, end)` that a timer sent, of what may still be on its way: it has the place of the original.
    pub fn probed(&mut self, seq: Seq, end: Seq, now: Instant) {
        let mut at = self.first_behind(seq);
        while let Some(range) = self.ranges.get_mut(at).filter(|range| range.seq.before(end)) {
            (range.probed, range.ambiguous) = (true, true);
            range.missing_since.get_or_insert(now);
            at += 1;
        }
        self.copies.remember(seq, end, false);
    }

    /// Marks what leaves at `seq` as lost: for a receiver that cannot say so itself.
    pub fn mark_lost(&mut self, seq: Seq, now: Instant) {
        let at = self.first_behind(seq);
        if self.ranges.get(at).is_some_and(|range| range.state == State::InFlight) {
            self.lose(at, now);
        }
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
        self.copies.of(left, right).is_some()
    }

    /// Takes note that `[left, right)` was delivered twice: a repair of ours that was taken for needed was not.
    pub fn delivered_twice(&mut self, left: Seq, right: Seq) {
        if self.copies.of(left, right) == Some(true) {
            self.tolerance.judge_anew();
        }
    }

    /// Whether something that left after `range` was delivered, tolerance or not.
    pub const fn was_overtaken(&self, range: &Range) -> bool {
        range.serial < self.proved
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
            self.tolerance.judge(true);
            return;
        }
        if range.copies > 0 {
            self.tolerance.judge(false);
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
        let tolerance = u64::from(self.tolerance.segments()) * u64::from(self.segment);
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

    /// Gives the memory back: see [`lasthop_agent::SegmentCache`].
    fn shrink(&mut self) {
        self.ranges = VecDeque::new();
        self.sent = VecDeque::new();
        self.lost = VecDeque::new();
    }
}
