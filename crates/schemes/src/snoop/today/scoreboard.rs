//! Which transmissions towards the receiver were delivered and which were lost: an account by
//! octets, in sequence order, and the same transmissions in sending order.
//!
//! Everything that leaves, first or again, gets serial numbers in sending order, one an octet. A
//! wireless hop is first in, first out. So when an acknowledgment shows that an octet with serial
//! number s was delivered, every outstanding octet that left before it is lost: also one that was
//! itself a retransmission, at once. That is RACK (RFC 8985) with the sending order in place of
//! times. A tolerance of some segments covers hops that reorder a little; it grows where copies
//! turn out to be needless. What was overtaken by fewer segments than that is lost at the end
//! of a reordering window, a part of the hop's round trip. So no hole that
//! the receiver has reported waits for the timer.
//!
//! | file | what is in it |
//! |---|---|
//! | `ranges` | pieces of sequence space, in sequence order |
//! | `transmission` | a transmission, and the serial numbers of its octets |
//! | `log` | transmissions in sending order |
//! | `departure` | what leaves, for the first time or again |
//! | `delivery` | acknowledgments, and what they prove |
//! | `loss` | what is lost, by what was proved |
//! | `tolerance`, `copies` | how far segments may overtake; our latest copies |
//! | `memory` | memory that is given back |
//!
//! Memory: as many ranges as the flow allows, in proportion to what it caches, and at most `2 n +
//! 16` transmissions of `n` ranges. Both give memory back when they need a quarter of it.
//!
//! Cost: O(log n) for each block of an acknowledgment, and amortised O(log n) for each
//! transmission. Neighbouring ranges that were selectively acknowledged are one range, so that
//! blocks which the receiver repeats cost nothing anew.

mod copies;
mod delivery;
mod departure;
mod log;
mod loss;
mod memory;
mod ranges;
#[cfg(test)]
mod tests;
mod tolerance;
mod transmission;

use std::hint::black_box;

use lasthop_packet::{Instant, Seq};

use copies::Copies;
pub use departure::Departure;
use log::Log;
use ranges::Ranges;
pub use ranges::{Range, State};
use tolerance::Tolerance;

/// The account of one flow.
#[derive(Debug)]
pub struct Scoreboard {
    /// By sequence number; none overlaps another. What is not here never left or is not ours to
    /// repair.
    ranges: Ranges,
    /// By serial number, what may still be found lost.
    log: Log,
    /// Everything before this serial number, less the tolerance, was delivered or is lost.
    proved: u64,
    /// The same without tolerance: proved long after everything before it left.
    proved_for_certain: u64,
    /// Octets in ranges that are in flight.
    in_flight: u64,
    /// Octets in ranges that the receiver does not have.
    unsacked: u64,
    /// Octets found lost since the latest acknowledgment.
    lost: u64,
    tolerance: Tolerance,
    /// Octets of the largest segment seen.
    segment: u32,
    /// What was marked as lost and not yet taken for repair.
    marked: Option<Seq>,
    /// What was overtaken by fewer segments than are tolerated.
    reordering_window: Option<ReorderingWindow>,
    /// The latest.
    copies: Copies,
    /// The receiver sends SACK blocks.
    pub sack_seen: bool,
    /// Duplicate ACKs in a row, of a receiver that sends no SACK blocks.
    pub duplicates: u32,
    /// Duplicate ACKs to come that a timer's copies may cause.
    pub expected: u32,
}

/// Something was overtaken by fewer segments than are tolerated.
#[derive(Clone, Copy, Debug)]
struct ReorderingWindow {
    since: Instant,
    /// What was proved then.
    proved: u64,
}

