//! Packets in transit, in an arena: queues hold keys, so that a packet stays where it is from its
//! origin to its end, and its place is used again.

use lasthop_packet::Packet;

use crate::id::NodeId;

/// A place for a packet on its way.
#[derive(Debug)]
struct Slot {
    /// `None` only while nothing is here.
    packet: Option<Packet>,
    /// Octets of the packet on the wire, which every queue asks for.
    len: u32,
    destination: NodeId,
    /// Whether it carries a message of one agent to another.
    is_message: bool,
    /// A link has made a bit of it wrong.
    is_damaged: bool,
}

/// Where a packet lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PacketKey(pub(crate) u32);

/// All packets in transit.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Slot>,
    vacant: Vec<PacketKey>,
    /// By key: for how many stations a place stays with its packet, even when that is at its end. Empty unless some do.
    pins: Vec<u8>,
    /// Places whose packets are at their end, and that are not vacant yet.
    pinned: usize,
}

/// Every key lies in exactly one queue, or in the hands of one function, until its packet is
/// removed.
const HELD: &str = "a key in a queue has its packet";

impl Slot {
    #[inline]
    fn packet(&self) -> &Packet {
        self.packet.as_ref().expect(HELD)
    }

    #[inline]
    fn record_new(&mut self) {
        self.len = self.packet().len() as u32;
        (self.is_message, self.is_damaged) = (false, false);
    }
}

impl Packets {
    /// About the octets of memory that a packet takes.
    pub(crate) const OCTETS_EACH: u64 = size_of::<Slot>() as u64;

    /// Puts in a packet; its destination is still to be set.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketKey {
        let (key, slot) = self.next_slot();
        slot.packet = Some(packet);
        slot.record_new();
        self.vacant.pop();
        key
    }

    /// Puts in what `make` writes into the packet's place, if it says that it has; its destination is
    /// still to be set. A packet is large, and moves were a fifth of a run's time.
    #[inline]
    pub(crate) fn insert_made(
        &mut self,
        make: impl FnOnce(&mut Option<Packet>) -> bool,
    ) -> Option<PacketKey> {
        let (key, slot) = self.next_slot();
        if !make(&mut slot.packet) {
            return None;
        }
        slot.record_new();
        self.vacant.pop();
        Some(key)
    }

    /// Where the next packet goes.
    #[inline]
    fn next_slot(&mut self) -> (PacketKey, &mut Slot) {
        let key = self.vacant.last().copied().unwrap_or_else(|| self.add_slot());
        (key, self.slot_mut(key))
    }

    #[cold]
    fn add_slot(&mut self) -> PacketKey {
        let key = PacketKey(self.slots.len() as u32);
        let empty =
            Slot { packet: None, len: 0, destination: NodeId(0), is_message: false, is_damaged: false };
        self.slots.push(empty);
        self.vacant.push(key);
        key
    }

    /// A second packet like this one.
    pub(crate) fn copy(&mut self, key: PacketKey) -> Option<PacketKey> {
        let (copy, _) = self.next_slot();
        let [from, to] = self.slots.get_disjoint_mut([key.0, copy.0].map(|at| at as usize)).ok()?;
        to.packet.clone_from(&from.packet);
        (to.len, to.destination) = (from.len, from.destination);
        (to.is_message, to.is_damaged) = (from.is_message, from.is_damaged);
        self.vacant.pop();
        Some(copy)
    }

    /// A packet is at its end. It is dropped where it lies.
    #[inline]
    pub(crate) fn remove(&mut self, key: PacketKey) {
        self.slot_mut(key).packet = None;
        self.vacate(key);
    }

    #[inline]
    fn vacate(&mut self, key: PacketKey) {
        if self.pins.get(key.0 as usize).is_some_and(|pins| *pins > 0) {
            self.pinned += 1;
        } else {
            self.vacant.push(key);
        }
    }

    /// No other packet takes this one's place before [`Self::unpin`]: a station that has sent it has yet to learn that it
    /// has arrived, and knows it by its key.
    pub(crate) fn pin(&mut self, key: PacketKey) {
        if self.pins.len() < self.slots.len() {
            self.pins.resize(self.slots.len(), 0);
        }
        self.pins[key.0 as usize] += 1;
    }

    /// As [`Self::pin`].
    pub(crate) fn unpin(&mut self, key: PacketKey) {
        let pins = &mut self.pins[key.0 as usize];
        *pins -= 1;
        if *pins == 0 && self.slot(key).packet.is_none() {
            self.pinned -= 1;
            self.vacant.push(key);
        }
    }

    /// As [`Self::remove`], for those who want the packet.
    pub(crate) fn take(&mut self, key: PacketKey) -> Packet {
        self.vacate(key);
        self.slot_mut(key).packet.take().expect(HELD)
    }

    /// The number of packets in transit.
    pub(crate) fn count(&self) -> usize {
        self.slots.len() - self.vacant.len() - self.pinned
    }

    #[inline]
    pub(crate) fn packet(&self, key: PacketKey) -> &Packet {
        self.slot(key).packet()
    }

    /// Octets of a packet on the wire.
    #[inline]
    pub(crate) fn len(&self, key: PacketKey) -> usize {
        self.slot(key).len as usize
    }

    /// Calls `editor` with a packet that it may change.
    pub(crate) fn edit<R>(&mut self, key: PacketKey, editor: impl FnOnce(&mut Packet) -> R) -> R {
        let slot = self.slot_mut(key);
        let packet = slot.packet.as_mut().expect(HELD);
        let result = editor(packet);
        slot.len = packet.len() as u32;
        result
    }

    /// Where a packet goes.
    #[inline]
    pub(crate) fn destination(&self, key: PacketKey) -> NodeId {
        self.slot(key).destination
    }

    #[inline]
    pub(crate) fn set_destination(&mut self, key: PacketKey, destination: NodeId) {
        self.slot_mut(key).destination = destination;
    }

    /// Whether a packet carries a message of one agent to another.
    pub(crate) fn is_message(&self, key: PacketKey) -> bool {
        self.slot(key).is_message
    }

    /// Puts in a message of one agent to another; its destination is still to be set. Its port alone would not
    /// tell it from a real host's datagram.
    pub(crate) fn insert_message(&mut self, packet: Packet) -> PacketKey {
        let key = self.insert(packet);
        self.slot_mut(key).is_message = true;
        key
    }

    /// Whether a link has made a bit of a packet wrong.
    pub(crate) fn is_damaged(&self, key: PacketKey) -> bool {
        self.slot(key).is_damaged
    }

    /// Puts a damaged packet in the place of what it was made from.
    pub(crate) fn damage(&mut self, key: PacketKey, damaged: Packet) {
        self.edit(key, |packet| *packet = damaged);
        self.slot_mut(key).is_damaged = true;
    }

    #[inline]
    fn slot(&self, key: PacketKey) -> &Slot {
        &self.slots[key.0 as usize]
    }

    #[inline]
    fn slot_mut(&mut self, key: PacketKey) -> &mut Slot {
        &mut self.slots[key.0 as usize]
    }
}
