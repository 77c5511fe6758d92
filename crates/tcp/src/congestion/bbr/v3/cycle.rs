//! The position in the cycle that probes for bandwidth (draft-ietf-ccwg-bbr, section 5.3.3).

use std::time::Duration;

use lasthop_packet::Instant;

use crate::congestion::bbr::dice::Dice;

//= draft-ietf-ccwg-bbr, section 5.3.3.5.3: no later than Reno would be back with a window of this many segments.
const RENO_ROUNDS: u64 = 63;
/// The longest time between two probes: two seconds, plus up to one at random.
const MIN_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT_MS: u64 = 1000;

/// `BBR.ack_phase`: the relation of the current ACKs to the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    /// No relation.
    #[default]
    Init,
    /// The probe will begin after the refill; ACKs are for data sent before it.
    Refilling,
    /// The probe has begun; ACKs are still for data sent before it.
    Starting,
    /// ACKs are for data sent during the probe.
    Feedback,
    /// The probe has ended; ACKs are still for data sent during it.
    Stopping,
}

/// The position in the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    ack_phase: AckPhase,
    /// `BBR.cycle_stamp` and `BBR.bw_probe_wait`.
    start: Instant,
    wait: Duration,
    /// `BBR.rounds_since_probe_up`.
    rounds: u64,
    /// `BBR.is_bw_probe_sample`: delivered data was sent while the path was probed.
    is_sampling: bool,
    /// `BBR.prev_probe_too_high`: too much was lost.
    was_too_high: bool,
    /// `BBR.prev_probe_precautionary`: the last probe stopped early.
    was_precautionary: bool,
}

impl Cycle {
    /// Begins the wait for the next probe.
    pub(super) fn begin(&mut self, dice: &mut Dice, now: Instant) {
        //= draft-ietf-ccwg-bbr, section 5.3.3.5.3: PickProbeWait ().
        self.rounds = dice.below(2);
        self.wait = MIN_WAIT + Duration::from_millis(dice.below(RANDOM_WAIT_MS + 1));
        self.start = now;
        self.ack_phase = AckPhase::Stopping;
    }

    pub(super) const fn start_refill(&mut self) {
        (self.was_precautionary, self.ack_phase) = (false, AckPhase::Refilling);
    }

    pub(super) const fn start_up(&mut self) {
        (self.is_sampling, self.ack_phase) = (true, AckPhase::Starting);
    }

    /// The probe ended without too many losses.
    pub(super) const fn end_up(&mut self) {
        self.was_too_high = false;
    }

    /// The octets in the network have reached the long-term limit. Returns whether the probe ends because
    /// the last one exceeded that.
    pub(super) const fn ends_early(&mut self) -> bool {
        self.was_precautionary |= self.was_too_high;
        self.was_too_high
    }

    /// Too much of the data sent for the probe was lost.
    pub(super) const fn on_too_much(&mut self) {
        (self.was_too_high, self.is_sampling) = (true, false);
    }

    /// No more data is sent for the probe.
    pub(super) const fn stop_sampling(&mut self) {
        self.ack_phase = AckPhase::Stopping;
    }

    /// Processes the first ACK of a round trip. Returns whether all data of the probe is acknowledged.
    pub(super) const fn on_round_start(&mut self) -> bool {
        let is_over = matches!(self.ack_phase, AckPhase::Stopping);
        if is_over {
            (self.is_sampling, self.ack_phase) = (false, AckPhase::Init);
        } else if matches!(self.ack_phase, AckPhase::Starting) {
            self.ack_phase = AckPhase::Feedback;
        }
        is_over
    }

    /// Whether another probe follows at once: the last one ended early, but did not lose too much.
    pub(super) const fn probes_again(&self) -> bool {
        self.was_precautionary && !self.was_too_high
    }

    pub(super) const fn is_sampling(&self) -> bool {
        self.is_sampling
    }

    #[cfg(test)]
    pub(super) const fn was_too_high(&self) -> bool {
        self.was_too_high
    }

    pub(super) const fn count_round(&mut self) {
        self.rounds += 1;
    }

    /// `IsTimeToProbeBW ()`; a Reno flow would regain its window after `reno_rounds`.
    pub(super) fn is_time_to_probe(&self, reno_rounds: u64, now: Instant) -> bool {
        now > self.start + self.wait || self.rounds >= reno_rounds.min(RENO_ROUNDS)
    }
}
