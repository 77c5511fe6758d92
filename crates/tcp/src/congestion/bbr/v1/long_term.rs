//! Detection of a policer: a token bucket passes a burst and then drops packets above its rate
//! (`bbr_lt_bw_sampling`). Two consecutive intervals with the same rate and many losses indicate a
//! policer.

use lasthop_packet::Instant;

use crate::congestion::bbr::rate::per_second;
use crate::retransmission_queue::RetransmissionQueue;

/// Minimum number of round trips of an interval (`bbr_lt_intvl_min_rtts`); the maximum is four
/// times as large.
const MIN_ROUNDS: u32 = 4;
/// Losses per 256 deliveries from which on an interval is lossy (`bbr_lt_loss_thresh`).
const LOSS_THRESHOLD: u64 = 50;
/// Two rates are the same if they differ by at most an eighth (`bbr_lt_bw_ratio`) or 4 kbit/s, in
/// octets per second (`bbr_lt_bw_diff`).
const SAME_RATE_DIVISOR: u64 = 8;
const SAME_RATE_DIFFERENCE: u64 = 4000 / 8;
/// Round trips after which the rate is discarded (`bbr_lt_bw_max_rtts`).
const MAX_ROUNDS_KEPT: u32 = 48;

/// Detects a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    interval: Option<Interval>,
    /// Rate of the last interval, or of the policer.
    rate: u64,
    is_policed: bool,
    /// Round trips of the interval, or since the policer was detected.
    rounds: u32,
}

/// The counters at the beginning of an interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Instant,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The policer's rate, if one was detected.
    #[inline]
    pub(super) fn rate(&self) -> Option<u64> {
        self.is_policed.then_some(self.rate)
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Counts a round trip at the policer's rate. Returns whether the rate has expired and was
    /// discarded.
    pub(super) fn expires(&mut self) -> bool {
        self.rounds += 1;
        let is_expired = self.rounds >= MAX_ROUNDS_KEPT;
        if is_expired {
            self.reset();
        }
        is_expired
    }

    /// Processes a rate sample while no policer is known. Returns whether it reveals one.
    pub(super) fn finds_policer(
        &mut self,
        has_loss: bool,
        is_application_limited: bool,
        is_round_start: bool,
        queue: &RetransmissionQueue,
    ) -> bool {
        if self.interval.is_none() {
            // Before the first loss, the bucket still has tokens.
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
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset();
            return false;
        }
        // An interval ends with a loss, when the bucket is empty again.
        self.rounds >= MIN_ROUNDS && has_loss && self.end_interval(queue)
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
        let duration = queue.delivered_at().since(interval.start);
        if delivered == 0 || lost * 256 < LOSS_THRESHOLD * delivered || duration.as_millis() == 0 {
            return false;
        }
        let (rate, previous) = (per_second(delivered, duration), self.rate);
        let difference = rate.abs_diff(previous);
        let is_same = difference * SAME_RATE_DIVISOR <= previous || difference <= SAME_RATE_DIFFERENCE;
        if previous > 0 && is_same {
            (self.rate, self.is_policed, self.rounds) = (rate.midpoint(previous), true, 0);
            return true;
        }
        self.rate = rate;
        self.begin_interval(queue);
        false
    }
}
