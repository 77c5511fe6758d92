//! Data at risk in agents during a run, and their memory, sampled at intervals.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{Built, SteppedRun, Stopped};
use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// Samples of a run; more if they would be further apart than [`LONGEST_INTERVAL`].
const SAMPLES: u32 = 1000;
const LONGEST_INTERVAL: Duration = Duration::from_millis(100);

/// What agents held and owed in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentLoad {
    /// Largest number of connections to which agents owed something at one time. An agent owes what
    /// it has acknowledged and not delivered; it also owes the translation between sequence numbers
    /// that differ at the two ends. 0 means that end-to-end semantics were kept, as far as agents
    /// are concerned: one that keeps nothing of what it acknowledges, like that of LLE-TCP as
    /// published, owes nothing.
    pub owed_connections: u64,
    /// Largest number of octets at risk at one time: acknowledged, and not known to be delivered.
    pub octets_at_risk: u64,
    /// Mean number of octets at risk.
    pub octets_at_risk_mean: f64,
    /// Largest amount of memory that agents used for packets, in octets.
    pub memory_octets: u64,
}

/// The same over all seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentLoads {
    /// Whether end-to-end semantics were kept in all runs: no agent owed anything.
    pub end_to_end: bool,
    /// Largest number of octets at risk in a run.
    pub octets_at_risk: Estimate,
    /// Mean number of octets at risk.
    pub octets_at_risk_mean: Estimate,
    /// Largest amount of memory that agents used for packets in a run, in octets.
    pub memory_octets: Estimate,
}

impl AgentLoad {
    /// Runs a world from its present time to the end of the run, and samples its agents.
    pub(crate) fn from_run(run: &mut SteppedRun<'_>, built: &mut Built) -> Result<Self, Stopped> {
        let scenario = run.scenario;
        let mut load = Self::default();
        let (mut at_risk, mut samples) = (0.0, 0.0);
        let end = Instant::ZERO + scenario.duration;
        let interval = (scenario.duration / SAMPLES).clamp(Duration::from_nanos(1), LONGEST_INTERVAL);
        let mut until = built.world.now();
        while until < end && built.world.now() == until {
            until = end.min(until + interval);
            run.advance(built, until, scenario.stop_when_done)?;
            let owed = built.world.owed_by_agents();
            load.owed_connections = load.owed_connections.max(owed.connections);
            load.octets_at_risk = load.octets_at_risk.max(owed.octets);
            load.memory_octets = load.memory_octets.max(built.world.octets_of_agents());
            (at_risk, samples) = (at_risk + owed.octets as f64, samples + 1.0);
        }
        Ok(Self { octets_at_risk_mean: at_risk / f64::max(samples, 1.0), ..load })
    }
}

impl AgentLoads {
    /// The loads of several runs; `None` without runs.
    pub(crate) fn from_runs(runs: &[AgentLoad]) -> Option<Self> {
        let estimate =
            |of: fn(&AgentLoad) -> f64| Estimate::from_samples(&runs.iter().map(of).collect::<Vec<_>>());
        Some(Self {
            end_to_end: runs.iter().all(|run| run.owed_connections == 0),
            octets_at_risk: estimate(|load| load.octets_at_risk as f64)?,
            octets_at_risk_mean: estimate(|load| load.octets_at_risk_mean)?,
            memory_octets: estimate(|load| load.memory_octets as f64)?,
        })
    }
}
