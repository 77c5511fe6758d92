//! The beginning and the end of a connection.

use super::*;

#[test]
fn a_connection_opened_from_either_side_is_served() {
    for opener in [Side::Core, Side::Radio] {
        let (from_core, from_radio) = match opener {
            Side::Core => (TcpFlags::SYN, TcpFlags::SYN.with(TcpFlags::ACK)),
            Side::Radio => (TcpFlags::SYN.with(TcpFlags::ACK), TcpFlags::SYN),
        };
        let mut bench = Bench::new();
        assert!(bench.core(&data(99, 0).but(|tcp| tcp.flags = from_core)).passed());
        assert!(bench.radio(&ack(100).but(|tcp| tcp.flags = from_radio)).passed());
        assert!(bench.snoop.flows.is_empty(), "a handshake takes no room");
        bench.radio(&ack(100));
        bench.burst(100, 6);
        // Nothing has been acknowledged since: the first ACK shows the receiver's position, two
        // more that it misses data.
        bench.radio(&ack(100));
        assert_eq!(bench.two_duplicates(&ack(100)).repaired(), Some((100, 100)), "{opener:?}");
    }
}

#[test]
fn a_first_packet_that_is_lost_is_repaired_by_the_timer() {
    let mut bench = Bench::new();
    bench.burst(5000, 1);
    assert_eq!(pieces(&bench.wait(LONG).timer()), [(5000, 100)]);
}

#[test]
fn a_connection_older_than_the_agent_is_served() {
    let mut bench = Bench::new();
    assert!(bench.radio(&ack(4000)).passed());
    bench.burst(5000, 6);
    bench.radio(&ack(4000));
    assert!(bench.wait(LONG).timer().is_empty(), "the receiver waits for what passed before");
    bench.radio(&ack(5100));
    assert_eq!(bench.two_duplicates(&ack(5100)).repaired(), Some((5100, 100)));
}

#[test]
fn a_syn_on_the_same_ports_resets_the_state() {
    for from in [Side::Core, Side::Radio] {
        let mut bench = Bench::new();
        bench.burst(0, 6);
        bench.radio(&ack(100));
        let syn = if from == Side::Core { data(9_000_000, 0) } else { ack(0) };
        assert!(bench.pass(&syn.but(|tcp| tcp.flags = TcpFlags::SYN), from).passed());
        assert_eq!((bench.snoop.octets, bench.snoop.flows.next_timer()), (0, None));
        bench.burst(9_000_001, 3);
        bench.radio(&ack(9_000_001));
        assert_eq!(bench.two_duplicates(&ack(9_000_001)).repaired(), Some((9_000_001, 100)));
    }
}

#[test]
fn numbers_out_of_reach_are_another_connection() {
    let mut bench = Bench::new();
    bench.burst(0, 6);
    bench.burst(1 << 31, 2);
    assert_eq!(bench.cached(), [1 << 31, (1 << 31) + 100]);
    assert_eq!(Some(bench.snoop.octets), bench.flow().map(SnoopFlow::allocated));
}

#[test]
fn a_reset_from_either_side_cleans_up() {
    for from in [Side::Core, Side::Radio] {
        let mut bench = Bench::new();
        bench.burst(0, 6);
        let reset = if from == Side::Core { data(600, 0) } else { ack(100) };
        assert!(bench.pass(&reset.flags(TcpFlags::RST), from).passed());
        assert!(bench.snoop.flows.is_empty() && bench.snoop.octets == 0);
        assert_eq!(bench.snoop.deadline(), None);
    }
}

#[test]
fn the_senders_fin_is_repaired_and_its_ack_cleans_up() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    let fin = data(100, 0).flags(TcpFlags::FIN);
    bench.core(&fin);
    bench.radio(&ack(100));
    assert_eq!(bench.wait(LONG).timer(), [fin]);
    assert!(bench.radio(&ack(101)).passed());
    assert!(bench.snoop.flows.is_empty());
    assert_eq!(bench.snoop.deadline(), None);
}

#[test]
fn data_to_a_mobile_host_that_has_closed_its_half_is_repaired() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    assert!(bench.radio(&ack(100).flags(TcpFlags::FIN)).passed());
    bench.burst(300, 3);
    assert_eq!(bench.two_duplicates(&ack(100)).repaired(), Some((100, 100)));
}

#[test]
fn an_idle_connection_is_collected() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    bench.wait(299_000).timer();
    assert!(!bench.snoop.flows.is_empty());
    assert_eq!(bench.snoop.deadline().map(|deadline| deadline.at), Some(bench.now + Duration::from_secs(1)));
    bench.wait(1000).timer();
    assert!(bench.snoop.flows.is_empty() && bench.snoop.octets == 0);
    assert_eq!(bench.snoop.deadline(), None);
}
