//! The event queue.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use lasthop_packet::Instant;

use crate::id::{AgentId, ConnectionId, FlowId, HopId, MediumId, NodeId, PipeId};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet in a wired pipe reaches its end.
    PipeArrival(PipeId),
    /// The first packet in a node's processing is through.
    Processed(NodeId),
    /// The first frame in the air of a wireless hop reaches its receiver.
    FrameArrival(HopId),
    /// The exchange that holds a medium is over.
    ExchangeOver(MediumId),
    /// A TCP endpoint's deadline.
    ConnectionDeadline(ConnectionId),
    /// An agent's deadline.
    AgentDeadline(AgentId),
    /// A flow starts.
    FlowStart(FlowId),
    /// A flow's application stops writing.
    FlowStop(FlowId),
}

/// Events in order of time; those of the same time in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    heap: BinaryHeap<Entry>,
    scheduled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    order: u64,
    event: Event,
}

impl Entry {
    /// Time, then order of scheduling, as one number.
    #[inline]
    const fn key(&self) -> u128 {
        ((self.at.as_nanos() as u128) << 64) | self.order as u128
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// The standard heap gives out its greatest element; ours is the earliest.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl Schedule {
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: Event) {
        self.scheduled += 1;
        self.heap.push(Entry { at, order: self.scheduled, event });
    }

    /// The time of the next event.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the next event if it is not after `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: Instant) -> Option<(Instant, Event)> {
        if self.heap.peek()?.at > until {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// Events scheduled so far.
    pub(crate) const fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

/// A deadline that moves often. One event is kept in the schedule; when it fires too early it is set again, so that a deadline
/// that only ever moves later costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LazyTimer {
    scheduled: Option<Instant>,
}

impl LazyTimer {
    /// The deadline is now `deadline`: schedules an event unless an earlier or equal one is scheduled.
    #[inline]
    pub(crate) fn follow(&mut self, deadline: Option<Instant>, event: Event, schedule: &mut Schedule) {
        let Some(deadline) = deadline else { return };
        if self.scheduled.is_none_or(|scheduled| deadline < scheduled) {
            self.scheduled = Some(deadline);
            schedule.push(deadline, event);
        }
    }

    /// An event fired at `now`: whether it is the one that counts. An older one, overtaken by an earlier deadline, does not.
    pub(crate) fn fired(&mut self, now: Instant) -> bool {
        let counts = self.scheduled == Some(now);
        if counts {
            self.scheduled = None;
        }
        counts
    }
}
