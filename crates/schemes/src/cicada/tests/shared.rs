//! Downloads of several hosts over one hop of 20 Mbit/s and 4 ms, with and without calls.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Agent as _, Side};
use lasthop_packet::rtp::Rtp;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags, Transport, Udp};

use super::seat::Seat;
use crate::cicada::{Cicada, Settings};

const FIXED: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 80);
const SEGMENT: u32 = 1460;
/// Octets per second.
const RATE: u64 = 2_500_000;
const WINDOW: u32 = 65_535;

/// Measurements from 5 to 10 s, and from 25 to 30 s, after the end of a call.
#[derive(Debug, Default)]
struct Measured {
    delivered: u64,
    /// The part of it to the last host.
    delivered_to_last: u64,
    waited: Duration,
    packets: u32,
}

impl Measured {
    /// The share of the rate, and the mean waiting time in milliseconds.
    fn of_five_seconds(&self) -> (f64, f64) {
        let waited = self.waited.as_secs_f64() * 1e3 / f64::from(self.packets.max(1));
        (self.delivered as f64 / (5 * RATE) as f64, waited)
    }

    /// The share of the last host in the delivered octets.
    fn of_last_host(&self) -> f64 {
        self.delivered_to_last as f64 / self.delivered as f64
    }
}

struct World {
    seat: Seat,
    now: Instant,
    connections: Vec<FlowKey>,
    index: HashMap<FlowKey, usize>,
    /// For each connection: the server's next number, its window edge, the host's next number.
    next: Vec<u32>,
    edge: Vec<u32>,
    got: Vec<u32>,
    free: Instant,
    /// Segments on the hop: arrival time, connection and number.
    on_hop: BinaryHeap<Reverse<(Instant, u64, usize, u32)>>,
    /// Hosts up to this one receive nothing any more.
    dead: usize,
    /// Hosts up to this one send data, and then a reset, after 3 s.
    resetting: usize,
    measured: [Measured; 2],
}

fn segment(key: FlowKey, seq: u32, len: u32, flags: TcpFlags, ack: u32) -> Packet {
    let mut tcp = Tcp {
        source_port: key.source.1,
        destination_port: key.destination.1,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 65_535,
        ..Tcp::default()
    };
    if flags.has(TcpFlags::SYN) {
        tcp.options.maximum_segment_size = Some(SEGMENT as u16);
    }
    let payload = Payload::Stream { stream: 0, offset: u64::from(seq), len };
    Packet::tcp_segment(Ip::new(key.source.0, key.destination.0), tcp, payload)
}

impl World {
    /// One host for each of these numbers of connections.
    fn new(connections: &[u16]) -> Self {
        let mut seat = Seat::new(Settings::default());
        seat.is_watched = false;
        let of_host = |(host, count): (u8, &u16)| {
            (5000..5000 + count).map(move |port| FlowKey::tcp(FIXED, ([10, 0, 1, host].into(), port)))
        };
        let connections: Vec<FlowKey> = (1..).zip(connections).flat_map(of_host).collect();
        let count = connections.len();
        let mut world = Self {
            seat,
            now: Instant::from_secs(1),
            index: connections.iter().enumerate().map(|(index, key)| (*key, index)).collect(),
            connections,
            next: vec![1001; count],
            edge: vec![1001 + WINDOW; count],
            got: vec![1001; count],
            free: Instant::ZERO,
            on_hop: BinaryHeap::new(),
            dead: 0,
            resetting: 0,
            measured: Default::default(),
        };
        for key in world.connections.clone() {
            world.show(segment(key, 1000, 0, TcpFlags::SYN, 0), Side::Core);
            world
                .show(segment(key.reversed(), 5000, 0, TcpFlags::SYN.with(TcpFlags::ACK), 1001), Side::Radio);
            world.show(segment(key, 1001, 0, TcpFlags::ACK, 5001), Side::Core);
        }
        world
    }

    /// Runs for 30 s; with a call until the 15th second if `has_call`.
    fn run(mut self, has_call: bool) -> [Measured; 2] {
        let start = self.now;
        let mut talked = 0;
        self.feed();
        loop {
            let passed = self.now.since(start);
            if has_call && passed < Duration::from_secs(15) && passed >= Duration::from_secs(talked) {
                self.talk(talked as u16 * 80);
                talked += 1;
            }
            if passed >= Duration::from_secs(3) {
                let resetting = self.connections[..std::mem::take(&mut self.resetting)].to_vec();
                for key in resetting {
                    self.show(segment(key.reversed(), 5001, 1000, TcpFlags::ACK, 1001), Side::Radio);
                    self.show(segment(key.reversed(), 6001, 0, TcpFlags::RST, 0), Side::Radio);
                }
            }
            let due = self.seat.deadline().map(|deadline| deadline.at.max(self.now));
            let arrival = self.on_hop.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = due.into_iter().chain(arrival).min() else { break };
            if at.since(start) > Duration::from_secs(30) {
                break;
            }
            self.now = at;
            if arrival == Some(at) {
                self.arrive();
            } else if let Some(((), sent)) = self.seat.call(at, Cicada::on_deadline) {
                self.pass_on(sent);
            }
            self.feed();
        }
        self.measured
    }

    fn show(&mut self, mut packet: Packet, from: Side) {
        let shown = self.seat.call(self.now, |agent, cx| agent.on_packet(&mut packet, from, cx));
        self.pass_on(shown.expect("there is an agent").1);
    }

