//! Reno's fast retransmit and fast recovery (RFC 2001, sections 3 and 4).

use super::loss_recovery::{
    AfterAck, AfterDuplicate, AfterTimeout, DUPLICATE_ACK_THRESHOLD, LossRecovery, Sender,
};
use crate::flight::Flight;

/// Retransmits on the third duplicate ACK, inflates cwnd by one segment for each further one, and
/// ends with the first ACK of new data, partial or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct FastRecovery {
    /// In recovery: cwnd at its end.
    cwnd_afterwards: Option<u32>,
}

impl LossRecovery for FastRecovery {
    //= RFC 2001, section 4: "When the third duplicate ACK in a row is received"
    fn counts_duplicates_in_a_row(&self) -> bool {
        true
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        let flight = &mut *sender.flight;
        if self.is_recovering() {
            flight.cwnd = flight.cwnd.saturating_add(flight.mss);
            return AfterDuplicate::Wait;
        }
        if count != DUPLICATE_ACK_THRESHOLD {
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
        self.cwnd_afterwards = Some(reduction.cwnd);
        AfterDuplicate::Retransmit(flight.una)
    }

    fn on_new_ack(&mut self, _acked: u32, sender: &mut Sender<'_>) -> AfterAck {
        match self.cwnd_afterwards.take() {
            None => AfterAck::Open,
            Some(cwnd) => {
                sender.flight.cwnd = cwnd;
                AfterAck::WindowSet
            }
        }
    }

    fn enter_without_reduction(&mut self, cwnd: u32, sender: &mut Sender<'_>) {
        self.cwnd_afterwards.get_or_insert(sender.flight.cwnd);
        sender.flight.cwnd = cwnd;
    }

    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        sender.congestion.on_timeout(sender.flight);
        self.cwnd_afterwards = None;
        AfterTimeout::GoBack
    }

    fn on_spared_timeout(&mut self, flight: &mut Flight) {
        if let Some(cwnd) = self.cwnd_afterwards.take() {
            flight.cwnd = cwnd;
        }
    }

    fn is_recovering(&self) -> bool {
        self.cwnd_afterwards.is_some()
    }
}
