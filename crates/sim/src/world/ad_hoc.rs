//! Nodes that look for their routes on demand ([`lasthop_aodv`]): packets that wait for a route,
//! messages in and out, broken links.
//!
//! No table of static routes has a way from such a node, so nothing is asked of other nodes'
//! packets.
//!
//! When the link layer gives a neighbour up, what waits in the radio's queue for it is routed anew:
//! at its source it waits for a new route, on its way it is lost, for want of one. RFC 3561 says
//! nothing of it; ns-2 drops such packets, Linux sends them into the void one by one.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::FrameTimes;
use thiserror::Error;

use super::World;
use crate::accounts::DropCause;
use crate::ad_hoc::{AdHocNode, Waiting};
use crate::id::{AgentId, NodeId, WlanId};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::technology::{At, Egress};
use lasthop_aodv::{Aodv, AodvConfig, AodvCounters, Metric, Output, Way};

/// Why a node cannot have AODV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AodvError {
    /// It has links outside the cell. Gateways to other networks (RFC 3561, section 8) are not
    /// modelled.
    #[error("a node with AODV cannot have links outside its cell")]
    OtherLinks,
    /// The messages carry IPv4 addresses.
    #[error("a node with AODV requires an IPv4 address")]
    NoIpv4Address,
}

/// The address by which AODV at a station knows itself, or the node at the other end of a link of
/// its node's, which is of its cell or not.
pub const fn aodv_address(is_of_cell: bool, address: IpAddr) -> Result<Ipv4Addr, AodvError> {
    match address {
        IpAddr::V4(address) if is_of_cell => Ok(address),
        IpAddr::V6(_) if is_of_cell => Err(AodvError::NoIpv4Address),
        _ => Err(AodvError::OtherLinks),
    }
}

impl World {
    /// Makes the station of a cell at a node look for its routes by AODV. The node must have a link
    /// to each other station that it might ever hear ([`World::add_radio_link`]), and no others; do
    /// this after adding them.
    pub fn set_aodv(&mut self, wlan: WlanId, node: NodeId, config: AodvConfig) -> Result<(), AodvError> {
        let address = aodv_address(true, self.node_address(node))?;
        let mut interfaces = BTreeMap::new();
        for (index, interface) in self.network.node(node).interfaces.iter().enumerate() {
            let of_cell =
                matches!(interface.egress, Egress::Radio(port) if self.links.cells.cell_of(port) == wlan);
            let (first, second) = self.link_ends(interface.link);
            let far = if first == node { second } else { first };
            interfaces.insert(aodv_address(of_cell, self.node_address(far))?, index);
        }
        let rng = self.stream(&format!("aodv {}", self.node_name(node)));
        let aodv = Aodv::new(address, config, rng);
        if self.ad_hoc.len() <= node.index() {
            self.ad_hoc.resize_with(node.index() + 1, || None);
        }
        let waiting = VecDeque::new();
        self.ad_hoc[node.index()] =
            Some(Box::new(AdHocNode { aodv, interfaces, waiting, timer: LazyTimer::default() }));
        self.network.route_on_demand(node, wlan);
        if config.metric == Metric::BandwidthDelay {
            self.links.cells.tell_transmissions(wlan);
        }
        self.follow_routing(node);
        Ok(())
    }

    /// AODV at a node, if it has it.
    pub fn aodv(&self, node: NodeId) -> Option<&Aodv> {
        Some(&self.ad_hoc.get(node.index())?.as_ref()?.aodv)
    }

    /// What all nodes with AODV did together; `None` if there are none.
    pub fn aodv_counters(&self) -> Option<AodvCounters> {
        let nodes = self.ad_hoc.iter().flatten().map(|node| *node.aodv.counters());
        nodes.reduce(AodvCounters::plus)
    }

    pub(super) fn is_ad_hoc(&self, node: NodeId) -> bool {
        self.ad_hoc.get(node.index()).is_some_and(Option::is_some)
    }

    fn at_ad_hoc(&mut self, node: NodeId) -> Option<&mut AdHocNode> {
        self.ad_hoc.get_mut(node.index())?.as_deref_mut()
    }

    /// A packet takes the way that AODV knows, or waits for it to know one.
    pub(super) fn route_on_demand(&mut self, node: NodeId, key: PacketKey, sender: AgentId) {
        let destination = self.node_address(self.transit.packets().destination(key));
        let source = self.transit.packet(key).ip().source;
        let now = self.transit.now();
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (source, destination) else {
            self.drop_packet(node, key, DropCause::NoRoute);
            return;
        };
        let Some(at) = self.at_ad_hoc(node) else { return };
        match at.aodv.route(source, destination, now) {
            Way::Next(next_hop) => {
                if let Some(interface) = at.interfaces.get(&next_hop).copied() {
                    self.leave_by(node, interface, key, sender);
                } else {
                    self.drop_packet(node, key, DropCause::NoRoute);
                }
            }
            Way::Wait => {
                at.waiting.push_back(Waiting { destination, key, sender });
                let is_over = at.waiting.len() > at.aodv.config().buffer;
                let oldest = if is_over { at.waiting.pop_front() } else { None };
                if let Some(oldest) = oldest {
                    self.drop_waiting(node, oldest.key, DropCause::RouteBufferFull);
                }
                self.follow_routing(node);
            }
            Way::None => {
                self.drop_packet(node, key, DropCause::NoRoute);
                self.follow_routing(node);
            }
        }
    }