    /// The server always has more data.
    fn feed(&mut self) {
        for index in 0..self.connections.len() {
            while self.edge[index].wrapping_sub(self.next[index]) >= SEGMENT {
                let packet = segment(self.connections[index], self.next[index], SEGMENT, TcpFlags::ACK, 5001);
                self.next[index] += SEGMENT;
                self.show(packet, Side::Core);
            }
        }
    }

    fn pass_on(&mut self, sent: Vec<(Side, Packet)>) {
        for (to, packet) in sent {
            let (Some(key), Some(tcp)) = (packet.flow_key(), packet.tcp()) else { continue };
            if to == Side::Core {
                let index = self.index[&key.reversed()];
                let edge = tcp.ack.0 + u32::from(tcp.window);
                self.edge[index] = self.edge[index].max(edge);
            } else if !packet.payload().is_empty() {
                let starts = self.free.max(self.now);
                let waited = starts.since(self.now);
                let octets = packet.payload().len() as u64;
                self.free = starts + Duration::from_micros(octets * 1_000_000 / RATE);
                if let Some(measured) = self.window_of_time() {
                    measured.waited += waited;
                    measured.packets += 1;
                }
                let index = self.index[&key];
                if index >= self.dead {
                    let at = self.free + Duration::from_millis(4);
                    self.on_hop.push(Reverse((at, self.on_hop.len() as u64, index, tcp.seq.0)));
                }
            }
        }
    }

    fn arrive(&mut self) {
        let Some(Reverse((_, _, index, seq))) = self.on_hop.pop() else { return };
        if seq == self.got[index] {
            self.got[index] += SEGMENT;
            let is_last = self.connections[index].destination.0
                == self.connections[self.connections.len() - 1].destination.0;
            if let Some(measured) = self.window_of_time() {
                measured.delivered += u64::from(SEGMENT);
                measured.delivered_to_last += if is_last { u64::from(SEGMENT) } else { 0 };
            }
        }
        let ack = segment(self.connections[index].reversed(), 5001, 0, TcpFlags::ACK, self.got[index]);
        self.show(ack, Side::Radio);
    }

    fn window_of_time(&mut self) -> Option<&mut Measured> {
        match self.now.since(Instant::from_secs(1)).as_secs() {
            5..10 => Some(&mut self.measured[0]),
            25..30 => Some(&mut self.measured[1]),
            _ => None,
        }
    }

    /// A second of a call of another host.
    fn talk(&mut self, first: u16) {
        let ends = [(FIXED.0, 5004), (IpAddr::from([10, 0, 9, 9]), 6000)];
        for number in 0..80 {
            for (from, [source, destination]) in [(Side::Core, ends), (Side::Radio, [ends[1], ends[0]])] {
                let sequence = first.wrapping_add(number);
                let header = Rtp { marker: false, payload_type: 0, sequence, timestamp: 0, ssrc: 1 };
                let udp = Udp { source_port: source.1, destination_port: destination.1 };
                let payload = Payload::Bytes(Bytes::copy_from_slice(&header.octets()));
                self.show(Packet::new(Ip::new(source.0, destination.0), Transport::Udp(udp), payload), from);
            }
        }
    }
}

#[test]
fn a_call_shortens_the_queue_of_many_hosts_and_its_end_releases_all() {
    let [(before, waited), (after, _)] =
        World::new(&[1; 10]).run(false).map(|measured| measured.of_five_seconds());
    assert!(before > 0.95 && after > 0.95, "{before}, {after}");
    assert!(waited > 20.0, "ten hosts with windows of ten segments at least: {waited} ms");
    let [(beside, waited), (after, later)] =
        World::new(&[1; 10]).run(true).map(|measured| measured.of_five_seconds());
    assert!(beside > 0.95 && waited < 6.0, "{beside}, {waited} ms");
    assert!(after > 0.95 && later > 20.0, "{after}, {later} ms");
}

#[test]
fn disappeared_hosts_take_no_room_in_a_shared_window() {
    let mut world = World::new(&[1; 10]);
    world.dead = 8;
    let (share, _) = world.run(true)[0].of_five_seconds();
    assert!(share > 0.7, "what goes to the others is sent in vain: {share}");
}

#[test]
fn hosts_after_a_reset_take_no_room_in_a_shared_window() {
    let mut world = World::new(&[1; 10]);
    (world.dead, world.resetting) = (8, 8);
    let (share, _) = world.run(true)[0].of_five_seconds();
    assert!(share > 0.7, "what was on the hop to the others is gone: {share}");
}

#[test]
fn a_reset_connection_takes_no_room_of_its_hosts_others() {
    let mut world = World::new(&[10]);
    (world.dead, world.resetting) = (8, 8);
    let (share, _) = world.run(false)[0].of_five_seconds();
    assert!(share > 0.7, "what was on the hop of the others is gone: {share}");
}

#[test]
fn hosts_share_the_window_during_calls_evenly_for_any_number_of_connections() {
    let [beside, _] = World::new(&[10, 1]).run(true);
    let (share, _) = beside.of_five_seconds();
    assert!(share > 0.95, "{share}");
    let of_last = beside.of_last_host();
    assert!((0.45..0.55).contains(&of_last), "one connection beside ten: {of_last}");
}
