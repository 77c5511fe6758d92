//! Links that deliver packets twice, or with a wrong bit.

use lasthop_packet::wire::damaged;

use super::World;
use crate::accounts::DropCause;
use crate::faulty_links::{Condition, Drawn};
use crate::id::{LinkId, NodeId};
use crate::packets::PacketKey;
use crate::technology::At;

impl World {
    /// Applies the faults of the link by which a packet arrives here. Returns the second copy, if
    /// there is one.
    #[cold]
    pub(super) fn meet_faults(&mut self, at: At, link: LinkId, key: PacketKey) -> Option<PacketKey> {
        if !self.was_impaired(link, key) {
            return None;
        }
        let Drawn { first, second } = self.faults.draw(at);
        let copy = second.and_then(|second| self.duplicate(key, second));
        self.apply(first, key);
        copy
    }

    #[cold]
    pub(super) fn come_in_again(&mut self, at: At, link: LinkId, copy: PacketKey) {
        if self.cuts.are_any {
            self.note_arrival(link, copy);
        }
        self.come_in(at, link, copy);
    }

    fn duplicate(&mut self, key: PacketKey, condition: Condition) -> Option<PacketKey> {
        let copy = self.transit.packets_mut().copy(key)?;
        self.transit.accounts_mut().duplicated += 1;
        self.packet_added(copy);
        self.apply(condition, copy);
        Some(copy)
    }

    fn apply(&mut self, condition: Condition, key: PacketKey) {
        let Condition::Damaged(bit) = condition else { return };
        let intact = self.transit.packet(key).clone();
        self.transit.accounts_mut().corrupted += 1;
        // For whoever waits for this copy it is lost.
        self.packet_gone(&intact);
        self.transit.packets_mut().damage(key, damaged(&intact, bit));
    }

    /// A packet that nobody takes ends here.
    #[cold]
    pub(super) fn drop_unclaimed(&mut self, node: NodeId, key: PacketKey) {
        let is_damaged = self.transit.packets().is_damaged(key);
        let cause = if is_damaged { DropCause::WrongChecksum } else { DropCause::NoListener };
        self.drop_packet(node, key, cause);
    }
}
