//! Two hosts whose connection an agent splits, and an attacker who does not see it.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Agent, Budget, Context, Outbox, Scope, Side, Verdict};
use lasthop_config::preset::Presets;
use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, Transport, Udp};
use lasthop_schemes::as_tcp::AsTcpEdge;
use lasthop_schemes::cicada::Cicada;
use lasthop_schemes::itcp::Itcp;
use lasthop_schemes::lle::Place;

use crate::ends::{End, ends, is_closed, is_opening};
use crate::octets::Octets;

const SERVER: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);
const PHONE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), 50_000);
const BUDGET: Budget = Budget { flows: 16, octets_per_flow: 200_000, octets_in_all: 400_000 };
/// Packets on a wire in one direction; the oldest makes room.
const ON_THE_WIRE: usize = 64;
const BEGIN: Instant = Instant::from_secs(1);
/// When the wires are good at the latest: no end and no leg has given up by then. One that opens does after
/// 63 s.
const GOOD_FROM: Instant = Instant::from_secs(61);
/// Behind it are the ports of connections that are not the two ends'.
const FIRST_OTHER_PORT: u16 = 1024;
/// Further than any window reaches.
const FAR: u32 = 1 << 28;
/// Steps after which everything has arrived over good wires.
const ENOUGH: u32 = 200_000;

/// Whatever gets lost, doubled or late, and whatever an attacker sends who guesses no number, both
/// streams arrive whole, both ends close, and the agent stays within its budget.
pub fn splits(data: &[u8]) {
    let mut octets = Octets(data);
    let mut bench = Bench::new(&mut octets);
    while !octets.is_empty() && bench.now < GOOD_FROM {
        bench.step(&mut octets);
    }
    bench.finish();
}

struct Bench {
    /// Which agent it is.
    choice: u8,
    agent: Box<dyn Agent>,
    /// The server and the phone.
    ends: [End; 2],
    /// On their way to the ends.
    leaving: [VecDeque<Packet>; 2],
    /// On their way to the agent, from the server and the phone.
    arriving: [VecDeque<Packet>; 2],
    now: Instant,
    rng: Rng,
}

fn agent(choice: u8) -> Box<dyn Agent> {
    let is_published = choice & 2 != 0;
    match (choice & 1, choice) {
        (0, _) => Box::new(Itcp::new(preset(is_published))),
        (_, 0..192) => Box::new(Cicada::new(&preset(is_published))),
        // The phone has no half of it.
        _ => Box::new(AsTcpEdge::new(&preset(is_published), Place::EndOfHop)),
    }
}

fn preset<S: Presets + Default>(is_published: bool) -> S {
    if is_published { S::published() } else { S::default() }
}

const fn index(side: Side) -> usize {
    match side {
        Side::Core => 0,
        Side::Radio => 1,
    }
}

impl Bench {
    fn new(octets: &mut Octets<'_>) -> Self {
        let choice = octets.octet();
        let agent = agent(choice);
        let ends = ends(octets, SERVER, PHONE);
        let leaving = [VecDeque::new(), VecDeque::new()];
        let arriving = [VecDeque::new(), VecDeque::new()];
        let (now, rng) = (BEGIN, Rng::named(1, "splits"));
        let mut bench = Self { choice, agent, ends, leaving, arriving, now, rng };
        bench.transmit();
        if octets.below(4) > 0 {
            bench.go_on_until(|end| !is_opening(end));
        }
        bench
    }

    fn step(&mut self, octets: &mut Octets<'_>) {
        let choice = octets.octet();
        let from = [Side::Core, Side::Radio][usize::from(choice >> 7)];
        match choice & 31 {
            0..=2 => self.ends[index(from)].write(u64::from(octets.octet()) * octets.pick(&[1, 100, 1000])),
            3 => self.hand_over(octets),
            // Segments of an octet.
            4 => {
                for _ in 0..octets.below(32) {
                    self.ends[index(from)].write(1);
                    self.transmit();
                }
            }
            5..=12 => {
                for _ in 0..=octets.below(16) {
                    self.carry(from);
                }
            }
            13..=16 => {
                for _ in 0..=octets.below(16) {
                    self.deliver(from);
                }
            }
            17 => drop(self.arriving[index(from)].pop_front()),
            18 => drop(self.leaving[index(from)].pop_front()),
            19 => {
                // Early, and once more in its turn.
                if let Some(packet) = self.arriving[index(from)].get(octets.below(16)).cloned() {
                    self.show(packet, from);
                }
            }
            20 => self.wait(octets.time().min(Duration::from_secs(5))),
            21..=22 if self.next_timer().is_some_and(|next| next < GOOD_FROM) => self.wait_for_a_timer(),
            23..=24 => self.flood(from, octets),
            25..=28 => self.forge(from, octets),
            29..=30 => self.datagram(from, octets),
            _ => {
                for _ in 0..8 {
                    self.everything_arrives();
                }
            }
        }
        self.transmit();
    }

