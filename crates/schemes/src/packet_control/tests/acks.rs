//! The ACK filter as in the paper.

use super::*;

#[test]
fn at_threshold_3_every_duplicate_passes() {
    let mut bench = Bench::published(3);
    assert_eq!(bench.duplicates(&ack(1), 9), [true; 9]);
}

#[test]
fn at_threshold_6_every_second_duplicate_passes_and_a_new_ack_resets_the_count() {
    let mut bench = Bench::published(6);
    assert_eq!(bench.duplicates(&ack(1), 5), [false, true, false, true, false]);
    assert!(bench.radio(&ack(3)).passed());
    assert_eq!(bench.duplicates(&ack(3), 7), [false, true, false, true, false, true, false]);
    assert!(bench.timer().is_empty(), "what is withheld is dropped for good");
}

#[test]
fn an_old_ack_is_dropped() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(4)).passed());
    for old in [ack(3), ack(3).window(5), ack(2).reports(&[(3, 4)])] {
        assert_eq!(bench.radio(&old).verdict, Verdict::Drop(&OLD_ACK), "{old:?}");
    }
}

#[test]
fn an_old_ack_with_unique_information_passes() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(4)).passed());
    let with_data = Packet::tcp_segment(
        *ack(3).ip(),
        ack(3).tcp().cloned().expect("TCP"),
        Payload::Stream { stream: 2, offset: 0, len: 10 },
    );
    let saying_more = [
        with_data,
        ack(3).flags(TcpFlags::FIN),
        ack(3).flags(TcpFlags::ECE),
        ack(3).unknown_option(),
        ack(3).reports(&[(1, 2)]),
        ack(3).reports(&[(5, 6)]),
    ];
    for packet in saying_more {
        assert!(bench.radio(&packet).passed(), "{packet:?}");
    }
}

#[test]
fn an_ack_that_is_not_a_duplicate_passes_and_does_not_count() {
    let mut bench = Bench::published(6);
    let others = [
        ack(1).window(WINDOW + 1),
        ack(1).window(0),
        ack(1).window(WINDOW),
        ack(1).flags(TcpFlags::FIN),
        ack(1).flags(TcpFlags::ECE),
        ack(1).unknown_option(),
        ack(1).reports(&[(0, 1)]),
        ack(1).reports(&[(2, 3)]),
    ];
    for packet in others {
        assert!(bench.radio(&packet).passed(), "{packet:?}");
    }
    assert_eq!(bench.duplicates(&ack(1), 2), [false, true]);
}

#[test]
fn an_ack_of_nothing_outstanding_passes() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(10)).passed());
    assert_eq!(bench.duplicates(&ack(10), 4), [true; 4], "an answer to a probe, perhaps");
}

#[test]
fn an_ack_of_data_that_never_passed_is_ignored() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(500)).passed());
    assert!(bench.core(&data(10)).passed(), "data is not taken for acknowledged");
    assert!(bench.radio(&ack(2)).passed(), "and a true ACK not for old");
}

#[test]
fn a_connection_without_data_towards_the_mobile_host_passes() {
    let mut bench = Bench::with(Settings::published());
    assert_eq!(bench.duplicates(&ack(1), 5), [true; 5]);
    assert!(bench.flow().is_none(), "and takes no room");
}

#[test]
fn a_syn_a_reset_or_the_end_of_the_data_ends_the_state() {
    for last in [data(9).flags(TcpFlags::SYN), data(9).flags(TcpFlags::RST), ack(1).flags(TcpFlags::RST)] {
        let mut bench = Bench::published(9);
        let is_ours = last.ip().source == MOBILE;
        assert!(if is_ours { bench.radio(&last) } else { bench.core(&last) }.passed());
        assert!(bench.flow().is_none());
    }
    let mut bench = Bench::published(9);
    bench.core(&data(10).flags(TcpFlags::FIN));
    bench.radio(&ack(11).but(|tcp| tcp.ack += 1));
    assert!(bench.flow().is_none());
}

#[test]
fn new_data_and_new_acks_may_bypass_the_agent() {
    let mut bench = Bench::published(9);
    let highest = Seq(seq(10));
    let Some(Bypass { flow, limits: Some(Limits { acknowledged, from, until, .. }) }) = bench.bypasses.pop()
    else {
        panic!("{:?}", bench.bypasses)
    };
    assert_eq!((flow, acknowledged, from), (key(), Seq(seq(1)), highest));
    assert_eq!(until - highest, 1 << 30);
    bench.bypasses.clear();
    bench.call(|agent, cx| agent.on_bypass(&data(10), Side::Core, cx));
    bench.call(|agent, cx| agent.on_bypass(&ack(3), Side::Radio, cx));
    assert!(bench.bypasses.is_empty(), "it is only to be said how far");
    assert_eq!(
        bench.flow().map(|flow| (flow.highest, flow.acknowledged())),
        Some((Seq(seq(11)), Some(Seq(seq(3)))))
    );
    assert_eq!(bench.core(&data(2)).verdict, Verdict::Drop(&REPEATED_DATA));
}
