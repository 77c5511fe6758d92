//! Adding nodes, agents and ways by hand.

use std::net::IpAddr;

use lasthop_agent::Agent;
use lasthop_packet::Rng;
use thiserror::Error;

use super::World;
use crate::ad_hoc::AdHoc;
use crate::config::NodeConfig;
use crate::connections::Connections;
use crate::cut_links::CutLinks;
use crate::faults::FaultyLinks;
use crate::flows::Flows;
use crate::hand_offs::HandOffs;
use crate::id::{LinkId, NodeId};
use crate::links::Links;
use crate::mobility::Movements;
use crate::network::Network;
use crate::nodes::Nodes;
use crate::radios::Radios;
use crate::redirections::Redirections;
use crate::roams::Roams;
use crate::seats::Seats;
use crate::selective_links::SelectiveLinks;
use crate::service_sets::ServiceSets;
use crate::sessions::Sessions;
use crate::sessions::calls::Calls;
use crate::sessions::dialogues::Dialogues;
use crate::timeline::Timeline;
use crate::transit::Transit;
use crate::translation::Translators;
use crate::tunnels::Tunnels;
use crate::warm_up::WarmUp;

/// Why an agent cannot sit where it was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AttachError {
    /// The link has no end at that node.
    #[error("the link has no end at that node")]
    NotItsLink(LinkId),
    /// The link layer does not show what the agent needs to see.
    #[error("{1}")]
    Missing(LinkId, &'static str),
    /// There is an agent already; stack them.
    #[error("that interface already has an agent")]
    Occupied(LinkId),
}

impl AttachError {
    /// The link in question.
    pub const fn link(self) -> LinkId {
        match self {
            Self::NotItsLink(link) | Self::Missing(link, _) | Self::Occupied(link) => link,
        }
    }
}

/// Why packets cannot take a way that was given by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// The link has no end at that node.
    #[error("the link has no end at that node")]
    NotItsLink,
}

impl World {
    /// An empty world. All randomness follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            transit: Transit::new(),
            network: Network::default(),
            nodes: Nodes::default(),
            links: Links::default(),
            faults: FaultyLinks::default(),
            selective: SelectiveLinks::default(),
            cuts: CutLinks::default(),
            timeline: Timeline::default(),
            movements: Movements::default(),
            flows: Flows::default(),
            connections: Connections::default(),
            sessions: Sessions::default(),
            calls: Calls::default(),
            dialogues: Dialogues::default(),
            radios: Radios::default(),
            service_sets: ServiceSets::default(),
            hand_offs: HandOffs::default(),
            roams: Roams::default(),
            tunnels: Tunnels::new(Rng::named(seed, "tunnels")),
            redirections: Redirections::default(),
            seats: Seats::default(),
            ad_hoc: AdHoc::default(),
            translators: Translators::default(),
            stops_when_done: false,
            warm_up: WarmUp::default(),
        }
    }

    /// Adds a node.
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        self.nodes.add();
        self.network.add_node(config)
    }

    /// Gives an external node a further address: what stands behind it.
    pub fn add_address(&mut self, node: NodeId, address: IpAddr) {
        self.network.add_address(node, address);
    }

    /// A stream of randomness of the world's.
    pub(super) fn stream(&self, name: &str) -> Rng {
        Rng::named(self.seed, name)
    }

    /// Gives a node an agent that watches its interfaces to these links: its radio side.
    ///
    /// A node may have several agents, each for other interfaces. What a link offers them its
    /// configuration says: [`crate::WiredConfig::SENSES`], [`crate::WirelessConfig::senses`],
    /// [`RadioLinkConfig::senses`](crate::RadioLinkConfig::senses).
    pub fn attach(
        &mut self,
        node: NodeId,
        links: &[LinkId],
        agent: Box<dyn Agent>,
    ) -> Result<(), AttachError> {
        let needs = agent.needs();
        let mut watched = Vec::with_capacity(links.len());
        for &link in links {
            let interface = self.network.interface_to(node, link).ok_or(AttachError::NotItsLink(link))?;
            if self.network.interface((node, interface)).agent.is_some() {
                return Err(AttachError::Occupied(link));
            }
            if let Some(missing) = needs.missing_from(self.network.senses(link)) {
                return Err(AttachError::Missing(link, missing));
            }
            watched.push(interface);
        }
        let links = links.iter().map(|link| self.link_name(*link)).collect::<Vec<_>>().join(" ");
        let rng = self.stream(&format!("agent {} {links}", self.node_name(node)));
        let id = self.seats.add(node, agent, rng);
        for interface in watched {
            self.network.set_agent((node, interface), id);
            let (technology, port) = self.links.of_mut(self.network.interface((node, interface)).egress);
            technology.watch(port, needs);
        }
        Ok(())
    }

    /// Agents at the other end of a link know this end by `address` instead of the node's own, for
    /// a node that stands for a real host.
    pub fn set_interface_address(&mut self, node: NodeId, link: LinkId, address: IpAddr) {
        self.network.set_interface_address(node, link, address);
    }

    /// Whether there is a route from one node to another, or may be one on demand.
    pub fn has_route(&mut self, from: NodeId, to: NodeId) -> bool {
        self.network.routes().lead(from.index(), to.index())
    }

    /// Packets at a node for a destination leave by this link, which goes before the shortest way.
    /// Ways given by hand must not close a circle
    /// ([`goes_in_circles`](crate::routing::Routes::goes_in_circles)): packets on it would never
    /// end.
    pub fn set_route(&mut self, node: NodeId, destination: NodeId, link: LinkId) -> Result<(), RouteError> {
        self.network.interface_to(node, link).ok_or(RouteError::NotItsLink)?;
        self.network.set_route(node, destination, link);
        Ok(())
    }

    /// Packets for a destination that come to this external node, from which no way leads there, are handed out
    /// ([`Self::collect`]): the real host there has a way.
    pub fn set_exit(&mut self, external: NodeId, destination: NodeId) {
        self.network.add_exit(external, destination);
    }

    /// The link by which packets at a node leave for a destination; `None` where it is the node
    /// itself, where there is no way, and where ways are looked for on demand.
    pub fn next_link(&mut self, node: NodeId, destination: NodeId) -> Option<LinkId> {
        Some(LinkId::from_index(self.network.routes().hop(node.index(), destination.index())?.link))
    }
}
