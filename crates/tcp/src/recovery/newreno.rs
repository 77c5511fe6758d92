//! NewReno's fast recovery (RFC 6582), for receivers that do not send SACK blocks.
//!
//! What the RFC leaves open, and what we chose:
//! - Every partial ACK restarts the timer: the slow-but-steady variant. In section 3.2 only the
//!   first one does (the impatient variant), but RFC 6298, section 5.3, requires it for every ACK
//!   of new data, and Linux and FreeBSD do the same: a recovery from many losses takes as many
//!   round trips, and no time-out.
//! - At the end cwnd becomes ssthresh, not the minimum of ssthresh and `FlightSize`: when a scheme
//!   spares a loss, the full window must be restored.
//! - The advance of the last ACK distinguishes duplicate ACKs below `recover` that indicate a loss
//!   from those that unnecessary retransmissions cause (section 4.1). The timestamps of section 4.2
//!   would need negotiation with the peer.
//! - `recover` is empty before the first loss. With the initial sequence number in it, as in step
//!   1, duplicate ACKs for the very first segment would cover no more than `recover`, and its loss
//!   would wait for the timer.

use lasthop_packet::{Instant, Seq};

use super::loss_recovery::{
    AfterAck, AfterDuplicate, AfterTimeout, DUPLICATE_ACK_THRESHOLD, LossRecovery, Sender,
};
use crate::flight::Flight;

/// Retransmits on the third duplicate ACK as Reno does, stays in recovery until all data sent by
/// then is acknowledged, and retransmits a further segment with every ACK of only some of it (a
/// partial ACK).
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    /// In recovery: cwnd at its end.
    cwnd_afterwards: Option<u32>,
    /// The RFC's `recover` plus 1: the end of the data sent when a loss was last inferred. None as
    /// soon as an ACK is above it: after sequence numbers wrap, an old value would look like a new
    /// one (section 6).
    recover: Option<Seq>,
    /// Octets that the last ACK of new data acknowledged.
    last_advance: u32,
    /// Whether a spurious time-out is undone (RFC 3522, 4015).
    undo: bool,
    /// The sender before the first of the time-outs since the last ACK of new data.
    before_timeout: Option<BeforeTimeout>,
}

/// The sender's state before a time-out.
#[derive(Clone, Copy, Debug)]
struct BeforeTimeout {
    cwnd: u32,
    ssthresh: u32,
    /// When the timer expired: no retransmission was sent earlier.
    at: Instant,
}

impl NewReno {
    /// Creates a recovery that undoes a time-out if `undo` is set and an ACK echoes a timestamp
    /// from before it.
    pub fn with_undo(undo: bool) -> Self {
        Self { undo, ..Self::default() }
    }

    /// Whether duplicate ACKs indicate a lost segment, and not unnecessary retransmissions.
    ///
    //= RFC 6582, section 3.2, step 2: "the TCP sender first checks the value of recover to see if the Cumulative Acknowledgment
    //= field covers more than recover. [...] If not, the TCP does not enter fast retransmit and does not reset ssthresh."
    //= RFC 6582, section 4.1, step 2*: if it does not, "check to see if the congestion window is greater than SMSS bytes and
    //= the difference between highest_ack and prev_highest_ack is at most 4*SMSS bytes".
    fn is_loss(&self, flight: &Flight) -> bool {
        let covers_more = self.recover.is_none_or(|recover| flight.una.after(recover));
        covers_more || (flight.cwnd > flight.mss && self.last_advance <= 4 * flight.mss)
    }

    /// Undoes a time-out if the first ACK of new data is for a segment that was sent before it.
    ///
    //= RFC 3522, section 3.2, step 5: the timestamp echoed is smaller than that of the retransmission.
    //= RFC 4015, section 3.2: what comes next is new data. As in Linux, the window is what it was, or what it has become
    //= since; the RFC would have it grow from what is in flight.
    fn undo_if_spurious(&mut self, sender: &mut Sender<'_>) {
        let Some(before) = self.before_timeout.take() else { return };
        let sent = sender.queue.delivery().echo.and_then(|echo| echo.sent);
        // The timestamp clock ticks once a millisecond; a retransmission can be sent in the same
        // millisecond in which the timer expires.
        if sent.is_none_or(|sent| sent.as_millis() >= before.at.as_millis()) {
            return;
        }
        let flight = &mut *sender.flight;
        flight.nxt = flight.max;
        if !sender.congestion.rules_recovery() {
            flight.cwnd = flight.cwnd.max(before.cwnd);
            flight.ssthresh = flight.ssthresh.max(before.ssthresh);
        }
        sender.congestion.on_undo(flight);
        sender.undone = true;
    }

    fn enter(&mut self, cwnd_afterwards: u32, flight: &Flight) {
        self.cwnd_afterwards = Some(cwnd_afterwards);
        self.recover = Some(flight.max);
        self.before_timeout = None;
    }
}

