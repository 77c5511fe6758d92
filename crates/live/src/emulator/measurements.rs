//! What the loop counts and times while it runs; the summary is made of it.

use std::time::Duration;

use lasthop_sim::NodeId;

use crate::lateness::Lateness;

/// All that the loop measures of a run.
#[derive(Debug)]
pub(super) struct Measurements {
    /// From the time at which the model delivered a packet to the time at which its host was given
    /// it.
    pub(super) lateness: Lateness,
    pub(super) stalls: Stalls,
    pub(super) packets: PacketCounts,
    /// What was given to the host of each end.
    pub(super) delivered: Vec<Delivered>,
}

/// What was given to a host.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) node: NodeId,
    pub(super) packets: u64,
    pub(super) octets: u64,
}

/// Times at which the loop was late for the next event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stalls {
    pub(super) count: u64,
    pub(super) total: Duration,
    pub(super) longest: Duration,
    /// Cut out of the model's time.
    pub(super) cut: Duration,
}

/// Packets at the ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    pub(super) taken: u64,
    pub(super) not_ip: u64,
    pub(super) malformed: u64,
    pub(super) refused: u64,
}

impl Measurements {
    /// Of a run that has not begun, with hosts at these nodes.
    pub(super) fn new(nodes: impl Iterator<Item = NodeId>) -> Self {
        Self {
            lateness: Lateness::new(),
            stalls: Stalls::default(),
            packets: PacketCounts::default(),
            delivered: nodes.map(|node| Delivered { node, packets: 0, octets: 0 }).collect(),
        }
    }
}

impl Stalls {
    pub(super) fn note(&mut self, late: Duration, cut: Duration) {
        self.count += 1;
        self.total += late;
        self.longest = self.longest.max(late);
        self.cut += cut;
    }
}
