//! The gateway of a trial: the real daemon, in the namespace of an edge, and the reports of its
//! link layers.

#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;

use lasthop_agent::LinkSenses;
use lasthop_scenario::{BuiltLinks, Scenario, SchemeChoice};
use lasthop_schemes::SchemeStack;
use lasthop_sim::{LinkId, NodeId};

use super::error::TrialError;
use super::site::{End, Site, ends};
use lasthop_emulator::Emulator;
use lasthop_gateway::config::Config;
use lasthop_gateway::link::LinkReporter;
use lasthop_gateway::plan::{AgentMaker, RuleError, RulePlan, RuleProblem, Surroundings};
use lasthop_gateway::selector::Selector;
use lasthop_gateway::{Gateway, Start};

/// Fates of frames that may wait for the packet loop. A hop of 100 Mbit/s makes some 8000 a second,
/// so that those of 100 ms fit, and the loop still processes all of them in a short turn.
const FATES: usize = 1024;

/// Whose time the hosts' clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// This machine's.
    Real,
    /// That of the model.
    Simulated,
}

/// The configuration of a gateway with schemes at an edge of a site, on the best available backend.
/// `agent`, if given, replaces the schemes' own.
pub(super) fn config(
    scenario: &Scenario,
    (edge, site): (usize, &Site),
    (core, radio): (Vec<String>, Vec<String>),
    stack: &SchemeStack,
    agent: Option<AgentMaker>,
    clock: Clock,
) -> Result<Config, TrialError> {
    let surroundings = Surroundings { address: site.address(edge), ..senses(scenario, edge).into() };
    let rule = RulePlan::new(stack, Selector::default(), surroundings);
    let mut rule = rule.map_err(|error| TrialError::Gateway(error.to_string()))?;
    if agent.is_some() {
        rule.agent = agent;
    }
    Ok(Config {
        core: Some(core),
        radio: Some(radio),
        // The gateway is part of the test setup, as the emulator is: its lateness delays the whole
        // run. In simulated time it is never late.
        realtime: clock == Clock::Real,
        ..Config::with_rules(vec![rule])
    })
}

/// Starts a gateway on its host.
pub(super) fn start(config: Config, (edge, site): (usize, &Site)) -> Result<Gateway, TrialError> {
    Ok(Start { config, file: None, owns_process: false }.inside(&site.hosts[edge])?)
}

/// Checks that a gateway at this edge could run every scheme.
pub(super) fn check(scenario: &Scenario, edge: usize) -> Result<(), TrialError> {
    // Any address serves.
    let surroundings = Surroundings { address: Ipv4Addr::LOCALHOST.into(), ..senses(scenario, edge).into() };
    for scheme in &scenario.schemes {
        let Some(stack) = scheme.stack() else { continue };
        RulePlan::new(stack, Selector::default(), surroundings)
            .map_err(|error| TrialError::Gateway(format!("{:?}: {}", scheme.label, refusal(&error))))?;
    }
    Ok(())
}

/// The label of the first scheme whose agent at this edge needs the fates of frames; `None` without one.
pub(super) fn label_that_needs_fates(scenario: &Scenario, edge: usize) -> Option<&str> {
    let surroundings = Surroundings { address: Ipv4Addr::LOCALHOST.into(), ..senses(scenario, edge).into() };
    let needs_them = |choice: &&SchemeChoice| {
        let rule = choice.stack().map(|stack| RulePlan::new(stack, Selector::default(), surroundings));
        let agent = rule.and_then(|rule| rule.ok()?.agent);
        agent.is_some_and(|make| make().needs().contains(LinkSenses::FRAME_FATE))
    };
    scenario.schemes.iter().find(needs_them).map(|choice| choice.label.as_str())
}

/// The reason for which a scheme cannot run here, and the remedy.
fn refusal(error: &RuleError) -> String {
    let (why, settings) = match &error.problem {
        RuleProblem::NothingHere => ("", 0),
        RuleProblem::Blind { missing, settings } if (*missing - LinkReporter::SENSES).is_empty() => (
            ", which its link layer does not report (this requires one that confirms delivery)",
            settings.len(),
        ),
        RuleProblem::Blind { settings, .. } => {
            (", which only simulated nodes have (`lasthop compare`)", settings.len())
        }
    };
    let what = match settings {
        0 => "the scheme",
        1 => "this setting",
        _ => "these settings",
    };
    format!("{error}{why}; leave {what} out, or choose other schemes with --schemes")
}

/// The link events at the edge: those that all of its wireless links report and that the daemon can
/// receive; none at an access point whose clients roam, as at one whose driver does not report any.
fn senses(scenario: &Scenario, edge: usize) -> LinkSenses {
    if scenario.roams(edge) {
        return LinkSenses::empty();
    }
    let offered = |end: End| scenario.links[end.link].link.is_wireless().then(|| scenario.senses(end.link));
    let offered = ends(scenario).filter(|end| end.node == edge).filter_map(offered);
    offered.fold(LinkReporter::SENSES, LinkSenses::intersection)
}

/// The nodes of the model that transmit for the edge on its wireless links, with these links.
pub(super) fn transmitters(scenario: &Scenario, edge: usize, built: &BuiltLinks) -> Vec<(NodeId, LinkId)> {
    let of_edge =
        ends(scenario).filter(|end| end.node == edge && scenario.links[end.link].link.is_wireless());
    let transmitter = |end: End| {
        let (first, second) = built.transmitters[end.link];
        (if end.place == 0 { first } else { second }, built.links[end.link])
    };
    of_edge.map(transmitter).collect()
}

/// Reports to the gateway the fates of the frames that these [`transmitters`] send. An
/// access point does not know the fates of the clients' own frames.
pub(super) fn report_fates(
    gateway: &Gateway,
    emulator: &mut Emulator,
    transmitters: Vec<(NodeId, LinkId)>,
) -> Result<(), TrialError> {
    let reporter = gateway.link_layer(FATES)?;
    emulator.on_fates(move |fate| {
        if transmitters.contains(&(fate.from, fate.link)) {
            reporter.report(&fate.event);
        }
    });
    Ok(())
}
