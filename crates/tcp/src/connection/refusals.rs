//! Segments that are not processed: for what reason, and how they are answered.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::ip_template::Socket;
use crate::stats::{Refusal, Refused};

/// A connection challenges no more than one segment in this time (Linux `tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// Counts the segments that are refused. At most one ACK in [`CHALLENGE_INTERVAL`] is a challenge.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    counts: Refused,
    /// When a segment that may be forged was answered last.
    challenged_at: Option<Instant>,
}

impl Refusals {
    pub(super) const fn count(&mut self, reason: Refusal) {
        self.counts.add(reason);
    }

    pub(super) const fn counts(&self) -> Refused {
        self.counts
    }

    /// Whether a segment that may be forged is to be answered with an ACK now: not each of many is (RFC 5961,
    /// section 7). The limit is the connection's own: one for all connections would show an attacker the others.
    pub(super) fn may_challenge(&mut self, now: Instant) -> bool {
        let may = self.challenged_at.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL);
        if may {
            self.challenged_at = Some(now);
        }
        may
    }
}

/// A reset that has to leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reset {
    pub(super) to: Socket,
    pub(super) seq: Seq,
    pub(super) ack: Option<Seq>,
    /// It ends the connection, and does not answer a segment that belongs to none.
    pub(super) is_of_connection: bool,
}

impl Reset {
    /// The answer to a segment that belongs to no connection (RFC 9293, section 3.10.7.1); none to a reset.
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
