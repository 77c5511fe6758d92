//! The events that a congestion control receives.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::flight::Flight;
use crate::retransmission_queue::RateSample;

/// A segment being sent.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// The time of transmission.
    pub now: Instant,
    /// The first sequence number.
    pub seq: Seq,
    /// The sequence number after the last one.
    pub end: Seq,
    /// Whether any octet of it was sent before.
    pub is_retransmission: bool,
}

/// An ACK and its measurements.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// The arrival time.
    pub now: Instant,
    /// Octets newly acknowledged; 0 for a duplicate ACK.
    pub acked: u32,
    /// Octets that were outstanding before the ACK, or waiting for the rest of a super-packet.
    pub outstanding: u32,
    /// The exact round-trip time of this ACK, if it was measured, even if the clock of the
    /// retransmission timer is coarse.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, this measurement included.
    pub srtt: Option<Duration>,
    /// The delivery rate; only for a control with
    /// [`goes_by_segments`](crate::CongestionControl::goes_by_segments).
    pub rate: Option<RateSample>,
}

impl AckSample {
    /// Whether the congestion window limited the sender: an unused window proves nothing about the
    /// path (RFC 7661, section 4.5.3).
    pub const fn is_cwnd_limited(&self, flight: &Flight) -> bool {
        self.outstanding + flight.mss > flight.cwnd
    }
}
