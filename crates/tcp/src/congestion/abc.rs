//! Reno that counts octets in place of ACKs: appropriate byte counting (RFC 3465). A receiver that
//! acknowledges every second segment only does not slow it down.

use super::control::{AckSample, CongestionControl, Reduction};
use crate::flight::Flight;

/// Slow start by what an ACK acknowledges, two segments at most, up to ssthresh; then one segment a
/// window's worth of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenoAbc {
    /// In congestion avoidance: octets acknowledged since cwnd grew last.
    bytes_acked: u32,
    /// cwnd has not reached ssthresh since the last time-out.
    is_after_timeout: bool,
}

impl CongestionControl for RenoAbc {
    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight) {
        let increment = if flight.cwnd < flight.ssthresh {
            //= RFC 3465, section 2.3: L is two segments at most, and one in the slow start after a time-out, where an ACK may
            //= cover much that had left the network long before.
            let limit = if self.is_after_timeout { flight.mss } else { 2 * flight.mss };
            ack.acked.min(limit)
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
        flight.open(increment);
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        *self = Self::default();
        Reduction::to(flight.half_window())
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        *self = Self { bytes_acked: 0, is_after_timeout: true };
        flight.ssthresh = flight.half_window();
        flight.cwnd = flight.mss;
    }
}
