//! The way of a packet from node to node.

use std::net::IpAddr;

use lasthop_agent::Side;

use super::broadcast::is_broadcast;
use super::{Egress, Interface, World};
use crate::accounts::DropCause;
use crate::id::{AgentId, HopId, LinkId, NodeId, PipeId};
use crate::observe::TraceEvent;
use crate::parcel::ParcelKey;
use crate::schedule::Event;
use crate::wired::Admission;

impl World {
    /// A packet was made at a node: sets out to find its destination. Where there is none it ends
    /// here, with `false`.
    #[inline]
    pub(super) fn originate(&mut self, node: NodeId, key: ParcelKey) -> bool {
        self.accounts.originated += 1;
        let Some(destination) = self.resolve(self.parcels[key].packet().ip().destination) else {
            return self.originate_otherwise(node, key);
        };
        self.parcels[key].destination = destination;
        true
    }

    /// As [`Self::originate`], for a packet that goes to `destination` whatever address it carries.
    #[inline]
    pub(super) fn originate_to(&mut self, destination: NodeId, key: ParcelKey) {
        self.accounts.originated += 1;
        self.parcels[key].destination = destination;
    }

    #[cold]
    fn originate_otherwise(&mut self, node: NodeId, key: ParcelKey) -> bool {
        if is_broadcast(self.parcels[key].packet()) {
            self.parcels[key].destination = NodeId::EVERYBODY;
            return true;
        }
        self.drop_parcel(node, key, DropCause::NoRoute);
        false
    }

    /// The node that has an address.
    #[inline]
    pub(super) fn resolve(&self, address: IpAddr) -> Option<NodeId> {
        // Addresses of our own making count the nodes.
        if let IpAddr::V4(address) = address {
            let number = u32::from(address) & 0x00ff_ffff;
            let node = number.wrapping_sub(1) as usize;
            if self.nodes.get(node).is_some_and(|node| node.address == IpAddr::V4(address)) {
                return Some(NodeId(number - 1));
            }
        }
        self.addresses.get(&address).copied()
    }

    /// A parcel at a node goes to its destination: here, or through the interface on the way.
    /// `sender` is the agent that sent it, which is not asked about it; [`AgentId::NONE`] for any
    /// other parcel.
    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    pub(super) fn route(&mut self, node: NodeId, key: ParcelKey, sender: AgentId) {
        let destination = self.parcels[key].destination;
        if destination == node {
            self.deliver(node, key);
            return;
        }
        if self.routes.is_none() {
            self.routes();
        }
        let interface =
            self.routes.as_ref().and_then(|routes| routes.interface(node.index(), destination.index()));
        let Some(interface) = interface else {
            self.route_otherwise(node, key, sender);
            return;
        };
        self.leave_by(node, interface, key, sender);
    }

