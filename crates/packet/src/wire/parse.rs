//! Octets to [`Packet`].

use std::net::IpAddr;

use bytes::Bytes;
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice, UdpHeaderSlice};
use thiserror::Error;

use super::{NO_NEXT_HEADER, PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP, options};
use crate::header::{Icmp, Ip, Tcp, TcpFlags, Udp};
use crate::packet::{Carried, Packet, Transport};
use crate::payload::Payload;
use crate::seq::Seq;

/// Why octets are no IP packet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// There are no octets.
    #[error("no octets, not even an IP version")]
    Empty,
    /// The first four bits are neither 4 nor 6.
    #[error("the IP version is {0}, not 4 or 6")]
    Version(u8),
    /// The octets end within the IP header.
    #[error("an IPv{version} header has {need} octets, but only {have} are present")]
    HeaderTruncated {
        /// IP version.
        version: u8,
        /// Octets of the header.
        need: usize,
        /// Octets present.
        have: usize,
    },
    /// The stated length of the IPv4 header is less than its fixed part of 20 octets, or more than
    /// the packet.
    #[error(
        "the IPv4 header length is {header} octets in a packet of {total}; it must be at least 20 and at most the packet"
    )]
    HeaderLength {
        /// Octets of the header, from the IHL field.
        header: usize,
        /// Octets of the packet, from the total length field.
        total: usize,
    },
    /// The length field is zero although more follows: an IPv6 jumbogram (RFC 2675) or a
    /// super-packet of the Linux kernel above 65,535 octets ("BIG TCP"). Its length is stated
    /// elsewhere, so nothing can be truncated safely.
    #[error("the IPv{version} length field is 0: a jumbogram, or a super-packet above 65535 octets")]
    LengthUnstated {
        /// IP version.
        version: u8,
    },
    /// The octets end before the packet does. Such a packet is damaged, or was captured only in
    /// part.
    #[error("the IP header announces {stated} octets, but only {have} are present")]
    Truncated {
        /// Octets of the packet, from the length field.
        stated: usize,
        /// Octets present.
        have: usize,
    },
}

/// Reads an IP packet. Octets after the end that the IP header states (Ethernet padding) are
/// removed. Octets are an error only if they contain no complete IP packet; unsupported content is
/// [`Transport::Opaque`].
///
/// Checksums are not checked: a kernel delivers packets whose checksum the network card will fill
/// in, and only the caller knows which. See [`super::checksums_are_right`].
///
/// A payload of octets shares the memory of `octets`.
pub fn parse(octets: Bytes) -> Result<Packet, ParseError> {
    let header = IpHeader::read(&octets, octets.len())?;
    let mut octets = octets;
    octets.truncate(header.total_len);
    let body = octets.slice(header.header_len..);

    let mut carried = header.carried;
    let parsed = if header.is_plain { read_transport(&header, &body, &mut carried) } else { None };
    let (transport, header_len) = parsed.unwrap_or((Transport::Opaque { protocol: header.protocol }, 0));
    let payload = Payload::Bytes(body.slice(header_len..));
    Ok(Packet::parsed(header.ip, transport, payload, carried, octets))
}

/// Reads the headers of an IP packet of `len` octets, whose payload is not available
/// ([`Payload::unseen`]). Otherwise like [`parse`].
pub fn parse_headers(octets: &[u8], len: usize) -> Result<Packet, ParseError> {
    let header = IpHeader::read(octets, len)?;
    let body = octets.get(header.header_len..).unwrap_or_default();
    let mut carried = header.carried;
    let parsed = if header.is_plain { read_transport(&header, body, &mut carried) } else { None };
    let (transport, header_len) = parsed.unwrap_or((Transport::Opaque { protocol: header.protocol }, 0));
    let payload = header.total_len.saturating_sub(header.header_len + header_len);
    Ok(Packet::shown_in_part(header.ip, transport, Payload::unseen(payload as u32), carried))
}

/// The contents of the IP header.
struct IpHeader {
    ip: Ip,
    /// Octets of the IP header, including options.
    header_len: usize,
    /// Octets of the packet.
    total_len: usize,
    /// Protocol, or next header.
    protocol: u8,
    /// Whether [`Ip`] and [`Carried`] hold all of the header: no options, no fragment, no reserved
    /// flag.
    is_plain: bool,
    carried: Carried,
}

impl IpHeader {
    /// Reads the header of a packet of which `have` octets are present.
    fn read(octets: &[u8], have: usize) -> Result<Self, ParseError> {
        match octets.first().ok_or(ParseError::Empty)? >> 4 {
            4 => Self::v4(octets, have),
            6 => Self::v6(octets, have),
            version => Err(ParseError::Version(version)),
        }
    }

