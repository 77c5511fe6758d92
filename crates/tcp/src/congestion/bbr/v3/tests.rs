//! After the draft's example test cases (its appendix A).

use std::time::Duration;

use super::*;
use crate::congestion::bbr::tests::{MSS, Pipe};

/// The bandwidth-delay product of the tests, in octets.
const PRODUCT: u64 = 50 * MSS as u64;

fn steady_state() -> Pipe<Bbr3> {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.run_until(|pipe| pipe.model.state == State::Cruise);
    pipe
}

fn is_near(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) * 100 <= expected * percent
}

/// The states in this period, and when each begins.
fn states(pipe: &mut Pipe<Bbr3>, time: Duration) -> Vec<(State, Instant)> {
    let end = pipe.now + time;
    let mut states = vec![(pipe.model.state, pipe.now)];
    pipe.run_until(|pipe| {
        if states.last().is_none_or(|(state, _)| *state != pipe.model.state) {
            states.push((pipe.model.state, pipe.now));
        }
        pipe.now >= end
    });
    states
}

#[test]
fn startup_ends_on_a_plateau_of_the_bandwidth_and_drain_when_the_queue_is_empty() {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.run_until(|pipe| pipe.model.state == State::Drain);
    assert!(is_near(pipe.model.max_bandwidth.get(), pipe.rate, 2), "{}", pipe.model.max_bandwidth.get());
    assert!(pipe.model.full_pipe.is_full() && pipe.model.full_pipe.was_reached());
    assert_eq!(pipe.model.state.pacing_gain().of(100), 50);
    pipe.run_until(|pipe| pipe.model.state != State::Drain);
    assert!(u64::from(pipe.queue.in_network()) <= pipe.model.inflight(Gain::UNIT, MSS));
}

#[test]
fn losses_end_an_application_limited_startup() {
    let mut pipe = Pipe::<Bbr3>::new();
    (pipe.data, pipe.loss) = (0, 200);
    for _ in 0..200 {
        pipe.write(10);
        pipe.run(Duration::from_millis(10));
    }
    assert!(pipe.model.full_pipe.was_reached() && pipe.model.state != State::Startup);
    assert!(pipe.model.long_term.volume().is_some());
}

#[test]
fn drain_ends_after_three_round_trips_if_the_queue_persists() {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.run_until(|pipe| pipe.model.state == State::Drain);
    pipe.slow_down(4);
    let start = pipe.model.rounds.count();
    pipe.run_until(|pipe| pipe.model.state != State::Drain);
    assert_eq!(pipe.model.rounds.count(), start + 4);
    assert!(u64::from(pipe.queue.in_network()) > pipe.model.inflight(Gain::UNIT, MSS));
}

#[test]
fn the_cycle_goes_down_cruises_refills_and_goes_up_every_two_to_three_seconds() {
    let mut pipe = steady_state();
    let states = states(&mut pipe, Duration::from_secs(30));
    let order = [State::ProbeRtt, State::Cruise, State::Refill, State::Up, State::Down, State::Cruise];
    let cycles: Vec<&[(State, Instant)]> =
        states.windows(6).filter(|states| states.iter().map(|(state, _)| *state).eq(order)).collect();
    assert!(cycles.len() >= 4, "{states:?}");
    for cycle in cycles {
        let length = |phase: usize| cycle[phase + 1].1.since(cycle[phase].1).as_millis();
        // 50 segments: a Reno flow would regain its window after as many round trips, at least
        // 2.5 s.
        assert!((2000..3100).contains(&length(1)), "{cycle:?}");
        assert!((50..60).contains(&length(2)), "one round trip: {cycle:?}");
        assert!((150..300).contains(&length(3)), "three without growth: {cycle:?}");
    }
}

#[test]
fn up_ends_when_the_bandwidth_does_not_grow_and_the_queue_is_bounded() {
    let mut pipe = steady_state();
    pipe.run_until(|pipe| pipe.model.state == State::Up);
    let mut longest = 0;
    pipe.run_until(|pipe| {
        longest = longest.max(pipe.backlog());
        pipe.model.state == State::Down
    });
    assert!(!pipe.model.cycle.was_too_high() && pipe.model.long_term.volume().is_none());
    assert!(longest > PRODUCT / 5 && longest < PRODUCT * 3 / 2, "{longest}");
}

