//! Nodes that look for their routes on demand ([`lasthop_aodv`]), and what waits there for a route.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::FrameTimes;
use lasthop_aodv::{Aodv, AodvCounters, Output, RouteLookup};
use lasthop_packet::{Instant, Packet};
use thiserror::Error;

use crate::id::{AgentId, NodeId};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

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

/// All nodes that look for their routes on demand.
#[derive(Default)]
pub(crate) struct AdHoc {
    /// By node; empty if none does.
    nodes: Vec<Option<Box<AdHocNode>>>,
}

/// A node with AODV.
struct AdHocNode {
    aodv: Aodv,
    /// The interface to each other station of the cell.
    interfaces: BTreeMap<Ipv4Addr, usize>,
    /// What waits for a route, the oldest first.
    waiting: VecDeque<Waiting>,
    timer: LazyTimer,
}

/// A packet that waits for a route.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    destination: Ipv4Addr,
    pub(crate) key: PacketKey,
    /// The agent that sent it, which is not asked about it.
    pub(crate) sender: AgentId,
}

/// Where a packet goes.
#[derive(Clone, Copy)]
pub(crate) enum Choice {
    /// By this interface.
    Leaves(usize),
    /// It waits for a route; another packet, which has waited longest, no more.
    Waits(Option<PacketKey>),
    /// Nowhere, as the search for a route has just failed.
    Failed,
    /// Nowhere.
    None,
}

impl AdHoc {
    /// A node looks for its routes by AODV from now on, among the stations that it has these interfaces to.
    pub(crate) fn add(&mut self, node: NodeId, aodv: Aodv, interfaces: BTreeMap<Ipv4Addr, usize>) {
        if self.nodes.len() <= node.index() {
            self.nodes.resize_with(node.index() + 1, || None);
        }
        let (waiting, timer) = (VecDeque::new(), LazyTimer::default());
        self.nodes[node.index()] = Some(Box::new(AdHocNode { aodv, interfaces, waiting, timer }));
    }

    pub(crate) fn has(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).is_some_and(Option::is_some)
    }

    /// AODV at a node, if it has it.
    pub(crate) fn aodv(&self, node: NodeId) -> Option<&Aodv> {
        Some(&self.nodes.get(node.index())?.as_ref()?.aodv)
    }

    fn at(&mut self, node: NodeId) -> Option<&mut AdHocNode> {
        self.nodes.get_mut(node.index())?.as_deref_mut()
    }

    /// What all nodes did together; `None` if there are none.
    pub(crate) fn counters(&self) -> Option<AodvCounters> {
        let nodes = self.nodes.iter().flatten().map(|node| *node.aodv.counters());
        nodes.reduce(AodvCounters::plus)
    }

    /// Whether a packet that has reached a node is for AODV there.
    pub(crate) fn takes(&self, node: NodeId, packet: &Packet) -> bool {
        self.has(node) && Aodv::is_message(packet)
    }

    /// A packet from `source` takes the way that AODV knows, or waits for it to know one.
    pub(crate) fn route(
        &mut self,
        node: NodeId,
        (source, destination): (IpAddr, IpAddr),
        (key, sender): (PacketKey, AgentId),
        now: Instant,
    ) -> Choice {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (source, destination) else {
            return Choice::None;
        };
        let Some(at) = self.at(node) else { return Choice::None };
        match at.aodv.route(source, destination, now) {
            RouteLookup::Next(next_hop) => {
                at.interfaces.get(&next_hop).map_or(Choice::None, |it| Choice::Leaves(*it))
            }
            RouteLookup::Wait => {
                at.waiting.push_back(Waiting { destination, key, sender });
                let is_over = at.waiting.len() > at.aodv.config().buffer;
                let oldest = if is_over { at.waiting.pop_front() } else { None };
                Choice::Waits(oldest.map(|oldest| oldest.key))
            }
            RouteLookup::None => Choice::Failed,
        }
    }

    /// Takes out what waits at a node for a route to a destination.
    pub(crate) fn take_waiting(&mut self, node: NodeId, destination: Ipv4Addr) -> VecDeque<Waiting> {
        let Some(at) = self.at(node) else { return VecDeque::new() };
        let (taken, left) = at.waiting.drain(..).partition(|waiting| waiting.destination == destination);
        at.waiting = left;
        taken
    }

    /// The interface to a neighbour whom AODV has heard, whatever routes say.
    pub(crate) fn interface_to(&self, node: NodeId, neighbour: IpAddr) -> Option<usize> {
        let IpAddr::V4(neighbour) = neighbour else { return None };
        self.nodes.get(node.index())?.as_ref()?.interfaces.get(&neighbour).copied()
    }

    pub(crate) fn on_message(&mut self, node: NodeId, message: &Packet, now: Instant) {
        if let Some(at) = self.at(node) {
            at.aodv.on_message(message, now);
        }
    }

    /// A node's timer has fired. `false` if its deadline has moved or is gone.
    pub(crate) fn on_deadline(&mut self, node: NodeId, now: Instant) -> bool {
        let Some(at) = self.at(node) else { return false };
        let is_due = at.timer.fired(now);
        if is_due {
            at.aodv.on_deadline(now);
        }
        is_due
    }

    /// The link layer has given up a frame to a neighbour; with the packet that was in it, if that
    /// did not arrive.
    pub(crate) fn on_given_up(
        &mut self,
        node: NodeId,
        neighbour: IpAddr,
        packet: Option<&Packet>,
        now: Instant,
    ) {
        if let (Some(at), IpAddr::V4(neighbour)) = (self.at(node), neighbour) {
            at.aodv.on_given_up(neighbour, packet, now);
        }
    }

    /// A frame to a neighbour is about to arrive there: what AODV goes by, if its metric is one of
    /// links that are measured.
    pub(crate) fn on_transmission(
        &mut self,
        node: NodeId,
        neighbour: IpAddr,
        packet: &Packet,
        times: &FrameTimes,
        now: Instant,
    ) {
        if let (Some(at), IpAddr::V4(neighbour)) = (self.at(node), neighbour)
            && !Aodv::is_message(packet)
        {
            at.aodv.on_transmission(neighbour, packet.payload().len() as u32, times, now);
        }
    }

    /// What AODV at a node says next.
    pub(crate) fn poll(&mut self, node: NodeId) -> Option<Output> {
        self.at(node)?.aodv.poll()
    }

    /// AODV at a node has nothing more to say: follows its deadline.
    pub(crate) fn follow(&mut self, node: NodeId, transit: &mut Transit) {
        let Some(at) = self.at(node) else { return };
        let deadline = at.aodv.deadline().map(|deadline| deadline.max(transit.now()));
        transit.follow(&mut at.timer, deadline, Event::Routing(node));
    }
}
