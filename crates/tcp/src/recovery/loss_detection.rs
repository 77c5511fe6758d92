//! Which segments are lost, by when they left (RFC 8985, section 6.2): those that one was sent after
//! which has arrived, and that had time enough to arrive out of order.

use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

use lasthop_packet::Instant;

use super::loss_recovery::{DUPLICATE_ACK_THRESHOLD, Sender};
use super::reordering_window::ReorderingWindow;
use crate::retransmission_queue::Newest;

/// What loss detection remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct LossDetection {
    /// `RACK.segment`: of all that was delivered, what was sent last.
    newest: Option<Newest>,
    window: ReorderingWindow,
    /// When all segments that were overtaken so far count as lost.
    overdue_at: Option<Instant>,
}

impl LossDetection {
    /// An ACK came; the queue knows what it delivered. `is_for_probe` if it reports a tail loss probe
    /// as a duplicate.
    pub(super) fn on_delivery(&mut self, is_for_probe: bool, sender: &Sender<'_>) {
        let delivery = sender.queue.delivery();
        //= RFC 8985, section 6.2, step 2: RACK.segment is the latest sent of all that was delivered.
        if let Some(newest) = delivery.newest {
            self.newest = Some(self.newest.map_or(newest, |known| known.followed_by(newest)));
        }
        self.window.on_delivery(delivery, is_for_probe, sender.flight);
    }

    /// What was taken for lost and sent again had arrived.
    pub(super) const fn on_late_original(&mut self) {
        self.window.on_late_original();
    }

    /// A recovery is over.
    pub(super) const fn on_recovery_over(&mut self) {
        self.window.on_recovery_over();
    }

    /// The round trip of what was delivered last; zero before anything was.
    pub(super) fn round_trip(&self) -> Duration {
        self.newest.map_or(Duration::ZERO, |newest| newest.rtt)
    }

    /// When to look for losses though no ACK comes.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.overdue_at
    }

    /// There is nothing to wait for.
    pub(super) const fn forget_deadline(&mut self) {
        self.overdue_at = None;
    }

    /// Marks what is lost, and returns its octets. `is_repairing` if losses are being repaired
    /// already.
    ///
    //= RFC 8985, section 6.2, step 5: RACK_detect_loss ().
    pub(super) fn detect(&mut self, is_repairing: bool, sender: &mut Sender<'_>) -> u32 {
        self.overdue_at = None;
        let Some(newest) = self.newest else { return 0 };
        if !is_repairing && sender.queue.is_in_order() {
            return 0;
        }
        let patience = newest.rtt + self.patience(is_repairing, sender);
        let (now, mut latest) = (sender.now, None::<Instant>);
        let lost = sender.mark_lost(|segment| {
            if !newest.is_after(segment.sent, segment.end) {
                // What lies behind a segment that was sent once left after it, the last time too.
                return if segment.was_sent_again { Continue(false) } else { Break(()) };
            }
            let overdue_at = segment.sent + patience;
            if overdue_at > now {
                //= RFC 8985, section 6.2, step 5: "timeout = max(remaining, timeout)".
                latest = latest.max(Some(overdue_at));
            }
            Continue(overdue_at <= now)
        });
        self.overdue_at = latest;
        lost
    }

    fn patience(&self, is_repairing: bool, sender: &Sender<'_>) -> Duration {
        let is_obvious = is_repairing || sender.queue.sacked() >= DUPLICATE_ACK_THRESHOLD * sender.flight.mss;
        self.window.duration(is_obvious, sender.queue.min_rtt(), sender.rtt.srtt())
    }
}
