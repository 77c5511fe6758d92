//! The packet loop: from the ports to the engine and back.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Instant};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tracing::{debug, info, warn};

use super::engine::{Engine, EngineReport, FlowPage, Outgoing, SavedConnection, Selected};
use super::link::{LinkInbox, LinkReport};
use super::notify::Notifier;
use super::plan::Plan;
use super::presence::{MISSED, Why};
use super::punctuality::{Punctuality, PunctualityReport};
use super::trouble::{Notice, Trouble};
use crate::frame::Frame;
use crate::io::{PacketIo, PortId, Sent, Wake};
use lasthop_linux::clock;

/// What others may ask of the packet loop. It answers in its next turn, for which it is woken; a
/// page of connections takes a turn of its own.
pub(super) enum Request {
    /// How is it?
    Report(Sender<LoopReport>),
    /// Which connections are there, from this place of the table on? Answered a page at a time, and
    /// one page a turn.
    Flows(usize, Sender<FlowPage>),
    /// Do you answer? Asked before a change of all loops.
    Ready(Sender<()>),
    /// Follow another plan.
    Reload(Box<Plan>, Sender<Selected>),
    /// Have the agents send on what they hold; then pass everything on untouched, until the next
    /// reload.
    Drain(Sender<EngineReport>),
    /// Set a connection aside. Is there one?
    Aside(FlowKey, Sender<bool>),
    /// Hear what a link layer has to tell. What calls the loop then?
    Hear(LinkInbox, Sender<Wake>),
    /// Drain, and end.
    Stop,
}

/// What the loop tells about itself. A client takes for zero or empty what an older gateway does
/// not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopReport {
    /// Seconds since it started.
    pub uptime_s: f64,
    /// Seconds of processor time that it has used.
    pub cpu_s: f64,
    /// Turns; each that had frames had a thousand of a port at most.
    pub turns: u64,
    /// Frames given to the kernel.
    pub sent: u64,
    /// Frames that the kernel had no room for.
    pub lost: u64,
    /// The longest turn but for waiting, in seconds: above 0.06, frames went past us meanwhile.
    pub longest_turn_s: f64,
    /// Whether it was there when it should have been.
    pub punctuality: PunctualityReport,
    /// What is wrong with the ports now; each a sentence.
    pub faults: Vec<String>,
    /// Whether real-time scheduling was asked for.
    pub realtime: bool,
    /// What the operator should know: what the kernel did not grant, what the backend does not do;
    /// each a sentence.
    pub notes: Vec<String>,
    /// One entry for each packet loop; all other fields are for all loops together.
    pub threads: Vec<ThreadReport>,
    /// What it heard of a link layer; `None` where no link layer tells it anything.
    pub link: Option<LinkReport>,
    /// The engine.
    pub engine: EngineReport,
}

/// What one packet loop did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadReport {
    /// Seconds of processor time that it has used.
    pub cpu_s: f64,
    /// Its connections.
    pub connections: usize,
}

/// Frames after which the loop says that it is alive in the middle of a turn: those behind wait for
/// it, and are not to pass what is in hand.
const BEAT_AFTER: usize = 64;

/// The packet loop, on one thread.
pub(super) struct PacketLoop<'a> {
    io: &'a mut dyn PacketIo,
    engine: Engine,
    requests: Receiver<Request>,
    link: Option<LinkInbox>,
    notifier: Notifier,
    frames: Vec<(PortId, Frame)>,
    out: Outgoing,
    started: Instant,
    longest_turn: Duration,
    punctuality: Punctuality,
    /// What the log was told of stepping out, and of faults that are no reason to.
    outs: Trouble,
    faults: Trouble,
    /// The latest time that the engine has been told.
    latest: Instant,
    /// Until when frames come here even without another heartbeat.
    is_in_until: Instant,
    /// When the loop last said that it is alive; where it is out, when its last turn began.
    heard: Instant,
    report: LoopReport,
}

impl<'a> PacketLoop<'a> {
    /// A loop over these ports, on this thread; `known` is what its report begins with. It ends when a
    /// request says so, or when nobody is left to send one.
    pub fn new(
        io: &'a mut dyn PacketIo,
        plan: &Plan,
        requests: Receiver<Request>,
        notifier: Notifier,
        known: LoopReport,
    ) -> Self {
        let engine = Engine::new(io.ports(), plan);
        let now = clock::now();
        let punctuality = Punctuality::new(now, io.can_step_out());
        Self {
            io,
            engine,
            requests,
            link: None,
            notifier,
            frames: Vec::new(),
            out: Outgoing::default(),
            started: now,
            longest_turn: Duration::ZERO,
            punctuality,
            outs: Trouble::default(),
            faults: Trouble::default(),
            latest: now,
            is_in_until: now + MISSED,
            heard: now,
            report: known,
        }
    }

