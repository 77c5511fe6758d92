//! Reno that counts octets instead of ACKs: appropriate byte counting (RFC 3465). A receiver that
//! acknowledges only every second segment does not slow it down.

use super::control::{AckSample, CongestionControl, Reduction};
use crate::flight::Flight;

/// In slow start, each ACK opens the window by the octets that it acknowledges, up to two segments;
/// above ssthresh, the window grows by one segment for each window of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenoAbc {
    /// L, segments by which an ACK opens the window in slow start; None: the RFC's.
    slow_start_limit: Option<u32>,
    /// In congestion avoidance: octets acknowledged since cwnd last grew.
    bytes_acked: u32,
    /// cwnd has not reached ssthresh since the last time-out.
    is_after_timeout: bool,
}

impl RenoAbc {
    /// Creates the control with this L, or the RFC's.
    pub const fn new(slow_start_limit: Option<u32>) -> Self {
        Self { slow_start_limit, bytes_acked: 0, is_after_timeout: false }
    }

    //= RFC 3465, section 2.3: L is two segments at most, and one in the slow start after a time-out, where an ACK may cover
    //= much that had left the network long before.
    fn limit(&self, flight: &Flight) -> u32 {
        let standard = if self.is_after_timeout { 1 } else { 2 };
        self.slow_start_limit.unwrap_or(standard).saturating_mul(flight.mss)
    }
}

impl CongestionControl for RenoAbc {
    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        let increment = if flight.cwnd < flight.ssthresh {
            ack.acked.min(self.limit(flight)).min(flight.below_ssthresh())
        } else {
            self.is_after_timeout = false;
            //= RFC 3465, section 2.1: "When bytes_acked becomes greater than or equal to the value of the congestion window,
            //= bytes_acked is reduced by the value of cwnd. Next, cwnd is incremented by a full-sized segment (SMSS)."
            self.bytes_acked = self.bytes_acked.saturating_add(ack.acked);
            if self.bytes_acked >= flight.cwnd {
                self.bytes_acked -= flight.cwnd;
                flight.mss
            } else {
                0
            }
        };
        flight.cwnd = flight.opened(increment);
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        *self = Self::new(self.slow_start_limit);
        Reduction::to(flight.half_window())
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        *self = Self { is_after_timeout: true, ..Self::new(self.slow_start_limit) };
        flight.ssthresh = flight.half_window();
        flight.cwnd = flight.mss;
    }
}
