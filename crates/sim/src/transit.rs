//! What every part of a world uses: the time, the events to come, the packets in transit, observers and
//! counters, and the sequence numbers at which data begins.

use std::collections::BTreeMap;

use lasthop_agent::Report;
use lasthop_packet::{Instant, Packet, Seq};
use lasthop_tcp::connection::Socket;

use crate::accounts::{Accounts, DropCause};
use crate::id::{LinkId, NodeId};
use crate::observe::{Interest, Observer, TraceEvent};
use crate::packets::{PacketKey, Packets};
use crate::schedule::{Event, LazyTimer, Schedule};
use crate::telemetry::Telemetry;

pub(crate) struct Transit {
    now: Instant,
    schedule: Schedule,
    /// Every packet on its way, with where it goes.
    packets: Packets,
    telemetry: Telemetry,
    /// The sequence number of the first octet of each flow's data, by its sender and receiver: losses of
    /// chosen packets count from there.
    first_octets: BTreeMap<(Socket, Socket), Seq>,
}

/// The time and the events to come.
impl Transit {
    pub(crate) fn new() -> Self {
        Self {
            now: Instant::ZERO,
            schedule: Schedule::default(),
            packets: Packets::default(),
            telemetry: Telemetry::new(),
            first_octets: BTreeMap::new(),
        }
    }

    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Schedules an event.
    #[inline]
    pub(crate) fn schedule(&mut self, at: Instant, event: Event) {
        self.schedule.push(at, event);
    }

    /// Sets a timer's deadline; its event happens then.
    #[inline]
    pub(crate) fn follow(&mut self, timer: &mut LazyTimer, deadline: Option<Instant>, event: Event) {
        timer.follow(deadline, event, &mut self.schedule);
    }

    /// Sets the clock to the next event and takes it; without one by `end`, sets it to `end`.
    #[inline]
    pub(crate) fn next_event(&mut self, end: Instant) -> Option<Event> {
        let Some((at, event)) = self.schedule.pop_until(end) else {
            self.now = self.now.max(end);
            return None;
        };
        self.now = at;
        self.telemetry.count_events(1);
        Some(event)
    }

    /// When the next event happens.
    pub(crate) fn next_event_at(&self) -> Option<Instant> {
        self.schedule.next_at()
    }

    /// See [`Schedule::horizon`].
    #[inline]
    pub(crate) fn horizon(&self) -> Instant {
        self.schedule.horizon()
    }

    /// Events that were not scheduled, as they would have been the next ones, have been handled, the last of them
    /// at this time.
    #[inline]
    pub(crate) const fn skip_to(&mut self, last: Instant, events: u64) {
        self.now = last;
        self.telemetry.count_events(events);
    }
}

/// Packets.
impl Transit {
    #[inline]
    pub(crate) const fn packets(&self) -> &Packets {
        &self.packets
    }

    #[inline]
    pub(crate) const fn packets_mut(&mut self) -> &mut Packets {
        &mut self.packets
    }

    /// A packet in transit.
    #[inline]
    pub(crate) fn packet(&self, key: PacketKey) -> &Packet {
        self.packets.packet(key)
    }

    /// The data of a flow between these begins with this octet.
    pub(crate) fn add_stream(&mut self, from: Socket, to: Socket, first_octet: Seq) {
        self.first_octets.insert((from, to), first_octet);
    }

    /// The sequence number at which the data of a packet's flow begins.
    pub(crate) fn first_octet(&self, packet: &Packet) -> Option<Seq> {
        let (ip, tcp) = (packet.ip(), packet.tcp()?);
        let (from, to) = ((ip.source, tcp.source_port), (ip.destination, tcp.destination_port));
        self.first_octets.get(&(from, to)).copied()
    }
}

/// Observers and counters.
impl Transit {
    #[inline]
    pub(crate) const fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// As [`Self::telemetry`].
    pub(crate) const fn telemetry_mut(&mut self) -> &mut Telemetry {
        &mut self.telemetry
    }

    /// Adds an observer. Returns the interests of all observers.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) -> Interest {
        self.telemetry.add(observer);
        self.telemetry.interests()
    }

    /// Whether an observer wants events of one of these kinds.
    #[inline]
    pub(crate) const fn is_interested(&self, kinds: Interest) -> bool {
        self.telemetry.is_interested(kinds)
    }

    /// Reports an event to observers.
    #[inline]
    pub(crate) fn emit(&mut self, event: &TraceEvent<'_>) {
        self.telemetry.emit(self.now, event);
    }

    /// Reports an event about a packet to observers; `kind` is that of the event.
    #[inline]
    pub(crate) fn trace(
        &mut self,
        kind: Interest,
        key: PacketKey,
        event: impl FnOnce(&Packet) -> TraceEvent<'_>,
    ) {
        if self.telemetry.is_interested(kind) {
            self.telemetry.emit(self.now, &event(self.packets.packet(key)));
        }
    }

    /// An agent reports.
    pub(crate) fn report(&mut self, node: NodeId, report: &Report) {
        self.telemetry.count_report(report.counter, report.amount);
        self.emit(&TraceEvent::AgentReport { node, report });
    }

    /// Counts a packet that is dropped at a node, on its way out on a link if it has come so far.
    pub(crate) fn count_drop(&mut self, place: (NodeId, Option<LinkId>), key: PacketKey, cause: DropCause) {
        self.telemetry.count_drop(self.now, place, cause, self.packets.packet(key));
    }

    /// The counts of packets by their fate.
    #[inline]
    pub(crate) const fn accounts_mut(&mut self) -> &mut Accounts {
        self.telemetry.accounts_mut()
    }

    /// Where every packet is or went. Of those in transit, `doubled` are copies of others.
    pub(crate) fn accounts(&self, doubled: usize) -> Accounts {
        let in_transit = (self.packets.count() - doubled) as u64;
        Accounts { in_transit, ..self.telemetry.accounts() }
    }
}
