//! What loss recovery and congestion control learn, and what loss recovery decides.

use lasthop_packet::{Instant, Tcp};

use super::SendSide;
use crate::congestion::SentSegment;
use crate::recovery::{AfterAck, LossRecovery, Sender};
use crate::retransmission_queue::Echoed;

impl SendSide {
    /// Calls loss recovery, and notes what it has become.
    pub(super) fn ask_recovery<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn LossRecovery, &mut Sender<'_>) -> R,
    ) -> R {
        let (answer, undone) = {
            let (recovery, mut sender) = self.recovery_and_sender(now);
            (call(recovery, &mut sender), sender.undone)
        };
        self.stats.undone += u64::from(undone);
        self.is_recovering = self.recovery.is_recovering();
        if self.goes_by_segments() {
            self.recovery_timer = self.recovery.deadline();
        }
        answer
    }

    /// The receiver echoes a congestion mark, the first for this window of data.
    pub(crate) fn on_congestion_mark(&mut self, now: Instant) {
        self.stats.congestion_echoes += 1;
        self.ask_recovery(now, |recovery, sender| recovery.on_congestion_mark(sender));
    }

    #[inline]
    pub(super) fn recovery_and_sender(&mut self, now: Instant) -> (&mut dyn LossRecovery, Sender<'_>) {
        let sender = Sender {
            now,
            flight: &mut self.flight,
            congestion: self.congestion.as_mut(),
            queue: &mut self.queue,
            rtt: &self.rtt,
            timer: self.retransmission_timer,
            undone: false,
        };
        (self.recovery.as_mut(), sender)
    }

    /// Tells whoever goes by it that a segment leaves.
    #[inline]
    pub(super) fn announce(&mut self, segment: &SentSegment) {
        self.congestion.on_sent(segment);
        self.path_mtu.on_sent(segment, self.flight.mss);
        if self.pacer.is_some() {
            self.pace(segment);
        }
        if self.goes_by_segments() {
            self.take_in_queue(segment);
        }
    }

    #[inline(never)]
    fn take_in_queue(&mut self, segment: &SentSegment) {
        if let Some(super_packet) = &mut self.super_packet {
            super_packet.on_sent(segment.now);
        }
        self.queue.set_timestamp(self.timestamp(segment.now));
        let mut seq = segment.seq;
        while seq != segment.end {
            let end = if self.most_segments > 1 {
                (seq + self.flight.mss).earlier(segment.end)
            } else {
                segment.end
            };
            self.queue.on_sent(seq, end, segment.now);
            seq = end;
        }
        if self.retransmission_timer.is_none() {
            let oldest = self.queue.first().map_or(segment.now, |first| first.sent);
            self.retransmission_timer = Some(self.rtt.expiry(oldest).max(segment.now));
        }
        self.ask_recovery(segment.now, |recovery, sender| recovery.on_sent(segment, sender));
    }

    /// New data was acknowledged.
    #[inline(never)]
    pub(super) fn advance_by_segments(&mut self, acked: u32, now: Instant) -> AfterAck {
        self.ask_recovery(now, |recovery, sender| recovery.on_new_ack(acked, sender))
    }

    /// Tells the retransmission queue what an ACK says.
    #[inline(never)]
    pub(super) fn update_queue(&mut self, tcp: &Tcp, now: Instant) {
        let echo = self.echo(tcp, now);
        self.queue.begin_ack(echo);
        if self.has_reports && !tcp.options.sack.as_slice().is_empty() {
            self.queue.on_sack(tcp.ack, tcp.options.sack.as_slice(), now);
        }
        if tcp.ack.after(self.flight.una) {
            self.queue.on_cumulative_ack(tcp.ack, now);
        }
    }

    /// What the timestamp that a segment echoes says.
    pub(super) fn echo(&self, tcp: &Tcp, now: Instant) -> Option<Echoed> {
        let timestamps = tcp.options.timestamps.filter(|_| self.has_timestamps)?;
        self.timestamp_clock.echo(timestamps.echo_reply, now)
    }
}
