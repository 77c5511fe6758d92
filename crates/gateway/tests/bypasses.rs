//! Tests of bypasses in the kernel, with real TCP.

mod hosts;

use std::io;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use lasthop_needs::{namespaces, tests};

use hosts::{Hosts, Loop, SERVER, SERVER_V6, radio};
use lasthop_agent::{Bypass, Limits, Shown, Side};
use lasthop_gateway::frame::Frame;
use lasthop_gateway::io::divert::{Counters, Divert};
use lasthop_gateway::io::{PacketIo, Port, PortId, Selection, Sent, Wake};
use lasthop_packet::{FlowKey, Instant, Packet, Seq, TcpFlags};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            data_bypasses_in_order_and_is_shown_before_its_acknowledgments;
    })
}

const BULK: usize = 20_000_000;

/// The number of octets that may bypass at a time.
const STEP: u32 = 1_000_000;

/// Allows all data in order to bypass, and checks that all of it is shown in time.
struct Passing {
    divert: Divert,
    shown: Shown,
    /// Whether the kind of copies changes regularly.
    changes: bool,
    flow: Option<FlowKey>,
    /// The end of the data to the client that was shown or sent.
    known: Seq,
    /// The limit of the current bypass.
    until: Seq,
    acknowledged: Seq,
    found: Arc<Mutex<Found>>,
}

#[derive(Debug, Default)]
struct Found {
    copies: u64,
    /// Copies of acknowledgments.
    acks: u64,
    /// Copies that did not follow the known data.
    out_of_order: u64,
    /// Acknowledgments of unknown data.
    too_early: u64,
    /// Copies of segments that should have been diverted.
    not_plain: u64,
    /// Copies of data above the limit.
    too_far: u64,
    counters: Counters,
}

impl Passing {
    fn found(&self, what: impl FnOnce(&mut Found)) {
        what(&mut self.found.lock().expect("nobody panicked"));
    }

    fn take_copy(&mut self, packet: &Packet) {
        let tcp = packet.tcp().expect("TCP");
        self.found(|found| found.copies += 1);
        let is_up = packet.flow_key().map(FlowKey::reversed) == self.flow;
        // The end of the previous connection, or an acknowledgment of the client's data.
        if !is_up && (packet.flow_key() != self.flow || packet.payload().is_empty()) {
            return;
        }
        if is_up {
            let (is_early, is_new) = (tcp.ack.after(self.known), tcp.ack.after(self.acknowledged));
            // Copies and headers arrive through two channels, so that acknowledgments may be
            // reordered.
            let is_overtaken = self.changes && self.acknowledged.after(tcp.ack);
            self.acknowledged = self.acknowledged.later(tcp.ack);
            let is_fresh = is_new || is_overtaken || !packet.payload().is_empty();
            let is_plain = tcp.options.sack.is_empty() && is_fresh;
            self.found(|found| {
                found.acks += 1;
                found.too_early += u64::from(is_early);
                found.not_plain += u64::from(!is_plain);
            });
            return;
        }
        let end = tcp.seq + packet.segment_len();
        let plain = TcpFlags::ACK.with(TcpFlags(8));
        let (in_order, allowed) = (tcp.seq == self.known, !end.after(self.until));
        let is_plain = plain.has(tcp.flags) && !packet.payload().is_empty();
        self.found(|found| {
            found.out_of_order += u64::from(!in_order);
            found.too_far += u64::from(!allowed);
            found.not_plain += u64::from(!is_plain);
        });
        self.known = self.known.later(end);
        self.extend();
    }

    fn extend(&mut self) {
        let copies = self.found.lock().expect("nobody panicked").copies;
        if self.changes && copies % 50 == 49 {
            self.shown = if self.shown == Shown::Whole { Shown::Headers } else { Shown::Whole };
        }
        if let Some(flow) = self.flow {
            self.until = self.known + STEP;
            let (acknowledged, from, until) = (self.acknowledged, self.known, self.until);
            let limits = Limits { acknowledged, from, until, shown: self.shown };
            self.divert.allow_bypass(Bypass { flow, limits: Some(limits) });
        }
    }
}

impl PacketIo for Passing {
    fn ports(&self) -> &[Port] {
        self.divert.ports()
    }

    fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()> {
        let mut all = Vec::new();
        self.divert.receive(&mut all)?;
        let mut passed = Vec::new();
        self.divert.passed(&mut |_, at, headers| {
            passed.push((at, headers.parse(true).expect("it is TCP").1));
        });
        assert!(passed.is_sorted_by_key(|(at, _)| *at), "on one processor");
        for (_, packet) in &passed {
            self.take_copy(packet);
        }
        for (port, frame) in all {
            let Port { side, copies_of, .. } = self.divert.ports()[usize::from(port.0)];
            let (_, packet) = frame.parse(true).expect("it is TCP");
            if copies_of.is_some() {
                self.take_copy(&packet);
                continue;
            }
            let tcp = packet.tcp().expect("TCP");
            let is_of_flow = packet.flow_key().map(FlowKey::reversed) == self.flow;
            let is_new = side == Side::Radio && is_of_flow && tcp.ack.after(self.known);
            self.found(|found| found.too_early += u64::from(is_new));
            frames.push((port, frame));
        }
        Ok(())
    }

    fn send(&mut self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        let sent = self.divert.send(port, frame)?;
        let (_, packet) = frame.parse(true).expect("it is TCP");
        let tcp = packet.tcp().expect("TCP");
        if self.divert.ports()[usize::from(port.0)].side == Side::Core {
            let end = tcp.seq + packet.segment_len();
            if tcp.flags.has(TcpFlags::SYN) {
                if let Some(flow) = self.flow.take() {
                    self.divert.allow_bypass(Bypass { flow, limits: None });
                }
                (self.flow, self.known, self.acknowledged) = (packet.flow_key(), end, end);
            }
            // Not the end of the previous connection.
            if packet.flow_key() == self.flow {
                self.known = self.known.later(end);
                self.extend();
            }
        }
        Ok(sent)
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let counters = self.divert.counters().expect("they can be read");
        self.found(|found| found.counters = counters);
        self.divert.wait(until)
    }

    fn heartbeat(&mut self, now: Instant) {
        self.divert.heartbeat(now);
    }

    fn waker(&self) -> Wake {
        PacketIo::waker(&self.divert)
    }
}

fn data_bypasses_in_order_and_is_shown_before_its_acknowledgments() {
    // On two processors a veth pair reorders frames, and so the copies.
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    sched_setaffinity(None, &one).expect("a processor that we are on");
    for super_packets in [true, false] {
        let hosts = Hosts::routed();
        let hosts = if super_packets { hosts } else { hosts.without_super_packets() };
        for server in [SERVER, SERVER_V6] {
            for (shown, changes) in [(Shown::Whole, false), (Shown::Headers, false), (Shown::Whole, true)] {
                let octets = if super_packets { BULK } else { BULK / 10 };
                let found = download(&hosts, server, octets, (shown, changes));
                assert!(found.copies > 100 && found.acks > 10, "{found:?}");
                let wrong = (found.out_of_order, found.too_early, found.not_plain, found.too_far);
                assert_eq!(wrong, (0, 0, 0, 0), "{found:?}");
            }
        }
    }
}

/// Downloads with a loop that stays in the path: frames that bypass a loop with too little
/// processor time are not shown. Repeats the download until this is so.
fn download(hosts: &Hosts, server: &str, octets: usize, (shown, changes): (Shown, bool)) -> Found {
    for _ in 0..30 {
        let found = Arc::new(Mutex::new(Found::default()));
        let of_loop = Arc::clone(&found);
        let running = Loop::start(&hosts.gateway, None, move || {
            // The highest priority on the machine for this thread.
            setpriority_process(None, -20).expect("root");
            Passing {
                divert: Divert::open(&radio(), &Selection::default()).expect("it opens"),
                shown,
                changes,
                flow: None,
                known: Seq(0),
                until: Seq(0),
                acknowledged: Seq(0),
                found: of_loop,
            }
        });
        hosts.download(server, octets);
        hosts::assert_soon(|| {
            let found = found.lock().expect("nobody panicked");
            if found.counters.passed + found.counters.late == found.copies {
                Ok(())
            } else {
                Err(format!("{found:?}"))
            }
        });
        running.end();
        let found = std::mem::take(&mut *found.lock().expect("nobody panicked"));
        if found.counters.stale + found.counters.late == 0 {
            return found;
        }
    }
    panic!("the machine is too busy for this test");
}
