//! The cycle that probes for bandwidth: down, cruise, refill, up (draft-ietf-ccwg-bbr, section
//! 5.3.3).

use lasthop_packet::Instant;

use super::cycle::AckPhase;
use super::model::Bbr3;
use super::state::{Gain, State};
use crate::congestion::PathSample;
use crate::flight::Flight;

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

    /// Processes the last ACK of the probe. Returns whether another probe follows at once.
    fn end_probe(&mut self, path: &PathSample<'_>) -> bool {
        (self.cycle.is_sampling, self.cycle.ack_phase) = (false, AckPhase::Init);
        if !self.state.is_probing_bandwidth() {
            return false;
        }
        if !path.is_application_limited() {
            self.max_bandwidth.advance();
        }
        let probes_again = self.cycle.was_precautionary && !self.cycle.was_too_high;
        if probes_again {
            self.start_refill(path.queue.delivered());
        }
        probes_again
    }

    /// Raises the volume if it is safe (the rest of `AdaptLongTermModel ()`).
    fn raise_long_term(&mut self, path: &PathSample<'_>) {
        let (Some(volume), Some(rate)) = (self.long_term.volume(), path.ack.rate) else { return };
        if self.is_too_much(rate.lost, rate.in_network) {
            return;
        }
        self.long_term.set(volume.max(u64::from(rate.in_network)));
        if self.state == State::Up {
            self.probe_upward(path);
        }
    }

    /// `ProbeInflightLongtermUpward ()`.
    fn probe_upward(&mut self, path: &PathSample<'_>) {
        if !self.is_limited_by_long_term(path.flight) {
            return;
        }
        self.long_term.grow(u64::from(path.ack.acked), path.flight.mss);
        if self.rounds.is_start {
            self.long_term.raise_slope(path.flight);
        }
    }

    /// `StartProbeBW_DOWN ()`.
    pub(super) fn start_down(&mut self, delivered: u64, now: Instant) {
        self.short_term.reset_signals();
        self.long_term.stop_growing();
        self.cycle.begin(&mut self.dice, now);
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
        self.cycle.is_time_to_probe(reno_rounds, now)
    }

    /// `IsTimeToCruise ()`.
    fn is_time_to_cruise(&self, path: &PathSample<'_>) -> bool {
        let (in_network, mss) = (u64::from(path.queue.in_network()), path.flight.mss);
        let has_headroom = self.long_term.with_headroom(mss).is_none_or(|max| in_network <= max);
        has_headroom && in_network <= self.inflight_at(self.max_bandwidth.get(), Gain::UNIT, mss)
    }

    /// `IsTimeToGoDown ()`.
    fn is_time_to_go_down(&mut self, path: &PathSample<'_>) -> bool {
        if self.cycle.was_too_high && self.long_term.limits(path.queue.in_network()) {
            self.cycle.was_precautionary = true;
            return true;
        }
        if self.is_limited_by_long_term(path.flight) {
            self.full_pipe.reset_to(Self::rate(path));
            return false;
        }
        self.full_pipe.is_full
    }

    /// Whether cwnd is used, and is not smaller than the volume.
    fn is_limited_by_long_term(&self, flight: &Flight) -> bool {
        self.window.is_used() && self.long_term.limits(flight.cwnd)
    }

    /// The target for the octets in the network, limited by cwnd (`TargetInflight ()`).
    pub(super) fn target_inflight(&self, flight: &Flight) -> u64 {
        self.product(Gain::UNIT).min(u64::from(flight.cwnd))
    }
}
