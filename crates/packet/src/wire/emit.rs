//! [`Packet`] to octets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::Bytes;

use super::checksum::{internet_checksum, partial_checksum, transport_checksum};
use super::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP, options};
use crate::header::{Layout, Tcp};
use crate::packet::{Carried, Packet, Transport};
use crate::payload::Payload;

/// The octets of a packet: the original ones if it was parsed and not edited, otherwise new ones
/// with right lengths and checksums.
///
/// - IPv4 has "don't fragment" set, unless the packet arrived without it.
/// - TCP options have the order of Linux (maximum segment size, SACK permitted, timestamps, window
///   scale, SACK, unknown ones). Each is aligned with NOPs (RFC 7323, appendix A), or they are
///   packed if they would not fit in 40 octets otherwise. If they still do not fit, the unknown
///   ones are omitted, then SACK blocks from the last.
/// - A computed UDP checksum of zero is written as 0xffff (RFC 768).
/// - A packet above 65,535 octets (IPv4) or with more than that after the header (IPv6) has a
///   length field of 0, like super-packets in Linux. It is only for a network card with
///   segmentation offload; [`super::parse()`] refuses it.
pub fn emit(packet: &Packet) -> Bytes {
    match packet.original() {
        Some(original) => original.clone(),
        None => write(packet).into(),
    }
}

