//! Our SYN and its acknowledgment.

use lasthop_packet::{Instant, Seq, TcpFlags};

use super::{Segment, SendSide};

impl SendSide {
    pub(crate) const fn iss(&self) -> Seq {
        self.iss
    }

    /// Our SYN, if it must be sent now.
    #[cold]
    pub(crate) fn next_syn(&mut self, flags: TcpFlags, now: Instant) -> Option<Segment> {
        if self.flight.nxt != self.iss {
            return None;
        }
        if self.flight.max == self.iss {
            self.rtt.time_segment(self.iss, now);
        } else {
            self.rtt.stop_timing();
            self.stats.retransmits += 1;
        }
        self.flight.nxt = self.iss + 1;
        self.flight.max = self.iss + 1;
        self.start_timer(now);
        Some(Segment::bare(self.iss, flags))
    }

    /// Our SYN was sent by the end whose place is taken, at `sent` if its answer measures the round trip.
    pub(crate) fn on_syn_sent_elsewhere(&mut self, sent: Option<Instant>) {
        self.flight.nxt = self.iss + 1;
        self.flight.max = self.iss + 1;
        if let Some(sent) = sent {
            self.rtt.time_segment(self.iss, sent);
        }
    }

    /// Treats our SYN as acknowledged, without a handshake.
    pub(crate) fn skip_syn(&mut self) {
        self.flight.una = self.iss + 1;
        self.flight.nxt = self.flight.una;
        self.flight.max = self.flight.una;
    }

    pub(crate) const fn repeat_syn(&mut self) {
        self.flight.nxt = self.flight.una;
    }

    /// Whether this number acknowledges our SYN, and that was sent.
    pub(crate) fn is_syn_acknowledged_by(&self, ack: Seq) -> bool {
        ack == self.iss + 1 && ack == self.flight.max
    }

    /// Our SYN is acknowledged.
    pub(crate) fn establish(&mut self, ack: Seq, now: Instant) {
        self.flight.una = ack;
        self.flight.nxt = self.flight.nxt.later(ack);
        self.retransmission_timer = None;
        self.rtt.on_ack(ack, now, &self.flight);
        //= RFC 5681, section 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly
        //= transmitted SYN MUST be one segment".
        if self.silence.expiries() > 0 {
            self.flight.cwnd = self.flight.mss;
        }
        self.silence.end();
        self.begin_model();
    }
}
