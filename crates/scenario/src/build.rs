//! Builds the world of a run from a scenario, a scheme and a seed.

mod built;
mod error;
mod idle;
mod links;
mod network;
mod places;
mod program;
mod roaming;
mod seats;
mod sessions;
mod translation;
mod variant;

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::world::{Change, LinkDirection};
use lasthop_sim::{
    ChannelConfig, Cut, Direction, Faults, FlowConfig, FlowId, LinkId, Loss, NodeConfig, NodeId,
    RadioLinkConfig, StationId, TcpConfig, TransportConfig, WiredConfig, WirelessConfig, World,
};
use lasthop_wifi::{ErrorConfig, Position, WlanConfig};

pub use built::{Built, BuiltWlan};
pub use error::BuildError;
pub use links::{BuiltLinks, RealHosts, StationHost};
pub use network::Network;
pub(crate) use places::of_stations;
use roaming::RoamingLinks;
use seats::{SeatedAgent, Seats};
use variant::Variant;
pub use variant::WifiStack;

use crate::model::{
    FlowModel, Link, LinkModel, Mobility, PowerSave, Scenario, SchemeChoice, TcpModel, TransportModel,
    WlanModel,
};

/// How often the positions of stations that follow paths are updated.
const STEP: Duration = Duration::from_millis(100);

/// The parts of a world that may be impossible. With a plan, building succeeds.
struct Plan {
    /// The initial positions of the stations of each 802.11 cell.
    places: Vec<Vec<Position>>,
    /// The scheme's agents, at indices of the scenario's nodes.
    agents: Vec<SeatedAgent<usize>>,
}

impl Plan {
    fn new(scenario: &Scenario, scheme: &SchemeChoice, seed: u64) -> Result<Self, BuildError> {
        let network = Network::new(scenario)?;
        Ok(Self { places: of_stations(scenario, seed)?, agents: network.agents(scheme)? })
    }
}

impl Scenario {
    /// Checks whether [`Self::build`] would succeed, without building a world.
    pub fn check(&self, scheme: &SchemeChoice, seed: u64) -> Result<(), BuildError> {
        Plan::new(self, scheme, seed).map(drop)
    }

    /// Checks whether every row of the comparison can run with each seed.
    pub fn check_all(&self) -> Result<(), BuildError> {
        let network = Network::new(self)?;
        for seed in &self.seeds {
            of_stations(self, *seed)?;
        }
        for scheme in &self.schemes {
            network.agents(scheme)?;
        }
        Ok(())
    }

    /// Builds the world of one run.
    pub fn build(&self, scheme: &SchemeChoice, seed: u64) -> Result<Built, BuildError> {
        let Plan { places, agents } = Plan::new(self, scheme, seed)?;
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
        let variant = Variant { scheme, seed, without_loss, wifi: WifiStack::World };
        let mut wlans = self.add_wlans(&mut world, &at, &places, variant);
        let links = self.add_links(&mut world, &ends, &mut wlans, variant);
        self.set_routes(&mut world, &nodes, &links, &wlans);
        self.translate(&mut world, &nodes, &links);
        let has_agents = agents.iter().any(SeatedAgent::watches_clients);
        for agent in agents {
            agent.attach(&mut world, |node| nodes[node], (&links, &wlans));
        }
        self.hand_over(&mut world, &nodes, &wlans, has_agents);
        let flows = self.flows.iter().enumerate();
        let flows = flows.map(|(index, flow)| {
            self.add_flow(&mut world, (index, flow), (nodes[flow.from], nodes[flow.to]), scheme)
        });
        let flows = flows.collect();
        let sessions = self.sessions.iter().enumerate();
        let sessions = sessions.map(|(index, session)| {
            let between = [nodes[session.client], nodes[session.server]];
            self.add_session(&mut world, (index, session), between, scheme)
        });
        let sessions = sessions.collect();
        Ok(Built { world, nodes, links, wlans, flows, sessions })
    }

