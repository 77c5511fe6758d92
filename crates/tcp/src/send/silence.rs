//! How long a peer may be silent before the connection is aborted.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::config::{Config, GiveUp};
use crate::state::State;

/// The minimum and maximum time-out of Linux (`TCP_RTO_MIN`, `TCP_RTO_MAX`).
const MIN_TIMEOUT: Duration = Duration::from_millis(200);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Retransmissions of a SYN and of a SYN-ACK in Linux (`tcp_syn_retries`, `tcp_synack_retries`).
const SYN_RETRIES: u32 = 6;
const ANSWER_RETRIES: u32 = 5;

/// Time-outs of a SYN before back-off begins (`tcp_syn_linear_timeouts`); they are counted separately.
const LINEAR_TIMEOUTS: u32 = 4;

/// Time-outs and window probes since a segment of the peer arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    give_up: GiveUp,
    /// Consecutive time-outs or unanswered window probes after which the connection is aborted.
    most: u32,
    /// Their number.
    expiries: u32,
    /// The time of the first.
    since: Option<Instant>,
}

impl Silence {
    pub(super) const fn new(config: &Config) -> Self {
        Self { give_up: config.give_up, most: config.max_timeouts, expiries: 0, since: None }
    }

    /// A segment of the peer arrived.
    #[inline]
    pub(super) const fn end(&mut self) {
        (self.expiries, self.since) = (0, None);
    }

    pub(super) const fn expiries(&self) -> u32 {
        self.expiries
    }

    /// A time-out or window probe.
    pub(super) fn lasts(&mut self, now: Instant) {
        self.expiries = self.expiries.saturating_add(1);
        self.since.get_or_insert(now);
    }

    /// Whether this expiry of the persist timer is the last one. Linux counts probes in any case
    /// (`tcp_probe_timer`).
    pub(super) const fn is_last_probe(&self) -> bool {
        self.expiries >= self.most
    }

    /// Whether this expiry of the retransmission timer is the last one.
    pub(super) fn is_last(&self, state: State, now: Instant) -> bool {
        let Self { give_up, most, expiries, since } = *self;
        match (give_up, state) {
            (GiveUp::Count, _) => expiries >= most,
            (GiveUp::Time, State::SynSent) => expiries >= SYN_RETRIES + LINEAR_TIMEOUTS,
            (GiveUp::Time, State::SynReceived) => expiries >= ANSWER_RETRIES,
            // The first time-out is the time of the first retransmission (`retrans_stamp`).
            (GiveUp::Time, _) => since.is_some_and(|first| now.since(first) >= time_of(most)),
        }
    }

    /// Whether the next time-out is as long as this one, without back-off.
    pub(super) fn has_linear_timeout(&self, state: State) -> bool {
        self.give_up == GiveUp::Time && state == State::SynSent && self.expiries <= LINEAR_TIMEOUTS
    }
}

/// The duration of this number of time-outs and one more, if the first is the minimum and each doubles the
/// next one (`tcp_model_timeout`).
fn time_of(timeouts: u32) -> Duration {
    let doublings = (LONGEST_TIMEOUT.as_millis() / MIN_TIMEOUT.as_millis()).ilog2();
    let doubled = timeouts.min(doublings);
    MIN_TIMEOUT * ((2 << doubled) - 1) + LONGEST_TIMEOUT * (timeouts - doubled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation/networking/ip-sysctl.rst, `tcp_retries1` and `tcp_retries2`.
    #[test]
    fn the_duration_of_fifteen_time_outs_is_that_of_the_kernel() {
        assert_eq!(time_of(15), Duration::from_millis(924_600));
        assert_eq!(time_of(8), Duration::from_millis(102_200));
        assert_eq!(time_of(0), MIN_TIMEOUT);
    }
}
