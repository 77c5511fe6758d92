//! The features that a SYN may request for a split to support the connection: the one rule for all
//! splits.
//!
//! A leg is an endpoint of its own, and features that it does not know do not reach the other end.
//! So connections with other features are not split.

use std::net::IpAddr;

use lasthop_packet::{Packet, Tcp, TcpFlags};

/// Whether a SYN is between two hosts. A SYN to a group of hosts opens no connection (RFC 9293,
/// section 3.9.2.3).
pub(super) fn is_between_hosts(syn: &Packet) -> bool {
    [syn.ip().source, syn.ip().destination].into_iter().all(is_of_a_host)
}

fn is_of_a_host(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !is_broadcast && !address.is_multicast() && !address.is_unspecified()
}

/// Whether a SYN carries data, which comes before the two legs exist (RFC 7413).
pub(super) fn has_data(syn: &Packet) -> bool {
    !syn.payload().is_empty()
}

/// Whether a SYN has unknown options. They may change the meaning of segments, or have to reach the
/// other end: authentication (RFC 2385, RFC 5925), Multipath TCP (RFC 8684), Fast Open (RFC 7413),
/// and future ones.
pub(super) fn has_unknown_options(syn: &Tcp) -> bool {
    syn.options.unknown.is_some()
}

/// Whether a SYN offers accurate ECN, or agrees to it (RFC 9768, section 3.1.2).
pub(super) fn has_accurate_ecn(syn: &Packet) -> bool {
    syn.tcp_accurate_ecn() || syn.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::CWR))
}

/// Whether a leg with its own numbers and options can answer a SYN in the other end's name.
/// Features that the leg does not agree to, such as accurate ECN, are not used on the connection.
pub fn can_be_answered(syn: &Packet) -> bool {
    let is_plain = syn.tcp().is_some_and(|tcp| !has_unknown_options(tcp));
    is_plain && is_between_hosts(syn) && !has_data(syn)
}

#[cfg(test)]
mod tests {
    use lasthop_packet::{Ip, Payload, Tcp};

    use super::*;

    #[test]
    fn connections_are_between_hosts() {
        let syn = |to: &str| {
            let from: IpAddr = "10.0.0.2".parse().expect("an address");
            Packet::tcp_segment(
                Ip::new(from, to.parse().expect("an address")),
                Tcp::default(),
                Payload::EMPTY,
            )
        };
        for (to, expected) in [
            ("192.0.2.1", true),
            ("2001:db8::1", true),
            ("255.255.255.255", false),
            ("224.0.0.251", false),
            ("ff02::fb", false),
            ("0.0.0.0", false),
            ("::", false),
        ] {
            assert_eq!(is_between_hosts(&syn(to)), expected, "{to}");
        }
    }
}