#[test]
fn with_a_shallow_queue_it_leaves_headroom_and_loses_little() {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.buffer = PRODUCT / 4;
    pipe.run(Duration::from_secs(10));
    let (dropped, delivered) = (pipe.dropped, pipe.queue.delivered());
    pipe.run(Duration::from_secs(30));
    let lost = (pipe.dropped - dropped) * u64::from(MSS);
    let goodput = (pipe.queue.delivered() - delivered) / 30;
    let volume = pipe.model.long_term.volume().expect("the queue has a limit");
    assert!(volume < PRODUCT * 2, "{volume}");
    assert!(lost * 50 < 30 * goodput, "less than 2%: {lost} of {}", 30 * goodput);
    assert!(goodput > pipe.rate * 80 / 100, "{goodput}");
    pipe.run_until(|pipe| pipe.model.state == State::Cruise);
    let max = pipe.model.long_term.with_headroom(MSS).expect("a limit");
    assert!(u64::from(pipe.flight.cwnd) <= max, "{} of {max}", pipe.flight.cwnd);
}

#[test]
fn a_probe_that_loses_too_much_ends_at_once_and_the_next_one_is_careful() {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.buffer = PRODUCT / 10;
    pipe.run_until(|pipe| pipe.model.state == State::Up);
    pipe.run_until(|pipe| pipe.model.cycle.was_too_high());
    assert_eq!(pipe.model.state, State::Down);
    let volume = pipe.model.long_term.volume().expect("set by the losses");
    assert!(volume >= pipe.model.target_inflight(&pipe.flight) * 7 / 10);
    // The data sent in the probe is acknowledged; the next probe may not exceed this volume.
    pipe.run_until(|pipe| pipe.model.state == State::Up);
    pipe.run_until(|pipe| pipe.model.state != State::Up);
    assert!(pipe.model.long_term.volume().is_some());
}

#[test]
fn the_round_trip_time_is_probed_every_five_seconds_with_half_of_the_product() {
    let mut pipe = steady_state();
    pipe.rtt = Duration::from_millis(52);
    pipe.run_until(|pipe| pipe.model.state == State::ProbeRtt);
    let began = pipe.now;
    let mut smallest = u64::MAX;
    pipe.run_until(|pipe| {
        smallest = smallest.min(u64::from(pipe.queue.in_network()));
        pipe.model.state != State::ProbeRtt
    });
    assert_eq!(pipe.model.state, State::Cruise);
    let took = pipe.now.since(began);
    assert!((200..400).contains(&took.as_millis()), "{took:?}");
    assert!(smallest <= PRODUCT * 6 / 10 && smallest > PRODUCT * 3 / 10, "{smallest}");
    let again = pipe.now;
    pipe.rtt = Duration::from_millis(53);
    pipe.run_until(|pipe| pipe.model.state == State::ProbeRtt);
    assert!(is_near(pipe.now.since(again).as_millis() as u64, 5000, 10), "{:?}", pipe.now.since(again));
}

#[test]
fn a_pause_of_the_application_replaces_a_probe_of_the_round_trip_time() {
    let mut pipe = steady_state();
    pipe.data = 0;
    pipe.run(Duration::from_secs(1));
    pipe.now += Duration::from_secs(6);
    pipe.write(200);
    pipe.run(Duration::from_millis(10));
    assert!(pipe.model.is_restarting);
    let rate = pipe.model.pacing.get().rate;
    assert!(is_near(rate, pipe.rate * 99 / 100, 3), "{rate}");
    let states = states(&mut pipe, Duration::from_millis(100));
    assert!(states.iter().all(|(state, _)| *state != State::ProbeRtt), "{states:?}");
}

#[test]
fn it_adapts_to_ten_times_the_bandwidth_and_to_a_tenth_of_it() {
    let mut pipe = steady_state();
    pipe.rate *= 10;
    pipe.run(Duration::from_secs(6));
    assert!(pipe.model.max_bandwidth.get() > pipe.rate * 9 / 10, "{}", pipe.model.max_bandwidth.get());
    pipe.rate /= 10;
    pipe.buffer = PRODUCT;
    pipe.run(Duration::from_secs(8));
    assert!(is_near(pipe.model.max_bandwidth.get(), pipe.rate, 10), "{}", pipe.model.max_bandwidth.get());
}

