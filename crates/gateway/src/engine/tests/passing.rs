//! Tests of which frames pass unchanged, and of the ports and link headers of generated packets.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lasthop_agent::counter::{DROPPED_HELD, FULL};
use lasthop_agent::{Accounts, Agent, Context, Stateless, Transfer};
use lasthop_packet::wire::parse;
use lasthop_packet::{Icmp, Payload, Transport, Udp};
use portable_atomic::AtomicU64;

use super::support::*;
use crate::engine::*;
use bytes::Bytes;

#[test]
fn frames_that_no_agent_understands_are_forwarded_unchanged_and_in_order() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut bench = Bench::with_agent(move || Watcher(Arc::clone(&count)));
    let tcp = frame(&FROM_SERVER, &down(1, 1, 100, ACK)).octets.to_vec();
    let edit = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut octets = tcp.clone();
        change(&mut octets);
        fix_ip_checksum(&mut octets);
        Frame::plain(octets.into())
    };
    let quic = Packet::new(
        *down(1, 1, 0, ACK).ip(),
        Transport::Udp(Udp { source_port: 443, destination_port: 50_000 }),
        Payload::Stream { stream: 2, offset: 0, len: 1200 },
    );
    let ping = Packet::new(
        *down(1, 1, 0, ACK).ip(),
        Transport::Icmp(Icmp { kind: 8, code: 0, rest_of_header: [0; 4] }),
        Payload::EMPTY,
    );
    let mut options = tcp.clone();
    options[14] = 0x46;
    options.splice(34..34, [1, 1, 1, 0]);
    let total = (options.len() - 14) as u16;
    options[16..18].copy_from_slice(&total.to_be_bytes());
    fix_ip_checksum(&mut options);
    let frames = vec![
        frame(&FROM_SERVER, &quic),
        frame(&FROM_SERVER, &ping),
        edit(&|octets| octets[20] = 0x20),       // a first fragment
        edit(&|octets| octets[21] = 5),          // a later one
        edit(&|octets| octets[23] = 50),         // ESP
        edit(&|octets| octets[60] ^= 1),         // a wrong TCP checksum
        Frame::plain(options.into()),            // IP options
        Frame::plain(tcp[..40].to_vec().into()), // cut off
        Frame::plain(vec![0xff; 60].into()),     // no IP
        Frame::plain(Bytes::new()),              // nothing
    ];
    for frame in &frames {
        bench.engine.on_frame(CORE, frame.clone(), bench.now, &mut bench.out);
    }
    let out: Vec<Frame> = bench
        .take()
        .into_iter()
        .map(|(port, frame)| {
            assert_eq!(port, CORE);
            frame
        })
        .collect();
    assert_eq!(out, frames);
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    assert_eq!(bench.counters().passed.sum(), frames.len() as u64);
    assert_eq!(bench.counters().passed.wrong_checksum, 1);
    assert_eq!(bench.counters().passed.not_tcp, 2);
}

