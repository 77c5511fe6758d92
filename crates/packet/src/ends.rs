//! The ends of a packet: protocol, addresses and ports, also of packets that are not parsed any
//! further (fragments, IP options, IPv6 extension headers), and of packets quoted in ICMP error
//! messages.

use std::net::IpAddr;

use crate::header::is_informational;
use crate::packet::{FlowKey, Packet, Transport};
use crate::wire::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP};

/// IPv6 extension headers of 8 octets or more that state their length (RFC 8200, section 4):
/// hop-by-hop options, routing, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
/// The fragment header (RFC 8200, section 4.5).
const FRAGMENT: u8 = 44;
/// Maximum number of extension headers that are read: more than any packet has.
const MAX_EXTENSIONS: usize = 16;

/// The ends of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Protocol number; for IPv6 that after the extension headers.
    pub protocol: u8,
    /// Address of the sender, and its port if TCP or UDP has one that is known.
    pub source: (IpAddr, Option<u16>),
    /// Address and port of the receiver.
    pub destination: (IpAddr, Option<u16>),
    /// The packet of which it is a fragment, if it is one.
    pub fragment: Option<Fragment>,
}

/// The identity of a fragment's packet (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The identification, which together with the addresses and, in IPv4, the protocol is common
    /// to all fragments of a packet.
    pub identification: u32,
    /// Whether it is the first fragment, which has the ports.
    pub is_first: bool,
}

impl Ends {
    /// The ends of the segments of a TCP connection.
    pub const fn from_connection(key: FlowKey) -> Self {
        let FlowKey { source, destination, .. } = key;
        Self {
            protocol: PROTOCOL_TCP,
            source: (source.0, Some(source.1)),
            destination: (destination.0, Some(destination.1)),
            fragment: None,
        }
    }

    /// The ends of a packet.
    pub fn from_packet(packet: &Packet) -> Self {
        let ip = packet.ip();
        let of = |protocol, ports: Option<(u16, u16)>| Self {
            protocol,
            source: (ip.source, ports.map(|(source, _)| source)),
            destination: (ip.destination, ports.map(|(_, destination)| destination)),
            fragment: None,
        };
        match packet.transport() {
            Transport::Tcp(tcp) => of(PROTOCOL_TCP, Some((tcp.source_port, tcp.destination_port))),
            Transport::Udp(udp) => of(PROTOCOL_UDP, Some((udp.source_port, udp.destination_port))),
            Transport::Icmp(_) => of(if ip.source.is_ipv4() { PROTOCOL_ICMP } else { PROTOCOL_ICMPV6 }, None),
            Transport::Opaque { protocol } => {
                packet.original().and_then(|octets| Self::read(octets)).unwrap_or_else(|| of(*protocol, None))
            }
        }
    }

    /// The ends of the packet that an ICMP error message is about; `None` for any other packet, and
    /// for a message that quotes too little.
    pub fn quoted(message: &Packet) -> Option<Self> {
        /// An IPv6 header, extension headers, and ports.
        const MAX_OCTETS: usize = 256;
        let Transport::Icmp(icmp) = message.transport() else { return None };
        if is_informational(icmp.kind, message.ip().source.is_ipv4()) {
            return None;
        }
        Self::read(&message.payload().slice(0, MAX_OCTETS).octets())
    }

    /// The ends of the IP packet that begins with these octets.
    fn read(octets: &[u8]) -> Option<Self> {
        match octets.first()? >> 4 {
            4 => Self::read_v4(octets),
            6 => Self::read_v6(octets),
            _ => None,
        }
    }

    fn read_v4(octets: &[u8]) -> Option<Self> {
        let header: &[u8; 20] = octets.first_chunk()?;
        let flags = u16::from_be_bytes([header[6], header[7]]);
        let (offset, more) = (flags & 0x1fff, flags & 0x2000 != 0);
        let identification = u16::from_be_bytes([header[4], header[5]]).into();
        let fragment = (offset != 0 || more).then_some(Fragment { identification, is_first: offset == 0 });
        let address = |at: usize| Some(IpAddr::from(*header.get(at..)?.first_chunk::<4>()?));
        let body = octets.get(usize::from(header[0] & 0x0f) * 4..).unwrap_or_default();
        Some(Self::with_ports(header[9], [address(12)?, address(16)?], fragment, body))
    }

    fn read_v6(octets: &[u8]) -> Option<Self> {
        let header: &[u8; 40] = octets.first_chunk()?;
        let address = |at: usize| Some(IpAddr::from(*header.get(at..)?.first_chunk::<16>()?));
        let addresses = [address(8)?, address(24)?];
        let (mut next, mut body, mut fragment) = (header[6], octets.get(40..).unwrap_or_default(), None);
        for _ in 0..MAX_EXTENSIONS {
            let Some(&[following, len, offset, flags, a, b, c, d]) = body.first_chunk::<8>() else { break };
            let len = match next {
                FRAGMENT => {
                    let is_first = u16::from_be_bytes([offset, flags]) & 0xfff8 == 0;
                    let identification = u32::from_be_bytes([a, b, c, d]);
                    fragment = Some(Fragment { identification, is_first });
                    8
                }
                next if EXTENSIONS.contains(&next) => (usize::from(len) + 1) * 8,
                _ => break,
            };
            (next, body) = (following, body.get(len..).unwrap_or_default());
            if fragment.is_some_and(|fragment| !fragment.is_first) {
                break;
            }
        }
        Some(Self::with_ports(next, addresses, fragment, body))
    }

