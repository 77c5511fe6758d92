//! The cycle that probes for bandwidth: down, cruise, refill, up (draft-ietf-ccwg-bbr, section
//! 5.3.3).

use std::time::Duration;

use lasthop_packet::Instant;

use super::Bbr3;
use super::state::{Gain, State};
use crate::congestion::PathSample;
use crate::flight::Flight;

/// `BBR.ack_phase`: what ACKs say of the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    /// They are for what left before it.
    Refilling,
    /// The same, but it has begun.
    Starting,
    /// They are for what left in it.
    Feedback,
    /// The same, and it is over.
    Stopping,
}

//= draft-ietf-ccwg-bbr, section 5.3.3.5.3: no later than Reno would be back with a window of this many segments.
const RENO_ROUNDS: u64 = 63;
/// A cycle takes two to three seconds at most.
const LEAST_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT_MS: u64 = 1000;

/// Where in the cycle it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// `BBR.cycle_stamp` and `BBR.bw_probe_wait`.
    start: Instant,
    wait: Duration,
    /// `BBR.rounds_since_probe_up`.
    rounds: u64,
    /// `BBR.is_bw_probe_sample`: what is delivered left while the path was probed.
    pub(super) is_sampling: bool,
    /// `BBR.prev_probe_too_high`: too much was lost.
    pub(super) was_too_high: bool,
    /// `BBR.prev_probe_precautionary`: the last probe stopped early.
    was_precautionary: bool,
}

impl Cycle {
    pub(super) const fn count_round(&mut self) {
        self.rounds += 1;
    }
}

impl Bbr3 {
    /// `UpdateProbeBWCyclePhase ()`.
    pub(super) fn update_cycle(&mut self, path: &PathSample<'_>) {
        if !self.full_pipe.was_reached || self.adapt_long_term(path) {
            return;
        }
        let (now, delivered) = (path.now(), path.queue.delivered());
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(path.flight, now) => {
                self.start_refill(delivered);
            }
            State::Down if self.is_time_to_cruise(path) => self.state = State::Cruise,
            State::Refill if self.rounds.is_start => {
                self.cycle.is_sampling = true;
                self.start_up(path);
            }
            State::Up => self.end_up(path),
            _ => {}
        }
    }

    fn end_up(&mut self, path: &PathSample<'_>) {
        if self.is_time_to_go_down(path) {
            self.cycle.was_too_high = false;
            self.start_down(path.queue.delivered(), path.now());
        }
    }

    /// `AdaptLongTermModel ()`. Returns whether it changed the state.
    fn adapt_long_term(&mut self, path: &PathSample<'_>) -> bool {
        if self.rounds.is_start {
            match self.cycle.ack_phase {
                AckPhase::Starting => self.cycle.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    if self.end_probe(path) {
                        return true;
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::Feedback => {}
            }
        }
        self.raise_long_term(path);
        false
    }

    /// The last ACK of the probe has come. Returns whether another one follows at once.
    fn end_probe(&mut self, path: &PathSample<'_>) -> bool {
        (self.cycle.is_sampling, self.cycle.ack_phase) = (false, AckPhase::Init);
        if !self.state.is_probing_bandwidth() {
            return false;
        }
        if !path.is_application_limited() {
            self.max_bandwidth.advance();
        }
        let goes_on = self.cycle.was_precautionary && !self.cycle.was_too_high;
        if goes_on {
            self.start_refill(path.queue.delivered());
        }
        goes_on
    }

    /// `StartProbeBW_DOWN ()`.
    pub(super) fn start_down(&mut self, delivered: u64, now: Instant) {
        self.short_term.reset_signals();
        self.long_term.stop_growing();
        //= draft-ietf-ccwg-bbr, section 5.3.3.5.3: PickProbeWait ().
        self.cycle.rounds = self.dice.below(2);
        self.cycle.wait = LEAST_WAIT + Duration::from_millis(self.dice.below(RANDOM_WAIT_MS + 1));
        self.cycle.start = now;
        self.cycle.ack_phase = AckPhase::Stopping;
        self.rounds.begin(delivered);
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL ()`.
    pub(super) fn start_refill(&mut self, delivered: u64) {
        self.short_term.reset();
        self.long_term.reset_growth();
        self.cycle.was_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.begin(delivered);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP ()`.
    fn start_up(&mut self, path: &PathSample<'_>) {
        self.cycle.ack_phase = AckPhase::Starting;
        self.rounds.begin(path.queue.delivered());
        self.full_pipe.reset_to(Self::rate(path));
        self.state = State::Up;
        self.long_term.raise_slope(path.flight);
    }

    /// `IsTimeToProbeBW ()`.
    fn is_time_to_probe(&self, flight: &Flight, now: Instant) -> bool {
        let reno_rounds = self.target_inflight(flight) / u64::from(flight.mss);
        now > self.cycle.start + self.cycle.wait || self.cycle.rounds >= reno_rounds.min(RENO_ROUNDS)
    }

    /// `IsTimeToCruise ()`.
    fn is_time_to_cruise(&self, path: &PathSample<'_>) -> bool {
        let (in_network, mss) = (u64::from(path.queue.in_network()), path.flight.mss);
        let has_headroom = self.long_term.with_headroom(mss).is_none_or(|most| in_network <= most);
        has_headroom && in_network <= self.inflight_at(self.max_bandwidth.get(), Gain::UNIT, mss)
    }

    /// `IsTimeToGoDown ()`.
    fn is_time_to_go_down(&mut self, path: &PathSample<'_>) -> bool {
        let in_network = u64::from(path.queue.in_network());
        let is_at_limit = self.long_term.volume().is_some_and(|volume| in_network >= volume);
        if self.cycle.was_too_high && is_at_limit {
            self.cycle.was_precautionary = true;
            return true;
        }
        if self.is_limited_by_long_term(path.flight) {
            self.full_pipe.reset_to(Self::rate(path));
            return false;
        }
        self.full_pipe.is_full
    }

    /// What is to be in the network, unless congestion has cut cwnd (`TargetInflight ()`).
    pub(super) fn target_inflight(&self, flight: &Flight) -> u64 {
        self.product(Gain::UNIT).min(u64::from(flight.cwnd))
    }
}
