//! From a scenario, a scheme and a seed to a world that is ready to run.

use std::collections::BTreeMap;

use lasthop_packet::{Instant, Probability};
use lasthop_schemes::catalogue::Place;
use lasthop_sim::world::AttachError;
use lasthop_sim::{
    ChannelConfig, Direction, FlowConfig, FlowId, LinkId, NodeConfig, NodeId, NodeKind, TcpConfig,
    TransportConfig, WiredConfig, WirelessConfig, World,
};
use thiserror::Error;

use crate::model::{FlowModel, Link, LinkModel, Scenario, SchemeChoice, TcpModel, TransportModel};

/// A world, and the ids of what the scenario names, in the scenario's order.
pub struct Built {
    /// The world at time zero.
    pub world: World,
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// Its links.
    pub links: Vec<LinkId>,
    /// Its flows.
    pub flows: Vec<FlowId>,
}

/// A world of links between external nodes.
pub struct BuiltLinks {
    /// The world at time zero.
    pub world: World,
    /// The two ends of each link, in the scenario's order.
    pub ends: Vec<(NodeId, NodeId)>,
    /// The links.
    pub links: Vec<LinkId>,
}

/// Why a scenario cannot run under a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// An agent cannot work where it would have to sit.
    #[error("scheme {scheme:?} cannot work at node {node:?} on link {link:?}: {problem}")]
    Agent {
        /// The scheme.
        scheme: String,
        /// The node.
        node: String,
        /// The link.
        link: String,
        /// What is missing.
        problem: AttachError,
    },
    /// A flow's ends are not connected.
    #[error("flow {flow:?}: there is no way from {from:?} to {to:?}")]
    NoRoute {
        /// The flow.
        flow: String,
        /// Its sender.
        from: String,
        /// Its receiver.
        to: String,
    },
}

impl Scenario {
    /// Builds the world of one run.
    pub fn build(&self, scheme: &SchemeChoice, seed: u64) -> Result<Built, BuildError> {
        let mut world = World::new(seed);
        let nodes: Vec<NodeId> = self
            .nodes
            .iter()
            .map(|node| {
                world.add_node(NodeConfig {
                    processing_delay: node.processing_delay,
                    buffer: node.buffer,
                    ..NodeConfig::new(&node.name, node.kind)
                })
            })
            .collect();
        let ends: Vec<_> = self.links.iter().map(|link| (nodes[link.ends.0], nodes[link.ends.1])).collect();
        let links = self.add_links(&mut world, &ends, scheme.placement().is_none());
        self.attach_agents(&mut world, &nodes, &links, scheme)?;
        let mut flows = Vec::new();
        for flow in &self.flows {
            let (from, to) = (nodes[flow.from], nodes[flow.to]);
            if !world.has_route(from, to) {
                return Err(BuildError::NoRoute {
                    flow: flow.name.clone(),
                    from: self.nodes[flow.from].name.clone(),
                    to: self.nodes[flow.to].name.clone(),
                });
            }
            flows.push(world.add_flow(FlowConfig {
                name: flow.name.clone(),
                from,
                to,
                start: Instant::ZERO + flow.start,
                stop: flow.stop.map(|stop| Instant::ZERO + stop),
                application: flow.application,
                transport: self.transport(flow, scheme),
            }));
        }
        Ok(Built { world, nodes, links, flows })
    }

    fn transport(&self, flow: &FlowModel, scheme: &SchemeChoice) -> TransportConfig {
        match &flow.transport {
            TransportModel::Tcp(TcpModel { opening, sender, receiver }) => TransportConfig::Tcp(TcpConfig {
                opening: *opening,
                sender: sender.clone(),
                receiver: receiver.clone(),
                extension: scheme.placement().and_then(|placement| placement.extension(self.role(flow.from))),
            }),
            TransportModel::Udp => TransportConfig::Udp,
        }
    }

    /// Builds the links alone, each between two external nodes of its own, for real hosts to be at their ends: nodes, flows and
    /// schemes are the caller's.
    pub fn build_links(&self, scheme: &SchemeChoice, seed: u64) -> BuiltLinks {
        let mut world = World::new(seed);
        let mut external = |link: &LinkModel, node: usize| {
            let name = format!("{} of {}", self.nodes[node].name, link.name());
            world.add_node(NodeConfig::new(name, NodeKind::External))
        };
        let ends = self.links.iter().map(|link| (external(link, link.ends.0), external(link, link.ends.1)));
        let ends: Vec<_> = ends.collect();
        let links = self.add_links(&mut world, &ends, scheme.placement().is_none());
        BuiltLinks { world, ends, links }
    }

    /// Adds each link between its ends.
    fn add_links(&self, world: &mut World, ends: &[(NodeId, NodeId)], without_loss: bool) -> Vec<LinkId> {
        let mut cells = BTreeMap::new();
        self.links
            .iter()
            .zip(ends)
            .map(|(link, &(first, second))| match &link.link {
                Link::Wired(config) if without_loss => {
                    world.add_wired_link(first, second, &lossless_wired(config))
                }
                Link::Wired(config) => world.add_wired_link(first, second, config),
                Link::Wireless { config, cell } => {
                    let medium =
                        cell.as_ref().map(|cell| *cells.entry(cell).or_insert_with(|| world.add_medium()));
                    let mut config = WirelessConfig { medium, ..config.clone() };
                    if without_loss {
                        config = lossless_wireless(config);
                    }
                    world.add_wireless_link(first, second, &config)
                }
            })
            .collect()
    }

    fn attach_agents(
        &self,
        world: &mut World,
        nodes: &[NodeId],
        links: &[LinkId],
        scheme: &SchemeChoice,
    ) -> Result<(), BuildError> {
        let Some(placement) = scheme.placement() else { return Ok(()) };
        for (index, link) in self.links.iter().enumerate() {
            if !matches!(link.link, Link::Wireless { .. }) {
                continue;
            }
            for (end, other) in [link.ends, (link.ends.1, link.ends.0)] {
                let place = Place {
                    role: self.role(end),
                    address: world.node_address(nodes[end]),
                    neighbour: Some(world.node_address(nodes[other])),
                };
                let Some(agent) = placement.agent(place) else { continue };
                world.attach(nodes[end], links[index], agent).map_err(|problem| BuildError::Agent {
                    scheme: scheme.label.clone(),
                    node: self.nodes[end].name.clone(),
                    link: link.name().to_owned(),
                    problem,
                })?;
            }
        }
        Ok(())
    }
}

fn lossless(direction: &Direction) -> Direction {
    Direction { loss: Probability::ZERO, ..direction.clone() }
}

fn lossless_wired(config: &WiredConfig) -> WiredConfig {
    WiredConfig { forward: lossless(&config.forward), backward: lossless(&config.backward), ..config.clone() }
}

fn lossless_wireless(config: WirelessConfig) -> WirelessConfig {
    WirelessConfig {
        forward: lossless(&config.forward),
        backward: lossless(&config.backward),
        channel: ChannelConfig::PERFECT,
        ..config
    }
}
