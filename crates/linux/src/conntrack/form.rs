//! Connections as netlink has them: attributes, which are nested, with numbers in network order.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use super::entry::{Entry, Protocol, Status, TcpEnd, TcpState, Tuple};
use crate::netlink::{attributes, written};

/// `struct nfgenmsg`: the address family (IPv4), a version, and a number.
const HEADER: [u8; 4] = [libc::AF_INET as u8, 0, 0, 0];

/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;

/// `enum ctattr_type`: `CTA_...`.
const TUPLE_ORIG: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const STATUS: u16 = 3;
const PROTOINFO: u16 = 4;
const NAT_SRC: u16 = 6;
const TIMEOUT: u16 = 7;
const MARK: u16 = 8;
const ZONE: u16 = 18;
const FILTER: u16 = 25;

/// `enum ctattr_tuple`, `ctattr_ip` and `ctattr_l4proto`.
const TUPLE_IP: u16 = 1;
const TUPLE_PROTO: u16 = 2;
const IP_V4_SRC: u16 = 1;
const IP_V4_DST: u16 = 2;
const PROTO_NUM: u16 = 1;
const PROTO_SRC_PORT: u16 = 2;
const PROTO_DST_PORT: u16 = 3;

/// `enum ctattr_protoinfo` and `ctattr_protoinfo_tcp`.
const PROTOINFO_TCP: u16 = 1;
const TCP_STATE: u16 = 1;
const TCP_WSCALE: [u16; 2] = [2, 3];
const TCP_FLAGS: [u16; 2] = [4, 5];
/// `IP_CT_TCP_FLAG_BE_LIBERAL`: windows are not checked.
const BE_LIBERAL: u8 = 0x08;

/// `enum ctattr_nat` and `ctattr_protonat`.
const NAT_V4_MINIP: u16 = 1;
const NAT_V4_MAXIP: u16 = 2;
const NAT_PROTO: u16 = 3;
const PROTONAT_PORT_MIN: u16 = 1;
const PROTONAT_PORT_MAX: u16 = 2;

/// `enum ctattr_filter`: which parts of the tuple are compared; and `CTA_FILTER_FLAG(CTA_IP_SRC)`.
const FILTER_ORIG_FLAGS: u16 = 1;
const FILTER_REPLY_FLAGS: u16 = 2;
const FILTER_IP_SRC: u32 = 1;

/// `enum ip_conntrack_status`: `IPS_...`.
const SEEN_REPLY: u32 = 1 << 1;
const ASSURED: u32 = 1 << 2;
const CONFIRMED: u32 = 1 << 3;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The request for all connections with this source.
pub(super) fn source_filter(source: Ipv4Addr) -> Vec<u8> {
    let address = nested(TUPLE_IP, &[written(IP_V4_SRC, &source.octets())]);
    // These numbers are in the machine's order.
    let flags = [
        written(FILTER_ORIG_FLAGS, &FILTER_IP_SRC.to_ne_bytes()),
        written(FILTER_REPLY_FLAGS, &0_u32.to_ne_bytes()),
    ];
    [HEADER.to_vec(), nested(TUPLE_ORIG, &[address]), nested(FILTER, &flags)].concat()
}

/// A request about the connection with this tuple.
pub(super) fn original(of: &Tuple) -> Vec<u8> {
    [HEADER.to_vec(), tuple(TUPLE_ORIG, of)].concat()
}

/// A request about the connection whose replies have this tuple.
pub(super) fn reply(of: &Tuple) -> Vec<u8> {
    [HEADER.to_vec(), tuple(TUPLE_REPLY, of)].concat()
}

/// The request to add a connection.
pub(super) fn entry(entry: &Entry) -> Vec<u8> {
    let Status { is_answered, is_assured } = entry.status;
    let status = CONFIRMED | if is_answered { SEEN_REPLY } else { 0 } | if is_assured { ASSURED } else { 0 };
    let seconds = u32::try_from(entry.timeout.as_secs()).unwrap_or(u32::MAX).max(1);
    let mut octets = [
        HEADER.to_vec(),
        tuple(TUPLE_ORIG, &entry.original),
        // The kernel puts the translation into the tuple of an untranslated connection.
        tuple(TUPLE_REPLY, &entry.original.reversed()),
        written(STATUS, &status.to_be_bytes()),
        written(TIMEOUT, &seconds.to_be_bytes()),
        written(MARK, &entry.mark.to_be_bytes()),
    ]
    .concat();
    if let Some(outside) = entry.outside() {
        let (address, port) = (outside.ip().octets(), outside.port().to_be_bytes());
        let ports = [written(PROTONAT_PORT_MIN, &port), written(PROTONAT_PORT_MAX, &port)];
        let parts =
            [written(NAT_V4_MINIP, &address), written(NAT_V4_MAXIP, &address), nested(NAT_PROTO, &ports)];
        octets.extend(nested(NAT_SRC, &parts));
    }
    if let Some(TcpState { state, ends }) = entry.tcp {
        let mut parts = vec![written(TCP_STATE, &[state])];
        for (index, TcpEnd { window_scale, flags }) in ends.into_iter().enumerate() {
            let known = (flags & TcpEnd::LASTING) | BE_LIBERAL;
            parts.push(written(TCP_WSCALE[index], &[window_scale]));
            // The flags, and which of them are meant.
            parts.push(written(TCP_FLAGS[index], &[known, 0xff]));
        }
        octets.extend(nested(PROTOINFO, &[nested(PROTOINFO_TCP, &parts)]));
    }
    octets
}

