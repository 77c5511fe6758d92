//! The bandwidth of the path: the maximum delivery rate of the last ten round trips, or the rate of
//! a policer.

use super::gain::Gain;
use super::model::{Bbr, Mode};
use crate::congestion::PathSample;
use crate::congestion::bbr::rate::per_second;
use crate::retransmission_queue::RetransmissionQueue;

/// Round trips for which a bandwidth counts (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;

impl Bbr {
    /// `bbr_update_bw`.
    pub(super) fn update_bandwidth(&mut self, path: &PathSample<'_>) {
        self.rounds.is_start = false;
        let Some(rate) = path.ack.rate else { return };
        self.rounds.on_delivery(rate.prior_delivered, path.queue.delivered());
        if self.rounds.is_start {
            self.window.end_conservation();
        }
        self.sample_long_term(path.lost > 0, rate.is_application_limited, path.queue);
        let bandwidth = per_second(rate.delivered, rate.interval);
        if !rate.is_application_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(bandwidth, self.rounds.count, BANDWIDTH_ROUNDS);
        }
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample_long_term(
        &mut self,
        has_loss: bool,
        is_application_limited: bool,
        queue: &RetransmissionQueue,
    ) {
        let is_start = self.rounds.is_start;
        if self.long_term.rate().is_some() {
            let counts = self.mode == Mode::ProbeBandwidth && is_start;
            if counts && self.long_term.expires() {
                self.probe_bandwidth(queue.delivered_at());
            }
        } else if self.long_term.finds_policer(has_loss, is_application_limited, is_start, queue) {
            self.pacing_gain = Gain::UNIT;
        }
    }
}
