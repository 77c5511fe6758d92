//! Links that deliver packets twice, or with a wrong bit.

use lasthop_packet::wire::damaged;

use super::World;
use crate::accounts::DropCause;
use crate::faulty_links::{Condition, Drawn};
use crate::id::{LinkId, NodeId};
use crate::parcel::ParcelKey;
use crate::technology::At;

impl World {
    /// Applies the faults of the link by which a parcel arrives here. Returns the second copy, if
    /// there is one.
    #[cold]
    pub(super) fn meet_faults(&mut self, at: At, link: LinkId, key: ParcelKey) -> Option<ParcelKey> {
        if !self.was_impaired(link, key) {
            return None;
        }
        let Drawn { first, second } = self.faults.draw(at);
        let copy = second.and_then(|second| self.duplicate(key, second));
        self.apply(first, key);
        copy
    }

    #[cold]
    pub(super) fn come_in_again(&mut self, at: At, link: LinkId, copy: ParcelKey) {
        if self.cuts.are_any {
            self.note_arrival(link, copy);
        }
        self.come_in(at, link, copy);
    }

    fn duplicate(&mut self, key: ParcelKey, condition: Condition) -> Option<ParcelKey> {
        let copy = self.transit.parcels.copy(key)?;
        self.transit.telemetry.accounts.duplicated += 1;
        self.packet_added(copy);
        self.apply(condition, copy);
        Some(copy)
    }

    fn apply(&mut self, condition: Condition, key: ParcelKey) {
        let Condition::Damaged(bit) = condition else { return };
        let intact = self.transit.parcels[key].packet().clone();
        self.transit.telemetry.accounts.corrupted += 1;
        // For whoever waits for this copy it is lost.
        self.packet_gone(&intact);
        let parcel = &mut self.transit.parcels[key];
        parcel.edit(|packet| *packet = damaged(&intact, bit));
        parcel.is_damaged = true;
    }

    /// A packet that nobody takes ends here.
    #[cold]
    pub(super) fn drop_unclaimed(&mut self, node: NodeId, key: ParcelKey) {
        let is_damaged = self.transit.parcels[key].is_damaged;
        let cause = if is_damaged { DropCause::WrongChecksum } else { DropCause::NoListener };
        self.drop_parcel(node, key, cause);
    }
}
