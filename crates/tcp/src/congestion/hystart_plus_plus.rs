//! `HyStart++` (RFC 9406): slows the first slow start down when round-trip times grow, so that it
//! overshoots less.
//!
//! It wraps any congestion control, and sets the window only during the first slow start (section
//! 4.3). Until then, the control receives ACKs only through [`CongestionControl::on_other_ack`].

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::control::{AckSample, CongestionControl, Reduction, SentSegment};
use crate::flight::Flight;

//= RFC 9406, section 4.3: the recommended constants; L is for senders that do not pace.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u32 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
const L: u32 = 8;

/// A congestion control with `HyStart++`.
pub struct HystartPlusPlus {
    control: Box<dyn CongestionControl>,
    phase: Phase,
    round: Option<Round>,
    /// The minimum round-trip time of the previous round.
    last_min_rtt: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start.
    Conservative {
        /// The minimum round-trip time of the round in which it began.
        baseline: Duration,
        /// Rounds so far, including the current one.
        rounds: u32,
    },
    /// The control sets the window.
    Over,
}

/// A window of data.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The round ends when all data below this is acknowledged.
    end: Seq,
    min_rtt: Option<Duration>,
    samples: u32,
}

impl Round {
    const fn until(end: Seq) -> Self {
        Self { end, min_rtt: None, samples: 0 }
    }
}

impl HystartPlusPlus {
    /// Wraps this control, which must be new.
    pub const fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, phase: Phase::SlowStart, round: None, last_min_rtt: None }
    }

    /// Hands the window over to the control.
    fn end(&mut self) {
        self.phase = Phase::Over;
    }

    /// Processes an ACK of new data in slow start or conservative slow start.
    fn on_slow_start_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        let mut round = self.round.unwrap_or_else(|| Round::until(flight.max));
        let growth = ack.acked.min(L * flight.mss);
        match self.phase {
            Phase::Conservative { .. } => flight.cwnd = flight.opened(growth / CSS_GROWTH_DIVISOR),
            Phase::SlowStart | Phase::Over => flight.cwnd = flight.opened(growth),
        }
        if let Some(rtt) = ack.rtt {
            round.min_rtt = Some(round.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
            round.samples += 1;
        }
        self.check_delay(&round);
        if !flight.una.before(round.end) {
            self.end_round(&round, flight);
            round = Round::until(flight.max);
        }
        self.round = Some(round);
    }

    fn check_delay(&mut self, round: &Round) {
        let Some(min_rtt) = round.min_rtt.filter(|_| round.samples >= N_RTT_SAMPLE) else { return };
        match (self.phase, self.last_min_rtt) {
            (Phase::SlowStart, Some(last)) => {
                let threshold = (last / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
                if min_rtt >= last + threshold {
                    //= RFC 9406, section 4.2: "If the transition into CSS happens in the middle of a round, that partial round
                    //= counts towards the limit."
                    self.phase = Phase::Conservative { baseline: min_rtt, rounds: 1 };
                }
            }
            (Phase::Conservative { baseline, .. }, _) if min_rtt < baseline => self.phase = Phase::SlowStart,
            _ => {}
        }
    }

    fn end_round(&mut self, round: &Round, flight: &mut Flight) {
        self.last_min_rtt = round.min_rtt;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            if *rounds == CSS_ROUNDS {
                flight.ssthresh = flight.cwnd;
                self.end();
            } else {
                *rounds += 1;
            }
        }
    }
}

impl CongestionControl for HystartPlusPlus {
    fn memory(&self) -> usize {
        size_of_val(&*self.control) + self.control.memory()
    }

    /// Each round needs eight round-trip times.
    fn goes_by_segments(&self) -> bool {
        true
    }

    fn on_sent(&mut self, segment: &SentSegment) {
        self.control.on_sent(segment);
    }

    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        if flight.cwnd >= flight.ssthresh {
            self.end();
        }
        if self.phase == Phase::Over {
            self.control.on_ack(ack, flight);
        } else {
            self.control.on_other_ack(ack, flight);
            self.on_slow_start_ack(ack, flight);
        }
    }

    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        self.control.on_other_ack(ack, flight);
    }

    fn suspects_loss(&self, now: Instant, flight: &Flight) -> bool {
        self.control.suspects_loss(now, flight)
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        self.end();
        self.control.on_loss(flight)
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        self.end();
        self.control.on_timeout(flight);
    }

    fn on_undo(&mut self, flight: &Flight) {
        self.control.on_undo(flight);
    }
}

#[cfg(test)]
mod tests;
