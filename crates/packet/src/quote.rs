//! The packet quoted in an ICMP error message: the IP header and the first eight octets after it
//! (RFC 792), which suffice to identify connection and sequence number.

use std::net::{IpAddr, Ipv4Addr};

use crate::header::{Icmp, Ip, is_informational};
use crate::packet::{FlowKey, Packet, Transport};
use crate::payload::Payload;
use crate::seq::Seq;
use crate::wire;

/// The TCP segment that an ICMP error message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotation {
    /// The direction of the segment's connection.
    pub flow: FlowKey,
    /// The segment's sequence number.
    pub seq: Seq,
    /// Octets of the packet, by its IP header: 65,535 if that states none, as for a super-packet.
    pub len: u32,
}

/// "Fragmentation needed and DF set" (RFC 1191, section 4) or "Packet Too Big" (RFC 4443, section
/// 3.2) about a TCP segment: a link on its path accepts only smaller packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// The segment.
    pub quotation: Quotation,
    /// Octets of the largest IP packet that the link accepts; fewer than the quoted packet has, and
    /// for IPv6 at least 1280.
    pub mtu: u32,
}

impl PacketTooBig {
    /// Reads an ICMP message; `None` for any other message, and for one that cannot be true: with
    /// an MTU that the refused packet does not exceed (RFC 5927, section 7.2), or below the minimum
    /// of IPv6 (RFC 8201, section 4).
    pub fn from_message(message: &Packet) -> Option<Self> {
        let Transport::Icmp(icmp) = message.transport() else { return None };
        let is_v4 = message.ip().source.is_ipv4();
        if (icmp.kind, icmp.code) != if is_v4 { (3, 4) } else { (2, icmp.code) } {
            return None;
        }
        let quotation = Quotation::from_message(message)?;
        let [a, b, c, d] = icmp.rest_of_header;
        let mtu = match is_v4 {
            false => u32::from_be_bytes([a, b, c, d]),
            true if [c, d] == [0, 0] => plateau_below(quotation.len),
            true => u32::from(u16::from_be_bytes([c, d])),
        };
        let is_possible = mtu < quotation.len && (is_v4 || mtu >= MIN_MTU_V6);
        is_possible.then_some(Self { quotation, mtu })
    }
}

/// RFC 8200, section 5.
const MIN_MTU_V6: u32 = 1280;

/// MTUs in use, for routers that do not state theirs (RFC 1191, section 7.1).
const PLATEAUS: [u32; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];

fn plateau_below(len: u32) -> u32 {
    PLATEAUS.into_iter().find(|plateau| *plateau < len).unwrap_or(68)
}

impl Quotation {
    /// Reads the quotation of an ICMP error message; `None` unless it quotes at least the first
    /// eight octets of a TCP segment that the message's receiver sent (an error message goes to the
    /// source of the packet that it is about; RFC 5927, section 4 on forged ones), or if the
    /// message is a query or an answer.
    pub fn from_message(message: &Packet) -> Option<Self> {
        let Transport::Icmp(icmp) = message.transport() else {
            return None;
        };
        let ip = message.ip();
        if is_informational(icmp.kind, ip.source.is_ipv4()) {
            return None;
        }
        let octets = message.payload().slice(0, MAX_HEADER + 8).octets();
        let Quoted { source, destination, len, tcp } = match octets.first()? >> 4 {
            4 => quoted_v4(&octets)?,
            6 => quoted_v6(&octets)?,
            _ => return None,
        };
        if source != ip.destination {
            return None;
        }
        let &[s0, s1, d0, d1, a, b, c, d] = tcp.first_chunk::<8>()?;
        let flow =
            FlowKey::tcp((source, u16::from_be_bytes([s0, s1])), (destination, u16::from_be_bytes([d0, d1])));
        Some(Self { flow, seq: Seq(u32::from_be_bytes([a, b, c, d])), len })
    }
}

/// Octets of an IPv4 header with the maximum of options; an IPv6 header has 40.
const MAX_HEADER: usize = 60;

