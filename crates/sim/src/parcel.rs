//! Packets in transit, in an arena: queues hold keys, so that a packet stays where it is from its
//! origin to its end, and its place is used again.

use std::ops::{Index, IndexMut};

use lasthop_packet::Packet;

use crate::id::NodeId;

/// A packet on its way.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// `None` only while nothing is here.
    packet: Option<Packet>,
    /// Octets of the packet on the wire, which every queue asks for.
    len: u32,
    pub(crate) destination: NodeId,
    /// It carries a message of one agent to another.
    pub(crate) is_message: bool,
    /// A link has made a bit of it wrong.
    pub(crate) is_damaged: bool,
}

/// Where a parcel lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParcelKey(pub(crate) u32);

/// All parcels.
#[derive(Debug, Default)]
pub(crate) struct Parcels {
    slots: Vec<Parcel>,
    vacant: Vec<ParcelKey>,
}

/// Every key lies in exactly one queue, or in the hands of one function, until its parcel is
/// removed.
const HELD: &str = "a key in a queue has its parcel";

impl Parcel {
    #[inline]
    pub(crate) fn packet(&self) -> &Packet {
        self.packet.as_ref().expect(HELD)
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    fn note_new(&mut self) {
        self.len = self.packet().len() as u32;
        (self.is_message, self.is_damaged) = (false, false);
    }

    /// Lets somebody edit the packet.
    pub(crate) fn edit<R>(&mut self, editor: impl FnOnce(&mut Packet) -> R) -> R {
        let packet = self.packet.as_mut().expect(HELD);
        let result = editor(packet);
        self.len = packet.len() as u32;
        result
    }
}

impl Parcels {
    /// Puts in a packet; its destination is still to be set.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> ParcelKey {
        let (key, slot) = self.next_slot();
        slot.packet = Some(packet);
        slot.note_new();
        self.vacant.pop();
        key
    }

    /// Puts in what `make` writes into the packet's place, if it says that it has; its destination is
    /// still to be set. A packet is large, and moves were a fifth of a run's time.
    #[inline]
    pub(crate) fn insert_made(
        &mut self,
        make: impl FnOnce(&mut Option<Packet>) -> bool,
    ) -> Option<ParcelKey> {
        let (key, slot) = self.next_slot();
        if !make(&mut slot.packet) {
            return None;
        }
        slot.note_new();
        self.vacant.pop();
        Some(key)
    }

    /// Where the next parcel goes.
    #[inline]
    fn next_slot(&mut self) -> (ParcelKey, &mut Parcel) {
        let key = self.vacant.last().copied().unwrap_or_else(|| self.add_slot());
        (key, &mut self.slots[key.0 as usize])
    }

    #[cold]
    fn add_slot(&mut self) -> ParcelKey {
        let key = ParcelKey(self.slots.len() as u32);
        let empty =
            Parcel { packet: None, len: 0, destination: NodeId(0), is_message: false, is_damaged: false };
        self.slots.push(empty);
        self.vacant.push(key);
        key
    }

    /// A second parcel like this one.
    pub(crate) fn copy(&mut self, key: ParcelKey) -> Option<ParcelKey> {
        let (copy, _) = self.next_slot();
        let [from, to] = self.slots.get_disjoint_mut([key.0, copy.0].map(|at| at as usize)).ok()?;
        to.packet.clone_from(&from.packet);
        (to.len, to.destination) = (from.len, from.destination);
        (to.is_message, to.is_damaged) = (from.is_message, from.is_damaged);
        self.vacant.pop();
        Some(copy)
    }

    /// A parcel is at its end. The packet goes where it lies.
    #[inline]
    pub(crate) fn remove(&mut self, key: ParcelKey) {
        self.slots[key.0 as usize].packet = None;
        self.vacant.push(key);
    }

    /// As [`Self::remove`], for those who want the packet.
    pub(crate) fn take(&mut self, key: ParcelKey) -> Packet {
        self.vacant.push(key);
        self.slots[key.0 as usize].packet.take().expect(HELD)
    }

    /// How many are in transit.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}

impl Index<ParcelKey> for Parcels {
    type Output = Parcel;
    #[inline]
    fn index(&self, key: ParcelKey) -> &Parcel {
        &self.slots[key.0 as usize]
    }
}

impl IndexMut<ParcelKey> for Parcels {
    #[inline]
    fn index_mut(&mut self, key: ParcelKey) -> &mut Parcel {
        &mut self.slots[key.0 as usize]
    }
}
