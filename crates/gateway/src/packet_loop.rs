//! The packet loop: from the ports to the engine and back.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

use lasthop_agent::{LinkEvent, Side};
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

/// A request to the packet loop. The loop is woken and answers in its next turn; a page of
/// connections takes a turn of its own.
pub(super) enum Request {
    /// Return a report.
    Report(Sender<LoopReport>),
    /// Return a page of the connections, starting at this slot of the table.
    Flows(usize, Sender<FlowPage>),
    /// Confirm that the loop is running; precedes a change of all loops.
    Ready(Sender<()>),
    /// Apply another plan.
    Reload(Box<Plan>, Sender<Selected>),
    /// Have the agents send the packets that they hold; then forward all traffic unchanged until
    /// the next reload.
    Drain(Sender<EngineReport>),
    /// Set a connection aside. Returns whether it is known.
    Aside(FlowKey, Sender<bool>),
    /// Receive events of a link layer from this inbox. Returns the function that wakes the loop.
    AttachLink(LinkInbox, Sender<Wake>),
    /// Have the engine do something.
    #[cfg(feature = "roaming")]
    Engine(EngineTask),
    /// Report clients that have arrived.
    #[cfg(feature = "roaming")]
    ReportArrivals(Arrivals),
    /// Drain and end.
    Stop,
}

/// What an engine is to do, and to answer. Its outputs are sent like all others.
#[cfg(feature = "roaming")]
pub(super) type EngineTask = Box<dyn FnOnce(&mut Engine, Instant, &mut Outgoing) + Send>;

/// Takes the clients that have arrived.
#[cfg(feature = "roaming")]
pub(super) type Arrivals = Box<dyn Fn(Vec<crate::frame::MacAddress>) + Send>;

/// The report of a packet loop. Fields that an older gateway does not report are zero or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopReport {
    /// Seconds since the loop started.
    pub uptime_s: f64,
    /// Seconds of processor time used.
    pub cpu_s: f64,
    /// Turns. A turn processes at most a thousand frames per port.
    pub turns: u64,
    /// Frames given to the kernel.
    pub sent: u64,
    /// Frames for which the kernel had no room.
    pub lost: u64,
    /// The longest turn without its wait, in seconds: above 0.06, frames bypassed the loop.
    pub longest_turn_s: f64,
    /// The punctuality of the loop.
    pub punctuality: PunctualityReport,
    /// The current faults of the ports, one sentence each.
    pub faults: Vec<String>,
    /// Whether real-time scheduling was requested.
    pub realtime: bool,
    /// Notices to the operator, one sentence each: requests that the kernel did not grant,
    /// functions that the backend lacks.
    pub notes: Vec<String>,
    /// One entry per packet loop; all other fields cover all loops together.
    pub threads: Vec<ThreadReport>,
    /// The events received from a link layer; `None` if no link layer is attached.
    pub link: Option<LinkReport>,
    /// The report of the engine.
    pub engine: EngineReport,
}

/// The report of one packet loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadReport {
    /// Seconds of processor time used.
    pub cpu_s: f64,
    /// The number of its connections.
    pub connections: usize,
}

/// The number of frames between two heartbeats within a turn. Without these, frames that arrive
/// during a long turn would bypass the loop and overtake the current ones.
const BEAT_AFTER: usize = 64;

/// The packet loop, on one thread.
pub(super) struct PacketLoop<'a> {
    io: &'a mut dyn PacketIo,
    engine: Engine,
    requests: Receiver<Request>,
    link: Option<LinkInbox>,
    #[cfg(feature = "roaming")]
    arrivals: Option<Arrivals>,
    notifier: Notifier,
    frames: Vec<(PortId, Frame)>,
    out: Outgoing,
    started: Instant,
    longest_turn: Duration,
    punctuality: Punctuality,
    /// Fates that drivers have reported.
    fates: LinkReport,
    /// The log messages about stepping out, and about faults that are no reason for it.
    outs: Trouble,
    faults: Trouble,
    /// The latest time passed to the engine.
    latest: Instant,
    /// The time until which frames are diverted to the loop without another heartbeat.
    is_in_until: Instant,
    /// The time of the last heartbeat; while the loop is out, of the start of its last turn.
    last_beat: Instant,
    report: LoopReport,
}