/// The contents of a quoted IP header.
struct Quoted<'a> {
    source: IpAddr,
    destination: IpAddr,
    /// Octets of the packet.
    len: u32,
    /// The quoted part of the TCP header.
    tcp: &'a [u8],
}

/// Octets of a packet with this length field, which does not count `header` octets of it. The field
/// of a super-packet that does not fit is zero.
fn stated_len(field: [u8; 2], header: u32) -> u32 {
    match u16::from_be_bytes(field) {
        0 => u32::from(u16::MAX),
        len => u32::from(len) + header,
    }
}

/// `None` for another protocol or a fragment other than the first.
fn quoted_v4(octets: &[u8]) -> Option<Quoted<'_>> {
    let header: &[u8; 20] = octets.first_chunk()?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    if header_len < 20 || header[9] != wire::PROTOCOL_TCP || fragment_offset != 0 {
        return None;
    }
    let address = |at: usize| Some(IpAddr::from(*header.get(at..)?.first_chunk::<4>()?));
    let (source, destination, tcp) = (address(12)?, address(16)?, octets.get(header_len..)?);
    Some(Quoted { source, destination, len: stated_len([header[2], header[3]], 0), tcp })
}

/// `None` for another protocol or after an extension header.
fn quoted_v6(octets: &[u8]) -> Option<Quoted<'_>> {
    let header: &[u8; 40] = octets.first_chunk()?;
    if header[6] != wire::PROTOCOL_TCP {
        return None;
    }
    let address = |at: usize| Some(IpAddr::from(*header.get(at..)?.first_chunk::<16>()?));
    let (source, destination, tcp) = (address(8)?, address(24)?, octets.get(40..)?);
    Some(Quoted { source, destination, len: stated_len([header[4], header[5]], 40), tcp })
}

/// Builds the ICMP error message of this type and code about `offending`, from `reporter` to the
/// offending packet's source. It quotes the IP header and the first eight octets after it: as RFC
/// 792 requires, less than RFC 4443 recommends, and enough for every receiver.
///
/// `None` where RFC 1122, section 3.2.2, and RFC 4443, section 2.4, forbid one: about an ICMP
/// message, a fragment, or a packet from or to an address that is not one host's. Also `None` for
/// any other packet that is neither TCP nor UDP, because its connection would be unknown, and if
/// `reporter` has the other IP version.
pub fn error_about(offending: &Packet, reporter: IpAddr, kind: u8, code: u8) -> Option<Packet> {
    error_with(offending, reporter, Icmp { kind, code, rest_of_header: [0; 4] })
}

/// The error message of a router whose next link accepts packets of up to `mtu` octets; read it
/// with [`PacketTooBig::from_message`]. `None` as in [`error_about`].
pub fn too_big(offending: &Packet, reporter: IpAddr, mtu: u32) -> Option<Packet> {
    let (kind, code) = if reporter.is_ipv4() { (3, 4) } else { (2, 0) };
    error_with(offending, reporter, Icmp { kind, code, rest_of_header: mtu.to_be_bytes() })
}

fn error_with(offending: &Packet, reporter: IpAddr, icmp: Icmp) -> Option<Packet> {
    if !matches!(offending.transport(), Transport::Tcp(_) | Transport::Udp(_)) {
        return None;
    }
    let ip = offending.ip();
    if reporter.is_ipv4() != ip.source.is_ipv4() || !is_one_host(ip.source) || !is_one_host(ip.destination) {
        return None;
    }
    let quoted = wire::beginning(offending);
    Some(Packet::new(Ip::new(reporter, ip.source), Transport::Icmp(icmp), Payload::Bytes(quoted.into())))
}

