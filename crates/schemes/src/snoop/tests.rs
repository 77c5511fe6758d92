//! The rules of Snoop, one by one, with packets by hand.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use lasthop_agent::{Outbox, SegmentCache};
use lasthop_packet::{Ip, Payload, Rng, SackBlocks, Tcp, Timestamps, Transport, Udp};
use proptest::prelude::*;

use super::*;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const WINDOW: u16 = 1000;
/// Longer than the initial time-out of 1100 ms.
const LONG: u64 = 1200;

/// An agent with a clock in milliseconds.
struct Bench {
    snoop: Snoop,
    now: Instant,
    rng: Rng,
}

/// What one call did.
#[derive(Debug)]
struct Step {
    verdict: Verdict,
    copies: Vec<Packet>,
    reports: Vec<Report>,
}

impl Bench {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        Self { snoop: Snoop::new(settings), now: Instant::from_secs(1), rng: Rng::new(1, "snoop") }
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn call<R>(
        &mut self,
        f: impl FnOnce(&mut Snoop, &mut Context<'_>) -> R,
    ) -> (R, Vec<Packet>, Vec<Report>) {
        let mut outbox = Outbox::default();
        let result = f(&mut self.snoop, &mut Context::new(self.now, &mut self.rng, &mut outbox));
        let copies = outbox.packets.into_iter().map(|(to, packet)| {
            assert_eq!(to, Side::Radio, "Snoop sends to the mobile host only");
            packet
        });
        (result, copies.collect(), outbox.reports)
    }

    fn pass(&mut self, packet: &Packet, from: Side) -> Step {
        let mut passing = packet.clone();
        let (verdict, copies, reports) = self.call(|snoop, cx| snoop.on_packet(&mut passing, from, cx));
        assert_eq!(passing, *packet, "the packet in hand is never edited");
        Step { verdict, copies, reports }
    }

    fn core(&mut self, packet: &Packet) -> Step {
        let step = self.pass(packet, Side::Core);
        assert_eq!(step.verdict, Verdict::Forward, "what comes from the core always goes on");
        assert!(step.copies.is_empty());
        step
    }

    /// Sends `count` segments of 100 octets from `seq` on.
    fn burst(&mut self, seq: u32, count: u32) {
        for segment in 0..count {
            self.core(&data(seq.wrapping_add(100 * segment), 100));
        }
    }

    fn radio(&mut self, packet: &Packet) -> Step {
        self.pass(packet, Side::Radio)
    }

    /// Two duplicates of `ack`, and what the second did.
    fn two_duplicates(&mut self, duplicate: &Packet) -> Step {
        assert!(self.radio(duplicate).passed(), "the first duplicate passes");
        self.radio(duplicate)
    }

    fn timer(&mut self) -> Vec<Packet> {
        self.call(Snoop::on_deadline).1
    }

    fn cached(&self) -> Vec<u32> {
        self.flow().map_or(Vec::new(), |flow| flow.cache.iter().map(|cached| cached.seq.0).collect())
    }

    fn flow(&self) -> Option<&Flow> {
        self.snoop.flows.peek(data(0, 1).flow_key()?)
    }
}

impl Step {
    fn passed(&self) -> bool {
        self.verdict == Verdict::Forward && self.copies.is_empty()
    }

    fn suppressed(&self) -> bool {
        self.verdict == Verdict::Drop(DropReason::DuplicateAck)
    }

