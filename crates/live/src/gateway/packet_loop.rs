//! The loop that packets go round: ports, engine, ports.

use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use lasthop_packet::{FlowKey, Instant};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use tracing::{debug, info};

use super::engine::{Engine, EngineReport, FlowReport, Outgoing};
use super::notify::Notifier;
use super::plan::Plan;
use crate::clock;
use crate::io::{PacketIo, PortId, Sent};

/// What others may ask of the packet loop. It answers within one turn, which takes 20 ms at most where nothing goes on.
#[derive(Debug)]
pub enum Request {
    /// How is it?
    Report(Sender<LoopReport>),
    /// Which connections are there, at most so many?
    Flows(usize, Sender<Vec<FlowReport>>),
    /// Follow another plan.
    Reload(Box<Plan>, Sender<()>),
    /// Have the agents send on what they hold; then pass everything on untouched, until the next reload.
    Drain(Sender<EngineReport>),
    /// Set a connection aside. Is there one?
    Aside(FlowKey, Sender<bool>),
    /// Drain, and end.
    Stop,
}

/// What the loop tells about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoopReport {
    /// Seconds since it started.
    pub uptime_s: f64,
    /// Seconds of processor time that it has used.
    pub cpu_s: f64,
    /// Turns; each that had frames had at most some tens.
    pub turns: u64,
    /// Frames given to the kernel.
    pub sent: u64,
    /// Frames that the kernel had no room for.
    pub lost: u64,
    /// The longest turn but for waiting, in seconds: above 0.06, frames went past us meanwhile.
    pub longest_turn_s: f64,
    /// The engine.
    pub engine: EngineReport,
}

/// The loop that packets go round, on one thread.
pub struct PacketLoop<'a> {
    io: &'a mut dyn PacketIo,
    engine: Engine,
    requests: Receiver<Request>,
    notifier: Notifier,
    frames: Vec<(PortId, crate::frame::Frame)>,
    out: Outgoing,
    started: Instant,
    longest_turn: Duration,
    report: LoopReport,
}

impl<'a> PacketLoop<'a> {
    /// A loop over these ports. It ends when a request says so, or when nobody is left to send one.
    pub fn new(
        io: &'a mut dyn PacketIo,
        plan: &Plan,
        requests: Receiver<Request>,
        notifier: Notifier,
    ) -> Self {
        let engine = Engine::new(io.ports(), plan);
        Self {
            io,
            engine,
            requests,
            notifier,
            frames: Vec::new(),
            out: Outgoing::default(),
            started: clock::now(),
            longest_turn: Duration::ZERO,
            report: LoopReport::default(),
        }
    }

    /// Runs until it is stopped. Whatever ends it, the agents send on what they hold. Returns the last report.
    pub fn run(mut self) -> (LoopReport, io::Result<()>) {
        self.io.heartbeat(clock::now());
        self.notifier.ready("packets go round");
        let outcome = loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.notifier.stopping();
        let now = clock::now();
        self.engine.drain(now, &mut self.out);
        let flushed = self.flush();
        let report = self.make_report(now);
        info!(sent = report.sent, lost = report.lost, held = report.engine.held, "drained");
        (report, outcome.and(flushed))
    }

    /// `false` if it is to end.
    fn turn(&mut self) -> io::Result<bool> {
        let now = clock::now();
        self.io.heartbeat(now);
        self.notifier.alive(now);
        self.report.turns += 1;
        self.io.receive(&mut self.frames)?;
        let was_idle = self.frames.is_empty();
        self.engine.foresee(&self.frames);
        for (port, frame) in self.frames.drain(..) {
            self.engine.on_frame(port, frame, now, &mut self.out);
        }
        if self.engine.deadline().is_some_and(|deadline| deadline <= now) {
            self.engine.on_deadline(now, &mut self.out);
        }
        let goes_on = self.answer(now);
        self.flush()?;
        self.longest_turn = self.longest_turn.max(clock::now().since(now));
        if goes_on && was_idle {
            self.io.wait(self.engine.deadline())?;
        }
        Ok(goes_on)
    }

    fn flush(&mut self) -> io::Result<()> {
        for (port, frame) in self.out.frames.drain(..) {
            match self.io.send(port, &frame)? {
                Sent::Whole => self.report.sent += 1,
                Sent::Lost => self.report.lost += 1,
            }
        }
        for flow in self.out.set_aside.drain(..) {
            debug!(from = ?flow.source, to = ?flow.destination, "set aside");
            self.io.set_aside(flow);
        }
        Ok(())
    }

    /// Answers what was asked. `false` if it is to end. Somebody who does not wait for the answer does not get it.
    fn answer(&mut self, now: Instant) -> bool {
        loop {
            match self.requests.try_recv() {
                Ok(Request::Report(to)) => drop(to.send(self.make_report(now))),
                Ok(Request::Flows(most, to)) => drop(to.send(self.engine.flows(most, now))),
                Ok(Request::Reload(plan, to)) => {
                    self.notifier.reloading(now);
                    self.engine.reload(&plan, now, &mut self.out);
                    self.notifier.ready("packets go round by a new plan");
                    let _ = to.send(());
                }
                Ok(Request::Drain(to)) => {
                    self.engine.drain(now, &mut self.out);
                    let _ = to.send(self.engine.report());
                }
                Ok(Request::Aside(flow, to)) => {
                    let _ = to.send(self.engine.set_aside(flow, now, &mut self.out));
                }
                Ok(Request::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn make_report(&self, now: Instant) -> LoopReport {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        LoopReport {
            uptime_s: now.since(self.started).as_secs_f64(),
            cpu_s: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            longest_turn_s: self.longest_turn.as_secs_f64(),
            engine: self.engine.report(),
            ..self.report.clone()
        }
    }
}
