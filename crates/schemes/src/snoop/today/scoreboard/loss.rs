//! Loss detection: a transmission is lost if a later one was delivered.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::{Range, ReorderingWindow, Scoreboard, State};

impl Scoreboard {
    /// Returns the next lost range, for the caller to repair it; `None` if there are no more.
    /// Callers must repeat it until then after each acknowledgment: it also removes transmissions
    /// that are no longer outstanding.
    pub fn next_lost(&mut self, now: Instant) -> Option<Range> {
        let marked = self.marked.take().and_then(|seq| self.range_at(seq).copied());
        if marked.is_some_and(|range| range.state == State::Lost) {
            return marked;
        }
        let mut window = None;
        while let Some(front) = self.log.front() {
            let Some(at) = self.ranges.outstanding(&front) else {
                self.log.pop_front();
                continue;
            };
            if self.is_lost(&self.ranges[at]) {
                self.lose(at, now);
                return Some(self.ranges[at]);
            }
            window = self.reordering_window_of(&self.ranges[at], now);
            break;
        }
        self.reordering_window = window;
        self.log.shrink();
        None
    }

    /// Marks the range at `seq` as lost: for a receiver without SACK.
    pub fn mark_lost(&mut self, seq: Seq, now: Instant) {
        let at = self.ranges.first_ending_after(seq);
        if self.ranges.get(at).is_some_and(|range| range.state == State::InFlight) {
            self.lose(at, now);
            self.marked = Some(self.ranges[at].seq);
        }
    }

    /// The start of the reordering window, if a missing range is not yet lost because few segments
    /// have overtaken it.
    pub fn overtaken_since(&self) -> Option<Instant> {
        self.reordering_window.map(|window| window.since)
    }

    /// Ends the reordering window: ranges that were overtaken when it began are lost.
    pub fn end_reordering_window(&mut self) {
        if let Some(window) = self.reordering_window.take() {
            self.proved_for_certain = self.proved_for_certain.max(window.proved);
        }
    }

    /// The range that duplicate ACKs of a receiver without SACK indicate, unless it is already
    /// repaired.
    pub fn first_by_duplicates(&self) -> Option<&Range> {
        let reports_hole = !self.sack_seen && self.duplicates > 0;
        let is_ours =
            |first: &&Range| first.state == State::InFlight && first.copies == 0 && !first.by_sender;
        self.ranges.front().filter(|_| reports_hole).filter(is_ours)
    }

    /// The number of segments that may overtake.
    pub const fn tolerated(&self) -> u32 {
        self.tolerance.segments()
    }

    /// Whether a transmission after `range` was delivered, regardless of the tolerance.
    pub const fn was_overtaken(&self, range: &Range) -> bool {
        range.serial < self.proved
    }

    /// Whether copies were needless more often than is accepted.
    pub const fn has_needless_copies(&self) -> bool {
        self.tolerance.has_grown()
    }

    /// Whether copies were needless, with a receiver that sends SACK blocks: the hop reorders.
    pub const fn is_reordering(&self) -> bool {
        self.sack_seen && self.has_needless_copies()
    }

    /// The start of the first hole that is withheld from the sender: one that the agent repairs,
    /// and has not tried to for `longest`. `None` on a hop that reorders: current TCP adapts to the
    /// reordering it sees, so every hole is reported. Only the first `LOOKED_AT` ranges count: with
    /// more disorder than that, the receiver is left to the sender.
    pub fn first_own_hole(&self, now: Instant, longest: Duration) -> Option<Seq> {
        const LOOKED_AT: usize = 64;
        if self.is_reordering() {
            return None;
        }
        let is_ours = |range: &&Range| {
            range.state == State::InFlight
                && !range.by_sender
                && range.missing_since.is_none_or(|since| now.since(since) < longest)
        };
        self.ranges.iter().take(LOOKED_AT).find(is_ours).map(|range| range.seq)
    }

    /// The reordering window of the earliest outstanding transmission, if it was overtaken; the
    /// current window, if it is the one of that transmission.
    fn reordering_window_of(&self, first: &Range, now: Instant) -> Option<ReorderingWindow> {
        let end = first.serial_end();
        let was_overtaken = self.sack_seen && end <= self.proved;
        if !was_overtaken && self.first_by_duplicates().is_none() {
            return None;
        }
        let same = self.reordering_window.filter(|window| !self.sack_seen || end <= window.proved);
        same.or(Some(ReorderingWindow { since: now, proved: self.proved }))
    }

    fn is_lost(&self, range: &Range) -> bool {
        let tolerance = u64::from(self.tolerance.segments()) * u64::from(self.segment);
        let end = range.serial_end();
        self.sack_seen && (end + tolerance < self.proved || end <= self.proved_for_certain)
    }

    fn lose(&mut self, at: usize, now: Instant) {
        let range = &mut self.ranges[at];
        range.state = State::Lost;
        range.missing_since.get_or_insert(now);
        self.in_flight -= range.octets();
        self.lost += range.octets();
    }
}
