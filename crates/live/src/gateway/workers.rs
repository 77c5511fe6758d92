//! The packet loops of a gateway, each on a thread with ports of its own. Which one has a client's
//! packets: [`crate::io::steering`].

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use tracing::{error, warn};

use super::config::{Backend, Config};
use super::engine::SavedConnection;
use super::error::GatewayError;
use super::handover;
use super::notify::Notifier;
use super::packet_loop::{LoopReport, PacketLoop, Request};
use super::plan::Plan;
use super::ports::OpenPorts;
use super::requests::{Mailbox, Requests};
use crate::clock;
use crate::io::steering::worker_of;
use crate::io::{PacketIo, Port};
use crate::realtime;

/// Workers whose threads are there, and wait for the word to begin.
pub(super) struct Ready {
    pub(super) requests: Requests,
    /// The ports; each worker's are the same.
    pub(super) ports: Vec<Port>,
    pub(super) backend: Backend,
}

/// Runs the workers, the first on the calling thread, until all have ended; when one ends, all do.
/// Once all threads are there `begin` is told, and says whether they shall begin. After an error it
/// is not called, and nothing is left.
pub(super) fn run(
    open: OpenPorts,
    config: &Config,
    owns_process: bool,
    begin: impl FnOnce(Ready) -> bool,
) -> Result<LoopReport, GatewayError> {
    let OpenPorts { workers, backend, notes } = open;
    let ports = workers.first().map(|io| io.ports().to_vec()).unwrap_or_default();
    let (requests, workers) = recruit(workers, config, owns_process);
    let count = workers.len();
    let realtime = config.realtime;
    thread::scope(|scope| {
        let (mut workers, mut gates, mut threads) = (workers.into_iter(), Vec::new(), Vec::new());
        let first = workers.next().ok_or(GatewayError::Ended)?;
        for (worker, index) in workers.zip(1..) {
            let (gate, word) = channel();
            let requests = requests.clone();
            let thread = thread::Builder::new().name(format!("packets {index}"));
            let thread = thread.spawn_scoped(scope, move || {
                let connections = word.recv().ok()?;
                Some(worker.run(connections, Vec::new(), realtime, requests))
            });
            threads.push(thread.map_err(GatewayError::Thread)?);
            gates.push(gate);
        }
        if !begin(Ready { requests: requests.clone(), ports: ports.clone(), backend }) {
            return Err(GatewayError::Ended);
        }
        let state = config.control.as_deref().map(handover::file_of);
        let mut shares = vec![Vec::new(); count];
        for connection in state.as_deref().map(|state| predecessors(state, &ports)).unwrap_or_default() {
            shares[worker_of(connection.client(), count)].push(connection);
        }
        let mut shares = shares.into_iter();
        let first_share = shares.next().unwrap_or_default();
        for (gate, share) in gates.into_iter().zip(shares) {
            // One that is gone says why when it is waited for.
            let _ = gate.send(share);
        }
        let first = first.run(first_share, notes, realtime, requests);
        let others = threads
            .into_iter()
            .filter_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let mut ended: Vec<Ended> = [first].into_iter().chain(others).collect();
        let connections: Vec<SavedConnection> =
            ended.iter_mut().flat_map(|ended| std::mem::take(&mut ended.connections)).collect();
        // As long as we have the ports no other gateway looks for it.
        if let Some(state) = state.filter(|_| !connections.is_empty())
            && let Err(why) = handover::leave(&state, &ports, connections, clock::now())
        {
            warn!(file = %state.display(), %why, "no state is left to the next gateway");
        }
        let (reports, outcomes): (Vec<_>, Vec<_>) =
            ended.into_iter().map(|ended| (ended.report, ended.outcome)).unzip();
        match outcomes.into_iter().collect::<io::Result<()>>() {
            Ok(()) => Ok(LoopReport::of_all(reports)),
            Err(error) => {
                error!(%error, "the ports broke");
                Err(GatewayError::Broken(error))
            }
        }
    })
}

/// Gives each worker its ports, its share of the plan, and somebody to hear.
fn recruit(
    ports: Vec<Box<dyn PacketIo + Send>>,
    config: &Config,
    owns_process: bool,
) -> (Requests, Vec<Worker>) {
    let mut notifier = if owns_process { Notifier::from_environment() } else { Notifier::default() };
    let others: Vec<Notifier> = ports.iter().skip(1).map(|_| notifier.for_another(clock::now())).collect();
    let notifiers = [notifier].into_iter().chain(others);
    let count = ports.len();
    let recruits = ports.into_iter().zip(notifiers).enumerate().map(|(worker, (io, notifier))| {
        let (to, requests) = channel();
        let plan = config.plan.share(worker, count);
        (Mailbox { to, wake: io.waker() }, Worker { io, plan, requests, notifier })
    });
    let (mailboxes, workers) = recruits.unzip();
    (Requests::new(mailboxes), workers)
}

/// What the gateway before this one has left.
fn predecessors(state: &std::path::Path, ports: &[Port]) -> Vec<SavedConnection> {
    handover::take(state, ports, clock::now()).unwrap_or_else(|why| {
        warn!(file = %state.display(), %why, "the state of the gateway before this one is not used");
        Vec::new()
    })
}

/// A packet loop before it begins.
struct Worker {
    io: Box<dyn PacketIo + Send>,
    plan: Plan,
    requests: Receiver<Request>,
    notifier: Notifier,
}

/// A packet loop after its end. Its ports are still open.
struct Ended {
    report: LoopReport,
    connections: Vec<SavedConnection>,
    outcome: io::Result<()>,
    _io: Box<dyn PacketIo + Send>,
}

impl Worker {
    /// Runs on the calling thread; at the end, in whatever way, the others are told to end, too.
    fn run(
        self,
        connections: Vec<SavedConnection>,
        mut notes: Vec<String>,
        realtime: bool,
        all: Requests,
    ) -> Ended {
        let _end = StopAll(all);
        notes.extend(be_on_time(realtime));
        let Self { mut io, plan, requests, notifier } = self;
        let mut packets = PacketLoop::new(io.as_mut(), &plan, requests, notifier, notes);
        packets.go_on_with(&connections);
        drop(connections);
        let (report, connections, outcome) = packets.run();
        Ended { report, connections, outcome, _io: io }
    }
}

/// Stops all loops when it is dropped.
struct StopAll(Requests);

impl Drop for StopAll {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Has the calling thread go before others, if that is wanted; returns what the kernel did not
/// grant.
fn be_on_time(realtime: bool) -> Vec<String> {
    if !realtime {
        return Vec::new();
    }
    realtime::no_timer_slack();
    let refusals = realtime::ask_for_it();
    for refusal in &refusals {
        warn!("{refusal}");
    }
    refusals
}
