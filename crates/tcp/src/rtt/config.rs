//! What can be set about the retransmission timer.

use std::time::Duration;

/// How RTO follows from round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtoRule {
    /// As RFC 6298 has it: the minimum bounds RTO.
    #[default]
    Standard,
    /// As Linux has it: the minimum bounds what RTO lies above the smoothed round-trip time, and
    /// that is the largest deviation of a round trip.
    Linux,
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// How it follows from round-trip times.
    pub rule: RtoRule,
    /// RTO before the first measurement.
    pub initial: Duration,
    /// Lower bound of RTO.
    pub minimum: Duration,
    /// Upper bound of RTO, backed off or not.
    pub maximum: Duration,
    /// Clock granularity G: round trips are counted in whole ticks and timers expire on a tick. 500
    /// ms in 4.3BSD.
    pub granularity: Duration,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            rule: RtoRule::Standard,
            initial: Duration::from_secs(1),
            minimum: Duration::from_secs(1),
            maximum: Duration::from_secs(64),
            granularity: Duration::from_millis(1),
        }
    }
}
