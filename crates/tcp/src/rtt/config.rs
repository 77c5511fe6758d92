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
    /// Back-off goes no further than this, unless RTO itself is longer; None: as far as `maximum`.
    pub longest_back_off: Option<Duration>,
    /// An ACK of what was sent more than once measures the round trip from the first time, if it comes
    /// too soon after the last one to be for that, or if nothing was measured yet. A timer that is too
    /// short would otherwise have everything sent twice, and never learn of it. False: such ACKs
    /// measure nothing (Karn).
    pub times_copies: bool,
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
            longest_back_off: None,
            times_copies: false,
            granularity: Duration::from_millis(1),
        }
    }
}
