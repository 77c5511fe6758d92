//! The scoreboard: which transmissions towards the receiver were delivered and which were lost, by
//! octets, in sequence order and in sending order.
//!
//! Each transmission, first or repeated, gets serial numbers in sending order, one per octet. A
//! wireless hop is first in, first out. So when an acknowledgment shows that an octet with serial
//! number s was delivered, each outstanding octet that was sent before it is lost, also if it was
//! itself a retransmission. This is RACK (RFC 8985) with the sending order in place of times. A
//! tolerance of some segments covers hops that reorder a little; it grows when copies turn out to
//! be needless. A segment that fewer segments have overtaken is lost at the end of a reordering
//! window, a part of the hop's round trip. So no hole that the receiver has reported waits for the
//! timer.
//!
//! | file | contents |
//! |---|---|
//! | `ranges` | ranges of sequence space, in sequence order |
//! | `transmission` | a transmission, and the serial numbers of its octets |
//! | `log` | transmissions in sending order |
//! | `departure` | transmissions, first or repeated |
//! | `delivery` | acknowledgments, and what they show |
//! | `loss` | loss detection |
//! | `tolerance`, `copies` | how many segments may overtake; the agent's latest copies |
//! | `memory` | release of memory |
//!
//! Memory: as many ranges as the flow allows, in proportion to its cache, and at most `2 n + 16`
//! transmissions of `n` ranges. Both release memory when they need less than a quarter of it.
//!
//! Cost: O(log n) for each block of an acknowledgment, and amortized O(log n) for each
//! transmission. Adjacent selectively acknowledged ranges are merged, so that repeated blocks have
//! no additional cost.

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

/// The scoreboard of one flow.
#[derive(Debug)]
pub struct Scoreboard {
    /// The ranges in sequence order, without overlaps. Other octets were not sent or are not the
    /// agent's to repair.
    ranges: Ranges,
    /// By serial number, the transmissions that may still be found lost.
    log: Log,
    /// Octets before this serial number, less the tolerance, were delivered or are lost.
    proved: u64,
    /// Octets before this serial number, without tolerance, were delivered or are lost: proved long
    /// after they were sent.
    proved_for_certain: u64,
    /// Octets in ranges in flight.
    in_flight: u64,
    /// Octets in ranges that the receiver is not known to have.
    unsacked: u64,
    /// Octets found lost since the latest acknowledgment.
    lost: u64,
    tolerance: Tolerance,
    /// Octets of the largest segment seen.
    segment: u32,
    /// A range that was marked as lost and not yet returned for repair.
    marked: Option<Seq>,
    /// The reordering window, if fewer segments have overtaken a range than are tolerated.
    reordering_window: Option<ReorderingWindow>,
    /// The agent's latest copies.
    copies: Copies,
    /// Whether the receiver sends SACK blocks.
    pub sack_seen: bool,
    /// Duplicate ACKs in a row from a receiver without SACK.
    pub duplicates: u32,
    /// Duplicate ACKs that are still expected from the timer's copies.
    pub expected: u32,
}

/// A reordering window: fewer segments have overtaken a range than are tolerated.
#[derive(Clone, Copy, Debug)]
struct ReorderingWindow {
    since: Instant,
    /// The value of [`Scoreboard::proved`] then.
    proved: u64,
}

impl Scoreboard {
    /// An empty scoreboard that tolerates `reordering` overtaking segments.
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

    /// Reads a field of each cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn prefetch(&self) {
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

    /// Octets of allocated memory. The log counts with the size that it may reach with these
    /// ranges, and the copies count with the first range, so that only additional ranges increase
    /// the cost.
    pub fn allocated(&self) -> usize {
        let copies = if self.has_memory() { Copies::MEMORY } else { 0 };
        copies + cost_of(self.ranges.capacity()).max(self.ranges.allocated() + self.log.allocated())
    }

    fn has_memory(&self) -> bool {
        self.ranges.capacity() > 0 || self.copies.has_memory()
    }

    /// The maximum additional octets of memory for one more range.
    pub fn cost_of_one(&self) -> usize {
        let capacity = self.ranges.capacity();
        if self.ranges.len() < capacity { 0 } else { self.cost_of_growth() }
    }

    /// The octets of memory of the next growth.
    pub fn cost_of_growth(&self) -> usize {
        let capacity = self.ranges.capacity();
        let copies = if self.has_memory() { 0 } else { Copies::MEMORY };
        copies + cost_of((2 * capacity).max(4)) - cost_of(capacity)
    }

    /// The maximum number of ranges without more memory.
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

    /// Records the size of a segment that passed.
    pub fn record_segment(&mut self, octets: u32) {
        self.segment = self.segment.max(octets);
    }

    /// Octets that the receiver is not known to have.
    pub const fn unsacked(&self) -> u64 {
        self.unsacked
    }

    /// Whether at most one segment is outstanding and no data above it was delivered: then its ACK
    /// may be delayed.
    pub fn is_single(&self) -> bool {
        let is_hole = self.ranges.back().is_some_and(|last| last.state == State::Sacked);
        self.unsacked <= u64::from(self.segment) && !is_hole
    }

    /// All ranges in sequence order.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = &Range> {
        self.ranges.iter()
    }

    /// When `seq` was last sent, and whether it was sent more than once.
    pub fn last_departure(&self, seq: Seq) -> Option<(Instant, bool)> {
        self.range_at(seq).map(|range| (range.sent, range.ambiguous))
    }

    /// Whether the timer has sent a copy of `seq` since its last transmission.
    pub fn is_probed(&self, seq: Seq) -> bool {
        self.range_at(seq).is_some_and(|range| range.probed)
    }

    /// The range that contains `seq`.
    pub fn range_at(&self, seq: Seq) -> Option<&Range> {
        self.ranges.get(self.ranges.first_ending_after(seq)).filter(|range| !range.seq.after(seq))
    }

    /// Splits the range that contains `seq`, if there are fewer than `max_ranges` ranges. Returns
    /// whether `seq` is a boundary now.
    pub fn split_at(&mut self, seq: Seq, max_ranges: usize) -> bool {
        let at = self.ranges.first_ending_after(seq);
        let inside = self.ranges.get(at).is_some_and(|range| range.seq.before(seq));
        if inside && self.ranges.len() < max_ranges {
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

    /// Releases unneeded memory; all of it if no data is outstanding, like
    /// [`lasthop_agent::SegmentCache`].
    fn shrink(&mut self) {
        if self.ranges.is_empty() {
            self.log.clear();
        }
        self.ranges.shrink();
        self.trim_log();
        self.log.shrink();
    }
}

/// Octets of memory for this number of ranges, with the log that they may lead to.
const fn cost_of(ranges: usize) -> usize {
    if ranges == 0 { 0 } else { ranges * size_of::<Range>() + Log::max_octets(ranges) }
}
