use std::time::Duration;

use super::*;
use crate::congestion::Stage;
use crate::congestion::bbr::tests::{MSS, Pipe};

/// The bandwidth-delay product of the tests, in octets.
const PRODUCT: u32 = 50 * MSS;

fn steady_state() -> Pipe<Bbr> {
    let mut pipe = Pipe::<Bbr>::new();
    pipe.run(Duration::from_secs(3));
    assert_eq!(pipe.model.mode, Mode::ProbeBandwidth);
    pipe
}

fn is_near(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) * 100 <= expected * percent
}

#[test]
fn startup_finds_the_bandwidth_in_a_few_round_trips_and_drain_empties_the_queue() {
    let mut pipe = Pipe::<Bbr>::new();
    pipe.run_until(|pipe| pipe.model.mode == Mode::Drain);
    // Three doublings from 10 segments to 50, and three round trips without growth, which the queue
    // makes longer.
    assert!(pipe.now < Instant::from_millis(1000 + 6 * 3 * 50), "{:?}", pipe.now);
    assert!(is_near(pipe.model.bandwidth(), pipe.rate, 2), "{}", pipe.model.bandwidth());
    assert!(pipe.backlog() > u64::from(PRODUCT), "{}", pipe.backlog());
    assert!(pipe.flight.ssthresh < 2 * PRODUCT);
    pipe.run_until(|pipe| pipe.model.mode == Mode::ProbeBandwidth);
    assert!(pipe.backlog() < 12 * u64::from(MSS), "{}", pipe.backlog());
}

#[test]
fn startup_paces_at_the_high_gain_of_the_initial_window_and_never_slower() {
    let mut pipe = Pipe::<Bbr>::new();
    let first = pipe.model.pacing.get().rate;
    assert!(is_near(first, 10 * u64::from(MSS) * 20 * 289 / 100 * 99 / 100, 1), "{first}");
    let mut before = first;
    pipe.run_until(|pipe| {
        let rate = pipe.model.pacing.get().rate;
        let is_startup = pipe.model.mode == Mode::Startup;
        assert!(!is_startup || rate >= before);
        before = rate;
        !is_startup
    });
}

#[test]
fn in_steady_state_the_window_is_twice_the_product_and_the_queue_is_short() {
    let mut pipe = steady_state();
    let target = 2 * PRODUCT;
    let mut longest = 0;
    pipe.run_until(|pipe| {
        longest = longest.max(pipe.backlog());
        pipe.now > Instant::from_secs(6)
    });
    // Room for three bursts and for aggregated ACKs.
    let range = target..target + 30 * MSS;
    assert!(range.contains(&pipe.flight.cwnd), "{}", pipe.flight.cwnd);
    assert!(longest < u64::from(PRODUCT) / 2, "a quarter of the product, and a burst: {longest}");
}

#[test]
fn each_phase_of_the_cycle_takes_about_the_minimum_round_trip_time() {
    let mut pipe = steady_state();
    let mut changes = Vec::new();
    let mut gain = pipe.model.pacing_gain;
    pipe.run_until(|pipe| {
        if pipe.model.pacing_gain != gain {
            gain = pipe.model.pacing_gain;
            changes.push((gain, pipe.now));
        }
        changes.len() == 10
    });
    let fast = changes.iter().position(|(gain, _)| *gain == Gain::FASTER).expect("a cycle has one");
    let lengths: Vec<Duration> = changes[fast..].windows(2).map(|pair| pair[1].1.since(pair[0].1)).collect();
    assert!(changes[fast + 1].0 == Gain::SLOWER && changes[fast + 2].0 == Gain::UNIT);
    assert!((50..110).contains(&lengths[0].as_millis()), "until the queue has grown: {lengths:?}");
    assert!(lengths[1].as_millis() <= 60, "until it is drained: {lengths:?}");
    assert!((300..350).contains(&lengths[2].as_millis()), "six times the round trip: {lengths:?}");
}

#[test]
fn the_round_trip_time_is_probed_every_ten_seconds_with_four_segments() {
    let mut pipe = steady_state();
    // A standing queue of other flows: the initial minimum round-trip time does not recur.
    pipe.rtt = Duration::from_millis(51);
    pipe.run_until(|pipe| pipe.model.mode == Mode::ProbeRtt);
    let (began, before) = (pipe.now, pipe.model.window.restored(0));
    assert!((Instant::from_secs(10)..Instant::from_secs(15)).contains(&began), "{began:?}");
    let mut smallest = u32::MAX;
    pipe.run_until(|pipe| {
        smallest = smallest.min(pipe.queue.in_network());
        pipe.model.mode != Mode::ProbeRtt
    });
    let took = pipe.now.since(began);
    assert!(smallest <= MIN_WINDOW * MSS);
    assert!((200..400).contains(&took.as_millis()), "{took:?}");
    assert!(pipe.flight.cwnd >= before.min(2 * PRODUCT), "{} of {before}", pipe.flight.cwnd);
    assert_eq!(pipe.model.min_rtt.get(), Some(Duration::from_millis(52)), "with a segment's own time");
    let again = pipe.now;
    pipe.rtt = Duration::from_millis(53);
    pipe.run_until(|pipe| pipe.model.mode == Mode::ProbeRtt);
    assert!(is_near(pipe.now.since(again).as_millis() as u64, 10_000, 10), "{:?}", pipe.now.since(again));
}

