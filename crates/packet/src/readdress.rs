//! Other addresses and ports for a packet, as a network address translator (RFC 3022) writes them: in
//! place, with updated checksums.

use std::net::{Ipv4Addr, SocketAddrV4};

use bytes::Bytes;

use crate::header::{PROTOCOL_ICMP, PROTOCOL_TCP, PROTOCOL_UDP, is_informational};
use crate::incremental::updated;

/// An end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its sender.
    Source,
    /// Its receiver.
    Destination,
}

/// A copy of the octets of an IPv4 packet, or of its beginning, with this address and port, or ICMP
/// identifier, at one end. A field that is not there, and a checksum that is not there, is left out.
pub(crate) fn with_end(octets: &Bytes, end: End, to: SocketAddrV4) -> Bytes {
    let mut octets = octets.to_vec();
    let Some(header) = octets.first_chunk::<20>() else { return octets.into() };
    let (protocol, header_len) = (header[9], usize::from(header[0] & 0x0f) * 4);
    let is_later_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0;
    let old_address = set_address(&mut octets, end, *to.ip());
    if header_len < 20 || header_len > octets.len() || is_later_fragment {
        return octets.into();
    }
    let body = &mut octets[header_len..];
    let new_address = to.ip().octets();
    let of_end = if end == End::Source { 0 } else { 2 };
    match protocol {
        PROTOCOL_TCP => {
            let old_port = set_port(body, of_end, to.port());
            update(body, 16, (&old_address, &new_address), (&old_port, to.port()));
        }
        // RFC 768: zero says that there is no checksum.
        PROTOCOL_UDP if body.get(6..8) == Some(&[0, 0]) => {
            set_port(body, of_end, to.port());
        }
        PROTOCOL_UDP => {
            let old_port = set_port(body, of_end, to.port());
            update(body, 6, (&old_address, &new_address), (&old_port, to.port()));
            if body.get(6..8) == Some(&[0, 0]) {
                body[6..8].copy_from_slice(&[0xff, 0xff]);
            }
        }
        // Its checksum covers no addresses (RFC 792).
        PROTOCOL_ICMP if body.first().is_some_and(|kind| is_informational(*kind, true)) => {
            let old = set_port(body, 4, to.port());
            update(body, 2, (&[], &[]), (&old, to.port()));
        }
        _ => {}
    }
    octets.into()
}

/// A copy of the octets of an IPv4 packet with this address at one end. A checksum of what follows the
/// header is not updated.
pub(crate) fn with_address(octets: &Bytes, end: End, to: Ipv4Addr) -> Bytes {
    let mut octets = octets.to_vec();
    if octets.len() >= 20 {
        set_address(&mut octets, end, to);
    }
    octets.into()
}

