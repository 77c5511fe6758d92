//! The model of the path, and its update with each ACK (draft-ietf-ccwg-bbr, section 5.5).

use super::cycle::Cycle;
use super::long_term::LongTerm;
use super::lost_ranges::LostRanges;
use super::min_rtt::MinRtt;
use super::short_term::ShortTerm;
use super::state::{Gain, State};
use super::undo::Undo;
use super::window::Window;
use crate::congestion::PathSample;
use crate::congestion::bbr::aggregation::Aggregation;
use crate::congestion::bbr::dice::Dice;
use crate::congestion::bbr::full_pipe::FullPipe;
use crate::congestion::bbr::pacing_rate::PacingRate;
use crate::congestion::bbr::probe_rtt_hold::ProbeRttHold;
use crate::congestion::bbr::rate::per_second;
use crate::congestion::bbr::rounds::Rounds;
use crate::congestion::bbr::two_slots::TwoSlots;
use crate::congestion::bbr::windowed_max::WindowedMax;

//= draft-ietf-ccwg-bbr, section 2.11: BBR.ExtraAckedFilterLen; in Startup one round.
const AGGREGATION_ROUNDS: u64 = 10;
/// `BBR.LossThresh`: more than a fiftieth.
pub(super) const LOSS_THRESHOLD: u64 = 50;

/// BBR version 3.
#[derive(Clone, Debug, Default)]
pub struct Bbr3 {
    pub(super) state: State,
    pub(super) rounds: Rounds,
    /// `BBR.max_bw_filter`: the slots are cycles.
    pub(super) max_bandwidth: TwoSlots,
    /// `BBR.bw`.
    pub(super) bandwidth: u64,
    pub(super) full_pipe: FullPipe,
    pub(super) short_term: ShortTerm,
    pub(super) long_term: LongTerm,
    pub(super) cycle: Cycle,
    pub(super) lost_ranges: LostRanges,
    /// `BBR.drain_start_round`.
    pub(super) drain_start: u64,
    pub(super) undo: Undo,
    pub(super) min_rtt: MinRtt,
    pub(super) hold: ProbeRttHold,
    pub(super) aggregation: Aggregation,
    pub(super) extra_acked: WindowedMax,
    pub(super) window: Window,
    pub(super) pacing: PacingRate,
    /// It sends after a pause, and no data was delivered since (`BBR.idle_restart`).
    pub(super) is_restarting: bool,
    /// Whether the receiver sends SACK blocks (`C.has_selective_acks`).
    pub(super) has_reports: bool,
    pub(super) dice: Dice,
}

impl Bbr3 {
    /// `RS.delivery_rate`.
    pub(super) fn rate(path: &PathSample<'_>) -> u64 {
        path.ack.rate.map_or(0, |rate| per_second(rate.delivered, rate.interval))
    }

    /// `UpdateMaxBw ()`.
    pub(super) fn update_max_bandwidth(&mut self, path: &PathSample<'_>, delivery_rate: u64) {
        self.rounds.is_start = false;
        let Some(rate) = path.ack.rate else { return };
        self.rounds.on_delivery(rate.prior_delivered, path.queue.delivered());
        if self.rounds.is_start {
            self.cycle.count_round();
            self.window.begin_round();
        }
        if delivery_rate >= self.max_bandwidth.get() || !rate.is_application_limited {
            self.max_bandwidth.update(delivery_rate);
        }
    }

    //= draft-ietf-ccwg-bbr, section 5.5.9: UpdateACKAggregation ().
    pub(super) fn update_aggregation(&mut self, path: &PathSample<'_>) {
        if path.ack.rate.is_none() {
            return;
        }
        let excess = self.aggregation.excess(u64::from(path.ack.acked), self.bandwidth, path.now());
        let window = if self.full_pipe.was_reached { AGGREGATION_ROUNDS } else { 1 };
        self.extra_acked.update(excess.min(u64::from(path.flight.cwnd)), self.rounds.count, window);
    }

    /// Sets the pacing rate with this gain.
    pub(super) fn set_pacing_rate(&mut self, gain: Gain) {
        self.pacing.set(gain.of(self.bandwidth), self.full_pipe.was_reached);
    }

    /// `IsInflightTooHigh ()`: too many of the octets in the network were lost.
    pub(super) fn is_too_much(&self, lost: u64, in_network: u32) -> bool {
        lost * LOSS_THRESHOLD > u64::from(in_network) || (lost > 0 && !self.has_reports)
    }
}
