//! What there is to send, where that is seen at a glance: after most packets nothing, or an ACK. Where it
//! is not, `output` finds out, with the same result.

use super::super_packet::SuperPacket;
use super::{Connection, State};

impl Connection {
    /// Whether there is nothing to send at a glance, as after most packets: at a receiver that has just
    /// acknowledged, or a sender whose window is full. [`Self::poll_transmit`] would find nothing, either.
    #[expect(clippy::inline_always, reason = "after every packet; measured")]
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        !self.receive.is_ack_due()
            && (self.buffer.is_empty() || self.is_window_full())
            && self.has_nothing_special()
    }

    /// Whether new data and ACKs are all that there may be to send.
    #[inline]
    fn has_nothing_special(&self) -> bool {
        self.state == State::Established
            && !self.close_requested
            && !self.retransmission_goes_alone
            && self.reset.is_none()
            && self.retransmit.is_empty()
    }

    /// Whether new data has to wait for an ACK, and nothing else is to be done for it.
    #[inline]
    fn is_window_full(&self) -> bool {
        let flight = &self.flight;
        let (in_flight, window) = (flight.in_flight(), flight.window());
        in_flight + self.segment_room() > window
            && in_flight > 0
            && flight.nxt == flight.max
            && self.duplicate_acks == 0
            && self.buffer.len() > u64::from(window)
            && self.timers.retransmit.is_some()
            && !self.is_recovering
            && self.pacer.is_none()
            && self.super_packet.is_none()
    }

    /// Whether an ACK is all that there is to send, as at the receiver of a transfer.
    #[inline]
    pub(super) fn only_acknowledges(&self) -> bool {
        self.receive.is_ack_due()
            && self.buffer.is_empty()
            && self.has_nothing_special()
            && self.flight.una == self.flight.max
            && !self.is_recovering
            && self.pacer.is_none()
            && self.super_packet.is_none_or(SuperPacket::is_unused)
    }
}
