//! What the engine is to do: a configuration with everything looked up and nothing left to go wrong.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::{Agent, Budget, LinkSenses};

use super::selector::Selector;
use super::table::IdleTimes;

/// What the engine is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which traffic any rule is asked about; everything else passes untouched.
    pub traffic: Selector,
    /// The rules; the first that matches counts.
    pub rules: Vec<RulePlan>,
    /// How many connections may be remembered, and how much memory all agents together may take.
    pub budget: Budget,
    /// How long connections may be idle.
    pub idle: IdleTimes,
    /// When connections are set aside.
    pub stepping_aside: SteppingAside,
    /// The seed of the agents' randomness.
    pub seed: u64,
}

/// Which agent sees which traffic.
#[derive(Clone)]
pub struct RulePlan {
    /// Its name in tables and metrics.
    pub name: String,
    /// The traffic.
    pub traffic: Selector,
    /// Schemes and settings, written out: of two rules that say the same here, one can go on with the other's agent.
    pub recipe: String,
    /// Makes the agent; `None` for a rule that leaves its traffic alone.
    pub agent: Option<AgentMaker>,
}

/// Makes an agent; makes another after the first has panicked.
pub type AgentMaker = Arc<dyn Fn() -> Box<dyn Agent> + Send + Sync>;

/// When connections are set aside by themselves. Tables: `docs/src/gateway.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteppingAside {
    /// A connection of which only one direction came, for so many packets
    pub one_way_packets: u64,
    /// and so long, is set aside.
    pub one_way_time: Duration,
    /// A sender that did not slow down at so many losses ([`super::reaction`]) is set aside; `None` for never.
    pub unresponsive_losses: Option<u8>,
}

impl Plan {
    /// What its agents need to see of the link layer.
    pub fn needs(&self) -> LinkSenses {
        let agents = self.rules.iter().filter_map(|rule| rule.agent.as_ref());
        agents.map(|make| make().needs()).collect()
    }
}

impl fmt::Debug for RulePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulePlan")
            .field("name", &self.name)
            .field("traffic", &self.traffic)
            .field("recipe", &self.recipe)
            .finish_non_exhaustive()
    }
}
