//! Processing of acknowledgments: RFC 9293, section 3.10.7.4, and RFC 5681.

use std::time::Duration;

use lasthop_packet::{Instant, Seq, Tcp};

use super::{End, SendSide};
use crate::congestion::AckSample;
use crate::extension::DuplicateAckResponse;
use crate::recovery::{AfterAck, AfterDuplicate, DUPLICATE_ACK_THRESHOLD, Report};

/// Properties of an acknowledgment apart from its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckKind {
    /// Its segment has neither data nor FIN.
    pub(crate) is_bare: bool,
    /// The peer echoes a congestion mark.
    pub(crate) is_marked: bool,
    /// The acknowledgment of our FIN ends the connection.
    pub(crate) is_last: bool,
}

impl SendSide {
    /// Processes an acknowledgment up to SND.MAX.
    #[inline]
    pub(crate) fn on_ack(&mut self, tcp: &Tcp, kind: AckKind, now: Instant) {
        if self.control.has_model() {
            self.on_ack_with_model(tcp, kind, now);
        } else {
            self.take_ack(tcp, kind, now);
        }
    }

    /// Processes an acknowledgment, and updates the model.
    #[inline(never)]
    fn on_ack_with_model(&mut self, tcp: &Tcp, kind: AckKind, now: Instant) {
        self.record_application_limit();
        let before = self.control.before_ack(&self.flight);
        self.take_ack(tcp, kind, now);
        let next_departure = self.departure.next(now);
        self.control.update_model(before, &mut self.flight, self.rtt.srtt(), next_departure, now);
    }

    fn take_ack(&mut self, tcp: &Tcp, kind: AckKind, now: Instant) {
        if self.control.goes_by_segments() {
            self.update_queue(tcp, now);
        }
        let report = if self.control.has_reports() {
            let (control, view) = self.control(now);
            control.read_report(tcp.options.sack.as_slice(), view)
        } else {
            Report::Unused
        };
        if tcp.ack.after(self.flight.una) {
            self.read_peer_window(tcp);
            self.on_new_ack(tcp, kind.is_marked, now);
            let is_over = kind.is_last && self.stream.end() == End::Acknowledged;
            if report == Report::New && !is_over {
                self.on_duplicate_ack(now);
            }
        } else {
            self.on_old_ack(tcp, kind.is_bare, report, now);
        }
        if self.peer_window.next_probe().is_some() {
            self.on_answer_to_probe();
        }
    }

    /// An ACK without new data.
    #[inline]
    fn on_old_ack(&mut self, tcp: &Tcp, is_bare: bool, report: Report, now: Instant) {
        let (ack, window, flight) = (tcp.ack, self.peer_window.of(tcp), &self.flight);
        //= RFC 5681, section 2, DUPLICATE ACKNOWLEDGMENT: outstanding data, no data, no SYN or FIN, the same number, the
        //= same window.
        // Answers to window probes are no duplicates: only the probe is outstanding.
        let looks_duplicate = is_bare
            && ack == flight.una
            && flight.max != flight.una
            && window == flight.peer_window
            && window > 0;
        if ack == flight.una && self.peer_window.is_news(window, tcp.seq, flight.peer_window) {
            self.set_peer_window(window, tcp.seq);
        }
        //= RFC 9293, section 3.8.6.1: "As long as the receiving TCP peer continues to send acknowledgments in response to the
        //= probe segments, the sending TCP peer MUST allow the connection to stay open". What goes again into a closed window
        //= probes it.
        // The same holds for a peer that answers a split's FIN, which waits for another end.
        if self.flight.peer_window == 0 || self.control.has_external_window() {
            self.silence.end();
        }
        match report {
            Report::New => self.on_duplicate_ack(now),
            Report::Unused if looks_duplicate => self.on_duplicate_ack(now),
            Report::Unused => self.control.on_other_old_ack(),
            Report::Known => {}
        }
    }

    /// The first echo of a congestion mark in this window of data.
    pub(crate) fn on_congestion_mark(&mut self, now: Instant) {
        self.stats.congestion_echoes += 1;
        self.call_recovery(now, |recovery, sender| recovery.on_congestion_mark(sender));
    }

    #[cold]
    fn on_answer_to_probe(&mut self) {
        self.silence.end();
        if self.flight.peer_window > 0 {
            self.peer_window.stop_probing();
            self.rtt.stop_probing();
        }
    }

