//! The input of a congestion control.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::flight::Flight;
use crate::retransmission_queue::RateSample;

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// When.
    pub now: Instant,
    /// Its first sequence number.
    pub seq: Seq,
    /// Behind its last one.
    pub end: Seq,
    /// Whether any of it was sent before.
    pub is_retransmission: bool,
}

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// When it came.
    pub now: Instant,
    /// Octets that it newly acknowledges; 0 for a duplicate ACK.
    pub acked: u32,
    /// Octets that were outstanding before it came, or waited to be a super-packet.
    pub outstanding: u32,
    /// A round-trip time measured with it, exactly, however coarse the clock of the retransmission
    /// timer is.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, this measurement included.
    pub srtt: Option<Duration>,
    /// The rate of delivery; only for a control that [goes by
    /// segments](crate::CongestionControl::goes_by_segments).
    pub rate: Option<RateSample>,
}

impl AckSample {
    /// Whether the congestion window was what held the sender back: a window that is not used
    /// proves nothing about the path (RFC 7661, section 4.5.3).
    pub const fn is_cwnd_limited(&self, flight: &Flight) -> bool {
        self.outstanding + flight.mss > flight.cwnd
    }
}
