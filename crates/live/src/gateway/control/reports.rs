//! How a client reads the reports that a gateway sends as it made them.
//!
//! Figures that an older gateway does not send are zero or empty, and what a newer one sends beyond
//! these is left out.

use serde::{Deserialize, Deserializer};

use crate::gateway::counters::{Counters, RuleCounters};
use crate::gateway::engine::{EngineReport, RuleReport};
use crate::gateway::link::LinkReport;
use crate::gateway::packet_loop::LoopReport;
use crate::gateway::punctuality::PunctualityReport;

#[derive(Default, Deserialize)]
#[serde(remote = "LoopReport", default)]
struct LoopReportFields {
    uptime_s: f64,
    cpu_s: f64,
    turns: u64,
    sent: u64,
    lost: u64,
    longest_turn_s: f64,
    punctuality: PunctualityReport,
    notes: Vec<String>,
    link: Option<LinkReport>,
    engine: EngineReport,
}

impl<'de> Deserialize<'de> for LoopReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LoopReportFields::deserialize(deserializer)
    }
}

#[derive(Default, Deserialize)]
#[serde(remote = "EngineReport", default)]
struct EngineReportFields {
    counters: Counters,
    agents: RuleCounters,
    held: u64,
    drained: bool,
    connections: usize,
    most_connections: usize,
    agent_octets: usize,
    most_agent_octets: usize,
    rules: Vec<RuleReport>,
}

impl<'de> Deserialize<'de> for EngineReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EngineReportFields::deserialize(deserializer)
    }
}

#[derive(Deserialize)]
#[serde(remote = "RuleReport")]
struct RuleReportFields {
    name: String,
    #[serde(rename = "recipe", default)]
    spec: String,
    #[serde(default)]
    given_up: bool,
    #[serde(default)]
    held: u64,
    #[serde(default)]
    octets: usize,
    #[serde(default)]
    counters: RuleCounters,
}

impl<'de> Deserialize<'de> for RuleReport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RuleReportFields::deserialize(deserializer)
    }
}
