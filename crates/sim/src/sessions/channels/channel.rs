//! A connection of a dialogue, with both of its ends and the messages on it.

use std::collections::VecDeque;

use lasthop_packet::{Instant, Packet};
use lasthop_tcp::connection::Socket;
use lasthop_tcp::{Connection, Stats};

use crate::endpoint::AnyEndpoint;
use crate::flow::is_piece;
use crate::id::{ChannelEndId, DialogueId, NodeId};
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;
use lasthop_apps::session::script::Lane;

/// Which connection: a place that is used again, and how often it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelKey {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl ChannelKey {
    /// One of its ends.
    pub(crate) fn end(self, end: usize) -> ChannelEndId {
        ChannelEndId::from_index(2 * self.slot as usize + end)
    }
}

/// A connection of a dialogue. End 0 is the client's.
pub(in crate::sessions) struct Channel {
    dialogue: DialogueId,
    /// Its identifier in the dialogue's script; `None` after the script has left it.
    lane: Option<Lane>,
    nodes: [NodeId; 2],
    /// Each end's own address and port, and those by which it knows the other end.
    between: [(Socket, Socket); 2],
    ends: [End; 2],
    is_waiting: bool,
}

/// One end.
struct End {
    endpoint: AnyEndpoint,
    timer: LazyTimer,
    /// The simulated stream that it writes.
    stream: u32,
    written: u64,
    /// Octets of it that the other end has read.
    delivered: u64,
    /// The ends of the messages that the other end has not read completely.
    messages: VecDeque<u64>,
    /// Its application has closed before the connection was open: TCP closes when it is.
    is_to_close: bool,
}

/// The data that an end has read from its connection.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sessions) struct Taken {
    pub(in crate::sessions) octets: u64,
    /// Messages that are complete now.
    pub(in crate::sessions) messages: usize,
    pub(in crate::sessions) is_wrong: bool,
}

impl Channel {
    pub(super) fn new(
        dialogue: DialogueId,
        lane: Lane,
        nodes: [NodeId; 2],
        between: [(Socket, Socket); 2],
        ends: [Connection; 2],
        stream: u32,
    ) -> Self {
        let mut streams = [stream, stream + 1].into_iter();
        let ends = ends.map(|tcp| End {
            endpoint: AnyEndpoint::Tcp(tcp),
            timer: LazyTimer::default(),
            stream: streams.next().unwrap_or(stream),
            written: 0,
            delivered: 0,
            messages: VecDeque::new(),
            is_to_close: false,
        });
        Self { dialogue, lane: Some(lane), nodes, between, ends, is_waiting: false }
    }

    pub(in crate::sessions) const fn dialogue(&self) -> DialogueId {
        self.dialogue
    }

    /// Its identifier in the dialogue's script; `None` after the script has left it.
    pub(in crate::sessions) const fn lane(&self) -> Option<Lane> {
        self.lane
    }

    /// The dialogue's script leaves it.
    pub(in crate::sessions) const fn leave(&mut self) {
        self.lane = None;
    }

    /// The node that an end is at.
    pub(in crate::sessions) const fn node(&self, end: usize) -> NodeId {
        self.nodes[end]
    }

    /// An end's own address and port, and those by which it knows the other end.
    pub(super) const fn between(&self, end: usize) -> (Socket, Socket) {
        self.between[end]
    }

    /// Whether an end waits for a call.
    pub(super) fn awaits_call(&self, end: usize) -> bool {
        self.ends[end].endpoint.awaits_call()
    }

    /// An end knows the other one by this address and port.
    pub(super) const fn rename(&mut self, end: usize, other: Socket) {
        self.between[end].1 = other;
    }

    /// The statistics of both ends.
    pub(in crate::sessions) fn stats(&self) -> impl Iterator<Item = Stats> {
        self.ends.iter().filter_map(|end| end.endpoint.tcp()).map(Connection::stats)
    }

    /// The application at an end writes a message.
    pub(in crate::sessions) fn write(&mut self, end: usize, octets: u64) {
        let of = &mut self.ends[end];
        of.endpoint.write_stream(of.stream, of.written, octets);
        of.written += octets;
        of.messages.push_back(of.written);
    }

    /// The application at an end writes nothing more. A server that has not been called yet waits for
    /// its client first.
    pub(in crate::sessions) fn close(&mut self, end: usize) {
        let of = &mut self.ends[end];
        of.is_to_close = of.endpoint.awaits_call();
        if !of.is_to_close {
            of.endpoint.close();
        }
    }

    /// A segment or an ICMP message arrives at an end, whose application reads what there is to read,
    /// and closes with the other end.
    pub(in crate::sessions) fn receive(&mut self, end: usize, packet: &Packet, now: Instant) -> Taken {
        let [client, server] = &mut self.ends;
        let (here, there) = if end == 0 { (client, server) } else { (server, client) };
        here.endpoint.on_packet(packet, now);
        let mut taken = Taken::default();
        while let Some(payload) = here.endpoint.read() {
            taken.is_wrong |= !is_piece(&payload, there.stream, there.delivered);
            there.delivered += payload.len() as u64;
            taken.octets += payload.len() as u64;
        }
        while there.messages.front().is_some_and(|message| *message <= there.delivered) {
            there.messages.pop_front();
            taken.messages += 1;
        }
        let is_called = !here.endpoint.awaits_call();
        if here.endpoint.peer_has_closed() || (here.is_to_close && is_called) {
            here.endpoint.close();
        }
        taken
    }

    /// The dialogue aborts it: the client resets it.
    pub(in crate::sessions) fn abort(&mut self) {
        self.lane = None;
        self.ends[0].endpoint.abort();
    }

    /// The next packet of an end, if there is one.
    pub(in crate::sessions) fn transmit_into(
        &mut self,
        end: usize,
        place: &mut Option<Packet>,
        now: Instant,
    ) -> bool {
        self.ends[end].endpoint.transmit(place, now)
    }

    /// Follows the deadline of an end.
    pub(in crate::sessions) fn follow(&mut self, end: usize, event: Event, transit: &mut Transit) {
        let of = &mut self.ends[end];
        let deadline = of.endpoint.due().map(|due| due.max(transit.now()));
        transit.follow(&mut of.timer, deadline, event);
    }

    /// The timer of an end has fired. Whether that was for its deadline.
    pub(in crate::sessions) fn on_deadline(&mut self, end: usize, now: Instant) -> bool {
        let of = &mut self.ends[end];
        let is_due = of.timer.fired(now);
        if is_due && of.endpoint.due().is_some_and(|due| due <= now) {
            of.endpoint.on_deadline(now);
        }
        is_due
    }

    /// Whether an end gave up, or was reset. The state of the other end does not matter: an agent that
    /// splits the connection may be between them.
    pub(in crate::sessions) fn has_failed(&self) -> bool {
        self.ends.iter().any(|end| end.endpoint.has_failed())
    }

    /// Whether there are messages that have not arrived completely.
    pub(in crate::sessions) fn has_unsaid(&self) -> bool {
        self.ends.iter().any(|end| !end.messages.is_empty())
    }

    /// Whether both ends are closed.
    pub(in crate::sessions) fn is_over(&self) -> bool {
        self.ends.iter().all(|end| end.endpoint.is_closed())
    }

    /// Whether from now on the applications have left it, and an end is closed or only waits for old
    /// segments: what is left to do is TCP's. Told once.
    pub(in crate::sessions) fn starts_to_wait(&mut self) -> bool {
        let only_waits = self.lane.is_none() && self.ends.iter().any(|end| end.endpoint.is_done());
        only_waits && !std::mem::replace(&mut self.is_waiting, true)
    }
}
