//! One run and its summary.

mod counters;
mod roaming;
mod summarize;
mod summary;

use std::collections::BTreeMap;

use lasthop_packet::Instant;
use lasthop_scenario::memory::MemoryExceeded;
use lasthop_scenario::{BuildError, Built, Scenario, SchemeChoice, SteppedRun, Stopped};
use lasthop_sim::Observer;
use thiserror::Error;

use crate::agents::AgentLoad;
use crate::progress::{Progress, watch};
use counters::{LEVELS, counters};
use summarize::summarize;

pub use roaming::{RoamingSummary, SteeringSummary};
pub use summary::{Aggregate, Datagrams, FlowSummary, RunSummary, StationSummary};

/// The reason why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The scenario cannot run under the scheme.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The process exceeded its memory limit.
    #[error(transparent)]
    Memory(MemoryExceeded),
    /// The run was canceled ([`Progress::is_canceled`]).
    #[error("canceled")]
    Canceled,
    /// A flow, or all traffic, was complete before the end of the warm-up.
    #[error(
        "in the run with scheme {scheme:?} and seed {seed}, {what} was done before `warm-up` was over; expected \
         a shorter one, or flows that last longer"
    )]
    NothingMeasured {
        /// The scheme's label.
        scheme: String,
        /// The seed.
        seed: u64,
        /// The flow, or all traffic.
        what: String,
    },
    /// A run of a sweep failed.
    #[error("at {point}: {error}")]
    AtPoint {
        /// The values of the swept parameters at this point.
        point: String,
        /// The error of the run.
        error: Box<RunError>,
    },
}

impl RunError {
    /// The error of the run itself, without the point of a sweep.
    pub fn cause(&self) -> &Self {
        match self {
            Self::AtPoint { error, .. } => error.cause(),
            Self::Build(_) | Self::Memory(_) | Self::Canceled | Self::NothingMeasured { .. } => self,
        }
    }
}

impl From<Stopped> for RunError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Canceled => Self::Canceled,
            Stopped::Memory(exceeded) => Self::Memory(exceeded),
        }
    }
}

/// Runs a scenario under a scheme.
pub fn run(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    progress: &dyn Progress,
) -> Result<RunSummary, RunError> {
    let (summary, _) = run_observed(scenario, scheme, seed, |_| Ok::<_, RunError>(Vec::new()), progress)?;
    Ok(summary)
}

/// Runs a scenario under a scheme with observers, and returns them. An error of `observers` is
/// returned before the run begins.
pub fn run_observed<E: From<RunError>>(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
    observers: impl FnOnce(&Built) -> Result<Vec<Box<dyn Observer>>, E>,
    progress: &dyn Progress,
) -> Result<(RunSummary, Vec<Box<dyn Observer>>), E> {
    let mut built = scenario.build(scheme, seed).map_err(RunError::from)?;
    let watch = watch(progress);
    let mut run = SteppedRun::begin(scenario, scheme, seed, &mut built, &watch).map_err(RunError::from)?;
    for observer in observers(&built)? {
        built.world.observe(observer);
    }
    let uncounted = warm_up((scheme, seed), &mut run, &mut built)?;
    let agents = AgentLoad::from_run(&mut run, &mut built).map_err(RunError::from)?;
    let observers = built.world.take_observers();
    debug_assert!(built.world.accounts().balance(), "every packet is accounted for");
    let mut summary = summarize(scenario, scheme, seed, &built, agents);
    for (name, count) in uncounted {
        if let Some(counted) = summary.counters.get_mut(&name) {
            *counted -= count;
        }
    }
    Ok((summary, observers))
}

/// Runs a world for the scenario's warm-up, after which it starts to measure. Returns the counters
/// that only rise, as they are then.
fn warm_up(
    (scheme, seed): (&SchemeChoice, u64),
    run: &mut SteppedRun<'_>,
    built: &mut Built,
) -> Result<BTreeMap<String, u64>, RunError> {
    if run.scenario.warm_up.is_zero() {
        return Ok(BTreeMap::new());
    }
    let end = Instant::ZERO + run.scenario.warm_up;
    run.advance(built, end, run.scenario.stop_when_done)?;
    let nothing_measured =
        |what: String| RunError::NothingMeasured { scheme: scheme.label.clone(), seed, what };
    if built.world.now() < end {
        return Err(nothing_measured("all traffic".to_owned()));
    }
    if let Some(flow) = built.flows.iter().find(|flow| built.world.flow(**flow).is_done()) {
        let name = built.world.flow(*flow).name();
        return Err(nothing_measured(format!("flow {name:?}")));
    }
    built.world.start_measuring();
    let mut counted = counters(built);
    counted.retain(|name, _| !LEVELS.contains(&name.as_str()));
    Ok(counted)
}
