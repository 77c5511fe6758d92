//! A window set by the owner of the connection
//! ([`Connection::set_cwnd`](crate::Connection::set_cwnd)), which knows the path and controls
//! several connections over it together.

use std::time::Duration;

use lasthop_packet::Instant;

use super::control::{AckSample, CongestionControl, PathModel, PathSample, Reduction};
use crate::flight::Flight;

/// Leaves the window unchanged, regardless of ACKs and losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct External;

impl CongestionControl for External {
    fn rules_recovery(&self) -> bool {
        true
    }

    fn is_paced(&self) -> bool {
        false
    }

    fn as_path_model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn on_ack(&mut self, _ack: &AckSample, _flight: &mut Flight) {}

    fn on_loss(&mut self, flight: &Flight) -> Reduction {
        Reduction::to(flight.cwnd)
    }

    fn on_timeout(&mut self, _flight: &mut Flight) {}
}

impl PathModel for External {
    fn begin(&mut self, _flight: &Flight, _rtt: Option<Duration>, _has_reports: bool) {}

    fn update(&mut self, _path: &mut PathSample<'_>) {}

    fn on_restart(&mut self, _now: Instant, _delivered: u64, _flight: &mut Flight) {}
}
