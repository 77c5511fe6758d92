//! Changes of links at given times.

use super::World;
use crate::change::{ChangeError, PlannedChange};
use crate::schedule::Event;

impl World {
    /// Changes links at given times, in order of time; those of the same time in the order in which
    /// they were planned. What is due at the time of a change and was scheduled before it comes
    /// first. After an error nothing has been planned.
    pub fn plan_changes(&mut self, changes: Vec<PlannedChange>) -> Result<(), ChangeError> {
        for PlannedChange { link, way, change, .. } in &changes {
            self.can_reconfigure_link(*link, *way, change)?;
        }
        self.planned.extend(changes);
        self.planned.make_contiguous().sort_by_key(|planned| planned.at);
        self.await_planned_change();
        Ok(())
    }

    /// Plans changes in place of all that have not been made yet. One whose time has passed is made at
    /// once. After an error, the earlier plan stays.
    pub fn replan_changes(&mut self, changes: Vec<PlannedChange>) -> Result<(), ChangeError> {
        let before = std::mem::take(&mut self.planned);
        let outcome = self.plan_changes(changes);
        if outcome.is_err() {
            self.planned = before;
        }
        outcome
    }

    #[cold]
    pub(super) fn on_planned_change(&mut self) {
        // The event may also be one that was scheduled before changes were planned anew.
        if self.planned_event.is_some_and(|at| at <= self.transit.now) {
            self.planned_event = None;
        }
        while self.planned.front().is_some_and(|next| next.at <= self.transit.now)
            && let Some(PlannedChange { link, way, change, .. }) = self.planned.pop_front()
        {
            // It could when it was planned, and no other change makes it impossible.
            let _ = self.reconfigure_link(link, way, &change);
        }
        self.await_planned_change();
    }

    fn await_planned_change(&mut self) {
        let next = self.planned.front().map(|next| next.at.max(self.transit.now));
        if let Some(next) = next.filter(|next| self.planned_event.is_none_or(|event| event > *next)) {
            self.planned_event = Some(next);
            self.transit.schedule.push(next, Event::PlannedChange);
        }
    }
}
