//! Congestion controls that use a model of the path.

use std::time::Duration;

use lasthop_packet::Instant;

use super::control::AckSample;
use crate::flight::Flight;
use crate::retransmission_queue::RetransmissionQueue;

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
