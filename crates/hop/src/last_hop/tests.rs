//! The window over modeled hops: a rate, a queue, delays that keep the order, losses.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::FlowKey;

use super::*;

const SEGMENT: u32 = 1448;
const SECOND: u64 = 1_000_000;

/// A hop with a sender that always has more data; times in microseconds.
struct Model {
    hop: LastHop,
    targets: Targets,
    /// Octets a second.
    rate: u64,
    /// The round trip without a queue at a given time.
    delay: fn(u64) -> u64,
    /// The amplitude of the delay's variation, in both directions.
    varies: u64,
    /// Octets of room in the queue.
    queue: u64,
    /// The hop's losses, of packets and of ACKs, in percent.
    loss: u64,
    ack_loss: u64,
    /// The sender's own limit of octets on the hop.
    sender: u64,
    now: u64,
    random: u64,
    /// When the link will have sent the queue.
    free: u64,
    /// When a packet left, when its ACK comes (`None`: never)
    on_hop: VecDeque<(u64, u64, bool)>,
    delivered: u64,
    /// The sum of the queueing delays, and their number.
    waits: (u64, u64),
    lost: u64,
    /// What the next ACK will show: a loss shows when a later packet arrives.
    progress: Progress,
}

impl Model {
    /// 20 Mbit/s, 20 ms.
    fn new() -> Self {
        Self::with_targets(LastHop::new(Instant::ZERO), Targets::default())
    }

    /// A hop that all hosts share.
    fn shared() -> Self {
        let longest_delay = Duration::from_millis(15);
        Self::with_targets(
            LastHop::shared(Instant::ZERO),
            Targets { longest_delay, min_window: 2, ..Targets::default() },
        )
    }

    fn with_targets(mut hop: LastHop, targets: Targets) -> Self {
        hop.record_segment(SEGMENT, &targets);
        let host = (IpAddr::from([10, 0, 0, 1]), 80);
        hop.turns.wait(FlowKey::tcp(host, host));
        Self {
            hop,
            targets,
            rate: 2_500_000,
            delay: |_| 20_000,
            varies: 0,
            queue: u64::MAX,
            loss: 0,
            ack_loss: 0,
            sender: u64::MAX,
            now: 0,
            random: 1,
            free: 0,
            on_hop: VecDeque::new(),
            delivered: 0,
            waits: (0, 0),
            lost: 0,
            progress: Progress::default(),
        }
    }

    fn send(&mut self) {
        let size = u64::from(SEGMENT);
        while self.hop.room() >= size && self.hop.in_flight + size <= self.sender {
            self.hop.in_flight += size;
            let wait = self.free.saturating_sub(self.now);
            if wait * self.rate / SECOND + size > self.queue {
                // The loss shows when the packet after it is acknowledged.
                let due = self.on_hop.back().map_or(self.now + (self.delay)(self.now), |last| last.1);
                self.on_hop.push_back((self.now, due, true));
                continue;
            }
            self.waits = (self.waits.0 + wait, self.waits.1 + 1);
            self.free = self.free.max(self.now) + size * SECOND / self.rate;
            let varied = self.draw() % (2 * self.varies + 1);
            let due = self.free + (self.delay)(self.now) + varied - self.varies;
            let due = self.on_hop.back().map_or(due, |last| due.max(last.1));
            let is_lost = self.draw() % 100 < self.loss;
            self.on_hop.push_back((self.now, due, is_lost));
        }
    }

    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.random >> 33
    }

    /// Runs for some seconds. Returns the share of the rate that got through, the mean queueing
    /// delay in milliseconds, and the share of packets that the queue dropped.
    fn run(&mut self, seconds: u64) -> (f64, f64, f64) {
        self.run_for(seconds * SECOND)
    }

    fn run_for(&mut self, time: u64) -> (f64, f64, f64) {
        let (until, size) = (self.now + time, u64::from(SEGMENT));
        (self.delivered, self.waits, self.lost) = (0, (0, 0), 0);
        self.send();
        while let Some((sent, due, is_lost)) = self.on_hop.pop_front_if(|next| next.1 <= until) {
            self.now = due;
            if is_lost {
                self.progress.lost += size;
                self.lost += size;
            } else {
                self.progress.delivered += size;
                self.progress.sent = Some(at(sent));
                self.delivered += size;
            }
            // Without a later packet on the hop, a timer would reveal the loss.
            let is_reported = !is_lost && self.draw() % 100 >= self.ack_loss;
            if !is_reported && !self.on_hop.is_empty() {
                continue;
            }
            let progress = std::mem::take(&mut self.progress);
            self.hop.in_flight -= progress.delivered + progress.lost;
            self.hop.on_progress(progress, IpAddr::from([10, 0, 0, 1]), at(self.now), &self.targets);
            self.send();
        }
        self.now = until;
        (
            (self.delivered * SECOND) as f64 / (self.rate * time) as f64,
            self.waits.0 as f64 / self.waits.1.max(1) as f64 / 1000.0,
            self.lost as f64 / (self.lost + self.delivered).max(1) as f64,
        )
    }
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