    #[inline]
    fn on_new_ack(&mut self, tcp: &Tcp, is_marked: bool, now: Instant) {
        let acked = tcp.ack - self.flight.una;
        let outstanding = self.flight.outstanding() + self.departure.held();
        self.flight.una = tcp.ack;
        self.flight.nxt = self.flight.nxt.later(tcp.ack);
        self.control.forget_duplicate_acks();
        self.silence.end();
        if let Some(mss) = self.path_mtu.on_new_ack(tcp.ack, now) {
            self.set_mss(mss);
        }
        let una = self.flight.una;
        self.stats.octets_acknowledged += self.stream.acknowledge(acked, una);
        if !self.retransmit.is_empty() {
            self.retransmit.retain(|seq| !seq.before(una));
        }

        let rtt = self.measure(tcp, now);
        let rate = self.control.rate_sample(now);
        // Octets that were reported before they were acknowledged count once.
        let is_by_segments = self.control.goes_by_segments();
        let delivered = if is_by_segments { self.control.delivery().octets() } else { acked };
        let srtt = self.rtt.srtt();
        let sample = AckSample { now, acked: delivered, outstanding, rtt, srtt, rate };
        // The timer restarts for the new oldest outstanding segment (RFC 6298, section 5.2 and 5.3).
        self.retransmission_timer = (self.flight.max != una).then(|| self.rtt.expiry(now));
        let after = if is_by_segments {
            self.advance_by_segments(acked, now)
        } else {
            let (control, view) = self.control(now);
            control.advance(acked, view)
        };
        //= RFC 3168, section 6.1.2: the window does not grow with an ACK that echoes a mark.
        if after == AfterAck::Open && !is_marked && self.is_window_used() {
            self.control.congestion_mut().on_ack(&sample, &mut self.flight);
        } else {
            self.control.congestion_mut().on_other_ack(&sample, &self.flight);
        }
        match after {
            AfterAck::Recover => self.stats.fast_retransmits += 1,
            // The segment at SND.NXT is next in any case: after a time-out.
            AfterAck::Retransmit(seq) if seq.before(self.flight.nxt) => self.retransmit_at(seq),
            _ => {}
        }
        if self.control.is_suspicious_ack() {
            self.check_for_another_loss(now);
        }
        self.call_extension(now, |extension, sender| extension.on_new_ack(sender));
        if una == self.flight.max {
            self.stream.on_all_acknowledged();
        }
    }

    #[inline(never)]
    fn update_queue(&mut self, tcp: &Tcp, now: Instant) {
        let echo = self.timestamp_clock.echo(tcp, now);
        self.control.update_queue(tcp, echo, self.flight.una, now);
    }

    #[inline(never)]
    fn advance_by_segments(&mut self, acked: u32, now: Instant) -> AfterAck {
        self.call_recovery(now, |recovery, sender| recovery.on_new_ack(acked, sender))
    }

    /// Whether the window was used in the last round trip. Without validation it always counts as used.
    #[inline]
    fn is_window_used(&self) -> bool {
        self.validation.is_none_or(|validation| validation.is_window_used(&self.flight))
            || self.control.congestion().rules_recovery()
    }

    /// Takes a round-trip time for RTO. Returns an exact one for congestion control.
    fn measure(&mut self, tcp: &Tcp, now: Instant) -> Option<Duration> {
        if self.control.goes_by_segments() {
            return self.measure_segments(now);
        }
        if tcp.options.timestamps.is_some() {
            return self.measure_echo(tcp, now);
        }
        self.control.set_echo(None);
        self.rtt.on_ack(tcp.ack, now, &self.flight)
    }

    /// The same if timestamps may be used for RTO.
    #[inline(never)]
    fn measure_echo(&mut self, tcp: &Tcp, now: Instant) -> Option<Duration> {
        let echo = self.timestamp_clock.echo(tcp, now);
        self.control.set_echo(echo);
        if !self.timestamp_clock.is_timed_by(tcp) {
            return self.rtt.on_ack(tcp.ack, now, &self.flight);
        }
        if let Some(sent) = echo.and_then(|echo| echo.sent) {
            self.rtt.sample(sent, now, &self.flight);
        }
        self.rtt.take_timed(tcp.ack).map(|sent| now.since(sent))
    }

