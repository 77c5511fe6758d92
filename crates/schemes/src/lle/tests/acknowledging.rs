//! SUCCESS.

use lasthop_agent::counter::{ACKS_GENERATED, ACKS_SUPPRESSED};
use lasthop_config::preset::Presets as _;
use std::num::NonZeroU16;

use super::*;

#[test]
fn success_triggers_an_ack_in_the_receivers_name() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.core(&data(FIRST, 100));
    assert!(sent.core.is_empty() && sent.mark().has(Mark::PROMISE));
    let step = bench.delivered(&sent.passed.expect("data goes on"));
    let tcp = step.only_ack();
    assert_eq!((tcp.seq.0, tcp.ack.0, tcp.flags), (UP, FIRST + 100, TcpFlags::ACK));
    assert_eq!((tcp.source_port, tcp.destination_port), (4000, 80));
    assert_eq!(step.core[0].ip(), &Ip::new(PHONE, SERVER));
    assert!(step.core[0].payload().is_empty() && tcp.urgent_pointer == 0);
    assert_eq!(step.reports, [Report::new(&ACKS_GENERATED).at(Seq(FIRST + 100))]);
}

#[test]
fn data_is_not_acknowledged_before_its_delivery() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 100));
    assert!(bench.fate(&sent, Fate::FirstTransmissionFailed).core.is_empty());
    assert!(bench.wait(60_000).timer().core.is_empty());
}

#[test]
fn a_delivery_above_a_hole_is_acknowledged_when_the_hole_is_filled() {
    let mut bench = Bench::at_access_point(Settings::default());
    let first = bench.sent(&data(FIRST, 100));
    assert!(bench.through(&data(FIRST + 100, 100)).core.is_empty());
    assert_eq!(bench.delivered(&first).acks(), [FIRST + 200]);
}

#[test]
fn no_ack_is_generated_after_the_real_one() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 100));
    assert!(bench.radio(&evidence(FIRST + 100)).passed.is_some());
    assert!(bench.delivered(&sent).core.is_empty());
}

#[test]
fn the_real_ack_is_dropped_after_the_generated_one() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    let step = bench.radio(&evidence(FIRST + 100));
    assert!(step.passed.is_none());
    assert_eq!(step.reports, [Report::new(&ACKS_SUPPRESSED).at(Seq(FIRST + 100))]);
}

#[test]
fn a_super_packet_has_one_ack_for_all_of_it() {
    let mut bench = Bench::at_access_point(Settings::default());
    let mut packet = data(FIRST, 3000);
    packet.set_segment_size(NonZeroU16::new(1000));
    let sent = bench.sent(&packet);
    assert_eq!(sent.segments(), 3);
    assert_eq!(bench.delivered(&sent).acks(), [FIRST + 3000]);
}

#[test]
fn numbers_wrap() {
    let start = u32::MAX - 149;
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    bench.core(&syn().but(|tcp| tcp.seq = Seq(start.wrapping_sub(1))));
    bench.radio(&accepting(syn_ack().but(|tcp| tcp.ack = Seq(start))));
    let acks = (0..3).flat_map(|n| bench.through(&data(start.wrapping_add(n * 100), 100)).acks());
    assert_eq!(acks.collect::<Vec<_>>(), [start + 100, 50, 150]);
}

#[test]
fn an_ack_has_the_receivers_tsval_and_the_left_edges_echo() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.radio(&accepting(ack(FIRST)).stamped(500, 1));
    let step = bench.through(&data(FIRST, 100).stamped(70, 500));
    assert_eq!(step.only_ack().options.timestamps, Some(Timestamps { value: 500, echo_reply: 70 }));
    // Never a generated one, at any time.
    let step = bench.wait(10_000).through(&data(FIRST + 100, 100).stamped(90, 500));
    assert_eq!(step.only_ack().options.timestamps, Some(Timestamps { value: 500, echo_reply: 90 }));
    // None if the connection has none.
    let step = bench.through(&data(FIRST + 200, 100));
    assert_eq!(step.only_ack().options.timestamps, None);
}

