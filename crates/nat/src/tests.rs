//! The rules, one by one.

mod errors;
mod limits;
mod mapping;
mod moves;
mod tcp;
mod two_levels;

use std::net::{Ipv4Addr, SocketAddrV4};

use bytes::Bytes;
use lasthop_packet::wire::{checksums_are_right, emit, parse};
use lasthop_packet::{Icmp, Instant, Ip, Packet, Payload, Rng, Tcp, TcpFlags, Transport, Udp};

use crate::{Endpoint, Nat, NatConfig, Protocol, Refusal, Verdict};

const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 80), 80);

fn nat() -> Nat {
    nat_with(|_| {})
}

fn nat_with(change: impl FnOnce(&mut NatConfig)) -> Nat {
    let mut config = NatConfig::new(vec![OUTSIDE]);
    change(&mut config);
    Nat::new(config, Rng::named(1, "nat")).expect("the settings are possible")
}

fn at(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

fn host(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(HOST, port)
}

fn inside(protocol: Protocol, port: u16) -> Endpoint {
    Endpoint::new(protocol, host(port))
}

fn outside(protocol: Protocol, port: u16) -> Endpoint {
    Endpoint::new(protocol, SocketAddrV4::new(OUTSIDE, port))
}

fn ip(from: Ipv4Addr, to: Ipv4Addr) -> Ip {
    Ip::new(from.into(), to.into())
}

fn segment(from: SocketAddrV4, to: SocketAddrV4, flags: TcpFlags) -> Packet {
    let tcp = Tcp { source_port: from.port(), destination_port: to.port(), flags, ..Tcp::default() };
    let payload = Payload::Stream { stream: 1, offset: 0, len: 33 };
    Packet::tcp_segment(ip(*from.ip(), *to.ip()), tcp, payload)
}

fn syn(from: SocketAddrV4, to: SocketAddrV4) -> Packet {
    segment(from, to, TcpFlags::SYN)
}

fn datagram(from: SocketAddrV4, to: SocketAddrV4) -> Packet {
    let udp = Transport::Udp(Udp { source_port: from.port(), destination_port: to.port() });
    Packet::new(ip(*from.ip(), *to.ip()), udp, Payload::Stream { stream: 2, offset: 0, len: 160 })
}

fn echo(from: Ipv4Addr, to: Ipv4Addr, kind: u8, identifier: u16) -> Packet {
    let [a, b] = identifier.to_be_bytes();
    let icmp = Transport::Icmp(Icmp { kind, code: 0, rest_of_header: [a, b, 0, 1] });
    Packet::new(ip(from, to), icmp, Payload::Bytes(Bytes::from_static(b"ping")))
}

/// The ends of a packet; of an ICMP query, its identifier twice.
fn ends(packet: &Packet) -> [SocketAddrV4; 2] {
    let (std::net::IpAddr::V4(source), std::net::IpAddr::V4(destination)) =
        (packet.ip().source, packet.ip().destination)
    else {
        panic!("it is IPv4")
    };
    let [from, to] = match packet.transport() {
        Transport::Tcp(tcp) => [tcp.source_port, tcp.destination_port],
        Transport::Udp(udp) => [udp.source_port, udp.destination_port],
        Transport::Icmp(Icmp { rest_of_header: [a, b, ..], .. }) => [u16::from_be_bytes([*a, *b]); 2],
        Transport::Opaque { .. } => panic!("it has ends"),
    };
    [SocketAddrV4::new(source, from), SocketAddrV4::new(destination, to)]
}

/// Translates a packet as octets, as a router does, and checks that its octets are right.
fn through(packet: &Packet, translate: impl FnOnce(&mut Packet) -> Verdict) -> Result<Packet, Refusal> {
    let mut translated = parse(emit(packet)).expect("a packet");
    match translate(&mut translated) {
        Verdict::Translated => {
            let octets = emit(&translated);
            assert!(checksums_are_right(&octets), "{translated:?}");
            Ok(parse(octets).expect("a packet"))
        }
        Verdict::Drop(refusal) => Err(refusal),
        Verdict::Pass => panic!("it is IPv4"),
    }
}

fn out(nat: &mut Nat, packet: &Packet, now: Instant) -> Result<Packet, Refusal> {
    through(packet, |packet| nat.outbound(packet, now))
}

fn back(nat: &mut Nat, packet: &Packet, now: Instant) -> Result<Packet, Refusal> {
    through(packet, |packet| nat.inbound(packet, now))
}

/// The outside end that a datagram of the host's to the server gets.
fn send(nat: &mut Nat, port: u16, now: Instant) -> SocketAddrV4 {
    ends(&out(nat, &datagram(host(port), SERVER), now).expect("it is translated"))[0]
}

/// Whether a datagram of the server's reaches the host.
fn answer(nat: &mut Nat, to: SocketAddrV4, now: Instant) -> Result<SocketAddrV4, Refusal> {
    back(nat, &datagram(SERVER, to), now).map(|packet| ends(&packet)[1])
}