#[test]
fn loss_of_a_percent_leaves_most_of_the_bandwidth() {
    let mut pipe = steady_state();
    pipe.loss = 10;
    let before = pipe.queue.delivered();
    pipe.run(Duration::from_secs(30));
    let goodput = (pipe.queue.delivered() - before) / 30;
    assert!(goodput > pipe.rate * 3 / 4, "{goodput}");
}

#[test]
fn an_application_that_sends_little_does_not_lower_the_bandwidth() {
    let mut pipe = steady_state();
    pipe.data = 0;
    for _ in 0..200 {
        pipe.write(1);
        pipe.run(Duration::from_millis(60));
    }
    assert!(is_near(pipe.model.max_bandwidth.get(), pipe.rate, 2), "{}", pipe.model.max_bandwidth.get());
}

#[test]
fn an_undone_recovery_restores_the_limits() {
    let mut pipe = steady_state();
    pipe.recover();
    let model = &mut pipe.model;
    let lost = |seq| LostSegment {
        seq,
        end: seq + MSS,
        in_network: 0,
        lost: 0,
        delivered: pipe.queue.delivered(),
        is_application_limited: false,
    };
    model.on_segment_lost(&lost(pipe.flight.una), pipe.now, &pipe.flight);
    pipe.run(Duration::from_millis(150));
    let (taken, _) = pipe.model.short_term.limits();
    assert!(taken.is_some_and(|bandwidth| bandwidth <= pipe.rate * 102 / 100), "{taken:?}");
    pipe.undo();
    pipe.run_until(|_| true);
    assert_eq!(pipe.model.short_term.limits(), (None, None));
}

#[test]
fn a_spurious_end_of_startup_is_undone() {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.loss = 100;
    pipe.run_until(|pipe| pipe.model.undo.state() == Some(State::Startup));
    assert!(pipe.model.full_pipe.was_reached() && pipe.model.state == State::Drain);
    pipe.loss = 0;
    pipe.undo();
    pipe.run_until(|_| true);
    assert!(!pipe.model.full_pipe.was_reached() && pipe.model.state == State::Startup);
}

#[test]
fn the_window_is_four_segments_on_a_path_of_less_than_one() {
    let mut pipe = Pipe::<Bbr3>::new();
    (pipe.rate, pipe.rtt) = (100_000, Duration::from_millis(1));
    pipe.run(Duration::from_secs(8));
    assert!(pipe.flight.cwnd >= 4 * MSS);
    let rate = pipe.model.pacing.get().rate;
    assert!(rate < pipe.rate * 13 / 10, "{rate}");
}

// Without SACK every recovery ends Startup, even before the first measurement: at a rate of zero,
// the next segment would not be sent.
#[test]
fn the_rate_of_the_initial_window_is_kept_until_a_bandwidth_is_measured() {
    let mut pipe = Pipe::<Bbr3>::new();
    pipe.model.has_reports = false;
    let before = pipe.model.pacing.get();
    pipe.acknowledge_in_recovery(0);
    assert!(pipe.model.full_pipe.was_reached());
    assert_eq!(pipe.model.pacing.get(), before);
}

//= draft-ietf-ccwg-bbr, section 5.3.4.3: EnterProbeRTT (), then SaveCwnd (): in ProbeRTT that is "max(BBR.prior_cwnd, cwnd)".
#[test]
fn probing_the_round_trip_time_saves_the_window_or_a_larger_earlier_one() {
    for prior in [PRODUCT as u32 / 2, PRODUCT as u32 * 4] {
        let mut pipe = steady_state();
        pipe.model.window.save(prior, false);
        pipe.rtt = Duration::from_millis(52);
        let mut before = 0;
        pipe.run_until(|pipe| {
            let is_probing = pipe.model.state == State::ProbeRtt;
            before = if is_probing { before } else { pipe.flight.cwnd };
            is_probing
        });
        assert!(pipe.flight.cwnd < before * 3 / 4, "{} of {before}", pipe.flight.cwnd);
        assert_eq!(pipe.model.window.restored(0), before.max(prior));
    }
}
