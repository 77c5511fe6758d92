//! Many first-in-first-out lists in one allocation.

use lasthop_packet::Instant;

use super::waiting::Waiting;
use crate::parcel::ParcelKey;

/// No slot has this number.
const NONE: u32 = u32::MAX;

/// The packets of all lists.
#[derive(Debug)]
pub(super) struct Pool {
    slots: Vec<Slot>,
    /// The first of the slots that are not in use.
    vacant: u32,
    packets: usize,
    octets: u64,
    memory: u64,
}

#[derive(Debug)]
struct Slot {
    waiting: Waiting,
    memory: u32,
    /// The one behind it in its list.
    next: u32,
}

/// One list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
    octets: u64,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE, octets: 0 }
    }
}

impl List {
    /// Octets in it.
    pub(super) const fn octets(&self) -> u64 {
        self.octets
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self { slots: Vec::new(), vacant: NONE, packets: 0, octets: 0, memory: 0 }
    }
}

impl Pool {
    /// Packets and octets in all lists.
    pub(super) const fn size(&self) -> (usize, u64) {
        (self.packets, self.octets)
    }

    /// Octets of memory that they take.
    pub(super) const fn memory(&self) -> u64 {
        self.memory
    }

    pub(super) fn push(&mut self, list: &mut List, waiting: Waiting, memory: u32) {
        if self.vacant == NONE {
            self.add_slot();
        }
        let index = self.vacant;
        let slot = &mut self.slots[index as usize];
        self.vacant = slot.next;
        *slot = Slot { waiting, memory, next: NONE };
        if list.first == NONE {
            list.first = index;
        } else {
            self.slots[list.last as usize].next = index;
        }
        list.last = index;
        list.octets += u64::from(waiting.len);
        self.packets += 1;
        self.octets += u64::from(waiting.len);
        self.memory += u64::from(memory);
    }

    pub(super) fn pop(&mut self, list: &mut List) -> Option<Waiting> {
        if list.first == NONE {
            return None;
        }
        let index = list.first;
        let slot = &mut self.slots[index as usize];
        let Slot { waiting, memory, next } = *slot;
        slot.next = std::mem::replace(&mut self.vacant, index);
        list.first = next;
        list.octets -= u64::from(waiting.len);
        self.packets -= 1;
        self.octets -= u64::from(waiting.len);
        self.memory -= u64::from(memory);
        Some(waiting)
    }

    #[cold]
    fn add_slot(&mut self) {
        self.vacant = self.slots.len() as u32;
        let waiting = Waiting { key: ParcelKey(0), len: 0, since: Instant::ZERO };
        self.slots.push(Slot { waiting, memory: 0, next: NONE });
    }
}
