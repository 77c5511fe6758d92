//! Data that the MAC has delivered and the split has not received: the host keeps it until the
//! split's own ACK.

use lasthop_agent::counter::{ACKNOWLEDGED_AND_LOST, AT_BOUND};
use lasthop_agent::{Budget, Obligation};
use lasthop_packet::TcpFlags;

use super::super::{Settings, SplitAt};
use super::bench::{Bench, phone, server};
use crate::edits::But as _;
use lasthop_config::preset::Presets as _;

/// The end of the phone's stream at the server so far.
fn arrived(lines: &[String], mut next: u32) -> u32 {
    for line in lines {
        let mut words = line.split([' ', '+']).skip(1);
        let (seq, len) =
            (words.next().and_then(|it| it.parse().ok()), words.next().and_then(|it| it.parse().ok()));
        let (Some(seq), Some(len)): (Option<u32>, Option<u32>) = (seq, len) else { continue };
        if seq <= next {
            next = next.max(seq + len);
        }
    }
    next
}

#[test]
fn acknowledged_data_that_did_not_reach_the_split_is_sent_again() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.swallow();
    assert_eq!(bench.delivered(), ["A 1001+0 ack 6001"]);
    assert_eq!(bench.owed_by_host(), Obligation::Owes(1000));
    bench.wait(2500);
    assert_eq!(arrived(&bench.sent_on(), 5001), 6001);
    bench.server(&server(1001, 0, 6001));
    bench.air();
    bench.wait(200);
    assert_eq!((bench.owed_by_host(), bench.count(&ACKNOWLEDGED_AND_LOST)), (Obligation::Free, 0));
}

/// No MAC reports the fate of a packet that was dropped before it. The phone's own ACKs may be
/// late: a station in power save sends its PS-Polls first.
#[test]
fn a_queue_drop_is_repaired_after_the_delivery_of_the_next_frame() {
    for (settings, is_repaired) in [(Settings::default(), true), (Settings::published(), false)] {
        let mut bench = Bench::new(settings);
        bench.open(|packet| packet.but(|tcp| tcp.options.sack_permitted = tcp.flags.has(TcpFlags::SYN)));
        for seq in [1001, 2001, 3001, 4001, 5001] {
            bench.server(&server(seq, 1000, 5001));
        }
        bench.overflow();
        for _ in 0..10 {
            bench.wait(1);
            bench.air_one_down();
        }
        let delivered = bench.delivered();
        assert_eq!(delivered.iter().any(|line| line == "A 1001+1000 ack 5001"), is_repaired, "{delivered:?}");
        assert_eq!(delivered.len(), 5, "one copy; as published it is one of the last segment: {delivered:?}");
    }
}

/// Each copy waits for a time-out, until two in a row have shown that the next segment is missing
/// as well.
#[test]
fn a_run_of_missing_segments_takes_two_time_outs_in_all() {
    for split_at in [SplitAt::AccessPoint, SplitAt::Router] {
        let mut bench = Bench::split(Settings { split_at, ..Settings::default() });
        for seq in (5001..25_001).step_by(1000) {
            bench.phone(&phone(seq, 1000, 1001));
            bench.swallow();
        }
        bench.wait(2200);
        let mut next = arrived(&bench.sent_on(), 5001);
        assert_eq!(next, 6001, "{split_at:?}");
        bench.server(&server(1001, 0, 6001));
        bench.air();
        bench.wait(2200);
        for _ in 0..20 {
            next = arrived(&bench.sent_on(), next);
            bench.server(&server(1001, 0, next));
            bench.air();
            bench.wait(20);
        }
        assert_eq!(next, 25_001, "{split_at:?}");
        assert_eq!((bench.owed_by_host(), bench.count(&ACKNOWLEDGED_AND_LOST)), (Obligation::Free, 0));
    }
}

#[test]
fn data_without_room_at_the_access_point_waits_at_the_host_and_is_counted() {
    let mut bench = Bench::split(Settings::default());
    // Others have taken the memory since the window was advertised.
    bench.budget = Budget { octets_per_flow: 20_000, octets_in_all: 40_000, ..Budget::default() };
    for seq in (5001..35_001).step_by(1000) {
        bench.phone(&phone(seq, 1000, 1001));
        bench.air();
    }
    assert!(bench.count(&AT_BOUND) > 0 && bench.obligation().octets() < 20_000);
    bench.budget = Budget::default();
    let mut acknowledged = 5001;
    for _ in 0..100 {
        bench.wait(1000);
        acknowledged = arrived(&bench.sent_on(), acknowledged);
        bench.server(&server(1001, 0, acknowledged));
        bench.air();
    }
    assert_eq!((acknowledged, bench.count(&ACKNOWLEDGED_AND_LOST)), (35_001, 0));
}

#[test]
fn moving_the_state_at_both_ends_of_the_hop_changes_nothing() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.swallow();
    bench.phone(&phone(6001, 1000, 1001));
    bench.air();
    bench.move_on();
    bench.forget();
    bench.wait(3000);
    assert_eq!(arrived(&bench.sent_on(), 5001), 7001);
    bench.phone(&phone(7001, 1000, 1001));
    bench.air_one();
    assert_eq!(bench.delivered().last().map(String::as_str), Some("A 1001+0 ack 8001"));
}

#[test]
fn a_host_with_a_restarted_agent_continues_with_the_splits_own_acks() {
    let mut bench = Bench::split(Settings::default());
    bench.phone(&phone(5001, 1000, 1001));
    bench.air();
    bench.restart_host();
    bench.forget();
    for seq in [6001, 7001] {
        bench.phone(&phone(seq, 1000, 1001));
        bench.air();
    }
    bench.wait(50);
    assert_eq!(bench.delivered().last().map(String::as_str), Some("A 1001+0 ack 8001"));
}
