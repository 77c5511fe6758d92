//! Two nodes, and a link of each kind between them.

use std::time::Duration;

use lasthop_sim::queue::CoDelConfig;
use lasthop_sim::{
    Direction, Discipline, LinkId, LinkLayer, NodeId, NodeKind, QueueConfig, QueueLimit, World,
};

use crate::radio::STOP_AND_WAIT;
use crate::support::{node, wired, wireless};

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Wired,
    /// With a discipline that never drops.
    Managed,
    Wireless,
    /// With a link layer that retransmits.
    Acknowledged,
}

/// A world of two nodes with a link of this kind between them.
pub fn pair(ends: NodeKind, kind: Kind, way: &Direction) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, ends));
    let patient = CoDelConfig { target: Duration::from_secs(1000), ..CoDelConfig::default() };
    let managed = QueueConfig { limit: QueueLimit::Unlimited, discipline: Discipline::CoDel(patient) };
    let link = match kind {
        Kind::Wired => world.add_wired_link(ends[0], ends[1], &wired("hop", way, 50)),
        Kind::Managed => {
            let way = Direction { queue: managed, ..way.clone() };
            world.add_wired_link(ends[0], ends[1], &wired("hop", &way, 50))
        }
        Kind::Wireless => {
            world.add_wireless_link(ends[0], ends[1], &wireless("hop", way, LinkLayer::UNRELIABLE))
        }
        Kind::Acknowledged => world.add_wireless_link(ends[0], ends[1], &wireless("hop", way, STOP_AND_WAIT)),
    };
    (world, ends, link)
}
