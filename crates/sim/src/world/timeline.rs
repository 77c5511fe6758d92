//! Changes of links at given times.

use std::mem::discriminant;

use super::World;
use super::intervals::Intervals;
use crate::change::{Change, ChangeError, PlannedChange, PlannedInterval};
use crate::id::LinkId;
use crate::schedule::Event;

impl World {
    /// Changes links at given times, in order of time; those of the same time in the order in which
    /// they were planned. What is due at the time of a change and was scheduled before it comes
    /// first. After an error nothing has been planned.
    pub fn plan_changes(&mut self, changes: Vec<PlannedChange>) -> Result<(), ChangeError> {
        for PlannedChange { link, way, change, .. } in &changes {
            self.can_reconfigure_link(*link, *way, change)?;
        }
        for PlannedChange { link, change, .. } in &changes {
            self.follow_for(*link, change);
        }
        self.planned.extend(changes);
        self.planned.make_contiguous().sort_by_key(|planned| planned.at);
        self.await_planned_change();
        Ok(())
    }

    /// Plans changes that end again, in place of all such changes. One in the middle of which this time
    /// is holds at once. After an error nothing has changed.
    pub fn plan_intervals(&mut self, intervals: Vec<PlannedInterval>) -> Result<(), ChangeError> {
        for PlannedInterval { link, way, within, outside, .. } in &intervals {
            self.can_reconfigure_link(*link, *way, within)?;
            self.can_reconfigure_link(*link, *way, outside)?;
        }
        for PlannedInterval { link, within, .. } in &intervals {
            self.follow_for(*link, within);
        }
        let before = std::mem::replace(&mut self.intervals, Intervals::new(intervals, self.transit.now()));
        let (held, hold) = (before.all(), self.intervals.all());
        // What has no interval any more is what it is outside of it.
        let without = before.into_outside().into_iter().filter(|(link, way, change)| {
            !hold.iter().any(|(other, its, holds)| {
                (other, its) == (link, way) && discriminant(holds) == discriminant(change)
            })
        });
        let all: Vec<_> = without.chain(hold.iter().cloned()).filter(|holds| !held.contains(holds)).collect();
        for (link, way, change) in all {
            self.make_change(link, way, &change);
        }
        self.await_planned_change();
        Ok(())
    }

    /// Plans changes in place of all that have not been made yet, and those that end again in place of
    /// all such changes. One whose time has passed is made at once. After an error, the earlier plan
    /// stays.
    pub fn replan_changes(
        &mut self,
        changes: Vec<PlannedChange>,
        intervals: Vec<PlannedInterval>,
    ) -> Result<(), ChangeError> {
        for PlannedChange { link, way, change, .. } in &changes {
            self.can_reconfigure_link(*link, *way, change)?;
        }
        self.plan_intervals(intervals)?;
        self.planned.clear();
        self.plan_changes(changes)
    }

    #[cold]
    pub(super) fn on_planned_change(&mut self) {
        // The event may also be one that was scheduled before changes were planned anew.
        if self.planned_event.is_some_and(|at| at <= self.transit.now()) {
            self.planned_event = None;
        }
        while self.planned.front().is_some_and(|next| next.at <= self.transit.now())
            && let Some(PlannedChange { link, way, change, .. }) = self.planned.pop_front()
        {
            // It could when it was planned, and no other change makes it impossible.
            let _ = self.reconfigure_link(link, way, &change);
        }
        for (link, way, change) in self.intervals.advance(self.transit.now()) {
            self.make_change(link, way, &change);
        }
        self.await_planned_change();
    }

    /// Connections that are to be reset must be known by then.
    fn follow_for(&mut self, link: LinkId, change: &Change) {
        if matches!(change, Change::Cut(_)) {
            self.follow_connections(link);
        }
    }

    fn await_planned_change(&mut self) {
        let next = self.planned.front().map(|next| next.at);
        let next =
            next.into_iter().chain(self.intervals.next()).min().map(|next| next.max(self.transit.now()));
        if let Some(next) = next.filter(|next| self.planned_event.is_none_or(|event| event > *next)) {
            self.planned_event = Some(next);
            self.transit.schedule(next, Event::PlannedChange);
        }
    }
}
