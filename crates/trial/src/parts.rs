//! The parts of a run. Its hosts are on one kernel or on several, and each kernel's hosts report their part: the ends of
//! flows and whole sessions that are there, and gateways. One place joins the parts.

use lasthop_scenario::Scenario;
use serde::{Deserialize, Serialize};

use super::error::TrialError;
use super::flows::{RunPart, RunResults, join};
use super::gateways::Reports;
use super::plan::Case;
use super::roaming::HandOff;

/// What all hosts of a run have to report.
#[derive(Clone, Debug)]
pub(super) struct HostResults {
    pub(super) run: RunResults,
    pub(super) gateways: Reports,
    /// Processor time of the packet loops of all gateways, as a share of one core; `None` without one.
    pub(super) gateway_cores: Option<f64>,
    /// The hand-offs of clients, where hosts know of them.
    pub(super) hand_offs: Option<Vec<HandOff>>,
}

/// What the hosts on one kernel have to report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HostPart {
    pub(super) run: RunPart,
    pub(super) gateways: Reports,
    /// Processor time of the packet loops of the gateways, as a share of one core; `None` without one.
    pub(super) gateway_cores: Option<f64>,
    /// The hand-offs of clients, where hosts know of them.
    pub(super) hand_offs: Option<Vec<HandOff>>,
}

impl HostResults {
    /// The results of a run from all of its parts.
    pub(super) fn of(scenario: &Scenario, case: &Case, parts: Vec<HostPart>) -> Result<Self, TrialError> {
        let mut gateways = Reports::default();
        let (mut runs, mut gateway_cores, mut hand_offs) = (Vec::new(), None, None);
        for part in parts {
            gateways.add(part.gateways);
            runs.push(part.run);
            gateway_cores = match (gateway_cores, part.gateway_cores) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            };
            hand_offs = hand_offs.or(part.hand_offs);
        }
        Ok(Self { run: join(scenario, case, runs)?, gateways, gateway_cores, hand_offs })
    }
}
