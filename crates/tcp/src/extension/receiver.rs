//! The hooks for schemes in a TCP receiver.

use lasthop_packet::{Instant, Packet, Seq};

use crate::receive::ReceiveSide;

/// A scheme's part of the receiver. By default, hooks do nothing.
pub trait ReceiverExtension: Send {
    /// An acceptable segment arrived: it has passed the checks of RFC 9293, section 3.10.7.4, and of
    /// RFC 7323, section 5 (PAWS). It is not processed yet: `receiver` is in the state before it. Not
    /// called for refused segments (outside the window, with an old timestamp, or with an
    /// acknowledgment of unsent data), nor for SYN and RST.
    ///
    /// For reports of the path in the header: a mark of an agent (ELN), a measurement to echo (C3TCP),
    /// timestamps (WTCP).
    fn on_segment(&mut self, segment: &Packet, receiver: &mut ReceiverControl<'_>) {
        let _ = (segment, receiver);
    }

    /// A segment with ACK is about to be sent: a pure ACK or data. Not called for SYN and RST: the bits
    /// of a SYN negotiate (RFC 3168, section 6.1.1; RFC 9768, section 3.1), and neither has a window
    /// that a scheme could set (RFC 7323, section 2.2).
    ///
    /// For reports to the sender: a bit on duplicate ACKs (ELN), a window (C3TCP).
    fn on_ack_sent(&mut self, ack: &mut OutgoingAck<'_>, receiver: &mut ReceiverControl<'_>) {
        let _ = (ack, receiver);
    }
}

/// A segment with ACK that is about to be sent. Only bits without a meaning in TCP can be set: the
/// numbers and options are TCP's, and [`ReceiverControl::limit_window`] changes the window.
#[derive(Debug)]
pub struct OutgoingAck<'a> {
    packet: &'a mut Packet,
}

impl<'a> OutgoingAck<'a> {
    pub(crate) const fn new(packet: &'a mut Packet) -> Self {
        Self { packet }
    }

    /// The segment. A limit that is set now is not in its window yet, but will be when it is sent.
    pub const fn packet(&self) -> &Packet {
        self.packet
    }

    /// Sets the reserved bits: see [`Packet::set_tcp_reserved_bits`].
    pub fn set_reserved_bits(&mut self, bits: u8) {
        self.packet.set_tcp_reserved_bits(bits);
    }
}

/// The part of the receiver that an extension reads and changes.
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

    /// RCV.NXT: the acknowledgment number of an ACK now.
    pub const fn next(&self) -> Seq {
        self.receive.next()
    }

    /// Whether there is data above a gap: an ACK now reports loss or reordering.
    pub fn has_gap(&self) -> bool {
        self.receive.has_gap()
    }

    /// The rest of the advertised window, in octets.
    pub fn window(&self) -> u32 {
        self.receive.window()
    }

    /// Limits the advertised window to this number of octets, from the ACK that is about to be sent on,
    /// until another limit is set. TCP's own bounds still apply: a limit above the free buffer has no
    /// effect. The window's right edge never moves to the left: a lower limit is reached as data
    /// arrives.
    ///
    /// Raising the limit while there is a gap changes the window of ACKs, which then are no duplicates
    /// for a sender that follows RFC 5681, section 2.
    ///
    /// A window field rounds a limit down to its unit (RFC 7323, section 2.3). A limit below the unit
    /// closes the window: the peer then sends window probes until the limit is raised.
    ///
    //= RFC 9293, section 3.8.6: "A TCP receiver SHOULD NOT shrink the window, i.e., move the right
    //= window edge to the left (SHLD-14)."
    pub fn limit_window(&mut self, octets: u32) {
        self.receive.limit_window(octets);
    }
}
