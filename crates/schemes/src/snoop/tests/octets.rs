//! Octets instead of the packets of ns-2.

use super::*;
use lasthop_config::preset::Presets as _;

#[test]
fn a_copy_has_only_the_missing_octets_of_a_super_packet() {
    let mut bench = Bench::new();
    bench.core(&data(0, 1000).flags(TcpFlags::FIN));
    bench.radio(&ack(200));
    let copies = bench.two_duplicates(&ack(200).sack(&[(500, 600), (300, 400)])).copies;
    assert_eq!(pieces(&copies), [(200, 100)]);
    assert_eq!(copies[0].payload(), &Payload::Stream { stream: 1, offset: 200, len: 100 });
    assert!(
        copies[0].tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::FIN)),
        "the FIN comes behind the last octet"
    );
    bench.radio(&ack(400).sack(&[(500, 600)]));
    assert_eq!(
        bench.two_duplicates(&ack(400).sack(&[(500, 600)])).repaired(),
        Some((400, 100)),
        "another hole"
    );
    bench.radio(&ack(600));
    let last = bench.wait(LONG).timer();
    assert_eq!(pieces(&last), [(600, 400)]);
    assert!(last[0].tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::FIN)));
    bench.radio(&ack(1000));
    assert_eq!(pieces(&bench.wait(LONG).timer()), [(1000, 0)], "only the FIN is left");
}

#[test]
fn a_partial_sender_retransmission_does_not_cover_the_rest() {
    let mut bench = Bench::new();
    bench.core(&data(0, 1000));
    bench.core(&data(0, 100));
    bench.radio(&ack(300));
    assert_eq!(bench.two_duplicates(&ack(300)).repaired(), Some((300, 700)));
}

#[test]
fn a_partly_acknowledged_packet_gives_no_measurement() {
    let mut bench = Bench::new();
    let timeout = |bench: &Bench<Published>| bench.flow().map(|flow| flow.timeout(&Settings::published()));
    bench.core(&data(0, 1000));
    let untouched = timeout(&bench);
    bench.wait(5).radio(&ack(300));
    bench.wait(5).radio(&ack(1000));
    assert_eq!(timeout(&bench), untouched);
}

#[test]
fn sequence_numbers_wrap() {
    let start = u32::MAX - 249;
    let mut bench = Bench::new();
    bench.burst(start, 6);
    assert!(bench.radio(&ack(start + 100)).passed());
    assert_eq!(bench.two_duplicates(&ack(start + 100)).repaired(), Some((start + 100, 100)));
    bench.radio(&ack(50));
    assert_eq!(bench.cached(), [50, 150, 250]);
    assert_eq!(bench.two_duplicates(&ack(50)).repaired(), Some((50, 100)));
    bench.core(&data(50, 100));
    assert!(bench.radio(&ack(50)).passed(), "the sender's retransmission is known behind the wrap");
    bench.radio(&ack(350));
    assert!(bench.cached().is_empty());
}
