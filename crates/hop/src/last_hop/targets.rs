//! What the local window aims at: settings of the schemes that have one.

use std::time::Duration;

/// What the local window aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// The queueing delay behind the agent, unless the hop asks for a longer one (`window`).
    pub local_delay: Duration,
    /// A window that all hosts share aims at no longer queueing delay.
    pub longest_delay: Duration,
    /// The least window in segments; counts as 2 if less.
    pub least_window: u32,
    /// How long packets of a connection may wait at the agent, or a round trip over the hop if that
    /// is longer.
    pub held_delay: Duration,
    /// Octets of a connection that may wait there.
    pub held_octets: usize,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            local_delay: Duration::from_millis(3),
            longest_delay: Duration::MAX,
            least_window: 10,
            held_delay: Duration::from_millis(80),
            held_octets: 4 << 20,
        }
    }
}
