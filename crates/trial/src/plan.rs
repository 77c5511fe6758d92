//! The runs of a trial.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::time::Duration;

use lasthop_config::words::counted;
use lasthop_packet::units::format_duration;
use lasthop_scenario::{ActivityModel, Scenario, SchemeChoice};
use lasthop_sim::Application;

use super::bridged::Lan;
use super::congestion::{all_simulated, of_the_kernel, simulated};
use super::error::TrialError;

/// The maximum number of flows together. Each takes two threads on a machine that has to keep time.
const MAX_FLOWS_TOGETHER: usize = 16;
/// The maximum number of sessions. Each takes one thread, which has less work than those of a flow.
const MAX_SESSIONS: usize = 32;

/// One run: a single flow or several together, and all sessions, under one scheme and with one
/// seed. It has at least one flow or session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The flows.
    pub flows: Vec<CaseFlow>,
    /// The sessions: all of them in each run.
    pub sessions: Vec<CaseSession>,
    /// The scheme's label.
    pub scheme: String,
    /// The seed of the emulated links.
    pub seed: u64,
    pub(super) scheme_index: usize,
}

/// A flow of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFlow {
    /// Its name.
    pub name: String,
    /// The sender's congestion control, by the kernel's name.
    pub congestion: String,
    pub(super) index: usize,
}

/// A session of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseSession {
    /// Its name.
    pub name: String,
    /// "voice", "web", "mail", "ftp" or "video".
    pub kind: &'static str,
    /// The congestion control of both hosts, by the kernel's name; `None` for a call or a video.
    pub congestion: Option<String>,
    pub(super) index: usize,
}

/// The times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// The start of the first flow or session.
    pub(super) first: Duration,
    /// The time from which the goodput of flows without a size counts: `try.settle` after the last
    /// start.
    pub(super) settled: Duration,
    /// The end of every flow and session: `try.duration` after the last start.
    pub(super) end: Duration,
}

impl Case {
    /// Its flows and sessions as text for messages: `download (cubic), web (reno), call`.
    pub(super) fn traffic(&self) -> String {
        let flows = self.flows.iter().map(|flow| format!("{} ({})", flow.name, flow.congestion));
        let sessions = self.sessions.iter().map(|session| match &session.congestion {
            Some(congestion) => format!("{} ({congestion})", session.name),
            None => session.name.clone(),
        });
        flows.chain(sessions).collect::<Vec<_>>().join(", ")
    }
}

/// Every run of a scenario, each with all sessions. If flows run one at a time: for each flow
/// between real hosts and each congestion control, each scheme with every seed; a row with its own
/// congestion control only once for each flow. If flows run together: each scheme with every seed.
pub fn cases(scenario: &Scenario) -> Vec<Case> {
    let mut cases = Vec::new();
    if scenario.trial.together {
        for (index, scheme) in scenario.schemes.iter().enumerate() {
            let given = match &scenario.trial.congestion[..] {
                [one] if !has_own_control(scheme) => Some(one),
                _ => None,
            };
            let flows = together(scenario, scheme);
            cases.extend(with_each_seed(scenario, &flows, &sessions(scenario, scheme, given), index));
        }
        return cases;
    }
    // Without flows, the sessions run alone.
    let mut flows: Vec<Option<usize>> = real_flows(scenario).map(Some).collect();
    if flows.is_empty() {
        flows.push(None);
    }
    for index in flows {
        for (turn, congestion) in scenario.trial.congestion.iter().enumerate() {
            for (scheme_index, scheme) in scenario.schemes.iter().enumerate() {
                let has_own = has_own_control(scheme);
                if has_own && turn > 0 {
                    continue;
                }
                let given = Some(congestion).filter(|_| !has_own);
                let flows = index.map(|index| vec![of_flow(scenario, scheme, index, given)]);
                let sessions = sessions(scenario, scheme, given);
                cases.extend(with_each_seed(scenario, &flows.unwrap_or_default(), &sessions, scheme_index));
            }
        }
    }
    cases
}

