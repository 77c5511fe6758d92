//! The event loop, and the way to drive it from outside.

use std::net::IpAddr;

use lasthop_packet::{Instant, Packet};

use super::{MOST_ADDRESSES, World};
use crate::config::NodeKind;
use crate::id::{AgentId, NodeId};
use crate::parcel::ParcelKey;
use crate::schedule::Event;

impl World {
    /// Runs until `end`, or until every flow with a size or a stop is done if that is earlier,
    /// there is one, or no flow at all, and `stop_when_done` is set.
    pub fn run(&mut self, end: Instant, stop_when_done: bool) {
        while !(stop_when_done && self.unfinished == 0 && self.has_ended()) {
            let Some((at, event)) = self.schedule.pop_until(end) else {
                self.now = self.now.max(end);
                break;
            };
            self.now = at;
            self.handle(event);
        }
    }

    /// Whether there is nothing to wait for, where no flow with an end is left.
    fn has_ended(&self) -> bool {
        !self.is_endless || self.flows.is_empty()
    }

    /// Does everything that is due up to `at`, and sets the clock to it.
    pub fn advance_to(&mut self, at: Instant) {
        self.run(at, false);
    }

    /// When something is due next.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.schedule.next_at()
    }

    /// Puts a packet in at an external node, as if it had come from behind it, now.
    pub fn inject(&mut self, node: NodeId, packet: Packet) {
        if let Some(key) = self.parcels.insert(|| Some(packet))
            && self.originate(node, key)
        {
            self.route(node, key, AgentId::NONE);
        }
    }

    /// As [`Self::inject`], for a packet that goes to `destination` whatever address it carries, by
    /// the shortest way: real hosts' addresses are not the model's. While there are agents, the
    /// world remembers which end an address is behind: what an agent sends carries such addresses,
    /// too. Where packets to it have passed the agent, what it sends goes where they went.
    pub fn inject_to(&mut self, node: NodeId, destination: NodeId, packet: Packet) {
        if !self.agents.is_empty() {
            self.learn(packet.ip().source, node);
        }
        if let Some(key) = self.parcels.insert(|| Some(packet)) {
            self.originate_to(destination, key);
            self.route(node, key, AgentId::NONE);
        }
    }

    /// Takes out what has arrived at an external node, with the times of arrival, in order.
    pub fn collect(&mut self, node: NodeId) -> Vec<(Instant, Packet)> {
        std::mem::take(&mut self.nodes[node.index()].arrived)
    }

    fn learn(&mut self, address: IpAddr, node: NodeId) {
        if self.addresses.len() < MOST_ADDRESSES && self.resolve(address).is_none() {
            self.addresses.insert(address, node);
        }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        self.counters.events += 1;
        match event {
            Event::PipeArrival(pipe) => self.on_pipe_arrival(pipe),
            Event::Processed(node) => self.on_processed(node),
            Event::FrameArrival(hop) => self.on_frame_arrival(hop),
            Event::ExchangeOver(medium) => self.on_exchange_over(medium),
            Event::Radio(cell) => self.on_radio(cell),
            Event::ConnectionDeadline(connection) => self.on_connection_deadline(connection),
            Event::AgentDeadline(agent) => self.on_agent_deadline(agent),
            Event::Routing(node) => self.on_routing(node),
            Event::Movement(cell) => self.on_movement(cell),
            Event::FlowStart(flow) => self.on_flow_start(flow),
            Event::FlowWrite(flow) => self.on_flow_write(flow),
            Event::FlowStop(flow) => self.on_flow_stop(flow),
        }
    }

    /// A packet has reached the node that it is addressed to.
    #[inline]
    pub(super) fn deliver(&mut self, node: NodeId, key: ParcelKey) {
        match self.nodes[node.index()].kind {
            NodeKind::Host => self.deliver_to_host(node, key),
            NodeKind::External => {
                if self.is_for_routing(node, key) {
                    self.deliver_to_routing(node, key);
                    return;
                }
                if self.is_message(key) && self.agents.iter().any(|placed| placed.node == node) {
                    self.deliver_message(node, key);
                    return;
                }
                self.accounts.consumed += 1;
                let packet = self.parcels.take(key);
                self.nodes[node.index()].arrived.push((self.now, packet));
            }
            NodeKind::Router => self.deliver_otherwise(node, key),
        }
    }
}
