//! `HyStart` (Ha and Rhee, "Taming the elephants: new TCP slow start", Computer Networks 2011), as
//! Linux has it in CUBIC (`hystart_update` in `net/ipv4/tcp_cubic.c`, 6.18): ends slow start when
//! the ACKs of a round come in for half of the least round-trip time, or when round-trip times grow.
//!
//! It stands in front of any congestion control, whose slow start it ends by setting ssthresh. It
//! acts again in a slow start that follows a time-out.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::control::{CongestionControl, Reduction};
use super::sample::{AckSample, SentSegment};
use crate::flight::Flight;

// The kernel's constants.
/// Below this window, in segments, slow start goes on.
const LOW_WINDOW: u32 = 16;
/// ACKs that follow each other within this time are a train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Round-trip times of a round that are taken before they count.
const SAMPLES: u32 = 8;
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const LARGEST_GROWTH: Duration = Duration::from_millis(16);
/// What a path may aggregate: four packets of the largest size that segmentation offload has, one
/// millisecond at most.
const AGGREGATE: u64 = 4 * 65_536;
const LONGEST_AGGREGATE: Duration = Duration::from_millis(1);

/// A congestion control behind `HyStart`.
pub struct Hystart {
    control: Box<dyn CongestionControl>,
    /// Slow start was ended here.
    is_over: bool,
    /// The least round-trip time since the connection began, or since the last time-out.
    min_rtt: Option<Duration>,
    round: Option<Round>,
}

/// A window's worth of data.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// It is over when all before this is acknowledged.
    end: Seq,
    start: Instant,
    /// The last ACK of the train that began with the round.
    last_ack: Instant,
    least: Option<Duration>,
    samples: u32,
}

impl Hystart {
    /// In front of this control, which is at its beginning.
    pub const fn new(control: Box<dyn CongestionControl>) -> Self {
        Self { control, is_over: false, min_rtt: None, round: None }
    }

    fn note_rtt(&mut self, rtt: Duration) -> Duration {
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        least
    }

    /// An ACK in slow start. Returns whether slow start ends.
    fn is_enough(&mut self, ack: &AckSample, rtt: Duration, min_rtt: Duration, flight: &Flight) -> bool {
        let (start, end) = (ack.now, flight.max);
        let fresh = Round { end, start, last_ack: start, least: None, samples: 0 };
        let mut round = self.round.filter(|round| !flight.una.after(round.end)).unwrap_or(fresh);
        // Below it, too, rounds begin and end.
        if flight.cwnd < LOW_WINDOW * flight.mss {
            self.round = Some(round);
            return false;
        }
        let is_train_long = round.is_train_long(ack.now, min_rtt, longest_aggregate(ack, flight));
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
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        least > min_rtt + (min_rtt / 8).clamp(LEAST_GROWTH, LARGEST_GROWTH)
    }
}

/// For how long ACKs may come in late because the path aggregates: the time that four large packets
/// take at twice the rate of the window.
fn longest_aggregate(ack: &AckSample, flight: &Flight) -> Duration {
    let round_trip = ack.srtt.unwrap_or_default().as_nanos() as u64;
    let nanos = AGGREGATE.saturating_mul(round_trip) / u64::from(2 * flight.cwnd.max(1));
    Duration::from_nanos(nanos).min(LONGEST_AGGREGATE)
}

impl CongestionControl for Hystart {
    fn memory(&self) -> usize {
        size_of_val(&*self.control) + self.control.memory()
    }

    /// A round-trip time is needed with each ACK.
    fn goes_by_segments(&self) -> bool {
        true
    }

    fn on_sent(&mut self, segment: &SentSegment) {
        self.control.on_sent(segment);
    }

    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        if let Some(rtt) = ack.rtt {
            let min_rtt = self.note_rtt(rtt);
            let is_slow_start = flight.cwnd < flight.ssthresh;
            if is_slow_start && !self.is_over && self.is_enough(ack, rtt, min_rtt, flight) {
                self.is_over = true;
                flight.ssthresh = flight.cwnd;
            }
        }
        self.control.on_ack(ack, flight);
    }

    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        if let Some(rtt) = ack.rtt {
            self.note_rtt(rtt);
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
