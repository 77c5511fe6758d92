//! Nodes, the links between them, and the ways that packets take: what stays while packets move.

mod learned;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::LinkSenses;

use crate::config::{NodeConfig, NodeKind};
use crate::id::{AgentId, At, LinkId, NodeId, WlanId};
use crate::routing::{Routes, Topology};
use crate::technology::Egress;
use learned::Learned;

/// Addresses that are remembered at most: real senders may make theirs up.
pub(crate) const MAX_ADDRESSES: usize = 65_536;

#[derive(Default)]
pub(crate) struct Network {
    nodes: Vec<Node>,
    links: Vec<Link>,
    addresses: BTreeMap<IpAddr, NodeId>,
    /// Whether packets may carry addresses that are no node's own.
    has_other_addresses: bool,
    /// Computed after the last change of topology.
    routes: Option<Routes>,
    /// Ways given by hand, which go before the shortest: node, destination, link.
    given_routes: Vec<(NodeId, NodeId, LinkId)>,
    /// Nodes that look for their routes on demand, each among the stations of a cell.
    on_demand: Vec<(NodeId, WlanId)>,
    learned: Learned,
    /// External nodes, and destinations to which packets go on outside of the world from there. Apart from the nodes, which
    /// every packet reads.
    exits: BTreeSet<(NodeId, NodeId)>,
}

struct Node {
    name: String,
    kind: NodeKind,
    address: IpAddr,
    processing_delay: Duration,
    /// Octets that may wait at all its interfaces together.
    buffer: Option<u64>,
    interfaces: Vec<Interface>,
    /// The agent that watches interfaces to clients that associate with this access point.
    radio_agent: Option<AgentId>,
    /// Whether it translates addresses.
    translates: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Interface {
    pub(crate) link: LinkId,
    pub(crate) egress: Egress,
    /// The agent that watches it.
    pub(crate) agent: Option<AgentId>,
    /// The sender whose packets leave by it without being shown to an agent or translated: the agent that
    /// watches it, [`AgentId::TRANSLATOR`] for none, [`AgentId::NONE`] for all that no agent sends. Apart
    /// from `agent`, so that most packets leave by one check.
    pub(crate) gate: AgentId,
}

struct Link {
    name: String,
    ends: (NodeId, NodeId),
    /// By what its two interfaces are known to agents at the other end.
    addresses: (IpAddr, IpAddr),
    /// The senses that it offers to agents at its ends.
    senses: LinkSenses,
    /// Whether its first end is one access point after another.
    roams: bool,
}

impl Network {
    pub(crate) fn add_node(&mut self, config: NodeConfig) -> NodeId {
        let id = NodeId::from_index(self.nodes.len());
        let address = config.address.unwrap_or_else(|| NodeConfig::default_address(id.index()));
        self.addresses.entry(address).or_insert(id);
        self.nodes.push(Node {
            name: config.name,
            kind: config.kind,
            address,
            processing_delay: config.processing_delay,
            buffer: config.buffer,
            interfaces: Vec::new(),
            radio_agent: None,
            translates: false,
        });
        self.routes = None;
        id
    }

    /// Its two interfaces are added next, that of its first node first.
    pub(crate) fn add_link(&mut self, name: &str, ends: (NodeId, NodeId), senses: LinkSenses) -> LinkId {
        let addresses = (self.node(ends.0).address, self.node(ends.1).address);
        self.links.push(Link { name: name.to_owned(), ends, addresses, senses, roams: false });
        self.routes = None;
        LinkId::from_index(self.links.len() - 1)
    }

    pub(crate) fn add_interface(&mut self, node: NodeId, link: LinkId, egress: Egress) {
        let of = &mut self.nodes[node.index()];
        let gate = if of.translates { AgentId::TRANSLATOR } else { AgentId::NONE };
        of.interfaces.push(Interface { link, egress, agent: None, gate });
    }

    /// The packets that leave by any interface of a node are translated from now on.
    pub(crate) fn set_gates(&mut self, node: NodeId) {
        let of = &mut self.nodes[node.index()];
        of.translates = true;
        for interface in &mut of.interfaces {
            interface.gate = AgentId::TRANSLATOR;
        }
    }

    /// Packets for a destination go on outside of the world from this node, if no way leads to it here.
    pub(crate) fn add_exit(&mut self, node: NodeId, destination: NodeId) {
        self.exits.insert((node, destination));
    }

    /// Whether packets for a destination go on outside of the world from this node.
    pub(crate) fn is_exit(&self, node: NodeId, destination: NodeId) -> bool {
        self.exits.contains(&(node, destination))
    }

