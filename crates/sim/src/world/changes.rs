//! Changes of a link while packets are on it, at once and at given times.

use super::World;
use crate::change::{Change, ChangeError, LinkDirection, PlannedChange, PlannedInterval};
use crate::id::{At, LinkId};
use crate::selection::Selection;

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
        self.timeline.plan(changes, &mut self.transit);
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
        for (link, way, change) in self.timeline.plan_intervals(intervals, self.transit.now()) {
            self.make_change(link, way, &change);
        }
        self.timeline.await_next(&mut self.transit);
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
        self.timeline.clear();
        self.plan_changes(changes)
    }

    /// Connections that are to be reset must be known by then.
    fn follow_for(&mut self, link: LinkId, change: &Change) {
        if matches!(change, Change::Cut(_)) {
            self.follow_connections(link);
        }
    }

    #[cold]
    pub(super) fn on_planned_change(&mut self) {
        let now = self.transit.now();
        self.timeline.on_event(now);
        while let Some(PlannedChange { link, way, change, .. }) = self.timeline.next_due(now) {
            // It could when it was planned, and no other change makes it impossible.
            let _ = self.reconfigure_link(link, way, &change);
        }
        for (link, way, change) in self.timeline.advance(now) {
            self.make_change(link, way, &change);
        }
        self.timeline.await_next(&mut self.transit);
    }

    /// Changes a link, now. After an error nothing has changed.
    pub fn reconfigure_link(
        &mut self,
        link: LinkId,
        way: LinkDirection,
        change: &Change,
    ) -> Result<(), ChangeError> {
        self.can_reconfigure_link(link, way, change)?;
        for way in ways(way, change) {
            if self.timeline.lets_through(link, way, change) {
                self.make_change(link, way, change);
            }
        }
        Ok(())
    }

    /// Changes one direction, whatever interval it is in.
    fn make_change(&mut self, link: LinkId, way: LinkDirection, change: &Change) {
        match change {
            Change::Selection(selection) => {
                self.select(link, selection);
                return;
            }
            Change::Cut(cut) => {
                self.set_cut(link, *cut);
                return;
            }
            _ => {}
        }
        for [from, to] in self.changed(link, way, change) {
            if let Change::Faults(faults) = change {
                self.faults.set(to, *faults);
                continue;
            }
            let (links, port) = self.links.of_mut(self.network.interface(from).egress);
            links.change(port, change, &mut self.transit);
        }
        if matches!(change, Change::Capacity(_)) {
            self.resume_sources();
        }
    }

    /// Whether a link can be changed so. No other change makes this one impossible: several of
    /// which each is possible can all be made.
    pub fn can_reconfigure_link(
        &self,
        link: LinkId,
        way: LinkDirection,
        change: &Change,
    ) -> Result<(), ChangeError> {
        for [from, to] in self.changed(link, way, change) {
            let (links, port) = self.links.of(self.network.interface(from).egress);
            links.can_change(port, change)?;
            if matches!(change, Change::Selection(_))
                && [from, to].into_iter().any(|at| self.is_shown_fates(at))
            {
                return Err(ChangeError::Fates);
            }
        }
        Ok(())
    }

    /// Whether the agent that watches an interface requires the fates of frames.
    fn is_shown_fates(&self, at: At) -> bool {
        let agent = self.network.interface(at).agent;
        agent.is_some_and(|agent| self.seats.needs(agent).intersects(Selection::HIDES))
    }

    /// The directions that a change applies to: for each, the interface that its packets leave by, and the
    /// one that they arrive at.
    fn changed(
        &self,
        link: LinkId,
        way: LinkDirection,
        change: &Change,
    ) -> impl Iterator<Item = [At; 2]> + use<> {
        let [forward, backward] = self.directions(link);
        let directions = match way {
            _ if change.is_of_both() => [forward, None],
            LinkDirection::Forward => [forward, None],
            LinkDirection::Backward => [None, backward],
            LinkDirection::Both => [forward, backward],
        };
        directions.into_iter().flatten()
    }

    /// The directions of a link: the interface that packets leave by, and the one that they arrive at.
    pub(super) fn directions(&self, link: LinkId) -> [Option<[At; 2]>; 2] {
        let (first, second) = self.link_ends(link);
        let [first, second] =
            [first, second].map(|node| Some((node, self.network.interface_to(node, link)?)));
        let ends = first.zip(second);
        [ends.map(|(first, second)| [first, second]), ends.map(|(first, second)| [second, first])]
    }
}

/// The directions of a change, one by one. What both have in common changes once.
fn ways(way: LinkDirection, change: &Change) -> impl Iterator<Item = LinkDirection> + use<> {
    let ways = match way {
        _ if change.is_of_both() => [Some(LinkDirection::Forward), None],
        LinkDirection::Both => [Some(LinkDirection::Forward), Some(LinkDirection::Backward)],
        one => [Some(one), None],
    };
    ways.into_iter().flatten()
}
