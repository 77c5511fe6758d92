//! Mappings, filters, ports, hairpinning: RFC 4787.

use super::*;
use crate::{Filtering, ForwardError};

const OTHER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 5), 5353);

#[test]
fn an_inside_endpoint_has_one_outside_endpoint_towards_all() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let mut nat = nat_with(|config| config.keeps_ports = false);
        let packet =
            |to| if protocol == Protocol::Tcp { syn(host(7000), to) } else { datagram(host(7000), to) };
        let first = ends(&out(&mut nat, &packet(SERVER), at(0)).expect("translated"));
        let second = ends(&out(&mut nat, &packet(OTHER), at(1)).expect("translated"));
        assert_eq!((first[0], first[1], second[1]), (second[0], SERVER, OTHER));
        assert_eq!(*first[0].ip(), OUTSIDE);
        assert_eq!(nat.len(at(1)), (1, 2));
    }
}

#[test]
fn packets_back_go_where_the_others_came_from() {
    let mut nat = nat_with(|config| config.keeps_ports = false);
    let outside = send(&mut nat, 7000, at(0));
    assert_ne!(outside.port(), 7000);
    let packet = back(&mut nat, &datagram(SERVER, outside), at(1)).expect("translated");
    assert_eq!(packet, parse(emit(&datagram(SERVER, host(7000)))).expect("a packet"), "the inverse");
    assert_eq!(
        answer(&mut nat, SocketAddrV4::new(OUTSIDE, outside.port() ^ 1), at(1)),
        Err(Refusal::NoMapping)
    );
}

#[test]
fn a_filter_admits_what_it_says() {
    let same_host = SocketAddrV4::new(*SERVER.ip(), 81);
    for (filtering, admitted) in [
        (Filtering::Open, [true, true]),
        (Filtering::Address, [true, false]),
        (Filtering::AddressAndPort, [false, false]),
    ] {
        let mut nat = nat_with(|config| config.filtering = filtering);
        let outside = send(&mut nat, 7000, at(0));
        for (from, is_admitted) in [same_host, OTHER].into_iter().zip(admitted) {
            let verdict = back(&mut nat, &datagram(from, outside), at(1)).map(|packet| ends(&packet)[1]);
            assert_eq!(verdict, if is_admitted { Ok(host(7000)) } else { Err(Refusal::Filtered) });
        }
    }
}

#[test]
fn a_port_is_kept_where_it_is_free_and_otherwise_its_parity_is() {
    let mut nat = nat();
    assert_eq!(send(&mut nat, 7001, at(0)).port(), 7001);
    for number in 8..60 {
        let rival = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, number), 7001);
        let port = ends(&out(&mut nat, &datagram(rival, SERVER), at(0)).expect("translated"))[0].port();
        assert!(port != 7001 && port % 2 == 1 && port >= 1024);
    }
    let reserved = send(&mut nat, 53, at(0)).port();
    assert!(reserved >= 1024 && reserved % 2 == 1, "{reserved}: outside of the range");
}

#[test]
fn all_mappings_of_a_host_have_one_address_and_hosts_share_the_addresses_evenly() {
    let second = Ipv4Addr::new(198, 51, 100, 2);
    let mut nat = nat_with(|config| config.outside.push(second));
    let mut addresses = Vec::new();
    for number in 1..=10 {
        let from = |port| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, number), port);
        let of = |packet: Result<Packet, Refusal>| *ends(&packet.expect("translated"))[0].ip();
        let one = of(out(&mut nat, &datagram(from(1), SERVER), at(0)));
        assert_eq!(one, of(out(&mut nat, &syn(from(2), SERVER), at(0))));
        addresses.push(one);
    }
    assert_eq!(addresses.iter().filter(|address| **address == second).count(), 5);
}

#[test]
fn a_session_over_udp_lasts_2_minutes_and_5_when_both_ends_have_sent() {
    let mut nat = nat();
    let outside = send(&mut nat, 7000, at(0));
    assert_eq!(answer(&mut nat, outside, at(120)), Err(Refusal::NoMapping));
    let outside = send(&mut nat, 7000, at(200));
    assert_eq!(answer(&mut nat, outside, at(319)), Ok(host(7000)));
    assert_eq!(answer(&mut nat, outside, at(319 + 299)), Ok(host(7000)), "refreshed from outside");
    assert_eq!(answer(&mut nat, outside, at(319 + 299 + 300)), Err(Refusal::NoMapping));
    assert_eq!(nat.len(at(1000)), (0, 0));
}