    /// The interfaces that these nodes get next.
    pub(crate) fn next_interfaces(&self, nodes: [NodeId; 2]) -> [(NodeId, usize); 2] {
        let [first, second] = nodes.map(|node| self.node(node).interfaces.len());
        [(nodes[0], first), (nodes[1], second + usize::from(nodes[0] == nodes[1]))]
    }

    #[inline]
    fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    #[inline]
    pub(crate) fn interface(&self, (node, interface): (NodeId, usize)) -> &Interface {
        &self.nodes[node.index()].interfaces[interface]
    }

    /// A node's interfaces, in the order of addition.
    pub(crate) fn interfaces(&self, node: NodeId) -> &[Interface] {
        &self.node(node).interfaces
    }

    /// All interfaces, each with its node.
    pub(crate) fn all_interfaces(&self) -> impl Iterator<Item = (NodeId, &Interface)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.flat_map(|(index, node)| node.interfaces.iter().map(move |it| (NodeId::from_index(index), it)))
    }

    /// An agent watches an interface from now on.
    pub(crate) fn set_agent(&mut self, (node, interface): (NodeId, usize), agent: AgentId) {
        let of = &mut self.nodes[node.index()];
        let gate = if of.translates { AgentId::TRANSLATOR } else { agent };
        let interface = &mut of.interfaces[interface];
        (interface.agent, interface.gate) = (Some(agent), gate);
    }

    /// The number of nodes.
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn name(&self, node: NodeId) -> &str {
        &self.node(node).name
    }

    #[inline]
    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        self.node(node).kind
    }

    pub(crate) fn address(&self, node: NodeId) -> IpAddr {
        self.node(node).address
    }

    #[inline]
    pub(crate) fn processing_delay(&self, node: NodeId) -> Duration {
        self.node(node).processing_delay
    }

    /// Octets that may wait at all interfaces of a node together.
    #[inline]
    pub(crate) fn buffer(&self, node: NodeId) -> Option<u64> {
        self.node(node).buffer
    }

    /// Whether packets may carry addresses that are no node's own.
    pub(crate) const fn has_other_addresses(&self) -> bool {
        self.has_other_addresses
    }

    /// The number of a node's interface to a link.
    pub(crate) fn interface_to(&self, node: NodeId, link: LinkId) -> Option<usize> {
        self.node(node).interfaces.iter().position(|interface| interface.link == link)
    }

    pub(crate) fn link_name(&self, link: LinkId) -> &str {
        &self.links[link.index()].name
    }

    pub(crate) fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        self.links[link.index()].ends
    }

    pub(crate) fn senses(&self, link: LinkId) -> LinkSenses {
        self.links[link.index()].senses
    }

    /// By what the node at the other end of an interface's link is known to agents.
    pub(crate) fn neighbour(&self, at: (NodeId, usize)) -> IpAddr {
        let link = &self.links[self.interface(at).link.index()];
        if link.ends.0 == at.0 { link.addresses.1 } else { link.addresses.0 }
    }

    /// Agents at the other end of a link know this end by `address` from now on.
    pub(crate) fn set_interface_address(&mut self, node: NodeId, link: LinkId, address: IpAddr) {
        let Link { ends, addresses, .. } = &mut self.links[link.index()];
        if ends.0 == node {
            addresses.0 = address;
        }
        if ends.1 == node {
            addresses.1 = address;
        }
    }

    /// The node that has an address, or stands for it.
    #[expect(clippy::inline_always, reason = "every packet; measured")]
    #[inline(always)]
    pub(crate) fn resolve(&self, address: &IpAddr) -> Option<NodeId> {
        // Addresses of our own making count the nodes.
        if let IpAddr::V4(v4) = address {
            let number = u32::from(*v4) & 0x00ff_ffff;
            let node = number.wrapping_sub(1) as usize;
            if self.nodes.get(node).is_some_and(|node| node.address == *address) {
                return Some(NodeId(number - 1));
            }
        }
        self.addresses.get(address).copied()
    }

    /// Something with this address stands behind a node.
    pub(crate) fn add_address(&mut self, node: NodeId, address: IpAddr) {
        self.has_other_addresses = true;
        self.addresses.insert(address, node);
    }

    /// As [`Self::add_address`], unless the address is known, or too many are.
    pub(crate) fn learn_address(&mut self, node: NodeId, address: IpAddr) {
        self.has_other_addresses = true;
        if self.addresses.len() < MAX_ADDRESSES && self.resolve(&address).is_none() {
            self.addresses.insert(address, node);
        }
    }

    /// Packets at a node for a destination leave by this link.
    pub(crate) fn set_route(&mut self, node: NodeId, destination: NodeId, link: LinkId) {
        self.given_routes.push((node, destination, link));
        self.routes = None;
    }

    /// A node looks for its routes on demand: no table has any from it.
    pub(crate) fn route_on_demand(&mut self, node: NodeId, cell: WlanId) {
        self.on_demand.push((node, cell));
        self.routes = None;
    }

    /// The interface by which packets at a node leave for a destination.
    #[inline]
    pub(crate) fn interface_towards(&mut self, node: NodeId, destination: NodeId) -> Option<usize> {
        if self.routes.is_none() {
            self.routes();
        }
        self.routes.as_ref()?.interface(node.index(), destination.index())
    }

    pub(crate) fn routes(&mut self) -> &Routes {
        let Self { nodes, links, on_demand, given_routes, routes, learned, .. } = self;
        routes.get_or_insert_with(|| {
            // Interfaces are added link by link, first that of a link's first node.
            let mut topology = Topology::new(nodes.len());
            for Link { ends: (first, second), roams, .. } in links {
                if *roams {
                    topology.join_in_turn(second.index());
                } else {
                    topology.join(first.index(), second.index());
                }
            }
            for (node, cell) in on_demand {
                topology.route_on_demand(node.index(), cell.index());
            }
            let mut routes = Routes::shortest(topology);
            for (node, destination, link) in given_routes {
                routes.set(node.index(), destination.index(), link.index());
            }
            learned.apply(nodes.len(), &mut routes);
            routes
        })
    }
}

