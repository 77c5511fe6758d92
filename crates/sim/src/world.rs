//! The simulated world: its parts, and what leads from one to another.
//!
//! | part | what it owns |
//! |---|---|
//! | `transit` | the time, the events to come, the packets on their way, what is told and counted |
//! | `network` | nodes, links, addresses, routes |
//! | `links` | what takes packets out of nodes: a technology each for wired, wireless, 802.11 |
//! | `faults` | what links do to packets that they deliver |
//! | `selective` | the links that impair a part of the traffic |
//! | `cuts` | the links that reset or refuse TCP connections |
//! | `hosts` | TCP endpoints, flows and their applications |
//! | `seats` | agents |
//! | `sessions` | two-way applications: calls, dialogues and their connections |
//! | `ad_hoc` | nodes that look for their routes on demand |
//!
//! No part calls another but `transit`. What happens in one and concerns another goes through the
//! methods of [`World`], a file for each way.

mod ad_hoc;
mod agents;
mod broadcast;
mod build;
mod build_links;
mod calls;
mod channels;
mod cuts;
mod datagrams;
mod dialogues;
mod faults;
mod flows;
mod forward;
mod holdings;
mod hosts;
mod intervals;
mod links;
mod measuring;
mod messages;
mod movement;
mod options;
mod reconfigure;
mod run;
mod selections;
mod sessions;
mod timeline;

use std::collections::VecDeque;
use std::net::IpAddr;

use lasthop_agent::{Owed, Tally};
use lasthop_packet::{Instant, Packet};

use crate::accounts::{Accounts, DropCause};
use crate::ad_hoc::AdHocNode;
use crate::counters::Counters;
use crate::cut_links::CutLinks;
use crate::faulty_links::FaultyLinks;
use crate::flow::{Flow, FlowOutcome, FlowSoFar};
use crate::hosts::Hosts;
use crate::id::{FlowId, LinkId, NodeId};
use crate::links::Links;
use crate::mobility::Movement;
use crate::network::Network;
use crate::observe::Observer;
use crate::packets::PacketKey;
use crate::seats::Seats;
use crate::selective_links::SelectiveLinks;
use crate::sessions::Sessions;
use crate::technology::Technology;
use crate::transit::Transit;
use crate::warm_up::WarmUp;
use intervals::Intervals;

pub use crate::cells::RadioUse;
pub use crate::change::{Change, ChangeError, PlannedChange, PlannedInterval, Way};
pub use ad_hoc::{AodvError, aodv_address};
pub use build::{AttachError, RouteError};
pub use holdings::Holding;
pub use messages::MESSAGE_PORT;

/// A simulated network.
///
/// Add nodes, then links, then agents and flows; then [`World::run`], or drive it from outside with
/// [`World::inject`], [`World::advance_to`] and [`World::collect`].
pub struct World {
    seed: u64,
    transit: Transit,
    network: Network,
    links: Links,
    faults: FaultyLinks,
    selective: SelectiveLinks,
    cuts: CutLinks,
    hosts: Hosts,
    sessions: Sessions,
    seats: Seats,
    /// By node, those that look for routes on demand; empty if none does.
    ad_hoc: Vec<Option<Box<AdHocNode>>>,
    /// By cell, how its stations move.
    movements: Vec<Option<Box<Movement>>>,
    /// Changes of links to come, in order of time.
    planned: VecDeque<PlannedChange>,
    intervals: Intervals,
    /// Flows that send the next datagram once a link is no longer stalled, with their ends.
    stalled_sources: Vec<(FlowId, NodeId, NodeId)>,
    /// When the event for the next of them comes.
    planned_event: Option<Instant>,
    /// A run ends once all is done that ends.
    stops_when_done: bool,
    /// By node.
    at_nodes: Vec<AtNode>,
    /// What had become of all when measuring began.
    warm_up: WarmUp,
}

/// Packets at a node.
#[derive(Default)]
struct AtNode {
    /// In processing, until when.
    processing: VecDeque<(Instant, PacketKey)>,
    /// Arrived at an external node, when.
    arrived: Vec<(Instant, Packet)>,
}

