//! What a congestion control learns that goes by a model of the path.

use std::time::Duration;

use lasthop_packet::Instant;

use super::Control;
use crate::congestion::{AckSample, PathSample};
use crate::flight::Flight;

/// What was known before an ACK came.
#[derive(Clone, Copy, Debug)]
pub(in crate::send) struct Before {
    in_network: u32,
    outstanding: u32,
    lost: u64,
}

impl Control {
    /// The connection is established.
    pub(in crate::send) fn begin_model(&mut self, flight: &Flight, srtt: Option<Duration>) {
        if let Some(model) = self.congestion.as_path_model() {
            model.begin(flight, srtt, self.has_reports);
        }
    }

    /// To be called before the application writes, and before an ACK or a timer is looked at, where there is a
    /// model; `unsent` octets were written and not sent.
    ///
    //= draft-ietf-ccwg-bbr, section 4.1.2.4: no unsent data, less in the network than cwnd, and all that is lost was sent
    //= again.
    pub(in crate::send) fn note_application_limit(&mut self, unsent: u64, flight: &Flight) {
        if unsent < u64::from(flight.mss)
            && self.queue.in_network() < flight.cwnd
            && self.queue.lost() <= self.queue.again()
        {
            self.queue.note_application_limited();
        }
    }

    /// An ACK came.
    pub(in crate::send) fn before_ack(&self, flight: &Flight) -> Before {
        Before {
            in_network: self.queue.in_network(),
            outstanding: flight.outstanding(),
            lost: self.queue.lost_in_all(),
        }
    }

    /// It was taken in, and loss recovery has done its work. The next segment may leave at `next_departure`.
    pub(in crate::send) fn update_model(
        &mut self,
        before: Before,
        flight: &mut Flight,
        srtt: Option<Duration>,
        next_departure: Instant,
        now: Instant,
    ) {
        let delivery = self.queue.delivery();
        let (acked, duplicate_free) = (delivery.octets(), delivery.duplicate.is_none());
        // Of a retransmission, only the timestamp says it: that counts whole milliseconds.
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
            ack: AckSample { now, acked, outstanding: before.outstanding, rtt, srtt, rate },
            stage: self.recovery.stage(),
            lost: (self.queue.lost_in_all() - before.lost) as u32,
            in_network_before: before.in_network,
            // A single segment that is not full may have waited for another.
            is_delayed: !is_reported
                && acked < flight.mss
                && rate.is_some_and(|rate| rate.delivered == u64::from(acked)),
            next_departure,
            flight,
            queue: &mut self.queue,
        };
        if let Some(model) = self.congestion.as_path_model() {
            model.update(&mut sample);
        }
    }

    /// A segment leaves: the model begins anew if nothing is there for want of data.
    pub(in crate::send) fn restart_model(&mut self, flight: &mut Flight, now: Instant) {
        if self.has_model()
            && self.queue.in_network() == 0
            && self.queue.is_application_limited()
            && let Some(model) = self.congestion.as_path_model()
        {
            model.on_restart(now, self.queue.delivered(), flight);
        }
    }
}
