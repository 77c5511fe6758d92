//! Agents at work: what the world shows them, and what becomes of what they send. Messages between them
//! are UDP datagrams on the way that any packet takes, from node to node.

use std::net::IpAddr;

use bytes::Bytes;
use lasthop_agent::counter::{AT_BOUND, DROPPED_HELD};
use lasthop_agent::{Agent, Context, FlowState, ImportError, LinkEvent, Scope, Side, Verdict};
use lasthop_packet::{Ip, LinkOptions, Packet, Payload, Transport, Udp};

use super::World;
use crate::accounts::DropCause;
use crate::id::{AgentId, At, LinkId, NodeId};
use crate::packets::PacketKey;
use crate::technology::Addressee;

/// The UDP port that agents have their messages from and to.
pub const MESSAGE_PORT: u16 = 7654;

impl World {
    /// A packet crosses an interface that an agent watches.
    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn pass_to_agent(&mut self, id: AgentId, (node, interface): At, key: PacketKey, from: Side) {
        if self.network.has_other_addresses() {
            self.learn_end(id, key);
        }
        if self.seats.is_at_bound() {
            self.transit.telemetry_mut().count_report(&AT_BOUND, 1);
            self.forward((node, interface), key, from);
            return;
        }
        if self.hand_offs.are_any() && self.is_handed_over((node, interface), key, from) {
            return;
        }
        let neighbour = self.network.neighbour((node, interface));
        let Self { transit, seats, .. } = self;
        let now = transit.now();
        let (verdict, attached) = transit.packets_mut().edit(key, |packet| {
            seats.call_about(id, now, neighbour, |agent, cx| agent.on_packet(packet, from, cx))
        });
        self.after_call(id);
        if self.seats.attach_options() {
            self.keep_options((node, interface), key, from, attached);
        }
        match verdict {
            Verdict::Forward => self.forward((node, interface), key, from),
            Verdict::Drop(reason) => self.drop_packet(node, key, DropCause::Agent(reason)),
            Verdict::Absorb => {
                let packet = self.transit.packets_mut().take(key);
                self.transit.accounts_mut().absorbed += 1;
                self.packet_gone(&packet);
            }
        }
    }

    /// A packet continues after the agent.
    pub(super) fn forward(&mut self, at: At, key: PacketKey, from: Side) {
        match from {
            Side::Core => self.enqueue(at, Addressee::Peer, key),
            Side::Radio => self.process(at.0, key),
        }
    }

    /// Records where packets between two real hosts' addresses go, for what the agent sends between them.
    fn learn_end(&mut self, id: AgentId, key: PacketKey) {
        let (packet, end) = (self.transit.packet(key), self.transit.packets().destination(key));
        let is_its_own = self.network.address(end) == packet.ip().destination;
        self.seats.learn_end(id, packet, end, is_its_own);
    }

    /// Reports a link event to the agent that watches an interface, if there is one and it needs such
    /// events.
    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    pub(super) fn report_to_agent(
        &mut self,
        at: At,
        key: PacketKey,
        event: impl FnOnce(&Packet) -> LinkEvent<'_>,
    ) {
        if let Some(id) = self.network.interface(at).agent {
            self.notify(id, at, key, event);
        }
    }

    /// Reports a link event of an interface to an agent, if it needs such events. Returns the options that
    /// it attached.
    pub(super) fn notify(
        &mut self,
        id: AgentId,
        at: At,
        key: PacketKey,
        event: impl FnOnce(&Packet) -> LinkEvent<'_>,
    ) -> Option<LinkOptions> {
        let event = event(self.transit.packet(key));
        if !self.seats.needs(id).contains(event.sense()) {
            return None;
        }
        if self.seats.is_at_bound() {
            self.transit.telemetry_mut().count_report(&AT_BOUND, 1);
            return None;
        }
        let (now, neighbour) = (self.transit.now(), self.network.neighbour(at));
        let ((), attached) = self.seats.call_about(id, now, neighbour, |agent, cx| agent.on_link(&event, cx));
        self.after_call(id);
        attached
    }

