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
pub(super) enum AckPhase {
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
    pub(super) ack_phase: AckPhase,
    /// `BBR.cycle_stamp` and `BBR.bw_probe_wait`.
    start: Instant,
    wait: Duration,
    /// `BBR.rounds_since_probe_up`.
    rounds: u64,
    /// `BBR.is_bw_probe_sample`: delivered data was sent while the path was probed.
    pub(super) is_sampling: bool,
    /// `BBR.prev_probe_too_high`: too much was lost.
    pub(super) was_too_high: bool,
    /// `BBR.prev_probe_precautionary`: the last probe stopped early.
    pub(super) was_precautionary: bool,
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

    pub(super) const fn count_round(&mut self) {
        self.rounds += 1;
    }

    /// `IsTimeToProbeBW ()`; a Reno flow would regain its window after `reno_rounds`.
    pub(super) fn is_time_to_probe(&self, reno_rounds: u64, now: Instant) -> bool {
        now > self.start + self.wait || self.rounds >= reno_rounds.min(RENO_ROUNDS)
    }
}
