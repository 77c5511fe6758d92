//! Tests of datagrams: which of them an agent sees, and the bounds of their number.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Agent, Context, Side, Stateless};
use lasthop_packet::{Ip, Payload, Transport, Udp};
use portable_atomic::AtomicU64;

use super::support::*;
use crate::engine::*;

/// Takes datagrams, and has no use for those shorter than `enough`.
struct Listener {
    seen: Arc<AtomicU64>,
    enough: usize,
}

impl Agent for Listener {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if packet.tcp().is_none() {
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
        if packet.payload().len() < self.enough {
            cx.leave_alone(from.connection(packet.flow_key().expect("only what has one is shown")));
        }
        Verdict::Forward
    }

    fn takes_datagrams(&self) -> bool {
        true
    }
}

impl Stateless for Listener {}

fn listening(enough: usize) -> (Bench, Arc<AtomicU64>) {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let bench = Bench::with_agent(move || Listener { seen: Arc::clone(&count), enough });
    (bench, seen)
}

const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 5004);

/// A datagram from the server to a port of the client.
fn datagram(port: u16, first: u8, len: usize) -> Packet {
    let (source, destination) = (SERVER, client(port));
    let udp = Udp { source_port: source.1, destination_port: destination.1 };
    let payload = Payload::Bytes(Bytes::from(vec![first; len]));
    Packet::new(Ip::new(source.0.into(), destination.0.into()), Transport::Udp(udp), payload)
}

fn key(port: u16) -> FlowKey {
    let ((source, source_port), (destination, destination_port)) = (SERVER, client(port));
    FlowKey::udp((Ipv4Addr::into(source), source_port), (destination.into(), destination_port))
}

const RTP: u8 = 0x80;
const QUIC: u8 = 0x40;

#[test]
fn an_agent_that_takes_datagrams_sees_possible_rtp_even_in_one_direction_only() {
    let (mut bench, seen) = listening(0);
    for (first, expected) in [(RTP, 1), (QUIC, 1), (RTP, 2), (0xc0, 2), (0x01, 2)] {
        let frame = frame(&FROM_SERVER, &datagram(2001, first, 100));
        assert_eq!(bench.push(CORE, frame.clone()), [(CORE, frame)]);
        assert_eq!(seen.load(Ordering::Relaxed), expected);
    }
    assert_eq!((bench.counters().passed.not_tcp, bench.engine.report().connections), (3, 1));
    assert_eq!(bench.engine.flows(0, bench.now).flows[0].state, "datagrams");
    for _ in 0..1000 {
        bench.later(Duration::from_millis(20));
        bench.on_core(&datagram(2001, RTP, 100));
    }
    assert!(bench.out.set_aside.is_empty(), "a stream may have one direction");
    bench.later(Duration::from_secs(61));
    bench.engine.on_deadline(bench.now, &mut bench.out);
    assert_eq!(bench.engine.report().connections, 0, "idle for a minute");
}

#[test]
fn no_datagram_is_seen_if_no_agent_takes_datagrams() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut bench = Bench::with_agent(move || Watcher(Arc::clone(&count)));
    assert_eq!(bench.on_core(&datagram(2001, RTP, 100)).len(), 1);
    assert_eq!((seen.load(Ordering::Relaxed), bench.counters().passed.not_tcp), (0, 1));
    assert_eq!(bench.engine.report().connections, 0);
}

#[test]
fn flows_for_which_an_agent_has_no_use_are_set_aside() {
    let (mut bench, seen) = listening(50);
    bench.on_core(&datagram(2001, RTP, 49));
    bench.on_core(&datagram(2002, RTP, 50));
    assert_eq!(bench.out.set_aside, [key(2001)]);
    assert_eq!(bench.counters().counts.aside_no_use, 1);
    bench.on_core(&datagram(2001, RTP, 100));
    assert_eq!((seen.load(Ordering::Relaxed), bench.counters().passed.aside), (2, 1));
    // So is a TCP connection, until another one uses its ports.
    bench.shake_hands(3);
    assert_eq!(bench.out.set_aside.len(), 2);
    bench.shake_hands(3);
    assert_eq!(bench.out.set_aside.len(), 3);
}

