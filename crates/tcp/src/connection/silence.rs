//! How long a peer may be silent before its connection is given up.

use std::time::Duration;

use lasthop_packet::Instant;

use super::state::State;
use crate::config::{Config, GiveUp};

/// The least and the longest time-out of Linux (`TCP_RTO_MIN`, `TCP_RTO_MAX`).
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);

/// How often Linux sends a SYN again, and a SYN that answers one (`tcp_syn_retries`, `tcp_synack_retries`).
const SYN_RETRIES: u32 = 6;
const ANSWER_RETRIES: u32 = 5;

/// Time-outs of a SYN before the first that doubles the next one (`tcp_syn_linear_timeouts`); they count
/// apart.
const LINEAR_TIMEOUTS: u32 = 4;

/// Time-outs and window probes since the peer was heard from last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    /// How many.
    expiries: u32,
    /// When the first was.
    since: Option<Instant>,
}

impl Silence {
    /// How many there were.
    pub(super) const fn expiries(&self) -> u32 {
        self.expiries
    }

    /// One more.
    pub(super) fn lasts(&mut self, now: Instant) {
        self.expiries = self.expiries.saturating_add(1);
        self.since.get_or_insert(now);
    }

    /// The retransmission timer has expired: whether it is the last time.
    pub(super) fn is_last(self, config: &Config, state: State, now: Instant) -> bool {
        let Self { expiries, since } = self;
        match (config.give_up, state) {
            (GiveUp::Count, _) => expiries >= config.max_timeouts,
            (GiveUp::Time, State::SynSent) => expiries >= SYN_RETRIES + LINEAR_TIMEOUTS,
            (GiveUp::Time, State::SynReceived) => expiries >= ANSWER_RETRIES,
            // The first time-out is when something was sent again first (`retrans_stamp`).
            (GiveUp::Time, _) => since.is_some_and(|first| now.since(first) >= time_of(config.max_timeouts)),
        }
    }

    /// Whether the next time-out is as long as this one.
    pub(super) fn has_linear_timeout(self, config: &Config, state: State) -> bool {
        config.give_up == GiveUp::Time && state == State::SynSent && self.expiries <= LINEAR_TIMEOUTS
    }
}

/// How long it takes until the timer has expired once more after so many time-outs, if the first is the least
/// and each doubles the next one (`tcp_model_timeout`).
fn time_of(timeouts: u32) -> Duration {
    let doublings = (LONGEST_TIMEOUT.as_millis() / LEAST_TIMEOUT.as_millis()).ilog2();
    let doubled = timeouts.min(doublings);
    LEAST_TIMEOUT * ((2 << doubled) - 1) + LONGEST_TIMEOUT * (timeouts - doubled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation/networking/ip-sysctl.rst, `tcp_retries1` and `tcp_retries2`.
    #[test]
    fn the_time_of_fifteen_time_outs_is_what_the_kernel_says() {
        assert_eq!(time_of(15), Duration::from_millis(924_600));
        assert_eq!(time_of(8), Duration::from_millis(102_200));
        assert_eq!(time_of(0), LEAST_TIMEOUT);
    }
}
