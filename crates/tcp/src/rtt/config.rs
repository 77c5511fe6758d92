//! The configuration of the retransmission timer.

use std::time::Duration;

/// How RTO is derived from round-trip times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtoRule {
    /// As in RFC 6298: the minimum bounds RTO.
    #[default]
    Standard,
    /// As in Linux: the minimum bounds the difference between RTO and the smoothed round-trip time,
    /// which is the largest deviation in a round trip.
    Linux,
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// How RTO is derived from round-trip times.
    pub rule: RtoRule,
    /// RTO before the first measurement.
    pub initial: Duration,
    /// Lower bound of RTO.
    pub minimum: Duration,
    /// Upper bound of RTO, with or without back-off.
    pub maximum: Duration,
    /// Upper bound of back-off, unless RTO itself is longer; None: `maximum`.
    pub longest_back_off: Option<Duration>,
    /// An ACK of a retransmitted segment measures the round trip from its first transmission, if it
    /// arrives too soon after the last one to be for that, or if there is no measurement yet.
    /// Otherwise a timer that is too short would have everything sent twice without ever being
    /// corrected. False: such ACKs measure nothing (Karn).
    pub times_copies: bool,
    /// Clock granularity G: round trips are counted in ticks and timers expire on a tick; 500 ms in
    /// 4.3BSD.
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