    /// Sequence number and length of the one copy, where the ACK was suppressed.
    fn repaired(&self) -> Option<(u32, usize)> {
        self.suppressed().then(|| pieces(&self.copies)).and_then(|pieces| pieces.first().copied())
    }
}

fn pieces(packets: &[Packet]) -> Vec<(u32, usize)> {
    packets.iter().filter_map(|packet| Some((packet.tcp()?.seq.0, packet.payload().len()))).collect()
}

fn data(seq: u32, len: u32) -> Packet {
    let tcp = Tcp {
        source_port: 80,
        destination_port: 4000,
        seq: Seq(seq),
        ack: Seq(7),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    Packet::tcp_segment(
        Ip::new(SERVER, MOBILE),
        tcp,
        Payload::Stream { stream: 1, offset: u64::from(seq), len },
    )
}

fn ack(ack: u32) -> Packet {
    let tcp = Tcp {
        source_port: 4000,
        destination_port: 80,
        seq: Seq(7),
        ack: Seq(ack),
        flags: TcpFlags::ACK,
        window: WINDOW,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(MOBILE, SERVER), tcp, Payload::EMPTY)
}

/// Edits of a packet, for tests to read as a sentence.
trait But: Sized {
    fn but(self, edit: impl FnOnce(&mut Tcp)) -> Self;
    fn flags(self, flags: TcpFlags) -> Self {
        self.but(|tcp| tcp.flags = tcp.flags.with(flags))
    }
    fn window(self, window: u16) -> Self {
        self.but(|tcp| tcp.window = window)
    }
    fn stamped(self, value: u32) -> Self {
        self.but(|tcp| tcp.options.timestamps = Some(Timestamps { value, echo_reply: 5 }))
    }
    fn sack(self, blocks: &[(u32, u32)]) -> Self {
        self.but(|tcp| {
            tcp.options.sack = SackBlocks::NONE;
            blocks.iter().for_each(|(left, right)| tcp.options.sack.push(Seq(*left), Seq(*right)));
        })
    }
    fn unknown_option(self) -> Self {
        self.but(|tcp| tcp.options.unknown = Some(Box::new([30, 4, 0, 0])))
    }
}

impl But for Packet {
    fn but(mut self, edit: impl FnOnce(&mut Tcp)) -> Self {
        self.tcp_mut().into_iter().for_each(edit);
        self
    }
}

fn tsval(packet: &Packet) -> Option<u32> {
    packet.tcp()?.options.timestamps.map(|timestamps| timestamps.value)
}

// Duplicate ACKs.

#[test]
fn the_first_duplicate_passes_the_second_repairs_and_the_expected_ones_are_suppressed() {
    let mut bench = Bench::new();
    bench.burst(0, 6);
    assert!(bench.radio(&ack(100)).passed());
    let second = bench.two_duplicates(&ack(100));
    assert_eq!(second.repaired(), Some((100, 100)));
    assert_eq!(
        second.reports,
        [
            Report::LocalRetransmit { seq: Seq(100), cause: Cause::DuplicateAck },
            Report::DuplicateAckSuppressed { ack: Seq(100) }
        ]
    );
    // Five packets are cached; less the two duplicates seen, three more are expected.
    for _ in 0..3 {
        let step = bench.radio(&ack(100));
        assert!(step.suppressed() && step.copies.is_empty());
    }
    assert!(bench.radio(&ack(100)).passed(), "beyond what was expected");
    assert!(bench.radio(&ack(100)).passed(), "it was retransmitted already");
    assert!(bench.radio(&ack(600)).passed() && bench.cached().is_empty());
}

#[test]
fn what_comes_after_a_recount_is_expected_again() {
    let mut bench = Bench::new();
    bench.burst(0, 6);
    bench.radio(&ack(100));
    bench.two_duplicates(&ack(100));
    bench.burst(600, 10);
    let fates: Vec<bool> = (0..6).map(|_| bench.radio(&ack(100)).suppressed()).collect();
    assert_eq!(fates, [true, true, true, false, false, true]);
}

#[test]
fn a_count_that_falls_short_repairs_twice_and_then_lets_the_sender_see() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    bench.radio(&ack(100));
    let second = bench.two_duplicates(&ack(100));
    let third = bench.radio(&ack(100));
    assert_eq!((second.repaired(), third.repaired()), (Some((100, 100)), Some((100, 100))));
    assert!(bench.radio(&ack(100)).passed());
}

#[test]
fn a_new_ack_ends_all_expectations() {
    let mut bench = Bench::new();
    bench.burst(0, 9);
    bench.radio(&ack(100));
    bench.two_duplicates(&ack(100));
    assert!(bench.radio(&ack(300)).passed());
    assert_eq!(bench.two_duplicates(&ack(300)).repaired(), Some((300, 100)), "a second hole starts anew");
}

#[test]
fn one_duplicate_before_a_new_ack_does_not_count_towards_the_next_hole() {
    let mut bench = Bench::new();
    bench.burst(0, 9);
    bench.radio(&ack(100));
    bench.radio(&ack(100));
    bench.radio(&ack(200));
    assert!(bench.radio(&ack(200)).passed());
}

#[test]
fn duplicates_of_one_connection_are_not_counted_for_another() {
    let other = |packet: Packet| packet.but(|tcp| tcp.source_port ^= 1).but(|tcp| tcp.destination_port ^= 1);
    let mut bench = Bench::new();
    bench.burst(0, 5);
    for seq in 0..5 {
        bench.core(&other(data(seq * 100, 100)));
    }
    bench.radio(&ack(100));
    bench.radio(&other(ack(100)));
    assert!(bench.radio(&ack(100)).passed() && bench.radio(&other(ack(100))).passed());
}

#[test]
fn the_papers_rule_repairs_at_the_first_duplicate() {
    let mut bench = Bench::with(Settings { duplicates_passed: 0, ..Settings::default() });
    bench.burst(0, 5);
    bench.radio(&ack(100));
    assert_eq!(bench.radio(&ack(100)).repaired(), Some((100, 100)));
}

#[test]
fn duplicates_for_a_packet_that_was_lost_before_the_agent_pass() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    bench.burst(200, 5);
    bench.radio(&ack(100));
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn duplicates_for_a_packet_that_the_sender_retransmitted_pass() {
    let mut bench = Bench::new();
    bench.burst(0, 8);
    bench.radio(&ack(100));
    bench.two_duplicates(&ack(100));
    assert!(bench.radio(&ack(100)).suppressed());
    bench.core(&data(100, 100));
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn a_sender_retransmission_that_spans_several_cached_packets_marks_them_all() {
    let mut bench = Bench::new();
    bench.burst(0, 8);
    bench.radio(&ack(100));
    bench.core(&data(100, 200));
    bench.radio(&ack(200));
    for _ in 0..4 {
        assert!(bench.radio(&ack(200)).passed());
    }
}

#[test]
fn a_packet_that_fills_a_hole_at_the_front_counts_as_the_senders_retransmission() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    bench.burst(200, 5);
    bench.radio(&ack(100));
    bench.core(&data(100, 100));
    assert_eq!(bench.cached(), [100, 200, 300, 400, 500, 600]);
    for _ in 0..6 {
        assert!(bench.radio(&ack(100)).passed());
    }
}

#[test]
fn a_packet_that_fills_a_hole_behind_the_front_is_cached_and_can_be_repaired() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    bench.burst(300, 5);
    bench.core(&data(200, 100));
    bench.radio(&ack(200));
    assert_eq!(bench.cached(), [200, 300, 400, 500, 600, 700]);
    assert_eq!(bench.two_duplicates(&ack(200)).repaired(), Some((200, 100)));
}

