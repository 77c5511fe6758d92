//! From a scenario, a scheme and a seed to a world that is ready to run.

mod links;
mod places;
mod seats;

use std::collections::BTreeMap;

use lasthop_packet::{Instant, Probability};
use lasthop_sim::wifi::{ErrorConfig, StationConfig, WlanConfig};
use lasthop_sim::world::{AodvError, AttachError};
use lasthop_sim::{
    ChannelConfig, Direction, FlowConfig, FlowId, LinkId, NodeConfig, NodeId, StationId, TcpConfig,
    TransportConfig, WiredConfig, WirelessConfig, WlanId, World,
};
use thiserror::Error;

pub use links::{BuiltLinks, RealHosts};
use seats::Seats;

use crate::model::{FlowModel, Link, Mobility, Scenario, SchemeChoice, TcpModel, TransportModel, WlanModel};

/// A world, and the ids of what the scenario names, in the scenario's order.
pub struct Built {
    /// The world at time zero.
    pub world: World,
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// Its links.
    pub links: Vec<LinkId>,
    /// Its 802.11 cells, each with its stations.
    pub wlans: Vec<BuiltWlan>,
    /// Its flows.
    pub flows: Vec<FlowId>,
}

/// An 802.11 cell in a world.
pub struct BuiltWlan {
    /// The cell.
    pub wlan: WlanId,
    /// Its stations, in the scenario's order.
    pub stations: Vec<StationId>,
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
    /// A node cannot look for routes on demand.
    #[error("node {node:?}: {problem}")]
    OnDemand {
        /// The node.
        node: String,
        /// Why not.
        problem: AodvError,
    },
    /// The ways of real hosts are their kernels'.
    #[error("the stations of {wlan:?} look for routes on demand, which is for simulated nodes only")]
    RealHosts {
        /// The cell.
        wlan: String,
    },
    /// Ways given by hand lead back to where they began.
    #[error("packets at {node:?} for {destination:?} would go in circles; expected a way that gets there")]
    Circle {
        /// A node on the circle, with a way given by hand.
        node: String,
        /// Where packets would never arrive.
        destination: String,
    },
    /// Stations were never so far apart as they are to be.
    #[error(
        "in {draws} draws with seed {seed} the two stations were never so many hops apart; expected other hops, another area or another range"
    )]
    Placement {
        /// The cell.
        wlan: String,
        /// The seed.
        seed: u64,
        /// How often places were drawn.
        draws: u32,
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
        let without_loss = scheme.placement().is_none();
        let at: Vec<Vec<NodeId>> = self
            .wlans
            .iter()
            .map(|wlan| wlan.stations.iter().map(|station| nodes[station.node]).collect())
            .collect();
        let wlans = self.add_wlans(&mut world, &at, without_loss, seed)?;
        let links = self.add_links(&mut world, &ends, &wlans, without_loss);
        self.set_routes(&mut world, &nodes, &links, &wlans)?;
        let mut seats = Seats::default();
        for (link, id) in self.links.iter().zip(&links).filter(|(link, _)| link.link.is_wireless()) {
            for end in [link.ends.0, link.ends.1] {
                seats.watch((end, self.role(end)), nodes[end], world.node_address(nodes[end]), *id);
            }
        }
        let at: Vec<Option<NodeId>> = nodes.iter().copied().map(Some).collect();
        self.watch_at_routers(&mut seats, &mut world, &at);
        self.place_agents(&mut world, &seats, scheme)?;
        let flows = self.flows.iter().enumerate();
        let flows = flows.map(|(index, flow)| {
            self.add_flow(&mut world, (index, flow), (nodes[flow.from], nodes[flow.to]), scheme)
        });
        let flows = flows.collect::<Result<_, _>>()?;
        Ok(Built { world, nodes, links, wlans, flows })
    }

    /// Adds a flow between two nodes.
    fn add_flow(
        &self,
        world: &mut World,
        (index, flow): (usize, &FlowModel),
        (from, to): (NodeId, NodeId),
        scheme: &SchemeChoice,
    ) -> Result<FlowId, BuildError> {
        if !world.has_route(from, to) {
            return Err(BuildError::NoRoute {
                flow: flow.name.clone(),
                from: self.nodes[flow.from].name.clone(),
                to: self.nodes[flow.to].name.clone(),
            });
        }
        Ok(world.add_flow(FlowConfig {
            name: flow.name.clone(),
            from,
            to,
            start: Instant::ZERO + flow.start,
            stop: flow.stop.map(|stop| Instant::ZERO + stop),
            application: flow.application,
            transport: self.transport((index, flow), scheme),
        }))
    }

    fn transport(&self, (index, flow): (usize, &FlowModel), scheme: &SchemeChoice) -> TransportConfig {
        let TransportModel::Tcp(own) = &flow.transport else { return TransportConfig::Udp };
        let TcpModel { opening, sender, receiver } = scheme.tcp_of(index, own);
        let placement = scheme.placement();
        TransportConfig::Tcp(TcpConfig {
            opening: *opening,
            sender: sender.clone(),
            receiver: receiver.clone(),
            sender_extension: placement.and_then(|scheme| scheme.sender_extension(self.role(flow.from))),
            receiver_extension: placement.and_then(|scheme| scheme.receiver_extension(self.role(flow.to))),
        })
    }

    /// Adds each 802.11 cell with its stations, which are at these nodes.
    fn add_wlans(
        &self,
        world: &mut World,
        nodes: &[Vec<NodeId>],
        without_loss: bool,
        seed: u64,
    ) -> Result<Vec<BuiltWlan>, BuildError> {
        let wlans = self.wlans.iter().zip(nodes);
        wlans
            .map(|(model, nodes)| {
                let WlanModel { name, config, stations, errors, mobility, .. } = model;
                let places = places::places(model, seed)?;
                let mut config = config.clone();
                if without_loss {
                    config = WlanConfig { errors: ErrorConfig::none(), ..config };
                }
                let wlan = world.add_wlan(name, config);
                let stations = stations.iter().zip(nodes).zip(places);
                let stations: Vec<StationId> = stations
                    .map(|((station, node), position)| {
                        let config = StationConfig { position, ..station.config.clone() };
                        world.add_station(wlan, *node, &config)
                    })
                    .collect();
                for (from, to, errors) in errors.iter().filter(|_| !without_loss) {
                    world.set_radio_errors(wlan, stations[*from], stations[*to], errors.clone());
                }
                if let Some(Mobility { model, walkers }) = mobility {
                    let walkers: Vec<StationId> = walkers.iter().map(|walker| stations[*walker]).collect();
                    world.walk(wlan, name, *model, &walkers);
                }
                Ok(BuiltWlan { wlan, stations })
            })
            .collect()
    }

    /// Ways by hand and on demand.
    fn set_routes(
        &self,
        world: &mut World,
        nodes: &[NodeId],
        links: &[LinkId],
        wlans: &[BuiltWlan],
    ) -> Result<(), BuildError> {
        for (model, built) in self.wlans.iter().zip(wlans) {
            let Some(config) = model.routing else { continue };
            for station in &model.stations {
                let refused =
                    |problem| BuildError::OnDemand { node: self.nodes[station.node].name.clone(), problem };
                world.set_aodv(built.wlan, nodes[station.node], config).map_err(refused)?;
            }
        }
        for route in &self.routes {
            // A given route takes a link of its node.
            let _ = world.set_route(nodes[route.node], nodes[route.destination], links[route.link]);
        }
        for route in &self.routes {
            if world.goes_in_circles(nodes[route.node], nodes[route.destination]) {
                return Err(BuildError::Circle {
                    node: self.nodes[route.node].name.clone(),
                    destination: self.nodes[route.destination].name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Adds each link between its ends.
    fn add_links(
        &self,
        world: &mut World,
        ends: &[(NodeId, NodeId)],
        wlans: &[BuiltWlan],
        without_loss: bool,
    ) -> Vec<LinkId> {
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
                Link::Radio { name, wlan } => {
                    let BuiltWlan { wlan: id, stations } = &wlans[*wlan];
                    let station = |node: usize| {
                        let of_cell = &self.wlans[*wlan].stations;
                        // A link of a cell joins two of its stations.
                        stations[of_cell.iter().position(|station| station.node == node).unwrap_or(0)]
                    };
                    world.add_radio_link(name, *id, station(link.ends.0), station(link.ends.1))
                }
            })
            .collect()
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
