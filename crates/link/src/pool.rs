//! Many lists in one allocation, each first in, first out.

/// No slot has this number.
const NONE: u32 = u32::MAX;

/// What waits in a list.
pub trait Length: Copy {
    /// Its octets.
    fn octets(&self) -> u32;
}

/// What waits in all lists.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    /// The first of the slots that are not in use.
    vacant: u32,
    packets: usize,
    octets: u64,
}

#[derive(Debug)]
struct Slot<T> {
    item: T,
    /// The one before it in its list.
    previous: u32,
    /// The one behind it.
    next: u32,
}

/// One list.
#[derive(Clone, Copy, Debug)]
pub struct List {
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
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// Whether nothing is in it.
    pub const fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), vacant: NONE, packets: 0, octets: 0 }
    }
}

impl<T: Length> Pool<T> {
    /// Packets and octets in all lists.
    pub const fn size(&self) -> (usize, u64) {
        (self.packets, self.octets)
    }

    /// The first of a list.
    pub fn first(&self, list: &List) -> Option<&T> {
        self.slots.get(list.first as usize).map(|slot| &slot.item)
    }

    /// Packets and octets at the end of a list that are to go until no more than `most` octets are left.
    pub fn beyond(&self, list: &List, most: u64) -> (usize, u64) {
        let (mut packets, mut left, mut at) = (0, list.octets, list.last);
        while left > most {
            let slot = &self.slots[at as usize];
            (packets, left, at) = (packets + 1, left - u64::from(slot.item.octets()), slot.previous);
        }
        (packets, list.octets - left)
    }

    /// Appends to a list.
    #[inline]
    pub fn push(&mut self, list: &mut List, item: T) {
        let index = self.place(Slot { item, previous: list.last, next: NONE });
        if list.first == NONE {
            list.first = index;
        } else {
            self.slots[list.last as usize].next = index;
        }
        list.last = index;
        list.octets += u64::from(item.octets());
        self.packets += 1;
        self.octets += u64::from(item.octets());
    }

    /// Takes out the first of a list.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> Option<T> {
        if list.first == NONE {
            return None;
        }
        let index = list.first;
        list.first = self.slots[index as usize].next;
        if list.first == NONE {
            list.last = NONE;
        } else {
            self.slots[list.first as usize].previous = NONE;
        }
        Some(self.vacate(list, index))
    }

    /// Takes out the last of a list.
    pub fn pop_last(&mut self, list: &mut List) -> Option<T> {
        if list.last == NONE {
            return None;
        }
        let index = list.last;
        list.last = self.slots[index as usize].previous;
        if list.last == NONE {
            list.first = NONE;
        } else {
            self.slots[list.last as usize].next = NONE;
        }
        Some(self.vacate(list, index))
    }

    /// Puts what is new into a slot.
    #[inline]
    fn place(&mut self, slot: Slot<T>) -> u32 {
        let index = self.vacant;
        if index == NONE {
            self.slots.push(slot);
            return (self.slots.len() - 1) as u32;
        }
        self.vacant = self.slots[index as usize].next;
        self.slots[index as usize] = slot;
        index
    }

    /// What a list had in a slot, which is vacant now.
    #[inline]
    fn vacate(&mut self, list: &mut List, index: u32) -> T {
        let slot = &mut self.slots[index as usize];
        slot.next = std::mem::replace(&mut self.vacant, index);
        let octets = u64::from(slot.item.octets());
        list.octets -= octets;
        self.packets -= 1;
        self.octets -= octets;
        slot.item
    }
}