    /// A parcel leaves through an interface, past the agent that watches it unless that is its
    /// sender.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn leave_by(&mut self, node: NodeId, interface: usize, key: ParcelKey, sender: AgentId) {
        match self.nodes[node.index()].interfaces[interface].agent {
            Some(agent) if agent != sender && sender != AgentId::ALL => {
                self.ask_agent(agent, (node, interface), key, Side::Core);
            }
            _ => self.transmit(node, interface, key),
        }
    }

    /// A parcel at a node goes where no table has a way.
    #[cold]
    fn route_otherwise(&mut self, node: NodeId, key: ParcelKey, sender: AgentId) {
        if self.parcels[key].destination == NodeId::EVERYBODY {
            self.broadcast(node, key);
        } else if self.is_ad_hoc(node) {
            self.route_on_demand(node, key, sender);
        } else {
            self.drop_parcel(node, key, DropCause::NoRoute);
        }
    }

    /// A parcel goes into the queue of an interface.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn transmit(&mut self, node: NodeId, interface: usize, key: ParcelKey) {
        let len = self.parcels[key].len();
        let at = &self.nodes[node.index()];
        let interface = at.interfaces[interface];
        if let Some(buffer) = at.buffer
            && self.lacks_room(node, interface.egress, len, buffer)
        {
            self.drop_parcel(node, key, DropCause::QueueFull);
            return;
        }
        if self.wants(crate::Interest::INTERFACES) {
            let packet = self.parcels[key].packet();
            let event = TraceEvent::InterfaceOut { node, link: interface.link, packet };
            super::tell(&mut self.observers, self.now, &event);
        }
        match interface.egress {
            Egress::Pipe(pipe) => match self.pipes[pipe.index()].push(key, len, self.now) {
                Admission::Accepted(None) => {}
                Admission::Accepted(Some(arrival)) => self.schedule.push(arrival, Event::PipeArrival(pipe)),
                Admission::Full => self.drop_parcel(node, key, DropCause::QueueFull),
                Admission::Lost => self.drop_parcel(node, key, DropCause::WiredLoss),
            },
            Egress::Hop(hop) => self.transmit_on_air(node, hop, key),
            Egress::Radio(port) => self.transmit_by_radio(node, port, key),
        }
        if self.wants(crate::Interest::QUEUES) {
            self.tell_queue(node, interface);
        }
    }

    /// Whether a node's buffer has no room for a packet that would have to wait.
    pub(super) fn lacks_room(&mut self, node: NodeId, egress: Egress, len: usize, buffer: u64) -> bool {
        self.would_wait(egress) && self.queued_octets(node) + len as u64 > buffer
    }

    fn transmit_on_air(&mut self, node: NodeId, id: HopId, key: ParcelKey) {
        let len = self.parcels[key].len();
        let waits = self.would_wait(Egress::Hop(id));
        let hop = &mut self.hops[id.index()];
        if hop.push(key, len, self.now, waits) {
            let medium = hop.medium;
            self.use_medium(medium);
        } else {
            self.drop_parcel(node, key, DropCause::QueueFull);
        }
    }

    #[cold]
    fn tell_queue(&mut self, node: NodeId, interface: Interface) {
        let (packets, octets) = self.queue(interface.egress);
        self.emit(&TraceEvent::Queue { node, link: interface.link, packets, octets });
    }

    /// Whether a packet that is sent now would have to wait for its transmission.
    fn would_wait(&self, egress: Egress) -> bool {
        match egress {
            Egress::Pipe(pipe) => self.pipes[pipe.index()].is_busy(self.now),
            Egress::Hop(hop) => {
                let hop = &self.hops[hop.index()];
                hop.has_frame() || self.media[hop.medium.index()].held_by.is_some()
            }
            Egress::Radio(port) => self.radio_has_frame(port),
        }
    }

    fn queued_octets(&mut self, node: NodeId) -> u64 {
        (0..self.nodes[node.index()].interfaces.len())
            .map(|interface| match self.nodes[node.index()].interfaces[interface].egress {
                // The links of a radio share its queue.
                Egress::Radio(port) if !self.ports[port.index()].is_first => 0,
                egress => self.queue(egress).1,
            })
            .sum()
    }

    /// Packets and octets that wait at an interface.
    fn queue(&mut self, egress: Egress) -> (usize, u64) {
        match egress {
            Egress::Pipe(pipe) => self.pipes[pipe.index()].queue(self.now),
            Egress::Hop(hop) => self.hops[hop.index()].queue(),
            Egress::Radio(port) => self.radio_queue(port),
        }
    }

    #[cold]
    pub(super) fn drop_parcel(&mut self, node: NodeId, key: ParcelKey, cause: DropCause) {
        let packet = self.parcels.take(key);
        self.drop_packet(node, cause, &packet);
        self.datagram_gone(&packet);
    }

    #[inline]
    pub(super) fn on_pipe_arrival(&mut self, id: PipeId) {
        let pipe = &mut self.pipes[id.index()];
        let (at, link) = (pipe.to, pipe.link);
        // The link was changed, and the packet comes later than was planned; there is an event for
        // that, too.
        if pipe.next_arrival().is_none_or(|arrival| arrival > self.now) {
            return;
        }
        let Some((key, next)) = pipe.pop() else { return };
        if let Some(next) = next {
            self.schedule.push(next, Event::PipeArrival(id));
        }
        self.arrive(at, link, key);
    }

    /// A parcel comes in at a node by an interface to this link, past the agent that watches it.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn arrive(&mut self, (node, interface): (NodeId, usize), link: LinkId, key: ParcelKey) {
        if self.wants(crate::Interest::INTERFACES) {
            let event = TraceEvent::InterfaceIn { node, link, packet: self.parcels[key].packet() };
            super::tell(&mut self.observers, self.now, &event);
        }
        match self.nodes[node.index()].interfaces[interface].agent {
            Some(agent) => self.ask_agent(agent, (node, interface), key, Side::Radio),
            None => self.process(node, key),
        }
    }

    /// A parcel has come in at a node, and past its agents: it takes the node's processing delay
    /// unless this is its destination.
    #[expect(clippy::inline_always, reason = "as with `route`")]
    #[inline(always)]
    pub(super) fn process(&mut self, id: NodeId, key: ParcelKey) {
        let node = &mut self.nodes[id.index()];
        if node.processing_delay.is_zero() || self.parcels[key].destination == id {
            self.route(id, key, AgentId::NONE);
            return;
        }
        let done = self.now + node.processing_delay;
        node.processing.push_back((done, key));
        if node.processing.len() == 1 {
            self.schedule.push(done, Event::Processed(id));
        }
    }

    pub(super) fn on_processed(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        let Some((_, key)) = node.processing.pop_front() else { return };
        if let Some((next, _)) = node.processing.front() {
            self.schedule.push(*next, Event::Processed(id));
        }
        self.route(id, key, AgentId::NONE);
    }
}