    fn v4(octets: &[u8], have: usize) -> Result<Self, ParseError> {
        let truncated = |need| ParseError::HeaderTruncated { version: 4, need, have };
        if octets.len() < 20 {
            return Err(truncated(20));
        }
        let header_len = usize::from(octets[0] & 0x0f) * 4;
        let total_len = usize::from(u16::from_be_bytes([octets[2], octets[3]]));
        if header_len < 20 {
            return Err(ParseError::HeaderLength { header: header_len, total: total_len });
        }
        let header = Ipv4HeaderSlice::from_slice(octets).map_err(|_| truncated(header_len))?;
        if total_len == 0 {
            return Err(ParseError::LengthUnstated { version: 4 });
        }
        if total_len < header_len {
            return Err(ParseError::HeaderLength { header: header_len, total: total_len });
        }
        if total_len > have {
            return Err(ParseError::Truncated { stated: total_len, have });
        }
        let reserved_flag = octets[6] & 0x80 != 0;
        Ok(Self {
            ip: Ip {
                source: IpAddr::V4(header.source_addr()),
                destination: IpAddr::V4(header.destination_addr()),
                hop_limit: header.ttl(),
                traffic_class: octets[1],
                identification: header.identification(),
            },
            header_len,
            total_len,
            protocol: header.protocol().0,
            is_plain: header_len == 20 && !header.is_fragmenting_payload() && !reserved_flag,
            carried: Carried { may_fragment: !header.dont_fragment(), ..Carried::default() },
        })
    }

    fn v6(octets: &[u8], have: usize) -> Result<Self, ParseError> {
        let header = Ipv6HeaderSlice::from_slice(octets).map_err(|_| ParseError::HeaderTruncated {
            version: 6,
            need: 40,
            have,
        })?;
        let protocol = header.next_header().0;
        let total_len = 40 + usize::from(header.payload_length());
        // Forty octets that announce a next header may have been truncated to nothing, but not if
        // more octets follow.
        if total_len == 40 && have > 40 && protocol != NO_NEXT_HEADER {
            return Err(ParseError::LengthUnstated { version: 6 });
        }
        if total_len > have {
            return Err(ParseError::Truncated { stated: total_len, have });
        }
        Ok(Self {
            ip: Ip {
                source: IpAddr::V6(header.source_addr()),
                destination: IpAddr::V6(header.destination_addr()),
                hop_limit: header.hop_limit(),
                traffic_class: header.traffic_class(),
                identification: 0,
            },
            header_len: 40,
            total_len,
            protocol,
            is_plain: true,
            carried: Carried { flow_label: header.flow_label().value(), ..Carried::default() },
        })
    }
}

/// The transport header of `body` and its length in octets; `None` if anything in it is not
/// supported.
fn read_transport(header: &IpHeader, body: &[u8], carried: &mut Carried) -> Option<(Transport, usize)> {
    match (header.protocol, header.ip.source.is_ipv4()) {
        (PROTOCOL_TCP, _) => read_tcp(body, carried),
        (PROTOCOL_UDP, _) => read_udp(body),
        (PROTOCOL_ICMP, true) | (PROTOCOL_ICMPV6, false) => read_icmp(body),
        _ => None,
    }
}

fn read_tcp(body: &[u8], carried: &mut Carried) -> Option<(Transport, usize)> {
    let header = TcpHeaderSlice::from_slice(body).ok()?;
    let options = options::read(header.options())?;
    carried.tcp_reserved = header.slice()[12] & 0x0f;
    let tcp = Tcp {
        source_port: header.source_port(),
        destination_port: header.destination_port(),
        seq: Seq(header.sequence_number()),
        ack: Seq(header.acknowledgment_number()),
        flags: TcpFlags(header.slice()[13]),
        window: header.window_size(),
        urgent_pointer: header.urgent_pointer(),
        options,
    };
    Some((Transport::Tcp(tcp), header.slice().len()))
}

/// A datagram shorter than the IP payload has something after it (RFC 9868 puts options there), and
/// is not parsed.
fn read_udp(body: &[u8]) -> Option<(Transport, usize)> {
    let header = UdpHeaderSlice::from_slice(body).ok()?;
    if usize::from(header.length()) != body.len() {
        return None;
    }
    let udp = Udp { source_port: header.source_port(), destination_port: header.destination_port() };
    Some((Transport::Udp(udp), 8))
}

fn read_icmp(body: &[u8]) -> Option<(Transport, usize)> {
    let &[kind, code, _, _, a, b, c, d] = body.first_chunk::<8>()?;
    Some((Transport::Icmp(Icmp { kind, code, rest_of_header: [a, b, c, d] }), 8))
}
