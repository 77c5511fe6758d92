//! `HyStart` (Ha and Rhee, "Taming the elephants: new TCP slow start", Computer Networks 2011), as
//! in Linux's CUBIC (`hystart_update` in `net/ipv4/tcp_cubic.c`, 6.18): ends slow start when the
//! ACK train of a round lasts for half of the minimum round-trip time, or when round-trip times
//! grow.
//!
//! It wraps any congestion control, whose slow start it ends by setting ssthresh. It is active
//! again in the slow start after a time-out.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::control::{AckSample, CongestionControl, Reduction, SentSegment};
use crate::flight::Flight;

// The kernel's constants.
/// Below this window, in segments, slow start continues.
const LOW_WINDOW: u32 = 16;
/// The longest gap between two ACKs of a train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Round-trip times of a round before the delay is compared.
const SAMPLES: u32 = 8;
const MIN_GROWTH: Duration = Duration::from_millis(4);
const MAX_GROWTH: Duration = Duration::from_millis(16);
/// Octets that a path may aggregate: four packets of the largest size of segmentation offload, but
/// at most one millisecond.
const AGGREGATE: u64 = 4 * 65_536;
const MAX_AGGREGATE: Duration = Duration::from_millis(1);

/// A congestion control with `HyStart`.
pub struct Hystart {
    control: Box<dyn CongestionControl>,
    /// `HyStart` has ended slow start.
    is_over: bool,
    /// The minimum round-trip time since the connection began, or since the last time-out.
    min_rtt: Option<Duration>,
    round: Option<Round>,
}

/// A window of data.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The round ends when all data below this is acknowledged.
    end: Seq,
    start: Instant,
    /// The last ACK of the train that began with the round.
    last_ack: Instant,
    min_rtt: Option<Duration>,
    samples: u32,
}

impl Hystart {
    /// Wraps this control, which must be new.
    pub const fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, is_over: false, min_rtt: None, round: None }
    }

    fn update_min_rtt(&mut self, rtt: Duration) -> Duration {
        let min_rtt = self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt));
        self.min_rtt = Some(min_rtt);
        min_rtt
    }

    /// Processes an ACK in slow start. Returns whether slow start ends.
    fn ends_slow_start(
        &mut self,
        ack: &AckSample,
        rtt: Duration,
        min_rtt: Duration,
        flight: &Flight,
    ) -> bool {
        let (start, end) = (ack.now, flight.max);
        let new = Round { end, start, last_ack: start, min_rtt: None, samples: 0 };
        let mut round = self.round.filter(|round| !flight.una.after(round.end)).unwrap_or(new);
        // Rounds are tracked below the low window too.
        if flight.cwnd < LOW_WINDOW * flight.mss {
            self.round = Some(round);
            return false;
        }
        let is_train_long = round.is_train_long(ack.now, min_rtt, max_aggregation_delay(ack, flight));
        let is_growing = round.is_growing(rtt, min_rtt);
        self.round = Some(round);
        is_train_long || is_growing
    }
}

impl Round {
    fn is_train_long(&mut self, now: Instant, min_rtt: Duration, aggregate: Duration) -> bool {
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        now.since(self.start) > (min_rtt + aggregate) / 2
    }

    fn is_growing(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        let round_min = self.min_rtt.map_or(rtt, |round_min| round_min.min(rtt));
        self.min_rtt = Some(round_min);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round_min > min_rtt + (min_rtt / 8).clamp(MIN_GROWTH, MAX_GROWTH)
    }
}

/// The delay of ACKs that aggregation on the path may cause: the time of four large packets at
/// twice the rate of the window.
fn max_aggregation_delay(ack: &AckSample, flight: &Flight) -> Duration {
    let round_trip = ack.srtt.unwrap_or_default().as_nanos() as u64;
    let nanos = AGGREGATE.saturating_mul(round_trip) / u64::from(2 * flight.cwnd.max(1));
    Duration::from_nanos(nanos).min(MAX_AGGREGATE)
}

impl CongestionControl for Hystart {
    fn memory(&self) -> usize {
        size_of_val(&*self.control) + self.control.memory()
    }

    /// Each ACK needs a round-trip time.
    fn goes_by_segments(&self) -> bool {
        true
    }

    fn on_sent(&mut self, segment: &SentSegment) {
        self.control.on_sent(segment);
    }

    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        if let Some(rtt) = ack.rtt {
            let min_rtt = self.update_min_rtt(rtt);
            let is_slow_start = flight.cwnd < flight.ssthresh;
            if is_slow_start && !self.is_over && self.ends_slow_start(ack, rtt, min_rtt, flight) {
                self.is_over = true;
                flight.ssthresh = flight.cwnd;
            }
        }
        self.control.on_ack(ack, flight);
    }

    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        if let Some(rtt) = ack.rtt {
            self.update_min_rtt(rtt);
        }
        self.control.on_other_ack(ack, flight);
    }

    fn suspects_loss(&self, now: Instant, flight: &Flight) -> bool {
        self.control.suspects_loss(now, flight)
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        self.control.on_loss(flight)
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        (self.is_over, self.min_rtt, self.round) = (false, None, None);
        self.control.on_timeout(flight);
    }

    fn on_undo(&mut self, flight: &Flight) {
        self.control.on_undo(flight);
    }
}

#[cfg(test)]
mod tests;
