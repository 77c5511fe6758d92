//! Runs the flows of a case between real hosts, and its sessions beside them.

use std::io;
use std::thread;

use lasthop_packet::Instant;
use lasthop_scenario::{FlowModel, Scenario};
use lasthop_schemes::Role;
use lasthop_sim::SessionOutcome;
use serde::{Deserialize, Serialize};

use super::error::TrialError;
use super::latency::{self, RoundTrips};
use super::options::Options;
use super::plan::{Case, CaseFlow};
use super::session::{SessionFigures, SessionMeasured};
use super::sessions::{self, Conversation};
use super::site::Site;
use super::transfer::{Transfer, Transferred};
use super::wait;
use lasthop_linux::processor::KeptWaiting;

/// The listening port of the first flow's connection; those of the others follow.
const PORT: u16 = 5001;

/// The results of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunResults {
    /// The results of each flow of the case, in order.
    pub(super) flows: Vec<Transferred>,
    /// The results of each session of the case, in order.
    pub(super) sessions: Vec<SessionMeasured>,
    /// Round trips of small packets beside the first flow, or beside the first session.
    pub(super) round_trips: RoundTrips,
    /// The waits for a processor of the host thread that waited longest; `None` if the kernel does
    /// not report them.
    pub(super) kept_waiting: Option<KeptWaiting>,
}

/// Runs all flows and sessions of a case; `zero` is the start of its emulator.
pub(super) fn run_all(
    scenario: &Scenario,
    case: &Case,
    site: &Site,
    zero: Instant,
    options: Options<'_>,
) -> Result<RunResults, TrialError> {
    let times = case.times(scenario);
    let host = |node: usize| (&site.hosts[node], site.address(node));
    let transfer_of = |(place, flow): (usize, &CaseFlow)| {
        let model = &scenario.flows[flow.index];
        let transfer = Transfer {
            from: host(model.from),
            to: host(model.to),
            receiver_opens: opens_at_the_receiver(scenario, model),
            // A plan has few flows.
            port: PORT + place as u16,
            congestion: flow.congestion.clone(),
            size: model.size(),
            settled: zero + times.settled,
            end: zero + times.end,
            sample_every: options.sample_every,
            stop: options.stop,
        };
        (zero + model.start, transfer)
    };
    let transfers: Vec<(Instant, Transfer<'_>)> = case.flows.iter().enumerate().map(transfer_of).collect();
    let conversations: Vec<Conversation<'_>> =
        sessions::of_case(scenario, case, site, zero, options.stop).collect();
    let all = || {
        thread::scope(|scope| {
            let transfers = transfers.iter().map(|(start, transfer)| {
                scope.spawn(|| {
                    wait::until(*start, options.stop);
                    transfer.run()
                })
            });
            let transfers: Vec<_> = transfers.collect();
            let conversations = conversations
                .into_iter()
                .map(|session| scope.spawn(move || KeptWaiting::during(|| session.run())));
            let conversations: Vec<_> = conversations.collect();
            (transfers.into_iter().map(join).collect(), conversations.into_iter().map(join).collect())
        })
    };
    let (near, far) = ends_of_first(scenario, case);
    let ((flows, sessions), round_trips): ((Vec<io::Result<Transferred>>, Vec<_>), _) =
        latency::beside(&site.hosts[near], host(far), all)
            .map_err(|error| TrialError::Transfer { what: "the latency probe".to_owned(), error })?;
    let of_flows = flows.iter().filter_map(|flow| flow.as_ref().ok()?.kept_waiting);
    let (sessions, of_sessions): (Vec<_>, Vec<_>) = sessions.into_iter().unzip();
    let all = of_flows.chain(of_sessions.into_iter().flatten());
    let kept_waiting = all.max_by(|one, other| one.mean_s().total_cmp(&other.mean_s()));
    Ok(RunResults {
        kept_waiting,
        flows: named(flows, "flow", case.flows.iter().map(|flow| &flow.name))?,
        sessions: measured(scenario, case, sessions)?,
        round_trips,
    })
}

/// The results of the sessions of a case.
fn measured(
    scenario: &Scenario,
    case: &Case,
    outcomes: Vec<io::Result<SessionOutcome>>,
) -> Result<Vec<SessionMeasured>, TrialError> {
    let outcomes = named(outcomes, "session", case.sessions.iter().map(|session| &session.name))?;
    let measured = case.sessions.iter().zip(&outcomes).map(|(of_case, outcome)| SessionMeasured {
        figures: SessionFigures::new(scenario, &scenario.sessions[of_case.index], outcome),
        intact: outcome.intact,
    });
    Ok(measured.collect())
}

/// The result of a thread. Panics if the thread has panicked.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// All results, or the error with the name of the first that failed.
fn named<'a, T>(
    results: Vec<io::Result<T>>,
    what: &str,
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<T>, TrialError> {
    let failed = |name, error| TrialError::Transfer { what: format!("{what} {name:?}"), error };
    names.zip(results).map(|(name, result)| result.map_err(|error| failed(name, error))).collect()
}

/// The hosts of the first flow or session, the one on the wired side first, so that packets from
/// the first to the second pass the same queue as a download.
fn ends_of_first(scenario: &Scenario, case: &Case) -> (usize, usize) {
    let of_flow = case.flows.first().map(|flow| {
        let flow = &scenario.flows[flow.index];
        if opens_at_the_receiver(scenario, flow) { (flow.from, flow.to) } else { (flow.to, flow.from) }
    });
    let of_session = case.sessions.first().map(|session| {
        let session = &scenario.sessions[session.index];
        (session.server, session.client)
    });
    // A case has a flow or a session.
    of_flow.or(of_session).unwrap_or_default()
}

/// Whether the receiver opens the connection: a mobile host opens the connections of its downloads.
fn opens_at_the_receiver(scenario: &Scenario, flow: &FlowModel) -> bool {
    scenario.role(flow.to) == Role::MobileHost && scenario.role(flow.from) != Role::MobileHost
}
