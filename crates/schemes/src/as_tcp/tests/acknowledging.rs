//! MAC ACKs that become TCP ACKs, and those that must not.

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, ACKS_GENERATED};
use lasthop_packet::{Packet, TcpFlags};

use super::super::Settings;
use super::bench::{Bench, phone, server};
use crate::edits::But as _;
use lasthop_config::preset::Presets as _;

/// The acknowledgments to the phone, each of which must be within what was received.
fn acknowledged(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.rsplit(' ').next()).collect()
}

#[test]
fn a_mac_ack_becomes_a_tcp_ack_and_the_splits_own_stays_off_the_air() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    assert!(bench.delivered().is_empty(), "nothing before the MAC ACK");
    bench.air_one();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
    for seq in [6001, 7001] {
        bench.phone(&phone(seq, 1000, 1001));
    }
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 7001", "A 1001+0 ack 8001"]);
    assert_eq!(bench.count(&ACKS_GENERATED), 3);
    assert_eq!(bench.sent_on(), ["A 5001+1000 ack 1001", "A 6001+1000 ack 1001", "A 7001+1000 ack 1001"]);
    bench.wait(150);
    assert_eq!(bench.count(&ACKS_GENERATED), 3, "the one ACK that crosses says nothing new to TCP");
    assert!(bench.delivered().is_empty());
}

#[test]
fn a_download_is_acknowledged_to_the_split_by_mac_acks() {
    let mut bench = Bench::split(Settings::default());
    bench.server(&server(1001, 1000, 5001));
    bench.server(&server(2001, 1000, 5001));
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+1000 ack 5001", "A 2001+1000 ack 5001"]);
    assert_eq!(bench.count(&ACKS_GENERATED), 2);
    assert_eq!(bench.obligation().octets(), 2000, "kept until the phone's own word");
    bench.phone(&phone(5001, 0, 3001));
    bench.wait(150);
    assert_eq!(bench.obligation().octets(), 0);
}

#[test]
fn as_published_a_frame_given_up_is_left_to_the_senders_timer() {
    let mut bench = Bench::split(Settings::published());
    for seq in [5001, 6001] {
        bench.phone(&phone(seq, 1000, 1001));
        bench.give_up();
    }
    bench.air();
    bench.wait(1000);
    assert!(
        bench.delivered().is_empty() && bench.sent_on().is_empty(),
        "neither an ACK nor a copy of the agent's"
    );
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
}

#[test]
fn as_published_no_ack_of_data_crosses_the_hop() {
    let mut bench = Bench::split(Settings::published());
    for seq in (5001..105_001).step_by(1000) {
        bench.phone(&phone(seq, 1000, 1001));
        if seq == 45_001 {
            bench.give_up();
        }
        bench.air();
        bench.server(&server(1001, 0, seq.min(45_001)));
        bench.wait(2);
    }
    assert_eq!(bench.count(&ACKS_GENERATED), 40, "until the hole");
    bench.wait(500);
    bench.phone(&phone(45_001, 1000, 1001));
    bench.air();
    assert_eq!(acknowledged(&bench.delivered()).last(), Some(&"105001"));
    for acknowledged in (46_001..=105_001).step_by(1000) {
        bench.server(&server(1001, 0, acknowledged));
    }
    for seq in (1001..101_001).step_by(1000) {
        bench.server(&server(seq, 1000, 105_001));
        bench.air();
        bench.phone(&phone(105_001, 0, seq + 1000));
        bench.wait(2);
    }
    bench.wait(5000);
    assert_eq!(bench.acks_crossed(), [0, 0], "neither at intervals nor because of the hole");
    assert_eq!(bench.obligation().octets(), 0, "nothing is kept");
}