/// All sessions, each with the given congestion control or else its own.
fn sessions(scenario: &Scenario, scheme: &SchemeChoice, given: Option<&String>) -> Vec<CaseSession> {
    let sessions = scenario.sessions.iter().enumerate();
    let real = sessions.filter(|(_, session)| !scenario.is_background_session(session));
    let of_case = real.map(|(index, session)| {
        let congestion = match &session.activity {
            ActivityModel::Call(_) => None,
            ActivityModel::Dialogue { tcp, .. } => {
                let own = || of_the_kernel(scheme.tcp_of_session(index, tcp).congestion);
                Some(given.map_or_else(own, Clone::clone))
            }
        };
        CaseSession { name: session.name.clone(), kind: session.activity.kind(), congestion, index }
    });
    of_case.collect()
}

/// All flows, each with its congestion control: that of the row, or else from `try.congestion`,
/// which has one for all or one for each, or else from the flow's table `tcp`.
fn together(scenario: &Scenario, scheme: &SchemeChoice) -> Vec<CaseFlow> {
    let given = &scenario.trial.congestion;
    let flows = real_flows(scenario).enumerate().map(|(place, index)| {
        let given = given.get(if given.len() == 1 { 0 } else { place });
        of_flow(scenario, scheme, index, given.filter(|_| !has_own_control(scheme)))
    });
    flows.collect()
}

/// A flow with the given congestion control, or else with that of its TCP settings in this row.
fn of_flow(scenario: &Scenario, scheme: &SchemeChoice, index: usize, given: Option<&String>) -> CaseFlow {
    let flow = &scenario.flows[index];
    let own = || flow.tcp().map(|own| scheme.tcp_of(index, own).sender.congestion).unwrap_or_default();
    let congestion = given.map_or_else(|| of_the_kernel(own()), Clone::clone);
    CaseFlow { name: flow.name.clone(), congestion, index }
}

/// Whether a row has its own congestion control, which takes precedence over all others.
fn has_own_control(scheme: &SchemeChoice) -> bool {
    scheme.tcp_keys().iter().any(|key| key == "congestion")
}

/// Notes on rows with TCP settings that do not apply to real hosts, because the kernel's TCP has
/// its own.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    let notes = scenario.schemes.iter().filter_map(|scheme| {
        let keys = scheme.tcp_keys().iter().filter(|key| *key != "congestion");
        let keys: Vec<String> = keys.map(|key| format!("tcp.{key}")).collect();
        (!keys.is_empty()).then(|| {
            format!(
                "{:?}: the hosts' kernel does not have {}, which only the prediction follows; for the \
                 kernel's own settings, use try.sysctl",
                scheme.label,
                keys.join(", ")
            )
        })
    });
    notes.collect()
}

/// A run for each seed; none without flows and sessions.
fn with_each_seed(
    scenario: &Scenario,
    flows: &[CaseFlow],
    sessions: &[CaseSession],
    scheme_index: usize,
) -> impl Iterator<Item = Case> {
    let scheme = &scenario.schemes[scheme_index].label;
    let seeds = scenario.seeds.iter().filter(move |_| !(flows.is_empty() && sessions.is_empty()));
    seeds.map(move |&seed| Case {
        flows: flows.to_vec(),
        sessions: sessions.to_vec(),
        scheme: scheme.clone(),
        seed,
        scheme_index,
    })
}

/// Indices of the flows between real hosts.
fn real_flows(scenario: &Scenario) -> impl Iterator<Item = usize> + '_ {
    (0..scenario.flows.len()).filter(|index| !scenario.is_background(&scenario.flows[*index]))
}

impl Case {
    pub(super) fn times(&self, scenario: &Scenario) -> Times {
        let of_flows = || self.flows.iter().map(|flow| scenario.flows[flow.index].start);
        let of_sessions = || self.sessions.iter().map(|session| scenario.sessions[session.index].start);
        let starts = || of_flows().chain(of_sessions());
        let last = starts().max().unwrap_or_default();
        Times {
            first: starts().min().unwrap_or_default(),
            settled: last + scenario.trial.settle,
            end: last + scenario.trial.duration,
        }
    }

