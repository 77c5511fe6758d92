//! What happens when a timer expires.

use lasthop_packet::Instant;

use super::Connection;
use crate::extension::TimeoutResponse;
use crate::recovery::{AfterDeadline, AfterTimeout};

impl Connection {
    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        self.note_application_limit();
        if due(self.timers.pacing) {
            self.timers.pacing = None;
        }
        if due(self.timers.time_wait) {
            self.enter_closed();
            return;
        }
        if due(self.timers.delayed_ack) {
            self.timers.delayed_ack = None;
            self.receive.on_ack_timer(self.rtt.rto());
        }
        if self.timers.recovery.is_some_and(|deadline| deadline.at <= now) {
            self.on_recovery_deadline(now);
        }
        if due(self.timers.persist) {
            self.timers.persist = None;
            self.on_window_probe_due(now);
        }
        if due(self.timers.retransmit) {
            self.timers.retransmit = None;
            self.on_timeout(now);
        }
    }

    /// The peer's window is still closed. As long as it answers, there is no end to asking (RFC
    /// 9293, section 3.8.6.1).
    fn on_window_probe_due(&mut self, now: Instant) {
        // Linux counts these in any case (`tcp_probe_timer`).
        if self.silence.expiries() >= self.config.max_timeouts {
            self.abort();
            return;
        }
        self.silence.lasts(now);
        self.rtt.back_off();
        self.probe_window = true;
    }

    /// Loss recovery's own time has come.
    #[cold]
    fn on_recovery_deadline(&mut self, now: Instant) {
        match self.ask_recovery(now, |recovery, sender| recovery.on_deadline(sender)) {
            AfterDeadline::Nothing => {}
            AfterDeadline::Recover => self.stats.fast_retransmits += 1,
            AfterDeadline::Probe => {
                self.stats.tail_loss_probes += 1;
                //= RFC 8985, section 7.3: "regardless of whether a loss probe was sent, the sender MUST re-arm the RTO timer".
                self.timers.retransmit = Some(self.rtt.expiry(now));
            }
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        if self.silence.is_last(&self.config, self.state, now) {
            self.abort();
            return;
        }
        self.duplicate_acks = 0;
        self.retransmit.clear();
        let response = if self.is_handshaking() {
            None
        } else {
            self.call_sender_extension(now, |extension, sender| extension.on_timeout(sender))
        };
        match response.unwrap_or(TimeoutResponse::Standard) {
            TimeoutResponse::RetransmitOnly => {
                self.stats.timeouts_spared += 1;
                self.recovery.on_spared_timeout(&mut self.flight);
                self.is_recovering = self.recovery.is_recovering();
                self.rtt.stop_timing();
                self.retransmit.push(self.flight.una);
            }
            TimeoutResponse::Standard => {
                self.silence.lasts(now);
                self.suspect_black_hole(now);
                if self.silence.has_linear_timeout(&self.config, self.state) {
                    self.rtt.stop_timing();
                } else {
                    self.rtt.back_off();
                }
                // It is set when the segment leaves, with the back-off.
                self.timers.retransmit = None;
                let after = if self.is_handshaking() {
                    AfterTimeout::GoBack
                } else {
                    self.ask_recovery(now, |recovery, sender| recovery.on_timeout(sender))
                };
                if after == AfterTimeout::GoBack {
                    self.flight.nxt = self.flight.una;
                }
            }
        }
    }
}