impl Scoreboard {
    /// An empty account that tolerates so many segments overtaking.
    pub fn new(reordering: u32) -> Self {
        Self {
            ranges: Ranges::default(),
            log: Log::new(),
            proved: 0,
            proved_for_certain: 0,
            in_flight: 0,
            unsacked: 0,
            lost: 0,
            tolerance: Tolerance::new(reordering),
            segment: 1,
            marked: None,
            reordering_window: None,
            copies: Copies::new(),
            sack_seen: false,
            duplicates: 0,
            expected: 0,
        }
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn look(&self) {
        black_box((
            self.ranges.len(),
            self.log.len(),
            self.marked,
            self.proved,
            self.unsacked,
            self.reordering_window.is_some(),
            self.copies.edges(),
            self.sack_seen,
        ));
    }

    /// Octets of memory that the account takes beside itself: its log counts as what it may grow to
    /// with these ranges, and copies count with the first, so that only ranges make it cost more.
    pub fn allocated(&self) -> usize {
        let copies = if self.has_memory() { Copies::MEMORY } else { 0 };
        copies + cost_of(self.ranges.capacity()).max(self.ranges.allocated() + self.log.allocated())
    }

    fn has_memory(&self) -> bool {
        self.ranges.capacity() > 0 || self.copies.has_memory()
    }

    /// Octets of memory that it takes more, at most, once there is one range more.
    pub fn cost_of_one(&self) -> usize {
        let capacity = self.ranges.capacity();
        if self.ranges.len() < capacity { 0 } else { self.cost_of_growth() }
    }

    /// What the next growth costs.
    pub fn cost_of_growth(&self) -> usize {
        let capacity = self.ranges.capacity();
        let copies = if self.has_memory() { 0 } else { Copies::MEMORY };
        copies + cost_of((2 * capacity).max(4)) - cost_of(capacity)
    }

    /// How many ranges there may be without taking more memory.
    pub fn spare_ranges(&self) -> usize {
        self.ranges.capacity()
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

    /// Whether at most one segment is outstanding and no more was delivered above it: then its ACK
    /// may be delayed.
    pub fn is_single(&self) -> bool {
        let is_hole = self.ranges.back().is_some_and(|last| last.state == State::Sacked);
        self.unsacked <= u64::from(self.segment) && !is_hole
    }

    /// All ranges in sequence order.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = &Range> {
        self.ranges.iter()
    }

    /// When `seq` last left, and whether it left more than once.
    pub fn last_departure(&self, seq: Seq) -> Option<(Instant, bool)> {
        self.range_at(seq).map(|range| (range.sent, range.ambiguous))
    }

    /// Whether the timer sent a copy of `seq` since it last left.
    pub fn is_probed(&self, seq: Seq) -> bool {
        self.range_at(seq).is_some_and(|range| range.probed)
    }

    /// The range that `seq` lies in.
    pub fn range_at(&self, seq: Seq) -> Option<&Range> {
        self.ranges.get(self.ranges.first_behind(seq)).filter(|range| !range.seq.after(seq))
    }

    /// Divides the range that `seq` lies inside, if there may be more than are here. Whether none
    /// reaches over `seq` now.
    pub fn split_at(&mut self, seq: Seq, splits: usize) -> bool {
        let at = self.ranges.first_behind(seq);
        let inside = self.ranges.get(at).is_some_and(|range| range.seq.before(seq));
        if inside && self.ranges.len() < splits {
            self.ranges.split(at, seq);
            return true;
        }
        !inside
    }

    /// Keeps the log in proportion to the ranges.
    fn trim_log(&mut self) {
        let Self { ranges, log, .. } = self;
        log.trim(2 * ranges.len(), |sent| ranges.outstanding(sent).is_some());
    }

    /// Gives memory back that is no longer needed; all of it where nothing is outstanding, as
    /// [`lasthop_agent::SegmentCache`] does.
    fn shrink(&mut self) {
        if self.ranges.is_empty() {
            self.log.clear();
        }
        self.ranges.shrink();
        self.trim_log();
        self.log.shrink();
    }
}

/// Octets of memory that room for so many ranges costs, with the log that they may lead to.
const fn cost_of(ranges: usize) -> usize {
    if ranges == 0 { 0 } else { ranges * size_of::<Range>() + Log::most(ranges) }
}
