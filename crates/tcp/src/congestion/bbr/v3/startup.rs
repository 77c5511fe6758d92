//! Out of Startup because of losses, and out of Drain (draft-ietf-ccwg-bbr, sections 5.3.1.3 and
//! 5.3.2).

use lasthop_packet::Seq;

use super::Bbr3;
use super::spurious::Return;
use super::state::{Gain, State};
use crate::congestion::{PathSample, Stage};
use crate::retransmission_queue::LostSegment;

//= draft-ietf-ccwg-bbr, section 5.3.1.3: BBRStartupFullLossCnt.
const RANGES: u32 = 6;
/// Drain ends after so many round trips at the latest.
const LONGEST_DRAIN: u64 = 3;

/// Ranges of sequence numbers that were lost in this round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostRanges {
    count: u32,
    /// Behind the last one.
    end: Option<Seq>,
}

impl LostRanges {
    pub(super) fn note(&mut self, lost: &LostSegment) {
        if self.end != Some(lost.seq) {
            self.count = self.count.saturating_add(1);
        }
        self.end = Some(lost.end);
    }
}

impl Bbr3 {
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
            && self.lost_ranges.count >= RANGES
            && path.ack.rate.is_some_and(|rate| self.is_too_much(rate.lost, rate.in_network))
    }

    //= draft-ietf-ccwg-bbr, section 5.3.2: CheckDrainDone ().
    pub(super) fn check_drain_done(&mut self, path: &PathSample<'_>) {
        let is_drained = || u64::from(path.queue.in_network()) <= self.inflight(Gain::UNIT, path.flight.mss);
        let is_long = self.rounds.count > self.drain_start + LONGEST_DRAIN;
        if self.state == State::Drain && (is_long || is_drained()) {
            self.start_down(path.queue.delivered(), path.now());
        }
    }
}