impl World {
    /// The time.
    pub const fn now(&self) -> Instant {
        self.transit.now()
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let counted = self.links.all().into_iter().map(Technology::counters);
        let events = self.transit.events();
        counted.fold(Counters { events, ..Counters::default() }, Counters::plus)
    }

    /// Events handled so far.
    pub const fn events(&self) -> u64 {
        self.transit.events()
    }

    /// Packets that queues marked with CE so far (RFC 3168); `None` without a managed queue.
    pub fn packets_marked(&self) -> Option<u64> {
        self.links.all().into_iter().filter_map(Technology::marked).reduce(|one, other| one + other)
    }

    /// What agents reported so far.
    pub const fn reported(&self) -> &Tally {
        self.transit.reported()
    }

    /// Where every packet is or went.
    pub fn accounts(&self) -> Accounts {
        // A frame that was delivered and is not yet confirmed is in the hands of both link layers:
        // it counts once.
        let doubled: usize = self.links.all().iter().map(|links| links.doubled()).sum();
        self.transit.accounts(doubled)
    }

    /// What agents owe.
    pub fn owed_by_agents(&self) -> Owed {
        self.seats.agents.iter().map(|placed| placed.agent.owed()).fold(Owed::default(), Owed::plus)
    }

    /// Octets of memory that agents take for what they keep of packets.
    pub fn octets_of_agents(&self) -> u64 {
        self.seats.agents.iter().map(|placed| placed.agent.octets() as u64).sum()
    }

    /// Packets that agents hold.
    pub fn held_by_agents(&self) -> u64 {
        self.seats.agents.iter().map(|placed| placed.agent.held()).sum()
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.network.node(node).name
    }

    /// A node's address.
    pub fn node_address(&self, node: NodeId) -> IpAddr {
        self.network.node(node).address
    }

    /// A link's name.
    pub fn link_name(&self, link: LinkId) -> &str {
        self.network.link_name(link)
    }

    /// The two nodes that a link joins.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        self.network.link_ends(link)
    }

    /// A flow as it stands.
    pub fn flow(&self, flow: FlowId) -> &Flow {
        &self.hosts.flows[flow.index()]
    }

    /// All flows in the order of addition.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.hosts.flows.len()).map(FlowId::of)
    }

    /// What became of a flow by now, from its start or from [`World::start_measuring`] on.
    pub fn outcome(&self, flow: FlowId) -> FlowOutcome {
        let nothing = FlowSoFar::default();
        let earlier = self.warm_up.flow(flow).unwrap_or(&nothing);
        self.hosts.outcome(flow, self.now(), (self.warm_up.end, earlier))
    }

    /// The endpoint that sends a flow's data; `None` over UDP.
    pub fn sender(&self, flow: FlowId) -> Option<&lasthop_tcp::Connection> {
        self.flow(flow).sender().map(|sender| &self.hosts.connections[sender.index()].tcp)
    }

    /// Adds an observer; it sees what happens from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        let interests = self.transit.observe(observer);
        for links in self.links.all_mut() {
            links.observe(interests);
        }
    }

    /// Takes the observers back, with all that they have seen; the states of channels up to now
    /// among it.
    pub fn take_observers(&mut self) -> Vec<Box<dyn Observer>> {
        for links in self.links.all_mut() {
            links.catch_up(&mut self.transit);
        }
        self.transit.take_observers()
    }

    #[cold]
    fn drop_packet(&mut self, node: NodeId, key: PacketKey, cause: DropCause) {
        self.drop_on_link((node, None), key, cause);
    }

    /// Drops a packet at a node, on its way out on a link if it has come so far.
    #[cold]
    fn drop_on_link(&mut self, place: (NodeId, Option<LinkId>), key: PacketKey, cause: DropCause) {
        self.transit.count_drop(place, key, cause);
        if self.transit.packet(key).tcp().is_some() {
            // Nobody misses it but its endpoints.
            self.transit.packets_mut().remove(key);
        } else {
            let packet = self.transit.packets_mut().take(key);
            self.packet_gone(&packet);
        }
    }
}
