//! The event queue.

use lasthop_link::{Due, Upcoming};
use lasthop_packet::Instant;

use crate::id::{
    AgentId, ChannelEndId, ConnectionId, DialogueId, FlowId, HandOffId, HopId, LinkId, ManagedPipeId,
    MediumId, MemberId, NodeId, PartyId, PipeId, PortId, ServiceSetId, SessionId, TunnelEndId, WlanId,
};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet in a wired pipe reaches its end.
    PipeArrival(PipeId),
    /// The transmitter of a wired pipe with a managed queue is free.
    TransmitterFree(ManagedPipeId),
    /// The first packet in a wired pipe with a managed queue reaches its end.
    ManagedArrival(ManagedPipeId),
    /// The first packet in a node's processing is through.
    Processed(NodeId),
    /// The first frame in the air of a wireless hop reaches its receiver.
    FrameArrival(HopId),
    /// The exchange that holds a medium is over.
    ExchangeOver(MediumId),
    /// The sender of a wireless hop learns what became of a transmission that it did not wait for.
    TransmissionKnown(HopId),
    /// Something is due in an 802.11 cell.
    Radio(WlanId),
    /// A packet that has come through a cell reaches the node at the other end of its link.
    RadioArrival(PortId),
    /// A TCP endpoint's deadline.
    ConnectionDeadline(ConnectionId),
    /// An agent's deadline.
    AgentDeadline(AgentId),
    /// Something is due in a node's search for routes.
    Routing(NodeId),
    /// Something is due at a member of an extended service set.
    ManagementDue(MemberId),
    /// The controller of an extended service set is to look at its access points.
    SteeringDue(ServiceSetId),
    /// An access point has waited for another one, or for the registry.
    HandOffDue(HandOffId),
    /// The deadline of one end of a connection between access points.
    TunnelDeadline(TunnelEndId),
    /// Stations of an 802.11 cell are to move on.
    Movement(WlanId),
    /// Connections of a link are to be cut.
    ConnectionsDue(LinkId),
    /// A link is to change.
    PlannedChange,
    /// A flow starts.
    FlowStart(FlowId),
    /// A flow's application writes.
    FlowWrite(FlowId),
    /// A flow's application stops writing.
    FlowStop(FlowId),
    /// A session stops.
    SessionStop(SessionId),
    /// A dialogue starts.
    DialogueStart(DialogueId),
    /// A dialogue continues.
    DialogueDue(DialogueId),
    /// A dialogue has found no port for a connection.
    DialogueRefused(DialogueId),
    /// The deadline of one end of a dialogue's connection.
    ChannelDeadline(ChannelEndId),
    /// A packet is due from a party of a call.
    MediaDue(PartyId),
    /// A report is due from a party of a call.
    ReportDue(PartyId),
}

/// Events in order of time; those of the same time in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    upcoming: Upcoming<Entry>,
    scheduled: u64,
    /// Events after it are not asked for at present.
    until: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    order: u64,
    event: Event,
}

impl Due for Entry {
    /// Time, then order of scheduling, as one number.
    type Turn = u128;

    #[inline]
    fn turn(&self) -> u128 {
        (u128::from(self.at.as_nanos()) << 64) | u128::from(self.order)
    }

    #[inline]
    fn is_before(&self, newcomer: &Self) -> bool {
        self.at <= newcomer.at
    }
}

impl Schedule {
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: Event) {
        self.scheduled += 1;
        self.upcoming.push(Entry { at, order: self.scheduled, event });
    }

    /// The time of the next event.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.upcoming.next().map(|next| next.at)
    }

    /// What is due before this would be next: there is no need to put it in. Not later than right
    /// after the limit of the last [`Self::pop_until`].
    #[inline]
    pub(crate) fn horizon(&self) -> Instant {
        let end = self.until.after_nanos(1);
        self.upcoming.next().map_or(end, |next| next.at.min(end))
    }

    /// Takes the next event if it is not after `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: Instant) -> Option<(Instant, Event)> {
        self.until = until;
        let next = self.upcoming.pop_if(|next| next.at <= until)?;
        Some((next.at, next.event))
    }
}

/// A deadline that moves often. One event is kept in the schedule; when it fires too early it is
/// set again, so that a deadline that only ever moves later costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LazyTimer {
    scheduled: Option<Instant>,
}

impl LazyTimer {
    /// The deadline is now `deadline`: schedules an event unless an earlier or equal one is
    /// scheduled.
    #[inline]
    pub(crate) fn follow(&mut self, deadline: Option<Instant>, event: Event, schedule: &mut Schedule) {
        let Some(deadline) = deadline else { return };
        if self.scheduled.is_none_or(|scheduled| deadline < scheduled) {
            self.set(deadline, event, schedule);
        }
    }

    #[cold]
    fn set(&mut self, deadline: Instant, event: Event, schedule: &mut Schedule) {
        self.scheduled = Some(deadline);
        schedule.push(deadline, event);
    }

    /// The deadline is met without an event: what was scheduled for it does not count any more.
    #[inline]
    pub(crate) fn forestall(&mut self) {
        self.scheduled = None;
    }

    /// An event fired at `now`: whether it is the one that counts. An older one, overtaken by an
    /// earlier deadline, does not.
    pub(crate) fn fired(&mut self, now: Instant) -> bool {
        let counts = self.scheduled == Some(now);
        if counts {
            self.scheduled = None;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Rng;

    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_those_of_one_time_in_order_of_scheduling() {
        let mut rng = Rng::named(1, "schedule");
        let mut schedule = Schedule::default();
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        for number in 0..20_000 {
            // Up to two events go in for each that comes out, in waves, so that the queue grows and
            // shrinks.
            let wave = if number % 4_000 < 2_000 { 2 } else { 1 };
            for _ in 0..rng.below(wave + 1) {
                let at = 1_000 + u64::from(number) + rng.below(50);
                schedule.push(Instant::from_nanos(at), Event::PipeArrival(PipeId(number)));
                waiting.push((at, number));
            }
            // Stable: of those with the same time, the first scheduled.
            let first =
                waiting.iter().enumerate().min_by_key(|(index, (at, _))| (*at, *index)).map(|(i, _)| i);
            assert_eq!(schedule.next_at(), first.map(|i| Instant::from_nanos(waiting[i].0)));
            let expected = first.map(|i| waiting.remove(i));
            let popped = schedule.pop_until(Instant::MAX);
            assert_eq!(
                popped,
                expected.map(|(at, number)| (Instant::from_nanos(at), Event::PipeArrival(PipeId(number))))
            );
        }
    }

    #[test]
    fn an_event_after_the_limit_stays() {
        let mut schedule = Schedule::default();
        schedule.push(Instant::from_millis(5), Event::Processed(NodeId(0)));
        assert_eq!(schedule.pop_until(Instant::from_millis(4)), None);
        assert_eq!(
            schedule.pop_until(Instant::from_millis(5)),
            Some((Instant::from_millis(5), Event::Processed(NodeId(0))))
        );
        assert_eq!((schedule.next_at(), schedule.pop_until(Instant::MAX)), (None, None));
    }
}
