//! What leaves, and when: RFC 9293, section 3.8, and RFC 5681.

use lasthop_packet::{Ecn, Instant, Packet, Payload, Seq, Tcp, TcpFlags};

use super::segment::Segment;
use super::{Connection, State};
use crate::congestion::SentSegment;
use crate::extension::{OutgoingAck, ReceiverControl};
use crate::recovery::Next;

impl Connection {
    /// The next packet to send now; call until `None` after every input.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = None;
        if !self.is_idle() {
            self.transmit_into(&mut packet, now);
        }
        packet
    }

    /// [`Self::poll_transmit`], straight into the packet's place: it is large. Returns whether there was
    /// one; if not, the place stays as it is.
    #[inline(never)]
    pub fn transmit_into(&mut self, place: &mut Option<Packet>, now: Instant) -> bool {
        if self.reset.is_some() {
            *place = self.reset_segment();
            return true;
        }
        let Some(mut segment) = self.next_segment(now) else { return false };
        if self.receiver_extension.is_some() {
            segment = self.show_to_receiver(segment, now);
        }
        self.write_segment(segment, place, now);
        true
    }

    /// Shows a scheme's part of the receiver what acknowledges. It may limit the window that will be
    /// told, and set reserved bits. What it sees is a draft of the packet.
    #[cold]
    fn show_to_receiver(&mut self, mut segment: Segment, now: Instant) -> Segment {
        let Segment { seq, flags, .. } = segment;
        if !flags.has(TcpFlags::ACK) || flags.has(TcpFlags::SYN) {
            return segment;
        }
        let promised = self.receive.promised();
        let tcp = self.whole_header(seq, flags, now);
        // The draft promises nothing.
        self.receive.withdraw_to(promised);
        let ip = self.ip(self.remote, Ecn::NotEct);
        let mut draft = Packet::tcp_segment(ip, tcp, segment.payload.clone());
        if let Some(extension) = &mut self.receiver_extension {
            let mut receiver = ReceiverControl { now, receive: &mut self.receive };
            extension.on_ack_sent(&mut OutgoingAck { packet: &mut draft }, &mut receiver);
        }
        segment.reserved_bits = draft.tcp_reserved_bits();
        segment
    }

    /// What to send now.
    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.only_acknowledges() {
            return Some(self.segment_and_ack(self.flight.max, TcpFlags::ACK, Payload::EMPTY));
        }
        let waits = self.pacer.is_some() && self.is_held_back(now);
        let segment = match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent => return self.transmit_syn(now),
            State::SynReceived => self.transmit_syn(now),
            _ if waits => None,
            _ => match self.transmit_retransmission(now) {
                None if self.retransmission_goes_alone => None,
                None => self.transmit_more(now),
                retransmission => retransmission,
            },
        };
        if segment.is_none() && self.receive.is_ack_due() {
            return Some(self.segment_and_ack(self.bare_number(), TcpFlags::ACK, Payload::EMPTY));
        }
        self.retransmission_goes_alone &= segment.is_some();
        if segment.is_none() {
            self.keep_timer(now);
        }
        segment
    }

    /// The number of what takes up none. It is behind all that was sent, not SND.NXT: after a time-out
    /// that lies where the peer has been already, and the peer would answer the ACK instead of reading
    /// it. So it would where its window is closed, and what was sent into that is not taken: then it is
    /// the window's end (Linux `tcp_acceptable_seq`).
    pub(super) const fn bare_number(&self) -> Seq {
        let is_closed = self.flight.peer_window == 0 && !self.is_handshaking();
        if is_closed { self.flight.una } else { self.flight.max }
    }

    /// As long as anything is outstanding, a timer runs for it, even if nothing of it may leave now or
    /// all of it was reported: a receiver may give up what it has reported (RFC 2018, section 8).
    #[inline]
    fn keep_timer(&mut self, now: Instant) {
        let timers = &self.timers;
        let is_timed = timers.retransmit.is_some() || timers.persist.is_some() || timers.pacing.is_some();
        if !is_timed && self.flight.una != self.flight.max {
            self.timers.retransmit = Some(self.rtt.expiry(now));
        }
    }

    fn reset_segment(&mut self) -> Option<Packet> {
        let reset = self.reset.take()?;
        let flags = if reset.ack.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
        let tcp = Tcp {
            source_port: self.local.1,
            destination_port: reset.to.1,
            seq: reset.seq,
            ack: reset.ack.unwrap_or_default(),
            flags,
            ..Tcp::default()
        };
        Some(self.packet(reset.to, Ecn::NotEct, tcp, Payload::EMPTY))
    }

    #[cold]
    fn transmit_syn(&mut self, now: Instant) -> Option<Segment> {
        if self.flight.nxt != self.iss {
            return None;
        }
        let flags = match self.state {
            State::SynReceived => TcpFlags::SYN.with(TcpFlags::ACK),
            _ => TcpFlags::SYN,
        };
        let flags = flags.with(self.ecn_of_syn());
        if self.flight.max == self.iss {
            self.rtt.time_segment(self.iss, now);
        } else {
            self.rtt.stop_timing();
            self.stats.retransmits += 1;
        }
        self.flight.nxt = self.iss + 1;
        self.flight.max = self.iss + 1;
        self.timers.retransmit = Some(self.rtt.expiry(now));
        self.receive.ack_now = false;
        Some(Segment { seq: self.iss, flags, payload: Payload::EMPTY, reserved_bits: 0, is_new_data: false })
    }

    /// What goes besides what is asked for by name. There is one call of [`Self::transmit_next`],
    /// so that it is built in place.
    #[inline]
    fn transmit_more(&mut self, now: Instant) -> Option<Segment> {
        let mut segments = 1;
        let (window, most) = if self.is_recovering {
            match self.next_in_recovery(now) {
                (Next::ByWindow, room) => (self.flight.window(), room),
                (Next::New, room) => (self.flight.peer_window, room),
                (Next::Again(seq, len), _) => return Some(self.retransmission(seq, len, now)),
                // With nothing outstanding no ACK would come: a closed window is probed.
                (Next::Nothing, room) if self.flight.in_flight() == 0 && self.flight.peer_window == 0 => {
                    (0, room)
                }
                (Next::Nothing, _) => return None,
            }
        } else if self.flight.nxt == self.flight.max {
            if self.super_packet.is_some() && self.waits_for_more(now) {
                return None;
            }
            segments = self.most_segments;
            (self.window(), self.segment_room())
        } else {
            self.skip_what_is_reported()
        };
        self.transmit_next(window, (most, segments), now)
    }

    /// Octets of the segment at SND.NXT, `most` at most, if `window` octets may be outstanding; 0
    /// if it is not worth it.
    #[inline]
    pub(super) fn next_len(&self, window: u32, most: u32) -> u32 {
        let in_flight = self.flight.in_flight();
        let unsent = self.buffer.len().saturating_sub(u64::from(in_flight));
        let window = window.min(self.config.send_window.unwrap_or(u32::MAX));
        let usable = window.saturating_sub(in_flight);
        let len = u64::from(usable.min(most)).min(unsent) as u32;
        // Silly window avoidance (RFC 9293, section 3.8.6.2.1): a full segment, or the last one, or
        // all that an idle connection's window takes.
        let is_worth_it = len == most || u64::from(len) == unsent || in_flight == 0;
        if is_worth_it { len } else { 0 }
    }

    /// A segment at SND.NXT, or as many as may leave in one super-packet.
    #[inline]
    fn transmit_next(
        &mut self,
        window: u32,
        (mut most, mut segments): (u32, u32),
        now: Instant,
    ) -> Option<Segment> {
        if !self.urgent.is_empty() {
            (most, segments) = (most.min(self.up_to_urgent_end(self.flight.nxt)), 1);
        }
        let in_flight = self.flight.in_flight();
        let is_all_sent = self.buffer.len() <= u64::from(in_flight);
        if self.flight.peer_window == 0 && in_flight == 0 && !is_all_sent {
            return self.window_probe(now);
        }
        let mut len = self.next_len(window, most);
        if segments > 1 && len == most && most == self.flight.mss {
            len = self.super_packet_len(window, most, segments);
        }
        if len == 0 {
            return if is_all_sent { self.transmit_fin(now) } else { None };
        }
        let seq = self.flight.nxt;
        let payload = self.buffer.slice(u64::from(in_flight), len);
        self.flight.nxt += len;
        let is_new_data = seq == self.flight.max;
        self.account_for(seq, now);
        Some(Segment { is_new_data, ..self.data_segment(seq, payload) })
    }

    /// What may be outstanding, in octets.
    ///
    //= RFC 3042, section 2: "The amount of outstanding data would remain less than or equal to the congestion window plus 2
    //= segments."
    #[inline]
    fn window(&self) -> u32 {
        let is_limited_transmit = self.duplicate_acks > 0
            && self.config.limited_transmit
            && self.flight.nxt == self.flight.max
            && !self.is_recovering;
        if !is_limited_transmit {
            return self.flight.window();
        }
        let beyond = self.duplicate_acks.min(2) * self.flight.mss;
        self.flight.cwnd.saturating_add(beyond).min(self.flight.peer_window)
    }

    /// One octet into a closed window each time that the persist timer expires (RFC 9293, section
    /// 3.8.6.1). It stays what is to be sent next, and no retransmission timer runs for it: that
    /// the peer does not take it is no loss.
    #[cold]
    fn window_probe(&mut self, now: Instant) -> Option<Segment> {
        self.timers.retransmit = None;
        if self.timers.persist.is_none() {
            self.timers.persist = Some(self.rtt.expiry(now));
        }
        if !std::mem::take(&mut self.probe_window) {
            return None;
        }
        let seq = self.flight.nxt;
        self.flight.max = self.flight.max.later(seq + 1);
        let payload = self.buffer.slice(0, 1);
        Some(self.data_segment(seq, payload))
    }

    /// Whether our FIN is what comes next.
    pub(super) fn is_fin_next(&self) -> bool {
        let data_end = self.flight.una + self.buffer.len() as u32;
        self.close_requested
            && self.flight.nxt == data_end
            && matches!(
                self.state,
                State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck
            )
    }

    fn transmit_fin(&mut self, now: Instant) -> Option<Segment> {
        if !self.is_fin_next() {
            return None;
        }
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            // Sent before: again after a time-out. Acknowledged: never again.
            State::FinWait1 | State::Closing | State::LastAck => self.state,
            _ => return None,
        };
        let seq = self.flight.nxt;
        self.flight.nxt += 1;
        self.account_for(seq, now);
        Some(self.segment_and_ack(seq, TcpFlags::FIN.with(TcpFlags::ACK), Payload::EMPTY))
    }

    /// A segment from `seq` to `nxt` leaves: times it or counts it as a retransmission, and starts
    /// the timer.
    #[inline]
    fn account_for(&mut self, seq: Seq, now: Instant) {
        if self.validation.is_some() {
            self.validate_window(seq, now);
        }
        let is_retransmission = seq != self.flight.max;
        if self.flight.nxt.after(self.flight.max) {
            // Only what is wholly new is timed (RFC 6298, section 3).
            if !is_retransmission {
                self.rtt.time_segment(seq, now);
            }
            self.flight.max = self.flight.nxt;
        } else {
            self.stats.retransmits += 1;
        }
        self.announce(&SentSegment { now, seq, end: self.flight.nxt, is_retransmission });
        if self.validation.is_some() {
            self.note_use();
        }
        if self.timers.retransmit.is_none() {
            self.timers.retransmit = Some(self.rtt.expiry(now));
        }
    }

    /// Payload that fits into a segment beside the SACK blocks, if some are due (RFC 6691).
    #[inline]
    pub(super) fn segment_room(&self) -> u32 {
        let room = self.path_mtu.room(self.flight.mss);
        if !self.negotiated.sack || !self.receive.has_report() {
            return room;
        }
        let blocks = self.receive.sack_blocks(self.most_sack_blocks()).as_slice().len() as u32;
        room.saturating_sub(4 + 8 * blocks).max(1)
    }

    #[inline]
    pub(super) fn data_segment(&mut self, seq: Seq, payload: Payload) -> Segment {
        let is_end = u64::from(seq - self.flight.una) + payload.len() as u64 == self.buffer.len();
        let is_last = is_end && (!self.expects_more || self.close_requested);
        let flags = if is_last { TcpFlags::ACK.with(TcpFlags::PSH) } else { TcpFlags::ACK };
        self.segment_and_ack(seq, flags, payload)
    }

    /// A segment that asks whether the peer is still there: it lies before what the peer expects, so that
    /// the peer answers (RFC 9293, section 3.8.4), even where something is outstanding: then its answer
    /// looks like a duplicate ACK. `None` where there is no connection.
    pub fn keep_alive(&mut self, now: Instant) -> Option<Packet> {
        let is_over = matches!(self.state, State::Closed | State::Listen | State::TimeWait);
        if is_over || self.is_handshaking() {
            return None;
        }
        let tcp = self.whole_header(self.flight.una + u32::MAX, TcpFlags::ACK, now);
        Some(self.packet(self.remote, Ecn::NotEct, tcp, Payload::EMPTY))
    }

    /// A segment that acknowledges: nothing more is owed.
    #[inline]
    fn segment_and_ack(&mut self, seq: Seq, flags: TcpFlags, payload: Payload) -> Segment {
        self.receive.acknowledged();
        self.timers.delayed_ack = None;
        Segment { seq, flags, payload, reserved_bits: 0, is_new_data: false }
    }

    /// Whether our FIN has a sequence number.
    pub(super) const fn fin_sent(&self) -> bool {
        matches!(
            self.state,
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait
        )
    }
}