#[test]
fn the_third_handshake_segment_is_generated_if_the_phone_opens() {
    let mut bench = Bench::new(Settings::default(), Role::Edge);
    let opening = syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0)));
    assert_eq!(bench.radio(&accepting(opening)).mark(), Mark::NONE, "marks end here");
    let answer = syn().but(|tcp| (tcp.flags, tcp.ack) = (syn_ack().tcp().expect("TCP").flags, Seq(UP)));
    let step = bench.through(&answer);
    let tcp = step.only_ack();
    assert_eq!((tcp.seq.0, tcp.ack.0, tcp.window), (UP, FIRST, WINDOW), "scaled, as the phone's SYN was not");
}

#[test]
fn a_fin_is_acknowledged_as_data_is() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    assert_eq!(bench.through(&data(FIRST + 100, 0).flags(TcpFlags::FIN)).acks(), [FIRST + 101]);
}

#[test]
fn a_bare_ack_a_reset_and_an_unfinished_handshake_are_not_acknowledged() {
    let mut bench = Bench::at_access_point(Settings::default());
    assert!(bench.through(&data(FIRST, 0)).core.is_empty());
    assert!(bench.through(&data(FIRST, 0).flags(TcpFlags::RST)).core.is_empty());
    assert!(bench.through(&data(FIRST, 100)).core.is_empty(), "after a reset nothing is known");
    assert!(bench.through(&syn()).core.is_empty());
}

#[test]
fn a_retransmission_is_left_to_the_receivers_own_ack() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    let step = bench.core(&data(FIRST, 100));
    assert!(step.mark() == Mark::OFFER);
    assert!(bench.delivered(&step.passed.expect("it goes on")).core.is_empty());
    // The answer is a duplicate: it passes unchanged.
    let answer = ack(FIRST + 100);
    bench.radio(&evidence(FIRST + 100));
    assert_eq!(bench.radio(&accepting(answer.clone())).passed, Some(answer));
}

#[test]
fn urgent_data_is_left_alone() {
    let mut bench = Bench::at_access_point(Settings::default());
    let urgent = data(FIRST, 100).flags(TcpFlags::URG).but(|tcp| tcp.urgent_pointer = 3);
    let sent = bench.sent(&urgent);
    assert_eq!(sent, urgent);
    assert!(bench.delivered(&sent).core.is_empty());
}

#[test]
fn only_the_node_before_the_receiver_acknowledges() {
    for (neighbor, expected) in [(PHONE, 1), (SERVER, 0)] {
        let mut bench = Bench::new(Settings::default(), Role::Edge);
        bench.neighbor = Some(neighbor);
        bench.core(&syn());
        bench.radio(&accepting(syn_ack()));
        assert_eq!(bench.through(&data(FIRST, 100)).core.len(), expected);
    }
}

#[test]
fn an_ack_in_data_is_raised_to_the_agents_number() {
    let mut bench = Bench::at_access_point(Settings::default());
    bench.through(&data(FIRST, 100));
    let step = bench.radio(&accepting(up_data(UP, FIRST, 50)));
    let passed = step.passed.expect("data passes");
    let tcp = passed.tcp().expect("TCP");
    assert_eq!((tcp.ack.0, tcp.seq.0, passed.payload().len()), (FIRST + 100, UP, 50));
    assert_eq!(tcp.window, WINDOW - 25, "the window ends where the phone had it end");
    // The next ACK begins after that data.
    assert_eq!(bench.through(&data(FIRST + 100, 100)).only_ack().seq.0, UP + 50);
}

#[test]
fn as_published_a_known_ack_in_data_loses_its_bit() {
    let mut bench = Bench::at_access_point(Settings::published());
    let early = up_data(UP, FIRST, 50);
    assert_eq!(bench.radio(&accepting(early.clone())).passed, Some(early), "nothing was said yet");
    bench.through(&data(FIRST, 100));
    let step = bench.radio(&accepting(up_data(UP + 50, FIRST + 100, 50)));
    assert_eq!(step.passed.and_then(|packet| Some(packet.tcp()?.flags)), Some(TcpFlags(0)));
    bench.sent(&data(FIRST + 100, 100));
    let more = up_data(UP + 100, FIRST + 200, 50);
    assert_eq!(bench.radio(&accepting(more.clone())).passed, Some(more), "that is news");
}
