//! Random packets for property tests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::header::{Icmp, Ip, SackBlocks, Tcp, TcpFlags, TcpOptions, Timestamps, Udp};
use crate::packet::{Packet, Transport};
use crate::payload::Payload;
use crate::seq::Seq;

/// Two IPv4 hosts.
pub(crate) const V4: (IpAddr, IpAddr) =
    (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)));
/// Two IPv6 hosts.
pub(crate) const V6: (IpAddr, IpAddr) = (
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)),
);

/// A piece of a simulated stream.
pub(crate) fn stream(len: u32) -> Payload {
    Payload::Stream { stream: 7, offset: 0, len }
}

/// Any packet created here that can be written and whose options fit.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    (ip(), transport(), payload()).prop_map(|(ip, transport, payload)| Packet::new(ip, transport, payload))
}

/// Any TCP segment created here whose options fit.
pub(crate) fn segment() -> impl Strategy<Value = Packet> {
    (ip(), tcp(), payload()).prop_map(|(ip, tcp, payload)| Packet::tcp_segment(ip, tcp, payload))
}

fn ip() -> impl Strategy<Value = Ip> {
    let v4 = any::<([u8; 4], [u8; 4], u8, u8, u16)>().prop_map(|(source, destination, hops, class, id)| Ip {
        source: source.into(),
        destination: destination.into(),
        hop_limit: hops,
        traffic_class: class,
        identification: id,
    });
    let v6 = any::<([u8; 16], [u8; 16], u8, u8)>().prop_map(|(source, destination, hops, class)| Ip {
        source: source.into(),
        destination: destination.into(),
        hop_limit: hops,
        traffic_class: class,
        identification: 0,
    });
    prop_oneof![v4, v6]
}

fn transport() -> impl Strategy<Value = Transport> {
    let udp = any::<(u16, u16)>()
        .prop_map(|(source_port, destination_port)| Transport::Udp(Udp { source_port, destination_port }));
    let icmp = any::<(u8, u8, [u8; 4])>()
        .prop_map(|(kind, code, rest_of_header)| Transport::Icmp(Icmp { kind, code, rest_of_header }));
    let known = [PROTOCOL_ICMP, PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_ICMPV6];
    let opaque = any::<u8>()
        .prop_filter("protocols that are understood", move |protocol| !known.contains(protocol))
        .prop_map(|protocol| Transport::Opaque { protocol });
    prop_oneof![4 => tcp().prop_map(Transport::Tcp), 1 => udp, 1 => icmp, 1 => opaque]
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let fields = any::<(u16, u16, u32, u32, u8, u16, u16)>();
    let fitting = options().prop_filter("options that fit", fits);
    (fields, fitting).prop_map(
        |((source_port, destination_port, seq, ack, flags, window, urgent), options)| Tcp {
            source_port,
            destination_port,
            seq: Seq(seq),
            ack: Seq(ack),
            flags: TcpFlags(flags),
            window,
            urgent_pointer: urgent,
            options,
        },
    )
}

/// Any options, including ones that do not fit into a header.
pub(crate) fn options() -> impl Strategy<Value = TcpOptions> {
    let times =
        option::of(any::<(u32, u32)>().prop_map(|(value, echo_reply)| Timestamps { value, echo_reply }));
    let blocks = vec(any::<(u32, u32)>(), 0..=4).prop_map(|blocks| {
        let mut sack = SackBlocks::NONE;
        for (left, right) in blocks {
            sack.push(Seq(left), Seq(right));
        }
        sack
    });
    let unknown = vec(unknown_option(), 0..=2).prop_map(|options| options.concat());
    (any::<(Option<u16>, Option<u8>, bool)>(), times, blocks, unknown).prop_map(
        |((maximum_segment_size, window_scale, sack_permitted), timestamps, sack, unknown)| TcpOptions {
            maximum_segment_size,
            window_scale,
            sack_permitted,
            timestamps,
            sack,
            unknown: if unknown.is_empty() { None } else { Some(unknown.into()) },
        },
    )
}

fn unknown_option() -> impl Strategy<Value = Vec<u8>> {
    (9..=u8::MAX, vec(any::<u8>(), 0..=12))
        .prop_map(|(kind, data)| [&[kind, data.len() as u8 + 2], &data[..]].concat())
}

/// Octets of the options without any padding.
pub(crate) fn packed_len(options: &TcpOptions) -> usize {
    let blocks = options.sack.as_slice().len();
    options.maximum_segment_size.map_or(0, |_| 4)
        + options.window_scale.map_or(0, |_| 3)
        + if options.sack_permitted { 2 } else { 0 }
        + options.timestamps.map_or(0, |_| 10)
        + if blocks > 0 { 2 + 8 * blocks } else { 0 }
        + options.unknown.as_ref().map_or(0, |octets| octets.len())
}

/// Whether all options can be written.
pub(crate) fn fits(options: &TcpOptions) -> bool {
    packed_len(options) <= 40
}

fn payload() -> impl Strategy<Value = Payload> {
    let octets = vec(any::<u8>(), 0..100).prop_map(|octets| Payload::Bytes(Bytes::from(octets)));
    let piece = (any::<u32>(), 0..u64::from(u32::MAX), 0..3000_u32);
    prop_oneof![octets, piece.prop_map(|(stream, offset, len)| Payload::Stream { stream, offset, len })]
}
