//! The settings of pairs.

use std::time::Duration;

use lasthop_tcp::Config;

use crate::last_hop::Targets;

/// The settings of pairs of legs.
#[derive(Clone, Debug)]
pub struct SplitSettings {
    /// The endpoints of the legs, towards the core side and towards the radio side.
    pub legs: (Config, Config),
    /// The targets of the window over a hop.
    pub targets: Targets,
    /// The most octets of one direction of a connection that may wait between its legs.
    pub bound: usize,
    /// A connection that has been idle for this long, and to which the agent owes nothing, is
    /// forgotten.
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for another.
    pub grace: Duration,
    /// Whether an ACK that repeats the last one goes on to the other end where nothing is left to send to
    /// the end that sent it; it is taken in as well.
    pub routes_duplicates: bool,
}
