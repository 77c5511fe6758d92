//! How the two agents detect each other, and the end of the other.

use super::*;
use lasthop_config::preset::Presets as _;

#[test]
fn nothing_is_promised_to_a_host_without_an_agent() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    assert_eq!(bench.core(&syn()).mark(), Mark::OFFER);
    bench.radio(&syn_ack());
    let step = bench.core(&data(FIRST, 100));
    assert_eq!(step.mark(), Mark::OFFER);
    assert!(bench.delivered(&step.passed.expect("it goes on")).core.is_empty());
    let real = ack(FIRST + 100);
    assert_eq!(bench.radio(&real).passed, Some(real));
}

#[test]
fn promises_start_and_stop_with_the_peer_agent() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    bench.core(&syn());
    bench.radio(&syn_ack());
    let promises = [false, true, false, true].map(|accepts| {
        bench.radio(&if accepts { accepting(ack(FIRST)) } else { ack(FIRST) });
        bench.core(&data(FIRST, 100)).mark().has(Mark::PROMISE)
    });
    assert_eq!(promises, [false, true, false, true]);
}

#[test]
fn a_host_sends_no_marks_to_an_access_point_without_an_agent() {
    let mut bench = Bench::new(Settings::default(), Role::MobileHost);
    bench.radio(&syn());
    for packet in [syn_ack(), ack(FIRST), up_data(UP, FIRST, 10)] {
        assert_eq!(bench.core(&packet).passed, Some(packet));
    }
    bench.radio(&data(FIRST, 100));
    assert_eq!(bench.core(&ack(FIRST + 100)).passed, Some(ack(FIRST + 100)));
}

#[test]
fn an_access_point_without_its_agent_gets_every_ack() {
    let mut bench = Bench::at_phone(Settings::default());
    bench.radio(&promised(data(FIRST + 100, 100)));
    assert!(bench.core(&ack(FIRST + 200)).passed.is_none());
    for n in 2..6 {
        bench.radio(&data(FIRST + n * 100, 100));
        let number = FIRST + (n + 1) * 100;
        assert_eq!(bench.core(&ack(number)).passed, Some(ack(number)), "and without a mark");
    }
    // It is back.
    bench.radio(&marked(data(FIRST + 600, 100), Mark::OFFER));
    assert_eq!(bench.core(&ack(FIRST + 700)).mark(), Mark::ACCEPT);
    bench.radio(&promised(data(FIRST + 700, 100)));
    assert!(bench.core(&ack(FIRST + 800)).passed.is_none());
}

#[test]
fn registration_ends_by_time_and_by_an_answer_without_an_offer() {
    let opening = syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0)));
    let mut bench = Bench::at_phone(Settings::default());
    assert_eq!(bench.core(&opening).mark(), Mark::ACCEPT);
    let answer = syn().but(|tcp| (tcp.flags, tcp.ack) = (syn_ack().tcp().expect("TCP").flags, Seq(UP)));
    bench.radio(&answer);
    assert_eq!(bench.core(&opening).mark(), Mark::NONE);
    let mut bench = Bench::at_phone(Settings::default());
    bench.wait(600_000);
    assert_eq!(bench.core(&opening).mark(), Mark::NONE);
}

#[test]
fn an_access_point_registers_after_thousands_of_others() {
    let opening = syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0)));
    let mut bench = Bench::at_phone(Settings::default());
    for number in 0..3000 {
        bench.neighbor = Some(IpAddr::V4(Ipv4Addr::from_bits(number)));
        bench.radio(&marked(data(FIRST, 100), Mark::OFFER));
        bench.wait(10);
        assert_eq!(bench.core(&opening).mark(), Mark::ACCEPT, "neighbour {number}");
    }
}

#[test]
fn a_connection_whose_handshake_was_not_seen_is_left_alone() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    for packet in [data(FIRST, 100), data(FIRST + 100, 100)] {
        assert_eq!(bench.sent(&packet), packet);
        assert!(bench.delivered(&packet).core.is_empty());
    }
    let mut bench = Bench::new(Settings::default(), Role::MobileHost);
    bench.radio(&promised(data(FIRST, 100)));
    assert!(bench.core(&ack(FIRST + 100)).passed.is_some());
}

#[test]
fn a_mark_from_a_remote_host_is_removed() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    assert_eq!(bench.sent(&promised(data(FIRST, 100))), data(FIRST, 100));
    let mut bench = Bench::at_access_point(Settings::default());
    assert_eq!(bench.radio(&evidence(FIRST)).mark(), Mark::NONE);
}

#[test]
fn a_table_that_is_full_of_flows_in_use_leaves_new_ones_alone() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.budget.flows = 1;
    let other = |packet: Packet| packet.but(|tcp| tcp.destination_port = 4001);
    let step = bench.core(&other(syn()));
    assert_eq!((step.mark(), step.reports.len()), (Mark::NONE, 1));
    assert_eq!(bench.through(&data(FIRST, 100)).acks(), [FIRST + 100]);
    bench.radio(&evidence(FIRST + 100));
    bench.wait(11_000);
    assert_eq!(bench.core(&other(syn())).mark(), Mark::OFFER);
}

#[test]
fn an_idle_connection_is_forgotten() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    bench.radio(&evidence(FIRST + 100));
    assert_eq!(bench.lle.deadline().map(|deadline| deadline.reason), Some("idle connection"));
    bench.wait(400_000).timer();
    assert_eq!(bench.lle.deadline(), None);
}

#[test]
fn a_connection_without_its_handshake_is_joined_only_if_unscaled() {
    for join_unscaled in [false, true] {
        let settings = Settings { join_unscaled, ..Settings::default() };
        let mut router = Bench::new(settings.clone(), Role::Edge);
        assert_eq!(router.core(&data(FIRST, 100)).mark().has(Mark::OFFER), join_unscaled);
        router.radio(&accepting(ack(FIRST + 100)));
        assert_eq!(router.core(&data(FIRST + 100, 100)).mark().has(Mark::PROMISE), join_unscaled);
        let mut phone = Bench::new(settings, Role::MobileHost);
        phone.radio(&marked(data(FIRST, 100), Mark::OFFER));
        assert_eq!(phone.core(&ack(FIRST + 100)).mark().has(Mark::ACCEPT), join_unscaled);
        phone.radio(&promised(data(FIRST + 100, 100)));
        assert_eq!(phone.core(&ack(FIRST + 200)).passed.is_none(), join_unscaled);
    }
}

#[test]
fn after_a_change_of_hop_acks_of_data_on_another_path_are_accepted() {
    let settings = Settings { join_unscaled: true, ..Settings::published() };
    let mut router = Bench::new(settings, Role::Edge);
    router.core(&data(FIRST, 100));
    router.radio(&accepting(ack(FIRST + 100)));
    // The next thousand octets took another path, and only their acknowledgment returns on this
    // one.
    router.radio(&accepting(ack(FIRST + 1_100)));
    let step = router.core(&data(FIRST + 1_100, 100));
    assert!(step.mark().has(Mark::PROMISE));
    let made = router.delivered(&step.passed.expect("it goes on")).core;
    let numbers: Vec<_> = made.iter().filter_map(|packet| packet.tcp()).map(|tcp| tcp.ack.0).collect();
    assert_eq!(numbers, [FIRST + 1_200], "what was promised is acknowledged");
}
