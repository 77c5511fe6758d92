//! The tail loss probe (RFC 8985, section 7): if no ACK arrives that could reveal a loss, the
//! sender elicits one with new data or with a retransmission of the last segment.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::loss_recovery::{Chance, Next, Sender};
use crate::congestion::SentSegment;
use crate::retransmission_queue::Delivery;

//= RFC 8985, section 7.2: the receiver may hold an ACK of a single segment back (TLP.max_ack_delay).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
//= RFC 8985, section 7.2: without a round-trip time, one second.
const TIMEOUT_WITHOUT_RTT: Duration = Duration::from_secs(1);
/// The time that Linux adds if more than one segment is outstanding: two ticks of its clock.
const MIN_SLACK: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailLossProbe {
    /// When the probe is due.
    at: Option<Instant>,
    /// The probe is the next segment to send.
    is_due: bool,
    /// `TLP.end_seq` and `TLP.is_retrans` of the probe that is under way.
    under_way: Option<(Seq, bool)>,
}

/// The result of an ACK for the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterProbe {
    Nothing,
    /// The original of the retransmitted segment was lost.
    RepairedLoss,
}

impl TailLossProbe {
    pub(super) const fn at(&self) -> Option<Instant> {
        self.at
    }

    pub(super) const fn is_due(&self) -> bool {
        self.is_due
    }

    pub(super) const fn cancel(&mut self) {
        self.at = None;
        self.is_due = false;
    }

    //= RFC 8985, section 7.1: "Reset TLP.is_retrans and TLP.end_seq when initiating [...] fast recovery, or RTO recovery."
    pub(super) const fn on_recovery_begins(&mut self) {
        self.cancel();
        self.under_way = None;
    }

    /// Whether the probe under way is a retransmission.
    pub(super) const fn is_retransmission_under_way(&self) -> bool {
        matches!(self.under_way, Some((_, true)))
    }

    /// Whether the receiver reports the probe as a duplicate.
    pub(super) fn was_duplicate(&self, delivery: &Delivery) -> bool {
        self.under_way.zip(delivery.duplicate).is_some_and(|((end, _), (_, right))| right == end)
    }

    /// Restarts the timer; a probe that is due but not sent is canceled.
    ///
    //= RFC 8985, section 7.2: TLP_calc_PTO ().
    #[inline]
    pub(super) fn schedule(&mut self, sender: &Sender<'_>) {
        self.cancel();
        let Some(first) = sender.queue.first() else { return };
        //= RFC 8985, section 7.3: one probe is under way at most.
        if self.under_way.is_some() {
            return;
        }
        let timeout = match sender.rtt.srtt() {
            None => TIMEOUT_WITHOUT_RTT,
            Some(srtt) if first.end == sender.flight.max => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2 + MIN_SLACK,
        };
        let at = sender.now + timeout;
        self.at = Some(sender.timer.map_or(at, |timer| at.min(timer)));
    }

    /// Whether the timer has expired; the probe is then the next segment to send.
    pub(super) fn on_deadline(&mut self, now: Instant) -> bool {
        if self.at.is_none_or(|at| at > now) {
            return false;
        }
        self.at = None;
        self.is_due = true;
        true
    }

    /// The segment to send as a probe.
    ///
    //= RFC 8985, section 7.3: TLP_send_probe (): new data if there is some, whatever cwnd says, or else the last segment.
    pub(super) fn next(sender: &Sender<'_>, chance: Chance) -> Next {
        if chance.is_new_data {
            return Next::New;
        }
        sender.queue.last_missing().map_or(Next::Nothing, |last| {
            let len = last.octets().min(chance.room);
            Next::Again(last.seq + (last.octets() - len), len)
        })
    }

    /// A segment was sent. Returns whether it is the probe.
    #[inline]
    pub(super) const fn on_sent(&mut self, segment: &SentSegment, max: Seq) -> bool {
        if !self.is_due {
            return false;
        }
        self.is_due = false;
        self.under_way = Some((max, segment.is_retransmission));
        true
    }

    /// Processes an ACK.
    ///
    //= RFC 8985, section 7.4.2: TLP_process_ack ().
    #[inline]
    pub(super) fn on_ack(&mut self, delivery: &Delivery, advanced: bool, una: Seq) -> AfterProbe {
        let Some((end, is_retransmission)) = self.under_way else { return AfterProbe::Nothing };
        if una.before(end) {
            return AfterProbe::Nothing;
        }
        let is_plain_duplicate = !advanced && delivery.sacked == 0 && delivery.duplicate.is_none();
        if !is_retransmission || self.was_duplicate(delivery) || is_plain_duplicate {
            // The probe was unnecessary: both it and the original have arrived.
            self.under_way = None;
        } else if una.after(end) {
            self.under_way = None;
            return AfterProbe::RepairedLoss;
        }
        AfterProbe::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Congestion;
    use crate::flight::Flight;
    use crate::retransmission_queue::RetransmissionQueue;
    use crate::rtt::{RtoConfig, RttEstimator};

    // The pacer may hold a probe back until all data is acknowledged. With nothing outstanding and
    // a closed window, a probe that stays due blocks every other segment: the window is never
    // probed.
    #[test]
    fn a_probe_that_the_pacer_holds_is_canceled_when_nothing_is_outstanding() {
        let (una, peer_window, mss) = (Seq(1001), 0, 1000);
        let mut flight = Flight { una, nxt: una, max: una, peer_window, mss, cwnd: mss, ssthresh: mss };
        let mut congestion = Congestion::Reno.begin(None);
        let sender = Sender {
            now: Instant::from_secs(1),
            flight: &mut flight,
            congestion: congestion.as_mut(),
            queue: &mut RetransmissionQueue::default(),
            rtt: &RttEstimator::new(RtoConfig::default()),
            timer: None,
            undone: false,
        };
        let mut probe = TailLossProbe { at: Some(sender.now), ..TailLossProbe::default() };
        assert!(probe.on_deadline(sender.now) && probe.is_due());
        probe.schedule(&sender);
        assert!(!probe.is_due() && probe.at().is_none());
    }
}
