//! Tests of ELN's rules with hand-made packets, and their bench.

mod bit;
mod doubt;
mod dsack;
mod laws;
mod timestamp;
mod transfer;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::{Agent as _, Budget, Context, Outbox, Report, Side, Verdict};
use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, Timestamps};

use super::*;
use crate::edits::But;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const PHONE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const SEGMENT: u32 = 100;

/// An agent with a clock in milliseconds. Both hosts' timestamps are this clock.
struct Bench {
    eln: Eln,
    millis: u64,
    rng: Rng,
    budget: Budget,
    /// The timestamp of the last ACK sent to the phone.
    last_tsval: u32,
    reports: Vec<Report>,
}

impl Bench {
    /// An agent that has seen the hop without a queue: ten segments, up to 1000, acknowledged.
    fn new(settings: Settings) -> Self {
        let mut bench = Self::unmeasured(settings);
        for segment in 0..10 {
            bench.wait(2).data(segment);
            bench.wait(2).ack(SEGMENT * (segment + 1));
        }
        bench.reports.clear();
        bench
    }

    fn unmeasured(settings: Settings) -> Self {
        let (eln, rng) = (Eln::new(settings), Rng::named(1, "eln"));
        Self { eln, millis: 1000, rng, budget: Budget::default(), last_tsval: 0, reports: Vec::new() }
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.millis += millis;
        self
    }

    /// Passes a packet. Returns it as it left, and the agent's packets before it.
    fn pass(&mut self, packet: &Packet, from: Side) -> (Packet, Vec<Packet>) {
        let (mut packet, mut outbox) = (packet.clone(), Outbox::default());
        let now = Instant::from_millis(self.millis);
        let mut cx = Context::new(now, &mut self.rng, &mut outbox).within(self.budget);
        assert_eq!(self.eln.on_packet(&mut packet, from, &mut cx), Verdict::Forward);
        self.reports.extend(outbox.reports);
        let ahead = outbox.packets.into_iter().map(|(to, packet)| {
            assert_eq!(to, Side::Radio, "it speaks to the mobile host only");
            packet
        });
        (packet, ahead.collect())
    }

    /// A segment of 100 octets arrives from the hop, sent 2 ms ago.
    fn data(&mut self, segment: u32) {
        self.data_late(segment, 2);
    }

    /// A segment that was on the hop for `late` milliseconds.
    fn data_late(&mut self, segment: u32, late: u64) {
        let packet = data(segment, (self.millis - late) as u32, self.last_tsval);
        let (passed, ahead) = self.pass(&packet, Side::Radio);
        assert_eq!((passed, ahead.len()), (packet, 0), "data is not touched");
    }

    /// The receiver acknowledges up to `number`, and echoes the time of 25 ms ago.
    fn ack(&mut self, number: u32) -> Packet {
        let packet = self.ack_packet(number);
        self.pass_ack(&packet).0
    }

    fn ack_packet(&self, number: u32) -> Packet {
        ack(number, self.millis as u32, self.millis as u32 - 25)
    }

    fn pass_ack(&mut self, packet: &Packet) -> (Packet, Vec<Packet>) {
        let passed = self.pass(packet, Side::Core);
        self.last_tsval =
            packet.tcp().and_then(|tcp| tcp.options.timestamps).map_or(0, |stamps| stamps.value);
        passed
    }

    /// Segment 10 is lost, 11 to 14 arrive and are reported, and a round trip later 10 is repeated.
    /// Returns when 11 was sent.
    fn lose_and_repair(&mut self) -> u32 {
        let shown = self.wait(5).millis as u32 - 2;
        for segment in 11..15 {
            self.data(segment);
            self.wait(1);
        }
        for _ in 11..15 {
            self.wait(1).ack(1000);
        }
        self.wait(50).data(10);
        self.wait(50);
        shown
    }

    fn counted(&self, counter: &lasthop_agent::Counter) -> usize {
        self.reports.iter().filter(|report| report.counter.name == counter.name).count()
    }
}

fn data(segment: u32, value: u32, echo_reply: u32) -> Packet {
    let tcp = Tcp {
        source_port: 4000,
        destination_port: 80,
        seq: Seq(segment * SEGMENT),
        ack: Seq(7),
        flags: TcpFlags::ACK,
        window: 1000,
        ..Tcp::default()
    };
    let payload = Payload::Stream { stream: 1, offset: u64::from(segment * SEGMENT), len: SEGMENT };
    Packet::tcp_segment(Ip::new(PHONE, SERVER), tcp, payload).but(|tcp| {
        tcp.options.timestamps = Some(Timestamps { value, echo_reply });
    })
}

fn ack(number: u32, value: u32, echo_reply: u32) -> Packet {
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        seq: Seq(7),
        ack: Seq(number),
        flags: TcpFlags::ACK,
        window: 1000,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(SERVER, PHONE), tcp, Payload::EMPTY).but(|tcp| {
        tcp.options.timestamps = Some(Timestamps { value, echo_reply });
    })
}

fn echo(packet: &Packet) -> u32 {
    packet.tcp().and_then(|tcp| tcp.options.timestamps).map_or(0, |stamps| stamps.echo_reply)
}
