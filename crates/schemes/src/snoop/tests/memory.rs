//! Memory is in proportion to the outstanding data, for any receiver and any duration.

use super::*;
use crate::snoop::today::scoreboard::{Range, Scoreboard};
use lasthop_agent::Accounts as _;

/// The maximum number of outstanding segments.
const OUTSTANDING: u32 = 40;

/// The maximum memory of a scoreboard with this number of ranges: deques at most double when they
/// grow, and shrink once three quarters are free.
fn allowance(ranges: usize) -> usize {
    6 * 1024 + 4 * ranges * (size_of::<Range>() + 2 * 24)
}

/// A flow without loss, with at least half a window outstanding.
struct Lossless {
    bench: Bench<Today>,
    outbox: Outbox,
    sent: u32,
    acked: u32,
}

impl Lossless {
    fn new() -> Self {
        let settings = Settings { local_window: false, ..Settings::default() };
        let mut all =
            Self { bench: Bench::<Today>::with(settings), outbox: Outbox::default(), sent: 0, acked: 0 };
        (0..OUTSTANDING / 2).for_each(|_| all.send());
        all
    }

    fn call(&mut self, packet: Packet, from: Side) {
        let Bench { snoop, now, rng, .. } = &mut self.bench;
        let mut packet = packet;
        let verdict = snoop.on_packet(&mut packet, from, &mut Context::new(*now, rng, &mut self.outbox));
        assert_eq!(verdict, Verdict::Forward);
        assert!(self.outbox.packets.is_empty() && self.outbox.reports.is_empty());
        self.outbox.bypasses.clear();
    }

    fn send(&mut self) {
        self.call(data(self.sent, 100), Side::Core);
        self.sent = self.sent.wrapping_add(100);
    }

    /// Every second segment is acknowledged when half of the window is outstanding.
    fn step(&mut self) {
        self.bench.now += Duration::from_micros(100);
        self.send();
        if self.sent.wrapping_sub(self.acked) >= OUTSTANDING * 100 {
            self.acked = self.acked.wrapping_add(200);
            self.call(ack(self.acked), Side::Radio);
        }
    }

    fn scoreboard(&self) -> &Scoreboard {
        self.bench.flow().map(|flow| &flow.recovery.scoreboard).expect("it has an account")
    }
}

#[test]
fn the_memory_of_a_flow_without_loss_follows_the_outstanding_data() {
    let mut flow = Lossless::new();
    (0..10_000).for_each(|_| flow.step());
    assert!(
        flow.scoreboard().allocated() <= allowance(OUTSTANDING as usize),
        "{}",
        flow.scoreboard().allocated()
    );
}

#[test]
fn after_a_single_sack_block_memory_follows_the_outstanding_data() {
    let mut flow = Lossless::new();
    (0..100).for_each(|_| flow.step());
    // A duplicate: nothing to repair.
    flow.bench.radio(&ack(flow.acked).sack(&[(0, 100)]));
    (0..10_000).for_each(|_| flow.step());
    assert!(flow.scoreboard().sack_seen);
    assert!(
        flow.scoreboard().allocated() <= allowance(OUTSTANDING as usize),
        "{}",
        flow.scoreboard().allocated()
    );
}

#[test]
fn a_lossless_flow_of_a_million_packets_allocates_nothing_after_its_start() {
    let mut flow = Lossless::new();
    (0..1_000).for_each(|_| flow.step());
    let allocated = allocation_counter::measure(|| (0..1_000_000).for_each(|_| flow.step()));
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}

#[test]
fn repeated_retransmissions_by_the_sender_take_no_more_memory() {
    let mut bench = Bench::<Today>::with(Settings { local_window: false, ..Settings::default() });
    bench.burst(0, 20);
    for _ in 0..10_000 {
        bench.core(&data(100, 100));
    }
    let scoreboard = bench.flow().map(|flow| &flow.recovery.scoreboard).expect("an account");
    assert!(scoreboard.allocated() <= allowance(20), "{}", scoreboard.allocated());
}

#[test]
fn a_shrinking_window_releases_memory_though_it_is_never_empty() {
    let mut bench = Bench::<Today>::with(Settings { local_window: false, ..Settings::default() });
    bench.burst(0, 4_000);
    let scoreboard = |bench: &Bench<Today>| bench.flow().map(|flow| flow.recovery.scoreboard.allocated());
    assert!(scoreboard(&bench).is_some_and(|allocated| allocated > allowance(20)));
    (1..3_990).for_each(|segment| drop(bench.radio(&ack(100 * segment))));
    assert!(
        scoreboard(&bench).is_some_and(|allocated| allocated <= allowance(20)),
        "{:?}",
        scoreboard(&bench)
    );
}

#[test]
fn splits_stop_when_memory_is_short_whichever_owner_took_it() {
    let settings = Settings { local_window: false, ..Settings::default() };
    let mut bench = Bench::<Today>::within(settings, Budget { octets_in_all: 1 << 20, ..Budget::default() });
    let to = |port: u16, packet: Packet| packet.but(|tcp| tcp.destination_port = port);
    let from = |port: u16, packet: Packet| packet.but(|tcp| tcp.source_port = port);
    // Connections with one segment each, then one that takes all remaining memory.
    (1..=200).for_each(|port| drop(bench.core(&to(port, data(0, 1400)))));
    (0..1000).for_each(|segment| drop(bench.core(&to(9999, data(1400 * segment, 1400)))));
    let full = bench.snoop.octets();
    assert!(full > (1 << 20) - 8_000, "{full}");
    for port in 1..=200 {
        for first in (0..5).map(|number| 10 + 240 * number) {
            let blocks = [0, 60, 120].map(|further| (first + further, first + further + 10));
            let _ = bench.pass_ack(&from(port, ack(0)).sack(&blocks));
        }
    }
    assert!(bench.snoop.octets() <= 1 << 20, "{}", bench.snoop.octets());
}

#[test]
fn one_ack_with_two_splits_stays_within_the_budget() {
    let settings = Settings { local_window: false, ..Settings::default() };
    for segments in 3..130 {
        let mut bench = Bench::<Today>::within(settings.clone(), Budget::default());
        bench.burst(0, segments);
        let taken = bench.snoop.octets();
        bench.budget.octets_per_flow = bench.flow().map_or(0, SnoopFlow::allocated);
        bench.radio(&ack(0));
        let _ = bench.pass_ack(&ack(0).sack(&[(110, 120), (130, 140), (150, 160)]));
        assert!(bench.snoop.octets() <= taken, "{segments} segments: {} of {taken}", bench.snoop.octets());
    }
}
