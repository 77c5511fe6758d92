//! What a congestion control is asked, and what it decides.

use lasthop_packet::Instant;

use super::pacing::Pacing;
use super::path_model::PathModel;
use super::sample::{AckSample, SentSegment};
use crate::flight::Flight;

/// A congestion control (RFC 5681's terms). It acts on [`Flight::cwnd`] and [`Flight::ssthresh`];
/// what is lost is the business of [`crate::LossRecovery`].
pub trait CongestionControl: Send {
    /// Octets of memory that it has allocated beside itself.
    fn memory(&self) -> usize {
        0
    }

    /// Whether the connection is to measure single segments for it: an exact round-trip time with
    /// each ACK, and the rate of delivery. A [`PathModel`] always needs them.
    fn goes_by_segments(&self) -> bool {
        self.rules_recovery()
    }

    /// Whether it sets the window in loss recovery too: it goes by a [`PathModel`], whose
    /// [`update`](PathModel::update) is called with each ACK in the place of [`Self::on_ack`] and
    /// [`Self::on_other_ack`]. A recovery that honours it sets no window, and ignores
    /// [`Reduction`].
    fn rules_recovery(&self) -> bool {
        false
    }

    /// The same control as a model of the path, if it [rules recovery](Self::rules_recovery).
    fn as_path_model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }

    /// Whether segments wait for their time: those of a model do, at its rate.
    fn is_paced(&self) -> bool {
        self.rules_recovery()
    }

    /// How fast segments may leave; None: as fast as the window allows.
    fn pacing(&self) -> Option<Pacing> {
        None
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