#[test]
fn a_queue_is_a_quarter_of_the_hops_round_trip() {
    let mut model = Model::new();
    model.run(1);
    let (share, queue, _) = model.run(20);
    assert!(share > 0.99, "{share}");
    assert!((4.0..9.0).contains(&queue), "{queue}");
}

#[test]
fn a_hop_whose_delay_varies_is_kept_busy() {
    for varies in [1000, 2000, 5000, 8000] {
        let mut model = Model { varies, ..Model::new() };
        model.run(1);
        let (share, queue, _) = model.run(20);
        assert!(share > 0.95 && queue < 15.0, "{varies}: {share}, {queue}");
    }
}

#[test]
fn a_queue_of_another_sender_does_not_starve_us_and_is_forgotten_when_it_has_gone() {
    let mut model = Model {
        delay: |now| if (5..15).contains(&(now / SECOND)) { 80_000 } else { 20_000 },
        ..Model::new()
    };
    model.run(5);
    let (share, ..) = model.run(10);
    assert!(share > 0.85, "{share}");
    // Our own queue has taken its place, until the minimum round-trip time is measured.
    model.run(11);
    let (share, queue, _) = model.run(10);
    assert!(share > 0.99 && queue < 12.0, "{share}, {queue}");
}

#[test]
fn a_hop_that_slows_down_does_not_keep_a_long_queue() {
    let mut model = Model::new();
    model.run(5);
    model.rate /= 4;
    model.run(12);
    let (share, queue, _) = model.run(8);
    assert!(share > 0.99 && queue < 25.0, "{share}, {queue}");
}

#[test]
fn a_queue_that_is_too_short_is_not_flooded() {
    for queue in [12_000, 16_000, 24_000] {
        let mut model = Model { queue, ..Model::new() };
        model.run(2);
        let (share, _, lost) = model.run(20);
        assert!(share > 0.95 && lost < 0.2, "{queue}: {share}, {lost}");
    }
}

#[test]
fn a_sender_that_limits_leaves_the_window_alone() {
    let mut model = Model { sender: 30_000, ..Model::new() };
    model.run(1);
    model.hop.turns.clear();
    let before = model.hop.estimate().window;
    model.run(5);
    assert_eq!(model.hop.estimate().window, before);
}

#[test]
fn a_new_hops_window_does_not_limit_until_the_hop_is_full() {
    // 200 Mbit/s, 30 ms: 750 kB from 29 kB.
    let mut model = Model { rate: 25_000_000, delay: |_| 30_000, ..Model::new() };
    model.run(1);
    assert!(model.hop.estimate().window > 750_000, "{:?}", model.hop.estimate());
}

#[test]
fn a_hop_that_loses_many_frames_is_kept_busy() {
    for (loss, seed) in [5, 10, 20, 30].into_iter().flat_map(|loss| (1..6).map(move |seed| (loss, seed))) {
        for ack_loss in [0, loss] {
            let mut model = Model { loss, ack_loss, random: seed * 77_777, ..Model::new() };
            model.run(2);
            let (share, queue, _) = model.run(20);
            let max = 1.0 - loss as f64 / 100.0;
            assert!(
                share > 0.9 * max && queue < 12.0,
                "{loss}, {ack_loss}, {seed}: {}, {queue}",
                share / max
            );
        }
    }
}

#[test]
fn a_rate_that_rises_and_falls_does_not_make_the_window_grow_without_limit() {
    let mut model = Model::new();
    for _ in 0..300 {
        model.rate = if model.rate == 2_500_000 { 250_000 } else { 2_500_000 };
        model.run_for(SECOND / 5);
    }
    assert!(model.hop.estimate().window < 500_000, "{:?}", model.hop.estimate());
}

#[test]
fn an_imported_window_is_measured_again_and_the_minimum_window_holds() {
    let known = |window: u64| {
        let mut model = Model::new();
        let estimate = HopEstimate { window, segment: SEGMENT, rate: 2_500_000 };
        model.hop.resume_from(estimate, Instant::ZERO);
        model.hop.record_segment(SEGMENT, &model.targets);
        model
    };
    for window in [0, 20_000, 62_500, 200_000] {
        let mut model = known(window);
        model.run(5);
        let (share, queue, _) = model.run(10);
        assert!(share > 0.99 && queue < 9.0, "{window}: {share}, {queue}");
    }
    let mut model = Model { loss: 60, ..known(62_500) };
    model.run(10);
    model.loss = 0;
    model.run(2);
    assert!(model.run(4).0 > 0.99);
}

#[test]
fn the_window_follows_a_rate_that_has_fallen() {
    let delays: [fn(u64) -> u64; 3] = [|_| 20_000, |_| 60_000, |_| 100_000];
    for delay in delays {
        for (rate, by) in [(12_500_000, 10), (12_500_000, 100), (6_250_000, 10), (2_500_000, 4)] {
            let mut model = Model { rate, delay, ..Model::new() };
            model.run(5);
            model.rate /= by;
            model.run(60);
            let (share, queue, _) = model.run(20);
            // The minimum window is ten segments, a tenth of a second at the lowest rate.
            let longest =
                30.0 + delay(0) as f64 / 1000.0 + f64::from(10 * SEGMENT * 1000) / model.rate as f64;
            assert!(share > 0.95 && queue < longest, "{rate} / {by}, {}: {share}, {queue}", delay(0));
        }
    }
}

