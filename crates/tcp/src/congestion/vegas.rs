//! Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
//! IEEE JSAC 13(8), 1995).
//!
//! All three of its parts are implemented: the retransmission rule (section III.A), congestion
//! avoidance (III.B) and the slower slow start (III.C). What the paper leaves open or does
//! differently, and what we chose:
//! - alpha = 1, beta = 3, gamma = 1 segments: its Vegas-1,3, and ns-2's defaults.
//! - The round-trip time compared with the minimum is the mean over the segments acknowledged in a
//!   round, as in ns-2; the paper uses that of one distinguished segment.
//! - The window of "Expected" is the data outstanding when the round's last segment was
//!   acknowledged, and "Actual" is the same divided by the round-trip time: with data waiting, a
//!   round sends as many octets as are outstanding.
//! - cwnd changes by one segment at the end of a round; ns-2 spreads an increase over the ACKs of
//!   the next round.
//! - At the end of slow start cwnd is unchanged; ns-2 reduces it by an eighth.
//! - A fast retransmission reduces cwnd by a quarter, as in ns-2, which reduces it by half if the
//!   segment had been retransmitted before. It does so only if the segment was sent after the last
//!   reduction: losses at the old rate carry no information about the new one (section III.A).
//! - The fine-grained time-out is SRTT + 4 RTTVAR of exact times, without a minimum. A time-out of
//!   the ordinary timer has the same effect as in Reno.
//! - The window does not grow while it is not used: the difference would be meaningless.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::control::{AckSample, CongestionControl, Reduction, SentSegment};
use crate::flight::Flight;

/// The window grows while fewer of our segments are queued.
const ALPHA: u64 = 1;
/// The window shrinks while more of our segments are queued.
const BETA: u64 = 3;
/// Slow start ends when more of our segments are queued.
const GAMMA: u64 = 1;

/// Keeps between alpha and beta segments in the queues of the path, estimated from the increase of
/// the round-trip time.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    /// The outstanding segments, oldest first.
    segments: VecDeque<Segment>,
    /// The minimum round-trip time: that of the path with empty queues.
    base_rtt: Option<Duration>,
    /// SRTT and RTTVAR of exact times.
    estimate: Option<(Duration, Duration)>,
    round: Option<Round>,
    /// In slow start: cwnd does not grow in this round.
    is_frozen: bool,
    /// The time of the latest ACK.
    now: Instant,
    /// When a loss last reduced cwnd.
    reduced: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    seq: Seq,
    end: Seq,
    sent: Instant,
    is_retransmission: bool,
}

/// From the sending of a segment to its acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The first segment sent in the round.
    mark: Seq,
    total: Duration,
    samples: u32,
}

impl Vegas {
    fn measure(&mut self, ack: &AckSample, flight: &Flight) {
        self.now = ack.now;
        let mut latest = None;
        while let Some(segment) = self.segments.front()
            && !segment.end.after(flight.una)
        {
            latest = self.segments.pop_front();
        }
        if let Some(segment) = latest
            && !segment.is_retransmission
        {
            self.sample(ack.now.since(segment.sent));
        }
    }

    fn sample(&mut self, rtt: Duration) {
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => ((srtt * 7 + rtt) / 8, (rttvar * 3 + srtt.abs_diff(rtt)) / 4),
        });
        if let Some(round) = &mut self.round {
            round.total += rtt;
            round.samples += 1;
        }
    }

    /// Ends the round if its first segment was acknowledged. Returns the octets that we had in the
    /// queues of the path.
    ///
    /// Section III.B: Diff = Expected - Actual; here times `BaseRTT`.
    fn queued_in_round(&mut self, flight: &Flight) -> Option<u64> {
        let next = Round { mark: flight.max, total: Duration::ZERO, samples: 0 };
        let round = *self.round.get_or_insert(next);
        if !flight.una.after(round.mark) {
            return None;
        }
        self.round = Some(next);
        let base = self.base_rtt?;
        let rtt = round.total.checked_div(round.samples).filter(|rtt| !rtt.is_zero())?;
        let window = u128::from(flight.max - round.mark);
        let extra = rtt.saturating_sub(base).as_nanos();
        Some((window * extra / rtt.as_nanos()) as u64)
    }
}

impl CongestionControl for Vegas {
    fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>()
    }

    fn on_sent(&mut self, segment: &SentSegment) {
        let SentSegment { now, mut seq, end, is_retransmission } = *segment;
        if is_retransmission {
            for old in &mut self.segments {
                if !old.seq.before(seq) && old.seq.before(end) {
                    (old.sent, old.is_retransmission) = (now, true);
                }
            }
            if let Some(last) = self.segments.back() {
                seq = seq.later(last.end);
            }
        }
        if seq.before(end) {
            self.segments.push_back(Segment { seq, end, sent: now, is_retransmission });
        }
    }

    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        self.measure(ack, flight);
    }

    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        self.measure(ack, flight);
        let queued = self.queued_in_round(flight);
        let mss = u64::from(flight.mss);
        if flight.cwnd < flight.ssthresh {
            // Section III.C: cwnd is unchanged every other round, so that the rates can be
            // compared.
            if let Some(queued) = queued {
                if self.is_frozen && queued > GAMMA * mss {
                    flight.ssthresh = flight.cwnd;
                    return;
                }
                self.is_frozen = !self.is_frozen;
            }
            if !self.is_frozen && ack.is_cwnd_limited(flight) {
                flight.cwnd = flight.opened(ack.acked.min(flight.mss));
            }
            return;
        }
        match queued {
            Some(queued) if queued < ALPHA * mss && ack.is_cwnd_limited(flight) => {
                flight.cwnd = flight.opened(flight.mss);
            }
            Some(queued) if queued > BETA * mss => {
                flight.cwnd = flight.cwnd.saturating_sub(flight.mss).max(2 * flight.mss);
                flight.ssthresh = flight.ssthresh.min(flight.cwnd);
            }
            _ => {}
        }
    }

    fn suspects_loss(&self, now: Instant, flight: &Flight) -> bool {
        let Some((srtt, rttvar)) = self.estimate else { return false };
        self.segments.front().is_some_and(|first| {
            flight.is_outstanding(first.seq) && now.since(first.sent) > srtt + 4 * rttvar
        })
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        let sent = self.segments.front().map(|first| first.sent);
        if self.reduced.is_some() && sent <= self.reduced {
            return Reduction { ssthresh: flight.ssthresh.min(flight.cwnd), cwnd: flight.cwnd };
        }
        self.reduced = Some(self.now);
        let segments = flight.window() / flight.mss;
        Reduction::to((segments - segments / 4).max(2) * flight.mss)
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        self.reduced = Some(self.now);
        self.is_frozen = false;
        self.round = None;
        flight.ssthresh = flight.half_window();
        flight.cwnd = flight.mss;
    }
}