/// A TCP segment for a recipient that completes its checksum, such as a network card with
/// segmentation offload: the packet follows `link_header`, as [`emit`] writes it, but with only the
/// pseudo header's sum in the checksum field. The IPv4 header checksum is complete. An unedited
/// packet is otherwise unchanged, whatever its checksum was.
///
/// `None` if it is not TCP, or too large for the length field: more than 65,535 octets (also for
/// IPv6, where 40 more would fit, because that is the kernel's own limit for a super-packet).
pub fn emit_for_offload(packet: &Packet, link_header: &[u8]) -> Option<Vec<u8>> {
    packet.tcp()?;
    if packet.len() > usize::from(u16::MAX) {
        return None;
    }
    let mut out = Vec::with_capacity(link_header.len() + packet.len());
    out.extend_from_slice(link_header);
    if let Some(original) = packet.original() {
        out.extend_from_slice(original);
    } else {
        write_headers(packet, &mut out);
        match packet.payload() {
            Payload::Bytes(octets) => out.extend_from_slice(octets),
            stream @ Payload::Stream { .. } => out.extend_from_slice(&stream.octets()),
        }
    }
    let ip_len = packet.ip().len();
    let checksum = partial_checksum(packet.ip(), PROTOCOL_TCP, packet.len() - ip_len);
    let at = link_header.len() + ip_len + 16;
    out[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    Some(out)
}

/// The IP header and the first eight octets after it, as [`emit`] writes them.
pub(crate) fn beginning(packet: &Packet) -> Vec<u8> {
    let mut octets = match (packet.original(), packet.transport()) {
        (Some(original), _) => original.to_vec(),
        // The checksum, which needs the payload, comes after these octets.
        (None, Transport::Tcp(tcp)) => {
            let mut headers = Vec::with_capacity(packet.ip().len() + tcp.len());
            write_headers(packet, &mut headers);
            headers
        }
        (None, _) => write(packet),
    };
    octets.truncate(packet.ip().len() + 8);
    octets
}

fn write(packet: &Packet) -> Vec<u8> {
    let mut out = Vec::with_capacity(packet.len());
    let checksum_at = write_headers(packet, &mut out);
    out.extend_from_slice(&packet.payload().octets());

    if let Some(at) = checksum_at {
        let checksum = transport_checksum(packet.ip(), protocol(packet), &out[packet.ip().len()..]);
        let checksum = if checksum == 0 && protocol(packet) == PROTOCOL_UDP { 0xffff } else { checksum };
        out[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    out
}

/// Appends the IP header and the transport header with a checksum of zero; returns the position of
/// that checksum in `out`.
fn write_headers(packet: &Packet, out: &mut Vec<u8>) -> Option<usize> {
    let len = packet.len();
    match packet.ip().source {
        IpAddr::V4(source) => write_ipv4(packet, source, len, out),
        IpAddr::V6(source) => write_ipv6(packet, source, len - packet.ip().len(), out),
    }
    write_transport(packet, out)
}

fn write_ipv4(packet: &Packet, source: Ipv4Addr, len: usize, out: &mut Vec<u8>) {
    let ip = packet.ip();
    let start = out.len();
    let flags: u16 = if packet.carried().may_fragment { 0 } else { 0x4000 };
    out.extend_from_slice(&[0x45, ip.traffic_class]);
    out.extend_from_slice(&length_field(len));
    out.extend_from_slice(&ip.identification.to_be_bytes());
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&[ip.hop_limit, protocol(packet), 0, 0]);
    out.extend_from_slice(&source.octets());
    out.extend_from_slice(&ip.destination_v4().octets());
    let checksum = internet_checksum(&out[start..]);
    out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

fn write_ipv6(packet: &Packet, source: Ipv6Addr, body_len: usize, out: &mut Vec<u8>) {
    let ip = packet.ip();
    let first_word = 6 << 28 | u32::from(ip.traffic_class) << 20 | packet.carried().flow_label;
    out.extend_from_slice(&first_word.to_be_bytes());
    out.extend_from_slice(&length_field(body_len));
    out.extend_from_slice(&[protocol(packet), ip.hop_limit]);
    out.extend_from_slice(&source.octets());
    out.extend_from_slice(&ip.destination_v6().octets());
}

/// Appends the transport header with a checksum of zero; returns the position of that checksum in
/// `out`.
fn write_transport(packet: &Packet, out: &mut Vec<u8>) -> Option<usize> {
    let start = out.len();
    match packet.transport() {
        Transport::Tcp(tcp) => {
            write_tcp(tcp, packet.carried(), out);
            Some(start + 16)
        }
        Transport::Udp(udp) => {
            out.extend_from_slice(&udp.source_port.to_be_bytes());
            out.extend_from_slice(&udp.destination_port.to_be_bytes());
            out.extend_from_slice(&length_field(8 + packet.payload().len()));
            out.extend_from_slice(&[0, 0]);
            Some(start + 6)
        }
        Transport::Icmp(icmp) => {
            out.extend_from_slice(&[icmp.kind, icmp.code, 0, 0]);
            out.extend_from_slice(&icmp.rest_of_header);
            Some(start + 2)
        }
        Transport::Opaque { .. } => None,
    }
}

fn write_tcp(tcp: &Tcp, carried: Carried, out: &mut Vec<u8>) {
    let layout = Layout::from_options(&tcp.options);
    let words = (20 + layout.len()) / 4;
    out.extend_from_slice(&tcp.source_port.to_be_bytes());
    out.extend_from_slice(&tcp.destination_port.to_be_bytes());
    out.extend_from_slice(&tcp.seq.0.to_be_bytes());
    out.extend_from_slice(&tcp.ack.0.to_be_bytes());
    out.extend_from_slice(&[(words as u8) << 4 | carried.tcp_reserved, tcp.flags.0]);
    out.extend_from_slice(&tcp.window.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&tcp.urgent_pointer.to_be_bytes());
    options::write(layout, &tcp.options, out);
}

/// Protocol number, or next header.
pub(super) fn protocol(packet: &Packet) -> u8 {
    match packet.transport() {
        Transport::Tcp(_) => PROTOCOL_TCP,
        Transport::Udp(_) => PROTOCOL_UDP,
        Transport::Icmp(_) if packet.ip().source.is_ipv4() => PROTOCOL_ICMP,
        Transport::Icmp(_) => PROTOCOL_ICMPV6,
        Transport::Opaque { protocol } => *protocol,
    }
}

/// A 16-bit length; 0 if it does not fit.
fn length_field(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(0).to_be_bytes()
}
