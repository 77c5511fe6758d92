//! Which packets a link impairs: those of certain addresses, ports or protocols, in both directions.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use lasthop_agent::LinkSenses;
use lasthop_packet::ends::Ends;
use lasthop_packet::{Packet, Prefix, wire};

use crate::config::CONFIRMED;

/// The packets that a link impairs. All others cross it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// These,
    pub only: Traffic,
    /// except these.
    pub except: Traffic,
}

/// A part of the traffic: packets that match one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic(Vec<Match>);

/// What a packet matches if everything that is given here is true of it. Address and port are those of
/// one and the same end, whichever it is: with the packets to it, those from it match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Its protocol.
    pub protocol: Option<MatchedProtocol>,
    /// The address of an end.
    pub network: Option<Prefix>,
    /// The port of an end.
    pub ports: Option<RangeInclusive<u16>>,
}

/// A protocol to select by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedProtocol {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
    /// ICMP and `ICMPv6`.
    Icmp,
}

impl Selection {
    /// What a link that does not impair all packets cannot show to agents: those that pass around it are in
    /// no frame, and an agent would wait for their fate.
    pub const HIDES: LinkSenses = CONFIRMED;

    /// All packets.
    pub fn everything() -> Self {
        Self { only: Traffic::all(), except: Traffic::none() }
    }

    /// Whether it is all packets, whatever they are.
    pub fn is_everything(&self) -> bool {
        self.except.0.is_empty() && self.only.0.iter().any(|matched| *matched == Match::default())
    }

    /// Whether a packet is impaired, as far as it says itself: a fragment other than the first says
    /// nothing of its ports. An ICMP error message belongs to the packet that it is about, too.
    pub fn selects(&self, packet: &Packet) -> bool {
        let (ends, quoted) = (Ends::from_packet(packet), Ends::quoted(packet));
        let has = |traffic: &Traffic| traffic.has(&ends) || quoted.is_some_and(|quoted| traffic.has(&quoted));
        has(&self.only) && !has(&self.except)
    }

    /// Whether the packets between these are impaired.
    pub fn selects_between(&self, ends: &Ends) -> bool {
        self.only.has(ends) && !self.except.has(ends)
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::everything()
    }
}

impl Traffic {
    /// No packet.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Every packet.
    pub fn all() -> Self {
        Self(vec![Match::default()])
    }

    /// Packets that match one of these.
    pub const fn new(matches: Vec<Match>) -> Self {
        Self(matches)
    }

    fn has(&self, ends: &Ends) -> bool {
        self.0.iter().any(|matched| matched.is_met_by(ends))
    }
}

impl Match {
    fn is_met_by(&self, ends: &Ends) -> bool {
        let is_end = |(address, port): (IpAddr, Option<u16>)| {
            self.network.is_none_or(|network| network.contains(address))
                && self.ports.as_ref().is_none_or(|ports| port.is_some_and(|port| ports.contains(&port)))
        };
        self.protocol.is_none_or(|protocol| protocol.is(ends.protocol))
            && (is_end(ends.source) || is_end(ends.destination))
    }
}

