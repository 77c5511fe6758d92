//! What a congestion control learns that goes by a model of the path.

use lasthop_packet::{Instant, Tcp};

use super::acknowledgment::AckKind;
use super::{Pacer, SendSide, Tracking};
use crate::congestion::{AckSample, PathSample};

/// What was known before an ACK came.
#[derive(Clone, Copy, Debug)]
struct Before {
    in_network: u32,
    outstanding: u32,
    lost: u64,
}

impl SendSide {
    /// The connection is established.
    pub(crate) fn begin_model(&mut self) {
        let srtt = self.rtt.srtt();
        if let Some(model) = self.congestion.as_path_model() {
            model.begin(&self.flight, srtt, self.has_reports);
        }
    }

    /// To be called before the application writes, and before an ACK or a timer is looked at.
    ///
    //= draft-ietf-ccwg-bbr, section 4.1.2.4: no unsent data, less in the network than cwnd, and all that is lost was sent
    //= again.
    #[inline]
    pub(crate) fn note_application_limit(&mut self) {
        if self.tracking == Tracking::Model {
            self.note_application_limit_of_model();
        }
    }

    #[inline(never)]
    fn note_application_limit_of_model(&mut self) {
        if self.unsent() < u64::from(self.flight.mss)
            && self.queue.in_network() < self.flight.cwnd
            && self.queue.lost() <= self.queue.again()
        {
            self.queue.note_application_limited();
        }
    }

    /// What the application has written and that was not sent; a full send buffer takes no more.
    fn unsent(&self) -> u64 {
        self.stream
            .len()
            .min(u64::from(self.send_window))
            .saturating_sub(u64::from(self.flight.outstanding()))
    }

    /// Takes in an acknowledgment, and tells the model.
    #[inline(never)]
    pub(super) fn on_ack_with_model(&mut self, tcp: &Tcp, kind: AckKind, now: Instant) {
        let before = self.before_ack();
        self.take_ack(tcp, kind, now);
        self.update_model(before, now);
    }

    fn before_ack(&mut self) -> Before {
        self.note_application_limit();
        Before {
            in_network: self.queue.in_network(),
            outstanding: self.flight.outstanding(),
            lost: self.queue.lost_in_all(),
        }
    }

    /// An ACK was taken in, and loss recovery has done its work.
    fn update_model(&mut self, before: Before, now: Instant) {
        let delivery = self.queue.delivery();
        let (acked, duplicate_free) = (delivery.octets(), delivery.duplicate.is_none());
        // Of a retransmission, only the timestamp can tell: that counts whole milliseconds.
        let echoed =
            delivery.echo.and_then(|echo| echo.sent).filter(|_| delivery.acked > 0 && duplicate_free);
        let rtt = match (delivery.last_sent, echoed) {
            (Some(sent), _) => Some(now.since(sent)),
            (None, Some(echo)) => Some(Instant::from_millis(now.as_millis()).since(echo)),
            (None, None) => None,
        };
        let is_reported = delivery.sacked > 0;
        let rate = self.queue.rate_sample(now);
        let mut sample = PathSample {
            ack: AckSample { now, acked, outstanding: before.outstanding, rtt, srtt: self.rtt.srtt(), rate },
            stage: self.recovery.stage(),
            lost: (self.queue.lost_in_all() - before.lost) as u32,
            in_network_before: before.in_network,
            // A single segment that is not full may have waited for another.
            is_delayed: !is_reported
                && acked < self.flight.mss
                && rate.is_some_and(|rate| rate.delivered == u64::from(acked)),
            next_departure: self.pacer.as_ref().map_or(now, Pacer::next_departure),
            flight: &mut self.flight,
            queue: &mut self.queue,
        };
        if let Some(model) = self.congestion.as_path_model() {
            model.update(&mut sample);
        }
    }

    /// A segment leaves.
    pub(super) fn restart_model(&mut self, now: Instant) {
        if self.queue.in_network() == 0
            && self.queue.is_application_limited()
            && let Some(model) = self.congestion.as_path_model()
        {
            model.on_restart(now, self.queue.delivered(), &mut self.flight);
        }
    }
}
