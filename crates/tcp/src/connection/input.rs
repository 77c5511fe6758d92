//! What arriving packets do: RFC 9293, section 3.10.7.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Quotation, Seq, Tcp, TcpFlags, Transport};

use super::{Connection, State, output};
use crate::congestion::{AckSample, CongestionControl};
use crate::extension::{DuplicateAckResponse, Extension, IcmpNotice, SenderControl};
use crate::flight::Flight;
use crate::recovery::{AfterAck, AfterDuplicate, DUPLICATE_ACK_THRESHOLD, Report};

impl Connection {
    /// Takes in a packet that is addressed to this connection; what is no TCP segment is ignored.
    pub fn on_segment(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        match self.state {
            State::Closed => self.refuse(packet, tcp),
            State::Listen => self.on_segment_in_listen(packet, tcp),
            State::SynSent => self.on_segment_in_syn_sent(packet, tcp, now),
            _ => self.on_segment_in_window(packet, tcp, now),
        }
    }

    fn on_segment_in_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::RST) {
            self.on_reset(tcp);
            return;
        }
        let timestamps = tcp.options.timestamps.filter(|_| self.negotiated.timestamps);
        if timestamps.is_some_and(|timestamps| self.receive.is_old_timestamp(timestamps.value)) {
            self.receive.ack_now = true;
            return;
        }
        let segment_len = packet.segment_len();
        if !self.receive.accepts(tcp.seq, packet.payload().len() as u32, segment_len) {
            self.on_segment_outside_window(packet, tcp, now);
            return;
        }
        if let Some(timestamps) = timestamps {
            self.receive.note_timestamp(timestamps.value, tcp.seq);
        }
        if tcp.flags.has(TcpFlags::SYN) {
            //= RFC 5961, section 4.2: a SYN is challenged, wherever it lies.
            self.receive.ack_now = true;
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
            self.flight.peer_window = u32::from(tcp.window) << self.negotiated.peer_shift;
            self.window_told_at = tcp.seq;
        }
        if tcp.ack.after(self.flight.max) {
            //= RFC 9293, section 3.10.7.4: "If the ACK acks something not yet sent [...], then send an ACK, drop the segment".
            self.receive.ack_now = true;
            return;
        }
        self.on_ack(tcp, segment_len == 0, now);
        if segment_len > 0 && self.state != State::Closed {
            self.on_data(packet, tcp, now);
        }
    }

    #[cold]
    fn on_reset(&mut self, tcp: &Tcp) {
        //= RFC 5961, section 3.2: only a reset at exactly the expected number resets; another one in the window is challenged.
        if tcp.seq == self.receive.next() {
            self.enter_closed();
        } else if self.receive.is_in_window(tcp.seq) {
            self.receive.ack_now = true;
        }
    }

    /// What lies outside the window is answered with an ACK (RFC 9293, section 3.10.7.4), a duplicate SYN included.
    #[cold]
    fn on_segment_outside_window(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        self.receive.ack_now = true;
        if tcp.flags.has(TcpFlags::SYN) {
            if self.state == State::SynReceived {
                self.flight.nxt = self.flight.una;
            }
            return;
        }
        if self.state == State::TimeWait && tcp.flags.has(TcpFlags::FIN) {
            self.timers.time_wait = Some(now + self.config.time_wait);
        }
        // Data that is known already, or a probe of a closed window: what it acknowledges counts, as in 4.3BSD. Else two ends that
        // resend to each other would never hear that the other has got it.
        let is_heard = tcp.flags.has(TcpFlags::ACK) && packet.segment_len() > 0;
        if is_heard
            && self.state != State::SynReceived
            && !self.receive.is_beyond(tcp.seq)
            && !tcp.ack.after(self.flight.max)
        {
            self.on_ack(tcp, false, now);
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
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

    /// Takes in an acknowledgment that is not beyond what was sent. `is_bare` if the segment carried nothing else.
    #[inline]
    fn on_ack(&mut self, tcp: &Tcp, is_bare: bool, now: Instant) {
        let ack = tcp.ack;
        let window = u32::from(tcp.window) << self.negotiated.peer_shift;
        let report = if self.negotiated.sack {
            self.recovery.on_report(tcp.options.sack.as_slice(), &self.flight)
        } else {
            Report::Unused
        };
        if ack.after(self.flight.una) {
            self.take_window(window, tcp.seq);
            self.on_new_ack(tcp, now);
            if report == Report::New && self.state != State::Closed {
                self.on_duplicate_ack(now);
            }
        } else {
            //= RFC 5681, section 2, DUPLICATE ACKNOWLEDGMENT: outstanding data, no data, no SYN or FIN, the same number, the
            //= same window.
            // Answers to window probes are none: nothing is outstanding but the probe.
            let looks_duplicate = is_bare
                && ack == self.flight.una
                && self.flight.max != self.flight.una
                && window == self.flight.peer_window
                && window > 0;
            // Of two ACKs with the same number, the later one cannot have the smaller window: as in 4.3BSD, it counts for older.
            let is_newer = tcp.seq.after(self.window_told_at)
                || (tcp.seq == self.window_told_at && window > self.flight.peer_window);
            if ack == self.flight.una && is_newer {
                self.take_window(window, tcp.seq);
            }
            match report {
                Report::New => self.on_duplicate_ack(now),
                Report::Unused if looks_duplicate => self.on_duplicate_ack(now),
                // Three in a row, with nothing between them, mean a loss.
                Report::Unused if !self.is_recovering => self.duplicate_acks = 0,
                Report::Unused | Report::Known => {}
            }
        }
        if self.timers.persist.is_some() {
            self.on_answer_to_probe();
        }
    }

    fn take_window(&mut self, window: u32, seq: Seq) {
        self.flight.peer_window = window;
        self.window_told_at = seq;
    }

    #[cold]
    fn on_answer_to_probe(&mut self) {
        self.unanswered = 0;
        if self.flight.peer_window > 0 {
            self.timers.persist = None;
            self.probe_window = false;
            self.rtt.stop_probing();
        }
    }

    #[inline]
    fn on_new_ack(&mut self, tcp: &Tcp, now: Instant) {
        let acked = tcp.ack - self.flight.una;
        let outstanding = self.flight.outstanding();
        self.flight.una = tcp.ack;
        self.flight.nxt = self.flight.nxt.later(tcp.ack);
        self.duplicate_acks = 0;
        self.unanswered = 0;
        let data = u64::from(acked).min(self.buffer.len());
        self.buffer.acknowledge(data);
        self.stats.octets_acknowledged += data;
        let una = self.flight.una;
        if !self.retransmit.is_empty() {
            self.retransmit.retain(|seq| !seq.before(una));
        }

        let rtt = self.measure(tcp, now);
        let sample = AckSample { now, acked, outstanding, rtt, srtt: self.rtt.srtt() };
        // The timer restarts for what is the oldest outstanding segment now (RFC 6298, section 5.2 and 5.3).
        self.timers.retransmit = (self.flight.max != una).then(|| self.rtt.expiry(now));
        let after = self.recovery.on_new_ack(acked, &mut self.flight);
        self.is_recovering = self.is_recovering && self.recovery.is_recovering();
        match after {
            AfterAck::Open => self.congestion.on_ack(&sample, &mut self.flight),
            AfterAck::WindowSet => self.congestion.on_other_ack(&sample, &self.flight),
            AfterAck::Retransmit(seq) => {
                self.congestion.on_other_ack(&sample, &self.flight);
                // What lies at SND.NXT is next by itself: it is being sent again since a time-out.
                if seq.before(self.flight.nxt) {
                    self.retransmit_at(seq);
                }
            }
        }
        if self.suspicious_acks > 0 {
            self.suspicious_acks -= 1;
            self.look_for_another_loss(now);
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

    /// Takes a round-trip time for RTO. Returns an exact one for congestion control.
    fn measure(&mut self, tcp: &Tcp, now: Instant) -> Option<Duration> {
        match tcp.options.timestamps {
            Some(timestamps) if self.negotiated.timestamps && timestamps.echo_reply != 0 => {
                let age = output::timestamp(now).wrapping_sub(timestamps.echo_reply);
                // An echo of what was never sent measures nothing.
                if let Some(sent) = now.as_millis().checked_sub(u64::from(age)) {
                    self.rtt.sample(Instant::from_millis(sent), now);
                }
                self.rtt.take_timed(tcp.ack).map(|sent| now.since(sent))
            }
            _ => self.rtt.on_ack(tcp.ack, now),
        }
    }

    #[cold]
    fn on_duplicate_ack(&mut self, now: Instant) {
        self.stats.duplicate_acks += 1;
        self.duplicate_acks += 1;
        let count = self.duplicate_acks;
        let outstanding = self.flight.outstanding();
        let sample = AckSample { now, acked: 0, outstanding, rtt: None, srtt: self.rtt.srtt() };
        self.congestion.on_other_ack(&sample, &self.flight);
        let response = self
            .call_extension(now, |extension, sender| extension.on_duplicate_ack(count, sender))
            .unwrap_or(DuplicateAckResponse::Standard);
        match response {
            DuplicateAckResponse::Standard => {
                let (flight, congestion) = (&mut self.flight, self.congestion.as_mut());
                let after = if self.is_recovering || !Self::is_suspected(congestion, flight, now) {
                    self.recovery.on_duplicate_ack(count, flight, congestion)
                } else {
                    self.recovery.on_loss(count, flight, congestion)
                };
                self.recover(after);
            }
            DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit } => {
                let was_recovering = self.is_recovering;
                self.recovery.enter_without_reduction(cwnd, &mut self.flight);
                self.is_recovering = self.recovery.is_recovering();
                if retransmit {
                    if count == DUPLICATE_ACK_THRESHOLD {
                        self.stats.fast_retransmits += 1;
                    }
                    self.retransmit_at(self.flight.una);
                    self.retransmission_goes_alone = !was_recovering;
                }
            }
        }
    }

    /// The first two ACKs of new data after a retransmission: is what is the oldest now lost too?
    #[cold]
    fn look_for_another_loss(&mut self, now: Instant) {
        let (flight, congestion) = (&mut self.flight, self.congestion.as_mut());
        if !self.is_recovering && Self::is_suspected(congestion, flight, now) {
            let after = self.recovery.on_loss(0, flight, congestion);
            self.recover(after);
        }
    }

    /// Whether congestion control takes the oldest segment for lost; what is sent again since a time-out is next anyhow.
    fn is_suspected(congestion: &dyn CongestionControl, flight: &Flight, now: Instant) -> bool {
        flight.una != flight.max && flight.nxt == flight.max && congestion.suspects_loss(now, flight)
    }

    /// Does what loss recovery wants done.
    fn recover(&mut self, after: AfterDuplicate) {
        if after == AfterDuplicate::Wait {
            return;
        }
        self.is_recovering = self.recovery.is_recovering();
        self.stats.fast_retransmits += 1;
        self.rtt.stop_timing();
        // It is set when the segment leaves.
        self.timers.retransmit = None;
        match after {
            AfterDuplicate::Retransmit(seq) => {
                self.retransmit_at(seq);
                // Inflation lets new data go with the duplicate ACKs that follow, not with this one (thesis, section 2.3.2; 4.3BSD):
                // that matters for small windows, where ssthresh + 3 segments is more than what is in flight.
                self.retransmission_goes_alone = true;
            }
            AfterDuplicate::GoBack => self.flight.nxt = self.flight.una,
            AfterDuplicate::Recover | AfterDuplicate::Wait => {}
        }
    }

    /// Has a segment sent again, ahead of new data; the timer restarts with it.
    fn retransmit_at(&mut self, seq: Seq) {
        self.rtt.stop_timing();
        if seq == self.flight.una {
            self.timers.retransmit = None;
        }
        if !self.retransmit.contains(&seq) {
            self.retransmit.push(seq);
        }
    }

    /// Takes in an ICMP error message that arrived at this host. Only one that quotes an outstanding segment of this connection
    /// has an effect, and only if a scheme has a use for it.
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
