//! Flows at work: applications write, endpoints send and receive, datagrams go and come.

use std::time::Duration;

use lasthop_apps::traffic::Next;
use lasthop_packet::{Instant, Packet, Transport};

use super::World;
use crate::config::{FlowConfig, TransportConfig};
use crate::flow::{Flow, FlowOutcome, FlowSoFar, Written};
use crate::hosts::Begun;
use crate::id::{AgentId, ConnectionId, FlowId, NodeId, PipeId};
use crate::network::Interface;
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::Egress;

/// How long after a datagram a saturating source sends the next, where it was taken away before it
/// could leave a queue.
pub(super) const RETRY: Duration = Duration::from_millis(1);

impl World {
    /// Adds a flow.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        if matches!(config.transport, TransportConfig::Udp) {
            // It wants to know when a packet leaves a queue.
            self.links.cells_mut().tell_fates();
        }
        let addresses = [config.from, config.to].map(|node| self.node_address(node));
        self.hosts.add_flow(config, addresses, self.seed, &mut self.transit)
    }

    /// A flow as it stands.
    pub fn flow(&self, flow: FlowId) -> &Flow {
        self.hosts.flow(flow)
    }

    /// All flows in the order of addition.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.hosts.flows()).map(FlowId::of)
    }

    /// What became of a flow by now, from its start or from [`World::start_measuring`] on.
    pub fn outcome(&self, flow: FlowId) -> FlowOutcome {
        let nothing = FlowSoFar::default();
        let earlier = self.warm_up.flow(flow).unwrap_or(&nothing);
        self.hosts.outcome(flow, self.now(), (self.warm_up.end(), earlier))
    }

    /// The endpoint that sends a flow's data; `None` if that is not TCP's.
    pub fn sender(&self, flow: FlowId) -> Option<&lasthop_tcp::Connection> {
        self.hosts.sender(flow)?.tcp()
    }

    pub(super) fn on_flow_start(&mut self, id: FlowId) {
        match self.hosts.start(id, &mut self.transit) {
            Begun::Stopped => {}
            Begun::All(sender) => self.pump(sender),
            Begun::InTurns => self.on_flow_write(id),
        }
    }

    /// It is the application's turn.
    pub(super) fn on_flow_write(&mut self, id: FlowId) {
        let Some((written, sender, next)) = self.hosts.write(id) else { return };
        match (written, sender) {
            (Written::Stream { .. }, Some(sender)) => self.pump(sender),
            (Written::Datagram, _) => self.send_datagram(id, next == Next::WhenSent),
            (Written::Nothing | Written::Stream { .. }, _) => {}
        }
        match next {
            Next::At(at) => self.transit.schedule(at.max(self.transit.now()), Event::FlowWrite(id)),
            // Who sent it knows when.
            Next::WhenSent => {}
            Next::Never => {
                if let Some(sender) = self.hosts.end_writing(id, &mut self.transit) {
                    self.pump(sender);
                }
            }
        }
    }

    pub(super) fn on_flow_stop(&mut self, id: FlowId) {
        if let Some(sender) = self.hosts.stop(id, &mut self.transit) {
            self.pump(sender);
        }
    }

    /// A packet for a host: to the endpoint that it is for.
    pub(super) fn deliver_to_host(&mut self, node: NodeId, key: PacketKey) {
        if matches!(self.transit.packet(key).transport(), Transport::Udp(_)) {
            self.deliver_datagram(node, key);
        } else if let Some(id) = self.hosts.deliver(node, key, &mut self.transit) {
            self.pump(id);
        } else if !self.deliver_to_channel(node, key) {
            self.refuse(node, key);
        }
    }

    // Apart, so that it costs segments nothing.
    #[inline(never)]
    fn deliver_datagram(&mut self, node: NodeId, key: PacketKey) {
        let is_taken = self.hosts.receive_datagram(node, key, &mut self.transit)
            || self.sessions.receive_media(node, key, &mut self.transit);
        if is_taken {
            return;
        }
        match self.hosts.deliver_over_udp(node, key, &mut self.transit) {
            Some(id) => self.pump(id),
            None => self.deliver_otherwise(node, key),
        }
    }

    /// Sends what an endpoint has to send, and follows its deadline.
    #[inline]
    fn pump(&mut self, id: ConnectionId) {
        while let Some(key) = self.hosts.transmit(id, &mut self.transit) {
            let (node, destination) = self.hosts.way(id);
            match destination {
                Some(destination) => self.originate_to(destination, key),
                None if self.originate(node, key) => {
                    self.hosts.set_destination(id, self.transit.packets().destination(key));
                }
                None => continue,
            }
            self.route(node, key, AgentId::NONE);
        }
        self.hosts.follow(id, &mut self.transit);
    }

    pub(super) fn on_connection_deadline(&mut self, id: ConnectionId) {
        if self.hosts.on_deadline(id, &mut self.transit) {
            self.pump(id);
        }
    }

    /// Sends a flow's next datagram; a source that saturates the first queue (`saturates`) is to
    /// send another when this one has left it.
    fn send_datagram(&mut self, id: FlowId, saturates: bool) {
        let (now, gone) = (self.transit.now(), self.hosts.gone(id));
        let Some((from, packet)) = self.hosts.next_datagram(id, now) else { return };
        let len = packet.len();
        let first_pipe = if saturates { self.first_pipe(id, Some(&packet)) } else { None };
        let free_at = first_pipe.map(|pipe| self.links.wired().free_at(pipe));

        let key = self.transit.packets_mut().insert(packet);
        self.transit.trace(Interest::DATAGRAMS, key, |packet| TraceEvent::DatagramSent { flow: id, packet });
        if self.originate(from, key) {
            self.route(from, key, AgentId::NONE);
        }
        if !saturates {
            return;
        }
        if let (Some(pipe), Some(free_at)) = (first_pipe, free_at) {
            let at = self.links.wired_mut().next_of_saturating(pipe, (free_at, len), now);
            if at == Instant::MAX {
                // Nothing leaves a link that is stalled.
                self.hosts.stall(id);
            } else {
                self.transit.schedule(at, Event::FlowWrite(id));
            }
        } else if self.hosts.gone(id) != gone {
            self.hosts.schedule_datagram(id, now + RETRY, &mut self.transit);
        }
    }

    /// A link has another rate: sources that saturate it go on.
    pub(super) fn resume_sources(&mut self) {
        let now = self.transit.now();
        for id in self.hosts.take_stalled() {
            let moves_at = self.first_pipe(id, None).map(|pipe| self.links.wired_mut().moves_at(pipe, now));
            match moves_at {
                Some(Instant::MAX) => self.hosts.stall(id),
                moves_at => {
                    self.transit.schedule(moves_at.unwrap_or_default().max(now), Event::FlowWrite(id));
                }
            }
        }
    }

    /// The first link of a flow's way, if it is a wired one with a plain
    /// queue, which tells beforehand when a packet leaves it; or the way around it, for a packet that
    /// the link does not impair.
    fn first_pipe(&mut self, id: FlowId, packet: Option<&Packet>) -> Option<PipeId> {
        let flow = self.hosts.flow(id);
        let (from, to) = (flow.from(), flow.to());
        let at = (from, self.network.interface_towards(from, to)?);
        let Interface { link, egress: Egress::Pipe(pipe), .. } = *self.network.interface(at) else {
            return None;
        };
        let packet = packet.filter(|_| self.selective.are_any());
        let around = packet.and_then(|packet| self.selective.way_around(at, link, packet));
        Some(around.unwrap_or(pipe))
    }

    /// A packet has left the network before its destination.
    pub(super) fn packet_gone(&mut self, packet: &Packet) {
        self.hosts.datagram_gone(packet, &mut self.transit);
        self.sessions.packet_gone(packet, self.transit.now());
    }

    /// An agent or a link adds a packet.
    pub(super) fn packet_added(&mut self, key: PacketKey) {
        self.hosts.datagram_added(self.transit.packet(key));
        self.sessions.packet_added(self.transit.packet(key));
    }
}
