//! What a model of the path learns of an ACK.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::congestion::{AckSample, PathSample, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::RetransmissionQueue;

/// The state before an ACK.
#[derive(Clone, Copy, Debug)]
pub(in crate::send) struct BeforeAck {
    in_network: u32,
    outstanding: u32,
    lost: u64,
}

impl BeforeAck {
    pub(super) fn new(queue: &RetransmissionQueue, flight: &Flight) -> Self {
        let (in_network, outstanding) = (queue.in_network(), flight.outstanding());
        Self { in_network, outstanding, lost: queue.lost_in_all() }
    }

    /// The ACK, once loss recovery has processed it.
    pub(super) fn sample<'a>(
        self,
        (queue, flight): (&'a mut RetransmissionQueue, &'a mut Flight),
        stage: Stage,
        srtt: Option<Duration>,
        next_departure: Instant,
        now: Instant,
    ) -> PathSample<'a> {
        let delivery = queue.delivery();
        let (acked, duplicate_free) = (delivery.octets(), delivery.duplicate.is_none());
        // A retransmission is timed only by its timestamp, which counts whole milliseconds.
        let echoed =
            delivery.echo.and_then(|echo| echo.sent).filter(|_| delivery.acked > 0 && duplicate_free);
        let rtt = match (delivery.last_sent, echoed) {
            (Some(sent), _) => Some(now.since(sent)),
            (None, Some(echo)) => Some(Instant::from_millis(now.as_millis()).since(echo)),
            (None, None) => None,
        };
        let is_reported = delivery.sacked > 0;
        let rate = queue.rate_sample(now);
        PathSample {
            ack: AckSample { now, acked, outstanding: self.outstanding, rtt, srtt, rate },
            stage,
            lost: (queue.lost_in_all() - self.lost) as u32,
            in_network_before: self.in_network,
            // The receiver may have delayed the ACK of a single segment that is not full.
            is_delayed: !is_reported
                && acked < flight.mss
                && rate.is_some_and(|rate| rate.delivered == u64::from(acked)),
            next_departure,
            flight,
            queue,
        }
    }
}
