//! Window validation: a window that was not used lately says nothing of the path. As Linux 6.18
//! does it (`tcp_is_cwnd_limited`, `tcp_cwnd_restart`), after RFC 2861.

use lasthop_packet::{Instant, Seq};

use super::Connection;

impl Connection {
    /// Whether congestion control is to open the window with this ACK.
    ///
    //= RFC 3168, section 6.1.2: not with an ACK that echoes a mark.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.is_window_used() && self.ecn.is_none_or(|ecn| !ecn.is_echoed)
    }

    /// Whether the window was in use in the last round trip: in slow start half of it is enough.
    /// Without validation it always counts as used.
    #[inline]
    fn is_window_used(&self) -> bool {
        let flight = &self.flight;
        self.validation.is_none_or(|validation| {
            validation.was_full || (flight.cwnd < flight.ssthresh && flight.cwnd / 2 < validation.most)
        }) || self.congestion.rules_recovery()
    }

    /// A segment has left: notes how much of the window is in use (`tcp_cwnd_validate`).
    #[inline(never)]
    pub(super) fn note_use(&mut self) {
        let Some(validation) = &mut self.validation else { return };
        let flight = &self.flight;
        let outstanding = flight.outstanding();
        let in_network = if self.goes_by_segments { self.queue.in_network() } else { outstanding };
        let is_full = in_network.saturating_add(flight.mss) > flight.cwnd;
        let is_most = !validation.was_full && outstanding > validation.most;
        if is_full || is_most || !flight.una.before(validation.round_end) {
            (validation.was_full, validation.most) = (is_full, outstanding);
            validation.round_end = flight.max;
        }
    }

    /// What the window has room for waits, because it is too little.
    pub(super) fn note_full_window(&mut self) {
        if let Some(validation) = &mut self.validation {
            (validation.was_full, validation.most) = (true, self.flight.outstanding());
            validation.round_end = self.flight.max;
        }
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
        let least = self.config.initial_window.max(1).saturating_mul(flight.mss).min(flight.cwnd);
        while idle > rto && flight.cwnd > least {
            flight.cwnd /= 2;
            idle -= rto;
        }
        flight.cwnd = flight.cwnd.max(least);
    }
}
