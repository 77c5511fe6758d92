//! All gateways of a run: one at the only edge, or one at each access point among which clients roam.

use std::net::IpAddr;
use std::sync::mpsc::Sender;

use lasthop_agent::LinkSenses;
use lasthop_emulator::Emulator;
use lasthop_gateway::Gateway;
use lasthop_gateway::config::{Backend, Config};
use lasthop_gateway::frame::MacAddress;
use lasthop_gateway::packet_loop::LoopReport;
use lasthop_gateway::plan::AgentMaker;
use lasthop_scenario::Scenario;
use lasthop_schemes::SchemeStack;
use lasthop_sim::{LinkId, NodeId};
use serde::{Deserialize, Serialize};

use super::adapters::Adapter;
use super::bridged::Lan;
use super::error::TrialError;
use super::gateway::{self, Clock, Place};
use super::gateway_process::GatewayProcess;
use super::plan::edges;
use super::radios::{Radios, has_agent};
use super::roaming::hand_over::HandOver;
use super::roaming::{Joined, Served, Stations};
use super::site::{self, Site};

/// The reports of gateways' packet loops.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reports {
    pub(super) at_edges: Vec<LoopReport>,
    pub(super) of_clients: Vec<LoopReport>,
}

impl Reports {
    /// Adds those of another kernel's hosts.
    pub(super) fn add(&mut self, others: Self) {
        self.at_edges.extend(others.at_edges);
        self.of_clients.extend(others.of_clients);
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &LoopReport> {
        self.at_edges.iter().chain(&self.of_clients)
    }
}

/// Running gateways. They end when this value is dropped.
pub(super) struct Gateways {
    /// In the order of the edges.
    at_edges: Vec<AtEdge>,
    /// On Wi-Fi adapters of clients.
    on_adapters: Vec<Gateway>,
    needs: LinkSenses,
    /// Dropped after the gateways, because it has their files.
    hand_over: Option<HandOver>,
}

/// A gateway at an edge.
enum AtEdge {
    /// In this process.
    Here(Gateway),
    /// In a process of its own, which is killed during the run.
    Elsewhere(GatewayProcess),
}

impl AtEdge {
    fn report(&self) -> Result<LoopReport, TrialError> {
        match self {
            Self::Here(gateway) => Ok(gateway.report()?),
            Self::Elsewhere(process) => process.report(),
        }
    }
}

/// The configuration of the gateway at an edge with this address. `agent`, if given, replaces the schemes' own.
pub(super) fn config_at_edge(
    scenario: &Scenario,
    stack: &SchemeStack,
    edge: (usize, IpAddr),
    radios: &Radios,
    agent: Option<AgentMaker>,
    clock: Clock,
) -> Result<Config, TrialError> {
    let lan = Lan::of(scenario);
    let ports = lan.as_ref().map_or_else(|| site::ports(scenario, radios, edge.0), |lan| lan.ports(edge.0));
    let config = Place::at_edge(scenario, edge, radios, ports).config(stack, agent, clock)?;
    // The other backend routes, and bridged frames would pass by it.
    Ok(if lan.is_some() { Config { backend: Backend::TcBpf, ..config } } else { config })
}

impl Gateways {
    /// No gateway.
    pub(super) const fn none() -> Self {
        Self { at_edges: Vec::new(), on_adapters: Vec::new(), needs: LinkSenses::empty(), hand_over: None }
    }

