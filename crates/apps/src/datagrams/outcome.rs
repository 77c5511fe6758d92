//! The outcome of a flow over UDP.

use super::delay::DelayOutcome;

/// The counts and delays of a flow's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UdpOutcome {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Datagrams that did not arrive and are not in transit: lost on a link, dropped by a queue, or
    /// kept by an agent.
    pub lost: u64,
    /// Datagrams in queues and on links now.
    pub in_transit: u64,
    /// Arrivals of datagrams that had arrived before.
    pub duplicated: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737, section 3.3), without
    /// duplicates.
    pub out_of_order: u64,
    /// One-way delays; `None` without arrivals.
    pub delay: Option<DelayOutcome>,
}

impl UdpOutcome {
    /// A count of datagrams as a percentage of those that are not in transit any more.
    pub fn percent(&self, count: u64) -> f64 {
        count as f64 / (self.received + self.lost).max(1) as f64 * 100.0
    }
}