    /// A packet that waited here leaves the network. A source that waits for it to go sends
    /// another.
    fn drop_waiting(&mut self, node: NodeId, key: PacketKey, cause: DropCause) {
        self.hosts.left_queue(node, key, std::time::Duration::ZERO, &mut self.transit);
        self.drop_packet(node, key, cause);
    }

    /// Whether a packet that has reached its destination is for AODV there.
    pub(super) fn is_for_routing(&self, node: NodeId, key: PacketKey) -> bool {
        self.is_ad_hoc(node) && Aodv::is_message(self.transit.packet(key))
    }

    /// A packet that is no flow's: AODV's, or nobody's.
    #[cold]
    pub(super) fn deliver_otherwise(&mut self, node: NodeId, key: PacketKey) {
        if self.is_for_routing(node, key) {
            self.deliver_to_routing(node, key);
        } else if self.transit.packets().is_message(key) {
            self.deliver_message(node, key);
        } else {
            self.drop_unclaimed(node, key);
        }
    }

    #[cold]
    pub(super) fn deliver_to_routing(&mut self, node: NodeId, key: PacketKey) {
        self.transit.accounts_mut().consumed += 1;
        let packet = self.transit.packets_mut().take(key);
        let now = self.transit.now();
        if let Some(at) = self.at_ad_hoc(node) {
            at.aodv.on_message(&packet, now);
        }
        self.follow_routing(node);
    }

    pub(super) fn on_routing(&mut self, node: NodeId) {
        let now = self.transit.now();
        let Some(at) = self.at_ad_hoc(node) else { return };
        if at.timer.fired(now) {
            at.aodv.on_deadline(now);
            self.follow_routing(node);
        }
    }

    /// The link layer has given up a frame to a neighbour; with the packet that was in it, if that
    /// did not arrive.
    pub(super) fn on_neighbour_lost(&mut self, node: NodeId, neighbour: NodeId, key: Option<PacketKey>) {
        let Some(Some(at)) = self.ad_hoc.get_mut(node.index()) else { return };
        let IpAddr::V4(neighbour) = self.network.node(neighbour).address else { return };
        let packet = key.map(|key| self.transit.packet(key));
        at.aodv.on_given_up(neighbour, packet, self.transit.now());
    }

    /// A frame to a neighbour is about to arrive there: what AODV goes by, if its metric is one of
    /// links that are measured.
    #[inline(never)]
    pub(super) fn measure_hop(&mut self, at: At, key: PacketKey, times: &FrameTimes) {
        let Some(Some(node)) = self.ad_hoc.get_mut(at.0.index()) else { return };
        let packet = self.transit.packet(key);
        if let IpAddr::V4(neighbour) = self.network.neighbour(at)
            && !Aodv::is_message(packet)
        {
            node.aodv.on_transmission(neighbour, packet.payload().len() as u32, times, self.transit.now());
        }
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
        let withdrawn = links.withdraw(port);
        for key in &withdrawn {
            self.tell_backlog(at, *key);
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
    pub(super) fn follow_routing(&mut self, node: NodeId) {
        while let Some(output) = self.at_ad_hoc(node).and_then(|at| at.aodv.poll()) {
            match output {
                Output::Send(packet) => {
                    let key = self.transit.packets_mut().insert(packet);
                    if self.originate(node, key) {
                        self.send_message(node, key);
                    }
                }
                Output::Found(destination) => {
                    for waiting in self.take_waiting(node, destination) {
                        self.route(node, waiting.key, waiting.sender);
                    }
                }
                Output::Failed(destination) => {
                    for waiting in self.take_waiting(node, destination) {
                        self.drop_waiting(node, waiting.key, DropCause::RouteNotFound);
                    }
                }
            }
        }
        let Some(Some(at)) = self.ad_hoc.get_mut(node.index()) else { return };
        let deadline = at.aodv.deadline().map(|deadline| deadline.max(self.transit.now()));
        self.transit.follow(&mut at.timer, deadline, Event::Routing(node));
    }

    /// A message goes to everybody, or straight to a neighbour: it is the neighbour whom AODV has
    /// heard, whatever routes say.
    fn send_message(&mut self, node: NodeId, key: PacketKey) {
        let destination = self.transit.packets().destination(key);
        if destination == NodeId::EVERYBODY {
            self.broadcast(node, key);
            return;
        }
        let IpAddr::V4(neighbour) = self.node_address(destination) else { return };
        let interface = self.at_ad_hoc(node).and_then(|at| at.interfaces.get(&neighbour).copied());
        match interface {
            Some(interface) => self.transmit(node, interface, key),
            None => self.drop_packet(node, key, DropCause::NoRoute),
        }
    }

    fn take_waiting(&mut self, node: NodeId, destination: Ipv4Addr) -> VecDeque<Waiting> {
        let Some(at) = self.at_ad_hoc(node) else { return VecDeque::new() };
        let (taken, left) = at.waiting.drain(..).partition(|waiting| waiting.destination == destination);
        at.waiting = left;
        taken
    }
}
