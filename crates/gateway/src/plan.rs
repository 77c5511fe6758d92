//! The plan of the engine: a configuration in which all names are resolved, and which cannot fail.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::{Agent, Budget, LinkSenses, Stack};
use lasthop_schemes::{Placement, Role, SchemeStack, Seat};

use super::selector::Selector;
use super::table::IdleTimes;
use crate::io::Selection;

/// The plan of the engine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The traffic to which rules apply; all other traffic passes unchanged.
    pub traffic: Selector,
    /// The rules; the first match counts.
    pub rules: Vec<RulePlan>,
    /// Whether connections are only measured: no rule applies, and nothing is changed. A reload
    /// does not change this.
    pub passive: bool,
    /// The maximum number of connections, and the memory of all agents together.
    pub budget: Budget,
    /// The maximum idle times of connections.
    pub idle: IdleTimes,
    /// The conditions for setting connections aside.
    pub stepping_aside: SteppingAside,
    /// The maximum number of clients with counters of their own, which the first clients with a
    /// connection get; `None` if clients are not counted. Each of several workers has an equal
    /// share.
    pub max_clients: Option<usize>,
    /// The seed of the agents' randomness.
    pub seed: u64,
}

/// A rule: the agent for a selection of traffic.
#[derive(Clone)]
pub struct RulePlan {
    /// Its name in tables and metrics.
    pub name: String,
    /// The traffic.
    pub traffic: Selector,
    /// The schemes' names, from the core side to the radio side. Connections' state can move
    /// between rules with equal names.
    pub schemes: String,
    /// The schemes and their settings as text. A rule can take over the agent of a rule with an
    /// equal spec.
    pub spec: String,
    /// Creates the agent; `None` for a rule that leaves its traffic alone.
    pub agent: Option<AgentMaker>,
}

/// Creates an agent, and another one after the first has panicked.
pub type AgentMaker = Arc<dyn Fn() -> Box<dyn Agent> + Send + Sync>;

/// The conditions under which connections are set aside without a command. Tables:
/// `docs/src/gateway.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteppingAside {
    /// A connection of which only one direction was seen is set aside after this number of packets
    pub one_way_packets: u64,
    /// and this time.
    pub one_way_time: Duration,
    /// A connection is set aside after this number of losses at which its sender did not slow down
    /// ([`super::reaction`]); `None` for never.
    pub unresponsive_losses: Option<u8>,
}

/// The maximum number of connections with a bypass in the kernel, for all workers together. Each
/// takes a slot of 32 octets and two entries in hash maps.
const MAX_KERNEL_BYPASSES: usize = 1 << 18;

impl Plan {
    /// The plan of one of several workers: each has a seed of its own, and an equal share, to
    /// within one connection, of the bounds of the gateway.
    #[must_use]
    pub fn share(&self, worker: usize, workers: usize) -> Self {
        let Budget { flows, octets_per_flow, octets_in_all } = self.budget;
        let octets_in_all = octets_in_all / workers;
        let share = |most: usize| most / workers + usize::from(worker < most % workers);
        let max_clients = self.max_clients.map(share);
        let budget = Budget { flows: share(flows), octets_per_flow, octets_in_all };
        Self { budget, max_clients, seed: self.seed.wrapping_add(worker as u64), ..self.clone() }
    }

    /// The traffic that the kernel side diverts, for each of several workers.
    pub fn selection(&self, workers: usize) -> Selection {
        let connections = self.budget.flows.min(MAX_KERNEL_BYPASSES).div_ceil(workers) as u32;
        Selection {
            datagrams: self.takes_datagrams(),
            passive: self.passive,
            connections: Some(connections),
            ..self.traffic.selection()
        }
    }

    /// The rules that apply: none if the plan is passive.
    pub fn rules_in_force(&self) -> &[RulePlan] {
        if self.passive { &[] } else { &self.rules }
    }

    /// Whether one of its agents uses datagrams.
    pub fn takes_datagrams(&self) -> bool {
        self.rules_in_force()
            .iter()
            .filter_map(|rule| rule.agent.as_ref())
            .any(|make| make().takes_datagrams())
    }

    /// The events of the link layer that its agents need.
    pub fn needs(&self) -> LinkSenses {
        let agents = self.rules_in_force().iter().filter_map(|rule| rule.agent.as_ref());
        agents.map(|make| make().needs()).collect()
    }
}

/// Why a stack cannot run in a gateway.
#[derive(Clone, Debug)]
pub struct RuleError {
    /// The index of the layer, from 0.
    pub layer: usize,
    /// The scheme of that layer.
    pub scheme: &'static str,
    /// The reason.
    pub problem: RuleProblem,
}

/// Why a scheme cannot run in a gateway.
#[derive(Clone, Debug)]
pub enum RuleProblem {
    /// With its settings, it has no agent there.
    NothingHere {
        /// Where the gateway stands.
        role: Role,
    },
    /// It needs events that the link layer does not report.
    Blind {
        /// The missing events.
        missing: LinkSenses,
        /// The settings that need them; empty if the scheme needs them with any settings.
        settings: Vec<String>,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.scheme;
        match &self.problem {
            RuleProblem::NothingHere { role } => {
                let place = if *role == Role::Edge { "the edge" } else { "a mobile host" };
                write!(
                    f,
                    "scheme {name:?} with these settings places nothing at {place}; expected a scheme or settings that do: see `lasthop schemes {name}`"
                )
            }
            RuleProblem::Blind { missing, settings } => {
                write!(f, "scheme {name:?} ")?;
                if !settings.is_empty() {
                    write!(f, "with {} ", settings.join(" and "))?;
                }
                // One missing event is reason enough.
                write!(f, "needs {}", missing.names().first().unwrap_or(&"nothing"))
            }
        }
    }
}

impl RulePlan {
    /// Creates a rule that runs this stack for this traffic, named by its schemes.
    pub fn new(
        stack: &SchemeStack,
        traffic: Selector,
        surroundings: Surroundings,
    ) -> Result<Self, RuleError> {
        let seat = Seat { role: surroundings.role, address: surroundings.address };
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
                // A scheme of a stack may have its only agent at the other end of the hop.
                None if of_stack.is_nothing() || seat.role != Role::Edge => {}
                None => return wrong(RuleProblem::NothingHere { role: seat.role }),
            }
        }
        if !places_any && !stack.is_nothing() {
            let (scheme, problem) =
                (stack.layers()[0].scheme().name, RuleProblem::NothingHere { role: seat.role });
            return Err(RuleError { layer: 0, scheme, problem });
        }
        let (schemes, spec, stack) = (stack.names(), stack.to_string(), stack.clone());
        // If the stack has placed an agent once, it always does.
        let agent: AgentMaker =
            Arc::new(move || stack.agent(seat).unwrap_or_else(|| Box::new(Stack::default())));
        Ok(Self { name: schemes.clone(), traffic, schemes, spec, agent: places_any.then_some(agent) })
    }
}

/// The environment in which a gateway runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Where it stands: at the edge, or at a mobile host.
    pub role: Role,
    /// The events that its link layer reports. A scheme that needs others is refused.
    pub senses: LinkSenses,
    /// The source address of messages that its agents send; unspecified if no scheme sends any.
    pub address: IpAddr,
    /// Whether it is to be passive, whatever its file says.
    pub is_passive: bool,
}

impl From<LinkSenses> for Surroundings {
    /// At the edge, without an address: no scheme that works without link senses sends messages from its own
    /// address.
    fn from(senses: LinkSenses) -> Self {
        Self { role: Role::Edge, senses, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), is_passive: false }
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