#[test]
fn as_published_a_long_repeated_ack_crosses_and_the_loss_is_counted() {
    let mut bench = Bench::split(Settings::published());
    bench.phone(&phone(5001, 1000, 1001));
    bench.swallow();
    for seq in (6001..20_001).step_by(1000) {
        bench.phone(&phone(seq, 1000, 1001));
        bench.air();
        bench.wait(1000);
    }
    assert!(acknowledged(&bench.delivered()).contains(&"20001"), "the MAC delivered it");
    assert!(bench.acks_crossed()[0] > 0);
    assert!(bench.count(&ACKNOWLEDGED_AND_LOST) > 0);
}

#[test]
fn as_published_a_loss_before_an_absence_of_the_split_is_counted_later() {
    for moves in [false, true] {
        let mut bench = Bench::split(Settings::published());
        bench.server(&server(1001, 1000, 5001));
        bench.swallow_down();
        bench.return_to_split();
        // The ends have continued: the server has data that the access point never saw.
        bench.phone(&phone(5001, 0, 1001));
        bench.server(&server(2001, 1000, 9001));
        bench.air();
        if moves {
            bench.move_on();
        }
        bench.forget();
        for n in 0..8 {
            bench.server(&server(3001 + n * 1000, 1000, 9001));
            bench.air();
            bench.phone(&phone(9001, 0, 1001));
            bench.air();
            assert_eq!(bench.acks_crossed(), [0, 1 + n as usize], "they are the ends' own");
            bench.wait(1000);
        }
        assert_eq!(bench.count(&ACKNOWLEDGED_AND_LOST), 1, "moves: {moves}");
        assert_eq!(bench.count(&ACKS_GENERATED), 0, "it is not split any more");
        assert!(bench.sent_on().iter().all(|line| line == "A 9001+0 ack 1001"));
    }
}

#[test]
fn with_acks_on_the_air_a_hole_is_still_left_to_the_timer_as_published() {
    let mut bench = Bench::split(Settings { acks_on_air: true, ..Settings::published() });
    for seq in [5001, 6001, 7001, 8001, 9001] {
        bench.phone(&phone(seq, 1000, 1001));
    }
    bench.give_up();
    bench.air();
    assert!(bench.acks_crossed()[0] >= 4, "{:?}", bench.acks_crossed());
    assert!(bench.delivered().len() <= 1, "one tells the window; the others end at the host");
}

#[test]
fn as_published_a_keepalive_and_a_window_update_are_answered_over_the_hop() {
    let mut bench = Bench::split(Settings::published());
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    bench.wait(100);
    bench.forget();
    bench.phone(&phone(6000, 0, 1001));
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"], "the answer to a keepalive");
}

#[test]
fn a_frame_given_up_by_the_mac_triggers_duplicate_acks() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.phone(&phone(6001, 1000, 1001));
    bench.give_up();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 5001"; 3]);
    // Nothing follows the second one: its copy is sent instead of duplicate ACKs.
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    bench.forget();
    bench.phone(&phone(7001, 1000, 1001));
    bench.give_up();
    bench.air();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 8001"]);
}

#[test]
fn data_above_a_hole_is_acknowledged_when_the_hole_is_filled() {
    let mut bench = Bench::split(Settings::published());
    for seq in [5001, 6001, 7001] {
        bench.phone(&phone(seq, 1000, 1001));
    }
    bench.give_up();
    bench.air();
    let delivered = bench.delivered();
    assert!(acknowledged(&delivered).iter().all(|ack| *ack == "5001"), "{delivered:?}");
    assert_eq!(bench.count(&ACKS_GENERATED), 0, "duplicates are the split's own");
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    assert_eq!(acknowledged(&bench.delivered()).last(), Some(&"8001"));
}

fn is_phones(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.source_port == 4000)
}

#[test]
fn the_split_learns_the_timestamp_of_a_dropped_ack() {
    let mut bench = Bench::new(Settings::default());
    bench.open(|packet| if is_phones(&packet) { packet.stamped(70, 900) } else { packet.stamped(900, 70) });
    bench.server(&server(1001, 1000, 5001).stamped(901, 70));
    bench.air();
    bench.phone(&phone(5001, 0, 2001).stamped(80, 901));
    bench.wait(150);
    bench.forget();
    // A timestamp of the phone may have bypassed the split, and the server accepts no older one.
    bench.server(&server(1001, 1000, 5001).stamped(902, 70));
    let values: Vec<_> = bench
        .sent_on_packets()
        .iter()
        .filter_map(|packet| packet.tcp()?.options.timestamps)
        .map(|timestamps| timestamps.value)
        .collect();
    assert_eq!(values, [80]);
}

