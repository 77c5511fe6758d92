//! What an ICMP error message quotes of the packet that caused it: the IP header and the first eight octets behind it
//! (RFC 792), enough to tell connection and sequence number.

use std::net::IpAddr;

use bytes::Bytes;

use crate::header::{Icmp, Ip};
use crate::packet::{FlowKey, Packet, Transport};
use crate::payload::Payload;
use crate::seq::Seq;
use crate::wire;

/// The TCP segment that an ICMP error message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotation {
    /// The direction of the connection that the segment belonged to.
    pub flow: FlowKey,
    /// The segment's sequence number.
    pub seq: Seq,
}

impl Quotation {
    /// Reads the quotation of an ICMP error message; `None` unless it quotes a TCP segment.
    pub fn of(message: &Packet) -> Option<Self> {
        if !matches!(message.transport(), Transport::Icmp(_)) {
            return None;
        }
        let octets = message.payload().octets();
        let (source, destination, rest) = match octets.first()? >> 4 {
            4 => {
                let header_len = usize::from(octets[0] & 0x0f) * 4;
                let is_first_fragment = octets.get(6..8).is_some_and(|f| f[0] & 0x1f == 0 && f[1] == 0);
                if header_len < 20 || octets.get(9) != Some(&wire::PROTOCOL_TCP) || !is_first_fragment {
                    return None;
                }
                let address = |at| Some(IpAddr::from(<[u8; 4]>::try_from(octets.get(at..at + 4)?).ok()?));
                (address(12)?, address(16)?, octets.get(header_len..)?)
            }
            6 => {
                if octets.get(6) != Some(&wire::PROTOCOL_TCP) {
                    return None;
                }
                let address = |at| Some(IpAddr::from(<[u8; 16]>::try_from(octets.get(at..at + 16)?).ok()?));
                (address(8)?, address(24)?, octets.get(40..)?)
            }
            _ => return None,
        };
        let port = |at| Some(u16::from_be_bytes(<[u8; 2]>::try_from(rest.get(at..at + 2)?).ok()?));
        let seq = Seq(u32::from_be_bytes(<[u8; 4]>::try_from(rest.get(4..8)?).ok()?));
        let flow = FlowKey { source: (source, port(0)?), destination: (destination, port(2)?) };
        Some(Self { flow, seq })
    }
}

/// Builds the ICMP error message of this type and code about `offending`, from `reporter` to the offending packet's source.
///
/// `None` where RFC 1122, section 3.2.2, forbids one: about an ICMP message, or about anything that is no TCP or UDP packet.
pub fn error_about(offending: &Packet, reporter: IpAddr, kind: u8, code: u8) -> Option<Packet> {
    if !matches!(offending.transport(), Transport::Tcp(_) | Transport::Udp(_)) {
        return None;
    }
    let ip = offending.ip();
    let header = wire::headers(offending);
    let quoted = Bytes::copy_from_slice(header.get(..ip.len() + 8)?);
    let icmp = Icmp { kind, code, rest_of_header: [0; 4] };
    Some(Packet::new(Ip::new(reporter, ip.source), Transport::Icmp(icmp), Payload::Bytes(quoted)))
}
