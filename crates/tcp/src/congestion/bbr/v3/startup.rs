//! The end of Startup and of Drain (draft-ietf-ccwg-bbr, sections 5.3.1 and 5.3.2).

use super::lost_ranges::LostRanges;
use super::model::Bbr3;
use super::state::{Gain, State};
use super::undo::Return;
use crate::congestion::{PathSample, Stage};

/// Maximum number of round trips of Drain.
const MAX_DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    //= draft-ietf-ccwg-bbr, section 5.3.1.2: CheckFullBWReached ().
    pub(super) fn check_full_pipe(&mut self, path: &PathSample<'_>, delivery_rate: u64) {
        if self.rounds.is_start && !path.is_application_limited() {
            self.full_pipe.on_round(delivery_rate);
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.3.1.1: CheckStartupDone ().
    pub(super) fn check_startup_done(&mut self, path: &PathSample<'_>) {
        if self.state == State::Startup && self.is_loss_high(path) {
            self.undo.state = Some(Return::Startup);
            self.full_pipe.end();
            let safe = self.product(Gain::UNIT).max(self.short_term.volume_latest());
            self.long_term.set(safe);
        }
        if self.short_term.is_round_start() {
            self.lost_ranges = LostRanges::default();
        }
        if self.state == State::Startup && self.full_pipe.was_reached {
            self.state = State::Drain;
            self.drain_start = self.rounds.count;
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.3.1.3: CheckStartupHighLoss ().
    fn is_loss_high(&self, path: &PathSample<'_>) -> bool {
        if path.stage != Stage::Recovery {
            return false;
        }
        if !self.has_reports {
            return true;
        }
        self.short_term.is_round_start()
            && self.lost_ranges.are_many()
            && path.ack.rate.is_some_and(|rate| self.is_too_much(rate.lost, rate.in_network))
    }

    //= draft-ietf-ccwg-bbr, section 5.3.2: CheckDrainDone ().
    pub(super) fn check_drain_done(&mut self, path: &PathSample<'_>) {
        let is_drained = || u64::from(path.queue.in_network()) <= self.inflight(Gain::UNIT, path.flight.mss);
        let is_long = self.rounds.count > self.drain_start + MAX_DRAIN_ROUNDS;
        if self.state == State::Drain && (is_long || is_drained()) {
            self.start_down(path.queue.delivered(), path.now());
        }
    }
}
