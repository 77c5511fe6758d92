//! How clients roamed between access points.

use lasthop_packet::Instant;
use lasthop_sim::{Roam, World};
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
    /// Mean length of the state of a client, with the packets in it, in octets; null where nothing is handed over.
    pub state_octets: Option<f64>,
}

impl RoamingSummary {
    /// The hand-offs in a world from `start` on.
    pub(super) fn new(world: &World, start: Instant) -> Self {
        let is_hand_off = |roam: &&Roam| roam.from.is_some_and(|(from, _)| from != roam.to);
        let roams = world.roams().iter().filter(is_hand_off).filter(|roam| roam.accepted >= start);
        let roams: Vec<&Roam> = roams.collect();
        let radio = roams.iter().filter_map(|roam| {
            let (_, left) = roam.from?;
            Some(roam.joined?.since(left).as_secs_f64())
        });
        let served: Vec<&Roam> = roams.iter().copied().filter(|roam| roam.served.is_some()).collect();
        let agent = served.iter().filter_map(|roam| Some(roam.served?.since(roam.accepted).as_secs_f64()));
        let hand_off = roams.iter().filter_map(|roam| {
            let ((_, left), joined) = (roam.from?, roam.joined?);
            let served = if world.hands_over() { roam.served? } else { joined };
            Some(served.max(joined).since(left).as_secs_f64())
        });
        let hand_off: Vec<f64> = hand_off.collect();
        let octets = served.iter().map(|roam| roam.octets).sum::<u64>() as f64;
        Self {
            hand_offs: roams.len() as u64,
            radio_gap_s: median(&radio.collect::<Vec<_>>()),
            agent_gap_s: median(&agent.collect::<Vec<_>>()),
            hand_off_s: Estimate::from_samples(&hand_off).map(|estimate| estimate.mean),
            unserved: world.hands_over().then(|| (roams.len() - served.len()) as u64),
            connections: served.iter().map(|roam| roam.connections as u64).sum(),
            state_octets: (!served.is_empty()).then(|| octets / served.len() as f64),
        }
    }
}
