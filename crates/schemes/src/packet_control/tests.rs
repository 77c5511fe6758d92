//! Tests of packet control's rules with hand-made packets, and their bench.

mod acks;
mod data;
mod doubt;
mod laws;
mod learned;
mod transfer;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::counter::DUPLICATE_ACK;
use lasthop_agent::{Agent, Bypass, Context, Limits, Outbox, Side, Verdict};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, Timestamps};

use super::flow::Flow;
use super::{OLD_ACK, PacketControl, REPEATED_DATA, Settings};
use crate::edits::But;
use lasthop_config::preset::Presets as _;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const WINDOW: u16 = 1000;
/// Wraps within the first segments.
const FIRST: u32 = u32::MAX - 450;
const SEGMENT: u32 = 100;

/// An agent with a clock in milliseconds.
struct Bench {
    agent: PacketControl,
    now: Instant,
    rng: Rng,
    bypasses: Vec<Bypass>,
}

/// The result of one call.
#[derive(Debug, PartialEq)]
struct Step {
    verdict: Verdict,
    /// Other packets to the sender.
    made: Vec<Packet>,
}

impl Bench {
    fn with(settings: Settings) -> Self {
        let (now, rng) = (Instant::from_secs(1), Rng::named(1, "packet control"));
        Self { agent: PacketControl::new(settings), now, rng, bypasses: Vec::new() }
    }

    /// With the paper's settings, after ten segments and an ACK of the first.
    fn published(threshold: u32) -> Self {
        Self::started(Settings { threshold, ..Settings::published() })
    }

    fn started(settings: Settings) -> Self {
        let mut bench = Self::with(settings);
        for n in 0..10 {
            assert!(bench.core(&data(n)).passed());
        }
        assert!(bench.wait(20).radio(&ack(1)).passed());
        bench
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut PacketControl, &mut Context<'_>) -> R) -> (R, Vec<Packet>) {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox);
        let result = f(&mut self.agent, &mut cx);
        self.bypasses.extend(outbox.bypasses);
        let made = outbox.packets.into_iter().map(|(to, packet)| {
            assert_eq!(to, Side::Core, "it sends to the sender only");
            packet
        });
        (result, made.collect())
    }

    fn core(&mut self, packet: &Packet) -> Step {
        let mut passing = packet.clone();
        let (verdict, made) = self.call(|agent, cx| agent.on_packet(&mut passing, Side::Core, cx));
        assert_eq!(passing, *packet, "data is never edited");
        Step { verdict, made }
    }

    fn radio(&mut self, packet: &Packet) -> Step {
        let (step, passing) = self.pass_ack(packet);
        assert_eq!(passing, *packet);
        step
    }

    /// Passes an ACK. Returns the result and the ACK as it left.
    fn pass_ack(&mut self, packet: &Packet) -> (Step, Packet) {
        let mut passing = packet.clone();
        let (verdict, made) = self.call(|agent, cx| agent.on_packet(&mut passing, Side::Radio, cx));
        (Step { verdict, made }, passing)
    }

    fn timer(&mut self) -> Vec<Packet> {
        self.call(PacketControl::on_deadline).1
    }

    fn flow(&self) -> Option<&Flow> {
        self.agent.flows.peek(key())
    }

    /// Whether each of `count` duplicates of an ACK passes.
    fn duplicates(&mut self, duplicate: &Packet, count: usize) -> Vec<bool> {
        let pass = |bench: &mut Self| {
            let step = bench.radio(duplicate);
            assert!(step.passed() || step.verdict == Verdict::Drop(&DUPLICATE_ACK));
            step.passed()
        };
        (0..count).map(|_| pass(self)).collect()
    }
}

impl Step {
    fn passed(&self) -> bool {
        self.verdict == Verdict::Forward && self.made.is_empty()
    }
}

fn key() -> FlowKey {
    FlowKey::tcp((SERVER, 80), (MOBILE, 4000))
}

/// The start of the n-th segment, from 0.
fn seq(n: u32) -> u32 {
    FIRST.wrapping_add(n * SEGMENT)
}

/// The n-th segment.
fn data(n: u32) -> Packet {
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        seq: Seq(seq(n)),
        ack: Seq(7),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    let payload = Payload::Stream { stream: 1, offset: u64::from(n * SEGMENT), len: SEGMENT };
    Packet::tcp_segment(Ip::new(SERVER, MOBILE), tcp, payload)
}

/// An ACK of the first n segments.
fn ack(n: u32) -> Packet {
    let tcp = Tcp {
        source_port: 4000,
        destination_port: 80,
        seq: Seq(7),
        ack: Seq(seq(n)),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(MOBILE, SERVER), tcp, Payload::EMPTY)
}

/// An ACK with SACK blocks.
trait Reports: But {
    /// Blocks of complete segments, each from one up to another, exclusive.
    fn reports(self, blocks: &[(u32, u32)]) -> Self {
        let blocks: Vec<(u32, u32)> = blocks.iter().map(|(left, right)| (seq(*left), seq(*right))).collect();
        self.sack(&blocks)
    }
}

impl Reports for Packet {}
