//! The packet loops of a gateway, each on a thread with ports of its own. For the assignment of
//! clients to loops see [`crate::io::steering`].

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
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
use super::requests::{Mailbox, Requests, StopAtEnd};
use crate::io::steering::worker_of;
use crate::io::{PacketIo, Port};
use lasthop_linux::clock;
use lasthop_linux::realtime;

/// Workers whose threads exist, and wait for the signal to start.
pub(super) struct Ready {
    pub(super) requests: Requests,
    /// The ports, which are the same for each worker.
    pub(super) ports: Vec<Port>,
    pub(super) backend: Backend,
}

/// Runs the workers, the first on the calling thread, until all have ended; when one ends, all do.
/// `begin` is called once all threads exist, and returns whether the loops are to start. If a
/// thread cannot be started, `begin` is not called, and all ports are closed.
pub(super) fn run(
    open: OpenPorts,
    config: &Config,
    notifier: Notifier,
    begin: impl FnOnce(Ready) -> bool,
) -> Result<LoopReport, GatewayError> {
    let OpenPorts { workers, backend, notes } = open;
    let ports = workers.first().map(|io| io.ports().to_vec()).unwrap_or_default();
    let (requests, workers) = prepare(workers, config, notifier);
    let count = workers.len();
    let realtime = config.realtime;
    thread::scope(|scope| {
        let (mut workers, mut gates, mut threads) = (workers.into_iter(), Vec::new(), Vec::new());
        let first = workers.next().ok_or(GatewayError::Ended)?;
        for (worker, index) in workers.zip(1..) {
            let (gate, start) = channel();
            let requests = requests.clone();
            let thread = thread::Builder::new().name(format!("packets {index}"));
            let thread = thread.spawn_scoped(scope, move || {
                let connections = start.recv().ok()?;
                // The kernel refuses the same requests of the first thread, which reports them.
                request_realtime(realtime);
                // The ports are closed at once: otherwise their frames would wait for the other
                // workers.
                Some(worker.run(connections, LoopReport { realtime, ..LoopReport::default() }, requests).0)
            });
            threads.push(thread.map_err(GatewayError::Thread)?);
            gates.push(gate);
        }
        if !begin(Ready { requests: requests.clone(), ports: ports.clone(), backend }) {
            return Err(GatewayError::Ended);
        }
        let state = config.control.as_deref().map(handover::file_of);
        let mut shares = predecessors(state.as_deref(), &ports, count).into_iter();
        let first_share = shares.next().unwrap_or_default();
        for (gate, share) in gates.into_iter().zip(shares) {
            // If the thread has ended, joining it returns the reason.
            let _ = gate.send(share);
        }
        let refusals = request_realtime(realtime);
        for refusal in &refusals {
            warn!("{refusal}");
        }
        let notes = [notes, refusals].concat();
        let known = LoopReport { realtime, notes, ..LoopReport::default() };
        let first = catch_unwind(AssertUnwindSafe(|| first.run(first_share, known, requests)));
        let (first, io) = first.map_or_else(|panic| (Err(panic), None), |(ended, io)| (Ok(ended), Some(io)));
        let others = threads.into_iter().filter_map(|thread| thread.join().transpose());
        let ended = [first].into_iter().chain(others).collect();
        let outcome = finish(ended, state.as_deref(), &ports);
        // Until here the ports are claimed, so that no other gateway reads the state file too
        // early.
        drop(io);
        outcome
    })
}

/// Saves the connections of all loops that did not panic for the next gateway, and merges the
/// loops' reports.
fn finish(
    ended: Vec<thread::Result<Ended>>,
    state: Option<&Path>,
    ports: &[Port],
) -> Result<LoopReport, GatewayError> {
    let (mut reports, mut connections, mut outcome, mut panic) = (Vec::new(), Vec::new(), Ok(()), None);
    for loop_end in ended {
        match loop_end {
            Ok(ended) => {
                reports.push(ended.report);
                connections.extend(ended.connections);
                outcome = outcome.and(ended.outcome);
            }
            Err(payload) => panic = Some(payload),
        }
    }
    if let Some(state) = state.filter(|_| !connections.is_empty())
        && let Err(why) = handover::save(state, ports, connections, clock::now())
    {
        warn!(file = %state.display(), %why, "no state was saved for the next gateway");
    }
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
    match outcome {
        Ok(()) => Ok(LoopReport::from_reports(reports)),
        Err(error) => {
            error!(%error, "packet I/O failed");
            Err(GatewayError::Broken(error))
        }
    }
}

/// Creates the workers, each with its ports, its share of the plan, and a mailbox.
fn prepare(
    ports: Vec<Box<dyn PacketIo + Send>>,
    config: &Config,
    mut notifier: Notifier,
) -> (Requests, Vec<Worker>) {
    let others: Vec<Notifier> = ports.iter().skip(1).map(|_| notifier.for_another(clock::now())).collect();
    let notifiers = [notifier].into_iter().chain(others);
    let count = ports.len();
    let workers = ports.into_iter().zip(notifiers).enumerate().map(|(worker, (io, notifier))| {
        let (to, requests) = channel();
        let plan = config.plan.share(worker, count);
        (Mailbox { to, wake: io.waker() }, Worker { io, plan, requests, notifier })
    });
    let (mailboxes, workers) = workers.unzip();
    (Requests::new(mailboxes), workers)
}

/// The connections saved by the previous gateway, divided among the workers.
fn predecessors(state: Option<&Path>, ports: &[Port], workers: usize) -> Vec<Vec<SavedConnection>> {
    let load = |state: &Path| {
        handover::load(state, ports, clock::now()).unwrap_or_else(|why| {
            warn!(file = %state.display(), %why, "the state of the previous gateway is not used");
            Vec::new()
        })
    };
    let mut shares = vec![Vec::new(); workers];
    for connection in state.map(load).unwrap_or_default() {
        shares[worker_of(connection.client(), workers)].push(connection);
    }
    shares
}

/// A packet loop before its start.
struct Worker {
    io: Box<dyn PacketIo + Send>,
    plan: Plan,
    requests: Receiver<Request>,
    notifier: Notifier,
}

/// The results of a packet loop that has ended.
struct Ended {
    report: LoopReport,
    connections: Vec<SavedConnection>,
    outcome: io::Result<()>,
}

impl Worker {
    /// Runs the loop on the calling thread, and returns the ports, still open. When the loop ends,
    /// even by a panic, the other loops are stopped.
    fn run(
        self,
        connections: Vec<SavedConnection>,
        known: LoopReport,
        all: Requests,
    ) -> (Ended, Box<dyn PacketIo + Send>) {
        let _end = StopAtEnd(all);
        let Self { mut io, plan, requests, notifier } = self;
        let mut packets = PacketLoop::new(io.as_mut(), &plan, requests, notifier, known);
        packets.resume(&connections);
        drop(connections);
        let (report, connections, outcome) = packets.run();
        (Ended { report, connections, outcome }, io)
    }
}

/// Requests real-time scheduling for the calling thread, if configured. Returns the requests that
/// the kernel refused.
fn request_realtime(realtime: bool) -> Vec<String> {
    if !realtime {
        return Vec::new();
    }
    realtime::no_timer_slack();
    realtime::ask_for_it()
}
