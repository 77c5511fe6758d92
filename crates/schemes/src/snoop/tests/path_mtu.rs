//! A link downstream of the hop with an MTU smaller than the sender's packets.

use lasthop_packet::quote;

use super::*;

/// A router's message with this MTU about a segment.
fn refusal(packet: &Packet, mtu: u32) -> Packet {
    quote::too_big(packet, "10.9.9.9".parse().expect("an address"), mtu).expect("it is about TCP")
}

fn today() -> Bench<Today> {
    Bench::with(Settings::default())
}

#[test]
fn packet_too_big_passes_and_its_segment_is_left_to_the_sender() {
    refuse_a_cached_one(Bench::new());
    refuse_a_cached_one(today());
}

fn refuse_a_cached_one<R: Recovery>(mut bench: Bench<R>) {
    bench.core(&data(0, 1000));
    bench.radio(&ack(0));
    bench.core(&data(1000, 1000));
    assert!(bench.radio(&refusal(&data(0, 1000), 640)).passed());
    assert_eq!(bench.cached(), [0; 0]);
    assert_eq!(bench.wait(LONG).timer().len(), 0, "no copy that would be refused again");
    // The sender's smaller segments are cached again.
    for place in 0..4 {
        assert_eq!(bench.core(&data(500 * place, 500)).copies.len(), 0);
    }
    assert_eq!(bench.cached(), [0, 500, 1000, 1500]);
    assert!(bench.radio(&ack(2000)).passed());
}

#[test]
fn packet_too_big_about_other_segments_changes_nothing() {
    refuse_others(Bench::new());
    refuse_others(today());
}

fn refuse_others<R: Recovery>(mut bench: Bench<R>) {
    bench.core(&data(0, 500));
    bench.core(&data(500, 1000));
    // Sent before in a larger segment.
    assert!(bench.radio(&refusal(&data(0, 1000), 640)).passed());
    // Of another connection, by its port; of the other direction.
    let other = data(500, 1000).but(|tcp| tcp.source_port = 81);
    assert!(bench.radio(&refusal(&other, 640)).passed());
    assert!(bench.core(&refusal(&ack(0).but(|tcp| tcp.seq = Seq(500)), 40)).passed());
    assert_eq!(bench.cached(), [0, 500]);
}

//= RFC 4821: the sender finds out without a message.
#[test]
fn a_sender_that_retransmits_in_smaller_segments_repairs_alone() {
    let mut bench = today();
    bench.core(&data(0, 1000));
    bench.radio(&ack(0));
    bench.core(&data(1000, 1000));
    bench.core(&data(0, 600));
    bench.core(&data(600, 400));
    assert_eq!(bench.cached(), [0, 600]);
    assert!(bench.radio(&ack(0)).passed() && bench.radio(&ack(0)).passed(), "the sender counts them");
}

#[test]
fn a_retransmission_of_a_packets_end_is_no_sign_of_that() {
    send_the_last_again(Bench::new());
    send_the_last_again(today());
}

fn send_the_last_again<R: Recovery>(mut bench: Bench<R>) {
    bench.core(&data(0, 1000));
    bench.core(&data(600, 400));
    assert_eq!(bench.cached().first(), Some(&0));
}
