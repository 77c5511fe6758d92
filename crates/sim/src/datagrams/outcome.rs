//! What became of datagrams.

use super::delay::DelayOutcome;

/// What became of a flow's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UdpOutcome {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Datagrams that did not arrive and are not on their way: lost on a link, dropped by a queue,
    /// or kept by an agent.
    pub lost: u64,
    /// Datagrams in queues and on links now.
    pub in_transit: u64,
    /// Arrivals of datagrams that had arrived before.
    pub duplicated: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737, section 3.3); duplicates not
    /// counted.
    pub out_of_order: u64,
    /// Their one-way delays; `None` if none arrived.
    pub delay: Option<DelayOutcome>,
}