#[test]
fn in_the_first_round_trip_of_recovery_as_many_octets_are_sent_as_delivered() {
    let mut pipe = steady_state();
    let (mut cwnd, mut before) = (0, 0);
    pipe.loss = 30;
    pipe.run_until(|pipe| {
        (before, cwnd) = (cwnd, pipe.flight.cwnd);
        pipe.stage == Stage::Recovery
    });
    pipe.loss = 0;
    assert!(pipe.model.window.is_saved(before));
    assert_eq!(pipe.flight.cwnd, pipe.queue.in_network() + MSS);
    pipe.run_until(|pipe| pipe.stage == Stage::Open);
    assert!(pipe.flight.cwnd >= before - 5 * MSS, "{} of {before}", pipe.flight.cwnd);
    assert!(is_near(pipe.model.bandwidth(), pipe.rate, 2));
}

// Linux counts packets: each packet delivered, however small, allows one to be sent.
#[test]
fn in_recovery_the_delivery_of_a_small_segment_allows_a_full_one() {
    let mut pipe = Pipe::<Bbr>::new();
    pipe.acknowledge_in_recovery(15);
    assert_eq!(pipe.flight.cwnd, MSS);
}

#[test]
fn random_loss_does_not_slow_it_down() {
    // At 15% it may attribute the losses to a policer, and keep the rate of that time.
    for (loss, percent) in [(10, 93), (50, 93), (100, 93), (150, 80)] {
        let mut pipe = steady_state();
        pipe.loss = loss;
        let before = pipe.queue.delivered();
        pipe.run(Duration::from_secs(20));
        let goodput = (pipe.queue.delivered() - before) / 20;
        assert!(goodput > pipe.rate * (1000 - loss) / 1000 * percent / 100, "{loss}: {goodput}");
    }
}

#[test]
fn a_policer_is_detected_and_its_rate_is_respected() {
    let mut pipe = Pipe::<Bbr>::new();
    pipe.policer = Some((300_000, 100_000));
    pipe.run_until(|pipe| pipe.model.long_term.rate().is_some());
    let rate = pipe.model.long_term.rate().expect("found");
    assert!(is_near(rate, 300_000, 15), "{rate}");
    assert_eq!(pipe.model.pacing_gain, Gain::UNIT);
    let (dropped, delivered) = (pipe.dropped, pipe.queue.delivered());
    pipe.run(Duration::from_secs(2));
    let lost = (pipe.dropped - dropped) * u64::from(MSS);
    assert!(lost * 5 < pipe.queue.delivered() - delivered, "{lost}: less than before it was found");
    pipe.run_until(|pipe| pipe.model.long_term.rate().is_none());
}

#[test]
fn after_a_pause_it_paces_at_the_bandwidth_and_does_not_probe_the_rtt() {
    let mut pipe = steady_state();
    pipe.data = 100;
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.queue.in_network(), 0);
    pipe.now += Duration::from_secs(12);
    pipe.model.pacing_gain = Gain::FASTER;
    pipe.write(1000);
    pipe.run(Duration::from_millis(20));
    let rate = pipe.model.pacing.get().rate;
    assert!(pipe.model.is_restarting && is_near(rate, pipe.rate * 99 / 100, 2), "{rate}");
    pipe.run(Duration::from_millis(100));
    assert!(!pipe.model.is_restarting);
    assert_eq!(pipe.model.mode, Mode::ProbeBandwidth);
}

#[test]
fn an_application_that_sends_little_does_not_lower_the_bandwidth() {
    let mut pipe = steady_state();
    pipe.data = 0;
    for _ in 0..100 {
        pipe.write(1);
        pipe.run(Duration::from_millis(60));
    }
    assert!(is_near(pipe.model.bandwidth(), pipe.rate, 2), "{}", pipe.model.bandwidth());
}

#[test]
fn an_undone_recovery_restores_the_window_and_restarts_full_pipe_detection() {
    let mut pipe = steady_state();
    let before = pipe.flight.cwnd;
    pipe.recover();
    pipe.run(Duration::from_millis(20));
    assert!(pipe.flight.cwnd < before * 3 / 4, "{} of {before}", pipe.flight.cwnd);
    pipe.undo();
    pipe.run_until(|_| true);
    assert!(pipe.flight.cwnd >= before - MSS, "{} of {before}", pipe.flight.cwnd);
    assert!(pipe.model.long_term.rate().is_none() && pipe.model.full_pipe.was_reached());
}

#[test]
fn the_window_has_room_for_aggregated_acks() {
    let mut extra = ExtraAcked::default();
    let at = Instant::from_millis;
    extra.update(20_000, 1_000_000, true, 100_000, at(1000));
    assert_eq!(extra.room(1_000_000), 20_000);
    assert_eq!(extra.room(100_000), 10_000, "for a silence of 100 ms at most");
    extra.update(1000, 1_000_000, false, 500, at(2000));
    for round in 0..10 {
        extra.update(1000, 1_000_000, true, 500, at(3000 + round * 100));
    }
    assert_eq!(extra.room(1_000_000), 500, "a window at most, and forgotten after ten round trips");
}

#[test]
fn at_a_low_rate_single_segments_are_sent_and_the_window_has_room_for_three() {
    let mut model = Bbr::default();
    let mut flight = Pipe::<Bbr>::new().flight;
    flight.cwnd = MSS;
    model.begin(&flight, Some(Duration::from_secs(1)), true);
    assert_eq!(model.pacing().map(|pacing| pacing.min_burst), Some(1));
    assert_eq!(model.window_for(1000, Gain::UNIT, MSS), 4 * u64::from(MSS));
}
