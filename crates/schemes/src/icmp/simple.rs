//! Simple ICMP's extension of the TCP sender (thesis, section 5.4.1).

use lasthop_tcp::recovery::DUPLICATE_ACK_THRESHOLD;
use lasthop_tcp::{DuplicateAckResponse, IcmpNotice, SenderControl, SenderExtension, TimeoutResponse};

use super::Message;
use super::marks::Marks;

/// Records which segments were deferred, and keeps the window when one of them is retransmitted.
#[derive(Clone, Debug, Default)]
pub struct SimpleSender {
    deferred: Marks,
}

impl SenderExtension for SimpleSender {
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        if Message::from_notice(&notice) != Some(Message::Defer) {
            return;
        }
        if sender.timer_runs_for(notice.seq) {
            sender.restart_timer();
        }
        self.deferred.set(notice.seq);
    }

    fn on_new_ack(&mut self, sender: &mut SenderControl<'_>) {
        self.deferred.forget_before(sender.flight().una);
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let flight = sender.flight();
        if count == DUPLICATE_ACK_THRESHOLD && self.deferred.take(flight.una) {
            let cwnd = flight.ssthresh.saturating_add(DUPLICATE_ACK_THRESHOLD * flight.mss);
            return DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit: true };
        }
        DuplicateAckResponse::Standard
    }

    fn on_timeout(&mut self, sender: &mut SenderControl<'_>) -> TimeoutResponse {
        if self.deferred.take(sender.flight().una) {
            return TimeoutResponse::RetransmitOnly;
        }
        self.deferred.clear();
        TimeoutResponse::Standard
    }
}
