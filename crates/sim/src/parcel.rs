//! Packets in transit, in an arena: queues hold keys, so that a packet stays where it is from its origin to its end, and its place
//! is used again.

use std::ops::{Index, IndexMut};

use lasthop_packet::Packet;

use crate::id::NodeId;

/// A packet on its way.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) packet: Packet,
    /// Octets of the packet on the wire, which every queue asks for.
    pub(crate) len: u32,
    pub(crate) destination: NodeId,
}

impl Parcel {
    #[inline]
    pub(crate) fn new(packet: Packet, destination: NodeId) -> Self {
        Self { len: packet.len() as u32, packet, destination }
    }
}

/// Where a parcel lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParcelKey(pub(crate) u32);

/// All parcels.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    slots: Vec<Option<Parcel>>,
    vacant: Vec<ParcelKey>,
}

impl Parcels {
    #[inline]
    pub(crate) fn insert(&mut self, parcel: Parcel) -> ParcelKey {
        if let Some(key) = self.vacant.pop() {
            self.slots[key.0 as usize] = Some(parcel);
            return key;
        }
        let key = ParcelKey(self.slots.len() as u32);
        self.slots.push(Some(parcel));
        key
    }

    /// A parcel is at its end. The packet goes where it lies: moving it out first costs more than all of the queue.
    #[inline]
    pub(crate) fn remove(&mut self, key: ParcelKey) {
        self.slots[key.0 as usize] = None;
        self.vacant.push(key);
    }

    /// As [`Self::remove`], for those who want the packet.
    pub(crate) fn take(&mut self, key: ParcelKey) -> Packet {
        self.vacant.push(key);
        self.slots[key.0 as usize].take().expect(HELD).packet
    }

    /// How many are in transit.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// How many were in transit at most: what memory is held for.
    pub(crate) fn high_water(&self) -> usize {
        self.slots.len()
    }
}

/// Every key lies in exactly one queue, or in the hands of one function, until its parcel is removed.
const HELD: &str = "a key in a queue has its parcel";

impl Index<ParcelKey> for Parcels {
    type Output = Parcel;
    #[inline]
    fn index(&self, key: ParcelKey) -> &Parcel {
        self.slots[key.0 as usize].as_ref().expect(HELD)
    }
}

impl IndexMut<ParcelKey> for Parcels {
    #[inline]
    fn index_mut(&mut self, key: ParcelKey) -> &mut Parcel {
        self.slots[key.0 as usize].as_mut().expect(HELD)
    }
}
