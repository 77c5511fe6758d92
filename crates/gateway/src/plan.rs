//! What the engine is to do: a configuration with everything looked up and nothing left to go
//! wrong.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::{Agent, Budget, LinkSenses, Stack};
use lasthop_schemes::{Placement, Role, SchemeStack, Seat};

use super::selector::Selector;
use super::table::IdleTimes;
use crate::io::Selection;

/// What the engine is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which traffic any rule is asked about; everything else passes untouched.
    pub traffic: Selector,
    /// The rules; the first that matches counts.
    pub rules: Vec<RulePlan>,
    /// Connections are measured, and no rule applies: nothing is changed. A reload does not change it.
    pub passive: bool,
    /// How many connections may be remembered, and how much memory all agents together may take.
    pub budget: Budget,
    /// How long connections may be idle.
    pub idle: IdleTimes,
    /// When connections are set aside.
    pub stepping_aside: SteppingAside,
    /// How many clients have counters of their own, the first ones that have a connection; `None` if
    /// clients are not counted. Each of several workers has an equal share of these places.
    pub most_clients: Option<usize>,
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
    /// The schemes' names, from the core side to the radio side: between rules that say the same
    /// here, connections' state can move.
    pub schemes: String,
    /// Schemes and settings, written out: of two rules that say the same here, one can go on with
    /// the other's agent.
    pub spec: String,
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
    /// A sender that did not slow down at so many losses ([`super::reaction`]) is set aside; `None`
    /// for never.
    pub unresponsive_losses: Option<u8>,
}

/// The most connections that have a bypass in the kernel, of all workers together. Each takes a slot
/// of 32 octets and two entries in hash maps.
const MOST_IN_KERNEL: usize = 1 << 18;

impl Plan {
    /// The plan of one of several workers: each gets an equal share, to one connection, of the bounds that hold for the
    /// whole gateway, and a seed of its own.
    #[must_use]
    pub fn share(&self, worker: usize, workers: usize) -> Self {
        let Budget { flows, octets_per_flow, octets_in_all } = self.budget;
        let octets_in_all = octets_in_all / workers;
        let share = |most: usize| most / workers + usize::from(worker < most % workers);
        let most_clients = self.most_clients.map(share);
        let budget = Budget { flows: share(flows), octets_per_flow, octets_in_all };
        Self { budget, most_clients, seed: self.seed.wrapping_add(worker as u64), ..self.clone() }
    }

    /// Which traffic the kernel's side diverts to us, for each of several workers.
    pub fn selection(&self, workers: usize) -> Selection {
        let connections = self.budget.flows.min(MOST_IN_KERNEL).div_ceil(workers) as u32;
        Selection {
            datagrams: self.takes_datagrams(),
            passive: self.passive,
            connections: Some(connections),
            ..self.traffic.selection()
        }
    }

    /// The rules that apply: none if it is passive.
    pub fn rules_in_force(&self) -> &[RulePlan] {
        if self.passive { &[] } else { &self.rules }
    }

    /// Whether one of its agents has a use for datagrams.
    pub fn takes_datagrams(&self) -> bool {
        self.rules_in_force()
            .iter()
            .filter_map(|rule| rule.agent.as_ref())
            .any(|make| make().takes_datagrams())
    }

    /// What its agents need to see of the link layer.
    pub fn needs(&self) -> LinkSenses {
        let agents = self.rules_in_force().iter().filter_map(|rule| rule.agent.as_ref());
        agents.map(|make| make().needs()).collect()
    }
}

/// Why a stack cannot run in a gateway.
#[derive(Clone, Debug)]
pub struct RuleError {
    /// Which of its layers, from 0.
    pub layer: usize,
    /// The scheme there.
    pub scheme: &'static str,
    /// What is wrong.
    pub problem: RuleProblem,
}

/// What is wrong with a scheme in a gateway.
#[derive(Clone, Debug)]
pub enum RuleProblem {
    /// With its settings it has no agent there.
    NothingHere,
    /// It needs to see more of the link layer than that shows.
    Blind {
        /// What is missing.
        missing: LinkSenses,
        /// The settings without which nothing would be; none where the scheme itself needs it.
        settings: Vec<String>,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.scheme;
        match &self.problem {
            RuleProblem::NothingHere => write!(
                f,
                "scheme {name:?} with these settings places nothing at the edge; expected a scheme or settings that do: see `lasthop schemes {name}`"
            ),
            RuleProblem::Blind { missing, settings } => {
                write!(f, "scheme {name:?} ")?;
                if !settings.is_empty() {
                    write!(f, "with {} ", settings.join(" and "))?;
                }
                // One is enough to refuse it.
                write!(f, "needs {}", missing.names().first().unwrap_or(&"nothing"))
            }
        }
    }
}

impl RulePlan {
    /// A rule that runs this stack for this traffic, named by its schemes.
    pub fn new(
        stack: &SchemeStack,
        traffic: Selector,
        surroundings: Surroundings,
    ) -> Result<Self, RuleError> {
        let seat = Seat { role: Role::Edge, address: surroundings.address };
        let mut places_any = false;
        for (layer, of_stack) in stack.layers().iter().enumerate() {
            let wrong = |problem| Err(RuleError { layer, scheme: of_stack.scheme().name, problem });
            match of_stack.placement().agent(seat) {
                Some(agent) => {
                    let missing = agent.needs() - surroundings.senses;
                    if !missing.is_empty() {
                        let settings = of_stack.settings_beyond(seat, surroundings.senses);
                        return wrong(RuleProblem::Blind { missing, settings });
                    }
                    places_any = true;
                }
                None if of_stack.is_nothing() => {}
                None => return wrong(RuleProblem::NothingHere),
            }
        }
        let (schemes, spec, stack) = (stack.names(), stack.to_string(), stack.clone());
        // It places one, and then it always does.
        let agent: AgentMaker =
            Arc::new(move || stack.agent(seat).unwrap_or_else(|| Box::new(Stack::default())));
        Ok(Self { name: schemes.clone(), traffic, schemes, spec, agent: places_any.then_some(agent) })
    }
}

/// Where a gateway is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// What its link layer has to offer: a scheme that needs more is refused.
    pub senses: LinkSenses,
    /// The address from which its agents send messages of their own; unspecified where no scheme
    /// sends any.
    pub address: IpAddr,
}

impl From<LinkSenses> for Surroundings {
    /// Without an address: no scheme that works without link senses sends messages in its own name.
    fn from(senses: LinkSenses) -> Self {
        Self { senses, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) }
    }
}

impl fmt::Debug for RulePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulePlan")
            .field("name", &self.name)
            .field("traffic", &self.traffic)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