    /// The agent goes on from its own state; another is shown a forged copy of it.
    fn hand_over(&mut self, octets: &mut Octets<'_>) {
        let states = self.call(|agent, cx| agent.export(Scope::All, cx));
        for state in &states {
            let mut forged = state.clone();
            for _ in 0..=octets.below(8) {
                let at = octets.below(forged.octets.len().max(1));
                if let Some(octet) = forged.octets.get_mut(at) {
                    *octet = octets.octet();
                }
            }
            let mut other = agent(self.choice);
            let mut outbox = Outbox::default();
            let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(BUDGET);
            let _ = other.import(&forged, &mut cx);
            assert!(other.octets() <= BUDGET.octets_in_all, "{} octets are held", other.octets());
        }
        // What has no room is lost, and known to be: a budget that is as large as can be.
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(Budget::default());
        for state in &states {
            let imported = self.agent.import(state, &mut cx);
            assert!(imported.is_ok(), "{imported:?}");
        }
        for (to, packet) in outbox.packets {
            self.pass_on(packet, to);
        }
    }

    /// Handshakes that are begun, and perhaps gone on with, between other ports.
    fn flood(&mut self, from: Side, octets: &mut Octets<'_>) {
        for _ in 0..=octets.below(64) {
            let flags = octets.pick(&[
                TcpFlags::SYN,
                TcpFlags::SYN,
                TcpFlags::SYN.with(TcpFlags::ACK),
                TcpFlags::ACK,
            ]);
            let port = FIRST_OTHER_PORT + u16::from(octets.octet());
            let mut packet = Self::segment_from(from, flags, Seq(u32::from(port)), Seq(1));
            if let Some(tcp) = packet.tcp_mut() {
                tcp.source_port = port;
            }
            self.show(packet, from);
        }
    }

    /// A segment in a host's name, with numbers that no end has in its window. Not in a handshake, in
    /// which any end would fall for it.
    fn forge(&mut self, from: Side, octets: &mut Octets<'_>) {
        if self.ends.iter().any(is_opening) {
            return;
        }
        let (sender, receiver) = match from {
            Side::Core => (&self.ends[0], &self.ends[1]),
            Side::Radio => (&self.ends[1], &self.ends[0]),
        };
        let seq = sender.connection.flight().max + FAR + (octets.long() & (FAR - 1));
        let ack = receiver.connection.flight().una + octets.long();
        let flags = octets.pick(&[
            TcpFlags::RST,
            TcpFlags::RST.with(TcpFlags::ACK),
            TcpFlags::SYN,
            TcpFlags::SYN.with(TcpFlags::ACK),
            TcpFlags::FIN.with(TcpFlags::ACK),
            TcpFlags::ACK,
        ]);
        let len =
            if flags.has(TcpFlags::RST) || flags.has(TcpFlags::SYN) { 0 } else { octets.pick(&[0, 1, 1000]) };
        let mut packet = Self::segment_from(from, flags, seq, ack);
        if let Some(tcp) = packet.tcp_mut() {
            tcp.window = octets.pick(&[0, 1, u16::MAX]);
            for _ in 0..octets.below(4) {
                tcp.options.sack.push(ack + u32::from(octets.short()), ack + u32::from(octets.short()));
            }
        }
        packet.set_payload(Payload::Stream { stream: 9, offset: 0, len });
        if octets.flag() {
            self.show(packet, from);
        } else {
            self.ends[1 - index(from)].connection.on_segment(&packet, self.now);
        }
    }

    /// A datagram between the hosts that may look like RTP.
    fn datagram(&mut self, from: Side, octets: &mut Octets<'_>) {
        let (source, destination) = Self::hosts(from);
        let mut payload: Vec<u8> = (0..octets.below(40)).map(|_| octets.octet()).collect();
        if let Some(first) = payload.first_mut().filter(|_| octets.flag()) {
            *first = *first & 0x3f | 0x80;
        }
        let udp = Udp { source_port: 5004, destination_port: u16::from(octets.octet()) * 2 };
        let payload = Payload::Bytes(Bytes::from(payload));
        self.show(Packet::new(Ip::new(source.0, destination.0), Transport::Udp(udp), payload), from);
    }

    const fn hosts(from: Side) -> ((IpAddr, u16), (IpAddr, u16)) {
        match from {
            Side::Core => (SERVER, PHONE),
            Side::Radio => (PHONE, SERVER),
        }
    }

