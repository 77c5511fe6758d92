//! The rate that a policer lets through: a token bucket lets a burst pass and then drops what comes
//! too fast (`bbr_lt_bw_sampling`). Two intervals in a row with the same rate and many losses mean
//! a policer.

use lasthop_packet::Instant;

use crate::congestion::bbr::rate::per_second;
use crate::retransmission_queue::RetransmissionQueue;

/// Least number of round trips of an interval; it has at most four times as many
/// (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;
/// From this number of losses for 256 deliveries on, an interval is lossy (`bbr_lt_loss_thresh`).
const LOSSY: u64 = 50;
/// Two rates are the same if they differ by an eighth (`bbr_lt_bw_ratio`) or by 4 kbit/s
/// (`bbr_lt_bw_diff`), in octets a second.
const SAME_PART: u64 = 8;
const SAME: u64 = 4000 / 8;
/// Round trips after which the rate is given up (`bbr_lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// Looks for a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    interval: Option<Interval>,
    /// Of the last interval.
    rate: u64,
    is_policed: bool,
    /// Round trips of the interval, or since the policer was found.
    rounds: u32,
}

/// What was known when an interval began.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Instant,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The policer's rate, if there is one.
    #[inline]
    pub(super) fn rate(&self) -> Option<u64> {
        self.is_policed.then_some(self.rate)
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// A round trip with the policer's rate is over. Returns whether it was kept for long enough, and
    /// is given up.
    pub(super) fn is_over(&mut self) -> bool {
        self.rounds += 1;
        let is_over = self.rounds >= KEPT_ROUNDS;
        if is_over {
            self.reset();
        }
        is_over
    }

    /// An ACK came with a rate sample, and no policer is known. Returns whether there is one.
    pub(super) fn finds_policer(
        &mut self,
        has_loss: bool,
        is_application_limited: bool,
        is_round_start: bool,
        queue: &RetransmissionQueue,
    ) -> bool {
        if self.interval.is_none() {
            // Before the first loss the bucket is not empty.
            if !has_loss {
                return false;
            }
            self.begin_interval(queue);
        }
        if is_application_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(is_round_start);
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset();
            return false;
        }
        // An interval ends with a loss: then the bucket is empty again.
        self.rounds >= LEAST_ROUNDS && has_loss && self.end_interval(queue)
    }

    fn begin_interval(&mut self, queue: &RetransmissionQueue) {
        self.rounds = 0;
        self.interval = Some(Interval {
            start: queue.delivered_at(),
            delivered: queue.delivered(),
            lost: queue.lost_in_all(),
        });
    }

    fn end_interval(&mut self, queue: &RetransmissionQueue) -> bool {
        let Some(interval) = self.interval else { return false };
        let lost = queue.lost_in_all() - interval.lost;
        let delivered = queue.delivered() - interval.delivered;
        let lasted = queue.delivered_at().since(interval.start);
        if delivered == 0 || lost * 256 < LOSSY * delivered || lasted.as_millis() == 0 {
            return false;
        }
        let (rate, before) = (per_second(delivered, lasted), self.rate);
        let difference = rate.abs_diff(before);
        if before > 0 && (difference * SAME_PART <= before || difference <= SAME) {
            (self.rate, self.is_policed, self.rounds) = (rate.midpoint(before), true, 0);
            return true;
        }
        self.rate = rate;
        self.begin_interval(queue);
        false
    }
}
