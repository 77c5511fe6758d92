//! The connections of dialogues: opened and closed while a world runs.

mod channel;

use std::collections::VecDeque;

use lasthop_packet::Packet;
use lasthop_tcp::connection::Socket;
use lasthop_tcp::{Connection, Stats};

use crate::endpoints::Endpoints;
use crate::id::{ChannelEndId, DialogueId, NodeId};
use lasthop_apps::session::script::Lane;

pub(crate) use channel::ChannelKey;
pub(super) use channel::{Channel, Taken};

/// A client's ports are those of RFC 6335, section 6: 49152 to 65535.
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = u16::MAX - FIRST_PORT;
/// Connections that wait in TIME-WAIT at most, in all; beyond, the oldest ends early, as with Linux's
/// `tcp_max_tw_buckets`.
const MAX_WAITING: usize = 16_384;

#[derive(Default)]
pub(super) struct Channels {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    endpoints: Endpoints<ChannelEndId>,
    /// By node, where its next search for a port begins.
    next_ports: Vec<u16>,
    /// Streams so far: each direction of each connection is one.
    streams: u32,
    /// Connections that only wait for old segments, the oldest first.
    waiting: VecDeque<ChannelKey>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    channel: Option<Box<Channel>>,
}

impl Channels {
    /// A port of a node that no connection to this remote end has; `None` if there is none.
    pub(super) fn free_port(&mut self, node: NodeId, remote: Socket) -> Option<u16> {
        if self.next_ports.len() <= node.index() {
            self.next_ports.resize(node.index() + 1, 0);
        }
        let first = self.next_ports[node.index()];
        let mut ports = (0..PORTS).map(|step| (first + step) % PORTS);
        let port = ports.find(|port| !self.endpoints.has(node, FIRST_PORT + port, remote))?;
        self.next_ports[node.index()] = (port + 1) % PORTS;
        Some(FIRST_PORT + port)
    }

    /// Adds a connection between two nodes.
    pub(super) fn add(
        &mut self,
        (dialogue, lane): (DialogueId, Lane),
        nodes: [NodeId; 2],
        between: [(Socket, Socket); 2],
        ends: [Connection; 2],
    ) -> ChannelKey {
        self.streams = self.streams.wrapping_add(2);
        // Flows' streams are counted from 1 on.
        let stream = self.streams | 1 << 31;
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let of = &mut self.slots[slot as usize];
        of.channel = Some(Box::new(Channel::new(dialogue, lane, nodes, between, ends, stream)));
        let key = ChannelKey { slot, generation: of.generation };
        for end in 0..2 {
            self.endpoints.add(nodes[end], between[end], key.end(end));
        }
        key
    }

    /// The connection with this key, if it is still there.
    pub(super) fn get(&mut self, key: ChannelKey) -> Option<&mut Channel> {
        let slot = &mut self.slots[key.slot as usize];
        slot.channel.as_deref_mut().filter(|_| slot.generation == key.generation)
    }

    /// The connection that an end is of now, and which of its ends that is.
    pub(super) fn of_end(&self, id: ChannelEndId) -> Option<(ChannelKey, usize)> {
        let slot = id.0 / 2;
        let of = &self.slots[slot as usize];
        of.channel.as_ref().map(|_| (ChannelKey { slot, generation: of.generation }, id.index() % 2))
    }

    /// The end at a node that a packet is for.
    pub(super) fn endpoint(&mut self, node: NodeId, packet: &Packet) -> Option<(ChannelKey, usize)> {
        let id = self.endpoints.of(node, packet)?;
        self.of_end(id)
    }

    /// The end at a node that waits for a call from `caller`, and whom it will know by another address and port.
    /// Whether there is one.
    pub(super) fn expect_as(
        &mut self,
        node: NodeId,
        local: Socket,
        caller: Socket,
        known_as: Socket,
    ) -> bool {
        let found = self.endpoints.get(node, local.1, caller).and_then(|id| self.of_end(id));
        let Some((key, end)) = found else { return false };
        let waits = self.get(key).is_some_and(|channel| {
            let waits = channel.awaits_call(end);
            if waits {
                channel.rename(end, known_as);
            }
            waits
        });
        if waits {
            self.endpoints.rename(node, (local, caller), known_as);
        }
        waits
    }

    /// A connection is gone.
    pub(super) fn remove(&mut self, key: ChannelKey) -> Option<Box<Channel>> {
        let slot = &mut self.slots[key.slot as usize];
        if slot.generation != key.generation {
            return None;
        }
        let channel = slot.channel.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.vacant.push(key.slot);
        for end in 0..2 {
            self.endpoints.remove(channel.node(end), channel.between(end));
        }
        Some(channel)
    }

    /// A connection waits for old segments only; the oldest of those that do, if there are too many.
    pub(super) fn wait(&mut self, key: ChannelKey) -> Option<ChannelKey> {
        self.waiting.push_back(key);
        // Those that are gone are forgotten.
        while let Some(oldest) = self.waiting.front().copied()
            && self.get(oldest).is_none()
        {
            self.waiting.pop_front();
        }
        if self.waiting.len() > MAX_WAITING { self.waiting.pop_front() } else { None }
    }

    /// The statistics of the endpoints of a dialogue's connections that are still there.
    pub(super) fn stats_of(&self, dialogue: DialogueId) -> impl Iterator<Item = Stats> {
        let channels = self.slots.iter().filter_map(|slot| slot.channel.as_deref());
        let of_it = channels.filter(move |channel| channel.dialogue() == dialogue);
        of_it.flat_map(Channel::stats)
    }

    /// Whether there are connections, or have been.
    pub(super) const fn were_any(&self) -> bool {
        self.streams > 0
    }

    /// Connections that there are now.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}
