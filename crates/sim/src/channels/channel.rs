//! A connection of a session, with both of its ends, and what is said over it.

use std::collections::VecDeque;

use lasthop_packet::{Instant, Packet};
use lasthop_tcp::Connection;
use lasthop_tcp::connection::{Endpoint, State};

use crate::flow::is_piece;
use crate::id::{ChannelEndId, NodeId, SessionId};
use crate::schedule::LazyTimer;
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
        ChannelEndId::of(2 * self.slot as usize + end)
    }
}

/// A connection of a session. End 0 is the client's.
pub(crate) struct Channel {
    pub(crate) session: SessionId,
    /// What the session's script calls it; `None` once it does not any more.
    pub(crate) lane: Option<Lane>,
    pub(crate) nodes: [NodeId; 2],
    pub(crate) addresses: [Endpoint; 2],
    pub(crate) ends: [ChannelEnd; 2],
    pub(crate) is_waiting: bool,
}

/// One end.
pub(crate) struct ChannelEnd {
    pub(crate) tcp: Connection,
    pub(crate) timer: LazyTimer,
    /// The simulated stream that it writes.
    stream: u32,
    written: u64,
    /// Octets that the other end has got of it.
    delivered: u64,
    /// Where each message that the other end has not got yet ends.
    messages: VecDeque<u64>,
    /// Its application has closed before the connection was there: TCP hears of it then.
    is_to_close: bool,
}

/// What an end took from its connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) octets: u64,
    /// Messages that are whole now.
    pub(crate) messages: usize,
    pub(crate) is_wrong: bool,
}

impl Channel {
    pub(super) fn new(
        session: SessionId,
        lane: Lane,
        nodes: [NodeId; 2],
        addresses: [Endpoint; 2],
        ends: [Connection; 2],
        stream: u32,
    ) -> Self {
        let mut streams = [stream, stream + 1].into_iter();
        let ends = ends.map(|tcp| ChannelEnd {
            tcp,
            timer: LazyTimer::default(),
            stream: streams.next().unwrap_or(stream),
            written: 0,
            delivered: 0,
            messages: VecDeque::new(),
            is_to_close: false,
        });
        Self { session, lane: Some(lane), nodes, addresses, ends, is_waiting: false }
    }

    /// The application at an end writes a message.
    pub(crate) fn write(&mut self, end: usize, octets: u64) {
        let of = &mut self.ends[end];
        of.tcp.write_stream(of.stream, of.written, octets);
        of.written += octets;
        of.messages.push_back(of.written);
    }

    /// The application at an end writes nothing more. A server that has not been called yet waits for
    /// its client first.
    pub(crate) fn close(&mut self, end: usize) {
        let of = &mut self.ends[end];
        of.is_to_close = of.tcp.state() == State::Listen;
        if !of.is_to_close {
            of.tcp.close();
        }
    }

    /// A segment or an ICMP message arrives at an end, whose application reads what there is to read,
    /// and closes with the other end.
    pub(crate) fn receive(&mut self, end: usize, packet: &Packet, now: Instant) -> Taken {
        let [client, server] = &mut self.ends;
        let (here, there) = if end == 0 { (client, server) } else { (server, client) };
        if packet.tcp().is_some() {
            here.tcp.on_segment(packet, now);
        } else {
            here.tcp.on_icmp(packet, now);
        }
        let mut taken = Taken::default();
        while let Some(payload) = here.tcp.read() {
            taken.is_wrong |= !is_piece(&payload, there.stream, there.delivered);
            there.delivered += payload.len() as u64;
            taken.octets += payload.len() as u64;
        }
        while there.messages.front().is_some_and(|message| *message <= there.delivered) {
            there.messages.pop_front();
            taken.messages += 1;
        }
        let is_called = here.tcp.state() != State::Listen;
        if here.tcp.peer_has_closed() || (here.is_to_close && is_called) {
            here.tcp.close();
        }
        taken
    }

    /// Whether an end gave up, or was reset. What the other one is doing tells nothing: an agent that
    /// splits the connection may be between them.
    pub(crate) fn has_failed(&self) -> bool {
        self.ends.iter().any(|end| end.tcp.has_failed())
    }

    /// Whether there are messages that have not arrived in whole.
    pub(crate) fn has_unsaid(&self) -> bool {
        self.ends.iter().any(|end| !end.messages.is_empty())
    }

    /// Whether both ends are closed.
    pub(crate) fn is_over(&self) -> bool {
        self.ends.iter().all(|end| end.tcp.state() == State::Closed)
    }

    /// Whether the applications have left it, and an end is closed or only waits for old segments: what
    /// is left to do is TCP's.
    pub(crate) fn only_waits(&self) -> bool {
        let is_done = |state| matches!(state, State::Closed | State::TimeWait);
        self.lane.is_none() && self.ends.iter().any(|end| is_done(end.tcp.state()))
    }
}
