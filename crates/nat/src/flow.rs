//! What a translator reads of a packet: its ends, and of an ICMP error those of the packet that it is about.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use lasthop_packet::wire::{
    PROTOCOL_ICMP, PROTOCOL_TCP, PROTOCOL_UDP, header_checksum_is_right, transport_checksum_is_right,
};
use lasthop_packet::{Ends, Icmp, Packet, TcpFlags, Transport};

use crate::counts::Refusal;
use crate::endpoint::Protocol;

/// The content of a packet, for a translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// It belongs to a session, or opens one.
    Flow(Flow),
    /// It is about a packet of a session.
    Error {
        /// Its own addresses.
        source: Ipv4Addr,
        destination: Ipv4Addr,
        /// The packet that it quotes.
        quoted: Flow,
    },
    /// It is over IPv6.
    OtherFamily,
}

/// The ends of a packet. Those of ICMP queries have the identifier as the inside end's port, and 0 as the
/// other one's; which is which the direction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) protocol: Protocol,
    pub(crate) source: SocketAddrV4,
    pub(crate) destination: SocketAddrV4,
    /// Of a TCP segment.
    pub(crate) flags: TcpFlags,
    /// Whether it is an answer of ICMP, which opens nothing.
    pub(crate) is_answer: bool,
}

impl Flow {
    /// The end of this packet that is the remote one: with ICMP, it has no port.
    pub(crate) const fn remote(self, end: SocketAddrV4) -> SocketAddrV4 {
        match self.protocol {
            Protocol::Icmp => SocketAddrV4::new(*end.ip(), 0),
            Protocol::Tcp | Protocol::Udp => end,
        }
    }
}

/// Reads a packet whose checksums are right.
pub(crate) fn read(packet: &Packet) -> Result<Content, Refusal> {
    let ip = packet.ip();
    let (IpAddr::V4(source), IpAddr::V4(destination)) = (ip.source, ip.destination) else {
        return Ok(Content::OtherFamily);
    };
    // = RFC 5508, REQ-3a: an ICMP error with a wrong checksum is dropped. Others would spread a damaged
    // address.
    if !header_checksum_is_right(packet) || !transport_checksum_is_right(packet) {
        return Err(Refusal::WrongChecksum);
    }
    let flow = |protocol, [from, to]: [u16; 2]| Flow {
        protocol,
        source: SocketAddrV4::new(source, from),
        destination: SocketAddrV4::new(destination, to),
        flags: TcpFlags::default(),
        is_answer: false,
    };
    match packet.transport() {
        Transport::Tcp(tcp) => {
            let flow = flow(Protocol::Tcp, [tcp.source_port, tcp.destination_port]);
            Ok(Content::Flow(Flow { flags: tcp.flags, ..flow }))
        }
        Transport::Udp(udp) => {
            Ok(Content::Flow(flow(Protocol::Udp, [udp.source_port, udp.destination_port])))
        }
        Transport::Icmp(Icmp { kind, rest_of_header: [a, b, ..], .. }) => match kind {
            // Echo, timestamp, information, address mask: the odd one of two is the answer.
            0 | 8 | 13..=18 => {
                let flow = flow(Protocol::Icmp, [u16::from_be_bytes([*a, *b]); 2]);
                Ok(Content::Flow(Flow { is_answer: matches!(kind, 0 | 14 | 16 | 18), ..flow }))
            }
            _ => {
                let quoted = read_quoted(packet).ok_or(Refusal::Unsupported)?;
                Ok(Content::Error { source, destination, quoted })
            }
        },
        Transport::Opaque { .. } => Err(Refusal::Unsupported),
    }
}

/// Reads the packet that an ICMP error quotes; `None` if the quotation is too short to be translated.
fn read_quoted(message: &Packet) -> Option<Flow> {
    let ends = Ends::quoted(message)?;
    let (IpAddr::V4(source), IpAddr::V4(destination)) = (ends.source.0, ends.destination.0) else {
        return None;
    };
    if message.payload().len() < 28 || ends.fragment.is_some_and(|fragment| !fragment.is_first) {
        return None;
    }
    let (protocol, from, to) = match ends.protocol {
        PROTOCOL_TCP => (Protocol::Tcp, ends.source.1?, ends.destination.1?),
        PROTOCOL_UDP => (Protocol::Udp, ends.source.1?, ends.destination.1?),
        PROTOCOL_ICMP => {
            let octets = message.payload().slice(0, 68).octets();
            let header_len = usize::from(octets.first()? & 0x0f) * 4;
            let &[0 | 8 | 13..=18, _, _, _, a, b] = octets.get(header_len..)?.first_chunk::<6>()? else {
                return None;
            };
            let identifier = u16::from_be_bytes([a, b]);
            (Protocol::Icmp, identifier, identifier)
        }
        _ => return None,
    };
    let (source, destination) = (SocketAddrV4::new(source, from), SocketAddrV4::new(destination, to));
    Some(Flow { protocol, source, destination, flags: TcpFlags::default(), is_answer: false })
}