#[test]
fn datagrams_that_were_set_aside_are_diverted_again_after_they_expire() {
    let (mut bench, seen) = listening(50);
    bench.on_core(&datagram(2001, RTP, 49));
    assert!(bench.out.diverted_again.is_empty());
    // The kernel does not divert them any more.
    bench.later(Duration::from_secs(61));
    bench.engine.on_deadline(bench.now, &mut bench.out);
    assert_eq!(bench.out.diverted_again, [key(2001)]);
    bench.on_core(&datagram(2001, RTP, 100));
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[test]
fn flows_without_use_are_shown_to_the_agent_again_after_a_reload() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let plan = plan(vec![rule("test", move || Listener { seen: Arc::clone(&count), enough: 50 })]);
    let mut bench = Bench::new(&plan);
    bench.on_core(&datagram(2001, RTP, 49));
    bench.engine.reload(&plan, bench.now, &mut bench.out);
    assert_eq!(bench.out.diverted_again, [key(2001)]);
    bench.on_core(&datagram(2001, RTP, 100));
    assert_eq!((seen.load(Ordering::Relaxed), bench.counters().passed.aside), (2, 0));
}

#[test]
fn the_same_ports_of_tcp_and_udp_are_two_connections() {
    let (mut bench, _) = listening(0);
    bench.shake_hands(1);
    bench.on_core(&datagram(2001, RTP, 100));
    assert_eq!(bench.engine.report().connections, 2);
}

#[test]
fn a_flood_of_datagrams_is_limited_to_its_share_of_the_table() {
    let (mut bench, seen) = listening(0);
    bench.shake_hands(1);
    for port in 2001..=22_000 {
        assert_eq!(bench.on_core(&datagram(port, RTP, 20)).len(), 1, "each passes");
        bench.later(Duration::from_millis(1));
    }
    assert_eq!(bench.engine.report().connections, 1 + 25, "a quarter of 100");
    assert!(bench.engine.connections.find(super::support::key(1)).is_some());
    let counters = bench.counters();
    assert!(counters.passed.table_full > 19_000 && counters.counts.evicted > 100, "{counters:?}");
    assert_eq!(seen.load(Ordering::Relaxed), 20_000 - counters.passed.table_full);
    // Connections use the free slots.
    for port in 100..200 {
        bench.shake_hands(port);
    }
    assert_eq!(bench.engine.report().connections, 100);
}

#[test]
fn datagrams_above_their_share_evict_no_connection() {
    let (mut bench, _) = listening(0);
    for port in 1..=75 {
        bench.shake_hands(port);
    }
    for port in 2001..=2025 {
        bench.on_core(&datagram(port, RTP, 20));
    }
    bench.later(Duration::from_millis(999));
    assert_eq!(bench.on_core(&datagram(2026, RTP, 20)).len(), 1);
    bench.later(Duration::from_secs(100));
    for port in 2001..=2025 {
        bench.on_core(&datagram(port, RTP, 20));
    }
    assert_eq!(bench.on_core(&datagram(2027, RTP, 20)).len(), 1);
    assert_eq!((bench.engine.report().connections, bench.counters().counts.evicted), (100, 0));
    assert_eq!(bench.counters().passed.table_full, 2);
}

#[test]
fn datagrams_of_a_well_known_port_are_not_treated_as_rtp() {
    let (mut bench, seen) = listening(0);
    bench.on_core(&datagram(53, RTP, 100));
    assert_eq!((seen.load(Ordering::Relaxed), bench.counters().passed.not_tcp), (0, 1));
}

#[test]
fn a_flood_of_datagrams_evicts_no_idle_connection() {
    let (mut bench, _) = listening(0);
    for port in 1..=100 {
        bench.shake_hands(port);
    }
    // After the grace of established connections, long before their idle time.
    bench.later(Duration::from_secs(11));
    for port in 2001..=2100 {
        bench.on_core(&datagram(port, RTP, 20));
    }
    let connections =
        (1..=100).filter(|port| bench.engine.connections.find(super::support::key(*port)).is_some());
    assert_eq!(connections.count(), 100);
}

#[test]
fn a_flow_that_is_restored_in_the_turn_that_set_it_aside_is_not_aside() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let plan = plan(vec![rule("test", move || Listener { seen: Arc::clone(&count), enough: 50 })]);
    let mut bench = Bench::new(&plan);
    bench.on_core(&datagram(2001, RTP, 49));
    bench.engine.reload(&plan, bench.now, &mut bench.out);
    // In the order of the packet loop: restored flows before those set aside.
    let mut aside: Vec<FlowKey> = Vec::new();
    aside.retain(|flow| !bench.out.diverted_again.contains(flow));
    aside.extend(&bench.out.set_aside);
    assert_eq!(aside, []);
}