#[test]
fn an_ack_lower_than_the_last_or_for_what_never_passed_changes_nothing() {
    let mut bench = Bench::new();
    bench.burst(0, 5);
    bench.radio(&ack(200));
    assert!(bench.radio(&ack(100)).passed() && bench.radio(&ack(501)).passed());
    assert_eq!(bench.cached(), [200, 300, 400]);
    assert_eq!(bench.two_duplicates(&ack(200)).repaired(), Some((200, 100)));
}

#[test]
fn an_ack_with_anything_to_tell_is_not_a_duplicate() {
    let telling: [(&str, Packet); 9] = [
        (
            "data",
            Packet::tcp_segment(
                *ack(100).ip(),
                ack(100).tcp().cloned().unwrap_or_default(),
                Payload::Stream { stream: 2, offset: 0, len: 9 },
            ),
        ),
        ("a window", ack(100).window(WINDOW + 1)),
        ("FIN", ack(100).flags(TcpFlags::FIN)),
        ("ECE", ack(100).flags(TcpFlags::ECE)),
        ("CWR", ack(100).flags(TcpFlags::CWR)),
        ("URG", ack(100).flags(TcpFlags::URG)),
        ("a closed window", ack(100).window(0)),
        ("an unknown option", ack(100).unknown_option()),
        ("duplicate data", ack(100).sack(&[(0, 100)])),
    ];
    for (what, packet) in telling {
        let mut bench = Bench::new();
        bench.burst(0, 9);
        bench.radio(&ack(100));
        for _ in 0..3 {
            bench.radio(&ack(100).window(packet.tcp().map_or(0, |tcp| tcp.window ^ 2)));
            assert!(bench.radio(&packet).passed(), "{what}");
            assert_eq!(bench.flow().map(|flow| flow.duplicates), Some(Duplicates::Passed(0)), "{what}");
        }
    }
}

