//! What a congestion control is told, and what it decides.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use crate::flight::Flight;
use crate::retransmission_queue::RateSample;

/// A congestion control (RFC 5681's terms). It acts on [`Flight::cwnd`] and [`Flight::ssthresh`];
/// what is lost is the business of [`crate::LossRecovery`].
pub trait CongestionControl: Send {
    /// Whether the connection is to measure single segments for it: an exact round-trip time with
    /// each ACK, and the rate of delivery.
    fn goes_by_segments(&self) -> bool {
        false
    }

    /// Whether it sets the window in loss recovery too: [`Self::on_ack`] is called there as well,
    /// and [`Reduction`] is ignored.
    fn rules_recovery(&self) -> bool {
        false
    }

    /// A segment with data or FIN leaves, for the first time or again.
    fn on_sent(&mut self, segment: &SentSegment) {
        let _ = segment;
    }

    /// New data was acknowledged outside of loss recovery.
    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight);

    /// An ACK came that is not for [`Self::on_ack`]: a duplicate, or one in loss recovery. Nothing
    /// grows with it, but it can be measured.
    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        let _ = (ack, flight);
    }

    /// Whether this control's own clock says that the first outstanding segment is lost, before the
    /// third duplicate ACK. Asked with each duplicate ACK, and with the first two ACKs of new data
    /// after a retransmission.
    fn suspects_loss(&self, now: Instant, flight: &Flight) -> bool {
        let _ = (now, flight);
        false
    }

    /// What the window becomes now that a loss was inferred without a time-out.
    fn on_loss(&mut self, flight: &Flight) -> Reduction;

    /// The retransmission timer expired: sets cwnd and ssthresh.
    fn on_timeout(&mut self, flight: &mut Flight);

    /// The last loss was none: the window is what it was before.
    fn on_undo(&mut self, flight: &Flight) {
        let _ = flight;
    }
}

/// A window after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The slow start threshold, in octets.
    pub ssthresh: u32,
    /// The congestion window without inflation, in octets.
    pub cwnd: u32,
}

impl Reduction {
    /// Both to the same.
    pub const fn to(octets: u32) -> Self {
        Self { ssthresh: octets, cwnd: octets }
    }
}

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
    /// Octets that were outstanding before it came.
    pub outstanding: u32,
    /// A round-trip time measured with it, exactly, however coarse the clock of the retransmission
    /// timer is.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, this measurement included.
    pub srtt: Option<Duration>,
    /// The rate of delivery; only for a control that [goes by
    /// segments](CongestionControl::goes_by_segments).
    pub rate: Option<RateSample>,
}

impl AckSample {
    /// Whether the congestion window was what held the sender back: a window that is not used
    /// proves nothing about the path (RFC 7661, section 4.5.3).
    pub const fn is_cwnd_limited(&self, flight: &Flight) -> bool {
        self.outstanding + flight.mss > flight.cwnd
    }
}