    /// Goes on with the connections of a predecessor.
    pub fn resume(&mut self, connections: &[SavedConnection]) {
        let now = clock::now();
        let import = |connection| self.engine.import(connection, now, &mut self.out).err();
        let refusals: Vec<_> = connections.iter().filter_map(import).collect();
        let taken_over = connections.len() - refusals.len();
        if taken_over > 0 {
            info!(connections = taken_over, "resuming connections of the previous gateway");
        }
        if let Some(why) = refusals.first() {
            warn!(
                connections = refusals.len(),
                %why,
                "not all connections of the previous gateway were taken over"
            );
        }
        self.engine.on_return(now, &mut self.out);
    }

    /// Runs until it is stopped. Whatever ends it, the agents send on what they hold. Returns the
    /// last report, and what is left to a successor.
    pub fn run(mut self) -> (LoopReport, Vec<SavedConnection>, io::Result<()>) {
        self.io.heartbeat(clock::now());
        self.notifier.ready("running");
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
        let report = self.make_report(now);
        let saved = self.engine.export(now, &mut self.out);
        let flushed = self.flush();
        let report = LoopReport { sent: self.report.sent, lost: self.report.lost, ..report };
        info!(
            sent = report.sent,
            lost = report.lost,
            held = report.engine.held,
            owed_connections = report.engine.owed_connections,
            octets_at_risk = report.engine.octets_at_risk,
            thread = thread::current().name(),
            "drained"
        );
        (report, saved, outcome.and(flushed))
    }

    /// `false` if it is to end.
    fn turn(&mut self) -> io::Result<bool> {
        let now = clock::now();
        let ports_work = self.look_at_ports(now);
        // One that is late does not step out while agents owe something: they take on nothing more
        // until then. Where ports lose frames, nothing is paid by staying.
        let is_out = !self.punctuality.is_in(now, ports_work);
        self.engine.refuse_obligations(is_out);
        let is_in = !is_out || (ports_work && self.engine.owed().connections > 0);
        self.report_presence(now, is_out);
        if is_in {
            if now >= self.is_in_until {
                self.engine.on_return(now, &mut self.out);
            }
            self.io.heartbeat(now);
            self.is_in_until = now + MISSED;
        } else {
            self.is_in_until = now;
            self.io.step_out();
            self.engine.step_out();
        }
        self.heard = now;
        self.notifier.alive(now);
        self.report.turns += 1;
        self.io.receive(&mut self.frames)?;
        // Headers that come meanwhile wait: nothing waits for them, and many at once cost less.
        let was_idle = self.frames.is_empty();
        let began = now;
        // The latest that passed may have done so after the turn began.
        let now = self.take_passed().map_or(began, |latest| latest.max(began));
        // Before the frames: a fate was told before whatever came of it could arrive.
        if let Some(link) = &mut self.link {
            link.receive(now, |event| self.engine.on_link(event, now, &mut self.out));
        }
        self.engine.prefetch(&self.frames);
        for (at, (port, frame)) in self.frames.drain(..).enumerate() {
            self.engine.on_frame(port, frame, now, &mut self.out);
            if is_in && at % BEAT_AFTER == BEAT_AFTER - 1 {
                self.heard = clock::now();
                self.io.heartbeat(self.heard);
            }
        }
        if self.engine.deadline().is_some_and(|deadline| deadline <= now) {
            self.engine.on_deadline(now, &mut self.out);
        }
        if !is_in {
            self.engine.send_held(now, &mut self.out);
        }
        self.latest = now;
        let goes_on = self.answer(now);
        self.flush()?;
        let ended = clock::now();
        self.longest_turn = self.longest_turn.max(ended.since(began));
        self.punctuality.turn(began, self.heard, ended);
        if goes_on && was_idle {
            let until = self.engine.deadline();
            self.punctuality.wait(until);
            self.io.wait(until)?;
        }
        Ok(goes_on)
    }

    /// Whether the ports lose no frames, as far as is known.
    fn look_at_ports(&mut self, now: Instant) -> bool {
        let faults = self.io.faults(now);
        let known = &mut self.report.faults;
        if known.len() != faults.len() || known.iter().zip(faults).any(|(known, fault)| *known != fault.what)
        {
            *known = faults.iter().map(|fault| fault.what.clone()).collect();
        }
        !faults.iter().any(|fault| fault.loses_frames)
    }

    /// Tells the log when the loop steps out and in, and when ports break and are whole again.
    fn report_presence(&mut self, now: Instant, is_out: bool) {
        let thread = thread::current();
        match self.outs.is(is_out, now) {
            Some(Notice::Begin { unreported }) => {
                let (why, advice) = self.why_out();
                self.notifier.status(&format!("out, because {why}"));
                warn!(
                    times_before = unreported,
                    thread = thread.name(),
                    "stepped out, because {why}: everything passes untouched{advice}"
                );
            }
            Some(Notice::End { lasted }) => {
                self.notifier.status("running");
                warn!(after_s = lasted.as_secs_f64(), thread = thread.name(), "stepped in again");
            }
            None => {}
        }
        match self.faults.is(!is_out && !self.report.faults.is_empty(), now) {
            Some(Notice::Begin { unreported }) => {
                warn!(times_before = unreported, thread = thread.name(), "{}", self.report.faults.join("; "));
            }
            Some(Notice::End { .. }) if !is_out => warn!(thread = thread.name(), "the ports are whole again"),
            Some(Notice::End { .. }) | None => {}
        }
    }