/// Clients that go from access point to access point.
impl Network {
    /// Joins a client to the access point that it is associated with: to its anchor until it is associated for the
    /// first time. Only the client's interface is added next; those of access points follow as the client comes to
    /// them, when all other links are there. `learners`: see [`learned`].
    pub(crate) fn add_roaming_link(
        &mut self,
        name: &str,
        (anchor, client): (NodeId, NodeId),
        learners: Arc<BTreeSet<NodeId>>,
        senses: LinkSenses,
    ) -> LinkId {
        let link = self.add_link(name, (anchor, client), senses);
        self.links[link.index()].roams = true;
        self.learned.add(client, anchor, learners);
        link
    }

    /// A roaming link leads to another access point.
    pub(crate) fn set_access_point(&mut self, link: LinkId, access_point: NodeId) {
        let address = self.address(access_point);
        let Link { ends, addresses, .. } = &mut self.links[link.index()];
        (ends.0, addresses.0) = (access_point, address);
    }

    /// An agent watches all interfaces of an access point to clients that will come.
    pub(crate) fn set_radio_agent(&mut self, access_point: NodeId, agent: AgentId) {
        self.nodes[access_point.index()].radio_agent = Some(agent);
    }

    /// See [`Self::set_radio_agent`].
    pub(crate) fn radio_agent(&self, access_point: NodeId) -> Option<AgentId> {
        self.node(access_point).radio_agent
    }

    pub(crate) fn is_roaming_client(&self, node: NodeId) -> bool {
        self.learned.is_client(node)
    }

    /// The interface of a node to a client whose access point it is or has been.
    pub(crate) fn interface_of_client(&self, node: NodeId, client: NodeId) -> Option<usize> {
        let link = self.learned.is_client(client).then(|| self.interfaces(client).first())??.link;
        self.interface_to(node, link)
    }

    /// A node learns that a client is to be reached through an interface. `false`: it has learned that, or of a
    /// later association.
    pub(crate) fn learn(&mut self, (node, interface): At, client: NodeId, association: u64) -> bool {
        self.routes();
        let Self { learned, routes: Some(routes), .. } = self else { return false };
        learned.learn((node, client), interface as u16, association, routes)
    }

    /// A client that was to be reached through an interface has gone.
    pub(crate) fn forget(&mut self, (node, interface): At, client: NodeId) {
        self.routes();
        let Self { learned, routes: Some(routes), .. } = self else { return };
        learned.forget((node, client), interface as u16, routes);
    }

    /// A client sends through this interface from now on; `None`: it is not associated.
    pub(crate) fn set_default_route(&mut self, client: NodeId, interface: Option<usize>) {
        self.routes();
        let Self { learned, routes: Some(routes), .. } = self else { return };
        learned.set_default(client, interface.map(|it| it as u16), routes);
    }
}
