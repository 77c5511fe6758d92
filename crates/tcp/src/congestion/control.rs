//! The interface between the connection and a congestion control.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::pacing::Pacing;
use crate::flight::Flight;
use crate::retransmission_queue::{LostSegment, RateSample, RetransmissionQueue};

/// A congestion control, in the terms of RFC 5681. It sets [`Flight::cwnd`] and
/// [`Flight::ssthresh`]; [`crate::LossRecovery`] detects losses.
pub trait CongestionControl: Send {
    /// Octets of heap memory in use.
    fn memory(&self) -> usize {
        0
    }

    /// Whether the connection measures each segment for it: an exact round-trip time with each ACK,
    /// and the delivery rate. A [`PathModel`] always needs them.
    fn goes_by_segments(&self) -> bool {
        self.rules_recovery()
    }

    /// Whether it sets the window in loss recovery too. Such a control has a [`PathModel`], whose
    /// [`update`](PathModel::update) is called with each ACK instead of [`Self::on_ack`] and
    /// [`Self::on_other_ack`]. A loss recovery that supports this does not set the window, and
    /// ignores [`Reduction`].
    fn rules_recovery(&self) -> bool {
        false
    }

    /// This control as a model of the path, if it [rules recovery](Self::rules_recovery).
    fn as_path_model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }

    /// Whether segments are paced; those of a path model are, at its rate.
    fn is_paced(&self) -> bool {
        self.rules_recovery()
    }

    /// The pacing rate; None: as fast as the window allows.
    fn pacing(&self) -> Option<Pacing> {
        None
    }

    /// A segment with data or FIN is sent, for the first time or again.
    fn on_sent(&mut self, segment: &SentSegment) {
        let _ = segment;
    }

    /// Processes an ACK of new data outside loss recovery.
    fn on_ack(&mut self, ack: &AckSample, flight: &mut Flight);

    /// Processes any other ACK: a duplicate, or one in loss recovery. The window does not grow, but
    /// the ACK can be measured.
    fn on_other_ack(&mut self, ack: &AckSample, flight: &Flight) {
        let _ = (ack, flight);
    }

    /// Whether this control's own timer shows that the first outstanding segment is lost, before
    /// the third duplicate ACK. Called with each duplicate ACK, and with the first two ACKs of new
    /// data after a retransmission.
    fn suspects_loss(&self, now: Instant, flight: &Flight) -> bool {
        let _ = (now, flight);
        false
    }

    /// The window after a loss that was inferred without a time-out.
    fn on_loss(&mut self, flight: &Flight) -> Reduction;

    /// Reduces the window as after a loss.
    fn reduce(&mut self, flight: &mut Flight) {
        let reduction = self.on_loss(flight);
        (flight.ssthresh, flight.cwnd) = (reduction.ssthresh, reduction.cwnd);
    }

    /// A segment is lost, if the connection measures each segment.
    fn on_segment_lost(&mut self, lost: &LostSegment, now: Instant, flight: &Flight) {
        let _ = (lost, now, flight);
    }

    /// The retransmission timer expired: sets cwnd and ssthresh.
    fn on_timeout(&mut self, flight: &mut Flight);

    /// The last loss was spurious: the window before it is restored.
    fn on_undo(&mut self, flight: &Flight) {
        let _ = flight;
    }
}

/// A congestion control that sets the window with each ACK, in loss recovery too, from measurements
/// of the path (`cong_control` in Linux).
pub trait PathModel {
    /// The connection is established: `flight` has its initial window, `rtt` is the round-trip time
    /// of the handshake if it was measured. `has_reports` if the receiver sends SACK blocks (RFC
    /// 2018).
    fn begin(&mut self, flight: &Flight, rtt: Option<Duration>, has_reports: bool);

    /// Sets cwnd for an ACK that loss recovery has processed.
    fn update(&mut self, path: &mut PathSample<'_>);

    /// A segment is about to be sent after an idle period of the application; the network holds no
    /// data. `delivered` octets were delivered so far.
    fn on_restart(&mut self, now: Instant, delivered: u64, flight: &mut Flight);

    /// The retransmission timer has expired; loss recovery has marked the lost segments and set
    /// cwnd.
    fn on_loss_state(&mut self, now: Instant, queue: &RetransmissionQueue) {
        let _ = (now, queue);
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
    /// Sets both to the same value.
    pub const fn to(octets: u32) -> Self {
        Self { ssthresh: octets, cwnd: octets }
    }
}

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

/// An ACK, and the state of the connection after it.
pub struct PathSample<'a> {
    /// The ACK. Its rate and round-trip time include data that was reported but not acknowledged.
    pub ack: AckSample,
    /// The current stage of loss recovery.
    pub stage: Stage,
    /// Octets that the ACK showed to be lost.
    pub lost: u32,
    /// Octets in the network before the ACK.
    pub in_network_before: u32,
    /// The receiver may have delayed the ACK: the round-trip time may be too long.
    pub is_delayed: bool,
    /// When the next segment may be sent, if later than now.
    pub next_departure: Instant,
    /// The send variables.
    pub flight: &'a mut Flight,
    /// The outstanding segments, and counts of delivered and lost octets.
    pub queue: &'a mut RetransmissionQueue,
}

impl PathSample<'_> {
    /// The arrival time of the ACK.
    pub const fn now(&self) -> Instant {
        self.ack.now
    }

    /// Whether the application limited the delivered data; false if the ACK delivered none.
    pub fn is_application_limited(&self) -> bool {
        self.ack.rate.is_some_and(|rate| rate.is_application_limited)
    }
}

/// The stage of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No losses to repair.
    #[default]
    Open,
    /// Repairs losses that ACKs have revealed.
    Recovery,
    /// Repairs losses after a time-out.
    Loss,
}

impl Stage {
    /// Whether losses are being repaired.
    pub fn is_recovering(self) -> bool {
        self > Self::Open
    }
}
