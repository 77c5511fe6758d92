//! The mobile host's part: it sends again what a negative acknowledgment lists.

use lasthop_packet::{Packet, Seq};
use lasthop_tcp::{DuplicateAckResponse, SenderControl, SenderExtension};

use super::nack::Nack;

/// Segments of one hole that are sent again at most; the rest with the next one.
const MOST: u32 = 64;

/// Sends again at once what did not come off the hop.
#[derive(Clone, Copy, Debug, Default)]
pub struct NackSender {
    /// The ACK in hand is a negative acknowledgment: no duplicate ACK of the receiver's.
    is_nack: bool,
    /// The segments that were sent again last.
    again: [Option<Seq>; 16],
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
            for _ in 0..MOST {
                if !seq.before(*right) {
                    break;
                }
                sender.retransmit(seq);
                self.again[self.next] = Some(seq);
                self.next = (self.next + 1) % self.again.len();
                seq += mss;
            }
        }
    }

    /// What duplicate ACKs of the receiver are for was sent again already. A negative acknowledgment
    /// for something else says nothing of the oldest segment.
    fn on_duplicate_ack(&mut self, _count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let una = sender.flight().una;
        let Some(found) = self.again.iter().position(|again| *again == Some(una)) else {
            return if self.is_nack { DuplicateAckResponse::Ignore } else { DuplicateAckResponse::Standard };
        };
        if !self.is_nack {
            self.again[found] = None;
        }
        let cwnd = sender.flight().cwnd;
        DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: false }
    }
}
