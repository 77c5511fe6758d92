//! Which runs a trial consists of.

use std::fs;
use std::io;

use lasthop_scenario::Scenario;
use lasthop_sim::Application;
use serde::Serialize;

use super::error::TrialError;

/// One run: a flow by itself, under one scheme, with one congestion control and one seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// The flow.
    pub flow: String,
    /// The sender's congestion control.
    pub congestion: String,
    /// The scheme's label.
    pub scheme: String,
    /// The seed of the emulated links.
    pub seed: u64,
    #[serde(skip)]
    pub(super) flow_index: usize,
    #[serde(skip)]
    pub(super) scheme_index: usize,
}

/// Every run of a scenario: for each flow between real hosts and congestion control, the schemes in
/// turn, each with every seed.
pub fn cases(scenario: &Scenario) -> Vec<Case> {
    let mut cases = Vec::new();
    let flows = scenario.flows.iter().enumerate();
    for (flow_index, flow) in flows.filter(|(_, flow)| !scenario.is_background(flow)) {
        for congestion in &scenario.trial.congestion {
            for (scheme_index, scheme) in scenario.schemes.iter().enumerate() {
                cases.extend(scenario.seeds.iter().map(|&seed| Case {
                    flow: flow.name.clone(),
                    congestion: congestion.clone(),
                    scheme: scheme.label.clone(),
                    seed,
                    flow_index,
                    scheme_index,
                }));
            }
        }
    }
    cases
}

/// Checks what can be known before the first run.
pub fn check(scenario: &Scenario) -> Result<(), TrialError> {
    super::site::check(scenario)?;
    super::site::edge(scenario)?;
    for node in &scenario.nodes {
        if node.buffer.is_some() || !node.processing_delay.is_zero() {
            let problem = format!(
                "node {:?} has a buffer or a processing delay; a real host has its own, so leave them to the links",
                node.name
            );
            return Err(TrialError::Unsuitable(problem));
        }
    }
    for flow in &scenario.flows {
        if flow.tcp().is_none() || !matches!(flow.application, Application::Bulk(_)) {
            let problem = format!(
                "flow {:?} is no bulk transfer over TCP, and nothing else runs between real hosts; leave it out, or choose others \
                 with --flows",
                flow.name
            );
            return Err(TrialError::Unsuitable(problem));
        }
    }
    let available = available_congestion_controls().map_err(TrialError::Namespace)?;
    match scenario.trial.congestion.iter().find(|name| !available.contains(name)) {
        None => Ok(()),
        Some(missing) => Err(TrialError::Congestion(missing.clone())),
    }
}

fn available_congestion_controls() -> io::Result<Vec<String>> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}