#[test]
fn a_telling_ack_passes_even_while_duplicates_are_expected() {
    let mut bench = Bench::new();
    bench.burst(0, 20);
    bench.radio(&ack(100));
    assert!(bench.two_duplicates(&ack(100)).suppressed());
    assert!(bench.radio(&ack(100).flags(TcpFlags::ECE)).passed());
    assert!(
        bench.radio(&ack(100).sack(&[(200, 300), (200, 500)])).passed(),
        "RFC 2883 inside the second block"
    );
    assert!(bench.radio(&ack(100).sack(&[(200, 500)]).window(WINDOW + 9)).passed());
    assert!(bench.radio(&ack(100).sack(&[(200, 500)]).window(WINDOW + 9)).suppressed());
}

#[test]
fn an_ack_that_changes_the_window_and_reports_a_hole_repairs_but_passes() {
    let mut bench = Bench::new();
    bench.burst(0, 9);
    bench.radio(&ack(100));
    bench.radio(&ack(100).sack(&[(200, 300)]).window(WINDOW + 1));
    let second = bench.radio(&ack(100).sack(&[(200, 400)]).window(WINDOW + 2));
    assert_eq!((second.verdict, pieces(&second.copies)), (Verdict::Forward, vec![(100, 100)]));
}

// The timer.

#[test]
fn the_timer_repairs_at_most_ten_times() {
    let mut bench = Bench::new();
    bench.burst(0, 2);
    assert_eq!(
        bench.snoop.deadline().map(|deadline| deadline.at),
        Some(bench.now + Duration::from_millis(1100))
    );
    let mut copies = 0;
    for _ in 0..20 {
        copies += bench.wait(LONG).timer().len();
        assert!(bench.timer().is_empty(), "a repeated call is harmless");
    }
    assert_eq!(copies, 10);
    assert_eq!(bench.snoop.timers.next(), None);
}

#[test]
fn the_timer_waits_srtt_and_four_deviations_but_not_less_than_the_minimum() {
    let mut bench = Bench::new();
    for segment in 0..100 {
        bench.burst(100 * segment, 1);
        bench.wait(10).radio(&ack(100 * segment + 100));
    }
    bench.burst(10_000, 1);
    assert!(bench.wait(99).timer().is_empty());
    assert_eq!(pieces(&bench.wait(1).timer()), [(10_000, 100)]);
}

