//! Adding nodes, links and agents.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use lasthop_agent::counter::REPORTS;
use lasthop_agent::{Agent, LinkSenses, Outbox, Tally};
use lasthop_packet::{Instant, Rng};
use thiserror::Error;

use super::agents::PlacedAgent;
use super::{ChannelOfLink, Egress, Interface, Link, Node, World};
use crate::accounts::Accounts;
use crate::config::{NodeConfig, WiredConfig, WirelessConfig};
use crate::counters::Counters;
use crate::id::{AgentId, HopId, LinkId, MediumId, NodeId, PipeId};
use crate::observe::Interest;
use crate::parcel::Parcels;
use crate::routing::{Routes, Topology};
use crate::schedule::{LazyTimer, Schedule};
use crate::wired::Pipe;
use crate::wireless::{Channel, Hop, Medium};

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
    #[error("there is an agent at that interface already")]
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
            now: Instant::ZERO,
            seed,
            schedule: Schedule::default(),
            parcels: Parcels::default(),
            nodes: Vec::new(),
            links: Vec::new(),
            pipes: Vec::new(),
            hops: Vec::new(),
            media: Vec::new(),
            channels: Vec::new(),
            cells: Vec::new(),
            ports: Vec::new(),
            connections: Vec::new(),
            flows: Vec::new(),
            agents: Vec::new(),
            routes: None,
            given_routes: Vec::new(),
            ad_hoc: Vec::new(),
            addresses: BTreeMap::new(),
            observers: Vec::new(),
            interest: Interest::empty(),
            accounts: Accounts::default(),
            counters: Counters::default(),
            reported: Tally::of_any(REPORTS),
            outbox: Outbox::default(),
            answers: 0,
            unfinished: 0,
            is_endless: true,
        }
    }

    /// Adds a node.
    pub fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let id = NodeId::of(self.nodes.len());
        let address = config.address.unwrap_or_else(|| NodeConfig::default_address(id.index()));
        self.addresses.entry(address).or_insert(id);
        self.nodes.push(Node {
            name: config.name,
            kind: config.kind,
            address,
            processing_delay: config.processing_delay,
            buffer: config.buffer,
            interfaces: Vec::new(),
            processing: VecDeque::new(),
            endpoints: BTreeMap::new(),
            recent_endpoint: None,
            arrived: Vec::new(),
        });
        self.routes = None;
        id
    }

    /// Gives an external node a further address: what stands behind it.
    pub fn add_address(&mut self, node: NodeId, address: IpAddr) {
        self.addresses.insert(address, node);
    }

    /// Joins two nodes by a wired link.
    pub fn add_wired_link(&mut self, first: NodeId, second: NodeId, config: &WiredConfig) -> LinkId {
        let link = self.add_link(&config.name, (first, second), WiredConfig::SENSES);
        let [first, second] = self.next_interfaces([first, second]);
        for (from, to, direction, name) in
            [(first, second, &config.forward, "forward"), (second, first, &config.backward, "backward")]
        {
            let pipe = PipeId::of(self.pipes.len());
            let rng = self.link_stream(config.seed, &format!("link {} loss {name}", config.name));
            let jitter = self.link_stream(config.seed, &format!("link {} jitter {name}", config.name));
            let delay = (config.delay, config.jitter);
            self.pipes.push(Pipe::new(link, to, direction, delay, config.clock, [rng, jitter]));
            self.add_interface(from.0, link, Egress::Pipe(pipe));
        }
        link
    }

    /// Adds a medium for wireless links to share.
    pub fn add_medium(&mut self) -> MediumId {
        self.media.push(Medium::default());
        MediumId::of(self.media.len() - 1)
    }

    /// Joins two nodes by a wireless link.
    pub fn add_wireless_link(&mut self, first: NodeId, second: NodeId, config: &WirelessConfig) -> LinkId {
        let link = self.add_link(&config.name, (first, second), config.senses());
        let [first, second] = self.next_interfaces([first, second]);
        let sojourns = self.link_stream(config.seed, &format!("link {} stays", config.name));
        let losses = self.link_stream(config.seed, &format!("link {} losses", config.name));
        let channel = self.channels.len();
        self.channels.push(ChannelOfLink {
            link,
            channel: Channel::new(config.channel.clone(), Instant::ZERO, sojourns, losses),
        });
        for (from, to, direction, name) in
            [(first, second, &config.forward, "forward"), (second, first, &config.backward, "backward")]
        {
            let medium = config.medium.unwrap_or_else(|| self.add_medium());
            let hop = HopId::of(self.hops.len());
            let losses = self.link_stream(config.seed, &format!("link {} loss {name}", config.name));
            let jitter = self.link_stream(config.seed, &format!("link {} jitter {name}", config.name));
            self.hops.push(Hop::new(
                link,
                (from, to),
                medium,
                channel,
                direction,
                (config.delay, config.jitter),
                config.clock,
                config.link_layer,
                [losses, jitter],
            ));
            self.media[medium.index()].add(from.0, hop);
            self.add_interface(from.0, link, Egress::Hop(hop));
        }
        link
    }

    pub(super) fn add_link(&mut self, name: &str, ends: (NodeId, NodeId), senses: LinkSenses) -> LinkId {
        let addresses = (self.node_address(ends.0), self.node_address(ends.1));
        self.links.push(Link { name: name.to_owned(), ends, addresses, senses });
        self.routes = None;
        LinkId::of(self.links.len() - 1)
    }

    /// The interfaces that these nodes get next.
    fn next_interfaces(&self, nodes: [NodeId; 2]) -> [(NodeId, usize); 2] {
        let [first, second] = nodes.map(|node| self.nodes[node.index()].interfaces.len());
        [(nodes[0], first), (nodes[1], second + usize::from(nodes[0] == nodes[1]))]
    }

    pub(super) fn add_interface(&mut self, node: NodeId, link: LinkId, egress: Egress) {
        self.nodes[node.index()].interfaces.push(Interface { link, egress, agent: None });
    }

    pub(super) fn stream(&self, name: &str) -> Rng {
        Rng::named(self.seed, name)
    }

    /// A stream of a link that may have a seed of its own.
    fn link_stream(&self, own_seed: Option<u64>, name: &str) -> Rng {
        Rng::named(own_seed.unwrap_or(self.seed), name)
    }

    /// Gives a node an agent that watches its interfaces to these links: its radio side.
    ///
    /// A node may have several agents, each for other interfaces. What a link offers them its
    /// configuration says: [`WiredConfig::SENSES`], [`WirelessConfig::senses`],
    /// [`crate::wifi::WlanConfig::SENSES`].
    pub fn attach(
        &mut self,
        node: NodeId,
        links: &[LinkId],
        agent: Box<dyn Agent>,
    ) -> Result<(), AttachError> {
        let (id, needs) = (AgentId::of(self.agents.len()), agent.needs());
        let mut watched = Vec::with_capacity(links.len());
        for &link in links {
            let interfaces = &self.nodes[node.index()].interfaces;
            let index = interfaces.iter().position(|interface| interface.link == link);
            let index = index.ok_or(AttachError::NotItsLink(link))?;
            if interfaces[index].agent.is_some() {
                return Err(AttachError::Occupied(link));
            }
            if let Some(missing) = needs.missing_from(self.links[link.index()].senses) {
                return Err(AttachError::Missing(link, missing));
            }
            watched.push(index);
        }
        for index in watched {
            let interface = &mut self.nodes[node.index()].interfaces[index];
            interface.agent = Some(id);
            if let (Egress::Radio(port), true) = (interface.egress, needs.contains(LinkSenses::ATTEMPTS)) {
                self.tell_attempts_to_agents(port);
            }
        }
        let links = links.iter().map(|link| self.link_name(*link)).collect::<Vec<_>>().join(" ");
        let rng = self.stream(&format!("agent {} {links}", self.node_name(node)));
        self.agents.push(PlacedAgent {
            agent,
            needs,
            node,
            rng,
            timer: LazyTimer::default(),
            ends: BTreeMap::new(),
        });
        Ok(())
    }

    /// Agents at the other end of a link know this end by `address` instead of the node's own, for a
    /// node that stands for a real host.
    pub fn set_interface_address(&mut self, node: NodeId, link: LinkId, address: IpAddr) {
        let Link { ends, addresses, .. } = &mut self.links[link.index()];
        if ends.0 == node {
            addresses.0 = address;
        }
        if ends.1 == node {
            addresses.1 = address;
        }
    }

    /// Whether there is a route from one node to another, or may be one on demand.
    pub fn has_route(&mut self, from: NodeId, to: NodeId) -> bool {
        self.routes().lead(from.index(), to.index())
    }

    /// Packets at a node for a destination leave by this link, which goes before the shortest way.
    /// Ways given by hand must not close a circle ([`Routes::goes_in_circles`]): packets on it
    /// would never end.
    pub fn set_route(&mut self, node: NodeId, destination: NodeId, link: LinkId) -> Result<(), RouteError> {
        if !self.nodes[node.index()].interfaces.iter().any(|interface| interface.link == link) {
            return Err(RouteError::NotItsLink);
        }
        self.given_routes.push((node, destination, link));
        self.routes = None;
        Ok(())
    }

    /// The link by which packets at a node leave for a destination; `None` where it is the node
    /// itself, where there is no way, and where ways are looked for on demand.
    pub fn next_link(&mut self, node: NodeId, destination: NodeId) -> Option<LinkId> {
        Some(LinkId::of(self.routes().hop(node.index(), destination.index())?.link))
    }

    /// The routes, computed after the last change of topology.
    pub(super) fn routes(&mut self) -> &Routes {
        let (nodes, links, ad_hoc, given) = (&self.nodes, &self.links, &self.ad_hoc, &self.given_routes);
        self.routes.get_or_insert_with(|| {
            // Interfaces are added link by link, first that of a link's first node.
            let mut topology = Topology::of(nodes.len());
            for Link { ends: (first, second), .. } in links {
                topology.join(first.index(), second.index());
            }
            for (index, node) in ad_hoc.iter().enumerate() {
                if let Some(node) = node {
                    topology.route_on_demand(index, node.wlan().index());
                }
            }
            let mut routes = Routes::shortest(topology);
            for (node, destination, link) in given {
                routes.set(node.index(), destination.index(), link.index());
            }
            routes
        })
    }
}
