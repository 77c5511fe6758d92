//! ELN's extension of the TCP sender: it retransmits the segment that a marked duplicate ACK is
//! for, and keeps its window.

use lasthop_packet::{Packet, Seq};
use lasthop_tcp::{DuplicateAckResponse, SenderControl, SenderExtension};

/// ELN's bit: the first of the four reserved bits of the TCP header (RFC 9293, section 3.1), the
/// last of which is left to accurate ECN (RFC 9768). The paper does not name one; a bit takes no
/// room in an ACK full of SACK blocks, as an option of an experimental kind (RFC 6994) would.
pub const ELN: u8 = 0b100;

/// Retransmits losses on the hop, without a reduction of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct ElnSender {
    /// Whether the current ACK is marked.
    is_marked: bool,
    /// The last segment retransmitted because of a mark.
    retransmitted: Option<Seq>,
}

impl SenderExtension for ElnSender {
    fn on_ack(&mut self, ack: &Packet, _sender: &mut SenderControl<'_>) {
        self.is_marked = ack.tcp_reserved_bits() & ELN != 0;
    }

    fn on_duplicate_ack(&mut self, _count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let una = sender.flight().una;
        if !self.is_marked || self.retransmitted == Some(una) {
            return DuplicateAckResponse::Standard;
        }
        self.retransmitted = Some(una);
        let flight = sender.flight();
        let cwnd = flight.cwnd.saturating_add(flight.mss);
        DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: true }
    }
}
