//! Refined ICMP's extension of the TCP sender (thesis, section 5.5.2).

use lasthop_packet::Seq;
use lasthop_tcp::flight::Flight;
use lasthop_tcp::{DuplicateAckResponse, IcmpNotice, SenderControl, SenderExtension, TimeoutResponse};

use super::Message;
use super::marks::Marks;

/// Retransmits a segment as soon as it learns that the link layer gave it up, without a reduction
/// of the window.
#[derive(Clone, Debug, Default)]
pub struct RefinedSender {
    retransmitted: Marks,
}

impl SenderExtension for RefinedSender {
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        match Message::from_notice(&notice) {
            // Rule 1. No mark is set, so that a loss beyond the wireless link still counts as
            // congestion.
            Some(Message::Defer) if sender.timer_runs_for(notice.seq) => sender.restart_timer(),
            // Rule 2.
            Some(Message::Retransmit) if begins_a_segment(notice.seq, sender.flight()) => {
                sender.retransmit(notice.seq);
                self.retransmitted.set(notice.seq);
            }
            _ => {}
        }
    }

    fn on_new_ack(&mut self, sender: &mut SenderControl<'_>) {
        self.retransmitted.forget_before(sender.flight().una);
    }

    fn on_duplicate_ack(&mut self, _count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        // Rules 3 and 5.
        let flight = sender.flight();
        if self.retransmitted.take(flight.una) {
            let cwnd = flight.cwnd.saturating_add(flight.mss);
            return DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: false };
        }
        DuplicateAckResponse::Standard
    }

    fn on_timeout(&mut self, _sender: &mut SenderControl<'_>) -> TimeoutResponse {
        // Rule 4.
        self.retransmitted.clear();
        TimeoutResponse::Standard
    }
}

/// Whether a segment of a sender that fills its segments can begin there: a forger has to guess a
/// number within the window, and only one per segment length is right.
fn begins_a_segment(seq: Seq, flight: &Flight) -> bool {
    (seq - flight.una).is_multiple_of(flight.mss.max(1))
}
