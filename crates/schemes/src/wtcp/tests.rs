//! Tests of WTCP's additions to local recovery with hand-made packets, and their bench.

mod buffer;
mod clock;
mod echo;
mod lifetime;
mod random;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::Outbox;
use lasthop_packet::{Ip, Payload, Rng, Seq, Tcp};

use super::*;
use crate::edits::But;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const WINDOW: u16 = 1000;
/// Octets of a segment.
const SIZE: u32 = 100;
/// The offset of the sender's millisecond clock from ours; it wraps soon.
const AHEAD: u32 = u32::MAX - 500;

/// An agent with a clock in milliseconds, and a hop of 4 ms there and back.
struct Bench {
    wtcp: Wtcp,
    now: Instant,
    rng: Rng,
    budget: Budget,
}

impl Bench {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let (now, rng) = (Instant::ZERO, Rng::named(1, "wtcp"));
        Self { wtcp: Wtcp::new(settings), now, rng, budget: Budget::default() }
    }

    /// An agent that knows the sender's clock, after a second and a half in which all data before
    /// segment 16 was acknowledged.
    fn learnt(settings: Settings) -> Self {
        let mut bench = Self::with(settings);
        for segment in 0..16 {
            assert_eq!(bench.core(&bench.fresh(segment)).0, Verdict::Forward);
            bench.wait(4);
            let echo = bench.tsval().wrapping_sub(4);
            assert_eq!(bench.echo(&echoing(segment + 1, echo)), Some(echo), "nothing to hide");
            bench.wait(96);
        }
        bench
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut Wtcp, &mut Context<'_>) -> R) -> (R, Vec<Packet>) {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let result = f(&mut self.wtcp, &mut cx);
        (result, outbox.packets.into_iter().map(|(_, packet)| packet).collect())
    }

    fn core(&mut self, packet: &Packet) -> (Verdict, Vec<Packet>) {
        self.call(|wtcp, cx| wtcp.on_packet(&mut packet.clone(), Side::Core, cx))
    }

    /// Like `core`, if the result does not matter.
    fn send(&mut self, packet: &Packet) {
        let (Verdict::Forward | Verdict::Drop(_) | Verdict::Absorb) = self.core(packet).0;
    }

    /// An ACK as it passed, and the copies that it triggered.
    fn radio(&mut self, packet: &Packet) -> (Option<Packet>, Vec<u32>) {
        let mut passing = packet.clone();
        let (verdict, copies) = self.call(|wtcp, cx| wtcp.on_packet(&mut passing, Side::Radio, cx));
        ((verdict == Verdict::Forward).then_some(passing), segments(&copies))
    }

    /// The echo in an ACK as it passed.
    fn echo(&mut self, packet: &Packet) -> Option<u32> {
        Some(self.radio(packet).0?.tcp()?.options.timestamps?.echo_reply)
    }

    /// Runs all timers until a time in ms. Returns the packets.
    fn timers_until(&mut self, millis: u64) -> Vec<u32> {
        let mut sent = Vec::new();
        let end = Instant::from_millis(millis);
        while let Some(due) = self.wtcp.deadline().filter(|due| due.at <= end) {
            self.now = self.now.max(due.at);
            sent.extend(segments(&self.call(Wtcp::on_deadline).1));
        }
        self.now = end;
        sent
    }

    /// The sender's clock now.
    fn tsval(&self) -> u32 {
        AHEAD.wrapping_add(self.now.as_millis() as u32)
    }

    /// A segment as sent now.
    fn fresh(&self, segment: u32) -> Packet {
        data(segment).stamped(self.tsval(), 7)
    }
}

fn segments(packets: &[Packet]) -> Vec<u32> {
    packets.iter().filter_map(|packet| Some(packet.tcp()?.seq.0 / SIZE)).collect()
}

fn segment(source: (IpAddr, u16), destination: (IpAddr, u16), tcp: Tcp, octets: u32) -> Packet {
    let tcp = Tcp { source_port: source.1, destination_port: destination.1, ..tcp };
    let offset = u64::from(tcp.seq.0);
    let payload =
        if octets == 0 { Payload::EMPTY } else { Payload::Stream { stream: 1, offset, len: octets } };
    Packet::tcp_segment(Ip::new(source.0, destination.0), tcp, payload)
}

/// A segment by its place in the stream.
fn data(place: u32) -> Packet {
    let tcp =
        Tcp { seq: Seq(SIZE * place), ack: Seq(7), flags: TcpFlags::ACK, window: WINDOW, ..Tcp::default() };
    segment((SERVER, 80), (MOBILE, 4000), tcp, SIZE)
}

/// A segment with an echo.
fn echoing(place: u32, echo: u32) -> Packet {
    ack(place).stamped(9, echo)
}

/// An ACK of all data before a segment.
fn ack(place: u32) -> Packet {
    let tcp =
        Tcp { seq: Seq(7), ack: Seq(SIZE * place), flags: TcpFlags::ACK, window: WINDOW, ..Tcp::default() };
    segment((MOBILE, 4000), (SERVER, 80), tcp, 0)
}

fn connection() -> FlowKey {
    data(0).flow_key().expect("it is TCP")
}
