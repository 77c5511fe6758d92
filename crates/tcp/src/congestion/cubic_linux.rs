//! CUBIC as in Linux 6.18 (`net/ipv4/tcp_cubic.c`). The differences from RFC 9438
//! ([`super::Cubic`]):
//!
//! - Windows are in segments; ssthresh is 717/1024 of cwnd, used or not.
//! - If Reno would be faster, the window grows by at most 8/15 of a segment a round trip; in the
//!   RFC, by one segment above the window of the last loss.
//! - Before the first loss the window grows by at least a twentieth a round trip.
//! - The curve is recalculated at most every 32nd of a second while the window is unchanged.
//! - A time-out resets all state. In the slow start after it, Linux opens the window by all octets
//!   that an ACK covers, which [`slow_start_limit`](crate::Config::slow_start_limit) limits here.

use std::time::Duration;

use lasthop_packet::Instant;

use super::control::{AckSample, CongestionControl, Reduction, SentSegment};
use crate::flight::Flight;

/// Beta, in 1/1024.
const BETA: u64 = 717;
/// C times the unit of time to the third power, in 1/2^40 of a segment: 410/1024 a second cubed.
const CURVE: u64 = 410;
/// Units of the curve's time in a second.
const UNIT: u64 = 1024;
/// Eighths of the window to be acknowledged before Reno's window grows by a segment.
const RENO_EIGHTHS: u64 = 15;
const MIN_PERIOD: Duration = Duration::from_micros(31_250);
/// Round-trip times are discarded for this time after an epoch begins.
const RTT_DISCARD_TIME: Duration = Duration::from_secs(1);

/// CUBIC with windows in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct CubicLinux {
    /// Segments by which an ACK opens the window in the slow start after a time-out; None: the
    /// limit of RFC 3465.
    slow_start_limit: Option<u32>,
    /// cwnd has not reached ssthresh since the last time-out.
    is_after_timeout: bool,
    /// The plateau: the window of the last loss (`last_max_cwnd`); 0 before the first loss.
    last_max: u32,
    /// The minimum round-trip time.
    min_rtt: Option<Duration>,
    epoch: Option<Epoch>,
    /// The window and the time of the last calculation of the curve.
    calculated: Option<(u32, Instant)>,
    /// Segments to be acknowledged before the window grows by one (`cnt`).
    segments_a_step: u32,
    /// Segments acknowledged since the window last grew (`snd_cwnd_cnt`).
    acked: u32,
    /// When the last segment was sent (`lsndtime`).
    last_sent: Option<Instant>,
    /// No data was outstanding after the last ACK.
    is_idle: bool,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Time from the start to the plateau, in 1/1024 s.
    k: u64,
    /// The window at the plateau.
    origin: u32,
    /// Reno's window (`tcp_cwnd`), and the segments acknowledged towards its next step.
    reno: u32,
    reno_acked: u32,
}

impl Epoch {
    fn new(start: Instant, cwnd: u32, last_max: u32) -> Self {
        let missing = last_max.saturating_sub(cwnd);
        let k = libm::cbrt(f64::from(missing) * (1u64 << 40) as f64 / CURVE as f64) as u64;
        Self { start, k, origin: cwnd.max(last_max), reno: cwnd, reno_acked: 0 }
    }

    /// The window on the curve after `elapsed`.
    fn target(&self, elapsed: Duration) -> u32 {
        let t = (elapsed.as_nanos() * u128::from(UNIT) / 1_000_000_000) as u64;
        let distance = u128::from(t.abs_diff(self.k));
        let change = (u128::from(CURVE) * distance * distance * distance) >> 40;
        let change = change.min(1 << 30) as u32;
        if t < self.k { self.origin.saturating_sub(change) } else { self.origin + change }
    }

    /// Updates Reno's window for the acknowledged segments. Returns by how many segments it is
    /// larger than cwnd.
    fn reno_ahead(&mut self, acked: u32, cwnd: u32) -> u32 {
        self.reno_acked += acked;
        let step = (u64::from(cwnd) * RENO_EIGHTHS / 8).max(1) as u32;
        self.reno += self.reno_acked.saturating_sub(1) / step;
        self.reno_acked -= self.reno_acked.saturating_sub(1) / step * step;
        self.reno.saturating_sub(cwnd)
    }
}

