//! Refused segments: counts by reason, and answers.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::ip_template::Socket;
use crate::stats::{Refusal, Refused};

/// The minimum time between two challenge ACKs (Linux `tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// Counts refused segments, and limits challenge ACKs to one in [`CHALLENGE_INTERVAL`].
#[derive(Debug, Default)]
pub(super) struct Refusals {
    counts: Refused,
    /// The time of the last challenge ACK.
    challenged_at: Option<Instant>,
}

impl Refusals {
    pub(super) const fn count(&mut self, reason: Refusal) {
        self.counts.add(reason);
    }

    pub(super) const fn counts(&self) -> Refused {
        self.counts
    }

    /// Whether a challenge ACK may be sent now (RFC 5961, section 7). The limit is the connection's own: a
    /// limit for all connections would show an attacker the others.
    pub(super) fn may_challenge(&mut self, now: Instant) -> bool {
        let may = self.challenged_at.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL);
        if may {
            self.challenged_at = Some(now);
        }
        may
    }
}

/// A reset to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reset {
    pub(super) to: Socket,
    pub(super) seq: Seq,
    pub(super) ack: Option<Seq>,
    /// It ends the connection; false: it answers a segment that belongs to none.
    pub(super) is_of_connection: bool,
}

impl Reset {
    /// The answer to a segment that belongs to no connection (RFC 9293, section 3.10.7.1); none for a reset.
    pub(super) fn answering(packet: &Packet, tcp: &Tcp) -> Option<Self> {
        if tcp.flags.has(TcpFlags::RST) {
            return None;
        }
        let (seq, ack) = if tcp.flags.has(TcpFlags::ACK) {
            (tcp.ack, None)
        } else {
            (Seq(0), Some(tcp.seq + packet.segment_len()))
        };
        Some(Self { to: (packet.ip().source, tcp.source_port), seq, ack, is_of_connection: false })
    }
}
