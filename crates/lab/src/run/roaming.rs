//! How clients roamed between access points.

use lasthop_packet::Instant;
use lasthop_scenario::Built;
use lasthop_sim::Roam;
use lasthop_sim::ess::SteeringCounters;
use serde::{Deserialize, Serialize};

use crate::stats::{Estimate, median};

/// The hand-offs of all clients from one access point to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoamingSummary {
    /// Hand-offs: associations of a client that came from another access point.
    pub hand_offs: u64,
    /// Median of the time for which a client had no access point, in seconds; null without a hand-off.
    pub radio_gap_s: Option<f64>,
    /// Median of the time from a client's association to the moment at which the agent of the new access point had the state
    /// of its connections, and translators its translations, in seconds; null where nothing is handed over.
    pub agent_gap_s: Option<f64>,
    /// Mean time from the moment at which a client leaves an access point until the next one serves it, with the state of its
    /// connections if agents hand over, in seconds; null without a hand-off.
    pub hand_off_s: Option<f64>,
    /// Hand-offs of which the new agent did not get the state, or not before the end of the run; null where nothing
    /// is handed over.
    pub unserved: Option<u64>,
    /// Connections whose state was handed over.
    pub connections: u64,
    /// The requests of controllers; null without one.
    pub steering: Option<SteeringSummary>,
    /// Mean length of the state of a client, with the packets in it, in octets; null where nothing is handed over.
    pub state_octets: Option<f64>,
}

/// What became of the requests of controllers, in the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeringSummary {
    /// Beacon requests: clients were asked which access points they receive.
    pub measurements: u64,
    /// Beacon reports, their answers.
    pub reports: u64,
    /// BSS transition requests: clients were asked to go to another access point.
    pub requests: u64,
    /// Those that clients accepted.
    pub accepted: u64,
    /// Those that clients refused.
    pub refused: u64,
}

impl SteeringSummary {
    fn plus(self, counters: SteeringCounters) -> Self {
        Self {
            measurements: self.measurements + counters.measurements,
            reports: self.reports + counters.reports,
            requests: self.requests + counters.requests,
            accepted: self.accepted + counters.accepted,
            refused: self.refused + counters.refused,
        }
    }

    /// All controllers together; `None` without any.
    fn of_all(counters: impl Iterator<Item = SteeringCounters>) -> Option<Self> {
        let none = Self { measurements: 0, reports: 0, requests: 0, accepted: 0, refused: 0 };
        counters.fold(None, |sum, counters| Some(sum.unwrap_or(none).plus(counters)))
    }
}

impl RoamingSummary {
    /// The hand-offs in a world from `start` on.
    pub(super) fn new(built: &Built, start: Instant) -> Self {
        let world = &built.world;
        let roams = world.roams().iter().filter(|roam| roam.is_hand_off() && roam.accepted >= start);
        let roams: Vec<&Roam> = roams.collect();
        let radio = roams.iter().filter_map(|roam| Some(roam.radio_gap()?.as_secs_f64()));
        let served: Vec<&Roam> = roams.iter().copied().filter(|roam| roam.served.is_some()).collect();
        let agent = served.iter().filter_map(|roam| Some(roam.served?.since(roam.accepted).as_secs_f64()));
        let hand_off =
            roams.iter().filter_map(|roam| Some(roam.interruption(world.hands_over())?.as_secs_f64()));
        let hand_off: Vec<f64> = hand_off.collect();
        let octets = served.iter().map(|roam| roam.octets).sum::<u64>() as f64;
        Self {
            hand_offs: roams.len() as u64,
            radio_gap_s: median(&radio.collect::<Vec<_>>()),
            agent_gap_s: median(&agent.collect::<Vec<_>>()),
            hand_off_s: Estimate::from_samples(&hand_off).map(|estimate| estimate.mean),
            unserved: world.hands_over().then(|| (roams.len() - served.len()) as u64),
            connections: served.iter().map(|roam| roam.connections as u64).sum(),
            steering: SteeringSummary::of_all(
                built.wlans.iter().filter_map(|cell| world.steering_counters(cell.service_set?)),
            ),
            state_octets: (!served.is_empty()).then(|| octets / served.len() as f64),
        }
    }
}