impl CubicLinux {
    /// Creates the control with this limit after a time-out, or the RFC's.
    pub fn new(slow_start_limit: Option<u32>) -> Self {
        Self { slow_start_limit, ..Self::default() }
    }

    //= RFC 3465, section 2.3: L is one segment in the slow start after a time-out, where an ACK may cover much that had left
    //= the network long before.
    fn limit(&self) -> u32 {
        if self.is_after_timeout { self.slow_start_limit.unwrap_or(1) } else { u32::MAX }
    }

    /// Processes an ACK in congestion avoidance. Returns by how many segments the window grows.
    fn avoid_congestion(&mut self, acked: u32, cwnd: u32, now: Instant) -> u32 {
        self.update(acked, cwnd, now);
        let mut steps = 0;
        if self.acked >= self.segments_a_step {
            (self.acked, steps) = (0, 1);
        }
        self.acked += acked;
        steps += self.acked / self.segments_a_step;
        self.acked %= self.segments_a_step;
        steps
    }

    fn update(&mut self, acked: u32, cwnd: u32, now: Instant) {
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, cwnd, self.last_max));
        let ahead = epoch.reno_ahead(acked, cwnd);
        if self.calculated.is_some_and(|(window, at)| window == cwnd && now.since(at) <= MIN_PERIOD) {
            return;
        }
        self.calculated = Some((cwnd, now));
        let target = epoch.target(now.since(epoch.start) + self.min_rtt.unwrap_or_default());
        let mut segments = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max == 0 {
            segments = segments.min(20);
        }
        if let Some(limit) = cwnd.checked_div(ahead) {
            segments = segments.min(limit);
        }
        self.segments_a_step = segments.max(2);
    }

    fn reduce(&mut self, flight: &Flight) -> u32 {
        let cwnd = flight.cwnd / flight.mss;
        // Fast convergence: a flow whose window did not return to the plateau releases bandwidth.
        self.last_max = if cwnd < self.last_max { fraction(cwnd, 1024 + BETA, 2048) } else { cwnd };
        (self.epoch, self.acked) = (None, 0);
        fraction(cwnd, BETA, 1024).max(2) * flight.mss
    }
}

const fn fraction(cwnd: u32, numerator: u64, denominator: u64) -> u32 {
    (cwnd as u64 * numerator / denominator) as u32
}

impl CongestionControl for CubicLinux {
    /// The curve depends on the minimum round-trip time.
    fn goes_by_segments(&self) -> bool {
        true
    }

    /// The time of the curve does not advance during a pause (`CA_EVENT_TX_START`).
    fn on_sent(&mut self, segment: &SentSegment) {
        let last_sent = self.last_sent.replace(segment.now);
        if std::mem::take(&mut self.is_idle)
            && let (Some(epoch), Some(last_sent)) = (&mut self.epoch, last_sent)
        {
            epoch.start = (epoch.start + segment.now.since(last_sent)).min(segment.now);
        }
    }

    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        self.on_other_ack(ack, flight);
        let mut acked = ack.acked.div_ceil(flight.mss);
        let mut cwnd = flight.cwnd / flight.mss;
        if flight.cwnd < flight.ssthresh {
            acked = acked.min(self.limit());
            let step = acked.min((flight.ssthresh / flight.mss).saturating_sub(cwnd).max(1));
            (cwnd, acked) = (cwnd + step, acked - step);
        } else {
            self.is_after_timeout = false;
        }
        if acked > 0 {
            cwnd += self.avoid_congestion(acked, cwnd, ack.now);
        }
        flight.cwnd = cwnd.min((1 << 30) / flight.mss) * flight.mss;
    }

    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        self.is_idle = flight.outstanding() == 0;
        // Right after a recovery, round-trip times are not those of the path.
        let is_valid = self.epoch.is_none_or(|epoch| ack.now.since(epoch.start) >= RTT_DISCARD_TIME);
        if let Some(rtt) = ack.rtt.filter(|_| is_valid) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
        }
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        Reduction::to(self.reduce(flight))
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        flight.ssthresh = self.reduce(flight);
        flight.cwnd = flight.mss;
        *self =
            Self { last_sent: self.last_sent, is_after_timeout: true, ..Self::new(self.slow_start_limit) };
    }
}

#[cfg(test)]
mod tests;
