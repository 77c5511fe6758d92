//! What arriving packets do: RFC 9293, section 3.10.7.

use lasthop_packet::{Instant, Packet, Quotation, Seq, Tcp, TcpFlags, Transport};

use super::{Connection, Negotiated, State, output};
use crate::congestion::AckSample;
use crate::extension::{DuplicateAckResponse, Extension, IcmpNotice, SenderControl};
use crate::recovery::{AfterAck, DUPLICATE_ACK_THRESHOLD};

impl Connection {
    /// Takes in a packet that is addressed to this connection; what is no TCP segment is ignored.
    pub fn on_segment(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        match self.state {
            State::Closed => {}
            State::Listen => self.on_segment_in_listen(packet, tcp),
            State::SynSent => self.on_segment_in_syn_sent(tcp, now),
            _ => self.on_segment_in_window(packet, tcp, now),
        }
    }

    fn on_segment_in_listen(&mut self, packet: &Packet, tcp: &Tcp) {
        if !tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::ACK) || tcp.flags.has(TcpFlags::RST) {
            return;
        }
        self.remote = (packet.ip().source, tcp.source_port);
        self.state = State::SynReceived;
        self.negotiate(tcp);
    }

    fn on_segment_in_syn_sent(&mut self, tcp: &Tcp, now: Instant) {
        let acceptable = tcp.flags.has(TcpFlags::ACK) && tcp.ack == self.iss + 1;
        if tcp.flags.has(TcpFlags::RST) {
            if acceptable {
                self.enter_closed();
            }
            return;
        }
        if !acceptable || !tcp.flags.has(TcpFlags::SYN) {
            return;
        }
        self.negotiate(tcp);
        self.establish(tcp, now);
        self.receive.ack_now = true;
    }

    /// Takes the options of the peer's SYN.
    fn negotiate(&mut self, tcp: &Tcp) {
        self.receive.synchronize(tcp.seq);
        let options = &tcp.options;
        // Both must offer scaling for either to use it (RFC 7323, section 2.2); a shift above 14 counts as 14.
        let (peer_shift, our_shift) = match options.window_scale {
            Some(shift) => (shift.min(14), output::window_shift(self.config.window)),
            None => (0, 0),
        };
        self.negotiated = Negotiated {
            peer_shift,
            our_shift,
            timestamps: self.config.timestamps && options.timestamps.is_some(),
            sack: self.config.sack && options.sack_permitted,
        };
        if let Some(timestamps) = options.timestamps {
            self.receive.note_timestamp(timestamps.value, tcp.seq);
        }
        //= RFC 9293, section 3.7.1: "If an MSS Option is not received at connection setup, TCP implementations MUST assume a
        //= default send MSS of 536".
        let peer_mss = options.maximum_segment_size.map_or(536, u32::from).max(1);
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        self.flight.peer_window = u32::from(tcp.window);
        self.begin_transfer(self.config.mss.min(peer_mss));
    }

    /// Our SYN is acknowledged.
    fn establish(&mut self, tcp: &Tcp, now: Instant) {
        self.flight.una = tcp.ack;
        self.flight.nxt = self.flight.nxt.later(tcp.ack);
        self.timers.retransmit = None;
        self.rtt.on_ack(tcp.ack, now);
        self.state = State::Established;
    }

    fn on_segment_in_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if self.negotiated.timestamps
            && let Some(timestamps) = tcp.options.timestamps
        {
            if self.receive.is_old_timestamp(timestamps.value) && !tcp.flags.has(TcpFlags::RST) {
                self.receive.ack_now = true;
                return;
            }
            self.receive.note_timestamp(timestamps.value, tcp.seq);
        }
        if !self.receive.accepts(tcp.seq, packet.segment_len()) {
            // What lies outside the window is answered with an ACK (RFC 9293, section 3.10.7.4), a duplicate SYN included.
            self.receive.ack_now |= !tcp.flags.has(TcpFlags::RST);
            if self.state == State::SynReceived && tcp.flags.has(TcpFlags::SYN) {
                self.flight.nxt = self.flight.una;
            }
            return;
        }
        if tcp.flags.has(TcpFlags::RST) {
            //= RFC 5961, section 3.2: only a reset at exactly the expected number resets; another one is challenged.
            if tcp.seq == self.receive.next() {
                self.enter_closed();
            } else {
                self.receive.ack_now = true;
            }
            return;
        }
        if tcp.flags.has(TcpFlags::SYN) {
            self.receive.ack_now = true;
            return;
        }
        if !tcp.flags.has(TcpFlags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if tcp.ack != self.iss + 1 {
                return;
            }
            self.establish(tcp, now);
            self.flight.peer_window = u32::from(tcp.window) << self.negotiated.peer_shift;
        }
        self.on_ack(packet, tcp, now);
        self.on_data(packet, tcp, now);
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if packet.segment_len() == 0 {
            return;
        }
        let before = self.receive.next();
        let had_closed = self.receive.fin_received();
        let fin = tcp.flags.has(TcpFlags::FIN);
        if let Some(delay) = self.receive.take(tcp.seq, packet.payload(), fin) {
            self.timers.delayed_ack.get_or_insert(now + delay);
        }
        self.stats.octets_received += u64::from(self.receive.next() - before);
        if self.receive.fin_received() && !had_closed {
            self.stats.octets_received -= 1;
            self.state = match self.state {
                State::Established => State::CloseWait,
                State::FinWait1 => State::Closing,
                State::FinWait2 => self.enter_time_wait(now),
                other => other,
            };
        }
    }

    fn enter_time_wait(&mut self, now: Instant) -> State {
        self.timers =
            super::Timers { time_wait: Some(now + self.config.time_wait), ..super::Timers::default() };
        State::TimeWait
    }

    #[inline]
    fn on_ack(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        let ack = tcp.ack;
        if ack.after(self.flight.max) {
            // It acknowledges what was never sent (RFC 9293, section 3.10.7.4).
            self.receive.ack_now = true;
            return;
        }
        let window = u32::from(tcp.window) << self.negotiated.peer_shift;
        if ack.after(self.flight.una) {
            self.flight.peer_window = window;
            self.on_new_ack(tcp, now);
        } else if ack == self.flight.una {
            //= RFC 5681, section 2, DUPLICATE ACKNOWLEDGMENT: outstanding data, no data, no SYN or FIN, the same number, the
            //= same window.
            let is_duplicate = self.flight.max != self.flight.una
                && packet.segment_len() == 0
                && window == self.flight.peer_window;
            self.flight.peer_window = window;
            if is_duplicate {
                self.on_duplicate_ack(now);
            }
        }
        if self.flight.peer_window > 0 && self.timers.persist.take().is_some() {
            self.rtt.stop_probing();
        }
    }

    fn on_new_ack(&mut self, tcp: &Tcp, now: Instant) {
        let acked = tcp.ack - self.flight.una;
        self.flight.una = tcp.ack;
        self.flight.nxt = self.flight.nxt.later(tcp.ack);
        self.duplicate_acks = 0;
        let data = u64::from(acked).min(self.buffer.len());
        self.buffer.acknowledge(data);
        self.stats.octets_acknowledged += data;
        let una = self.flight.una;
        if !self.retransmit.is_empty() {
            self.retransmit.retain(|seq| !seq.before(una));
        }

        let rtt = self.measure(tcp, now);
        // The timer restarts for what is the oldest outstanding segment now (RFC 6298, section 5.2 and 5.3).
        self.timers.retransmit = (self.flight.max != una).then(|| self.rtt.expiry(now));
        match self.recovery.on_new_ack(&mut self.flight) {
            AfterAck::Open => self.congestion.on_ack(&AckSample { now, acked, rtt }, &mut self.flight),
            AfterAck::WindowSet => {}
            AfterAck::Retransmit(seq) => self.retransmit.push(seq),
        }
        self.call_extension(now, |extension, sender| extension.on_new_ack(sender));
        let fin_acknowledged = self.fin_sent() && una == self.flight.max && self.buffer.is_empty();
        if fin_acknowledged {
            match self.state {
                State::FinWait1 => self.state = State::FinWait2,
                State::Closing => self.state = self.enter_time_wait(now),
                State::LastAck => self.enter_closed(),
                _ => {}
            }
        }
    }

    fn measure(&mut self, tcp: &Tcp, now: Instant) -> Option<std::time::Duration> {
        match tcp.options.timestamps {
            Some(timestamps) if self.negotiated.timestamps && timestamps.echo_reply != 0 => {
                let age = output::timestamp(now).wrapping_sub(timestamps.echo_reply);
                let sent = Instant::from_millis(now.as_millis().saturating_sub(u64::from(age)));
                Some(self.rtt.sample(sent, now))
            }
            _ => self.rtt.on_ack(tcp.ack, now),
        }
    }

    fn on_duplicate_ack(&mut self, now: Instant) {
        self.stats.duplicate_acks += 1;
        self.duplicate_acks += 1;
        let count = self.duplicate_acks;
        let response = self
            .call_extension(now, |extension, sender| extension.on_duplicate_ack(count, sender))
            .unwrap_or(DuplicateAckResponse::Standard);
        let lost = match response {
            DuplicateAckResponse::Standard => {
                self.recovery.on_duplicate_ack(count, &mut self.flight, self.congestion.as_mut())
            }
            DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit } => {
                self.recovery.enter_without_reduction(cwnd, &mut self.flight);
                retransmit.then_some(self.flight.una)
            }
        };
        if let Some(seq) = lost {
            if count == DUPLICATE_ACK_THRESHOLD {
                self.stats.fast_retransmits += 1;
            }
            self.retransmit_at(seq);
        }
    }

    /// Puts a segment in front of everything else.
    fn retransmit_at(&mut self, seq: Seq) {
        self.rtt.stop_timing();
        self.timers.retransmit = None;
        self.retransmit.push(seq);
    }

    /// Takes in an ICMP error message that arrived at this host. Only one that quotes an outstanding segment of this connection
    /// has an effect, and only if a scheme has a use for it.
    pub fn on_icmp(&mut self, packet: &Packet, now: Instant) {
        let Transport::Icmp(icmp) = packet.transport() else { return };
        let Some(quotation) = Quotation::of(packet) else { return };
        let is_ours = quotation.flow.source == self.local && quotation.flow.destination == self.remote;
        if !is_ours || self.is_handshaking() || !self.flight.is_outstanding(quotation.seq) {
            return;
        }
        let notice = IcmpNotice {
            kind: icmp.kind,
            code: icmp.code,
            is_v6: packet.ip().source.is_ipv6(),
            seq: quotation.seq,
        };
        let before = self.retransmit.len();
        if self.call_extension(now, |extension, sender| extension.on_icmp(notice, sender)).is_some() {
            self.stats.icmp_accepted += 1;
        }
        if self.retransmit.len() > before {
            self.stats.scheme_retransmits += 1;
            self.rtt.stop_timing();
        }
    }

    pub(super) fn call_extension<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn Extension, &mut SenderControl<'_>) -> R,
    ) -> Option<R> {
        let extension = self.extension.as_mut()?;
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
