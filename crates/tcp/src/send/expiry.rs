//! Expiry of timers, and ICMP error messages.

use lasthop_agent::Deadline;
use lasthop_packet::Instant;

use super::{Departure, SendSide};
use crate::extension::{IcmpNotice, TimeoutResponse};
use crate::flight::Flight;
use crate::recovery::{AfterDeadline, AfterTimeout};
use crate::state::State;

impl SendSide {
    /// The next deadline of the timers for outstanding data; none while such data is absent, which could not be sent.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        if self.stream.is_incomplete() {
            return None;
        }
        let retransmission =
            self.retransmission_timer.map(|at| Deadline { at, reason: "retransmission timer" });
        Deadline::earliest(retransmission, self.control.deadline())
    }

    /// Whether [`Self::pacing_timer`] or [`Self::persist_timer`] may run.
    #[inline]
    pub(crate) fn has_rare_timer(&self) -> bool {
        self.departure.is_paced() | self.peer_window.is_probing()
    }

    pub(crate) const fn pacing_timer(&self) -> Option<Instant> {
        self.departure.timer()
    }

    pub(crate) const fn persist_timer(&self) -> Option<Instant> {
        self.peer_window.next_probe()
    }

    /// Handles expired timers. Returns whether the peer has been silent for too long.
    #[must_use]
    pub(crate) fn on_deadline(&mut self, state: State, now: Instant) -> bool {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        self.record_application_limit();
        if let Departure::Paced(pacer) = &mut self.departure {
            pacer.on_deadline(now);
        }
        let is_incomplete = self.stream.is_incomplete();
        if !is_incomplete && self.control.deadline().is_some_and(|deadline| deadline.at <= now) {
            self.on_recovery_deadline(now);
        }
        if is_due(self.peer_window.next_probe()) {
            if self.silence.is_last_probe() {
                return true;
            }
            self.on_window_probe_due(now);
        }
        if !is_incomplete && is_due(self.retransmission_timer) {
            self.retransmission_timer = None;
            self.stats.timeouts += 1;
            if self.silence.is_last(state, now) {
                return true;
            }
            self.on_timeout(state, now);
        }
        false
    }

    /// The peer's window is still closed. Probes continue as long as the peer answers (RFC 9293, section
    /// 3.8.6.1).
    fn on_window_probe_due(&mut self, now: Instant) {
        self.silence.lasts(now);
        self.rtt.back_off();
        self.peer_window.on_timer();
    }

    /// The timer of loss recovery has expired.
    #[cold]
    fn on_recovery_deadline(&mut self, now: Instant) {
        match self.call_recovery(now, |recovery, sender| recovery.on_deadline(sender)) {
            AfterDeadline::Nothing => {}
            AfterDeadline::Recover => self.stats.fast_retransmits += 1,
            AfterDeadline::Probe => {
                self.stats.tail_loss_probes += 1;
                //= RFC 8985, section 7.3: "regardless of whether a loss probe was sent, the sender MUST re-arm the RTO timer".
                self.start_timer(now);
            }
        }
    }

    fn on_timeout(&mut self, state: State, now: Instant) {
        self.control.forget_duplicate_acks();
        self.retransmit.clear();
        let response = if state.is_handshaking() {
            None
        } else {
            self.call_extension(now, |extension, sender| extension.on_timeout(sender))
        };
        match response.unwrap_or(TimeoutResponse::Standard) {
            TimeoutResponse::RetransmitOnly => {
                self.stats.timeouts_spared += 1;
                self.control.on_spared_timeout(&mut self.flight);
                self.rtt.stop_timing();
                self.retransmit.push(self.flight.una);
            }
            TimeoutResponse::Standard => {
                self.silence.lasts(now);
                let oldest = self.flight.outstanding().min(self.flight.mss);
                if let Some(mss) = self.path_mtu.on_timeout(oldest, now) {
                    self.set_mss(mss);
                }
                if self.silence.has_linear_timeout(state) {
                    self.rtt.stop_timing();
                } else {
                    self.rtt.back_off();
                }
                // It is started when the segment is sent, with the back-off.
                self.retransmission_timer = None;
                let after = if state.is_handshaking() {
                    AfterTimeout::GoBack
                } else {
                    self.call_recovery(now, |recovery, sender| recovery.on_timeout(sender))
                };
                if after == AfterTimeout::GoBack {
                    self.flight.nxt = self.flight.una;
                }
            }
        }
    }

    /// A router could not forward an outstanding segment: the MTU of its next link is `mtu`. Larger segments
    /// are retransmitted at once, without a reduction of the window: they were not lost to congestion.
    pub(crate) fn on_packet_too_big(&mut self, mtu: u32, now: Instant) {
        let before = self.flight.mss;
        let Some(mss) = self.path_mtu.on_packet_too_big(mtu, before, now) else { return };
        self.stats.icmp_accepted += 1;
        self.flight.mss = mss;
        self.retransmit_smaller(now);
        self.flight = Flight { mss: before, ..self.flight }.with_mss(mss);
    }

    /// Retransmits outstanding larger segments in smaller ones.
    fn retransmit_smaller(&mut self, now: Instant) {
        if self.flight.una == self.flight.max {
            return;
        }
        self.rtt.stop_timing();
        self.control.forget_duplicate_acks();
        self.retransmit.clear();
        if self.call_recovery(now, |recovery, sender| recovery.on_smaller_segments(sender))
            == AfterTimeout::GoBack
        {
            self.flight.nxt = self.flight.una;
        }
        self.start_timer(now);
    }

    /// Sets the segment size.
    pub(super) fn set_mss(&mut self, mss: u32) {
        self.flight = self.flight.with_mss(mss);
    }

    /// Another ICMP error message arrived about an outstanding segment.
    pub(crate) fn on_icmp(&mut self, notice: IcmpNotice, now: Instant) {
        let before = self.retransmit.len();
        if self.call_extension(now, |extension, sender| extension.on_icmp(notice, sender)).is_some() {
            self.stats.icmp_accepted += 1;
        }
        if self.retransmit.len() > before {
            self.stats.scheme_retransmits += 1;
            self.rtt.stop_timing();
        }
    }
}
