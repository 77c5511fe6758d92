//! Nodes that look for their routes on demand: packets that wait for a route, messages in and out, broken
//! links.
//!
//! No table of static routes has a way from such a node, so nothing is asked of other nodes'
//! packets.
//!
//! When the link layer gives a neighbour up, what waits in the radio's queue for it is routed anew:
//! at its source it waits for a new route, on its way it is lost, for want of one. RFC 3561 says
//! nothing of it; ns-2 drops such packets, Linux sends them into the void one by one.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_agent::FrameTimes;
use lasthop_aodv::{Aodv, AodvConfig, AodvCounters, Metric, Output};

use super::World;
use crate::accounts::DropCause;
use crate::ad_hoc::{AodvError, Choice, aodv_address};
use crate::id::{AgentId, At, NodeId, WlanId};
use crate::packets::PacketKey;
use crate::technology::{Addressee, Egress};

impl World {
    /// Makes the station of a cell at a node look for its routes by AODV. The node must have a link
    /// to each other station that it might ever hear ([`World::add_radio_link`]), and no others; do
    /// this after adding them.
    pub fn set_aodv(&mut self, wlan: WlanId, node: NodeId, config: AodvConfig) -> Result<(), AodvError> {
        let address = aodv_address(true, self.node_address(node))?;
        let mut interfaces = BTreeMap::new();
        for (index, interface) in self.network.interfaces(node).iter().enumerate() {
            let of_cell =
                matches!(interface.egress, Egress::Radio(port) if self.links.cells().cell_of(port) == wlan);
            let (first, second) = self.link_ends(interface.link);
            let far = if first == node { second } else { first };
            interfaces.insert(aodv_address(of_cell, self.node_address(far))?, index);
        }
        let rng = self.stream(&format!("aodv {}", self.node_name(node)));
        self.ad_hoc.add(node, Aodv::new(address, config, rng), interfaces);
        self.network.route_on_demand(node, wlan);
        if config.metric == Metric::BandwidthDelay {
            self.links.cells_mut().cell_mut(wlan).wlan_mut().report_transmissions(true);
        }
        self.follow_routing(node);
        Ok(())
    }

    /// AODV at a node, if it has it.
    pub fn aodv(&self, node: NodeId) -> Option<&Aodv> {
        self.ad_hoc.aodv(node)
    }

    /// The counters of all nodes with AODV together; `None` without such nodes.
    pub fn aodv_counters(&self) -> Option<AodvCounters> {
        self.ad_hoc.counters()
    }

    /// A packet takes the way that AODV knows, or waits for it to know one.
    pub(super) fn route_on_demand(&mut self, node: NodeId, key: PacketKey, sender: AgentId) {
        let destination = self.node_address(self.transit.packets().destination(key));
        let source = self.transit.packet(key).ip().source;
        match self.ad_hoc.route(node, (source, destination), (key, sender), self.transit.now()) {
            Choice::Leaves(interface) => self.leave_by(node, interface, key, sender),
            Choice::Waits(oldest) => {
                if let Some(oldest) = oldest {
                    self.drop_waiting(node, oldest, DropCause::RouteBufferFull);
                }
                self.follow_routing(node);
            }
            Choice::Failed => {
                self.drop_packet(node, key, DropCause::NoRoute);
                self.follow_routing(node);
            }
            Choice::None => self.drop_packet(node, key, DropCause::NoRoute),
        }
    }

    /// A packet that waited here leaves the network. A source that waits for it to go sends
    /// another.
    fn drop_waiting(&mut self, node: NodeId, key: PacketKey, cause: DropCause) {
        self.flows.left_queue(node, key, Duration::ZERO, &mut self.transit);
        self.drop_packet(node, key, cause);
    }

    #[cold]
    pub(super) fn deliver_to_routing(&mut self, node: NodeId, key: PacketKey) {
        self.transit.accounts_mut().consumed += 1;
        let packet = self.transit.packets_mut().take(key);
        self.ad_hoc.on_message(node, &packet, self.transit.now());
        self.follow_routing(node);
    }

    pub(super) fn on_routing(&mut self, node: NodeId) {
        if self.ad_hoc.on_deadline(node, self.transit.now()) {
            self.follow_routing(node);
        }
    }

    /// The link layer has given up a frame to a neighbour; with the packet that was in it, if that
    /// did not arrive.
    pub(super) fn on_neighbour_lost(&mut self, node: NodeId, neighbour: NodeId, key: Option<PacketKey>) {
        let packet = key.map(|key| self.transit.packet(key));
        self.ad_hoc.on_given_up(node, self.network.address(neighbour), packet, self.transit.now());
    }

    /// A frame to a neighbour is about to arrive there.
    #[inline(never)]
    pub(super) fn measure_hop(&mut self, at: At, key: PacketKey, times: &FrameTimes) {
        let (packet, now) = (self.transit.packet(key), self.transit.now());
        self.ad_hoc.on_transmission(at.0, self.network.neighbour(at), packet, times, now);
    }

    /// What still waits for a neighbour that is out of reach looks for another way, if AODV does
    /// the looking and goes by what its link layer says. It has passed the agent that watches the
    /// interface.
    pub(super) fn on_link_broken(&mut self, at: At) {
        let node = at.0;
        if !self.aodv(node).is_some_and(|aodv| aodv.config().link_layer_feedback) {
            return;
        }
        let interface = *self.network.interface(at);
        let passed = interface.agent.unwrap_or(AgentId::NONE);
        let (links, port) = self.links.of_mut(interface.egress);
        let withdrawn = links.withdraw(port, &mut self.transit);
        for key in &withdrawn {
            self.report_backlog(at, *key);
        }
        for key in withdrawn {
            if Aodv::is_message(self.transit.packet(key)) {
                self.drop_packet(node, key, DropCause::WirelessLoss);
            } else {
                self.route(node, key, passed);
            }
        }
        self.follow_routing(node);
    }

    /// Does what AODV at a node says, and follows its deadline.
    fn follow_routing(&mut self, node: NodeId) {
        while let Some(output) = self.ad_hoc.poll(node) {
            match output {
                Output::Send(packet) => {
                    let key = self.transit.packets_mut().insert(packet);
                    if self.originate(node, key) {
                        self.send_message(node, key);
                    }
                }
                Output::Found(destination) => {
                    for waiting in self.ad_hoc.take_waiting(node, destination) {
                        self.route(node, waiting.key, waiting.sender);
                    }
                }
                Output::Failed(destination) => {
                    for waiting in self.ad_hoc.take_waiting(node, destination) {
                        self.drop_waiting(node, waiting.key, DropCause::RouteNotFound);
                    }
                }
            }
        }
        self.ad_hoc.follow(node, &mut self.transit);
    }

    /// A message goes to everybody, or straight to a neighbour.
    fn send_message(&mut self, node: NodeId, key: PacketKey) {
        let destination = self.transit.packets().destination(key);
        if destination == NodeId::EVERYBODY {
            self.broadcast(node, key);
            return;
        }
        match self.ad_hoc.interface_to(node, self.node_address(destination)) {
            Some(interface) => self.enqueue((node, interface), Addressee::Peer, key),
            None => self.drop_packet(node, key, DropCause::NoRoute),
        }
    }
}
