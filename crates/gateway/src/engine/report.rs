//! The engine's report.

use std::net::SocketAddr;
use std::time::Duration;

use lasthop_packet::{FlowKey, Instant, Protocol};
use serde::{Deserialize, Serialize};

use super::Engine;
use crate::clients::{Carried, Clients, ClientsReport, Lost};
use crate::connection::{Aside, State, TrackedConnection};
use crate::counters::{Counters, RuleCounters};
use crate::hop_rtt::HopRtts;
use crate::hop_watch::HopCounters;
use crate::rule::Rule;

/// The state of the engine and its counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineReport {
    /// The counters of the engine.
    pub counters: Counters,
    /// The sum of the counters of all agents, including removed agents.
    pub agents: RuleCounters,
    /// Packets that agents hold to send later.
    pub held: u64,
    /// Connections with an obligation of an agent: they are not set aside or evicted, and stay with
    /// their agent on a reload.
    pub owed_connections: u64,
    /// Octets at risk: acknowledged by agents, and not known to be delivered.
    pub octets_at_risk: u64,
    /// Whether all traffic passes unchanged, because the engine was drained.
    pub drained: bool,
    /// Whether the engine only measures: no rule applies, and nothing is changed.
    pub passive: bool,
    /// The current number of connections.
    pub connections: usize,
    /// The maximum number of connections.
    pub most_connections: usize,
    /// Octets of memory that agents use to store packets.
    pub agent_octets: usize,
    /// The maximum of `agent_octets`.
    pub most_agent_octets: usize,
    /// The hop's round-trip times, measured on connections whose handshake the gateway saw.
    pub hop_rtts: HopRtts,
    /// Segments over the hop and their losses, of all connections since the start.
    pub hop: HopCounters,
    /// The traffic of each client's connections, including closed ones; `None` if clients are not
    /// counted.
    pub clients: Option<ClientsReport>,
    /// The rules, in their order.
    pub rules: Vec<RuleReport>,
}

/// A rule and the counters of its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleReport {
    /// Its name.
    pub name: String,
    /// Its schemes and their settings.
    #[serde(rename = "recipe")]
    pub spec: String,
    /// Whether the rule is no longer in the plan, and its agent only meets its obligations.
    pub retiring: bool,
    /// Whether its agent has panicked too often and its traffic passes unchanged.
    pub given_up: bool,
    /// Packets that its agent holds.
    pub held: u64,
    /// Octets of memory that its agent uses to store packets.
    pub octets: usize,
    /// The counters of its agent.
    pub counters: RuleCounters,
}

/// The number of table slots in a page: some 0.2 ms of the packet loop's time (100,000 connections
/// took 391 pages and 73 ms).
const SLOTS_PER_PAGE: usize = 256;

/// A page of the list of connections.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPage {
    /// At most 256.
    pub flows: Vec<FlowReport>,
    /// The slot at which the next page begins; `None` for the last page.
    pub next: Option<usize>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// `tcp` or `udp`; empty if the gateway's version does not report it.
    #[serde(default)]
    pub protocol: String,
    /// Its endpoint on the core side.
    pub core: SocketAddr,
    /// Its endpoint on the radio side.
    pub radio: SocketAddr,
    /// Its state.
    pub state: String,
    /// Its rule; empty if no rule selects it.
    pub rule: String,
    /// Why no agent sees it; empty where one does.
    pub aside: String,
    /// Packets received from the core side.
    pub packets_from_core: u64,
    /// Octets of IP packets received from the core side.
    pub octets_from_core: u64,
    /// Packets received from the radio side.
    pub packets_from_radio: u64,
    /// Octets of IP packets received from the radio side.
    pub octets_from_radio: u64,
    /// Packets that an agent generated for it.
    pub sent_by_agent: u32,
    /// Packets of it that an agent dropped or absorbed.
    pub kept_by_agent: u32,
    /// Seconds since its first packet.
    pub age_s: f64,
    /// Seconds since its last packet.
    pub idle_s: f64,
    /// Segments over the hop and their losses.
    #[serde(flatten)]
    pub hop: HopCounters,
    /// The round-trip time from the gateway to the client, smoothed, in seconds; none until measured.
    #[serde(default)]
    pub rtt_hop_s: Option<f64>,
    /// The minimum of these round-trip times, in seconds.
    #[serde(default)]
    pub rtt_min_hop_s: Option<f64>,
    /// The round-trip time from the gateway to the server, smoothed, in seconds; none until measured.
    #[serde(default)]
    pub rtt_wire_s: Option<f64>,
    /// The percentage of the segments to the client that were lost: `lost_down` less `needless`;
    /// none if there were no segments.
    #[serde(default)]
    pub lost_down_percent: Option<f64>,
    /// The percentage of the segments from the client that were lost on the hop; none if there were
    /// no segments.
    #[serde(default)]
    pub lost_up_percent: Option<f64>,
}