    /// The same if each segment is timed: RTO is based on the first segment delivered, which has waited
    /// longest for the ACK, or on the echoed timestamp if all were retransmitted.
    #[inline(never)]
    fn measure_segments(&mut self, now: Instant) -> Option<Duration> {
        let delivery = self.control.delivery();
        let copied_since = delivery.copied_since.filter(|_| self.rtt.times_copies());
        let echoed = delivery.echo.and_then(|echo| echo.sent);
        if let Some(sent) = delivery.first_sent.or(echoed).or(copied_since) {
            self.rtt.sample(sent, now, &self.flight);
        }
        delivery.last_sent.map(|sent| now.since(sent))
    }

    /// Newly reported data is timed like acknowledged data (`sack_rtt_us` in Linux): RTO continues to follow
    /// the path in recovery, and back-off ends.
    fn measure_report(&mut self, now: Instant) {
        let delivery = self.control.delivery();
        if let Some(sent) = delivery.first_sent.filter(|_| delivery.acked == 0) {
            self.rtt.sample(sent, now, &self.flight);
        }
    }

    #[cold]
    fn on_duplicate_ack(&mut self, now: Instant) {
        let count = self.control.duplicate_acks() + 1;
        let response = self
            .call_extension(now, |extension, sender| extension.on_duplicate_ack(count, sender))
            .unwrap_or(DuplicateAckResponse::Standard);
        match response {
            DuplicateAckResponse::Ignore => {}
            DuplicateAckResponse::Standard => {
                self.count_duplicate_ack(now);
                let is_suspected = self.control.suspects_loss(&self.flight, now);
                let after = self.call_recovery(now, |recovery, sender| {
                    if is_suspected {
                        recovery.on_loss(count, sender)
                    } else {
                        recovery.on_duplicate_ack(count, sender)
                    }
                });
                self.recover(after);
            }
            DuplicateAckResponse::RecoverWithoutReduction { cwnd, retransmit } => {
                self.count_duplicate_ack(now);
                let was_recovering = self.control.is_recovering();
                self.call_recovery(now, |recovery, sender| recovery.enter_without_reduction(cwnd, sender));
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

    fn count_duplicate_ack(&mut self, now: Instant) {
        self.stats.duplicate_acks += 1;
        self.control.count_duplicate_ack();
        if self.control.goes_by_segments() {
            self.measure_report(now);
        }
        let outstanding = self.flight.outstanding();
        let srtt = self.rtt.srtt();
        let sample = AckSample { now, acked: 0, outstanding, rtt: None, srtt, rate: None };
        self.control.congestion_mut().on_other_ack(&sample, &self.flight);
    }

    /// One of the first two ACKs of new data after a retransmission: checks whether the new oldest segment is lost, too.
    #[cold]
    fn check_for_another_loss(&mut self, now: Instant) {
        if self.control.suspects_loss(&self.flight, now) {
            let after = self.call_recovery(now, |recovery, sender| recovery.on_loss(0, sender));
            self.recover(after);
        }
    }

    /// Carries out the decision of loss recovery.
    fn recover(&mut self, after: AfterDuplicate) {
        if after == AfterDuplicate::Wait {
            return;
        }
        self.stats.fast_retransmits += 1;
        self.rtt.stop_timing();
        // It is started when the segment is sent; if single segments are timed, it continues until the oldest
        // is retransmitted.
        if !self.control.goes_by_segments() {
            self.retransmission_timer = None;
        }
        match after {
            AfterDuplicate::Retransmit(seq) => {
                self.retransmit_at(seq);
                // Inflation allows new data with the following duplicate ACKs, not with this one (thesis,
                // section 2.3.2; 4.3BSD): this matters for small windows, where ssthresh + 3 segments is
                // more than the flight.
                self.retransmission_goes_alone = true;
            }
            AfterDuplicate::GoBack => self.flight.nxt = self.flight.una,
            AfterDuplicate::Recover | AfterDuplicate::Wait => {}
        }
    }

    /// Retransmits a segment before new data; the timer restarts with it.
    fn retransmit_at(&mut self, seq: Seq) {
        self.rtt.stop_timing();
        if seq == self.flight.una {
            self.retransmission_timer = None;
        }
        if !self.retransmit.contains(&seq) {
            self.retransmit.push(seq);
        }
    }
}
