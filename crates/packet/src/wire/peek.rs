//! The probable connection of a packet before it is parsed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::PROTOCOL_TCP;
use crate::packet::FlowKey;

/// The end of an IPv6 header without extensions.
const IPV6_HEADER: usize = 40;

/// Addresses and ports of an apparent TCP segment in an IP packet. Nothing is validated:
/// [`super::parse()`] may find that it is no TCP segment.
pub fn peek_flow_key(octets: &[u8]) -> Option<FlowKey> {
    let (protocol, source, destination, ports_at): (u8, IpAddr, IpAddr, usize) = match octets.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(Ipv4Addr::from(*octets.get(at..)?.first_chunk::<4>()?));
            (*octets.get(9)?, address(12)?.into(), address(16)?.into(), usize::from(octets[0] & 15) * 4)
        }
        6 => {
            let address = |at: usize| Some(Ipv6Addr::from(*octets.get(at..)?.first_chunk::<16>()?));
            (*octets.get(6)?, address(8)?.into(), address(24)?.into(), IPV6_HEADER)
        }
        _ => return None,
    };
    let port = |at: usize| Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?));
    let (source_port, destination_port) = (port(ports_at)?, port(ports_at + 2)?);
    (protocol == PROTOCOL_TCP).then(|| FlowKey::tcp((source, source_port), (destination, destination_port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Ip, Tcp};
    use crate::wire::emit;
    use crate::{Packet, Payload};

    #[test]
    fn peeking_finds_the_same_key_as_parsing_and_never_panics() {
        let addresses: [[IpAddr; 2]; 2] = [
            [Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(10, 1, 2, 3).into()],
            ["2001:db8::1".parse().expect("an address"), "2001:db8::2".parse().expect("an address")],
        ];
        for [source, destination] in addresses {
            let tcp = Tcp { source_port: 443, destination_port: 50_000, ..Tcp::default() };
            let packet = Packet::tcp_segment(Ip::new(source, destination), tcp, Payload::EMPTY);
            let octets = emit(&packet);
            assert_eq!(peek_flow_key(&octets), packet.flow_key());
            for len in 0..octets.len() {
                assert!(peek_flow_key(&octets[..len]).is_none_or(|key| Some(key) == packet.flow_key()));
            }
        }
        assert_eq!(peek_flow_key(&[0x4f; 12]), None);
        assert_eq!(peek_flow_key(&[0; 60]), None);
    }
}
