//! Changes of links that end again.

use std::mem::discriminant;

use lasthop_packet::Instant;

use crate::change::{Change, LinkDirection, PlannedInterval};
use crate::cut::Cut;
use crate::id::LinkId;

/// All changes that end again, and what the links are like without them. It takes as much memory as
/// there are such changes, however often they repeat, and as much time at a beginning or an end.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    list: Vec<Interval>,
    /// The properties outside of intervals: one for each property of a direction that has intervals.
    outside: Vec<(LinkId, LinkDirection, Change)>,
}

#[derive(Debug)]
struct Interval {
    planned: PlannedInterval,
    is_on: bool,
    /// When it begins or ends next.
    edge: Option<Instant>,
}

impl Interval {
    /// One as it is at `now`.
    fn at(planned: PlannedInterval, now: Instant) -> Self {
        let mut interval = Self { is_on: false, edge: Some(planned.first), planned };
        if let Some(period) = interval.planned.period.filter(|_| interval.planned.first <= now) {
            let periods = now.since(interval.planned.first).as_nanos() / period.as_nanos().max(1);
            let skipped = u64::try_from(periods * period.as_nanos()).unwrap_or(u64::MAX);
            interval.edge = Some(interval.planned.first.after_nanos(skipped));
        }
        interval.advance(now);
        interval
    }

    /// Has it begin and end up to `now`. Whether it is on when it was off before, or the other way
    /// round.
    fn advance(&mut self, now: Instant) -> bool {
        let was_on = self.is_on;
        while let Some(edge) = self.edge.filter(|edge| *edge <= now) {
            let PlannedInterval { length, period, .. } = self.planned;
            self.is_on = !self.is_on;
            self.edge = if self.is_on {
                Some(edge + length)
            } else {
                period.map(|period| edge + period.saturating_sub(length))
            };
        }
        self.is_on != was_on
    }

    fn is_of(&self, link: LinkId, way: LinkDirection, change: &Change) -> bool {
        let Self { planned, .. } = self;
        planned.link == link && planned.way == way && discriminant(&planned.within) == discriminant(change)
    }
}

impl Intervals {
    /// The planned intervals, as they are at `now`.
    pub(super) fn new(planned: Vec<PlannedInterval>, now: Instant) -> Self {
        let mut outside: Vec<(LinkId, LinkDirection, Change)> = Vec::new();
        for PlannedInterval { link, way, outside: change, .. } in &planned {
            let is_it = |(other, its, known): &(LinkId, LinkDirection, Change)| {
                (other, its) == (link, way) && discriminant(known) == discriminant(change)
            };
            if !outside.iter().any(is_it) {
                let change = if change.is_momentary() { Change::Cut(Cut::None) } else { change.clone() };
                outside.push((*link, *way, change));
            }
        }
        let list = planned.into_iter().map(|planned| Interval::at(planned, now)).collect();
        Self { list, outside }
    }

    /// When one of them begins or ends next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.list.iter().filter_map(|interval| interval.edge).min()
    }

    /// A property of a direction is changed. Whether that is to be made now; else it is when no
    /// interval holds any more.
    pub(super) fn lets_through(&mut self, link: LinkId, way: LinkDirection, change: &Change) -> bool {
        if change.is_momentary() {
            return true;
        }
        let known = self.outside.iter_mut().find(|(other, its, known)| {
            (*other, *its) == (link, way) && discriminant(known) == discriminant(change)
        });
        let Some((.., known)) = known else { return true };
        *known = change.clone();
        !self.list.iter().any(|interval| interval.is_on && interval.is_of(link, way, change))
    }

    /// Has time pass up to `now`. Returns what then holds of the properties of which an interval has
    /// begun or ended.
    pub(super) fn advance(&mut self, now: Instant) -> Vec<(LinkId, LinkDirection, Change)> {
        let mut changed: Vec<(LinkId, LinkDirection, Change)> = Vec::new();
        for index in 0..self.list.len() {
            if !self.list[index].advance(now) {
                continue;
            }
            let PlannedInterval { link, way, within, .. } = &self.list[index].planned;
            let is_it = |(other, its, known): &(LinkId, LinkDirection, Change)| {
                (other, its) == (link, way) && discriminant(known) == discriminant(within)
            };
            if !changed.iter().any(is_it) {
                changed.push((*link, *way, within.clone()));
            }
        }
        for (link, way, change) in &mut changed {
            if let Some(holds) = self.holding(*link, *way, change) {
                *change = holds.clone();
            }
        }
        changed
    }

    /// The current values of all properties that have intervals.
    pub(super) fn all(&self) -> Vec<(LinkId, LinkDirection, Change)> {
        let holding = |(link, way, outside): &(LinkId, LinkDirection, Change)| {
            let holds = self.holding(*link, *way, outside).unwrap_or(outside);
            (*link, *way, holds.clone())
        };
        self.outside.iter().map(holding).collect()
    }

    /// The value outside of all intervals.
    pub(super) fn into_outside(self) -> Vec<(LinkId, LinkDirection, Change)> {
        self.outside
    }

    /// The current value of a property that has intervals.
    fn holding(&self, link: LinkId, way: LinkDirection, kind: &Change) -> Option<&Change> {
        let within = self.list.iter().rfind(|interval| interval.is_on && interval.is_of(link, way, kind));
        let outside = || {
            self.outside.iter().find(|(other, its, known)| {
                (*other, *its) == (link, way) && discriminant(known) == discriminant(kind)
            })
        };
        within.map(|interval| &interval.planned.within).or_else(|| outside().map(|(.., change)| change))
    }
}
