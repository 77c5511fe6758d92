//! The next packet to send, and its header.

use lasthop_packet::{
    Ecn as Codepoint, Instant, Packet, Payload, Seq, Tcp, TcpFlags, TcpOptions, Timestamps,
};

use super::Connection;
use super::ecn::OFFER;
use crate::extension::{OutgoingAck, ReceiverControl};
use crate::negotiation::offered_shift;
use crate::send::Segment;
use crate::state::State;

impl Connection {
    /// Whether there is nothing to send, by a fast check of the most common cases: a receiver that has just
    /// acknowledged, and a sender whose window is full. [`Self::poll_transmit`] then returns `None`.
    #[expect(clippy::inline_always, reason = "after every packet; measured")]
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        !self.receive.is_ack_due()
            && self.send.is_idle(|| self.segment_room())
            && self.state == State::Established
            && self.reset.is_none()
    }

    /// The next packet to send now; call until `None` after every input.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = None;
        if !self.is_idle() {
            self.transmit_into(&mut packet, now);
        }
        packet
    }

    /// [`Self::poll_transmit`] without moving the packet, which is large. Returns whether there was one; if
    /// not, `place` is unchanged.
    #[inline(never)]
    pub fn transmit_into(&mut self, place: &mut Option<Packet>, now: Instant) -> bool {
        if self.reset.is_some() {
            *place = self.reset_segment(now);
            return true;
        }
        let Some(segment) = self.next_segment(now) else { return false };
        let reserved_bits =
            if self.receiver_extension.is_some() { self.call_receiver_extension(&segment, now) } else { 0 };
        self.write_segment(segment, reserved_bits, place, now);
        true
    }

    /// The next segment to send.
    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.only_acknowledges() {
            self.receive.acknowledged();
            return Some(Segment::bare(self.send.flight().max, TcpFlags::ACK));
        }
        let segment = match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => return self.next_in_handshake(now),
            _ => self.send.next_segment(self.segment_room(), now),
        };
        match &segment {
            None => return self.ack_or_nothing(now),
            Some(segment) if segment.flags.has(TcpFlags::FIN) => self.on_fin_sent(),
            Some(_) => {}
        }
        self.receive.acknowledged();
        segment
    }

    /// An ACK, if one is due.
    #[inline]
    fn ack_or_nothing(&mut self, now: Instant) -> Option<Segment> {
        if self.receive.is_ack_due() {
            self.receive.acknowledged();
            return Some(Segment::bare(self.send.bare_number(self.state), TcpFlags::ACK));
        }
        self.send.on_nothing_sent(now);
        None
    }

    /// Whether there is only an ACK to send, as at the receiver of a transfer.
    #[inline]
    fn only_acknowledges(&self) -> bool {
        self.receive.is_ack_due() && self.state == State::Established && self.send.is_at_rest()
    }

    /// Payload that fits into the next segment beside its SACK blocks (RFC 6691).
    #[inline]
    fn segment_room(&self) -> u32 {
        let room = self.send.segment_room();
        if !self.negotiated.sack || !self.receive.has_report() {
            return room;
        }
        let blocks = self.receive.sack_blocks(self.negotiated.max_sack_blocks());
        room.saturating_sub(4 + 8 * blocks.as_slice().len() as u32).max(1)
    }

    /// Our SYN or SYN-ACK.
    #[cold]
    fn next_in_handshake(&mut self, now: Instant) -> Option<Segment> {
        let answers = self.state == State::SynReceived;
        let flags = if answers { TcpFlags::SYN.with(TcpFlags::ACK) } else { TcpFlags::SYN };
        let ecn = match self.ecn {
            Some(_) if answers => TcpFlags::ECE,
            //= RFC 3168, section 6.1.1.1: a SYN without an answer is retransmitted without ECN.
            _ if !answers && self.config.ecn && !self.send.is_unanswered() => OFFER,
            _ => TcpFlags(0),
        };
        match self.send.next_syn(flags.with(ecn), now) {
            None if answers => self.ack_or_nothing(now),
            None => None,
            syn => {
                self.receive.owe_nothing();
                syn
            }
        }
    }

    fn on_fin_sent(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            // A retransmission.
            other => other,
        };
    }

    /// Calls a scheme's part of the receiver with a draft of the packet, if that is an ACK. It may limit the
    /// window that will be advertised, and set reserved bits, which are returned.
    #[cold]
    fn call_receiver_extension(&mut self, segment: &Segment, now: Instant) -> u8 {
        let Segment { seq, flags, .. } = *segment;
        if !flags.has(TcpFlags::ACK) || flags.has(TcpFlags::SYN) {
            return 0;
        }
        let promised = self.receive.promised();
        let tcp = self.whole_header(seq, flags, now);
        // The draft promises nothing.
        self.receive.withdraw_to(promised);
        let mut draft = self.ip.draft(self.ip.remote(), Codepoint::NotEct, tcp, segment.payload.clone());
        if let Some(extension) = &mut self.receiver_extension {
            let mut receiver = ReceiverControl::new(&mut self.receive, now);
            extension.on_ack_sent(&mut OutgoingAck::new(&mut draft), &mut receiver);
        }
        draft.tcp_reserved_bits()
    }

    #[cold]
    fn reset_segment(&mut self, now: Instant) -> Option<Packet> {
        let reset = self.reset.take()?;
        //= RFC 7323, section 3.2: "Once TSopt has been successfully negotiated [...], the TSopt MUST be sent in every non-<RST>
        //= segment for the duration of the connection, and SHOULD be sent in an <RST> segment".
        let has_timestamps = reset.is_of_connection && self.negotiated.timestamps;
        let timestamps = has_timestamps.then(|| self.timestamps(now));
        let flags = if reset.ack.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
        let tcp = Tcp {
            source_port: self.ip.local().1,
            destination_port: reset.to.1,
            seq: reset.seq,
            ack: reset.ack.unwrap_or_default(),
            flags,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            ..Tcp::default()
        };
        Some(self.ip.packet(reset.to, Codepoint::NotEct, tcp, Payload::EMPTY))
    }

    /// A keep-alive (RFC 9293, section 3.8.4): its sequence number is one below SND.UNA, so that the peer
    /// answers. If data is outstanding, the answer looks like a duplicate ACK. `None` without an
    /// established connection.
    pub fn keep_alive(&mut self, now: Instant) -> Option<Packet> {
        let is_over = matches!(self.state, State::Closed | State::Listen | State::TimeWait);
        if is_over || self.state.is_handshaking() {
            return None;
        }
        let tcp = self.whole_header(self.send.flight().una + u32::MAX, TcpFlags::ACK, now);
        Some(self.ip.packet(self.ip.remote(), Codepoint::NotEct, tcp, Payload::EMPTY))
    }

    /// An ACK with a window of zero, so that the peer pauses until the next ACK, which is owed from now on. `None` without
    /// an established connection.
    ///
    /// What the peer has sent already is still accepted: for this connection the window does not shrink. RFC 9293,
    /// section 3.8.6, discourages to shrink it, and requires each peer to be prepared for that.
    pub fn pause_peer(&mut self, now: Instant) -> Option<Packet> {
        if self.state != State::Established {
            return None;
        }
        let number = self.send.bare_number(self.state);
        let tcp = Tcp { window: 0, ..self.whole_header(number, TcpFlags::ACK, now) };
        self.receive.owe_ack_now();
        Some(self.ip.packet(self.ip.remote(), Codepoint::NotEct, tcp, Payload::EMPTY))
    }

    /// Writes the packet of a segment to `place`.
    #[inline]
    fn write_segment(
        &mut self,
        segment: Segment,
        reserved_bits: u8,
        place: &mut Option<Packet>,
        now: Instant,
    ) {
        let Segment { seq, mut flags, payload, is_new_data } = segment;
        let mut codepoint = Codepoint::NotEct;
        if let Some(ecn) = &mut self.ecn {
            (codepoint, flags) = ecn.write(flags, is_new_data);
        }
        let len = payload.len() as u32;
        let tcp = self.header(seq, flags, now);
        // Rare parts are written into the packet in place: an optional part in its construction would cause a
        // copy.
        let packet = place.insert(self.ip.packet(self.ip.remote(), codepoint, tcp, payload));
        if self.has_rare_parts(flags)
            && let Some(tcp) = packet.tcp_mut()
        {
            self.write_rare_parts(tcp, now);
        }
        if let Some(size) = self.send.segment_size(seq, len) {
            packet.set_segment_size(Some(size));
        }
        if self.send.may_fragment() {
            packet.let_fragment();
        }
        if reserved_bits != 0 {
            packet.set_tcp_reserved_bits(reserved_bits);
        }
        self.receive.on_sent(len == 0, now);
    }

    /// A complete header.
    fn whole_header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let mut tcp = self.header(seq, flags, now);
        if self.has_rare_parts(flags) {
            self.write_rare_parts(&mut tcp, now);
        }
        tcp
    }

    /// A header without the rare parts.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "every packet; measured")]
    fn header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let is_syn = flags.has(TcpFlags::SYN);
        let timestamps = self.negotiated.timestamps.then(|| self.timestamps(now));
        Tcp {
            source_port: self.ip.local().1,
            destination_port: self.ip.remote().1,
            seq,
            ack: if flags.has(TcpFlags::ACK) { self.receive.acknowledges() } else { Seq(0) },
            flags,
            window: if is_syn { 0 } else { self.receive.advertise(self.negotiated.our_shift) },
            urgent_pointer: 0,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
        }
    }

    /// Whether a header has rare parts.
    #[inline]
    fn has_rare_parts(&self, flags: TcpFlags) -> bool {
        flags.has(TcpFlags::SYN)
            || (self.negotiated.sack && self.receive.has_report())
            || !self.send.stream().urgent().is_empty()
    }

    /// Writes SACK blocks and the urgent pointer, or the window and the options of a SYN.
    #[cold]
    fn write_rare_parts(&self, tcp: &mut Tcp, now: Instant) {
        if !tcp.flags.has(TcpFlags::SYN) {
            if self.negotiated.sack {
                tcp.options.sack = self.receive.sack_blocks(self.negotiated.max_sack_blocks());
            }
            self.send.stream().urgent().write_pointer(tcp);
            return;
        }
        let (config, negotiated) = (&self.config, &self.negotiated);
        let answers = self.state == State::SynReceived;
        let has_timestamps = if answers { negotiated.timestamps } else { config.timestamps };
        tcp.window = if answers {
            // The window of the first SYN-ACK remains promised.
            self.receive.window().min(u32::from(u16::MAX)) as u16
        } else {
            self.receive.window_in_syn()
        };
        tcp.options = TcpOptions {
            maximum_segment_size: Some(config.mss.min(u32::from(u16::MAX)) as u16),
            window_scale: if answers { negotiated.answered_shift() } else { offered_shift(config) },
            sack_permitted: if answers { negotiated.sack } else { config.sack },
            timestamps: has_timestamps.then(|| self.timestamps(now)),
            ..TcpOptions::default()
        };
    }

    #[inline]
    fn timestamps(&self, now: Instant) -> Timestamps {
        Timestamps { value: self.send.timestamp_clock().reads(now), echo_reply: self.receive.ts_recent() }
    }
}
