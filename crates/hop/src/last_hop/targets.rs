//! The targets of the local window: settings of the schemes that have one.

use std::time::Duration;

/// The targets of the local window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// The downstream queueing delay, unless the hop needs a longer one (`window`).
    pub local_delay: Duration,
    /// The maximum queueing delay that a window shared by all hosts aims at.
    pub longest_delay: Duration,
    /// The minimum window in segments; values below 2 count as 2.
    pub min_window: u32,
    /// How long packets of a connection may wait at the agent; a round trip over the hop if that is
    /// longer.
    pub held_delay: Duration,
    /// Octets of a connection that may wait at the agent.
    pub held_octets: usize,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            local_delay: Duration::from_millis(3),
            longest_delay: Duration::MAX,
            min_window: 10,
            held_delay: Duration::from_millis(80),
            held_octets: 4 << 20,
        }
    }
}