    /// Adds a flow between two nodes.
    fn add_flow(
        &self,
        world: &mut World,
        (index, flow): (usize, &FlowModel),
        (from, to): (NodeId, NodeId),
        scheme: &SchemeChoice,
    ) -> FlowId {
        world.add_flow(FlowConfig {
            name: flow.name.clone(),
            from,
            to,
            start: Instant::ZERO + flow.start,
            stop: flow.stop.map(|stop| Instant::ZERO + stop),
            application: flow.application,
            transport: self.transport((index, flow), scheme),
        })
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

    /// Adds each 802.11 cell with its stations, at these nodes and positions.
    fn add_wlans(
        &self,
        world: &mut World,
        nodes: &[Vec<NodeId>],
        places: &[Vec<Position>],
        Variant { scheme, seed, without_loss, wifi }: Variant<'_>,
    ) -> Vec<BuiltWlan> {
        let wlans = self.wlans.iter().zip(nodes).zip(places).enumerate();
        wlans
            .map(|(cell, ((model, nodes), places))| {
                let WlanModel { name, config, channel, stations, errors, power_save, mobility, .. } = model;
                let mut config = config.clone();
                if without_loss {
                    config = WlanConfig { errors: ErrorConfig::none(), ..config };
                }
                let wlan = world.add_wlan(name, config);
                let stations = stations.iter().zip(nodes).zip(places).enumerate();
                let stations: Vec<StationId> = stations
                    .map(|(index, ((station, node), position))| {
                        let mut station = station.clone();
                        station.config.position = *position;
                        if let Some(waiting) = scheme.waiting(cell, index) {
                            waiting.clone().apply(&mut station);
                        }
                        world.add_station_with(wlan, *node, &station.config, &station.queue)
                    })
                    .collect();
                if let Some(channel) = channel.as_ref().filter(|_| !without_loss) {
                    world.set_radio_channels(wlan, channel.clone());
                }
                for (from, to, errors) in errors.iter().filter(|_| !without_loss) {
                    world.set_radio_errors(wlan, stations[*from], stations[*to], errors.clone());
                }
                if let Some(PowerSave { config, stations: dozing }) = power_save
                    && wifi == WifiStack::World
                {
                    let dozing: Vec<StationId> = dozing.iter().map(|station| stations[*station]).collect();
                    world.save_power(wlan, stations[0], &dozing, config.clone());
                }
                if let Some(Mobility { model, walkers }) = mobility {
                    let walkers: Vec<StationId> = walkers.iter().map(|walker| stations[*walker]).collect();
                    world.walk(wlan, name, *model, &walkers);
                }
                if !model.paths.is_empty() {
                    let paths = model.paths.iter().map(|(walker, path)| (stations[*walker], path.clone()));
                    world.follow_paths(wlan, STEP, paths.collect());
                }
                if let Some(program) = &model.program {
                    let paths = program::paths(model, program, seed).into_iter();
                    let paths = paths.map(|(walker, path)| (stations[walker], path));
                    world.follow_paths(wlan, program.interval, paths.collect());
                }
                BuiltWlan { wlan, stations, service_set: None }
            })
            .collect()
    }

    /// Sets static routes and routing on demand, which [`Network::new`] has checked.
    fn set_routes(&self, world: &mut World, nodes: &[NodeId], links: &[LinkId], wlans: &[BuiltWlan]) {
        for (model, built) in self.wlans.iter().zip(wlans) {
            let Some(config) = model.routing else { continue };
            for station in &model.stations {
                let set = world.set_aodv(built.wlan, nodes[station.node], config);
                // The network was checked by the same rule.
                set.expect("the station can look for routes on demand");
            }
        }
        for route in &self.routes {
            // Fails only for a link of another node; reading takes a link of the node.
            let _ = world.set_route(nodes[route.node], nodes[route.destination], links[route.link]);
        }
    }

    /// Adds each link between its ends, and plans its changes.
    fn add_links(
        &self,
        world: &mut World,
        ends: &[(NodeId, NodeId)],
        wlans: &mut [BuiltWlan],
        Variant { without_loss, wifi, .. }: Variant,
    ) -> Vec<LinkId> {
        let mut roaming = RoamingLinks::default();
        let mut cells = BTreeMap::new();
        let links: Vec<LinkId> = self
            .links
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
                Link::Radio { wlan, .. }
                    if self.wlans[*wlan].roaming.is_some() && wifi == WifiStack::World =>
                {
                    let of_cell = self.links.iter().filter(|link| link.link.is_of_cell(*wlan));
                    let names = of_cell.map(LinkModel::name);
                    roaming.next(world, (&self.wlans[*wlan], names), &mut wlans[*wlan])
                }
                Link::Radio { config, wlan } => {
                    let BuiltWlan { wlan: id, stations, .. } = &wlans[*wlan];
                    let station = |node: usize| {
                        let of_cell = &self.wlans[*wlan].stations;
                        // A link of a cell joins two of its stations.
                        stations[of_cell.iter().position(|station| station.node == node).unwrap_or(0)]
                    };
                    let channel = config.channel.clone().filter(|_| !without_loss);
                    let config = RadioLinkConfig { channel, ..config.clone() };
                    world.add_radio_link_with(&config, *id, station(link.ends.0), station(link.ends.1))
                }
            })
            .collect();
        for (id, model) in links.iter().zip(&self.links) {
            let selection =
                (!model.selection.is_everything()).then(|| Change::Selection(model.selection.clone()));
            let cut = (model.cut != Cut::None).then_some(Change::Cut(model.cut));
            for change in selection.into_iter().chain(cut) {
                let changed = world.reconfigure_link(*id, LinkDirection::Both, &change);
                // No agent depends on the link yet, and links of cells have no such keys.
                changed.expect("a link that can change so");
            }
        }
        let planned = world.plan_changes(self.planned_changes(&links, without_loss));
        // Reading has checked that each change is possible.
        planned.expect("a link that can change so");
        let intervals = world.plan_intervals(self.planned_intervals(&links, without_loss));
        intervals.expect("a link that can change so");
        links
    }
}

fn lossless(direction: &Direction) -> Direction {
    Direction { loss: Loss::NONE, faults: Faults::NONE, ..direction.clone() }
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
