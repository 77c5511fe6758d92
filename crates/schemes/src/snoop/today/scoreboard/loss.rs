//! What is lost, by what was proved to have left later and arrived.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::{Range, ReorderingWindow, Scoreboard, State};

impl Scoreboard {
    /// Takes the next range that is lost, for the caller to repair it; `None` where none is any
    /// more. To be called until then after each acknowledgment: it forgets transmissions that are
    /// no longer outstanding, too.
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

    /// Marks the range at `seq` as lost: for a receiver that cannot say so itself.
    pub fn mark_lost(&mut self, seq: Seq, now: Instant) {
        let at = self.ranges.first_behind(seq);
        if self.ranges.get(at).is_some_and(|range| range.state == State::InFlight) {
            self.lose(at, now);
            self.marked = Some(self.ranges[at].seq);
        }
    }

    /// Since when something has been missing that is not yet taken for lost, because few segments
    /// have overtaken it.
    pub fn overtaken_since(&self) -> Option<Instant> {
        self.reordering_window.map(|window| window.since)
    }

    /// Ends the reordering window: what was overtaken when it began is lost.
    pub fn end_reordering_window(&mut self) {
        if let Some(window) = self.reordering_window.take() {
            self.proved_for_certain = self.proved_for_certain.max(window.proved);
        }
    }

    /// What duplicate ACKs of a receiver without SACK speak of, unless it is repaired already.
    pub fn first_by_duplicates(&self) -> Option<&Range> {
        let is_told = !self.sack_seen && self.duplicates > 0;
        let is_ours =
            |first: &&Range| first.state == State::InFlight && first.copies == 0 && !first.by_sender;
        self.ranges.front().filter(|_| is_told).filter(is_ours)
    }

    /// How far segments may overtake, in segments.
    pub const fn tolerated(&self) -> u32 {
        self.tolerance.segments()
    }

    /// Whether something that left after `range` was delivered, tolerance or not.
    pub const fn was_overtaken(&self, range: &Range) -> bool {
        range.serial < self.proved
    }

    /// Whether copies turned out to be needless more often than is borne.
    pub const fn has_needless_copies(&self) -> bool {
        self.tolerance.has_grown()
    }

    /// Whether copies turned out to be needless, with a receiver that can tell what it has: the hop
    /// reorders.
    pub const fn is_reordering(&self) -> bool {
        self.sack_seen && self.has_needless_copies()
    }

    /// Where the first hole begins that the sender need not know of: one that we repair, and have
    /// not tried to for `longest`. `None` on a hop that reorders: today's TCP adapts to the
    /// reordering it sees, so it is told of every hole. Looks at the first `LOOKED_AT` ranges only: a
    /// receiver with more disorder than that is left to the sender.
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

    /// The reordering window of what left first of all that is outstanding, if it was overtaken; the
    /// same as before, if it is of that.
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
