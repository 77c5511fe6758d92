//! Westwood (Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood: bandwidth estimation for
//! enhanced transport over wireless links", ACM `MobiCom` 2001), with the bandwidth filter as
//! published there; not Westwood+, which samples once a round-trip time.
//!
//! With ACK k at time `t_k` for `d_k` octets, and D = `t_k - t_(k-1)` (section 2.2):
//! - the sample: `b_k = d_k / D`;
//! - the filter, a low pass at 1/tau after Tustin's rule: `B_k = a B_(k-1) + (1 - a) (b_k +
//!   b_(k-1)) / 2` with `a = (2 tau - D) / (2 tau + D)`;
//! - without an ACK for tau/m, m at least 2, a virtual sample of 0.
//!
//! The octets of each ACK are counted as in section 2.3, and the window is set as in sections 3.1
//! and 3.2. What the paper leaves open, and what we chose:
//! - tau = 500 ms, m = 2.
//! - The estimate begins at 0. ssthresh is at least two segments, after a fast retransmission too.
//! - The sample after virtual ones covers all the time since the last ACK: over the short time
//!   since the last virtual one, it would be far too large.
//! - Octets of ACKs at the same instant count with the next sample.
//! - `RTTmin` is over the whole connection.

use std::time::Duration;

use lasthop_packet::Instant;

use super::control::{AckSample, CongestionControl, Reduction};
use crate::flight::Flight;

/// Time constant of the filter, in seconds.
const TAU: f64 = 0.5;
/// tau/m: the time without an ACK after which a virtual sample is added.
const MAX_GAP: Duration = Duration::from_millis(250);

/// Grows as Reno does. After a loss, ssthresh is the product of the measured bandwidth and the
/// minimum round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Westwood {
    filter: Filter,
    /// Octets counted for duplicate ACKs, which the next ACK of new data acknowledges again.
    accounted_for: u32,
    rtt_min: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Filter {
    /// `B_k`, in octets a second.
    estimate: f64,
    /// `b_k`, in octets a second.
    sample: f64,
    /// When the last ACK arrived.
    last: Option<Instant>,
    /// Octets that are not part of a sample yet.
    pending: f64,
}

impl Filter {
    fn acknowledge(&mut self, octets: u32, now: Instant) {
        self.pending += f64::from(octets);
        let Some(last) = self.last else {
            // The first ACK gives no rate.
            (self.last, self.pending) = (Some(now), 0.0);
            return;
        };
        let since = now.since(last);
        if since.is_zero() {
            return;
        }
        let virtual_samples = since.as_nanos().saturating_sub(1) / MAX_GAP.as_nanos();
        // After a hundred, the earlier estimate has no influence.
        for _ in 0..virtual_samples.min(100) {
            self.step(0.0, MAX_GAP.as_secs_f64());
        }
        let virtual_time = MAX_GAP.as_nanos() * virtual_samples;
        let remaining = Duration::from_nanos((since.as_nanos() - virtual_time) as u64);
        self.step(self.pending / since.as_secs_f64(), remaining.as_secs_f64());
        (self.last, self.pending) = (Some(now), 0.0);
    }

    fn step(&mut self, sample: f64, seconds: f64) {
        let a = (2.0 * TAU - seconds) / (2.0 * TAU + seconds);
        self.estimate = a * self.estimate + (1.0 - a) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }
}

impl Westwood {
    /// The estimated bandwidth, in octets per second.
    pub const fn bandwidth(&self) -> f64 {
        self.filter.estimate
    }

    fn measure(&mut self, ack: &AckSample, flight: &Flight) {
        let octets = self.octets(ack.acked, flight.mss);
        self.filter.acknowledge(octets, ack.now);
        if let Some(rtt) = ack.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |rtt_min| rtt_min.min(rtt)));
        }
    }

    /// The octets that an ACK counts for (section 2.3): for a duplicate ACK, a segment that arrived
    /// out of order; for an ACK of new data, the octets not counted for duplicate ACKs, but at
    /// least one segment.
    fn octets(&mut self, acked: u32, mss: u32) -> u32 {
        if acked == 0 {
            self.accounted_for = self.accounted_for.saturating_add(mss);
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        let counted = self.accounted_for.min(acked);
        self.accounted_for -= counted;
        (acked - counted).max(mss)
    }

    /// Sections 3.1 and 3.2: ssthresh = BWE * `RTTmin`.
    fn ssthresh(&self, flight: &Flight) -> u32 {
        let Some(rtt_min) = self.rtt_min else { return flight.half_window() };
        ((self.bandwidth() * rtt_min.as_secs_f64()) as u32).clamp(2 * flight.mss, 1 << 30)
    }
}

impl CongestionControl for Westwood {
    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        self.measure(ack, flight);
    }

    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        self.measure(ack, flight);
        let increment = if flight.cwnd < flight.ssthresh {
            flight.mss
        } else {
            (u64::from(flight.mss) * u64::from(flight.mss) / u64::from(flight.cwnd)).max(1) as u32
        };
        flight.cwnd = flight.opened(increment);
    }

    /// Section 3.1: cwnd is limited to ssthresh.
    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        let ssthresh = self.ssthresh(flight);
        Reduction { ssthresh, cwnd: flight.cwnd.min(ssthresh) }
    }

    /// Section 3.2.
    fn on_timeout(&mut self, flight: &mut Flight) {
        flight.ssthresh = self.ssthresh(flight);
        flight.cwnd = flight.mss;
    }
}

#[cfg(test)]
mod tests;
