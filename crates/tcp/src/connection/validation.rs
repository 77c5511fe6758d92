//! Window validation: a window that was not used lately says nothing of the path. As Linux 6.18
//! does it (`tcp_is_cwnd_limited`, `tcp_cwnd_restart`), after RFC 2861.

use lasthop_packet::{Instant, Seq};

use super::Connection;
use crate::congestion::AckSample;

/// What is remembered of the use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Validation {
    /// When a segment left last.
    last_sent: Option<Instant>,
}

impl Connection {
    /// Whether congestion control is to open the window with this ACK.
    ///
    //= RFC 3168, section 6.1.2: not with an ACK that echoes a mark.
    #[inline]
    pub(super) fn may_grow(&self, ack: &AckSample) -> bool {
        self.is_window_used(ack) && self.ecn.is_none_or(|ecn| !ecn.is_echoed)
    }

    /// Whether the window was in use before this ACK: in slow start half of it is enough. Without
    /// validation it always counts as used.
    #[inline]
    fn is_window_used(&self, ack: &AckSample) -> bool {
        let flight = &self.flight;
        self.validation.is_none()
            || self.congestion.rules_recovery()
            || ack.is_cwnd_limited(flight)
            || (flight.cwnd < flight.ssthresh && flight.cwnd / 2 < ack.outstanding)
    }

    /// A segment leaves: if nothing did for longer than RTO, cwnd halves for each RTO that has
    /// passed, down to the initial window, and ssthresh keeps three quarters of it.
    #[inline(never)]
    pub(super) fn validate_window(&mut self, seq: Seq, now: Instant) {
        let Some(validation) = &mut self.validation else { return };
        let last_sent = validation.last_sent.replace(now);
        let is_idle = seq == self.flight.una && seq == self.flight.max;
        if let Some(last_sent) = last_sent
            && is_idle
            && !self.congestion.rules_recovery()
        {
            self.restart_after(last_sent, now);
        }
    }

    fn restart_after(&mut self, last_sent: Instant, now: Instant) {
        let (rto, mut idle) = (self.rtt.rto(), now.since(last_sent));
        let flight = &mut self.flight;
        if idle <= rto {
            return;
        }
        flight.ssthresh = flight.ssthresh.max(flight.cwnd / 4 * 3);
        let least = self.config.initial_window.saturating_mul(flight.mss).min(flight.cwnd);
        while idle > rto && flight.cwnd > least {
            flight.cwnd /= 2;
            idle -= rto;
        }
        flight.cwnd = flight.cwnd.max(least);
    }
}
