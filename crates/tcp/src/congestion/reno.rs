//! 4.3BSD Reno: slow start and congestion avoidance (Jacobson 1988; RFC 2001).

use super::control::{AckSample, CongestionControl, Reduction};
use crate::flight::Flight;

/// The window grows by one segment for each ACK up to and at ssthresh, then by one segment for each
/// window of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl CongestionControl for Reno {
    fn on_ack(&mut self, _ack: &AckSample, flight: &mut Flight) {
        let increment = if flight.cwnd <= flight.ssthresh {
            flight.mss
        } else {
            (u64::from(flight.mss) * u64::from(flight.mss) / u64::from(flight.cwnd)).max(1) as u32
        };
        flight.cwnd = flight.opened(increment);
    }

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        Reduction::to(flight.half_window())
    }

    fn on_timeout(&mut self, flight: &mut Flight) {
        flight.ssthresh = flight.half_window();
        flight.cwnd = flight.mss;
    }
}
