//! What can be set about pairs.

use std::time::Duration;

use lasthop_tcp::Config;

use crate::last_hop::Aims;

/// What can be set about pairs.
#[derive(Clone, Debug)]
pub struct SplitSettings {
    /// The endpoints of the legs, towards the core side and the radio side.
    pub legs: (Config, Config),
    /// What the window over a hop aims at.
    pub aims: Aims,
    /// Octets of one direction of a connection that may lie between its legs.
    pub bound: usize,
    /// A connection that is idle for this time, and of which nothing is owed, is forgotten.
    pub idle_timeout: Duration,
    /// What was used within this time does not make room for others.
    pub grace: Duration,
    /// Mobile hosts that send are told which of their losses were the hop's, so that they take a
    /// reduction of their window back: see [`crate::eln`].
    pub notifies: bool,
}
