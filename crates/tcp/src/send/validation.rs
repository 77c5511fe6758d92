//! Window validation: a window that was not used recently does not reflect the state of the path. As in
//! Linux 6.18 (`tcp_is_cwnd_limited`, `tcp_cwnd_restart`), after RFC 2861.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::flight::Flight;

/// The use of the window in the last round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validation {
    /// The initial window, in segments.
    initial: u32,
    /// When a segment was last sent.
    last_sent: Option<Instant>,
    /// Whether the window was full in the round trip that ends at `round_end`; if not, `most` is the maximum
    /// number of outstanding octets.
    was_full: bool,
    most: u32,
    round_end: Seq,
}

impl Validation {
    pub(super) const fn new(initial_window: u32) -> Self {
        Self { initial: initial_window, last_sent: None, was_full: false, most: 0, round_end: Seq(0) }
    }

    /// Whether the window was used in the last round trip: in slow start, half of it is enough.
    #[inline]
    pub(super) const fn is_window_used(&self, flight: &Flight) -> bool {
        self.was_full || (flight.cwnd < flight.ssthresh && flight.cwnd / 2 < self.most)
    }

    /// Records the use of the window when a segment was sent (`tcp_cwnd_validate`).
    #[inline(never)]
    pub(super) fn on_sent(&mut self, flight: &Flight, in_network: u32) {
        let outstanding = flight.outstanding();
        let is_full = in_network.saturating_add(flight.mss) > flight.cwnd;
        let is_most = !self.was_full && outstanding > self.most;
        if is_full || is_most || !flight.una.before(self.round_end) {
            (self.was_full, self.most) = (is_full, outstanding);
            self.round_end = flight.max;
        }
    }

    /// The rest of the window remains unused, because it is too small.
    pub(super) fn on_window_full(&mut self, flight: &Flight) {
        (self.was_full, self.most) = (true, flight.outstanding());
        self.round_end = flight.max;
    }

    /// The segment at `seq` is about to be sent. Returns the time since the last segment, if nothing is
    /// outstanding.
    pub(super) fn idle_time(&mut self, seq: Seq, flight: &Flight, now: Instant) -> Option<Duration> {
        let last_sent = self.last_sent.replace(now)?;
        let is_idle = seq == flight.una && seq == flight.max;
        is_idle.then(|| now.since(last_sent))
    }

    /// Halves cwnd for each RTO of an idle time longer than RTO, down to the initial window; ssthresh becomes
    /// at least three quarters of the previous cwnd.
    pub(super) fn shrink_after(&self, mut idle: Duration, rto: Duration, flight: &mut Flight) {
        if idle <= rto {
            return;
        }
        flight.ssthresh = flight.ssthresh.max(flight.cwnd / 4 * 3);
        let least = flight.mss.saturating_mul(self.initial).min(flight.cwnd);
        while idle > rto && flight.cwnd > least {
            flight.cwnd /= 2;
            idle -= rto;
        }
        flight.cwnd = flight.cwnd.max(least);
    }
}
