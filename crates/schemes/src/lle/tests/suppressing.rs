//! What the receiver's agent suppresses, and what it never does.

use super::*;
use lasthop_agent::counter::ACKS_SUPPRESSED;
use lasthop_agent::{Accounts as _, Transfer as _};
use lasthop_config::preset::Presets as _;

const NEXT: u32 = FIRST + 100;

fn published() -> Bench {
    Bench::at_phone(Settings::published())
}

#[test]
fn an_ack_of_promised_data_is_suppressed() {
    let mut bench = published();
    let arrived = bench.radio(&promised(data(NEXT, 100))).passed;
    assert_eq!(arrived, Some(data(NEXT, 100)), "the host sees no mark");
    let step = bench.core(&ack(NEXT + 100));
    assert!(step.passed.is_none());
    assert_eq!(step.reports, [Report::new(&ACKS_SUPPRESSED).at(Seq(NEXT + 100))]);
}

#[test]
fn an_ack_of_data_without_a_promise_passes() {
    let mut bench = published();
    for plain in [data(NEXT, 100), marked(data(NEXT, 100), Mark::OFFER)] {
        bench.radio(&plain);
        assert!(bench.core(&ack(NEXT + 100)).passed.is_some());
    }
}

#[test]
fn an_ack_above_the_promised_data_passes() {
    let mut bench = published();
    bench.radio(&promised(data(NEXT + 100, 100)));
    bench.radio(&promised(data(NEXT, 100)));
    assert!(bench.core(&ack(NEXT + 200)).passed.is_some(), "a promise beyond a hole is none");
}

#[test]
fn duplicates_always_pass() {
    let mut bench = published();
    bench.radio(&promised(data(NEXT, 100)));
    assert!(bench.core(&ack(NEXT + 100)).passed.is_none());
    for _ in 0..5 {
        bench.radio(&promised(data(NEXT + 200, 100)));
        let step = bench.core(&ack(NEXT + 100));
        assert_eq!(step.mark(), Mark::ACCEPT, "no evidence, or it would be dropped");
    }
}

#[test]
fn without_hole_acks_duplicates_of_promised_data_are_suppressed() {
    let mut bench = Bench::at_phone(Settings { hole_acks: false, ..Settings::published() });
    bench.radio(&promised(data(NEXT, 100)));
    assert!(bench.core(&ack(NEXT + 100)).passed.is_none());
    for n in 2..7 {
        bench.radio(&promised(data(NEXT + n * 100, 100)));
        assert!(bench.core(&ack(NEXT + 100).sack(&[(NEXT + 200, NEXT + n * 100 + 100)])).passed.is_none());
        assert!(bench.core(&ack(NEXT + 100)).passed.is_some(), "the answer to something else");
    }
    bench.radio(&promised(data(NEXT + 100, 100)));
    assert!(bench.core(&ack(NEXT + 700)).passed.is_none(), "nor the one that ends them");
    bench.radio(&promised(data(NEXT + 800, 100)));
    assert_eq!(bench.core(&ack(NEXT + 700).window(0)).mark(), Mark::ACCEPT, "an exhausted window");
    bench.radio(&promised(data(NEXT + 900, 100)));
    bench.wait(400);
    assert_eq!(bench.core(&ack(NEXT + 700)).mark(), Mark::ACCEPT, "repeated for longer than the timer takes");
}

#[test]
fn exhausted_windows_and_their_updates_pass() {
    let mut bench = published();
    bench.radio(&promised(data(NEXT, 100)));
    assert_eq!(bench.core(&ack(NEXT + 100).window(0)).mark(), Mark::ACCEPT);
    assert_eq!(bench.core(&ack(NEXT + 100)).mark(), Mark::ACCEPT, "the update is a duplicate by number");
    bench.radio(&promised(data(NEXT + 100, 100)));
    assert!(bench.core(&ack(NEXT + 200).window(20)).passed.is_some(), "less than a segment is none");
    bench.radio(&promised(data(NEXT + 200, 100)));
    assert!(bench.core(&ack(NEXT + 300)).passed.is_some(), "it opens with data");
}

#[test]
fn an_ack_with_other_contents_passes() {
    let more: [fn(Packet) -> Packet; 6] = [
        |packet| packet.flags(TcpFlags::FIN),
        |packet| packet.flags(TcpFlags::ECE),
        |packet| packet.flags(TcpFlags::URG),
        |packet| packet.sack(&[(1, 2)]),
        |packet| packet.unknown_option(),
        |packet| packet.flags(TcpFlags::RST),
    ];
    for says in more {
        let mut bench = published();
        bench.radio(&promised(data(NEXT, 100)));
        assert!(bench.core(&says(ack(NEXT + 100))).passed.is_some());
    }
    let mut bench = published();
    bench.radio(&promised(data(NEXT, 100)));
    assert!(bench.core(&up_data(UP, NEXT + 100, 10)).passed.is_some(), "data");
}

