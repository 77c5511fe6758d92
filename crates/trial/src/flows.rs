//! Runs the flows of a case between real hosts, and its sessions beside them.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::thread;

use lasthop_packet::Instant;
use lasthop_scenario::{FlowModel, Scenario};
use lasthop_schemes::Role;
use lasthop_sim::SessionOutcome;
use serde::{Deserialize, Serialize};

use super::error::TrialError;
use super::latency::{self, Echo, Probe, RoundTrips};
use super::options::Options;
use super::plan::{Case, CaseFlow};
use super::session::{SessionFigures, SessionMeasured};
use super::sessions::{self, Conversation};
use super::site::Site;
use super::socket;
use super::transfer::{End, Halves, Transfer, Transferred};
use super::wait;
use lasthop_linux::processor::KeptWaiting;

/// The listening port of the first flow's connection; those of the others follow.
const PORT: u16 = 5001;

/// The results of a run.
#[derive(Clone, Debug)]
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

/// The part of the results that hosts on one kernel have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunPart {
    /// Of each flow of the case, the ends that are here.
    flows: Vec<Halves>,
    /// The results of each session of the case; `None` if its hosts are elsewhere.
    sessions: Vec<Option<SessionMeasured>>,
    /// Those of the latency probe, if its asking host is here.
    round_trips: Option<RoundTrips>,
    /// The waits for a processor of the session's thread that waited longest.
    kept_waiting: Option<KeptWaiting>,
}

/// Sockets of hosts here that hosts elsewhere send to. They exist before the model's time begins, because packets may arrive
/// at once.
pub(super) struct Listening {
    /// For each flow, the socket on which the host here listens to the one elsewhere.
    flows: Vec<Option<TcpListener>>,
    /// The socket that answers the latency probe of a host elsewhere.
    echo: Option<UdpSocket>,
}

impl Listening {
    /// Opens the sockets.
    pub(super) fn open(scenario: &Scenario, case: &Case, site: &Site) -> Result<Self, TrialError> {
        let listener = |(place, flow): (usize, &CaseFlow)| {
            let Connection { opens, listens, address } = Connection::of(scenario, site, flow, place);
            let host = site.host(listens).filter(|_| site.host(opens).is_none());
            host.map(|host| socket::listen(host, address, &flow.congestion)).transpose()
        };
        let flows = case.flows.iter().enumerate().map(listener).collect();
        let flows = named(flows, "flow", case.flows.iter().map(|flow| &flow.name))?;
        let (near, far) = ends_of_first(scenario, case);
        let echo = site.host(far).filter(|_| site.host(near).is_none());
        let echo = echo.map(|host| latency::echo(host, site.address(far)));
        Ok(Self { flows, echo: echo.transpose().map_err(of_probe)? })
    }
}

/// Waits until the flows and sessions of all parts are over. A host forwards packets until then.
pub(super) type AllOver<'a> = &'a (dyn Fn() -> io::Result<()> + Sync);

/// How the hosts of a flow are connected.
struct Connection {
    /// The node that opens the connection.
    opens: usize,
    /// The other one.
    listens: usize,
    /// Where that listens.
    address: SocketAddr,
}

impl Connection {
    /// That of a flow in this place.
    fn of(scenario: &Scenario, site: &Site, flow: &CaseFlow, place: usize) -> Self {
        let model = &scenario.flows[flow.index];
        let (opens, listens) = if opens_at_the_receiver(scenario, model) {
            (model.to, model.from)
        } else {
            (model.from, model.to)
        };
        // A plan has few flows.
        Self { opens, listens, address: SocketAddr::new(site.address(listens), PORT + place as u16) }
    }
}

fn of_probe(error: io::Error) -> TrialError {
    TrialError::Transfer { what: "the latency probe".to_owned(), error }
}

/// Runs the ends of a case's flows, and its sessions, whose hosts are here; `zero` is the start of its emulator. Hosts
/// elsewhere have theirs until `all_over`.
pub(super) fn run_all(
    (scenario, case): (&Scenario, &Case),
    site: &Site,
    listening: &Listening,
    (zero, all_over): (Instant, AllOver<'_>),
    options: Options<'_>,
) -> Result<RunPart, TrialError> {
    let transfers = transfers((scenario, case), site, listening, zero, options);
    let conversations: Vec<Option<Conversation<'_>>> =
        sessions::of_case(scenario, case, site, zero, options.stop).collect();
    let all = || {
        let results = thread::scope(|scope| {
            let transfers = transfers.iter().map(|(start, transfer)| {
                scope.spawn(|| {
                    wait::until(*start, options.stop);
                    transfer.run()
                })
            });
            let transfers: Vec<_> = transfers.collect();
            let conversations = conversations.into_iter().map(|session| {
                session.map(|session| scope.spawn(move || KeptWaiting::during(|| session.run())))
            });
            let conversations: Vec<_> = conversations.collect();
            let flows: Vec<io::Result<Halves>> = transfers.into_iter().map(join_thread).collect();
            (flows, conversations.into_iter().map(|session| session.map(join_thread)).collect::<Vec<_>>())
        });
        (results, all_over())
    };
    let (near, far) = ends_of_first(scenario, case);
    let echo = listening.echo.as_ref().map(Echo::With).or_else(|| site.host(far).map(Echo::On));
    let probe = Probe { from: site.host(near), to: site.address(far), echo };
    let (((flows, sessions), is_over), round_trips) = latency::beside(probe, all).map_err(of_probe)?;
    let (sessions, of_sessions): (Vec<_>, Vec<_>) = sessions.into_iter().map(Option::unzip).unzip();
    let flows = named(flows, "flow", case.flows.iter().map(|flow| &flow.name))?;
    is_over.map_err(|error| TrialError::Transfer { what: "the end of the run".to_owned(), error })?;
    Ok(RunPart {
        flows,
        sessions: measured(scenario, case, sessions)?,
        round_trips,
        kept_waiting: longest(of_sessions.into_iter().flatten().flatten()),
    })
}

/// The ends that are here of a case's flows, and the time at which each starts.
fn transfers<'a>(
    (scenario, case): (&Scenario, &Case),
    site: &'a Site,
    listening: &'a Listening,
    zero: Instant,
    options: Options<'a>,
) -> Vec<(Instant, Transfer<'a>)> {
    let times = case.times(scenario);
    let flows = case.flows.iter().zip(&listening.flows).enumerate().map(|(place, (flow, listener))| {
        let model = &scenario.flows[flow.index];
        let Connection { opens, listens, address } = Connection::of(scenario, site, flow, place);
        let listening = listener.as_ref().map(End::Accepts);
        let listening = listening.or_else(|| site.host(listens).map(End::Listens));
        let opening = site.host(opens).map(End::Opens);
        let (sender, receiver) = if opens == model.to { (listening, opening) } else { (opening, listening) };
        let transfer = Transfer {
            sender,
            receiver,
            address,
            congestion: flow.congestion.clone(),
            size: model.size(),
            zero,
            settled: zero + times.settled,
            end: zero + times.end,
            sample_every: options.sample_every,
            stop: options.stop,
        };
        (zero + model.start, transfer)
    });
    flows.collect()
}