impl<'a> PacketLoop<'a> {
    /// Creates a loop over these ports, on this thread; `known` is the initial report. The loop
    /// ends on [`Request::Stop`], or when all senders of requests are dropped.
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
            #[cfg(feature = "roaming")]
            arrivals: None,
            notifier,
            frames: Vec::new(),
            out: Outgoing::default(),
            started: now,
            longest_turn: Duration::ZERO,
            punctuality,
            fates: LinkReport::default(),
            outs: Trouble::default(),
            faults: Trouble::default(),
            latest: now,
            is_in_until: now + MISSED,
            last_beat: now,
            report: known,
        }
    }

    /// Resumes the connections of a predecessor.
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

    /// Runs until the loop is stopped or fails; in both cases the agents send the packets that they
    /// hold. Returns the last report, and the connections for a successor.
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

    /// Runs one turn. Returns `false` if the loop is to end.
    fn turn(&mut self) -> io::Result<bool> {
        let now = clock::now();
        let ports_work = self.check_ports(now);
        // A late loop does not step out while agents have obligations, and until then they take on
        // no new ones. If ports lose frames, staying in would not help to meet them.
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
        self.last_beat = now;
        self.notifier.alive(now);
        self.report.turns += 1;
        self.io.receive(&mut self.frames)?;
        // Headers of forwarded packets do not end a wait: no packet depends on them, and many at
        // once cost less.
        let was_idle = self.frames.is_empty();
        let began = now;
        // The latest forwarded packet may be later than the start of the turn.
        let now = self.take_passed().map_or(began, |latest| latest.max(began));
        // Before the frames: the link layer reports a packet's fate before a response to the packet
        // can arrive.
        if let Some(link) = &mut self.link {
            link.receive(now, |event| self.engine.on_link(event, now, &mut self.out));
        }
        let Self { io, engine, out, fates, .. } = self;
        io.fates(&mut |packet, fate| {
            fates.count(fate);
            engine.on_link(&LinkEvent::of_fate(packet, fate), now, out);
        });
        self.engine.prefetch(&self.frames);
        for (at, (port, frame)) in self.frames.drain(..).enumerate() {
            self.engine.on_frame(port, frame, now, &mut self.out);
            if is_in && at % BEAT_AFTER == BEAT_AFTER - 1 {
                self.last_beat = clock::now();
                self.io.heartbeat(self.last_beat);
            }
        }
        if self.engine.deadline().is_some_and(|deadline| deadline <= now) {
            self.engine.on_deadline(now, &mut self.out);
        }
        if !is_in {
            self.engine.send_held(now, &mut self.out);
        }
        self.latest = now;
        #[cfg(feature = "roaming")]
        self.report_arrivals();
        let continues = self.answer(now);
        self.flush()?;
        let ended = clock::now();
        self.longest_turn = self.longest_turn.max(ended.since(began));
        self.punctuality.turn(began, self.last_beat, ended);
        if continues && was_idle {
            let until = self.engine.deadline();
            self.punctuality.wait(until);
            self.io.wait(until)?;
        }
        Ok(continues)
    }

    /// Updates the faults of the ports. Returns whether no port is known to lose frames.
    fn check_ports(&mut self, now: Instant) -> bool {
        let faults = self.io.faults(now);
        let known = &mut self.report.faults;
        if known.len() != faults.len() || known.iter().zip(faults).any(|(known, fault)| *known != fault.what)
        {
            *known = faults.iter().map(|fault| fault.what.clone()).collect();
        }
        !faults.iter().any(|fault| fault.loses_frames)
    }

    /// Logs when the loop steps out and in, and when faults of ports begin and end.
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

    /// The reason why the loop is out, and advice to the operator.
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

    /// Processes the headers of packets that the kernel forwarded. Returns the time of the last
    /// one.
    fn take_passed(&mut self) -> Option<Instant> {
        let Self { io, engine, out, latest, .. } = self;
        let mut any = None;
        io.passed(&mut |port, at, headers| {
            // Two processors may have written in a different order than that of their timestamps.
            *latest = at.max(*latest);
            engine.on_passed(port, headers, *latest, out);
            any = Some(*latest);
        });
        any
    }

    /// Sends first the frames to the radio side, then updates the bypasses, then sends the frames
    /// to the core side: acknowledgments trigger more data, which can then bypass the engine.
    fn flush(&mut self) -> io::Result<()> {
        let mut frames = std::mem::take(&mut self.out.frames);
        self.send(&frames, |side| side == Some(Side::Core))?;
        for bypass in self.out.bypasses.drain(..) {
            self.io.allow_bypass(bypass);
        }
        for flow in self.out.diverted_again.drain(..) {
            self.io.divert_again(flow);
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

    /// Sends the frames whose side of origin satisfies `which`; the side of an unknown port is
    /// `None`.
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
                self.last_beat = clock::now();
                self.io.heartbeat(self.last_beat);
            }
        }
        Ok(())
    }

    /// Answers pending requests. Returns `false` if the loop is to end. An answer whose receiver
    /// was dropped is discarded.
    fn answer(&mut self, now: Instant) -> bool {
        loop {
            match self.requests.try_recv() {
                Ok(Request::Report(to)) => drop(to.send(self.make_report(now))),
                Ok(Request::Flows(from, to)) => {
                    let _ = to.send(self.engine.flows(from, now));
                    // Packets are processed between two pages.
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
                Ok(Request::AttachLink(inbox, to)) => {
                    self.link = Some(inbox);
                    let _ = to.send(self.io.waker());
                }
                #[cfg(feature = "roaming")]
                Ok(Request::Engine(task)) => task(&mut self.engine, now, &mut self.out),
                #[cfg(feature = "roaming")]
                Ok(Request::ReportArrivals(to)) => self.arrivals = Some(to),
                Ok(Request::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    #[cfg(feature = "roaming")]
    fn report_arrivals(&mut self) {
        let Some(report) = &self.arrivals else { return };
        let arrived = self.engine.take_arrived();
        if !arrived.is_empty() {
            report(arrived);
        }
    }

    fn make_report(&self, now: Instant) -> LoopReport {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_s = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let engine = self.engine.report();
        let of_driver = || self.io.asked_for_fates().map(|asked| LinkReport { asked, ..self.fates });
        LoopReport {
            uptime_s: now.since(self.started).as_secs_f64(),
            cpu_s,
            threads: vec![ThreadReport { cpu_s, connections: engine.connections }],
            longest_turn_s: self.longest_turn.as_secs_f64(),
            punctuality: self.punctuality.report(now),
            link: self.link.as_ref().map(LinkInbox::report).or_else(of_driver),
            engine,
            ..self.report.clone()
        }
    }
}