#[test]
fn the_answer_to_a_repetition_passes() {
    let mut bench = published();
    bench.radio(&promised(data(NEXT, 100)));
    assert!(bench.core(&ack(NEXT + 100)).passed.is_none());
    bench.radio(&marked(data(NEXT, 100), Mark::OFFER));
    assert_eq!(bench.core(&ack(NEXT + 100)).mark(), Mark::ACCEPT);
}

#[test]
fn the_ack_of_a_fin_is_suppressed() {
    let mut bench = published();
    bench.radio(&promised(data(NEXT, 0).flags(TcpFlags::FIN)));
    assert!(bench.core(&ack(NEXT + 1)).passed.is_none());
}

#[test]
fn the_third_handshake_segment_is_suppressed_once_the_ap_is_known() {
    let mut bench = published();
    let opening = syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0)));
    assert_eq!(bench.core(&opening).mark(), Mark::ACCEPT);
    let answer = syn().but(|tcp| (tcp.flags, tcp.ack) = (syn_ack().tcp().expect("TCP").flags, Seq(UP)));
    bench.radio(&promised(answer));
    assert!(bench.core(&ack(FIRST)).passed.is_none());
}

#[test]
fn the_receivers_own_ack_passes_every_evidence_segments() {
    let settings = Settings { evidence_segments: 4, ..Settings::default() };
    let mut bench = Bench::at_phone(settings);
    let passed: Vec<bool> = (0..8)
        .map(|n| {
            bench.radio(&promised(data(NEXT + n * 100, 100)));
            bench.core(&ack(NEXT + (n + 1) * 100)).mark().has(Mark::EVIDENCE)
        })
        .collect();
    assert_eq!(passed, [false, false, false, true, false, false, false, true]);
}

#[test]
fn the_receivers_own_ack_passes_within_a_quarter_of_its_window() {
    let mut bench = Bench::at_phone(Settings::default());
    let mut passed = 0;
    for n in 0..60 {
        bench.radio(&promised(data(NEXT + n * 100, 100)));
        let window = 800 >> SHIFT;
        passed += u32::from(bench.core(&ack(NEXT + (n + 1) * 100).window(window)).passed.is_some());
    }
    assert!((29..=31).contains(&passed), "every second one: {passed}");
}

#[test]
fn a_suppressed_ack_passes_in_the_end() {
    let mut bench = Bench::at_phone(Settings::default());
    for n in 0..2 {
        bench.radio(&promised(data(NEXT + n * 100, 100)));
        assert!(bench.core(&ack(NEXT + (n + 1) * 100)).passed.is_none());
    }
    assert_eq!(bench.lle.held(), 1);
    assert!(bench.wait(99).timer().radio.is_empty());
    let sent = bench.wait(1).timer().radio;
    assert_eq!(sent, [evidence(NEXT + 200)]);
    assert_eq!((bench.lle.held(), bench.wait(1000).timer().radio.len()), (0, 0));
}

#[test]
fn a_copy_that_requests_an_ack_is_answered_and_ends_no_promise() {
    let mut bench = Bench::at_phone(Settings::default());
    bench.radio(&marked(data(NEXT, 100), Mark::OFFER.with(Mark::EVIDENCE)));
    assert_eq!(bench.core(&ack(NEXT + 100)).passed, Some(evidence(NEXT + 100)));
    bench.radio(&promised(data(NEXT + 100, 100)));
    assert!(bench.core(&ack(NEXT + 200)).passed.is_none());
}

#[test]
fn a_drain_and_a_release_send_the_owed_ack() {
    let key = data(0, 0).flow_key().expect("TCP").reversed();
    let ends: [fn(&mut Lle, &mut Context<'_>); 2] =
        [Lle::drain, |lle, cx| lle.release(ack(0).flow_key().expect("TCP"), cx)];
    assert_eq!(ack(0).flow_key(), Some(key));
    for end in ends {
        let mut bench = Bench::at_phone(Settings::default());
        bench.radio(&promised(data(NEXT, 100)));
        assert!(bench.core(&ack(NEXT + 100)).passed.is_none());
        assert_eq!(bench.call(end).1.radio, [evidence(NEXT + 100)]);
        assert_eq!(bench.lle.held(), 0);
    }
}