#[test]
fn a_generated_ack_has_the_splits_timestamp_and_the_left_edges_echo() {
    let mut bench = Bench::new(Settings::default());
    bench.open(|packet| if is_phones(&packet) { packet.stamped(70, 900) } else { packet.stamped(900, 70) });
    bench.phone(&phone(5001, 1000, 1001).stamped(71, 900));
    bench.phone(&phone(6001, 1000, 1001).stamped(72, 900));
    bench.air();
    let echoed: Vec<_> = bench
        .heard_packets()
        .iter()
        .filter_map(|packet| packet.tcp()?.options.timestamps)
        .map(|timestamps| (timestamps.value, timestamps.echo_reply))
        .collect();
    assert_eq!(echoed, [(900, 71), (900, 72)]);
}

#[test]
fn an_ack_that_echoes_congestion_crosses_the_air() {
    let mut bench = Bench::new(Settings::default());
    bench.open(|packet| {
        let flags = packet.tcp().map_or(TcpFlags::ACK, |tcp| tcp.flags);
        match (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK)) {
            (true, false) => packet.flags(TcpFlags::ECE.with(TcpFlags::CWR)),
            (true, true) => packet.flags(TcpFlags::ECE),
            _ => packet,
        }
    });
    for seq in [5001, 6001] {
        let mut marked = phone(seq, 1000, 1001);
        marked.set_ecn(lasthop_packet::Ecn::Ce);
        bench.phone(&marked);
    }
    bench.air();
    bench.wait(100);
    let echoes = bench
        .heard_packets()
        .iter()
        .filter(|packet| packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::ECE)))
        .count();
    assert!(echoes > 0, "the phone's TCP hears of congestion");
}

#[test]
fn unsplit_data_of_a_host_is_not_acknowledged_by_mac_acks() {
    type Case = (&'static str, fn(&mut Bench));
    let cases: [Case; 4] = [
        ("an answer with options that a split does not know", |bench| bench.open(Packet::unknown_option)),
        ("no room for another connection", |bench| {
            bench.budget.flows = 0;
            bench.open(|it| it);
            bench.budget.flows = 10;
        }),
        ("no obligation may begin", |bench| {
            bench.may_owe = false;
            bench.open(|it| it);
            bench.may_owe = true;
        }),
        ("the split was away, and the ends have gone on", |bench| {
            bench.open(|it| it);
            bench.return_to_split();
            // Data that the access point never saw: the server has acknowledged it.
            bench.server(&server(1001, 0, 9001));
            bench.air();
            bench.forget();
        }),
    ];
    for (case, open) in cases {
        let mut bench = Bench::new(Settings::default());
        open(&mut bench);
        // The first one informs the phone's half that it has no peer.
        for seq in [9001, 10_001, 11_001] {
            bench.phone(&phone(seq, 1000, 1001));
            bench.air();
            bench.server(&server(1001, 0, seq));
            bench.air();
        }
        bench.forget();
        for seq in [12_001, 13_001] {
            bench.phone(&phone(seq, 1000, 1001));
            bench.air();
        }
        assert_eq!(bench.count(&ACKS_GENERATED), 0, "{case}");
        assert!(bench.delivered().is_empty(), "{case}");
        assert_eq!(bench.sent_on(), ["A 12001+1000 ack 1001", "A 13001+1000 ack 1001"], "{case}");
        bench.server(&server(1001, 0, 14_001));
        bench.air();
        assert_eq!(bench.delivered(), ["A 1001+0 ack 14001"], "{case}: the server's own ACK crosses");
    }
}
