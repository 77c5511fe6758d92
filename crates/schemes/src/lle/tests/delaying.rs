//! The agent follows a receiver that acknowledges fewer segments.

use super::*;
use lasthop_config::preset::Presets as _;

fn settings(acks: DeliveryAcks) -> Settings {
    Settings { acks, ..Settings::published() }
}

/// The ACKs of this number of segments of 100 octets, one after the other.
fn acks_of(acks: DeliveryAcks, segments: u32) -> Vec<u32> {
    let mut bench = Bench::at_access_point(settings(acks));
    let acks = (0..segments).flat_map(|n| bench.through(&data(FIRST + n * 100, 100)).acks());
    acks.map(|ack| (ack - FIRST) / 100).collect()
}

#[test]
fn acks_follow_the_policy_of_one_two_or_four_segments() {
    assert_eq!(acks_of(DeliveryAcks::EverySegment, 6), [1, 2, 3, 4, 5, 6]);
    assert_eq!(acks_of(DeliveryAcks::Delayed, 6), [2, 4, 6]);
    assert_eq!(acks_of(DeliveryAcks::DynDelAck, 18), [1, 3, 6, 10, 14, 18]);
}

#[test]
fn a_super_packet_counts_as_its_segments() {
    let mut bench = Bench::at_access_point(settings(DeliveryAcks::Delayed));
    let mut packet = data(FIRST, 3000);
    packet.set_segment_size(std::num::NonZeroU16::new(1000));
    assert_eq!(bench.through(&packet).acks(), [FIRST + 3000]);
}

#[test]
fn a_segment_alone_is_acknowledged_after_the_delay() {
    let mut bench = Bench::at_access_point(Settings {
        ack_delay: Duration::from_millis(50),
        ..settings(DeliveryAcks::Delayed)
    });
    assert!(bench.through(&data(FIRST, 100)).core.is_empty());
    assert!(bench.wait(49).timer().core.is_empty());
    assert_eq!(bench.wait(1).timer().acks(), [FIRST + 100]);
    assert!(bench.wait(1000).timer().core.is_empty(), "once");
    assert_eq!(bench.lle.deadline().map(|deadline| deadline.reason), Some("idle connection"));
}

#[test]
fn a_segment_that_fills_a_hole_is_acknowledged_at_once() {
    let mut bench = Bench::at_access_point(settings(DeliveryAcks::DynDelAck));
    let first = bench.sent(&data(FIRST, 100));
    let second = bench.sent(&data(FIRST + 100, 100));
    let third = bench.sent(&data(FIRST + 200, 100));
    assert_eq!(bench.delivered(&first).acks(), [FIRST + 100]);
    assert!(bench.delivered(&third).core.is_empty());
    assert_eq!(bench.delivered(&second).acks(), [FIRST + 300]);
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    let mut bench = Bench::at_access_point(settings(DeliveryAcks::Delayed));
    let fin = data(FIRST, 100).but(|tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::FIN));
    assert_eq!(bench.through(&fin).acks(), [FIRST + 101]);
}

#[test]
fn failure_sends_three_duplicates_after_the_delayed_ack() {
    let mut bench = Bench::at_access_point(settings(DeliveryAcks::Delayed));
    assert!(bench.through(&data(FIRST, 100)).core.is_empty());
    let lost = bench.sent(&data(FIRST + 100, 100));
    assert_eq!(bench.fate(&lost, Fate::GivenUp).acks(), [FIRST + 100; 4]);
}

#[test]
fn no_delayed_ack_follows_the_real_one() {
    let mut bench = Bench::at_access_point(Settings { acks: DeliveryAcks::Delayed, ..Settings::default() });
    assert!(bench.through(&data(FIRST, 100)).core.is_empty());
    assert!(bench.radio(&evidence(FIRST + 100)).passed.is_some());
    assert!(bench.wait(100).timer().core.is_empty());
    assert!(bench.through(&data(FIRST + 100, 100)).core.is_empty(), "the count begins again");
    assert_eq!(bench.through(&data(FIRST + 200, 100)).acks(), [FIRST + 300]);
}

#[test]
fn a_delayed_ack_moves_with_the_state() {
    let mut bench = Bench::at_access_point(settings(DeliveryAcks::Delayed));
    assert!(bench.through(&data(FIRST, 100)).core.is_empty());
    let state = bench.export();
    assert_eq!(bench.import(Lle::new(settings(DeliveryAcks::Delayed), Role::Edge), &state), Ok(()));
    assert_eq!(bench.wait(100).timer().acks(), [FIRST + 100]);
}
