//! The mobile host's side: it retransmits the holes listed by a negative acknowledgment.

use lasthop_packet::{Packet, Seq};
use lasthop_tcp::{DuplicateAckResponse, SenderControl, SenderExtension};

use super::nack::Nack;

/// Segments of one hole that are retransmitted at most; the next NACK covers the rest.
const MAX_SEGMENTS: u32 = 64;

/// Retransmits at once the segments that were lost on the hop.
#[derive(Clone, Copy, Debug, Default)]
pub struct NackSender {
    /// The current ACK is a negative acknowledgment, not a duplicate ACK of the receiver.
    is_nack: bool,
    /// The segments retransmitted last.
    retransmitted: [Option<Seq>; 16],
    next: usize,
}

impl SenderExtension for NackSender {
    fn on_ack(&mut self, ack: &Packet, sender: &mut SenderControl<'_>) {
        let options = ack.tcp().and_then(|tcp| tcp.options.unknown.as_deref());
        let nack = options.and_then(Nack::among);
        self.is_nack = nack.is_some();
        let mss = sender.flight().mss.max(1);
        for (left, right) in nack.unwrap_or_default().holes() {
            let mut seq = *left;
            for _ in 0..MAX_SEGMENTS {
                if !seq.before(*right) {
                    break;
                }
                sender.retransmit(seq);
                self.retransmitted[self.next] = Some(seq);
                self.next = (self.next + 1) % self.retransmitted.len();
                seq += mss;
            }
        }
    }

    /// The segment that duplicate ACKs of the receiver indicate was retransmitted already. A
    /// negative acknowledgment of another segment says nothing about the oldest.
    fn on_duplicate_ack(&mut self, _count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let una = sender.flight().una;
        let Some(found) = self.retransmitted.iter().position(|retransmitted| *retransmitted == Some(una))
        else {
            return if self.is_nack { DuplicateAckResponse::Ignore } else { DuplicateAckResponse::Standard };
        };
        if !self.is_nack {
            self.retransmitted[found] = None;
        }
        let cwnd = sender.flight().cwnd;
        DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: false }
    }
}
