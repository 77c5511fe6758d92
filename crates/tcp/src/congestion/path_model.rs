//! A congestion control that goes by a model of the path.

use std::time::Duration;

use lasthop_packet::Instant;

use super::sample::AckSample;
use crate::flight::Flight;
use crate::retransmission_queue::{LostSegment, RetransmissionQueue};

/// A congestion control that sets the window with each ACK, in loss recovery too, from what it has
/// measured of the path (`cong_control` in Linux).
pub trait PathModel {
    /// The connection is established: `flight` has its initial window, `rtt` is that of the
    /// handshake if it was measured. `has_reports` if the receiver reports what it has (RFC 2018).
    fn begin(&mut self, flight: &Flight, rtt: Option<Duration>, has_reports: bool);

    /// An ACK came, and loss recovery has seen it: sets cwnd.
    fn update(&mut self, path: &mut PathSample<'_>);

    /// A segment is about to leave, nothing is in the network, and the application had nothing to
    /// send before. So far, `delivered` octets were delivered.
    fn on_restart(&mut self, now: Instant, delivered: u64, flight: &mut Flight);

    /// A segment is lost.
    fn on_segment_lost(&mut self, lost: &LostSegment, now: Instant, flight: &Flight) {
        let _ = (lost, now, flight);
    }

    /// The retransmission timer has expired, and what it shows to be lost is marked. Loss recovery
    /// has set cwnd.
    fn on_loss_state(&mut self, now: Instant, queue: &RetransmissionQueue) {
        let _ = (now, queue);
    }
}

/// What loss recovery is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing.
    #[default]
    Open,
    /// It repairs losses that ACKs have shown.
    Recovery,
    /// It repairs losses after a time-out.
    Loss,
}

impl Stage {
    /// Whether losses are being repaired.
    pub fn is_recovering(self) -> bool {
        self > Self::Open
    }
}

/// An ACK, and the connection after it.
pub struct PathSample<'a> {
    /// What it says. Its rate and round-trip time include what was reported, not acknowledged.
    pub ack: AckSample,
    /// What loss recovery is doing now.
    pub stage: Stage,
    /// Octets that it showed to be lost.
    pub lost: u32,
    /// Octets in the network before it came.
    pub in_network_before: u32,
    /// The receiver may have held it back: the round-trip time may be too long.
    pub is_delayed: bool,
    /// When the next segment may leave, if that is later than now.
    pub next_departure: Instant,
    /// The send variables.
    pub flight: &'a mut Flight,
    /// What is outstanding, and what was delivered and lost so far.
    pub queue: &'a mut RetransmissionQueue,
}

impl PathSample<'_> {
    /// When it came.
    pub const fn now(&self) -> Instant {
        self.ack.now
    }

    /// Whether what it delivered was limited by the application; false if it delivered nothing.
    pub fn is_application_limited(&self) -> bool {
        self.ack.rate.is_some_and(|rate| rate.is_application_limited)
    }
}