    fn segment_from(from: Side, flags: TcpFlags, seq: Seq, ack: Seq) -> Packet {
        let (source, destination) = Self::hosts(from);
        let (source_port, destination_port) = (source.1, destination.1);
        let tcp = Tcp { source_port, destination_port, seq, ack, flags, window: u16::MAX, ..Tcp::default() };
        Packet::tcp_segment(Ip::new(source.0, destination.0), tcp, Payload::EMPTY)
    }

    /// The next packet from an end comes to the agent.
    fn carry(&mut self, from: Side) {
        if let Some(packet) = self.arriving[index(from)].pop_front() {
            self.show(packet, from);
        }
    }

    /// The next packet to an end comes there.
    fn deliver(&mut self, to: Side) {
        if let Some(packet) = self.leaving[index(to)].pop_front() {
            self.ends[index(to)].connection.on_segment(&packet, self.now);
        }
        self.transmit();
    }

    fn show(&mut self, mut packet: Packet, from: Side) {
        let verdict = self.call(|agent, cx| agent.on_packet(&mut packet, from, cx));
        if verdict == Verdict::Forward {
            self.pass_on(packet, from.opposite());
        }
        self.transmit();
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R) -> R {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox).within(BUDGET);
        let result = f(self.agent.as_mut(), &mut cx);
        assert!(outbox.packets.len() <= 1000, "{} packets at once", outbox.packets.len());
        let octets = self.agent.octets();
        assert!(octets <= BUDGET.octets_in_all + BUDGET.octets_per_flow, "{octets} octets are held");
        for (to, packet) in outbox.packets {
            self.pass_on(packet, to);
        }
        result
    }

    /// A packet leaves the agent. What is not for the two ends is lost.
    fn pass_on(&mut self, packet: Packet, to: Side) {
        let ends = Self::hosts(to.opposite());
        if packet.tcp().is_none() || packet.flow_key().is_none_or(|key| (key.source, key.destination) != ends)
        {
            return;
        }
        let leaving = &mut self.leaving[index(to)];
        if leaving.len() == ON_THE_WIRE {
            leaving.pop_front();
        }
        leaving.push_back(packet);
    }

    /// Takes what the ends send, and reads what has come.
    fn transmit(&mut self) {
        for (end, arriving) in self.ends.iter_mut().zip(&mut self.arriving) {
            end.read();
            while let Some(packet) = end.connection.poll_transmit(self.now) {
                if arriving.len() == ON_THE_WIRE {
                    arriving.pop_front();
                }
                arriving.push_back(packet);
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let of_ends = self.ends.iter().filter_map(|end| end.connection.deadline()).map(|due| due.at);
        of_ends.chain(self.agent.deadline().map(|due| due.at)).min()
    }

    fn wait_for_a_timer(&mut self) {
        let Some(next) = self.next_timer() else { return };
        self.now = self.now.max(next);
        for end in &mut self.ends {
            if end.connection.deadline().is_some_and(|due| due.at <= self.now) {
                end.connection.on_deadline(self.now);
            }
        }
        if self.agent.deadline().is_some_and(|due| due.at <= self.now) {
            self.call(|agent, cx| agent.on_deadline(cx));
        }
        self.transmit();
    }

    fn wait(&mut self, time: Duration) {
        let until = (self.now + time).min(GOOD_FROM);
        for _ in 0..ENOUGH {
            if self.next_timer().is_none_or(|next| next > until) {
                self.now = self.now.max(until);
                return;
            }
            self.wait_for_a_timer();
        }
        panic!("timers without end");
    }

    /// What is on the wires arrives, in a millisecond.
    fn everything_arrives(&mut self) {
        self.now += Duration::from_millis(1);
        for side in [Side::Core, Side::Radio] {
            for _ in 0..self.arriving[index(side)].len() {
                self.carry(side);
            }
            for _ in 0..self.leaving[index(side)].len() {
                self.deliver(side);
            }
        }
    }

    /// Over good wires everything arrives, and both ends close.
    fn finish(&mut self) {
        self.go_on_until(|end| !is_opening(end));
        self.ends.iter_mut().for_each(End::close);
        self.transmit();
        self.go_on_until(is_closed);
        let [server, phone] = &self.ends;
        for (from, to) in [(server, phone), (phone, server)] {
            assert!(is_closed(from), "it does not end: {:?}", from.connection.state());
            from.assert_arrived_at(to);
        }
    }

    fn go_on_until(&mut self, is_reached: fn(&End) -> bool) {
        for _ in 0..ENOUGH {
            if self.ends.iter().all(is_reached) {
                return;
            }
            let mut wires = self.arriving.iter().chain(&self.leaving);
            if wires.all(VecDeque::is_empty) {
                self.wait_for_a_timer();
            }
            self.everything_arrives();
        }
    }
}