fn fix_ip_checksum(octets: &mut [u8]) {
    let len = usize::from(octets[14] & 15) * 4;
    octets[24..26].fill(0);
    let sum: u32 =
        octets[14..14 + len].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    octets[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[test]
fn a_frame_that_an_agent_does_not_edit_keeps_its_offloads_and_padding() {
    let mut bench = Bench::with_agent(Watcher::default);
    bench.shake_hands(1);
    let mut padded = frame(&FROM_CLIENT, &up(1, 1, 0, ACK)).octets.to_vec();
    padded.extend([0xaa; 6]);
    let padded = Frame::plain(padded.into());
    assert_eq!(bench.push(RADIO, padded.clone()), [(RADIO, padded)]);
    let large = Frame {
        checksum: crate::frame::Checksum::Right,
        segment_size: NonZeroU16::new(1448),
        ..frame(&FROM_SERVER, &down(1, 1, 14_480, ACK))
    };
    assert_eq!(bench.push(CORE, large.clone()), [(CORE, large)]);
    assert_eq!(bench.engine.report().agents.packets.forwarded, 5);
    assert_eq!(
        bench.engine.flows(0, bench.now).flows[0].packets_from_core,
        11,
        "a super-packet counts its segments"
    );
}

/// Sends a copy and an acknowledgment for each data segment, an ICMP message, and a segment of an
/// unknown connection.
struct Echo;

impl Agent for Echo {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if packet.payload().is_empty() {
            return Verdict::Forward;
        }
        assert_eq!(from, Side::Core);
        cx.send(Side::Radio, packet.clone());
        cx.send(Side::Core, up(1, 101, 0, ACK));
        let message = Icmp { kind: 3, code: 0, rest_of_header: [0; 4] };
        let message = Packet::new(*up(1, 0, 0, ACK).ip(), Transport::Icmp(message), Payload::EMPTY);
        cx.send(Side::Core, message);
        cx.send(Side::Radio, down(9999, 1, 100, ACK));
        Verdict::Drop(&FULL)
    }
}

impl Stateless for Echo {}

#[test]
fn generated_packets_use_the_ports_and_link_headers_of_their_connection() {
    let mut bench = Bench::with_agent(|| Echo);
    bench.shake_hands(1);
    let ports_and_links = |out: &[(PortId, Frame)]| -> Vec<(PortId, Vec<u8>)> {
        out.iter()
            .map(|(port, frame)| {
                let link = LinkHeader::ethernet(&frame.octets).expect("an Ethernet header");
                (*port, link.octets().to_vec())
            })
            .collect()
    };
    let (core, radio) = ((CORE, FROM_SERVER.to_vec()), (RADIO, FROM_CLIENT.to_vec()));
    // To the radio side as if from the core side, to the core side as if from the radio side, with
    // its VLAN tag.
    let out = bench.on_core(&down(1, 1, 100, ACK));
    assert_eq!(ports_and_links(&out), [core.clone(), radio.clone(), radio]);
    assert_eq!(bench.counters().counts.unaddressed, 1, "nobody knows the connection of the last");
    let copy = parse(out[0].1.octets.slice(14..)).expect("an IP packet");
    assert_eq!(copy.tcp().map(|tcp| tcp.seq.0), Some(1));

    // The client roams: another link header.
    let mut roamed = FROM_CLIENT;
    roamed[11] = 9;
    bench.push(RADIO, frame(&roamed, &up(1, 1, 0, ACK)));
    let out = bench.on_core(&down(1, 101, 100, ACK));
    assert_eq!(ports_and_links(&out)[1], (RADIO, roamed.to_vec()));
    assert_eq!(bench.engine.report().agents.dropped.get(&FULL), 2);
    assert_eq!(bench.engine.flows(0, bench.now).flows[0].sent_by_agent, 6);
}

/// Panics at data segments.
struct Fragile;

impl Agent for Fragile {
    fn on_packet(&mut self, packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
        if !packet.payload().is_empty() {
            cx.send(Side::Radio, packet.clone());
            if let Some(tcp) = packet.tcp_mut() {
                tcp.window = 7;
            }
            panic!("this is what the test wants");
        }
        Verdict::Forward
    }
}

impl Stateless for Fragile {}

#[test]
fn packets_pass_when_the_agent_panics_and_too_many_panics_end_it() {
    let mut bench = Bench::with_agent(|| Fragile);
    bench.shake_hands(1);
    for round in 0..8 {
        let data = frame(&FROM_SERVER, &down(1, 1 + 100 * round, 100, ACK));
        assert_eq!(
            bench.push(CORE, data.clone()),
            [(CORE, data)],
            "in the octets that it came in, and nothing else"
        );
    }
    let report = bench.engine.report();
    assert_eq!((report.rules[0].counters.packets.panics, report.rules[0].given_up), (5, true));
    assert_eq!(report.counters.passed.broken_agent, 8);
    let ack = frame(&FROM_CLIENT, &up(1, 801, 0, ACK));
    assert_eq!(bench.push(RADIO, ack.clone()), [(RADIO, ack)]);
    // The next reload tries again.
    let again = plan(vec![rule("test", || Fragile)]);
    bench.engine.reload(&again, bench.now, &mut bench.out);
    assert!(!bench.engine.report().rules[0].given_up);
}

/// Holds data; panics at the fourth segment.
#[derive(Default)]
struct Hoarder(u64);

impl Agent for Hoarder {
    fn on_packet(&mut self, packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        if packet.payload().is_empty() {
            return Verdict::Forward;
        }
        assert!(self.0 < 3, "this is what the test wants");
        self.0 += 1;
        Verdict::Absorb
    }
}

impl Accounts for Hoarder {
    fn held(&self) -> u64 {
        self.0
    }
}

impl Transfer for Hoarder {}

#[test]
fn packets_held_by_an_agent_that_panics_are_counted_as_dropped() {
    let mut bench = Bench::with_agent(Hoarder::default);
    bench.shake_hands(1);
    for round in 0..4 {
        bench.push(CORE, frame(&FROM_SERVER, &down(1, 1 + 100 * round, 100, ACK)));
    }
    let agents = bench.engine.report().agents;
    let counts = (agents.packets.absorbed, agents.packets.panics, agents.reported.get(&DROPPED_HELD));
    assert_eq!((counts, bench.engine.report().held), ((3, 1, 3), 0));
}

#[test]
fn traffic_without_a_rule_or_with_a_rule_without_agent_is_not_shown() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut web = rule("web", move || Watcher(Arc::clone(&count)));
    web.traffic.ports = vec!["80".parse().expect("a port")];
    let mut nothing = web.clone();
    nothing.agent = None;
    nothing.traffic.ports = Vec::new();
    nothing.traffic.prefixes = vec!["10.0.0.0/8".parse().expect("a prefix")];
    let mut bench = Bench::new(&plan(vec![web.clone(), nothing.clone()]));
    bench.shake_hands(1);
    assert_eq!(seen.load(Ordering::Relaxed), 3);
    // The first rule that matches counts.
    let mut bench = Bench::new(&plan(vec![nothing, web]));
    bench.shake_hands(1);
    assert_eq!((seen.load(Ordering::Relaxed), bench.counters().passed.unwanted), (3, 3));
    assert_eq!(bench.engine.report().connections, 0);
}

/// RFC 9293, section 3.9.2.3: a SYN to a broadcast or multicast address opens no connection.
#[test]
fn a_frame_to_a_group_address_is_shown_to_no_agent() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut bench = Bench::with_agent(move || Watcher(Arc::clone(&count)));
    for to in [[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [0x33, 0x33, 0, 0, 0, 1]] {
        let mut link = FROM_SERVER;
        link[..6].copy_from_slice(&to);
        let syn = frame(&link, &down(1, 0, 0, TcpFlags::SYN));
        assert_eq!(bench.push(CORE, syn.clone()), [(CORE, syn)]);
    }
    assert_eq!((seen.load(Ordering::Relaxed), bench.engine.report().connections), (0, 0));
}