/// Whether an address is neither unspecified nor a group address. A subnet's broadcast address
/// cannot be distinguished from a host's here.
fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !(address.is_unspecified() || address.is_multicast() || is_broadcast)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::header::{Tcp, Udp};
    use crate::wire::samples::{self, V4, V6};
    use crate::wire::{checksums_are_right, emit, parse};

    /// Time exceeded; the quotation follows eight octets, as in every message.
    const ICMP_TIME_EXCEEDED: u8 = 11;
    const ICMPV6_TIME_EXCEEDED: u8 = 3;

    fn segment((source, destination): (IpAddr, IpAddr)) -> Packet {
        let tcp = Tcp { source_port: 80, destination_port: 5555, seq: Seq(0xdead_beef), ..Tcp::default() };
        Packet::tcp_segment(Ip::new(source, destination), tcp, samples::stream(1000))
    }

    fn kind(addresses: (IpAddr, IpAddr)) -> u8 {
        if addresses.0.is_ipv4() { ICMP_TIME_EXCEEDED } else { ICMPV6_TIME_EXCEEDED }
    }

    fn error(addresses: (IpAddr, IpAddr)) -> Packet {
        error_about(&segment(addresses), addresses.1, kind(addresses), 0).unwrap()
    }

    /// The error message about a segment with the quotation changed.
    fn with_quotation(addresses: (IpAddr, IpAddr), change: impl FnOnce(&mut Vec<u8>)) -> Packet {
        let mut message = error(addresses);
        let mut quoted = message.payload().octets().to_vec();
        change(&mut quoted);
        message.set_payload(Payload::Bytes(quoted.into()));
        message
    }

    #[test]
    fn an_error_message_identifies_the_segment_that_it_is_about() {
        for addresses in [V4, V6] {
            let offending = segment(addresses);
            for offending in [offending.clone(), parse(emit(&offending)).unwrap()] {
                let message = error_about(&offending, addresses.1, kind(addresses), 0).unwrap();
                let (flow, len) = (offending.flow_key().unwrap(), offending.len() as u32);
                let expected = Quotation { flow, seq: Seq(0xdead_beef), len };
                assert_eq!(Quotation::from_message(&message), Some(expected));

                let octets = emit(&message);
                assert!(checksums_are_right(&octets));
                let received = parse(octets).unwrap();
                assert_eq!(Quotation::from_message(&received), Some(expected));
                assert_eq!(received.ip().destination, offending.ip().source);
                assert_eq!(received.payload().octets(), emit(&offending)[..offending.ip().len() + 8]);
            }
        }
    }

    #[test]
    fn packet_too_big_gives_the_segment_and_the_mtu() {
        for addresses in [V4, V6] {
            let offending = segment(addresses);
            let message = parse(emit(&too_big(&offending, addresses.1, 1280).unwrap())).unwrap();
            // 1,000 octets and headers.
            assert_eq!(PacketTooBig::from_message(&message), None, "no link refuses what it takes");
            let mut large = offending.clone();
            large.set_payload(samples::stream(1400));
            let message = parse(emit(&too_big(&large, addresses.1, 1300).unwrap())).unwrap();
            let PacketTooBig { quotation, mtu } = PacketTooBig::from_message(&message).unwrap();
            assert_eq!((quotation.seq, quotation.len, mtu), (Seq(0xdead_beef), large.len() as u32, 1300));
            assert_eq!(PacketTooBig::from_message(&error_about(&large, addresses.1, 1, 0).unwrap()), None);
        }
    }

    #[test]
    fn no_ipv6_link_has_an_mtu_below_1280() {
        let mut large = segment(V6);
        large.set_payload(samples::stream(1400));
        assert_eq!(PacketTooBig::from_message(&too_big(&large, V6.1, 1279).unwrap()), None);
    }

    // RFC 1191, section 5: an older router states 0.
    #[test]
    fn an_mtu_that_is_not_stated_is_the_next_plateau_below_the_packet() {
        for (payload, expected) in [(1460, 1492), (1453, 1492), (1452, 1006), (29, 68)] {
            let mut packet = segment(V4);
            packet.set_payload(samples::stream(payload));
            let too_big = PacketTooBig::from_message(&too_big(&packet, V4.1, 0).unwrap());
            assert_eq!(too_big.map(|too_big| too_big.mtu), Some(expected), "{payload}");
        }
    }

    #[test]
    fn there_is_no_error_message_about_an_icmp_message() {
        for addresses in [V4, V6] {
            assert_eq!(error_about(&error(addresses), addresses.0, kind(addresses), 0), None);
        }
    }

    #[test]
    fn there_is_no_error_message_about_a_packet_that_is_not_between_two_hosts() {
        let group = |address: &str| -> IpAddr { address.parse().unwrap() };
        for (source, destination) in [
            (V4.0, group("224.0.0.1")),
            (V4.0, group("255.255.255.255")),
            (group("0.0.0.0"), V4.1),
            (V6.0, group("ff02::1")),
            (group("::"), V6.1),
        ] {
            let offending = segment((source, destination));
            assert_eq!(error_about(&offending, V4.1, 3, 0), None, "{source} to {destination}");
            assert_eq!(error_about(&offending, V6.1, 3, 0), None, "{source} to {destination}");
        }
        assert_eq!(error_about(&segment(V4), V6.1, ICMP_TIME_EXCEEDED, 0), None);
    }

    #[test]
    fn a_datagram_has_error_messages_but_no_tcp_quotation() {
        let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
        let datagram = Packet::new(Ip::new(V4.0, V4.1), udp, samples::stream(10));
        let message = error_about(&datagram, V4.1, ICMP_TIME_EXCEEDED, 0).unwrap();
        assert_eq!(message.payload().len(), 28);
        assert_eq!(Quotation::from_message(&message), None);
    }

    #[test]
    fn a_truncated_quotation_is_none() {
        for addresses in [V4, V6] {
            let whole = error(addresses).payload().len();
            for len in 0..whole {
                let message = with_quotation(addresses, |quoted| quoted.truncate(len));
                assert_eq!(Quotation::from_message(&message), None, "{len} of {whole} octets");
            }
        }
    }

    #[test]
    fn the_quotation_of_a_segment_that_the_receiver_never_sent_is_none() {
        let change_source_v4 = with_quotation(V4, |quoted| quoted[12] ^= 1);
        let change_source_v6 = with_quotation(V6, |quoted| quoted[8] ^= 1);
        let change_version = with_quotation(V4, |quoted| quoted[0] = 0x65);
        let change_header_len = with_quotation(V4, |quoted| quoted[0] = 0x44);
        let change_protocol = with_quotation(V6, |quoted| quoted[6] = wire::PROTOCOL_UDP);
        for forged in [change_source_v4, change_source_v6, change_version, change_header_len, change_protocol]
        {
            assert_eq!(Quotation::from_message(&forged), None);
        }
    }

    #[test]
    fn the_quotation_of_a_later_fragment_is_none() {
        assert_eq!(Quotation::from_message(&with_quotation(V4, |quoted| quoted[7] = 1)), None);
        assert_eq!(Quotation::from_message(&with_quotation(V4, |quoted| quoted[6] = 0x10)), None);
        // The first fragment has the TCP header.
        assert!(Quotation::from_message(&with_quotation(V4, |quoted| quoted[6] = 0x20)).is_some());
        // A fragment header stands between the IPv6 header and the rest.
        assert_eq!(Quotation::from_message(&with_quotation(V6, |quoted| quoted[6] = 44)), None);
    }

    #[test]
    fn an_echo_that_carries_what_looks_like_a_quotation_is_none() {
        for (addresses, echo) in [(V4, 8), (V6, 128)] {
            let quoted = Bytes::from(wire::beginning(&segment(addresses)));
            let icmp = Icmp { kind: echo, code: 0, rest_of_header: [0; 4] };
            let ip = Ip::new(addresses.1, addresses.0);
            let message = Packet::new(ip, Transport::Icmp(icmp), Payload::Bytes(quoted));
            assert_eq!(Quotation::from_message(&message), None);
        }
    }
}