/// `CTA_HELP`, `CTA_TUPLE_MASTER`, `CTA_SEQ_ADJ_ORIG` and `CTA_SEQ_ADJ_REPLY`: more than its translation belongs to such a
/// connection, such as a protocol's helper that changes its payload.
const OF_HELPERS: [u16; 4] = [5, 14, 15, 16];

/// The connection that a message is about; `None` if it is not a complete one of TCP or UDP over IPv4 in the zone 0, without
/// a helper.
pub(super) fn read(message: &[u8]) -> Option<Entry> {
    let (header, rest) = message.split_first_chunk::<4>()?;
    if header[0] != HEADER[0] || value(rest, ZONE).is_some_and(|zone| zone != [0, 0]) {
        return None;
    }
    if attributes(rest).any(|attribute| OF_HELPERS.contains(&attribute.number)) {
        return None;
    }
    let original = read_tuple(value(rest, TUPLE_ORIG)?)?;
    let reply = read_tuple(value(rest, TUPLE_REPLY)?)?;
    let status = number(rest, STATUS)?;
    // A connection that is about to be removed has none.
    let timeout = Duration::from_secs(number(rest, TIMEOUT)?.into());
    let tcp = match original.protocol {
        Protocol::Tcp => Some(read_tcp(value(value(rest, PROTOINFO)?, PROTOINFO_TCP)?)?),
        Protocol::Udp => None,
    };
    let status = Status { is_answered: status & SEEN_REPLY != 0, is_assured: status & ASSURED != 0 };
    Some(Entry { original, reply, status, timeout, mark: number(rest, MARK).unwrap_or(0), tcp })
}

fn read_tuple(octets: &[u8]) -> Option<Tuple> {
    let (ip, transport) = (value(octets, TUPLE_IP)?, value(octets, TUPLE_PROTO)?);
    let protocol = match value(transport, PROTO_NUM)? {
        [TCP] => Protocol::Tcp,
        [UDP] => Protocol::Udp,
        _ => return None,
    };
    let end = |address, port| {
        let address: [u8; 4] = value(ip, address)?.try_into().ok()?;
        let port = u16::from_be_bytes(value(transport, port)?.try_into().ok()?);
        Some(SocketAddrV4::new(address.into(), port))
    };
    let (source, destination) = (end(IP_V4_SRC, PROTO_SRC_PORT)?, end(IP_V4_DST, PROTO_DST_PORT)?);
    Some(Tuple { protocol, source, destination })
}

fn read_tcp(octets: &[u8]) -> Option<TcpState> {
    let [state] = value(octets, TCP_STATE)? else { return None };
    let end = |index: usize| {
        let [window_scale] = value(octets, TCP_WSCALE[index])? else { return None };
        // `struct nf_ct_tcp_flags`.
        let [flags, _mask] = value(octets, TCP_FLAGS[index])? else { return None };
        Some(TcpEnd { window_scale: *window_scale, flags: flags & TcpEnd::LASTING })
    };
    let ends = [end(0)?, end(1)?];
    let is_possible =
        (1..=TcpState::MAX).contains(state) && ends.iter().all(|end| end.window_scale <= TcpEnd::MAX_SCALE);
    is_possible.then_some(TcpState { state: *state, ends })
}

fn value(octets: &[u8], number: u16) -> Option<&[u8]> {
    attributes(octets).find(|attribute| attribute.number == number).map(|attribute| attribute.value)
}

fn number(octets: &[u8], of: u16) -> Option<u32> {
    Some(u32::from_be_bytes(value(octets, of)?.try_into().ok()?))
}

fn nested(number: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    written(number | NESTED, &parts.concat())
}

fn tuple(number: u16, Tuple { protocol, source, destination }: &Tuple) -> Vec<u8> {
    let protocol = match protocol {
        Protocol::Tcp => TCP,
        Protocol::Udp => UDP,
    };
    let ip = [written(IP_V4_SRC, &source.ip().octets()), written(IP_V4_DST, &destination.ip().octets())];
    let transport = [
        written(PROTO_NUM, &[protocol]),
        written(PROTO_SRC_PORT, &source.port().to_be_bytes()),
        written(PROTO_DST_PORT, &destination.port().to_be_bytes()),
    ];
    nested(number, &[nested(TUPLE_IP, &ip), nested(TUPLE_PROTO, &transport)])
}

#[cfg(test)]
mod tests;