    /// Starts a gateway with these schemes at each edge. `agent`, if given, replaces the schemes' own.
    pub(super) fn start(
        scenario: &Scenario,
        site: &Site,
        stack: &SchemeStack,
        agent: Option<&AgentMaker>,
        clock: Clock,
    ) -> Result<Self, TrialError> {
        let (edges, lan) = (edges(scenario)?, Lan::of(scenario));
        let registry = lan.as_ref().and_then(Lan::registry);
        let addresses = || edges.iter().map(|edge| site.address(*edge)).collect();
        let hand_over = registry.map(|registry| HandOver::new(&clock.folder(), addresses(), registry));
        let hand_over = hand_over.transpose()?;
        let (mut at_edges, mut needs) = (Vec::new(), LinkSenses::empty());
        for (number, edge) in edges.into_iter().enumerate() {
            let Some(host) = site.host(edge) else { continue };
            if scenario.trial.gateway_crash.is_some() {
                at_edges.push(AtEdge::Elsewhere(GatewayProcess::start(number, host)?));
                continue;
            }
            let (at, radios) = ((edge, site.address(edge)), site.radios());
            let mut config = config_at_edge(scenario, stack, at, radios, agent.cloned(), clock)?;
            if let Some(hand_over) = &hand_over {
                let radios = radios.of_hosts().iter().filter(|radio| radio.node == edge);
                config =
                    hand_over.complete(config, number, radios.map(|radio| radio.hostapd_socket()).collect());
            }
            needs |= config.plan.needs();
            at_edges.push(AtEdge::Here(gateway::start(config, host)?));
        }
        let with_agent = |adapter: &&Adapter| has_agent(scenario, stack, adapter.radio.node);
        let on_adapters = site.adapters().iter().filter(with_agent).map(|adapter| {
            let config = Place::on_adapter(scenario, site, adapter.radio).config(stack, None, clock)?;
            gateway::start(config, &adapter.host)
        });
        let on_adapters = on_adapters.collect::<Result<_, _>>()?;
        Ok(Self { at_edges, on_adapters, needs, hand_over })
    }

    /// Those that can be killed.
    pub(super) fn processes(&self) -> Vec<&GatewayProcess> {
        let processes = self.at_edges.iter().filter_map(|gateway| match gateway {
            AtEdge::Here(_) => None,
            AtEdge::Elsewhere(process) => Some(process),
        });
        processes.collect()
    }

    /// Has the model report to the gateways what the drivers and daemons of real access points report: the fates of
    /// frames, and associations. `roaming` has the stations of the cell in which clients roam, and the clients' addresses,
    /// `transmitters` those of the first edge.
    pub(super) fn connect(
        &mut self,
        emulator: &mut Emulator,
        roaming: Option<(Stations, Vec<MacAddress>)>,
        transmitters: Vec<(NodeId, LinkId)>,
    ) -> Result<(), TrialError> {
        if let (Some((stations, clients)), Some(hand_over)) = (roaming, &mut self.hand_over) {
            emulator.observe(hand_over.observer(stations, clients)?);
        }
        // Only a single edge offers them: see `gateway::senses`.
        if let [AtEdge::Here(gateway)] = &self.at_edges[..]
            && self.needs.contains(LinkSenses::FRAME_FATE)
        {
            gateway::report_fates(gateway, emulator, transmitters)?;
        }
        Ok(())
    }

    /// The reports of their packet loops: of those at edges, and of those of clients.
    pub(super) fn reports(&self) -> Result<Reports, TrialError> {
        let at_edges = self.at_edges.iter().map(AtEdge::report).collect::<Result<_, _>>()?;
        let of_clients = self.on_adapters.iter().map(Gateway::report).collect::<Result<_, _>>()?;
        Ok(Reports { at_edges, of_clients })
    }

    /// Follows the associations of clients with these addresses, of which hostapd tells the gateways, if they hand over.
    /// Returns where to report them.
    pub(super) fn follow(&mut self, clients: Vec<MacAddress>) -> Result<Option<Sender<Joined>>, TrialError> {
        self.hand_over.as_mut().map(|hand_over| hand_over.follow(clients)).transpose()
    }

    /// When they served clients that have associated, if they hand over. Who reports associations must have been dropped.
    pub(super) fn served(&mut self) -> Result<Option<Vec<Served>>, TrialError> {
        self.hand_over.as_mut().map(HandOver::served).transpose()
    }
}