    /// Puts another agent in the place of the one that watches a node's interface to a link. It has
    /// what the other exported, and what it cannot import of that is returned; what the other held
    /// beside that is sent on. `None` if there is no agent.
    pub fn replace_agent(
        &mut self,
        node: NodeId,
        link: LinkId,
        agent: Box<dyn Agent>,
    ) -> Option<Vec<ImportError>> {
        let interface = self.network.interface_to(node, link)?;
        let id = self.network.interface((node, interface)).agent?;
        let states = self.call_agent(id, |agent, cx| agent.export(Scope::All, cx));
        self.call_agent(id, |agent, cx| agent.drain(cx));
        self.seats.replace(id, agent);
        let import = |state: &FlowState| self.call_agent(id, |agent, cx| agent.import(state, cx)).err();
        Some(states.iter().filter_map(import).collect())
    }

    /// Ends the agents at a node as a crash of their process would: what they hold is lost, what they owe is never
    /// delivered by them, and all later packets pass.
    pub fn crash_agents(&mut self, node: NodeId) {
        let agents: Vec<AgentId> = self.seats.at(node).collect();
        for id in agents {
            let held = self.seats.vacate(id);
            self.transit.telemetry_mut().count_report(&DROPPED_HELD, held);
            // If the agent had them refuse frames, its links take them again.
            self.call_agent(id, |_, _| ());
        }
    }

    /// Calls an agent about no link, and carries out what it requests.
    pub(super) fn call_agent<R>(
        &mut self,
        id: AgentId,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let result = self.seats.call(id, self.transit.now(), call);
        self.after_call(id);
        result
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_agent_deadline(&mut self, id: AgentId) {
        if self.seats.on_deadline(id, self.transit.now()) {
            self.after_call(id);
        }
    }

    /// Carries out what an agent requested in a call, and sends what it put into its outbox.
    fn after_call(&mut self, id: AgentId) {
        if let Some(refuse) = self.seats.follow(id, &mut self.transit) {
            let interfaces = self.network.interfaces(self.seats.node(id));
            for interface in interfaces.iter().filter(|interface| interface.agent == Some(id)) {
                let (links, port) = self.links.of_mut(interface.egress);
                links.refuse_frames(port, refuse);
            }
        }
        let Some((mut packets, mut messages)) = self.seats.take_sent(id, &mut self.transit) else { return };
        // The route to a packet's destination tells the side, and the interface, too.
        for (_, packet) in packets.drain(..) {
            self.send_of_agent(id, packet);
        }
        for (peer, message) in messages.drain(..) {
            self.seats.count_answer();
            if self.seats.is_at_bound() {
                self.transit.telemetry_mut().count_report(&AT_BOUND, 1);
            } else {
                self.send_to_peer(id, peer, message);
            }
        }
        self.seats.put_back((packets, messages));
    }

    fn send_of_agent(&mut self, id: AgentId, packet: Packet) {
        let node = self.seats.node(id);
        let key = self.transit.packets_mut().insert(packet);
        self.packet_added(key);
        match self.seats.end(id, self.transit.packet(key)) {
            Some(end) => self.originate_to(end, key),
            None if self.originate(node, key) => {}
            None => return,
        }
        self.seats.count_answer();
        self.route(node, key, id);
    }

    /// Sends a message of an agent's to the agents at a node.
    fn send_to_peer(&mut self, from: AgentId, peer: IpAddr, message: Bytes) {
        let node = self.seats.node(from);
        let udp = Udp { source_port: MESSAGE_PORT, destination_port: MESSAGE_PORT };
        let ip = Ip::new(self.node_address(node), peer);
        let packet = Packet::new(ip, Transport::Udp(udp), Payload::Bytes(message));
        let key = self.transit.packets_mut().insert_message(packet);
        if self.originate(node, key) {
            self.route(node, key, from);
        }
    }

    /// Gives a message to the agents at its destination.
    pub(super) fn deliver_message(&mut self, node: NodeId, key: PacketKey) {
        if self.takes_announcement(node, key) {
            return;
        }
        let here: Vec<AgentId> = self.seats.at(node).collect();
        if here.is_empty() || self.transit.packets().is_damaged(key) {
            self.drop_unclaimed(node, key);
            return;
        }
        self.transit.accounts_mut().consumed += 1;
        let packet = self.transit.packets_mut().take(key);
        let octets = packet.payload().octets();
        for id in here {
            self.call_agent(id, |agent, cx| agent.on_message(packet.ip().source, &octets, cx));
        }
    }
}