#[test]
fn a_new_ack_and_a_sender_retransmission_start_the_timer_anew_and_new_data_does_not() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    let due = |bench: &Bench| bench.snoop.timers.next().map_or(0, Instant::as_millis);
    let start = due(&bench);
    bench.wait(10).burst(300, 1);
    assert_eq!(due(&bench), start);
    bench.core(&data(0, 100));
    assert_eq!(due(&bench), start + 10);
    bench.wait(10).radio(&ack(100));
    assert_eq!(due(&bench), start + 20, "the covered packet left twice and so measured nothing");
    bench.radio(&ack(400));
    assert_eq!(bench.snoop.timers.next(), None);
}

#[test]
fn only_packets_that_left_once_measure_the_round_trip_time() {
    let mut bench = Bench::new();
    let timeout = |bench: &Bench| bench.flow().map(|flow| flow.timeout(&Settings::default()));
    bench.burst(0, 6);
    let untouched = timeout(&bench);
    bench.wait(5).core(&data(0, 100));
    bench.wait(5).radio(&ack(100));
    assert_eq!(timeout(&bench), untouched, "the sender's retransmission");
    bench.two_duplicates(&ack(100));
    bench.wait(5).radio(&ack(300));
    assert_eq!(timeout(&bench), untouched, "a local retransmission among what is acknowledged");
    bench.radio(&ack(400));
    assert_ne!(timeout(&bench), untouched);
}

#[test]
fn the_timer_repairs_only_what_the_receiver_waits_for() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    bench.burst(200, 2);
    bench.radio(&ack(100));
    assert!(bench.wait(LONG).timer().is_empty(), "the packet at 100 never came");
}

#[test]
fn the_timer_does_not_retransmit_into_a_closed_window() {
    let mut bench = Bench::new();
    bench.burst(0, 3);
    bench.radio(&ack(100).window(0));
    assert!(bench.wait(LONG).timer().is_empty());
    assert!(bench.radio(&ack(100)).passed(), "a window update");
    assert_eq!(pieces(&bench.wait(LONG).timer()), [(100, 100)]);
}

#[test]
fn the_senders_retransmission_allows_ten_more() {
    let mut bench = Bench::new();
    bench.burst(0, 1);
    let round = |bench: &mut Bench| (0..12).map(|_| bench.wait(LONG).timer().len()).sum::<usize>();
    assert_eq!(round(&mut bench), 10);
    bench.core(&data(0, 100));
    assert_eq!(round(&mut bench), 10);
}

// Timestamps.

#[test]
fn a_copy_carries_the_highest_tsval_that_went_to_the_receiver_and_is_otherwise_the_original() {
    let mut bench = Bench::new();
    for (seq, value) in [(0, 50), (100, 51), (200, 52), (300, 53), (400, 54)] {
        bench.core(&data(seq, 100).stamped(value));
    }
    bench.radio(&ack(100).stamped(9));
    // The sender retransmits the hole at a later time: the receiver's TS.Recent is 90 from then on.
    bench.core(&data(100, 100).stamped(90));
    bench.radio(&ack(200).stamped(9));
    let step = bench.two_duplicates(&ack(200).stamped(9));
    assert_eq!(step.copies, [data(200, 100).stamped(90)]);
}

#[test]
fn tsval_stays_monotone_across_its_wrap() {
    let mut bench = Bench::new();
    bench.core(&data(0, 100).stamped(u32::MAX - 1));
    bench.core(&data(100, 100).stamped(u32::MAX));
    bench.core(&data(200, 100).stamped(3));
    let copies = bench.wait(LONG).timer();
    assert_eq!(copies.iter().map(tsval).collect::<Vec<_>>(), [Some(3)]);
}

#[test]
fn the_tsval_of_a_pure_ack_from_the_sender_counts_too() {
    let mut bench = Bench::new();
    bench.core(&data(0, 100).stamped(50));
    bench.core(&data(100, 0).stamped(60));
    assert_eq!(bench.wait(LONG).timer(), [data(0, 100).stamped(60)]);
}