impl FlowReport {
    /// The traffic that it carried.
    pub const fn carried(&self) -> Carried {
        Carried {
            packets_down: self.packets_from_core,
            packets_up: self.packets_from_radio,
            octets_down: self.octets_from_core,
            octets_up: self.octets_from_radio,
            hop: self.hop,
        }
    }
}

impl Engine {
    /// The engine's state and counters.
    pub fn report(&self) -> EngineReport {
        let rules: Vec<RuleReport> = self
            .rules
            .iter()
            .enumerate()
            .map(|(index, rule)| report_rule(rule, index >= self.planned))
            .collect();
        let mut agents = self.retired.clone();
        for rule in &rules {
            agents.add(&rule.counters);
        }
        let owed = self.owed();
        EngineReport {
            owed_connections: owed.connections,
            octets_at_risk: owed.octets,
            counters: self.counters,
            agents,
            held: rules.iter().map(|rule| rule.held).sum(),
            drained: self.is_drained,
            passive: self.is_passive,
            connections: self.connections.len(),
            most_connections: self.connections.capacity(),
            agent_octets: rules.iter().map(|rule| rule.octets).sum(),
            most_agent_octets: self.budget.octets_in_all,
            hop_rtts: self.hop_rtts,
            hop: self.hop,
            clients: self.clients.as_ref().map(Clients::report),
            rules,
        }
    }

    /// A page of the connections, starting at a slot of the table. A connection keeps its slot, so
    /// consecutive pages contain every connection that exists throughout exactly once.
    pub fn flows(&self, from: usize, now: Instant) -> FlowPage {
        let (connections, next) = self.connections.page(from, SLOTS_PER_PAGE);
        let flows = connections.map(|(key, connection)| self.report_flow(key, connection, now)).collect();
        FlowPage { flows, next }
    }

    fn report_flow(&self, key: FlowKey, connection: &TrackedConnection, now: Instant) -> FlowReport {
        let TrackedConnection { from_core, from_radio, .. } = connection;
        let rule = connection.rule.and_then(|rule| self.rules.get(usize::from(rule)));
        let protocol = match key.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        };
        let hop = *connection.hop.counters();
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let lost = Lost::from_counters(&hop);
        FlowReport {
            protocol: protocol.to_owned(),
            core: key.source.into(),
            radio: key.destination.into(),
            state: connection.state.name().to_owned(),
            rule: rule.map(|rule| rule.name.clone()).unwrap_or_default(),
            aside: connection.aside.map(Aside::name).unwrap_or_default().to_owned(),
            packets_from_core: from_core.packets,
            octets_from_core: from_core.octets,
            packets_from_radio: from_radio.packets,
            octets_from_radio: from_radio.octets,
            sent_by_agent: connection.sent_by_agent,
            kept_by_agent: connection.kept_by_agent,
            age_s: now.since(connection.opened).as_secs_f64(),
            idle_s: now.since(connection.last_used).as_secs_f64(),
            hop,
            rtt_hop_s: seconds(connection.hop.rtt_hop()),
            rtt_min_hop_s: seconds(connection.hop.rtt_min_hop()),
            rtt_wire_s: seconds(connection.hop.rtt_wire()),
            lost_down_percent: lost.down,
            lost_up_percent: lost.up,
        }
    }
}

fn report_rule(rule: &Rule, retiring: bool) -> RuleReport {
    RuleReport {
        retiring,
        name: rule.name.clone(),
        spec: rule.spec.clone(),
        given_up: rule.is_given_up(),
        held: rule.held(),
        octets: rule.octets(),
        counters: rule.counters.clone(),
    }
}

impl State {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Established => "established",
            Self::HalfClosed => "half-closed",
            Self::Closing => "closing",
            Self::Datagrams => "datagrams",
        }
    }
}
