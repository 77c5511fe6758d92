//! The way of a packet from node to node.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::Packet;

use super::World;
use crate::accounts::DropCause;
use crate::config::NodeKind;
use crate::id::{AgentId, At, LinkId, NodeId};
use crate::network::Interface;
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::technology::{Addressee, Admission, Egress};

impl World {
    /// A packet was made at a node: sets out to find its destination. Where there is none it ends
    /// here, with `false`.
    #[inline]
    pub(super) fn originate(&mut self, node: NodeId, key: PacketKey) -> bool {
        self.transit.accounts_mut().originated += 1;
        let Some(destination) = self.network.resolve(&self.transit.packet(key).ip().destination) else {
            return self.originate_otherwise(node, key);
        };
        self.transit.packets_mut().set_destination(key, destination);
        true
    }

    /// A node sends a packet of its own.
    pub(super) fn send(&mut self, node: NodeId, packet: Packet) {
        let key = self.transit.packets_mut().insert(packet);
        self.send_out(node, key);
    }

    /// As [`Self::send`].
    #[inline]
    pub(super) fn send_out(&mut self, node: NodeId, key: PacketKey) {
        if self.originate(node, key) {
            self.route(node, key, AgentId::NONE);
        }
    }

    /// As [`Self::originate`], for a packet that goes to `destination` whatever address it carries.
    #[inline]
    pub(super) fn originate_to(&mut self, destination: NodeId, key: PacketKey) {
        self.transit.accounts_mut().originated += 1;
        self.transit.packets_mut().set_destination(key, destination);
    }

    #[cold]
    fn originate_otherwise(&mut self, node: NodeId, key: PacketKey) -> bool {
        if is_broadcast(self.transit.packet(key)) {
            self.transit.packets_mut().set_destination(key, NodeId::EVERYBODY);
            return true;
        }
        self.drop_packet(node, key, DropCause::NoRoute);
        false
    }

    /// A packet at a node goes to its destination: here, or through the interface on the way.
    /// `sender` is the agent that sent it, which is not asked about it; [`AgentId::NONE`] for any
    /// other packet.
    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    pub(super) fn route(&mut self, node: NodeId, key: PacketKey, sender: AgentId) {
        let destination = self.transit.packets().destination(key);
        if destination == node {
            self.deliver(node, key);
            return;
        }
        let Some(interface) = self.network.interface_towards(node, destination) else {
            self.route_otherwise(node, key, sender);
            return;
        };
        self.leave_by(node, interface, key, sender);
    }

    /// A packet leaves through an interface, past the agent that watches it unless that is its
    /// sender.
    //
    // Not inlined: with all that it does in place, it is one call for each hop.
    #[inline(never)]
    pub(super) fn leave_by(&mut self, node: NodeId, interface: usize, key: PacketKey, sender: AgentId) {
        if self.network.interface((node, interface)).gate == sender {
            self.enqueue((node, interface), Addressee::Peer, key);
        } else {
            self.leave_through_gate((node, interface), key, sender);
        }
    }

    /// As [`Self::leave_by`], where an agent watches the interface, an agent has sent the packet, or the node
    /// translates.
    #[inline(never)]
    fn leave_through_gate(&mut self, at: At, key: PacketKey, sender: AgentId) {
        if !self.translators.are_any() || self.may_leave(at, key, sender) {
            self.leave_translated(at, key, sender);
        }
    }

    /// As [`Self::leave_by`], for a packet with the addresses that it has on that link.
    pub(super) fn leave_translated(&mut self, at: At, key: PacketKey, sender: AgentId) {
        match self.network.interface(at).agent {
            Some(agent) if agent != sender => self.pass_to_agent(agent, at, key, Side::Core),
            _ => self.enqueue(at, Addressee::Peer, key),
        }
    }

    /// A packet at a node goes where no table has a way.
    #[cold]
    fn route_otherwise(&mut self, node: NodeId, key: PacketKey, sender: AgentId) {
        if self.transit.packets().destination(key) == NodeId::EVERYBODY {
            self.broadcast(node, key);
        } else if self.ad_hoc.has(node) {
            self.route_on_demand(node, key, sender);
        } else if self.network.is_exit(node, self.transit.packets().destination(key)) {
            self.nodes.hand_out(node, key, &mut self.transit);
        } else {
            let destination = self.transit.packets().destination(key);
            let roams = [node, destination].iter().any(|end| self.network.is_roaming_client(*end));
            let cause = if roams { DropCause::NotAssociated } else { DropCause::NoRoute };
            self.drop_packet(node, key, cause);
        }
    }