#[test]
fn a_queue_shows_even_where_the_sender_limits() {
    let mut model = Model { rate: 12_500_000, ..Model::new() };
    model.run(5);
    model.hop.turns.clear();
    model.sender = 60_000;
    model.rate /= 100;
    model.run(60);
    let (share, queue, _) = model.run(20);
    assert!(share > 0.99 && queue < 150.0, "{share}, {queue}");
}

#[test]
fn a_shared_window_keeps_the_queue_to_four_segments_and_the_hop_busy() {
    for (rate, delay, queue) in [
        (2_500_000, (|_| 3_000) as fn(u64) -> u64, 1.0..4.0),
        (2_500_000, |_| 20_000, 1.0..4.0),
        // Four segments take 9 ms.
        (625_000, |_| 3_000, 5.0..12.0),
        // They would take 93 ms, and two take 46: two are always on the hop.
        (62_500, |_| 3_000, 0.0..50.0),
    ] {
        let mut model = Model { rate, delay, ..Model::shared() };
        model.run(5);
        let (share, waited, _) = model.run(20);
        assert!(share > 0.97 && queue.contains(&waited), "{rate}, {}: {share}, {waited}", delay(0));
    }
}

#[test]
fn a_shared_window_uses_the_smallest_sample_where_others_make_the_round_trip_long() {
    let mut model =
        Model { delay: |now| if now % 100_000 < 2_000 { 3_000 } else { 60_000 }, ..Model::shared() };
    model.run(5);
    let (_, waited, _) = model.run(20);
    assert!(waited < 1.0 && model.hop.octets() <= 4 * u64::from(SEGMENT), "{waited}, {}", model.hop.octets());
}

#[test]
fn losses_leave_a_shared_window_near_what_the_hop_holds() {
    let mut model = Model { loss: 10, ..Model::shared() };
    model.run(5);
    let (share, waited, _) = model.run(20);
    assert!(share > 0.85 * 0.9 && waited < 5.0, "{share}, {waited}");
}

#[test]
fn a_shared_window_keeps_a_hop_busy_whose_delay_varies() {
    for (delay, varies) in [((|_| 5_000) as fn(u64) -> u64, 2_000), (|_| 5_000, 4_000)] {
        let mut model = Model { delay, varies, ..Model::shared() };
        model.run(10);
        let (share, waited, _) = model.run(20);
        assert!(share > 0.8 && waited < 15.0, "{} ± {varies}: {share}, {waited}", delay(0));
    }
}

#[test]
fn a_shared_window_soon_finds_the_rate_of_a_long_hop() {
    for (rate, delay) in [(2_500_000, (|_| 100_000) as fn(u64) -> u64), (12_500_000, |_| 60_000)] {
        let mut model = Model { rate, delay, ..Model::shared() };
        model.run(3);
        let (share, ..) = model.run(5);
        assert!(share > 0.8, "{rate}, {}: {share}", delay(0));
    }
}

#[test]
fn octets_that_late_acks_do_not_report_yet_do_not_count_as_on_the_hop() {
    let (targets, host, segment) = (Targets::default(), IpAddr::from([10, 0, 0, 1]), u64::from(SEGMENT));
    let mut hop = LastHop::new(Instant::ZERO);
    let estimate = HopEstimate { window: 8 * segment, segment: SEGMENT, rate: 2_500_000 };
    hop.resume_from(estimate, Instant::ZERO);
    hop.record_segment(SEGMENT, &targets);
    hop.in_flight = 1000 * segment;
    let mut number = 0;
    let mut room_after_ack = |late: u64, lost: u64, uploaded: usize| {
        number += 1;
        // Each round trip takes 2 s.
        let (sent, now) = (at(100_000 * number), at(100_000 * number + 2 * SECOND));
        hop.record_data_back(uploaded, now);
        let late = Duration::from_millis(late);
        hop.on_progress(Progress { delivered: segment, lost, sent: Some(sent), late }, host, now, &targets);
        hop.room_to_pass(&LossFreeRun::default())
    };
    assert_eq!([0, 100, 900].map(|late| room_after_ack(late, 0, 0)), [0; 3]);
    assert!(room_after_ack(1900, 0, 0) > 1_000_000);
    assert_eq!(room_after_ack(100, 0, 0), 0);
    assert!(room_after_ack(1900, 0, 0) > 1_000_000);
    let (after_loss, with_upload) = (room_after_ack(1900, segment, 0), room_after_ack(1900, segment, 10_000));
    assert_eq!(after_loss, 0, "what the hop loses is repaired, and late ACKs delay that");
    assert!(with_upload > 1_000_000, "a smaller window does not make them earlier");
}