impl MatchedProtocol {
    const fn is(self, number: u8) -> bool {
        match self {
            Self::Tcp => number == wire::PROTOCOL_TCP,
            Self::Udp => number == wire::PROTOCOL_UDP,
            Self::Icmp => matches!(number, wire::PROTOCOL_ICMP | wire::PROTOCOL_ICMPV6),
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::quote::error_about;
    use lasthop_packet::{Icmp, Ip, Payload, Tcp, Transport, Udp};

    use super::*;

    const V4: [&str; 2] = ["10.0.0.1", "203.0.113.9"];
    const V6: [&str; 2] = ["2001:db8::1", "2001:db8:1::9"];

    fn packet(addresses: [&str; 2], transport: Transport) -> Packet {
        let [source, destination] = addresses.map(|address| address.parse().expect("an address"));
        Packet::new(
            Ip::new(source, destination),
            transport,
            Payload::Stream { stream: 1, offset: 0, len: 64 },
        )
    }

    fn tcp(source_port: u16, destination_port: u16) -> Transport {
        Transport::Tcp(Tcp { source_port, destination_port, ..Tcp::default() })
    }

    fn udp(source_port: u16, destination_port: u16) -> Transport {
        Transport::Udp(Udp { source_port, destination_port })
    }

    fn only(matched: Match) -> Selection {
        Selection { only: Traffic::new(vec![matched]), except: Traffic::none() }
    }

    fn reversed([one, other]: [&'static str; 2]) -> [&'static str; 2] {
        [other, one]
    }

    #[test]
    fn a_port_selects_both_directions_of_its_protocol_and_nothing_else() {
        let to_9999 = Match { protocol: Some(MatchedProtocol::Tcp), ports: Some(9999..=9999), network: None };
        let selection = only(to_9999);
        for addresses in [V4, V6] {
            for (transport, is_selected) in [
                (tcp(40_000, 9999), true),
                (tcp(9999, 40_000), true),
                (tcp(40_000, 9998), false),
                (udp(40_000, 9999), false),
            ] {
                let there = packet(addresses, transport.clone());
                let back = packet(reversed(addresses), transport);
                assert_eq!([there, back].map(|packet| selection.selects(&packet)), [is_selected; 2]);
            }
        }
    }

    #[test]
    fn address_and_port_are_those_of_one_end() {
        let service = Match { network: "203.0.113.0/24".parse().ok(), ports: Some(80..=89), protocol: None };
        let selection = only(service);
        assert!(selection.selects(&packet(V4, udp(40_000, 80))));
        assert!(selection.selects(&packet(reversed(V4), tcp(89, 40_000))));
        assert!(!selection.selects(&packet(V4, tcp(80, 40_000))), "the port of the other end");
        assert!(!selection.selects(&packet(["10.0.0.1", "203.0.114.9"], tcp(40_000, 80))));
        assert!(!selection.selects(&packet(V6, tcp(40_000, 80))));
    }

    #[test]
    fn what_is_excepted_is_not_selected_and_several_make_a_union() {
        let dns = Match { ports: Some(53..=53), ..Match::default() };
        let ping = Match { protocol: Some(MatchedProtocol::Icmp), ..Match::default() };
        let selection =
            Selection { only: Traffic::all(), except: Traffic::new(vec![dns.clone(), ping.clone()]) };
        let echo = Transport::Icmp(Icmp { kind: 8, code: 0, rest_of_header: [0; 4] });
        for (transport, is_selected) in [(udp(4000, 53), false), (echo.clone(), false), (tcp(4000, 80), true)]
        {
            assert_eq!(selection.selects(&packet(V4, transport)), is_selected);
        }
        let union = Selection { only: Traffic::new(vec![dns, ping]), except: Traffic::none() };
        for (transport, is_selected) in [(udp(4000, 53), true), (echo, true), (tcp(4000, 80), false)] {
            assert_eq!(union.selects(&packet(V4, transport)), is_selected);
        }
    }

    #[test]
    fn an_error_message_belongs_to_the_packet_that_it_is_about() {
        for addresses in [V4, V6] {
            let about = |transport: Transport| {
                let reporter = addresses[1].parse().expect("an address");
                let (kind, code) = if addresses == V4 { (3, 3) } else { (1, 4) };
                error_about(&packet(addresses, transport), reporter, kind, code).expect("a message")
            };
            let service = Match { ports: Some(9999..=9999), ..Match::default() };
            let selection = only(service.clone());
            assert!(selection.selects(&about(udp(40_000, 9999))));
            assert!(!selection.selects(&about(udp(40_000, 53))));
            let others = Selection { only: Traffic::all(), except: Traffic::new(vec![service]) };
            assert!(!others.selects(&about(tcp(40_000, 9999))));
            assert!(others.selects(&about(tcp(40_000, 80))));
        }
    }

    #[test]
    fn everything_is_what_excepts_nothing() {
        assert!(Selection::everything().is_everything());
        assert!(Selection::everything().selects(&packet(V4, Transport::Opaque { protocol: 47 })));
        let none = Selection { only: Traffic::none(), except: Traffic::none() };
        assert!(!none.is_everything() && !none.selects(&packet(V4, tcp(1, 2))));
    }
}
