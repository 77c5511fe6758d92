//! CUBIC (RFC 9438).
//!
//! Windows are counted in segments, as in the RFC; fractions of an octet are carried over.
//!
//! Not implemented: the response to ECN; `HyStart++` is [`super::HystartPlusPlus`]. What the RFC
//! leaves open, and what we chose:
//! - Slow start counts octets, at most one segment for each ACK (RFC 5681, section 3.1), unless
//!   another L is set (RFC 3465).
//! - The window grows only while it is in use, and the time in which it is not does not count
//!   (section 5.8).
//! - ssthresh after a time-out is computed from the outstanding data, as after a fast retransmit
//!   (section 4.6).

use std::time::Duration;

use lasthop_packet::Instant;

use super::control::{AckSample, CongestionControl, Reduction};
use crate::flight::Flight;

//= RFC 9438, sections 4.1.1 and 5.1: C = 0.4, in segments a second cubed.
const C: f64 = 0.4;
//= RFC 9438, section 4.6: beta = 0.7.
const BETA: f64 = 0.7;
//= RFC 9438, section 4.3: with this increase a segment and window, and the decrease by beta, a flow gets what a Reno flow would.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// In congestion avoidance, cwnd follows a cubic function of the time since it began: steep, flat
/// around the window of the last loss, and steep again; but it is never smaller than Reno's window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// The plateau, in segments; 0 before the first loss.
    w_max: f64,
    /// cwnd just before the last reduction, in segments.
    cwnd_prior: f64,
    /// The current stage of congestion avoidance.
    epoch: Option<Epoch>,
    /// The next congestion avoidance follows a fast retransmit, not a time-out or a slow start
    /// without loss.
    is_after_reduction: bool,
    /// No data was acknowledged since the last time-out.
    has_timed_out: bool,
    /// L: segments by which an ACK opens the window in slow start; None: one.
    slow_start_limit: Option<u32>,
    /// The fraction of an octet by which cwnd has still to grow.
    carry: f64,
    /// When the last ACK in congestion avoidance arrived.
    last_ack: Option<Instant>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// The time from `start` to the plateau, in seconds.
    k: f64,
    /// The window at the plateau, in segments.
    w_max: f64,
    /// The window of Reno, in segments.
    w_est: f64,
}

impl Epoch {
    /// The window, in segments, `t` seconds after the start.
    ///
    //= RFC 9438, section 4.2, figure 1.
    fn w_cubic(&self, t: f64) -> f64 {
        let distance = t - self.k;
        C * distance * distance * distance + self.w_max
    }
}

impl Cubic {
    /// Creates the control with this L.
    pub fn new(slow_start_limit: Option<u32>) -> Self {
        Self { slow_start_limit, ..Self::default() }
    }

    fn begin_epoch(&mut self, now: Instant, cwnd: f64) -> Epoch {
        let (w_max, k) = if std::mem::take(&mut self.is_after_reduction) && self.w_max > cwnd {
            //= RFC 9438, section 4.2, figure 2.
            (self.w_max, libm::cbrt((self.w_max - cwnd) / C))
        } else {
            //= RFC 9438, section 4.8: after a time-out K is 0 and W_max the window at the beginning of the stage; section 4.10:
            //= the same after a slow start that no loss ended.
            (cwnd, 0.0)
        };
        Epoch { start: now, k, w_max, w_est: cwnd }
    }

    /// Records the window before a reduction. Returns ssthresh.
    fn reduce(&mut self, flight: &Flight) -> u32 {
        let cwnd = segments(flight.cwnd, flight);
        self.cwnd_prior = cwnd;
        //= RFC 9438, section 4.7: fast convergence: a flow whose window did not get back to W_max makes room for others.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.epoch = None;
        self.carry = 0.0;
        //= RFC 9438, section 4.6: flight_size * beta, at least two segments. Not above cwnd: limited transmit does not count.
        let flight_size = flight.outstanding().min(flight.cwnd);
        ((f64::from(flight_size) * BETA) as u32).max(2 * flight.mss)
    }
}

fn segments(octets: u32, flight: &Flight) -> f64 {
    f64::from(octets) / f64::from(flight.mss)
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        self.has_timed_out = false;
        if flight.cwnd < flight.ssthresh {
            let limit = self.slow_start_limit.unwrap_or(1).saturating_mul(flight.mss);
            flight.cwnd = flight.opened(ack.acked.min(limit).min(flight.below_ssthresh()));
            return;
        }
        let cwnd = segments(flight.cwnd, flight);
        let idle_since = self.last_ack.replace(ack.now);
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(ack.now, cwnd));
        if !ack.is_cwnd_limited(flight) {
            //= RFC 9438, section 4.2: t does not include times in which cwnd was not updated because the application had nothing to send.
            let unused = idle_since.map_or(Duration::ZERO, |before| ack.now.since(before.max(epoch.start)));
            epoch.start += unused;
            self.epoch = Some(epoch);
            return;
        }
        let acked = segments(ack.acked, flight);
        //= RFC 9438, section 4.3, figure 4; with 1 for alpha from cwnd_prior on.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * acked / cwnd;
        self.epoch = Some(epoch);

        let t = ack.now.since(epoch.start).as_secs_f64();
        let increase = if epoch.w_cubic(t) < epoch.w_est {
            epoch.w_est - cwnd
        } else {
            //= RFC 9438, section 4.2: the target lies one round-trip time ahead, between cwnd and one and a half times cwnd;
            //= sections 4.4 and 4.5: each segment acknowledged moves cwnd towards it by its share of the window.
            let round_trip = ack.srtt.unwrap_or_default().as_secs_f64();
            let target = epoch.w_cubic(t + round_trip).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * acked
        };
        self.carry += increase.max(0.0) * f64::from(flight.mss);
        let octets = self.carry as u32;
        self.carry -= f64::from(octets);
        flight.cwnd = flight.opened(octets);
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        self.is_after_reduction = true;
        Reduction::to(self.reduce(flight))
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        self.is_after_reduction = false;
        //= RFC 5681, section 3.1: for a segment that was retransmitted by the timer before, ssthresh stays.
        if !std::mem::replace(&mut self.has_timed_out, true) {
            flight.ssthresh = self.reduce(flight);
        }
        flight.cwnd = flight.mss;
    }
}

#[cfg(test)]
mod tests;