#[test]
fn a_tsval_from_outside_the_window_is_not_believed() {
    let mut bench = Bench::new();
    bench.core(&data(0, 100).stamped(50));
    bench.core(&data(100_000, 100).stamped(1_000_000));
    bench.core(&data(200_000, 0).stamped(1_000_000));
    assert_eq!(bench.wait(LONG).timer(), [data(0, 100).stamped(50)]);
}

#[test]
fn a_copy_that_needs_no_new_tsval_leaves_verbatim() {
    let mut bench = Bench::new();
    let packet = data(0, 100).flags(TcpFlags::PSH).stamped(50);
    bench.core(&packet);
    assert_eq!(bench.wait(LONG).timer(), [packet]);
    let plain = data(100, 100);
    bench.core(&plain);
    bench.radio(&ack(100));
    assert_eq!(bench.wait(LONG).timer(), [plain]);
}

// Octets, where ns-2 has packets.

#[test]
fn a_copy_carries_only_what_the_receiver_misses_of_a_super_packet() {
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

// Beginning and end.

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
        // Nothing was acknowledged since: the first ACK says where the receiver is, two more say that it misses something.
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
fn a_connection_that_is_older_than_the_agent_is_served() {
    let mut bench = Bench::new();
    assert!(bench.radio(&ack(4000)).passed());
    bench.burst(5000, 6);
    bench.radio(&ack(4000));
    assert!(bench.wait(LONG).timer().is_empty(), "the receiver waits for what passed before");
    bench.radio(&ack(5100));
    assert_eq!(bench.two_duplicates(&ack(5100)).repaired(), Some((5100, 100)));
}

#[test]
fn a_syn_on_the_same_ports_starts_anew() {
    for from in [Side::Core, Side::Radio] {
        let mut bench = Bench::new();
        bench.burst(0, 6);
        bench.radio(&ack(100));
        let syn = if from == Side::Core { data(9_000_000, 0) } else { ack(0) };
        assert!(bench.pass(&syn.but(|tcp| tcp.flags = TcpFlags::SYN), from).passed());
        assert_eq!((bench.snoop.octets, bench.snoop.timers.next()), (0, None));
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
    assert_eq!(bench.snoop.octets, 2 * 140);
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

// What is not touched, and bounds.

#[test]
fn data_from_the_mobile_host_and_what_is_not_tcp_leaves_no_trace() {
    let mut bench = Bench::new();
    for seq in 0..3 {
        assert!(bench.radio(&data(seq * 100, 100)).passed());
        assert!(bench.core(&ack(100)).passed());
    }
    let udp = Transport::Udp(Udp { source_port: 53, destination_port: 53 });
    for transport in [udp, Transport::Opaque { protocol: 50 }] {
        bench.core(&Packet::new(Ip::new(SERVER, MOBILE), transport, Payload::EMPTY));
    }
    assert!(bench.snoop.flows.is_empty());
    assert_eq!((bench.snoop.deadline(), bench.snoop.held()), (None, 0));
}

#[test]
fn urgent_data_and_unknown_options_are_not_cached_and_their_duplicates_pass() {
    for packet in [data(100, 100).flags(TcpFlags::URG), data(100, 100).unknown_option()] {
        let mut bench = Bench::new();
        bench.burst(0, 1);
        bench.core(&packet);
        bench.burst(200, 4);
        bench.radio(&ack(100));
        assert_eq!(bench.cached(), [200, 300, 400, 500]);
        assert!(bench.two_duplicates(&ack(100)).passed());
    }
}

#[test]
fn an_ipv6_connection_is_served() {
    let (server, mobile) = (IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    let v6 = |packet: Packet, ip| Packet::new(ip, packet.transport().clone(), packet.payload().clone());
    let mut bench = Bench::new();
    for seq in 0..6 {
        bench.core(&v6(data(seq * 100, 100), Ip::new(server, mobile)));
    }
    let duplicate = v6(ack(100), Ip::new(mobile, server));
    bench.radio(&duplicate);
    assert_eq!(bench.two_duplicates(&duplicate).repaired(), Some((100, 100)));
}

#[test]
fn at_every_bound_packets_pass_and_it_is_reported() {
    let defaults = Settings::default;
    let bounds = [
        (Settings { cached_packets: 2, ..defaults() }, "cached packets of a connection"),
        (Settings { cached_octets: 300, ..defaults() }, "cached octets of a connection"),
        (Settings { cached_octets_in_all: 300, ..defaults() }, "cached octets in all"),
    ];
    for (settings, bound) in bounds {
        let mut bench = Bench::with(settings);
        bench.burst(0, 2);
        assert_eq!(bench.core(&data(200, 100)).reports, [Report::AtBound { bound }]);
        assert_eq!(bench.cached(), [0, 100]);
        // A sender's retransmission takes no room and is noticed all the same.
        bench.core(&data(0, 100));
        bench.radio(&ack(0));
        for _ in 0..4 {
            assert!(bench.radio(&ack(0)).passed());
        }
        bench.radio(&ack(200));
        assert!(
            bench.two_duplicates(&ack(200)).passed(),
            "{bound}: what is not cached is the sender's to repair"
        );
        bench.burst(300, 1);
        assert_eq!(bench.cached(), [300], "{bound}: there is room again");
    }
}

#[test]
fn a_hundred_packets_of_a_connection_are_cached_by_default() {
    let mut bench = Bench::new();
    bench.burst(0, 120);
    assert_eq!(bench.cached().len(), 100);
}

#[test]
fn beyond_the_last_flow_new_ones_pass_until_one_has_been_idle() {
    let other = |packet: Packet| packet.but(|tcp| tcp.source_port = 81);
    let mut bench = Bench::with(Settings { flows: 1, ..Settings::default() });
    bench.burst(0, 1);
    assert_eq!(bench.core(&other(data(0, 100))).reports, [Report::AtBound { bound: "connections" }]);
    assert_eq!(bench.cached(), [0]);
    assert!(bench.wait(10_000).core(&other(data(0, 100))).reports.is_empty());
    assert_eq!((bench.cached().len(), bench.snoop.octets), (0, 140));
    assert_eq!(pieces(&bench.wait(LONG).timer()).len(), 1, "the timer of the flow that made room is gone");
}

#[test]
fn settings_are_read_with_their_units_and_unknown_keys_are_refused() {
    let settings: Settings =
        toml::from_str("cached-packets = 7\nminimum-timeout = \"40 ms\"").expect("well formed");
    let expected =
        Settings { cached_packets: 7, minimum_timeout: Duration::from_millis(40), ..Settings::default() };
    assert_eq!(settings, expected);
    assert!(toml::from_str::<Settings>("cached-packet = 7").is_err());
    assert!(toml::from_str::<Settings>("minimum-timeout = 40").is_err());
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).expect("a schema is JSON");
    assert_eq!(schema["properties"]["minimum-timeout"]["default"], "100 ms");
    assert_eq!(schema["additionalProperties"], false);
}

// Whatever comes.

/// Packets between two hosts, with small and large numbers so that many meet and some do not.
fn any_packet() -> impl Strategy<Value = Packet> {
    let number = || prop_oneof![8 => (0u32..12).prop_map(|n| n * 50), 1 => (0u32..9).prop_map(|n| u32::MAX - n * 50), 1 => any::<u32>()];
    let flags = prop_oneof![6 => Just(0x10u8), 1 => Just(0x11), 1 => any::<u8>()];
    let window = prop_oneof![4 => Just(WINDOW), 1 => any::<u16>()];
    let header = (number(), number(), flags, window, any::<bool>());
    let options = (
        proptest::option::of(number()),
        proptest::collection::vec((number(), number()), 0..5),
        prop_oneof![9 => Just(false), 1 => Just(true)],
    );
    let len = prop_oneof![2 => Just(0u32), 3 => Just(50), 1 => 0..70_000u32];
    (header, options, len).prop_map(
        |((seq, acked, flags, window, upwards), (stamp, blocks, unknown), len)| {
            let packet = if upwards { ack(0) } else { data(0, 0) };
            let mut packet = packet.but(|tcp| {
                (tcp.seq, tcp.ack, tcp.flags, tcp.window) = (Seq(seq), Seq(acked), TcpFlags(flags), window);
            });
            packet.set_payload(Payload::Stream { stream: 1, offset: u64::from(seq), len });
            packet = packet.sack(&blocks);
            packet = if unknown { packet.unknown_option() } else { packet };
            stamp.map_or(packet.clone(), |value| packet.stamped(value))
        },
    )
}

fn small() -> Settings {
    Settings {
        cached_packets: 5,
        cached_octets: 60_000,
        cached_octets_in_all: 80_000,
        flows: 2,
        ..Settings::default()
    }
}

proptest! {
    #[test]
    fn no_packet_makes_it_panic_or_edit_and_the_bounds_hold(
        steps in proptest::collection::vec((any_packet(), any::<bool>(), 0u64..400), 1..120)
    ) {
        let mut bench = Bench::with(small());
        for (packet, from_core, millis) in steps {
            let from = if from_core { Side::Core } else { Side::Radio };
            // `pass` asserts that the packet in hand is not edited.
            let step = bench.wait(millis).pass(&packet, from);
            prop_assert!(step.verdict == Verdict::Forward || (step.suppressed() && from == Side::Radio));
            bench.timer();
            let flows: Vec<&SegmentCache<_>> = [&packet]
                .into_iter()
                .filter_map(|packet| packet.flow_key())
                .flat_map(|key| [key, key.reversed()])
                .filter_map(|key| bench.snoop.flows.peek(key).map(|flow| &flow.cache))
                .collect();
            prop_assert!(flows.iter().all(|cache| cache.len() <= 5));
            prop_assert_eq!(flows.iter().map(|cache| cache.octets()).sum::<usize>(), bench.snoop.octets);
            prop_assert!(bench.snoop.octets <= 80_000);
        }
    }

    #[test]
    fn a_copy_is_a_piece_of_what_passed_and_its_tsval_never_falls_behind(
        lost in proptest::collection::vec(any::<bool>(), 40),
        extra in 0u32..3,
    ) {
        // A receiver that loses what `lost` says, acknowledges each arrival and refuses by PAWS.
        let mut bench = Bench::with(Settings { cached_packets: 20, ..Settings::default() });
        let (mut next, mut recent, mut above) = (0u32, 0u32, Vec::new());
        let mut arrivals = lost.iter().enumerate().flat_map(|(segment, lost)| {
            let packet = data(segment as u32 * 100, 100).stamped(100 + segment as u32);
            [(packet, *lost)]
        });
        let mut queue = std::collections::VecDeque::new();
        loop {
            if queue.is_empty() {
                let Some((packet, lost)) = arrivals.next() else { break };
                bench.wait(1 + u64::from(extra)).core(&packet);
                if !lost {
                    queue.push_back(packet);
                }
            }
            while let Some(packet) = queue.pop_front() {
                let seq = packet.tcp().map_or(0, |tcp| tcp.seq.0);
                let value = tsval(&packet).unwrap_or(0);
                prop_assert!(value >= recent, "PAWS would refuse it");
                prop_assert_eq!(packet.payload(), &Payload::Stream { stream: 1, offset: u64::from(seq), len: 100 });
                above.push(seq);
                if seq == next {
                    recent = value;
                }
                while above.contains(&next) {
                    next += 100;
                }
                queue.extend(bench.radio(&ack(next)).copies);
            }
            if queue.is_empty() && !bench.cached().is_empty() {
                queue.extend(bench.wait(LONG).timer());
            }
        }
        prop_assert_eq!(next, 4000, "every loss was repaired locally");
    }
}
