//! The smoothed round-trip time and its variation.

use std::time::Duration;

use lasthop_packet::Seq;
use lasthop_packet::time::nanos;

use super::config::{RtoConfig, RtoRule};
use crate::flight::Flight;

/// The estimate after at least one sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Estimate {
    Standard(Standard),
    Linux(Linux),
}

/// As in RFC 6298.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standard {
    srtt: Duration,
    rttvar: Duration,
}

/// As in Linux 6.18 (`tcp_rtt_estimator` in `net/ipv4/tcp_input.c`). The deviations and `variation` are
/// four times the RTTVAR of the RFC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linux {
    srtt: Duration,
    /// The mean deviation, which grows slowly while round trips get shorter; in nanoseconds, as the next two.
    deviation: u64,
    /// The largest deviation since the round trip began.
    largest: u64,
    /// RTO minus the smoothed round-trip time; at least the minimum of RTO.
    variation: u64,
    /// The round trip ends when all data before this is acknowledged.
    round_end: Seq,
}

impl Estimate {
    pub(super) fn first(rtt: Duration, config: &RtoConfig, flight: &Flight) -> Self {
        match config.rule {
            RtoRule::Standard => Self::Standard(Standard::first(rtt)),
            RtoRule::Linux => Self::Linux(Linux::first(rtt, config.minimum, flight.max)),
        }
    }

    /// The estimate of another estimator.
    pub(super) fn known(srtt: Duration, variation: Duration, config: &RtoConfig) -> Self {
        match config.rule {
            RtoRule::Standard => Self::Standard(Standard { srtt, rttvar: variation }),
            RtoRule::Linux => {
                let deviation = nanos(variation).saturating_mul(4);
                let variation = deviation.max(nanos(config.minimum));
                let round_end = Seq(0);
                Self::Linux(Linux { srtt, deviation, largest: variation, variation, round_end })
            }
        }
    }

    /// RTTVAR, or its counterpart.
    pub(super) fn variation(&self) -> Duration {
        match self {
            Self::Standard(Standard { rttvar, .. }) => *rttvar,
            Self::Linux(Linux { variation, .. }) => Duration::from_nanos(*variation / 4),
        }
    }

    #[inline]
    pub(super) fn update(&mut self, rtt: Duration, config: &RtoConfig, flight: &Flight) {
        match self {
            Self::Standard(estimate) => estimate.update(rtt),
            Self::Linux(estimate) => estimate.update(rtt, config.minimum, flight),
        }
    }

    #[inline]
    pub(super) const fn srtt(&self) -> Duration {
        match self {
            Self::Standard(Standard { srtt, .. }) | Self::Linux(Linux { srtt, .. }) => *srtt,
        }
    }

    /// RTO without back-off.
    #[inline]
    pub(super) fn rto(&self, config: &RtoConfig) -> Duration {
        match self {
            //= RFC 6298, section 2.3: RTO <- SRTT + max (G, K*RTTVAR), K = 4.
            Self::Standard(Standard { srtt, rttvar }) => *srtt + config.granularity.max(*rttvar * 4),
            Self::Linux(Linux { srtt, variation, .. }) => *srtt + Duration::from_nanos(*variation),
        }
    }
}

impl Standard {
    //= RFC 6298, section 2.2: first measurement.
    const fn first(rtt: Duration) -> Self {
        Self { srtt: rtt, rttvar: Duration::from_nanos(rtt.as_nanos() as u64 / 2) }
    }

    //= RFC 6298, section 2.3: alpha = 1/8, beta = 1/4.
    #[inline]
    fn update(&mut self, rtt: Duration) {
        let (srtt, rttvar, rtt) = (nanos(self.srtt), nanos(self.rttvar), nanos(rtt));
        self.srtt = Duration::from_nanos((srtt * 7 + rtt) / 8);
        self.rttvar = Duration::from_nanos((rttvar * 3 + srtt.abs_diff(rtt)) / 4);
    }
}

impl Linux {
    fn first(rtt: Duration, minimum: Duration, max: Seq) -> Self {
        let deviation = nanos(rtt) * 2;
        let variation = deviation.max(nanos(minimum));
        Self { srtt: rtt, deviation, largest: variation, variation, round_end: max }
    }

    fn update(&mut self, rtt: Duration, minimum: Duration, flight: &Flight) {
        let (srtt, rtt) = (nanos(self.srtt), nanos(rtt));
        let error = srtt.abs_diff(rtt);
        let is_shorter = rtt < srtt;
        self.srtt = Duration::from_nanos((srtt * 7 + rtt) / 8);
        let quarter = self.deviation / 4;
        self.deviation = if is_shorter && error > quarter {
            self.deviation + error.saturating_sub(quarter) / 8
        } else {
            self.deviation.saturating_sub(quarter) + error
        };
        self.largest = self.largest.max(self.deviation);
        self.variation = self.variation.max(self.largest);
        if flight.una.after(self.round_end) {
            self.variation -= self.variation.saturating_sub(self.largest) / 4;
            (self.round_end, self.largest) = (flight.max, nanos(minimum));
        }
    }
}