#[test]
fn packets_from_outside_refresh_only_if_the_settings_say_so() {
    let mut nat = nat_with(|config| config.inbound_refresh = false);
    let outside = send(&mut nat, 7000, at(0));
    assert_eq!(answer(&mut nat, outside, at(100)), Ok(host(7000)));
    assert_eq!(answer(&mut nat, outside, at(120)), Err(Refusal::NoMapping));
}

#[test]
fn two_hosts_inside_reach_each_other_by_their_outside_endpoints() {
    let mut nat = nat_with(|config| config.keeps_ports = false);
    let peer = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 8), 9000);
    let of_peer = ends(&out(&mut nat, &datagram(peer, SERVER), at(0)).expect("translated"))[0];
    let of_host = send(&mut nat, 7000, at(0));
    // Each has sent to the other's outside endpoint, which opens its filter.
    let first = out(&mut nat, &datagram(host(7000), of_peer), at(1));
    assert_eq!(first, Err(Refusal::Filtered));
    let second = out(&mut nat, &datagram(peer, of_host), at(1)).expect("hairpinned");
    assert_eq!(ends(&second), [of_peer, host(7000)], "from the outside endpoint");
    let third = out(&mut nat, &datagram(host(7000), of_peer), at(1)).expect("hairpinned");
    assert_eq!(ends(&third), [of_host, peer]);
}

#[test]
fn a_forwarding_admits_all_and_stays() {
    let mut nat = nat();
    let web = inside(Protocol::Tcp, 80);
    assert_eq!(nat.forward(web, Some(8080), at(0)), Ok(outside(Protocol::Tcp, 8080)));
    assert_eq!(nat.forward(web, None, at(0)), Ok(outside(Protocol::Tcp, 8080)), "it has one");
    assert_eq!(nat.forward(web, Some(81), at(0)), Err(ForwardError::InUse));
    assert_eq!(nat.forward(inside(Protocol::Tcp, 443), Some(8080), at(0)), Err(ForwardError::InUse));
    let of_outside = outside(Protocol::Tcp, 80);
    assert_eq!(nat.forward(of_outside, None, at(0)), Err(ForwardError::Impossible(of_outside)));
    let opened = back(&mut nat, &syn(OTHER, SocketAddrV4::new(OUTSIDE, 8080)), at(1_000_000));
    assert_eq!(ends(&opened.expect("translated")), [OTHER, host(80)]);
    let answered = out(&mut nat, &segment(host(80), OTHER, TcpFlags::SYN.with(TcpFlags::ACK)), at(1_000_000));
    assert_eq!(ends(&answered.expect("translated"))[0], SocketAddrV4::new(OUTSIDE, 8080));
    assert_eq!(nat.len(at(2_000_000)), (1, 0), "its sessions expire");
}

#[test]
fn what_cannot_be_translated_is_dropped_and_counted_and_ipv6_passes() {
    let mut nat = nat();
    let mut fragment = emit(&datagram(host(1), SERVER)).to_vec();
    // "More fragments" in place of "don't fragment", with the checksum.
    fragment[6] = 0x20;
    let checksum = u16::from_be_bytes([fragment[10], fragment[11]]);
    let (checksum, carry) = checksum.overflowing_add(0x2000);
    fragment[10..12].copy_from_slice(&(checksum + u16::from(carry)).to_be_bytes());
    let mut fragment = parse(fragment.into()).expect("a packet");
    assert_eq!(nat.outbound(&mut fragment, at(0)), Verdict::Drop(Refusal::Unsupported));
    let mut damaged = emit(&datagram(host(1), SERVER)).to_vec();
    damaged[60] ^= 1;
    let mut damaged = parse(damaged.into()).expect("a packet");
    assert_eq!(nat.outbound(&mut damaged, at(0)), Verdict::Drop(Refusal::WrongChecksum));
    for impossible in [datagram(host(0), SERVER), datagram(SocketAddrV4::new(OUTSIDE, 5), SERVER)] {
        assert_eq!(out(&mut nat, &impossible, at(0)), Err(Refusal::Unsupported));
    }
    let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
    let v6 = Ip::new("2001:db8::1".parse().expect("v6"), "2001:db8::2".parse().expect("v6"));
    let mut of_v6 = Packet::new(v6, udp, Payload::EMPTY);
    let before = of_v6.clone();
    assert_eq!(
        (nat.outbound(&mut of_v6, at(0)), nat.inbound(&mut of_v6, at(0))),
        (Verdict::Pass, Verdict::Pass)
    );
    assert_eq!(of_v6, before);
    let dropped: Vec<_> = nat.counts().dropped.iter().map(|(cause, count)| (*cause, *count)).collect();
    assert_eq!(dropped, [(Refusal::WrongChecksum, 1), (Refusal::Unsupported, 3)]);
    assert_eq!(nat.len(at(0)), (0, 0));
}