    /// `body` is what follows the IP headers; for a fragment other than the first it has no
    /// ports.
    fn with_ports(
        protocol: u8,
        [source, destination]: [IpAddr; 2],
        fragment: Option<Fragment>,
        body: &[u8],
    ) -> Self {
        let has_ports = matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP)
            && fragment.is_none_or(|fragment| fragment.is_first);
        let ports = body.first_chunk::<4>().filter(|_| has_ports);
        let port = |at: usize| ports.map(|ports| u16::from_be_bytes([ports[at], ports[at + 1]]));
        Self { protocol, source: (source, port(0)), destination: (destination, port(2)), fragment }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::header::{Ip, Udp};
    use crate::quote::error_about;
    use crate::wire::samples::{self, V4, V6};
    use crate::wire::{emit, parse};

    fn datagram((source, destination): (IpAddr, IpAddr)) -> Packet {
        let udp = Transport::Udp(Udp { source_port: 53, destination_port: 5555 });
        Packet::new(Ip::new(source, destination), udp, samples::stream(40))
    }

    fn expected((source, destination): (IpAddr, IpAddr)) -> Ends {
        let (source, destination) = ((source, Some(53)), (destination, Some(5555)));
        Ends { protocol: PROTOCOL_UDP, source, destination, fragment: None }
    }

    /// The ends of the datagram after a change of its octets.
    fn changed(addresses: (IpAddr, IpAddr), change: impl FnOnce(&mut Vec<u8>)) -> Ends {
        let mut octets = emit(&datagram(addresses)).to_vec();
        change(&mut octets);
        if addresses.0.is_ipv4() {
            let len = octets.len() as u16;
            octets[2..4].copy_from_slice(&len.to_be_bytes());
        } else {
            let len = octets.len() as u16 - 40;
            octets[4..6].copy_from_slice(&len.to_be_bytes());
        }
        let packet = parse(Bytes::from(octets)).unwrap();
        assert!(matches!(packet.transport(), Transport::Opaque { .. }));
        Ends::from_packet(&packet)
    }

    #[test]
    fn the_ends_are_those_of_the_headers_and_a_message_quotes_them() {
        for addresses in [V4, V6] {
            let packet = datagram(addresses);
            assert_eq!(Ends::from_packet(&packet), expected(addresses));
            assert_eq!(Ends::quoted(&packet), None);
            let unreachable = if addresses.0.is_ipv4() { (3, 3) } else { (1, 4) };
            let message = error_about(&packet, addresses.1, unreachable.0, unreachable.1).unwrap();
            let message = parse(emit(&message)).unwrap();
            assert_eq!(Ends::quoted(&message), Some(expected(addresses)));
            assert_eq!(Ends::from_packet(&message).source, (addresses.1, None));
        }
    }

    #[test]
    fn options_and_extension_headers_are_skipped() {
        let options = changed(V4, |octets| {
            octets[0] = 0x46;
            octets.splice(20..20, [1, 1, 1, 0]);
        });
        assert_eq!(options, expected(V4));
        let extensions = changed(V6, |octets| {
            octets[6] = 0;
            octets
                .splice(40..40, [60, 0, 1, 4, 0, 0, 0, 0, PROTOCOL_UDP, 1, 1, 12].into_iter().chain([0; 12]));
        });
        assert_eq!(extensions, expected(V6));
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        for (addresses, is_first) in [(V4, true), (V4, false), (V6, true), (V6, false)] {
            let offset: u8 = if is_first { 0 } else { 8 };
            let of_fragment = changed(addresses, |octets| {
                if addresses.0.is_ipv4() {
                    octets[4..8].copy_from_slice(&[0x12, 0x34, 0x20, offset]);
                } else {
                    octets[6] = FRAGMENT;
                    octets.splice(40..40, [PROTOCOL_UDP, 0, 0, offset | 1, 0, 0, 0x12, 0x34]);
                }
            });
            let port = |port: u16| is_first.then_some(port);
            let Ends { source, destination, protocol, fragment } = of_fragment;
            assert_eq!(fragment, Some(Fragment { identification: 0x1234, is_first }));
            assert_eq!((protocol, source.1, destination.1), (PROTOCOL_UDP, port(53), port(5555)));
        }
    }

    #[test]
    fn octets_truncated_anywhere_are_read_without_a_panic() {
        for addresses in [V4, V6] {
            let octets = emit(&datagram(addresses));
            for len in 0..octets.len() {
                assert!(Ends::read(&octets[..len]).is_none_or(|ends| ends.source.0 == addresses.0));
            }
        }
        assert_eq!(Ends::read(&[0; 60]), None);
        assert!(Ends::read(&[0x60; 400]).is_some());
    }
}
