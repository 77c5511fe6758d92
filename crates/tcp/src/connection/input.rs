//! Processing of arriving packets (RFC 9293, section 3.10.7).

use lasthop_packet::{Instant, Packet, PacketTooBig, Quotation, Tcp, TcpFlags, Transport};

use super::{Connection, Ecn, Reset};
use crate::extension::{IcmpNotice, ReceiverControl};
use crate::receive::Echo;
use crate::send::{AckKind, End};
use crate::state::State;
use crate::stats::Refusal;

impl Connection {
    /// Processes a packet addressed to this connection; ignored if it is not a TCP segment.
    pub fn on_segment(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        match self.state {
            State::Closed => self.refuse_with_reset(Refusal::Closed, packet, tcp),
            State::Listen => self.on_segment_in_listen(packet, tcp, now),
            State::SynSent => self.on_segment_in_syn_sent(packet, tcp, now),
            _ => self.on_segment_in_window(packet, tcp, now),
        }
    }

    /// Processes the acknowledgment, the SACK blocks and the window of a packet to another endpoint in this
    /// one's place. An acknowledgment above SND.MAX counts as one of SND.MAX. The packet is not answered.
    pub fn overhear(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return };
        let is_old = tcp
            .options
            .timestamps
            .is_some_and(|timestamps| self.receive.is_old_timestamp(timestamps.value, now));
        let has_ended = matches!(self.state, State::Closed | State::Listen | State::TimeWait);
        if is_old
            || has_ended
            || self.state.is_handshaking()
            || tcp.flags.has(TcpFlags::RST)
            || tcp.flags.has(TcpFlags::SYN)
        {
            return;
        }
        let ours = Tcp { ack: tcp.ack.earlier(self.send.flight().max), ..tcp.clone() };
        self.on_ack(&ours, packet.segment_len() == 0, now);
    }

    fn on_segment_in_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::RST) {
            self.on_reset(tcp, now);
            return;
        }
        let timestamps = tcp.options.timestamps.filter(|_| self.negotiated.timestamps);
        if timestamps.is_some_and(|timestamps| self.receive.is_old_timestamp(timestamps.value, now)) {
            self.refuse_unacceptable(Refusal::OldTimestamp, packet, now);
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
            //= RFC 5961, section 4.2: a SYN is challenged, whatever its sequence number.
            self.challenge(Refusal::Syn, now);
            return;
        }
        if !tcp.flags.has(TcpFlags::ACK) {
            self.refusals.count(Refusal::NoAck);
            return;
        }
        if self.state == State::SynReceived {
            if !self.send.is_syn_acknowledged_by(tcp.ack) {
                self.refuse_with_reset(Refusal::AckOfNoSyn, packet, tcp);
                return;
            }
            self.establish(tcp, now);
            self.send.read_peer_window(tcp);
        }
        if !self.send.accepts_ack(tcp.ack) {
            let is_of_unsent = tcp.ack.after(self.send.flight().max);
            self.challenge(if is_of_unsent { Refusal::AckOfUnsent } else { Refusal::AckTooOld }, now);
            return;
        }
        // Only after the check of the ACK: with a forged timestamp, all later segments would be dropped
        // (Linux `tcp_ack`).
        if let Some(timestamps) = timestamps {
            self.receive.record_timestamp(timestamps.value, tcp.seq, now);
        }
        if self.send.has_extension() || self.receiver_extension.is_some() {
            self.call_extensions(packet, now);
        }
        if let Some(ecn) = &mut self.ecn
            && ecn.read(packet, tcp, self.send.flight())
        {
            self.send.on_congestion_mark(now);
        }
        self.read_urgent(tcp);
        self.on_ack(tcp, segment_len == 0, now);
        if segment_len > 0 && self.state != State::Closed {
            self.on_data(packet, tcp, now);
        }
    }

    /// Calls the extensions with a segment that is about to be processed.
    #[cold]
    fn call_extensions(&mut self, packet: &Packet, now: Instant) {
        if let Some(extension) = &mut self.receiver_extension {
            extension.on_segment(packet, &mut ReceiverControl::new(&mut self.receive, now));
        }
        self.send.call_extension(now, |extension, sender| extension.on_ack(packet, sender));
    }

    #[cold]
    fn on_reset(&mut self, tcp: &Tcp, now: Instant) {
        //= RFC 5961, section 3.2: only a reset at exactly the expected number resets; another one in the window is challenged.
        if tcp.seq == self.receive.next() {
            self.end_by_reset();
        } else if self.receive.is_in_window(tcp.seq) {
            self.challenge(Refusal::ResetNotExpected, now);
        } else {
            self.refusals.count(Refusal::ResetOutsideWindow);
        }
    }

    /// Refuses a segment that may be forged, and owes a challenge ACK, within its limit.
    #[cold]
    fn challenge(&mut self, reason: Refusal, now: Instant) {
        self.refusals.count(reason);
        if self.refusals.may_challenge(now) {
            self.receive.owe_ack_now();
        }
    }

    /// Refuses an unacceptable segment, and owes an ACK for it (RFC 9293, section 3.10.7.4). An empty segment
    /// may itself be the answer of a peer that finds our ACKs unacceptable: two such ends would answer each
    /// other endlessly, so answers to empty segments are limited (Linux `tcp_oow_rate_limited`).
    #[cold]
    fn refuse_unacceptable(&mut self, reason: Refusal, packet: &Packet, now: Instant) {
        if packet.segment_len() > 0 {
            self.refusals.count(reason);
            self.receive.owe_ack_now();
        } else {
            self.challenge(reason, now);
        }
    }

    /// Refuses a segment that does not belong to this connection, and answers it with a reset.
    #[cold]
    pub(super) fn refuse_with_reset(&mut self, reason: Refusal, packet: &Packet, tcp: &Tcp) {
        self.refusals.count(reason);
        self.reset = Reset::answering(packet, tcp).or(self.reset);
    }

    /// A segment outside the window, even a duplicate SYN, is answered with an ACK (RFC 9293, section
    /// 3.10.7.4).
    #[cold]
    fn on_segment_outside_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::SYN) {
            self.challenge(Refusal::Syn, now);
            if self.state == State::SynReceived {
                self.on_another_syn(tcp, now);
            }
            return;
        }
        self.refuse_unacceptable(Refusal::OutsideWindow, packet, now);
        self.on_data_outside_window(packet, tcp);
        //= RFC 9293, section 3.10.7.4: where the window is zero, "special allowance should be made to accept valid ACKs, URGs, and RSTs."
        if tcp.seq == self.receive.next() {
            self.read_urgent(tcp);
        }
        if self.state == State::TimeWait && tcp.flags.has(TcpFlags::FIN) {
            self.enter_time_wait(now);
        }
        // The acknowledgment of duplicate data, or of a window probe, is processed, as in 4.3BSD.
        // Otherwise two ends that retransmit to each other would ignore each other's ACKs.
        let has_valid_ack = tcp.flags.has(TcpFlags::ACK) && packet.segment_len() > 0;
        if has_valid_ack
            && self.state != State::SynReceived
            && self.receive.is_near_window(tcp.seq)
            && !tcp.ack.after(self.send.flight().max)
        {
            self.send.call_extension(now, |extension, sender| extension.on_ack(packet, sender));
            self.on_ack(tcp, false, now);
        }
    }

    /// Processes the urgent pointer of a segment, even if the window is closed (RFC 9293, section
    /// 3.10.7.4).
    #[inline]
    fn read_urgent(&mut self, tcp: &Tcp) {
        if tcp.flags.has(TcpFlags::URG) && tcp.urgent_pointer > 0 {
            self.receive.record_urgent(tcp.seq + u32::from(tcp.urgent_pointer));
        }
    }

    /// Reports the data of a segment outside the window to the receiver.
    fn on_data_outside_window(&mut self, packet: &Packet, tcp: &Tcp) {
        let segment_len = packet.segment_len();
        if segment_len > 0 && !tcp.flags.has(TcpFlags::SYN) {
            self.receive.on_data_outside_window(tcp.seq, tcp.seq + segment_len);
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        let timestamps = tcp.options.timestamps.filter(|_| self.negotiated.timestamps);
        let echo = || {
            let value = timestamps?.echo_reply;
            Some(Echo { value, age: self.send.timestamp_clock().age(value, now)? })
        };
        if self.receive.on_data((tcp, packet.payload()), echo, self.send.rtt(), now) {
            self.on_fin(now);
        }
    }

    /// Processes an acknowledgment up to SND.MAX. `is_bare` if the segment has neither data nor FIN.
    #[inline]
    fn on_ack(&mut self, tcp: &Tcp, is_bare: bool, now: Instant) {
        let is_marked = self.ecn.as_ref().is_some_and(Ecn::is_echoed);
        let is_last = self.state == State::LastAck;
        self.send.on_ack(tcp, AckKind { is_bare, is_marked, is_last }, now);
        if self.send.stream().end() == End::Acknowledged {
            self.on_fin_acknowledged(now);
        }
    }

    /// Our FIN is acknowledged, and everything before it.
    #[cold]
    fn on_fin_acknowledged(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.enter_closed(),
            _ => {}
        }
    }

    /// The peer's FIN is received, and everything before it.
    pub(super) fn on_fin(&mut self, now: Instant) {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    /// Processes an ICMP error message. It has an effect only if it quotes an outstanding segment of this
    /// connection (RFC 5927, section 4.1), and reports that the segment is too large, or is used by a
    /// scheme.
    pub fn on_icmp(&mut self, packet: &Packet, now: Instant) {
        let Transport::Icmp(icmp) = packet.transport() else { return };
        let Some(quotation) = Quotation::from_message(packet) else { return };
        let is_ours =
            quotation.flow.source == self.ip.local() && quotation.flow.destination == self.ip.remote();
        if !is_ours
            || self.state.is_handshaking()
            || self.state == State::Closed
            || !self.send.flight().is_outstanding(quotation.seq)
        {
            return;
        }
        if let Some(too_big) = PacketTooBig::from_message(packet) {
            self.send.on_packet_too_big(too_big.mtu, now);
            return;
        }
        let notice = IcmpNotice {
            kind: icmp.kind,
            code: icmp.code,
            is_v6: packet.ip().source.is_ipv6(),
            seq: quotation.seq,
        };
        self.send.on_icmp(notice, now);
    }
}
