//! What happens when a timer expires.

use lasthop_packet::Instant;

use super::Connection;
use crate::extension::TimeoutResponse;

impl Connection {
    /// Does what is due. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.timers.time_wait) {
            self.enter_closed();
            return;
        }
        if due(self.timers.delayed_ack) {
            self.timers.delayed_ack = None;
            self.receive.on_ack_timer(self.rtt.rto());
        }
        if due(self.timers.persist) {
            self.timers.persist = None;
            self.on_window_probe_due();
        }
        if due(self.timers.retransmit) {
            self.timers.retransmit = None;
            self.on_timeout(now);
        }
    }

    /// The peer's window is still closed. As long as it answers, there is no end to asking (RFC
    /// 9293, section 3.8.6.1).
    fn on_window_probe_due(&mut self) {
        if self.unanswered >= self.config.max_timeouts {
            self.abort();
            return;
        }
        self.unanswered += 1;
        self.rtt.back_off();
        self.probe_window = true;
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        if self.unanswered >= self.config.max_timeouts {
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
                self.recovery.on_timeout(&mut self.flight);
                self.is_recovering = false;
                self.rtt.stop_timing();
                self.retransmit.push(self.flight.una);
            }
            TimeoutResponse::Standard => {
                self.unanswered += 1;
                self.rtt.back_off();
                // It is set when the segment leaves, with the back-off.
                self.timers.retransmit = None;
                // ssthresh is half of what was really in use: take it before recovery deflates
                // cwnd.
                if !self.is_handshaking() {
                    self.congestion.on_timeout(&mut self.flight);
                    let (cwnd, ssthresh) = (self.flight.cwnd, self.flight.ssthresh);
                    self.recovery.on_timeout(&mut self.flight);
                    self.is_recovering = false;
                    (self.flight.cwnd, self.flight.ssthresh) = (cwnd, ssthresh);
                }
                // Go back: everything from the oldest outstanding segment on is sent again
                // (4.3BSD).
                self.flight.nxt = self.flight.una;
            }
        }
    }
}