    /// The congestion controls of all that runs over TCP.
    pub fn congestion(&self) -> impl Iterator<Item = &String> {
        let of_flows = self.flows.iter().map(|flow| &flow.congestion);
        of_flows.chain(self.sessions.iter().filter_map(|session| session.congestion.as_ref()))
    }
}

/// Checks a scenario before the first run.
pub fn check(scenario: &Scenario) -> Result<(), TrialError> {
    super::site::check(scenario)?;
    for scheme in &scenario.schemes {
        scenario.check_links(scheme)?;
    }
    if let Some(lan) = Lan::of(scenario) {
        lan.check()?;
    }
    for edge in edges(scenario)? {
        super::gateway::check(scenario, edge)?;
    }
    check_flows(scenario)?;
    check_sessions(scenario)?;
    check_ways(scenario)?;
    check_changes(scenario)?;
    for node in &scenario.nodes {
        let given =
            [("buffer", node.buffer.is_some()), ("processing-delay", !node.processing_delay.is_zero())];
        if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            let problem = "a real host has its own; leave it out, or model it in the links";
            return Err(TrialError::unsuitable(format!("nodes.{}.{key}", node.name), problem));
        }
    }
    Ok(())
}

/// The nodes with gateways: the access points among which clients roam, or else the only edge.
pub(super) fn edges(scenario: &Scenario) -> Result<Vec<usize>, TrialError> {
    match Lan::of(scenario) {
        Some(lan) => Ok(lan.access_points()),
        None => Ok(vec![super::site::edge(scenario)?]),
    }
}

/// Checks that the hosts' kernel has every congestion control.
pub fn check_kernel(scenario: &Scenario) -> Result<(), TrialError> {
    let available = available_congestion_controls().map_err(TrialError::Namespace)?;
    let missing = missing_control(scenario, |name| available.iter().any(|known| known == name));
    missing.map_or(Ok(()), |(name, row)| Err(TrialError::Congestion { name, row }))
}

/// Checks that nothing needs more rights than an ordinary user has: gateways of bridged access points have to load BPF
/// programs.
pub fn check_without_root(scenario: &Scenario) -> Result<(), TrialError> {
    let has_gateway = |scheme: &&SchemeChoice| scheme.stack().is_some_and(|stack| !stack.is_nothing());
    let scheme = Lan::of(scenario).and_then(|_| scenario.schemes.iter().find(|scheme| has_gateway(scheme)));
    scheme.map_or(Ok(()), |scheme| {
        let problem = format!(
            "gateways between which clients roam load BPF programs, which requires root, and {:?} has gateways: use sudo, or --schemes none",
            scheme.label
        );
        Err(TrialError::unsuitable("schemes", problem))
    })
}

/// Checks that the simulator has every congestion control.
pub fn check_simulator(scenario: &Scenario) -> Result<(), TrialError> {
    let missing = missing_control(scenario, |name| simulated(name).is_some());
    let known = || all_simulated().join(", ");
    missing.map_or(Ok(()), |(name, row)| Err(TrialError::NoPrediction { name, row, known: known() }))
}

/// The first missing congestion control, and the row that requires it, if it is the row's own.
fn missing_control(scenario: &Scenario, is_there: impl Fn(&str) -> bool) -> Option<(String, Option<String>)> {
    cases(scenario).iter().find_map(|case| {
        let missing = case.congestion().find(|name| !is_there(name))?;
        let row = has_own_control(&scenario.schemes[case.scheme_index]).then(|| case.scheme.clone());
        Some((missing.clone(), row))
    })
}

