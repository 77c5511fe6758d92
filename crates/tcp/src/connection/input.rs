//! What arriving packets do: RFC 9293, section 3.10.7.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, PacketTooBig, Quotation, Tcp, TcpFlags, Transport};

use super::receive::{Arrival, Echo};
use super::{Connection, State, Timers};
use crate::extension::{IcmpNotice, ReceiverControl, SenderControl, SenderExtension};

/// A connection challenges no more than one segment in this time (Linux `tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

impl Connection {
    /// Takes in a packet that is addressed to this connection; what is no TCP segment is ignored.
    pub fn on_segment(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        match self.state {
            State::Closed => self.refuse(packet, tcp),
            State::Listen => self.on_segment_in_listen(packet, tcp, now),
            State::SynSent => self.on_segment_in_syn_sent(packet, tcp, now),
            _ => self.on_segment_in_window(packet, tcp, now),
        }
    }

    /// Takes in what a packet to another endpoint, which has gone on in this one's place, says of what
    /// was sent here: what it acknowledges, reports and offers. An acknowledgment of more than was
    /// sent counts for all that was. Nothing is owed for the packet.
    pub fn overhear(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return };
        let is_old = tcp
            .options
            .timestamps
            .is_some_and(|timestamps| self.receive.is_old_timestamp(timestamps.value, now));
        let has_ended = matches!(self.state, State::Closed | State::Listen | State::TimeWait);
        if is_old
            || has_ended
            || self.is_handshaking()
            || tcp.flags.has(TcpFlags::RST)
            || tcp.flags.has(TcpFlags::SYN)
        {
            return;
        }
        let heard = Tcp { ack: tcp.ack.earlier(self.flight.max), ..tcp.clone() };
        self.on_ack(&heard, packet.segment_len() == 0, now);
    }

    fn on_segment_in_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::RST) {
            self.on_reset(tcp, now);
            return;
        }
        let timestamps = tcp.options.timestamps.filter(|_| self.negotiated.timestamps);
        if timestamps.is_some_and(|timestamps| self.receive.is_old_timestamp(timestamps.value, now)) {
            self.answer_unacceptable(packet, now);
            if tcp.seq.before(self.receive.next()) {
                self.on_data_outside_window(packet, tcp);
            }
            return;
        }
        let segment_len = packet.segment_len();
        if !self.receive.accepts(tcp.seq, packet.payload().len() as u32, segment_len) {
            self.on_segment_outside_window(packet, tcp, now);
            return;
        }
        if tcp.flags.has(TcpFlags::SYN) {
            //= RFC 5961, section 4.2: a SYN is challenged, wherever it lies.
            self.challenge(now);
            return;
        }
        if !tcp.flags.has(TcpFlags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if !self.is_syn_acknowledged_by(tcp.ack) {
                self.refuse(packet, tcp);
                return;
            }
            self.establish(tcp, now);
            self.take_window(u32::from(tcp.window) << self.negotiated.peer_shift, tcp.seq);
        }
        //= RFC 9293, section 3.10.7.4: "If the ACK acks something not yet sent [...], then send an ACK, drop the segment".
        //= RFC 5961, section 5.2: and one that is further behind SND.UNA than the largest window that the peer has offered.
        let is_acceptable = !tcp.ack.after(self.flight.max)
            && (!tcp.ack.before(self.flight.una) || self.flight.una - tcp.ack <= self.largest_peer_window);
        if !is_acceptable {
            self.challenge(now);
            return;
        }
        // Not before the ACK is known to be acceptable: a forged timestamp would have all that comes
        // after it dropped (Linux `tcp_ack`).
        if let Some(timestamps) = timestamps {
            self.receive.note_timestamp(timestamps.value, tcp.seq, now);
        }
        if self.sender_extension.is_some() || self.receiver_extension.is_some() {
            self.show_to_extensions(packet, now);
        }
        if self.ecn.is_some() {
            self.read_marks(packet, tcp, now);
        }
        self.note_urgent(tcp);
        self.on_ack(tcp, segment_len == 0, now);
        if segment_len > 0 && self.state != State::Closed {
            self.on_data(packet, tcp, now);
        }
    }

    /// Shows a scheme a segment that is about to be processed.
    #[cold]
    fn show_to_extensions(&mut self, packet: &Packet, now: Instant) {
        if let Some(extension) = &mut self.receiver_extension {
            extension.on_segment(packet, &mut ReceiverControl { now, receive: &mut self.receive });
        }
        self.call_sender_extension(now, |extension, sender| extension.on_ack(packet, sender));
    }

    #[cold]
    fn on_reset(&mut self, tcp: &Tcp, now: Instant) {
        //= RFC 5961, section 3.2: only a reset at exactly the expected number resets; another one in the window is challenged.
        if tcp.seq == self.receive.next() {
            self.end_by_reset();
        } else if self.receive.is_in_window(tcp.seq) {
            self.challenge(now);
        }
    }

    /// Owes an ACK to a segment that may be forged, but not to each of many (RFC 5961, section 7). The
    /// limit is the connection's own: one for all connections would tell an attacker of others.
    #[cold]
    fn challenge(&mut self, now: Instant) {
        if self.challenged_at.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL) {
            self.challenged_at = Some(now);
            self.receive.ack_now = true;
        }
    }

    /// Owes an ACK to a segment that is not acceptable (RFC 9293, section 3.10.7.4). One that takes up
    /// no sequence number may itself be the answer of a peer that finds our ACKs unacceptable: two such
    /// ends would answer each other for ever, so not each of many is answered (Linux
    /// `tcp_oow_rate_limited`).
    #[cold]
    fn answer_unacceptable(&mut self, packet: &Packet, now: Instant) {
        if packet.segment_len() > 0 {
            self.receive.ack_now = true;
        } else {
            self.challenge(now);
        }
    }

    /// What lies outside the window is answered with an ACK (RFC 9293, section 3.10.7.4), a
    /// duplicate SYN included.
    #[cold]
    fn on_segment_outside_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::SYN) {
            self.challenge(now);
            if self.state == State::SynReceived {
                self.on_another_syn(tcp, now);
            }
            return;
        }
        self.answer_unacceptable(packet, now);
        self.on_data_outside_window(packet, tcp);
        //= RFC 9293, section 3.10.7.4: where the window is zero, "special allowance should be made to accept valid ACKs, URGs, and RSTs."
        if tcp.seq == self.receive.next() {
            self.note_urgent(tcp);
        }
        if self.state == State::TimeWait && tcp.flags.has(TcpFlags::FIN) {
            self.timers.time_wait = Some(now + self.config.time_wait);
        }
        // Data that is known already, or a probe of a closed window: what it acknowledges counts,
        // as in 4.3BSD. Else two ends that resend to each other would never hear that the other has
        // got it.
        let is_heard = tcp.flags.has(TcpFlags::ACK) && packet.segment_len() > 0;
        if is_heard
            && self.state != State::SynReceived
            && self.receive.is_just_behind(tcp.seq)
            && !tcp.ack.after(self.flight.max)
        {
            self.call_sender_extension(now, |extension, sender| extension.on_ack(packet, sender));
            self.on_ack(tcp, false, now);
        }
    }

    /// A segment that the receiver does not take, for a duplicate or for want of room.
    fn on_data_outside_window(&mut self, packet: &Packet, tcp: &Tcp) {
        let segment_len = packet.segment_len();
        if segment_len > 0 && !tcp.flags.has(TcpFlags::SYN) {
            self.receive.on_data_outside_window(tcp.seq, tcp.seq + segment_len);
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        let before = self.receive.next();
        let had_closed = self.receive.fin_received();
        let due = if self.receive.is_plain(tcp.seq, packet.payload(), tcp.flags.has(TcpFlags::FIN)) {
            self.receive.take_plain(packet.payload(), now)
        } else {
            self.take(packet, tcp, now)
        };
        if let Some(due) = due {
            self.timers.delayed_ack = Some(self.timers.delayed_ack.map_or(due, |before| before.min(due)));
        }
        if self.receive.next() != before {
            // Flags of data that lay behind a gap are not kept.
            let is_known = self.receive.next() == tcp.seq + packet.segment_len();
            self.peer_has_pushed = !is_known || tcp.flags.has(TcpFlags::PSH) || tcp.flags.has(TcpFlags::FIN);
        }
        self.stats.octets_received += u64::from(self.receive.next() - before);
        if self.receive.fin_received() && !had_closed {
            self.stats.octets_received -= 1;
            self.on_fin(now);
        }
    }

    /// The peer's FIN is received, and everything before it.
    fn on_fin(&mut self, now: Instant) {
        self.state = match self.state {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            other => other,
        };
    }

    /// From now on the peer's FIN is not acknowledged before [`Self::accept_fin`] says so, though
    /// everything before it is: what it ends has to reach another end first.
    pub const fn hold_fin(&mut self) {
        self.receive.hold_fin();
    }

    /// Accepts the peer's FIN, if [`Self::peer_has_closed`] and it was held.
    pub fn accept_fin(&mut self, now: Instant) {
        if self.receive.accept_fin() {
            self.on_fin(now);
        }
    }

    /// Takes in what is more than plain data in order, or is learned from.
    #[inline(never)]
    fn take(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) -> Option<Instant> {
        let timestamps = tcp.options.timestamps.filter(|_| self.negotiated.timestamps);
        let echo = timestamps.and_then(|timestamps| {
            let age = self.timestamp_clock.age(timestamps.echo_reply, now)?;
            Some(Echo { value: timestamps.echo_reply, age })
        });
        self.receive.take(&Arrival {
            tcp,
            payload: packet.payload(),
            now,
            echo,
            ack_due: self.timers.delayed_ack,
            rtt: &self.rtt,
        })
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) -> State {
        self.timers = Timers { time_wait: Some(now + self.config.time_wait), ..Timers::default() };
        State::TimeWait
    }

    /// Takes in an ICMP error message that arrived at this host. Only one that quotes an
    /// outstanding segment of this connection has an effect (RFC 5927, section 4.1), and only if it
    /// says that the segment is too large, or a scheme has a use for it.
    pub fn on_icmp(&mut self, packet: &Packet, now: Instant) {
        let Transport::Icmp(icmp) = packet.transport() else { return };
        let Some(quotation) = Quotation::of(packet) else { return };
        let is_ours = quotation.flow.source == self.local && quotation.flow.destination == self.remote;
        if !is_ours
            || self.is_handshaking()
            || self.state == State::Closed
            || !self.flight.is_outstanding(quotation.seq)
        {
            return;
        }
        if let Some(too_big) = PacketTooBig::of(packet) {
            self.on_packet_too_big(&too_big, now);
            return;
        }
        let notice = IcmpNotice {
            kind: icmp.kind,
            code: icmp.code,
            is_v6: packet.ip().source.is_ipv6(),
            seq: quotation.seq,
        };
        let before = self.retransmit.len();
        if self.call_sender_extension(now, |extension, sender| extension.on_icmp(notice, sender)).is_some() {
            self.stats.icmp_accepted += 1;
        }
        if self.retransmit.len() > before {
            self.stats.scheme_retransmits += 1;
            self.rtt.stop_timing();
        }
    }

    pub(super) fn call_sender_extension<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn SenderExtension, &mut SenderControl<'_>) -> R,
    ) -> Option<R> {
        let extension = self.sender_extension.as_mut()?;
        let mut sender = SenderControl {
            now,
            flight: &mut self.flight,
            timers: &mut self.timers,
            rtt: &self.rtt,
            retransmit: &mut self.retransmit,
        };
        Some(call(extension.as_mut(), &mut sender))
    }
}