    /// Why the loop is out, and what an operator may do.
    fn why_out(&self) -> (String, &'static str) {
        let advice =
            if self.report.realtime { "" } else { "; [process] realtime = true lets the loop run first" };
        match self.punctuality.why_out() {
            Some(Why::Ports) => (self.report.faults.join("; "), ""),
            Some(Why::Late(late)) => {
                (format!("the packet loop did not run for {:.2} s", late.as_secs_f64()), advice)
            }
            Some(Why::Starved) | None => {
                ("the packet loop waited for a processor most of the time".to_owned(), advice)
            }
        }
    }

    /// Takes in what passed without asking, by its headers; when the last of it did.
    fn take_passed(&mut self) -> Option<Instant> {
        let Self { io, engine, out, latest, .. } = self;
        let mut any = None;
        io.passed(&mut |port, at, headers| {
            // Two processors may have written in another order than their clocks.
            *latest = at.max(*latest);
            engine.on_passed(port, headers, *latest, out);
            any = Some(*latest);
        });
        any
    }

    /// First what goes to the radio side; then what may pass; then what goes to the core side, because
    /// acknowledgments call for more data, which can then pass.
    fn flush(&mut self) -> io::Result<()> {
        let mut frames = std::mem::take(&mut self.out.frames);
        self.send(&frames, |side| side == Some(Side::Core))?;
        for bypass in self.out.bypasses.drain(..) {
            self.io.allow_bypass(bypass);
        }
        for flow in self.out.taken_back.drain(..) {
            self.io.take_back(flow);
        }
        for flow in self.out.set_aside.drain(..) {
            debug!(from = ?flow.source, to = ?flow.destination, "set aside");
            self.io.set_aside(flow);
        }
        self.send(&frames, |side| side != Some(Side::Core))?;
        frames.clear();
        self.out.frames = frames;
        Ok(())
    }

    /// Sends those that come from such a side; `None` is that of a port that is not there.
    fn send(&mut self, frames: &[(PortId, Frame)], which: impl Fn(Option<Side>) -> bool) -> io::Result<()> {
        for (at, (port, frame)) in frames.iter().enumerate() {
            let side = self.io.ports().get(usize::from(port.0)).map(|port| port.side);
            if !which(side) {
                continue;
            }
            match self.io.send(*port, frame)? {
                Sent::Whole => self.report.sent += 1,
                Sent::Lost => self.report.lost += 1,
            }
            if self.is_in_until > self.latest && at % BEAT_AFTER == BEAT_AFTER - 1 {
                self.heard = clock::now();
                self.io.heartbeat(self.heard);
            }
        }
        Ok(())
    }

    /// Answers what was asked. `false` if it is to end. Somebody who does not wait for the answer
    /// does not get it.
    fn answer(&mut self, now: Instant) -> bool {
        loop {
            match self.requests.try_recv() {
                Ok(Request::Report(to)) => drop(to.send(self.make_report(now))),
                Ok(Request::Flows(from, to)) => {
                    let _ = to.send(self.engine.flows(from, now));
                    // Packets come between one page and the next.
                    return true;
                }
                Ok(Request::Ready(to)) => drop(to.send(())),
                Ok(Request::Reload(plan, to)) => {
                    self.notifier.reloading(now);
                    let selected = self.engine.reload(&plan, now, &mut self.out);
                    self.notifier.ready("running with the new configuration");
                    let _ = to.send(selected);
                }
                Ok(Request::Drain(to)) => {
                    self.engine.drain(now, &mut self.out);
                    let _ = to.send(self.engine.report());
                }
                Ok(Request::Aside(flow, to)) => {
                    let _ = to.send(self.engine.set_aside(flow, now, &mut self.out));
                }
                Ok(Request::Hear(inbox, to)) => {
                    self.link = Some(inbox);
                    let _ = to.send(self.io.waker());
                }
                Ok(Request::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn make_report(&self, now: Instant) -> LoopReport {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let engine = self.engine.report();
        LoopReport {
            uptime_s: now.since(self.started).as_secs_f64(),
            cpu_s,
            threads: vec![ThreadReport { cpu_s, connections: engine.connections }],
            longest_turn_s: self.longest_turn.as_secs_f64(),
            punctuality: self.punctuality.report(now),
            link: self.link.as_ref().map(LinkInbox::report),
            engine,
            ..self.report.clone()
        }
    }
}
