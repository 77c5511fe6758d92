//! 4.3BSD Tahoe's fast retransmit (Jacobson 1988; Fall and Floyd 1996, section 2).
//!
//! What we chose: everything from the loss on is retransmitted, as in the simulator of Fall and
//! Floyd, in ns-2 and after a time-out here. 4.3BSD sent the one segment and continued from where
//! it had been. As there, the sender does not remember how far it had sent: three duplicate ACKs
//! caused by unnecessary retransmissions count as a loss.

use super::loss_recovery::{
    AfterAck, AfterDuplicate, AfterTimeout, DUPLICATE_ACK_THRESHOLD, LossRecovery, Sender,
};
use crate::flight::Flight;

/// Treats the third duplicate ACK as an early time-out: slow start with a window of one segment,
/// beginning at the lost one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tahoe {
    /// A scheme spares the loss of the first outstanding segment: further duplicate ACKs carry no
    /// new information.
    is_spared: bool,
}

impl LossRecovery for Tahoe {
    fn counts_duplicates_in_a_row(&self) -> bool {
        true
    }

    fn on_duplicate_ack(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        if count != DUPLICATE_ACK_THRESHOLD || self.is_spared {
            return AfterDuplicate::Wait;
        }
        self.on_loss(count, sender)
    }

    fn on_loss(&mut self, _count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        let flight = &mut *sender.flight;
        flight.ssthresh = sender.congestion.on_loss(flight).ssthresh;
        flight.cwnd = flight.mss;
        AfterDuplicate::GoBack
    }

    fn on_new_ack(&mut self, _acked: u32, _sender: &mut Sender<'_>) -> AfterAck {
        self.is_spared = false;
        AfterAck::Open
    }

    /// Tahoe has no recovery phase: cwnd is unchanged.
    fn enter_without_reduction(&mut self, _cwnd: u32, _sender: &mut Sender<'_>) {
        self.is_spared = true;
    }

    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        sender.congestion.on_timeout(sender.flight);
        self.is_spared = false;
        AfterTimeout::GoBack
    }

    fn on_spared_timeout(&mut self, _flight: &mut Flight) {
        self.is_spared = false;
    }

    fn is_recovering(&self) -> bool {
        self.is_spared
    }
}
