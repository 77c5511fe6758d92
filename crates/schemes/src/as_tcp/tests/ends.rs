//! Handshake and close as in TCP; resets and probes.

use lasthop_agent::Obligation;
use lasthop_agent::counter::ACKS_GENERATED;
use lasthop_packet::TcpFlags;

use super::super::Settings;
use super::bench::{Bench, phone, server};
use crate::edits::But as _;

/// The highest acknowledgment number in these lines.
fn acknowledged(lines: &[String]) -> u32 {
    lines.iter().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn a_fin_is_acknowledged_after_the_servers_ack_and_not_by_a_mac_ack() {
    for len in [0, 500] {
        let mut bench = Bench::split(Settings::default());
        bench.phone(&phone(5001, 1000, 1001));
        bench.air();
        assert_eq!(acknowledged(&bench.delivered()), 6001);
        bench.phone(&phone(6001, len, 1001).flags(TcpFlags::FIN));
        bench.air();
        bench.wait(1000);
        assert!(acknowledged(&bench.delivered()) <= 6001 + len, "the data, not the FIN");
        bench.server(&server(1001, 0, 6001 + len));
        bench.air();
        bench.wait(1000);
        assert!(acknowledged(&bench.delivered()) <= 6001 + len, "nor when all data has drained");
        bench.server(&server(1001, 0, 6002 + len));
        bench.air();
        bench.wait(100);
        assert_eq!(acknowledged(&bench.delivered()), 6002 + len);
    }
}

#[test]
fn a_servers_fin_is_acknowledged_when_the_phones_tcp_has_acknowledged_it() {
    let mut bench = Bench::split(Settings::default());
    bench.server(&server(1001, 1000, 5001));
    bench.air();
    bench.phone(&phone(5001, 0, 2001));
    bench.air();
    bench.server(&server(2001, 0, 5001).flags(TcpFlags::FIN));
    bench.air();
    bench.wait(30);
    assert_eq!(acknowledged(&bench.sent_on()), 2001, "its MAC ACK is not the phone's word");
    bench.phone(&phone(5001, 0, 2002));
    bench.air();
    assert_eq!(acknowledged(&bench.sent_on()), 2002);
}

/// Both pass, because the probed end can interpret them.
#[test]
fn a_syn_of_another_connection_does_not_count_as_sent_data() {
    let mut bench = Bench::split(Settings::default());
    bench.server(&server(500_000, 0, 5001).flags(TcpFlags::SYN));
    bench.air();
    bench.phone(&phone(9_000_000, 100, 400_000));
    bench.air();
    bench.forget();
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    bench.wait(100);
    assert!(bench.sent_on().iter().any(|line| line.contains("5001+1000 ack 1001")), "the split has got it");
}

#[test]
fn the_access_points_data_drains_after_the_phone_has_closed() {
    let mut bench = Bench::split(Settings::default());
    for seq in [5001, 6001, 7001] {
        bench.phone(&phone(seq, 1000, 1001));
    }
    bench.phone(&phone(8001, 0, 1001).flags(TcpFlags::FIN));
    bench.air();
    let sent = bench.sent_on();
    assert_eq!(&sent[..3], ["A 5001+1000 ack 1001", "A 6001+1000 ack 1001", "A 7001+1000 ack 1001"]);
    assert_eq!(bench.obligation(), Obligation::Owes(3000));
    // The server's ACK was lost: the split's leg retransmits, and the phone need not.
    bench.wait(3000);
    assert!(bench.sent_on().iter().any(|line| line.contains("+1000")), "its own timer");
    bench.server(&server(1001, 0, 8002));
    bench.air();
    assert_eq!((bench.obligation(), acknowledged(&bench.delivered())), (Obligation::Free, 8002));
}

#[test]
fn a_fin_above_a_hole_waits_until_it_is_filled() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.phone(&phone(6001, 0, 1001).flags(TcpFlags::FIN));
    bench.give_up();
    bench.air();
    assert!(!bench.sent_on().iter().any(|line| line.starts_with('F')), "it is not to overtake data");
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    let sent = bench.sent_on();
    assert!(
        sent.iter().any(|line| line.contains("5001+1000"))
            && sent.last().is_some_and(|line| line.starts_with('F')),
        "{sent:?}"
    );
}

#[test]
fn the_mac_ack_of_a_syn_ack_does_not_complete_the_handshake() {
    let mut bench = Bench::split(Settings::default());
    // Both halves know each other: the next connection begins with their marks.
    let others = |packet: lasthop_packet::Packet| {
        packet.but(|tcp| {
            if tcp.source_port == 4000 {
                tcp.source_port = 4001;
            } else {
                tcp.destination_port = 4001;
            }
        })
    };
    let syn = |packet: lasthop_packet::Packet| {
        others(packet).but(|tcp| tcp.options.maximum_segment_size = Some(1000))
    };
    bench.phone(&syn(phone(5000, 0, 0).but(|tcp| tcp.flags = TcpFlags::SYN)));
    bench.air();
    bench.server(&syn(server(1000, 0, 5001).flags(TcpFlags::SYN)));
    bench.forget();
    bench.air();
    assert_eq!((bench.count(&ACKS_GENERATED), bench.sent_on().len()), (0, 0), "the phone has not answered");
    bench.phone(&others(phone(5001, 0, 1001)));
    bench.air();
    bench.forget();
    bench.phone(&others(phone(5001, 1000, 1001)));
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
}

#[test]
fn a_handshake_with_losses_has_the_same_result() {
    let mut bench = Bench::new(Settings::default());
    let syn = phone(5000, 0, 0)
        .but(|tcp| (tcp.flags, tcp.options.maximum_segment_size) = (TcpFlags::SYN, Some(1000)));
    let answer =
        server(1000, 0, 5001).flags(TcpFlags::SYN).but(|tcp| tcp.options.maximum_segment_size = Some(1000));
    bench.phone(&syn);
    bench.give_up();
    bench.wait(1000);
    for _ in 0..2 {
        bench.phone(&syn);
        bench.air();
        bench.server(&answer);
        bench.air();
    }
    // The third segment is lost; the first data replaces it.
    bench.phone(&phone(5001, 0, 1001));
    bench.give_up();
    bench.server(&answer);
    bench.air();
    bench.phone(&phone(5001, 0, 1001));
    bench.air();
    bench.forget();
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
    assert_eq!(bench.sent_on(), ["A 5001+1000 ack 1001"]);
}

#[test]
fn the_phones_reset_follows_its_data() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.phone(&phone(6001, 0, 1001).but(|tcp| tcp.flags = TcpFlags::RST));
    bench.air();
    assert_eq!(bench.sent_on(), ["A 5001+1000 ack 1001"]);
    bench.server(&server(1001, 0, 6001));
    bench.air();
    assert!(bench.sent_on().iter().any(|line| line.starts_with('R')));
    assert_eq!(bench.obligation(), Obligation::Free);
}

#[test]
fn a_keep_alive_probe_is_answered_by_the_probed_end() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    bench.server(&server(1001, 0, 6001));
    bench.wait(200);
    bench.forget();
    bench.phone(&phone(6000, 0, 1001));
    bench.air();
    assert_eq!((bench.sent_on(), bench.delivered()), (vec!["A 6000+0 ack 1001".to_owned()], vec![]));
    bench.server(&server(1001, 0, 6001));
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
}
