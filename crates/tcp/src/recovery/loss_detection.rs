//! Loss detection by times of transmission (RFC 8985, section 6.2): a segment is lost if a segment
//! sent after it was delivered, and it has had enough time to arrive out of order.

use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

use lasthop_packet::Instant;

use super::loss_recovery::{DUPLICATE_ACK_THRESHOLD, Sender};
use super::reordering_window::ReorderingWindow;
use crate::retransmission_queue::{Newest, Outstanding};

/// The state of loss detection.
#[derive(Clone, Debug, Default)]
pub(super) struct LossDetection {
    /// `RACK.segment`: of all delivered segments, the one sent last.
    newest: Option<Newest>,
    window: ReorderingWindow,
    /// When all segments overtaken so far count as lost.
    overdue_at: Option<Instant>,
}

impl LossDetection {
    /// Processes an ACK, whose delivered data is recorded in the queue. `is_for_probe` if the ACK
    /// reports a tail loss probe as a duplicate.
    pub(super) fn on_delivery(&mut self, is_for_probe: bool, sender: &Sender<'_>) {
        let delivery = sender.queue.delivery();
        //= RFC 8985, section 6.2, step 2: RACK.segment is the latest sent of all that was delivered.
        if let Some(newest) = delivery.newest {
            self.newest = Some(self.newest.map_or(newest, |known| known.followed_by(newest)));
        }
        self.window.on_delivery(delivery, is_for_probe, sender.flight);
    }

    /// The original of a retransmitted segment was delivered.
    pub(super) const fn on_late_original(&mut self) {
        self.window.on_late_original();
    }

    /// A recovery has ended.
    pub(super) const fn on_recovery_end(&mut self) {
        self.window.on_recovery_end();
    }

    /// The round-trip time of the segment delivered last; zero before the first delivery.
    pub(super) fn round_trip(&self) -> Duration {
        self.newest.map_or(Duration::ZERO, |newest| newest.rtt)
    }

    /// When to detect losses if no ACK arrives before.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.overdue_at
    }

    /// Cancels the deadline.
    pub(super) const fn clear_deadline(&mut self) {
        self.overdue_at = None;
    }

    /// Marks the lost segments, and returns their octets. `is_repairing` if losses are already
    /// being repaired.
    ///
    //= RFC 8985, section 6.2, step 5: RACK_detect_loss ().
    pub(super) fn detect(&mut self, is_repairing: bool, sender: &mut Sender<'_>) -> u32 {
        self.overdue_at = None;
        let Some(newest) = self.newest else { return 0 };
        if !is_repairing && sender.queue.is_in_order() {
            return 0;
        }
        let allowance = newest.rtt + self.reordering_window(is_repairing, sender);
        let (now, mut latest) = (sender.now, None::<Instant>);
        let is_lost = |segment: &Outstanding| {
            if !newest.is_after(segment.sent, segment.end) {
                // Segments above one that was sent only once were last sent after it.
                return if segment.was_sent_again { Continue(false) } else { Break(()) };
            }
            let overdue_at = segment.sent + allowance;
            if overdue_at > now {
                //= RFC 8985, section 6.2, step 5: "timeout = max(remaining, timeout)".
                latest = latest.max(Some(overdue_at));
            }
            Continue(overdue_at <= now)
        };
        let Sender { queue, congestion, flight, .. } = sender;
        let lost = queue.mark_lost(is_lost, |lost| congestion.on_segment_lost(lost, now, flight));
        self.overdue_at = latest;
        lost
    }

    fn reordering_window(&self, is_repairing: bool, sender: &Sender<'_>) -> Duration {
        let is_obvious = is_repairing || sender.queue.sacked() >= DUPLICATE_ACK_THRESHOLD * sender.flight.mss;
        self.window.duration(is_obvious, sender.queue.min_rtt(), sender.rtt.srtt())
    }
}
