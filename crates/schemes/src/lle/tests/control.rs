//! LLE-TCP_CC at a mobile host that sends.

use super::*;

pub(super) const SEGMENT: u32 = 100;

/// A phone that has opened a connection to the server, which is not the other end of its hop.
fn sender(buffer: usize) -> Bench {
    sender_with(Settings { sender_buffer: buffer, ..Settings::default() })
}

pub(super) fn sender_with(settings: Settings) -> Bench {
    let mut bench = Bench::new(settings, Role::MobileHost);
    let syn = syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0)));
    bench.core(&syn);
    bench.radio(&super::syn().but(|tcp| {
        (tcp.flags, tcp.ack) = (TcpFlags::SYN.with(TcpFlags::ACK), Seq(UP));
    }));
    bench
}

pub(super) fn segment(n: u32) -> Packet {
    up_data(UP + n * SEGMENT, FIRST, SEGMENT)
}

/// The server's ACK of the first `n` segments.
pub(super) fn answer(n: u32) -> Packet {
    data(FIRST, 0).but(|tcp| tcp.ack = Seq(UP + n * SEGMENT))
}

#[test]
fn a_delivered_segment_is_acknowledged_with_a_window_of_one_segment() {
    let mut bench = sender(10_000);
    let step = bench.through(&segment(0));
    let tcp = step.only_ack();
    assert_eq!((tcp.ack.0, u32::from(tcp.window), tcp.seq.0), (UP + SEGMENT, SEGMENT, FIRST));
    assert_eq!(step.core[0].ip(), &Ip::new(SERVER, PHONE));
    assert_eq!(bench.lle.unproven(), u64::from(SEGMENT));
}

#[test]
fn a_window_of_one_segment_is_rounded_up_by_the_scale() {
    let settings = Settings { sender_buffer: 10_000, ..Settings::default() };
    for (shift, window) in [(0, SEGMENT), (3, 13), (7, 1)] {
        let mut bench = Bench::new(settings.clone(), Role::MobileHost);
        bench.core(&syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0))));
        bench.radio(&syn().but(|tcp| {
            (tcp.flags, tcp.ack) = (TcpFlags::SYN.with(TcpFlags::ACK), Seq(UP));
            tcp.options.window_scale = Some(shift);
        }));
        assert_eq!(u32::from(bench.through(&segment(0)).only_ack().window), window);
        // The other end's own, for data without a local ACK.
        let passed = bench.radio(&answer(2)).passed.expect("it says more than ours did");
        assert_eq!(passed.tcp().map(|tcp| u32::from(tcp.window)), Some(window));
    }
}

#[test]
fn segments_are_shortened_to_whole_units_of_the_window_where_that_costs_little() {
    let of = |buffer: usize, shift: u8, timestamps: Option<Timestamps>| {
        let mut bench =
            Bench::new(Settings { sender_buffer: buffer, ..Settings::default() }, Role::MobileHost);
        bench.core(&syn_ack().but(|tcp| (tcp.flags, tcp.ack) = (TcpFlags::SYN, Seq(0))));
        let passed = bench.radio(&syn().but(|tcp| {
            (tcp.flags, tcp.ack) = (TcpFlags::SYN.with(TcpFlags::ACK), Seq(UP));
            tcp.options.window_scale = Some(shift);
            tcp.options.maximum_segment_size = Some(1460);
            tcp.options.timestamps = timestamps;
        }));
        passed.passed.and_then(|packet| packet.tcp()?.options.maximum_segment_size)
    };
    let timestamps = Some(Timestamps { value: 1, echo_reply: 1 });
    assert_eq!(of(10_000, 7, timestamps), Some(11 * 128 + 12));
    assert_eq!(of(10_000, 7, None), Some(11 * 128));
    assert_eq!(of(10_000, 2, None), Some(1460), "it is a whole number");
    assert_eq!(of(10_000, 10, None), Some(1460), "436 octets are too many");
    assert_eq!(of(0, 7, None), Some(1460), "without a buffer it is plain TCP");
}

#[test]
fn without_a_buffer_it_is_plain_tcp() {
    let mut bench = sender(0);
    assert!(bench.through(&segment(0)).core.is_empty());
    assert_eq!(bench.radio(&answer(1)).passed, Some(answer(1)));
}