/// Writes an address and updates the header's checksum. Returns the old address.
fn set_address(octets: &mut [u8], end: End, to: Ipv4Addr) -> [u8; 4] {
    let at = if end == End::Source { 12 } else { 16 };
    let old = [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
    octets[at..at + 4].copy_from_slice(&to.octets());
    let checksum = u16::from_be_bytes([octets[10], octets[11]]);
    octets[10..12].copy_from_slice(&updated(checksum, &old, &to.octets()).to_be_bytes());
    old
}

/// Writes a port, if there is one. Returns the old one.
fn set_port(body: &mut [u8], at: usize, port: u16) -> Vec<u8> {
    let Some(place) = body.get_mut(at..at + 2) else { return Vec::new() };
    let old = place.to_vec();
    place.copy_from_slice(&port.to_be_bytes());
    old
}

/// Updates the checksum at this position, if it is there.
fn update(body: &mut [u8], at: usize, addresses: (&[u8], &[u8]), (old_port, port): (&[u8], u16)) {
    let Some(&[a, b]) = body.get(at..at + 2).and_then(|field| field.first_chunk::<2>()) else { return };
    let checksum = updated(u16::from_be_bytes([a, b]), addresses.0, addresses.1);
    let checksum = updated(checksum, old_port, &port.to_be_bytes());
    body[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::header::{Icmp, Ip, Tcp, Udp};
    use crate::packet::{Packet, Transport};
    use crate::quote::{Quotation, error_about};
    use crate::wire::samples;
    use crate::wire::{checksums_are_right, emit, parse};

    const OLD: [SocketAddrV4; 2] = [
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 10_000),
        SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 9), 80),
    ];

    fn ip(source: Ipv4Addr, destination: Ipv4Addr) -> Ip {
        Ip { identification: 77, ..Ip::new(IpAddr::V4(source), IpAddr::V4(destination)) }
    }

    /// A packet of each kind that has ends, with the identifier or ports of these.
    fn packets([from, to]: [SocketAddrV4; 2], payload: u32) -> Vec<Packet> {
        let tcp = Tcp { source_port: from.port(), destination_port: to.port(), ..Tcp::default() };
        let udp = Udp { source_port: from.port(), destination_port: to.port() };
        let [a, b] = from.port().to_be_bytes();
        let echo = Icmp { kind: 8, code: 0, rest_of_header: [a, b, 0, 1] };
        let transports = [Transport::Tcp(tcp), Transport::Udp(udp), Transport::Icmp(echo)];
        let ip = ip(*from.ip(), *to.ip());
        transports.map(|transport| Packet::new(ip, transport, samples::stream(payload))).into()
    }

    #[test]
    fn a_packet_has_the_octets_of_one_that_was_made_with_the_new_end() {
        for payload in [0, 1, 2, 999] {
            for number in 0..200_u16 {
                let to = SocketAddrV4::new(
                    Ipv4Addr::from_bits(0xc000_0200 + u32::from(number)),
                    number.wrapping_mul(331),
                );
                for (end, new) in [(End::Source, [to, OLD[1]]), (End::Destination, [OLD[0], to])] {
                    for (old, new) in packets(OLD, payload).into_iter().zip(packets(new, payload)) {
                        let mut expected = new;
                        if matches!(expected.transport(), Transport::Icmp(_)) {
                            expected.readdress(end, to);
                        }
                        let (mut made, mut parsed) = (old.clone(), parse(emit(&old)).expect("a packet"));
                        assert!(made.readdress(end, to) && parsed.readdress(end, to));
                        assert_eq!(emit(&made), emit(&expected));
                        assert_eq!(emit(&parsed), emit(&expected), "{expected:?}");
                        assert_eq!(parsed.payload(), old.payload());
                        assert!(checksums_are_right(&emit(&parsed)));
                    }
                }
            }
        }
    }

    #[test]
    fn a_wrong_checksum_stays_wrong_and_none_stays_none() {
        for packet in packets(OLD, 100) {
            let mut octets = emit(&packet).to_vec();
            octets[90] ^= 4;
            let mut wrong = parse(octets.into()).expect("a packet");
            wrong.readdress(End::Source, SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 7));
            assert!(!checksums_are_right(&emit(&wrong)));
        }
        let mut octets = emit(&packets(OLD, 100)[1]).to_vec();
        octets[26..28].copy_from_slice(&[0, 0]);
        let mut none = parse(octets.into()).expect("a packet");
        none.readdress(End::Destination, SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 7));
        assert_eq!(emit(&none)[26..28], [0, 0]);
    }

    #[test]
    fn there_and_back_again_is_the_same_packet() {
        for packet in packets(OLD, 30) {
            let mut there = parse(emit(&packet)).expect("a packet");
            let original = there.clone();
            there.readdress(End::Source, SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 7));
            assert_ne!(there, original);
            there.readdress(End::Source, OLD[0]);
            assert_eq!(there, original);
        }
    }

    #[test]
    fn a_quoted_packet_has_the_new_end_and_the_message_a_right_checksum() {
        let to = SocketAddrV4::new(Ipv4Addr::new(10, 9, 9, 9), 4711);
        let [segment, datagram, _] = <[Packet; 3]>::try_from(packets(OLD, 50)).expect("three");
        let mut message = error_about(&segment, "192.0.2.1".parse().expect("an address"), 3, 4).expect("one");
        assert!(
            message.readdress_quoted(End::Source, to) && message.set_icmp_address(End::Destination, *to.ip())
        );
        let message = parse(emit(&message)).expect("a packet");
        assert!(checksums_are_right(&emit(&message)));
        let quoted = Quotation::from_message(&message).expect("it quotes").flow;
        assert_eq!((quoted.source, quoted.destination.1), ((IpAddr::V4(*to.ip()), 4711), 80));

        let mut message =
            error_about(&datagram, "192.0.2.1".parse().expect("an address"), 3, 3).expect("one");
        message.readdress_quoted(End::Destination, to);
        // The header and eight octets of the datagram that would have been sent to the new end.
        let sent = packets([OLD[0], to], 50);
        assert_eq!(message.payload().octets(), emit(&sent[1]).slice(..28));
    }

    #[test]
    fn a_packet_without_ends_is_unchanged() {
        let to = SocketAddrV4::new(Ipv4Addr::new(10, 9, 9, 9), 4711);
        let v6 = samples::V6;
        let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
        let of_v6 = Packet::new(Ip::new(v6.0, v6.1), udp, samples::stream(10));
        let segment = packets(OLD, 50).remove(0);
        let mut octets = emit(&segment).to_vec();
        octets[6] = 0x20;
        let fragment = parse(octets.into()).expect("a packet");
        let error = error_about(&segment, "192.0.2.1".parse().expect("an address"), 3, 4).expect("one");
        for packet in [of_v6, fragment, error.clone()] {
            let mut same = packet.clone();
            assert!(!same.readdress(End::Source, to) && same == packet);
            assert!(packet == error || !same.readdress_quoted(End::Source, to) && same == packet);
        }
        let mut short = error;
        short.set_payload(samples::stream(27));
        assert!(!short.readdress_quoted(End::Source, to));
    }
}
