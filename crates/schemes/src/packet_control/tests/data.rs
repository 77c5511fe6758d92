//! The data filter.

use super::*;

fn repeated(bench: &mut Bench, packet: &Packet) -> Vec<Packet> {
    let Step { verdict, made } = bench.core(packet);
    assert_eq!(verdict, Verdict::Drop(&REPEATED_DATA));
    made
}

#[test]
fn acknowledged_data_is_dropped_and_every_second_repetition_answered() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(5)).passed());
    for n in 0..4 {
        assert_eq!(repeated(&mut bench, &data(n)), []);
    }
    assert_eq!(repeated(&mut bench, &data(0)), [ack(5)], "what the mobile host has said last");
    assert_eq!(repeated(&mut bench, &data(0)), []);
    assert_eq!(repeated(&mut bench, &data(0)), [ack(5)]);
}

#[test]
fn an_answer_repeats_the_mobile_hosts_last_ack() {
    let mut bench = Bench::published(9);
    let stamps = Timestamps { value: 77, echo_reply: 66 };
    let last = ack(5).but(|tcp| tcp.options.timestamps = Some(stamps)).window(42);
    assert!(bench.radio(&last).passed());
    assert!(bench.radio(&ack(5).window(43)).passed());
    let upload = {
        let mut packet = last.clone().window(43);
        packet.set_payload(Payload::Stream { stream: 2, offset: 0, len: 10 });
        packet
    };
    assert!(bench.radio(&upload).passed());
    repeated(&mut bench, &data(0));
    let answer = last.window(43).but(|tcp| tcp.seq += 10);
    assert_eq!(repeated(&mut bench, &data(0)), [answer]);
}

#[test]
fn partly_acknowledged_data_passes() {
    let mut bench = Bench::published(9);
    assert!(bench.core(&data(1)).passed());
    bench.radio(&ack(1).but(|tcp| tcp.ack += SEGMENT / 2));
    assert!(bench.core(&data(1)).passed());
}

#[test]
fn acknowledged_data_with_news_passes() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(5)).passed());
    let news = [
        data(0).but(|tcp| tcp.ack += 1),
        data(0).window(WINDOW + 1),
        data(0).flags(TcpFlags::FIN),
        data(0).flags(TcpFlags::ECE),
        data(0).flags(TcpFlags::URG),
        data(0).unknown_option(),
        data(0).reports(&[(1, 2)]),
    ];
    for packet in news {
        assert!(bench.core(&packet).passed(), "{packet:?}");
    }
}

#[test]
fn a_keep_alive_probe_octet_passes() {
    let mut bench = Bench::published(9);
    assert!(bench.radio(&ack(10)).passed());
    let mut probe = data(9).but(|tcp| tcp.seq += SEGMENT - 1);
    probe.set_payload(Payload::Stream { stream: 1, offset: 999, len: 1 });
    for _ in 0..4 {
        assert!(bench.core(&probe).passed());
    }
}

#[test]
fn a_sender_with_sack_gets_a_d_sack_of_each_repetition() {
    let mut bench = Bench::started(Settings::default());
    assert!(
        bench.radio(&ack(1).reports(&[(2, 3)])).passed(),
        "nothing is withheld before overtaking is seen"
    );
    assert!(bench.radio(&ack(5)).passed());
    assert_eq!(repeated(&mut bench, &data(0)), [ack(5).reports(&[(0, 1)])]);
    assert_eq!(repeated(&mut bench, &data(1)), [ack(5).reports(&[(1, 2)])]);
}

#[test]
fn without_the_ack_filter_the_data_filter_still_works() {
    let mut bench = Bench::started(Settings { ack_filter: false, ..Settings::published() });
    assert_eq!(bench.duplicates(&ack(1), 5), [true; 5]);
    assert!(bench.radio(&ack(5)).passed() && bench.radio(&ack(3)).passed());
    repeated(&mut bench, &data(2));
}

#[test]
fn without_the_data_filter_repetitions_pass() {
    let mut bench = Bench::started(Settings { data_filter: false, ..Settings::published() });
    assert!(bench.radio(&ack(5)).passed());
    assert!(bench.core(&data(2)).passed());
}