#[test]
fn a_full_buffer_freezes_the_sender_and_a_duplicate_resumes_it() {
    // Two segments with their headers, and the spare room for a third one's.
    let mut bench = sender(2 * 140 + 200);
    let windows: Vec<u16> = (0..2).map(|n| bench.through(&segment(n)).only_ack().window).collect();
    assert_eq!(windows, [100, 0]);
    let step = bench.radio(&answer(1));
    assert!(step.passed.is_none(), "the TCP here knows it");
    let resumed = step.only_ack();
    assert_eq!((resumed.ack.0, resumed.window), (UP + 2 * SEGMENT, 100));
}

#[test]
fn data_without_room_is_acknowledged_by_the_other_end() {
    let mut bench = sender(2 * 140);
    let acks: Vec<usize> = (0..3).map(|n| bench.through(&segment(n)).core.len()).collect();
    assert_eq!(acks, [1, 1, 0]);
    let passed = bench.radio(&answer(3)).passed.expect("it says more than ours did");
    let tcp = passed.tcp().expect("TCP");
    assert_eq!((tcp.ack.0, tcp.window), (UP + 3 * SEGMENT, 100));
}

#[test]
fn a_loss_beyond_the_hop_is_repaired_from_the_buffer() {
    let mut bench = sender(10_000);
    let sent: Vec<Packet> = (0..5).map(|n| bench.sent(&segment(n))).collect();
    for packet in &sent {
        bench.delivered(packet);
    }
    bench.radio(&answer(1));
    let copies: Vec<Vec<Packet>> = (0..4).map(|_| bench.radio(&answer(1)).radio).collect();
    assert_eq!(copies, [vec![], vec![], vec![sent[1].clone()], vec![]]);
    // A partial ACK: the next hole.
    assert_eq!(bench.radio(&answer(3)).radio, [sent[3].clone()]);
    assert!(bench.radio(&answer(5)).radio.is_empty());
    assert_eq!(bench.lle.unproven(), 0);
}

#[test]
fn data_to_a_silent_receiver_is_sent_again() {
    let mut bench = sender(10_000);
    let sent = bench.sent(&segment(0));
    bench.delivered(&sent);
    assert!(bench.wait(999).timer().radio.is_empty());
    assert_eq!(bench.wait(1).timer().radio, std::slice::from_ref(&sent));
    assert!(bench.wait(1999).timer().radio.is_empty());
    assert_eq!(bench.wait(1).timer().radio, [sent]);
    bench.radio(&answer(1));
    assert!(bench.wait(100_000).timer().radio.is_empty());
}

#[test]
fn a_fin_is_only_acknowledged_by_the_other_end() {
    let mut bench = sender(10_000);
    bench.through(&segment(0));
    assert!(bench.through(&segment(1).flags(TcpFlags::FIN)).core.is_empty());
    let closing = data(FIRST, 0).but(|tcp| tcp.ack = Seq(UP + 2 * SEGMENT + 1));
    let passed = bench.radio(&closing).passed.expect("it passes");
    assert_eq!(passed.tcp().map(|tcp| tcp.ack), Some(Seq(UP + 2 * SEGMENT + 1)));
}

#[test]
fn an_ack_in_data_from_the_other_end_never_goes_back() {
    let mut bench = sender(10_000);
    bench.through(&segment(0));
    bench.through(&segment(1));
    let mixed = data(FIRST, 50).but(|tcp| tcp.ack = Seq(UP + SEGMENT));
    let passed = bench.radio(&mixed).passed.expect("data passes");
    assert_eq!(passed.tcp().map(|tcp| tcp.ack), Some(Seq(UP + 2 * SEGMENT)));
}

#[test]
fn unacknowledged_data_of_a_forgotten_idle_connection_is_reported() {
    let mut bench = sender(10_000);
    (0..2).for_each(|n| drop(bench.through(&segment(n))));
    let reports = bench.wait(301_000).timer().reports;
    let lost = Report::new(&ACKNOWLEDGED_AND_LOST).at(Seq(UP));
    assert_eq!(reports.last(), Some(&Report { amount: u64::from(2 * SEGMENT), ..lost }));
}
