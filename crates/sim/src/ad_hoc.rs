//! Nodes that look for their routes on demand, and what waits there for a route.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use crate::id::AgentId;
use crate::packets::PacketKey;
use crate::schedule::LazyTimer;
use lasthop_aodv::Aodv;

/// A node with AODV.
pub(crate) struct AdHocNode {
    pub(crate) aodv: Aodv,
    /// The interface to each other station of the cell.
    pub(crate) interfaces: BTreeMap<Ipv4Addr, usize>,
    /// What waits for a route, the oldest first.
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) timer: LazyTimer,
}

/// A packet that waits for a route.
pub(crate) struct Waiting {
    pub(crate) destination: Ipv4Addr,
    pub(crate) key: PacketKey,
    /// The agent that sent it, which is not asked about it.
    pub(crate) sender: AgentId,
}
