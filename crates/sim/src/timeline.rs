//! Changes of links at given times, and those that end again.

mod intervals;

use std::collections::VecDeque;
use std::mem::discriminant;

use lasthop_packet::Instant;

use crate::change::{Change, LinkDirection, PlannedChange, PlannedInterval};
use crate::id::LinkId;
use crate::schedule::Event;
use crate::transit::Transit;
use intervals::Intervals;

/// All changes to come.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// In order of time; those of the same time in the order in which they were planned.
    planned: VecDeque<PlannedChange>,
    intervals: Intervals,
    /// When the event for the next of them comes.
    event: Option<Instant>,
}

impl Timeline {
    /// Plans further changes.
    pub(crate) fn plan(&mut self, changes: Vec<PlannedChange>, transit: &mut Transit) {
        self.planned.extend(changes);
        self.planned.make_contiguous().sort_by_key(|planned| planned.at);
        self.await_next(transit);
    }

    /// Forgets the changes that have not been made, but for those that end again.
    pub(crate) fn clear(&mut self) {
        self.planned.clear();
    }

    /// Plans changes that end again, in place of all such changes. Returns the changes that are to be made
    /// now.
    pub(crate) fn plan_intervals(
        &mut self,
        intervals: Vec<PlannedInterval>,
        now: Instant,
    ) -> Vec<(LinkId, LinkDirection, Change)> {
        let before = std::mem::replace(&mut self.intervals, Intervals::new(intervals, now));
        let (held, hold) = (before.all(), self.intervals.all());
        // A property that has no interval any more has its value outside of intervals.
        let without = before.into_outside().into_iter().filter(|(link, way, change)| {
            !hold.iter().any(|(other, its, holds)| {
                (other, its) == (link, way) && discriminant(holds) == discriminant(change)
            })
        });
        without.chain(hold.iter().cloned()).filter(|holds| !held.contains(holds)).collect()
    }

    /// A property of a direction is changed. Whether that is to be made now; else it is when no
    /// interval holds any more.
    pub(crate) fn lets_through(&mut self, link: LinkId, way: LinkDirection, change: &Change) -> bool {
        self.intervals.lets_through(link, way, change)
    }

    /// The event for the next change has come. It may also be one that was scheduled before changes were
    /// planned anew.
    pub(crate) fn on_event(&mut self, now: Instant) {
        if self.event.is_some_and(|at| at <= now) {
            self.event = None;
        }
    }

    /// The next change that is due.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<PlannedChange> {
        self.planned.front().filter(|next| next.at <= now)?;
        self.planned.pop_front()
    }

    /// Has intervals begin and end up to `now`: see [`Intervals::advance`].
    pub(crate) fn advance(&mut self, now: Instant) -> Vec<(LinkId, LinkDirection, Change)> {
        self.intervals.advance(now)
    }

    /// Schedules an event for the next change.
    pub(crate) fn await_next(&mut self, transit: &mut Transit) {
        let next = self.planned.front().map(|next| next.at);
        let next = next.into_iter().chain(self.intervals.next()).min().map(|next| next.max(transit.now()));
        if let Some(next) = next.filter(|next| self.event.is_none_or(|event| event > *next)) {
            self.event = Some(next);
            transit.schedule(next, Event::PlannedChange);
        }
    }
}