    /// A packet goes into the queue of an interface.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn enqueue(&mut self, at: At, to: Addressee, key: PacketKey) {
        let Interface { link, egress, .. } = *self.network.interface(at);
        if self.selective.are_any() && self.pass_around(at, link, key) {
            return;
        }
        if self.cuts.are_any() && self.enters_in_vain(at, link, key) {
            return;
        }
        if let Some(buffer) = self.network.buffer(at.0)
            && self.lacks_room(at, key, buffer)
        {
            self.drop_on_link((at.0, Some(link)), key, DropCause::QueueFull);
            return;
        }
        self.transit.trace(Interest::INTERFACES, key, |packet| TraceEvent::InterfaceOut {
            node: at.0,
            link,
            packet,
        });
        match self.links.enqueue(egress, to, key, &mut self.transit) {
            Admission::Queued if !self.seats.need_backlog() => {}
            admission => self.on_admission(at, egress, to, key, admission),
        }
        if self.transit.is_interested(Interest::QUEUES) {
            self.report_queue(at.0, link, egress);
        }
    }

    /// A packet did not only join a queue.
    fn on_admission(&mut self, at: At, egress: Egress, to: Addressee, key: PacketKey, admission: Admission) {
        match admission {
            Admission::Queued => self.report_backlog(at, key),
            Admission::Departs => self.depart(at, to, key, Duration::ZERO),
            Admission::Starts(time) => {
                self.depart(at, to, key, time);
                let (links, port) = self.links.of_mut(egress);
                links.start(port, &mut self.transit);
            }
            Admission::Displaces => self.displace(at, egress, key),
            Admission::Dropped(cause) => {
                let link = self.network.interface(at).link;
                self.drop_on_link((at.0, Some(link)), key, cause);
            }
        }
    }

    /// A packet has joined a queue, for which others, or it, were dropped.
    fn displace(&mut self, at: At, egress: Egress, key: PacketKey) {
        let mut waits = true;
        loop {
            let (links, port) = self.links.of_mut(egress);
            let Some((dropped, cause)) = links.next_displaced(port) else { break };
            waits &= dropped != key;
            self.report_backlog(at, dropped);
            self.drop_from_queue((at.0, self.network.interface(at).link), dropped, cause);
        }
        if waits {
            self.report_backlog(at, key);
        }
    }

    /// Whether a node's buffer has no room for a packet that would have to wait.
    fn lacks_room(&mut self, (node, interface): At, key: PacketKey, buffer: u64) -> bool {
        let now = self.transit.now();
        let (links, port) = self.links.of(self.network.interface((node, interface)).egress);
        if !links.would_wait(port, now) {
            return false;
        }
        let mut queued = self.transit.packets().len(key) as u64;
        for interface in self.network.interfaces(node) {
            let (links, port) = self.links.of_mut(interface.egress);
            // The links of a radio share its queue.
            if links.queue_of(port) == port {
                queued += links.queue(port, now).1;
            }
        }
        queued > buffer
    }

    #[cold]
    fn report_queue(&mut self, node: NodeId, link: LinkId, egress: Egress) {
        let (links, port) = self.links.of_mut(egress);
        let (packets, octets) = links.queue(port, self.transit.now());
        self.transit.emit(&TraceEvent::Queue { node, link, packets, octets });
    }

    /// A packet arrives at a node by an interface to this link.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn arrive(&mut self, at: At, link: LinkId, key: PacketKey) {
        if self.cuts.are_any() && self.arrives_in_vain(at, link, key) {
            return;
        }
        let second = if self.faults.are_any() { self.meet_faults(at, link, key) } else { None };
        if self.cuts.are_any() {
            self.record_arrival(link, key);
        }
        self.come_in(at, link, key);
        if let Some(second) = second {
            self.come_in_again(at, link, second);
        }
    }

    /// A packet comes in at a node by an interface to this link, past the agent that watches it.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn come_in(&mut self, (node, interface): At, link: LinkId, key: PacketKey) {
        self.transit.trace(Interest::INTERFACES, key, |packet| TraceEvent::InterfaceIn {
            node,
            link,
            packet,
        });
        // Most worlds have no agents.
        if !self.seats.are_empty()
            && let Some(agent) = self.network.interface((node, interface)).agent
        {
            self.pass_to_agent(agent, (node, interface), key, Side::Radio);
        } else {
            self.process(node, key);
        }
    }

    /// A packet has come in at a node, and past its agents: it takes the node's processing delay
    /// unless this is its destination.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn process(&mut self, id: NodeId, key: PacketKey) {
        let delay = self.network.processing_delay(id);
        if delay.is_zero() || self.transit.packets().destination(key) == id {
            self.route(id, key, AgentId::NONE);
            return;
        }
        self.nodes.process(id, key, delay, &mut self.transit);
    }

    pub(super) fn on_processed(&mut self, id: NodeId) {
        if let Some(key) = self.nodes.processed(id, &mut self.transit) {
            self.route(id, key, AgentId::NONE);
        }
    }

    /// A packet has reached the node that it is addressed to.
    #[inline]
    pub(super) fn deliver(&mut self, node: NodeId, key: PacketKey) {
        match self.network.kind(node) {
            NodeKind::Host => self.deliver_to_host(node, key),
            NodeKind::External => {
                if self.ad_hoc.takes(node, self.transit.packet(key)) {
                    self.deliver_to_routing(node, key);
                } else if self.transit.packets().is_message(key) && self.seats.at(node).next().is_some() {
                    self.deliver_message(node, key);
                } else {
                    self.nodes.hand_out(node, key, &mut self.transit);
                }
            }
            NodeKind::Router => self.deliver_otherwise(node, key),
        }
    }

    /// A packet that belongs to no flow: AODV's, an agent's message, or another one, which is dropped.
    #[cold]
    pub(super) fn deliver_otherwise(&mut self, node: NodeId, key: PacketKey) {
        if self.ad_hoc.takes(node, self.transit.packet(key)) {
            self.deliver_to_routing(node, key);
        } else if self.transit.packets().is_message(key) {
            self.deliver_message(node, key);
        } else if self.deliver_to_tunnel(node, key) {
            // It was a tunnel's.
        } else if self.translators.has(node) {
            self.arrive_at_translator(node, key);
        } else {
            self.drop_unclaimed(node, key);
        }
    }

    /// Drops a packet for which there is no endpoint.
    #[cold]
    pub(super) fn drop_unclaimed(&mut self, node: NodeId, key: PacketKey) {
        let is_damaged = self.transit.packets().is_damaged(key);
        let cause = if is_damaged { DropCause::WrongChecksum } else { DropCause::NoListener };
        self.drop_packet(node, key, cause);
    }

    #[cold]
    pub(super) fn drop_packet(&mut self, node: NodeId, key: PacketKey, cause: DropCause) {
        self.drop_on_link((node, None), key, cause);
    }

    /// Drops a packet at a node, on its way out on a link if it has come so far.
    #[cold]
    pub(super) fn drop_on_link(&mut self, place: (NodeId, Option<LinkId>), key: PacketKey, cause: DropCause) {
        self.transit.count_drop(place, key, cause);
        if self.transit.packet(key).tcp().is_some() {
            // Only its endpoints depend on it.
            self.transit.packets_mut().remove(key);
        } else {
            let packet = self.transit.packets_mut().take(key);
            self.packet_gone(&packet);
        }
    }
}

