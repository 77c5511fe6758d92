//! What a scheme changes in a TCP receiver.

use lasthop_packet::{Instant, Packet, Seq};

use crate::receive::ReceiveSide;

/// A scheme's part of the receiver. Every hook defaults to nothing, which is what TCP does without
/// it.
pub trait ReceiverExtension: Send {
    /// A segment came and is acceptable: it has passed the checks of RFC 9293, section 3.10.7.4,
    /// and of RFC 7323, section 5 (PAWS). It is about to be processed, so that `receiver` is as it
    /// was before. What is answered and otherwise dropped (outside of the window, an old timestamp,
    /// an acknowledgment of what was never sent) is not shown, and neither are SYN and RST.
    ///
    /// For what the path reports to the receiver in the header: a mark of an agent (ELN), a measurement
    /// to echo (C3TCP), timestamps (WTCP).
    fn on_segment(&mut self, segment: &Packet, receiver: &mut ReceiverControl<'_>) {
        let _ = (segment, receiver);
    }

    /// A segment with ACK is about to leave: a pure ACK or data. SYN and RST are not shown: the
    /// bits of a SYN negotiate (RFC 3168, section 6.1.1; RFC 9768, section 3.1), and neither has a
    /// window that a scheme could set (RFC 7323, section 2.2).
    ///
    /// For what the receiver reports to the sender: a bit on duplicate ACKs (ELN), a window (C3TCP).
    fn on_ack_sent(&mut self, ack: &mut OutgoingAck<'_>, receiver: &mut ReceiverControl<'_>) {
        let _ = (ack, receiver);
    }
}

/// A segment with ACK that is about to leave. Its numbers and options are TCP's own business, and
/// its window goes by [`ReceiverControl::limit_window`]: only what TCP gives no meaning to can be
/// set.
#[derive(Debug)]
pub struct OutgoingAck<'a> {
    packet: &'a mut Packet,
}

impl<'a> OutgoingAck<'a> {
    pub(crate) const fn new(packet: &'a mut Packet) -> Self {
        Self { packet }
    }

    /// The segment. A limit that is set now is not in its window yet, but will be when it leaves.
    pub const fn packet(&self) -> &Packet {
        self.packet
    }

    /// Sets its reserved bits: see [`Packet::set_tcp_reserved_bits`].
    pub fn set_reserved_bits(&mut self, bits: u8) {
        self.packet.set_tcp_reserved_bits(bits);
    }
}

/// The receiver as an extension may see and steer it.
#[derive(Debug)]
pub struct ReceiverControl<'a> {
    now: Instant,
    receive: &'a mut ReceiveSide,
}

impl<'a> ReceiverControl<'a> {
    pub(crate) const fn new(receive: &'a mut ReceiveSide, now: Instant) -> Self {
        Self { now, receive }
    }

    /// The time of this call.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// RCV.NXT: what an ACK acknowledges now.
    pub const fn next(&self) -> Seq {
        self.receive.next()
    }

    /// Whether data waits for a gap to be filled: an ACK now reports a loss, or reordering.
    pub fn has_gap(&self) -> bool {
        self.receive.has_gap()
    }

    /// What is left of the window that was advertised, in octets.
    pub fn window(&self) -> u32 {
        self.receive.window()
    }

    /// From now on, has no more than so many octets offered, in the ACK that is about to leave
    /// already, until another limit is set. TCP's own bounds stay: a limit above what is free in
    /// the buffer has no effect. What was offered stays offered: the window's right edge never
    /// moves to the left, and a lower limit is reached as data arrives.
    ///
    /// A limit that rises while there is a gap changes the window in ACKs that are then no
    /// duplicates to a sender that goes by RFC 5681, section 2.
    ///
    /// A window field gives a limit rounded down to its unit (RFC 7323, section 2.3). A limit of
    /// less than that closes the window: the peer then goes by its window probes until the limit is
    /// raised.
    ///
    //= RFC 9293, section 3.8.6: "A TCP receiver SHOULD NOT shrink the window, i.e., move the right
    //= window edge to the left (SHLD-14)."
    pub fn limit_window(&mut self, octets: u32) {
        self.receive.limit_window(octets);
    }
}
