//! ICMP: queries by their identifier, errors with what they quote. RFC 5508.

use lasthop_packet::quote::{error_about, too_big};
use lasthop_packet::{Ends, PacketTooBig};

use super::*;

const ROUTER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

#[test]
fn an_echo_comes_back_with_its_identifier_for_a_minute() {
    let mut nat = nat_with(|config| config.keeps_ports = false);
    let request = out(&mut nat, &echo(HOST, *SERVER.ip(), 8, 77), at(0)).expect("translated");
    let [from, _] = ends(&request);
    assert!(*from.ip() == OUTSIDE && from.port() != 77);
    let reply = |nat: &mut Nat, now| {
        let reply = back(nat, &echo(*SERVER.ip(), OUTSIDE, 0, from.port()), at(now));
        reply.map(|packet| ends(&packet)[1])
    };
    assert_eq!(reply(&mut nat, 59), Ok(host(77)));
    assert_eq!(reply(&mut nat, 119), Err(Refusal::NoMapping));
    assert_eq!(out(&mut nat, &echo(HOST, *SERVER.ip(), 0, 77), at(200)), Err(Refusal::NoSession));
    assert_eq!(out(&mut nat, &echo(HOST, OUTSIDE, 8, 77), at(200)), Err(Refusal::NoMapping), "for itself");
}

#[test]
fn an_error_about_a_packet_from_inside_reaches_its_sender_with_what_it_has_sent() {
    for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Icmp] {
        let mut nat = nat_with(|config| config.keeps_ports = false);
        let packet = match protocol {
            Protocol::Tcp => syn(host(7000), SERVER),
            Protocol::Udp => datagram(host(7000), SERVER),
            Protocol::Icmp => echo(HOST, *SERVER.ip(), 8, 77),
        };
        let sent = out(&mut nat, &packet, at(0)).expect("translated");
        let error = error_of(&sent, ROUTER);
        let received = back(&mut nat, &error, at(1)).expect("translated");
        assert_eq!(
            received,
            parse(emit(&error_of(&packet, ROUTER))).expect("a packet"),
            "as without translation"
        );
    }
}

#[test]
fn an_error_neither_refreshes_nor_ends_a_session() {
    let mut nat = nat();
    let sent = out(&mut nat, &datagram(host(7000), SERVER), at(0)).expect("translated");
    back(&mut nat, &error_of(&sent, ROUTER), at(100)).expect("translated");
    assert_eq!(nat.len(at(119)), (1, 1));
    assert_eq!(nat.len(at(120)), (0, 0));
}

#[test]
fn an_error_from_inside_shows_no_inside_address() {
    let mut nat = nat_with(|config| config.keeps_ports = false);
    let outside = send(&mut nat, 7000, at(0));
    let received = datagram(SERVER, outside);
    let inner = back(&mut nat, &received, at(1)).expect("translated");
    // The host itself, and a router between it and the translator.
    for reporter in [HOST, Ipv4Addr::new(10, 0, 0, 254)] {
        let error = out(&mut nat, &error_of(&inner, reporter), at(2)).expect("translated");
        assert_eq!(error, parse(emit(&error_of(&received, OUTSIDE))).expect("a packet"));
    }
}

#[test]
fn an_error_about_no_session_is_dropped() {
    let mut nat = nat();
    let sent = out(&mut nat, &datagram(host(7000), SERVER), at(0)).expect("translated");
    let elsewhere = SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 5), 80);
    let forged = [
        error_of(&datagram(SocketAddrV4::new(OUTSIDE, 7000), elsewhere), ROUTER),
        error_of(&datagram(SocketAddrV4::new(OUTSIDE, 7001), SERVER), ROUTER),
        error_of(&syn(SocketAddrV4::new(OUTSIDE, 7000), SERVER), ROUTER),
    ];
    for forged in forged {
        assert_eq!(back(&mut nat, &forged, at(1)), Err(Refusal::NoMapping));
        assert_eq!(out(&mut nat, &forged, at(1)), Err(Refusal::NoMapping));
    }
    let mut truncated = error_of(&sent, ROUTER);
    truncated.set_payload(truncated.payload().slice(0, 27));
    assert_eq!(back(&mut nat, &truncated, at(1)), Err(Refusal::Unsupported));
}

#[test]
fn an_error_about_a_hairpinned_packet_goes_back_the_same_way() {
    let mut nat = nat_with(|config| config.filtering = crate::Filtering::Open);
    let peer = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 8), 9000);
    let of_peer = ends(&out(&mut nat, &datagram(peer, SERVER), at(0)).expect("translated"))[0];
    let original = datagram(host(7000), of_peer);
    let hairpinned = out(&mut nat, &original, at(0)).expect("translated");
    assert_eq!(ends(&hairpinned)[1], peer);
    let error = out(&mut nat, &error_of(&hairpinned, *peer.ip()), at(0)).expect("translated");
    assert_eq!(error, parse(emit(&error_of(&original, OUTSIDE))).expect("a packet"));
}

#[test]
fn packet_too_big_keeps_its_mtu() {
    let mut nat = nat();
    let mut large = syn(host(7000), SERVER);
    large.set_payload(Payload::Stream { stream: 1, offset: 0, len: 1400 });
    let sent = out(&mut nat, &large, at(0)).expect("translated");
    let message = too_big(&sent, ROUTER.into(), 1300).expect("it is about a segment");
    let message = back(&mut nat, &message, at(0)).expect("translated");
    let read = PacketTooBig::from_message(&message).expect("it is one");
    assert_eq!((read.mtu, Some(read.quotation.flow)), (1300, large.flow_key()));
}

/// A "destination unreachable" about a packet.
fn error_of(packet: &Packet, reporter: Ipv4Addr) -> Packet {
    if let Some(error) = error_about(packet, reporter.into(), 3, 1) {
        return error;
    }
    let quoted = emit(packet).slice(..28);
    let std::net::IpAddr::V4(source) = packet.ip().source else { panic!("it is IPv4") };
    let icmp = Transport::Icmp(Icmp { kind: 3, code: 1, rest_of_header: [0; 4] });
    let error = Packet::new(ip(reporter, source), icmp, Payload::Bytes(quoted));
    assert!(Ends::quoted(&error).is_some());
    error
}