/// Packets for everybody in range: the limited broadcast address (RFC 919), one frame on each of a
/// node's radios.
///
/// An agent watches interfaces to other nodes; a broadcast is for none of them, and passes by the
/// agents on both sides.
impl World {
    /// A packet goes out on each radio of a node: the packet itself on the last one, a copy on each
    /// of the others. Only radios with a link count.
    #[cold]
    pub(super) fn broadcast(&mut self, node: NodeId, key: PacketKey) {
        let interfaces = self.network.interfaces(node).iter().enumerate();
        let radios = interfaces.filter(|(_, interface)| {
            let (links, port) = self.links.of(interface.egress);
            links.broadcasts(port)
        });
        let radios: Vec<usize> = radios.map(|(index, _)| index).collect();
        let Some((last, others)) = radios.split_last() else {
            self.drop_packet(node, key, DropCause::NoRoute);
            return;
        };
        for &radio in others {
            if let Some(copy) = self.transit.packets_mut().copy(key) {
                self.transit.accounts_mut().originated += 1;
                self.enqueue((node, radio), Addressee::Everyone, copy);
            }
        }
        self.enqueue((node, *last), Addressee::Everyone, key);
    }

    /// A station has heard a broadcast; `link` is the one between it and the sender, if there is
    /// one.
    #[cold]
    pub(super) fn receive_broadcast(&mut self, node: NodeId, link: Option<LinkId>, key: PacketKey) {
        let Some(copy) = self.transit.packets_mut().copy(key) else { return };
        self.transit.accounts_mut().heard += 1;
        self.transit.packets_mut().set_destination(copy, node);
        if let Some(link) = link {
            self.transit.trace(Interest::INTERFACES, copy, |packet| TraceEvent::InterfaceIn {
                node,
                link,
                packet,
            });
        }
        self.process(node, copy);
    }
}

/// Whether a packet is for every station in range. It is not forwarded.
fn is_broadcast(packet: &Packet) -> bool {
    packet.ip().destination == IpAddr::V4(Ipv4Addr::BROADCAST)
}