/// The results of a case from what hosts on all kernels have.
pub(super) fn join(scenario: &Scenario, case: &Case, parts: Vec<RunPart>) -> Result<RunResults, TrialError> {
    let missing = |what: &str, name: &String| {
        let error = io::Error::other("the hosts have not reported both of its ends");
        TrialError::Transfer { what: format!("{what} {name:?}"), error }
    };
    let mut flows = vec![Halves::default(); case.flows.len()];
    let mut sessions = vec![None; case.sessions.len()];
    let (mut round_trips, mut waits) = (None, Vec::new());
    for part in parts {
        for (flow, more) in flows.iter_mut().zip(part.flows) {
            *flow = std::mem::take(flow).and(more);
        }
        for (session, more) in sessions.iter_mut().zip(part.sessions) {
            *session = session.take().or(more);
        }
        round_trips = round_trips.or(part.round_trips);
        waits.extend(part.kept_waiting);
    }
    let flows = case.flows.iter().zip(flows).map(|(flow, halves)| {
        let size = scenario.flows[flow.index].size();
        halves.join(size).ok_or_else(|| missing("flow", &flow.name))
    });
    let flows = flows.collect::<Result<Vec<_>, _>>()?;
    let sessions = case.sessions.iter().zip(sessions);
    let sessions =
        sessions.map(|(session, measured)| measured.ok_or_else(|| missing("session", &session.name)));
    let of_flows = flows.iter().filter_map(|flow| flow.kept_waiting);
    Ok(RunResults {
        sessions: sessions.collect::<Result<_, _>>()?,
        round_trips: round_trips.unwrap_or_default(),
        kept_waiting: longest(of_flows.chain(waits)),
        flows,
    })
}

/// The waits of the thread that waited longest each time.
fn longest(waits: impl Iterator<Item = KeptWaiting>) -> Option<KeptWaiting> {
    waits.max_by(|one, other| one.mean_s().total_cmp(&other.mean_s()))
}

/// The results of the sessions of a case.
fn measured(
    scenario: &Scenario,
    case: &Case,
    outcomes: Vec<Option<io::Result<SessionOutcome>>>,
) -> Result<Vec<Option<SessionMeasured>>, TrialError> {
    let outcomes = outcomes.into_iter().map(Option::transpose).collect();
    let outcomes = named(outcomes, "session", case.sessions.iter().map(|session| &session.name))?;
    let measured = case.sessions.iter().zip(&outcomes).map(|(of_case, outcome)| {
        outcome.as_ref().map(|outcome| SessionMeasured {
            figures: SessionFigures::new(scenario, &scenario.sessions[of_case.index], outcome),
            intact: outcome.intact,
        })
    });
    Ok(measured.collect())
}

/// The result of a thread. Panics if the thread has panicked.
fn join_thread<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lasthop_scenario::{Overrides, file};

    use super::*;
    use crate::plan;

    /// The part of hosts that have nothing to do with flows or sessions.
    fn of_routers(case: &Case) -> RunPart {
        RunPart {
            flows: vec![Halves::default(); case.flows.len()],
            sessions: vec![None; case.sessions.len()],
            round_trips: None,
            kept_waiting: Some(KeptWaiting { total_s: 1.0, times: 1 }),
        }
    }

    #[test]
    fn a_run_has_no_results_until_both_ends_of_each_flow_have_reported() {
        let text = include_str!("../../../scenarios/try.toml");
        let scenario = file::parse(text, "try.toml", Path::new(""), &Overrides::default()).expect("right");
        let case = plan::cases(&scenario).remove(0);
        let joined = join(&scenario, &case, vec![of_routers(&case), of_routers(&case)]);
        let error = joined.expect_err("no host has sent").to_string();
        assert!(error.contains("flow \"download\"") && error.contains("both of its ends"), "{error}");
    }

    #[test]
    fn the_longest_waits_of_all_hosts_are_those_of_the_run() {
        let wait = |total_s| KeptWaiting { total_s, times: 10 };
        assert_eq!(longest([wait(1.0), wait(3.0), wait(2.0)].into_iter()), Some(wait(3.0)));
        assert_eq!(longest([].into_iter()), None);
    }
}