fn check_sessions(scenario: &Scenario) -> Result<(), TrialError> {
    let real = scenario.sessions.iter().filter(|session| !scenario.is_background_session(session)).count();
    if real > MAX_SESSIONS {
        return Err(TrialError::unsuitable(
            "sessions",
            format!(
                "{real} sessions run between real hosts; expected at most {MAX_SESSIONS}: leave some out, or list both of their ends in try.simulated"
            ),
        ));
    }
    Ok(())
}

fn check_flows(scenario: &Scenario) -> Result<(), TrialError> {
    for flow in &scenario.flows {
        if flow.tcp().is_none() || !matches!(flow.application, Application::Bulk(_)) {
            let problem = "not a bulk transfer over TCP, the only kind of flow that runs between real hosts; leave it out, choose \
                           others with --flows, or use a session";
            return Err(TrialError::unsuitable(format!("flows.{}", flow.name), problem));
        }
    }
    if !scenario.trial.together {
        return Ok(());
    }
    let (flows, controls) = (real_flows(scenario).count(), scenario.trial.congestion.len());
    if flows > MAX_FLOWS_TOGETHER {
        return Err(TrialError::unsuitable(
            "flows",
            format!(
                "{flows} flows run together; expected at most {MAX_FLOWS_TOGETHER}: choose some with --flows"
            ),
        ));
    }
    if controls > 1 && controls != flows {
        return Err(TrialError::unsuitable(
            "try.congestion",
            format!(
                "{controls} congestion controls for {} that run together; expected one for all, one per flow in the order of the flows, or none; with none, each flow uses that of its own table tcp",
                counted(flows as u64, "flow")
            ),
        ));
    }
    Ok(())
}

/// Refuses a trial without anything between real hosts, and hosts between which there are simulated nodes.
fn check_ways(scenario: &Scenario) -> Result<(), TrialError> {
    let of_flows = real_flows(scenario).map(|index| &scenario.flows[index]);
    let of_flows = of_flows.map(|flow| (format!("flows.{}", flow.name), flow.from, flow.to));
    let of_sessions = scenario.sessions.iter().filter(|session| !scenario.is_background_session(session));
    let of_sessions =
        of_sessions.map(|session| (format!("sessions.{}", session.name), session.client, session.server));
    let all: Vec<(String, usize, usize)> = of_flows.chain(of_sessions).collect();
    if all.is_empty() {
        let problem = "no flow or session is between real hosts; expected at least one";
        return Err(TrialError::unsuitable("try.simulated", problem));
    }
    if Lan::of(scenario).is_some() {
        return Ok(());
    }
    match all.into_iter().find(|(_, from, to)| !super::site::are_joined(scenario, *from, *to)) {
        None => Ok(()),
        Some((key, ..)) => {
            let problem =
                "no way leads over real hosts only; expected no node of try.simulated between its ends";
            Err(TrialError::unsuitable(key, problem))
        }
    }
}

/// Refuses a change that is after the end of every run, and a crash that is after that of some.
fn check_changes(scenario: &Scenario) -> Result<(), TrialError> {
    let ends = || cases(scenario).into_iter().map(|case| case.times(scenario).end);
    if let Some((crash, end)) = scenario.trial.gateway_crash.zip(ends().min()).filter(|(at, end)| at >= end) {
        let [crash, end] = [crash, end].map(format_duration);
        let problem =
            format!("gateways crash at {crash}, and a run ends at {end}; expected a time before that");
        return Err(TrialError::unsuitable("try.gateway-crash", problem));
    }
    let Some(end) = ends().max() else { return Ok(()) };
    let times = scenario.changes.iter().map(|change| change.at);
    match times.chain(scenario.intervals.iter().map(|interval| interval.first)).find(|at| *at >= end) {
        None => Ok(()),
        Some(late) => Err(TrialError::unsuitable(
            "changes",
            format!(
                "a change at {}: every run ends at {}, `try.duration` after its last flow's start; expected a time before that",
                format_duration(late),
                format_duration(end)
            ),
        )),
    }
}

/// The congestion controls that the kernel has now.
pub(super) fn available_congestion_controls() -> io::Result<Vec<String>> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}
