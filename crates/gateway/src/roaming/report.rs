//! The clients of a gateway, and what was counted, for lists and metrics.

use serde::{Deserialize, Serialize};

use super::channel::ChannelCounters;
use super::counters::HandoffCounters;
use super::handoffs::ClientPlace;
use crate::engine::{ClientLoad, RoamingCounters};

/// The clients of a gateway, for a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoamingReport {
    /// The name of this access point.
    pub access_point: String,
    /// The clients.
    pub clients: Vec<ClientRow>,
    /// What was counted of hand-offs.
    pub counters: HandoffCounters,
    /// What was counted of packets and connections.
    pub engine: RoamingCounters,
    /// What was counted of messages between access points.
    pub channel: ChannelCounters,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// Where it is served.
    #[serde(flatten)]
    pub place: ClientPlace,
    /// Its connections here.
    #[serde(flatten)]
    pub load: ClientLoad,
}