impl LossRecovery for NewReno {
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        let flight = &mut *sender.flight;
        if self.is_recovering() {
            flight.cwnd = flight.cwnd.saturating_add(flight.mss);
            return AfterDuplicate::Wait;
        }
        if count != DUPLICATE_ACK_THRESHOLD || !self.is_loss(flight) {
            return AfterDuplicate::Wait;
        }
        self.on_loss(count, sender)
    }

    fn on_loss(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        let flight = &mut *sender.flight;
        let reduction = sender.congestion.on_loss(flight);
        flight.ssthresh = reduction.ssthresh;
        // Each duplicate ACK is a segment that has left the network.
        flight.cwnd = reduction.cwnd + count * flight.mss;
        self.enter(reduction.cwnd, flight);
        AfterDuplicate::Retransmit(flight.una)
    }

    fn on_new_ack(&mut self, acked: u32, sender: &mut Sender<'_>) -> AfterAck {
        self.undo_if_spurious(sender);
        let flight = &mut *sender.flight;
        self.last_advance = acked;
        let is_partial = self.recover.is_some_and(|recover| flight.una.before(recover));
        if self.recover.is_some_and(|recover| flight.una.after(recover)) {
            self.recover = None;
        }
        match self.cwnd_afterwards {
            None => AfterAck::Open,
            //= RFC 6582, section 3.2, step 3, partial acknowledgments: "retransmit the first unacknowledged segment. Deflate the
            //= congestion window by the amount of new data acknowledged by the Cumulative Acknowledgment field. If the partial
            //= ACK acknowledges at least one SMSS of new data, then add back SMSS bytes to the congestion window."
            Some(_) if is_partial => {
                let added_back = if acked >= flight.mss { flight.mss } else { 0 };
                // If duplicate ACKs were lost, cwnd was inflated less; one segment is always
                // allowed.
                flight.cwnd = (flight.cwnd.saturating_sub(acked) + added_back).max(flight.mss);
                AfterAck::Retransmit(flight.una)
            }
            //= RFC 6582, section 3.2, step 3, full acknowledgments: "Set cwnd to [...] ssthresh, where ssthresh is the value set
            //= when fast retransmit was entered [...]. Exit the fast recovery procedure."
            Some(cwnd) => {
                self.cwnd_afterwards = None;
                flight.cwnd = cwnd;
                AfterAck::WindowSet
            }
        }
    }

    /// No timestamp can undo this reduction.
    fn on_congestion_mark(&mut self, sender: &mut Sender<'_>) {
        self.before_timeout = None;
        if !self.is_recovering() {
            sender.congestion.reduce(sender.flight);
        }
    }

    fn enter_without_reduction(&mut self, cwnd: u32, sender: &mut Sender<'_>) {
        if !self.is_recovering() {
            self.enter(sender.flight.cwnd, sender.flight);
        }
        sender.flight.cwnd = cwnd;
    }

    //= RFC 6582, section 3.2, step 4: "After a retransmit timeout, record the highest sequence number transmitted in the variable
    //= recover, and exit the fast recovery procedure if applicable."
    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        if self.undo && !self.is_recovering() {
            let Flight { cwnd, ssthresh, .. } = *sender.flight;
            self.before_timeout.get_or_insert(BeforeTimeout { cwnd, ssthresh, at: sender.now });
        }
        sender.congestion.on_timeout(sender.flight);
        self.recover = Some(sender.flight.max);
        self.cwnd_afterwards = None;
        AfterTimeout::GoBack
    }

    fn on_spared_timeout(&mut self, flight: &mut Flight) {
        self.recover = Some(flight.max);
        self.before_timeout = None;
        if let Some(cwnd) = self.cwnd_afterwards.take() {
            flight.cwnd = cwnd;
        }
    }

    fn is_recovering(&self) -> bool {
        self.cwnd_afterwards.is_some()
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Instant;

    use super::*;
    use crate::congestion::Congestion;
    use crate::retransmission_queue::RetransmissionQueue;
    use crate::rtt::RtoConfig;
    use crate::rtt::RttEstimator;

    #[test]
    fn an_old_recover_does_not_prevent_fast_retransmit_after_sequence_numbers_wrap() {
        let (cwnd, ssthresh, peer_window) = (10_000, 10_000, 65_535);
        let seq = Seq(1000);
        let mut flight = Flight { una: seq, nxt: seq, max: seq, peer_window, mss: 1000, cwnd, ssthresh };
        let mut congestion = Congestion::Reno.begin(None);
        let mut sender = Sender {
            now: Instant::ZERO,
            flight: &mut flight,
            congestion: congestion.as_mut(),
            queue: &mut RetransmissionQueue::default(),
            rtt: &RttEstimator::new(RtoConfig::default()),
            timer: None,
            undone: false,
        };
        let mut recovery = NewReno::default();
        recovery.on_timeout(&mut sender);
        for _ in 0..3 {
            sender.flight.una += 1 << 30;
            assert_eq!(recovery.on_new_ack(1 << 30, &mut sender), AfterAck::Open);
        }
        sender.flight.max = sender.flight.una + 10_000;
        let lost = recovery.on_duplicate_ack(DUPLICATE_ACK_THRESHOLD, &mut sender);
        assert_eq!(lost, AfterDuplicate::Retransmit(sender.flight.una));
    }
}
