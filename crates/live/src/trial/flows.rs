//! The flows of a run between real hosts, each from its start on.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{FlowModel, Scenario};
use lasthop_schemes::Role;

use super::error::TrialError;
use super::latency::{self, RoundTrips};
use super::plan::{Case, CaseFlow};
use super::program::Program;
use super::site::Site;
use super::transfer::{Transfer, Transferred, pause};
use crate::clock;

/// Where the host that does not open the first flow's connection listens; the others' follow.
const PORT: u16 = 5001;
/// Between two looks at what the user wants.
const LOOK: Duration = Duration::from_millis(50);

/// How to run a case.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// How often to look at each sender; never if `None`.
    pub sample_every: Option<Duration>,
    /// Set when the user wants it to end early.
    pub stop: &'a AtomicBool,
    /// Programs that run in place of the schemes of the same labels.
    pub programs: &'a [Program],
}

/// Runs all flows of a case; `zero` is when its emulator began. Also says what a small packet feels
/// beside the first.
pub(super) fn transfer_all(
    scenario: &Scenario,
    case: &Case,
    site: &Site,
    zero: Instant,
    options: Options<'_>,
) -> Result<(Vec<Transferred>, RoundTrips), TrialError> {
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
    let failed =
        |flow: &CaseFlow, error| TrialError::Transfer { what: format!("flow {:?}", flow.name), error };
    let first = &scenario.flows[case.flows[0].index];
    // From the wired side to the wireless: through the same queue as a download.
    let (near, far) =
        if opens_at_the_receiver(scenario, first) { (first.from, first.to) } else { (first.to, first.from) };
    let all = || {
        thread::scope(|scope| {
            let threads = transfers.iter().map(|(start, transfer)| {
                scope.spawn(|| {
                    wait_until(*start, options.stop);
                    transfer.run()
                })
            });
            let threads: Vec<_> = threads.collect();
            let join = |thread: thread::ScopedJoinHandle<'_, io::Result<Transferred>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect::<Vec<_>>()
        })
    };
    let (transferred, round_trips) = latency::beside(&site.hosts[near], host(far), all)
        .map_err(|error| TrialError::Transfer { what: "the latency probe".to_owned(), error })?;
    let of_flows = case.flows.iter().zip(transferred);
    let transferred = of_flows.map(|(flow, result)| result.map_err(|error| failed(flow, error)));
    Ok((transferred.collect::<Result<_, _>>()?, round_trips))
}

/// Lets what is simulated, or starts earlier, go first.
pub(super) fn wait_until(begin: Instant, stop: &AtomicBool) {
    while clock::now() < begin && !stop.load(Ordering::Relaxed) {
        pause(begin.since(clock::now()).min(LOOK));
    }
}

/// A host behind a wireless hop opens its connections itself: what it receives is a download.
fn opens_at_the_receiver(scenario: &Scenario, flow: &FlowModel) -> bool {
    scenario.role(flow.to) == Role::MobileHost && scenario.role(flow.from) != Role::MobileHost
}
