//! Entries by flow, or by another key, each in a slot and in a list in order of last use: the basis
//! of every table of connections.

mod slot;
#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::hint::black_box;
use std::iter::successors;

use ahash::RandomState;
use hashbrown::HashTable;
use lasthop_packet::{FlowKey, Instant};

pub use slot::Slot;

/// A value `T` for each of many flows (or other keys). It is found by key in constant time, and is
/// in one of `LISTS` lists in order of last use, so that the idlest of a list is found without a
/// search.
///
/// With very many flows the entry of the next packet is never in the processor's cache, so key,
/// value and neighbors in order of use are adjacent, in one array. The hash table has only slots,
/// of 4 octets each, and is small enough to stay in the cache. The hash is `ahash`: fast on short
/// keys with and without AES instructions. Its keys are drawn at random, like those of
/// [`Lookup`](crate::Lookup), so that an attacker cannot make flows collide; no result depends on
/// them.
///
/// A slab has no bound and evicts nothing: the table on top of it does that. It allocates only when
/// it grows.
#[derive(Debug)]
pub struct Slab<T, L = (), const LISTS: usize = 1, K = FlowKey> {
    entries: Vec<Entry<T, L, K>>,
    slots: HashTable<Slot>,
    hasher: RandomState,
    /// The free slot that is used next. Each free slot links to the next one with `newer`.
    free: Option<Slot>,
    lists: [Ends; LISTS],
}

/// Identifies one of a slab's lists; `()` if there is only one. It is a type and not a number so
/// that a single list takes no memory in each entry.
pub trait IdleList: Copy + Eq {
    /// The index, from 0; less than the slab's `LISTS`.
    fn index(self) -> usize;
}

#[derive(Debug)]
struct Entry<T, L, K> {
    key: K,
    /// When it last moved to the end of its list.
    moved: Instant,
    /// The list that it is in.
    list: L,
    /// The neighbors in the list.
    older: Option<Slot>,
    newer: Option<Slot>,
    /// `None` if the slot is free.
    value: Option<T>,
}

/// The ends of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    idlest: Option<Slot>,
    latest: Option<Slot>,
}

impl<T, L: IdleList, const LISTS: usize, K: Copy + Eq + Hash> Slab<T, L, LISTS, K> {
    /// Maximum number of entries in a slab.
    pub const MAX_LEN: usize = u32::MAX as usize;

    /// An empty slab without memory.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty slab with memory for `capacity` entries. It does not grow up to that number.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            // A hash table that is at most half full cleans up after removals in place.
            slots: HashTable::with_capacity(2 * capacity),
            hasher: RandomState::new(),
            free: None,
            lists: [Ends::default(); LISTS],
        }
    }

    /// Maximum octets of memory of an entry, including its part of the hash table.
    pub const fn octets_per_entry() -> usize {
        // At most 4.6 slots of 5 octets in the hash table.
        size_of::<Entry<T, L, K>>() + 24
    }

    /// Whether another entry needs more memory.
    pub const fn is_full(&self) -> bool {
        self.free.is_none() && self.entries.len() == self.entries.capacity()
    }

    /// Number of entries that fit into the allocated memory.
    pub const fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Maximum octets of allocated memory: those of all entries that fit.
    pub const fn octets(&self) -> usize {
        self.entries.capacity() * Self::octets_per_entry()
    }

    /// The limit on entries, at most `max_len`, if `room` more octets may be allocated.
    pub fn max_within(&self, max_len: usize, room: usize) -> usize {
        self.max_of(max_len, room, Self::octets_per_entry())
    }

    /// The same if an entry takes `each` octets, including memory of its owner.
    pub(crate) fn max_of(&self, max_len: usize, room: usize, each: usize) -> usize {
        let capacity = self.entries.capacity();
        // An array that grew by a few entries at a time would be copied with each of them.
        let more = Some(room / each).filter(|more| *more >= capacity / 16).unwrap_or_default();
        max_len.min(capacity.saturating_add(more))
    }

    /// Allocates memory for `capacity` entries in all.
    pub fn reserve(&mut self, capacity: usize) {
        let (more, more_slots) =
            (capacity.saturating_sub(self.len()), (2 * capacity).saturating_sub(self.len()));
        let Self { slots, entries, hasher, .. } = self;
        slots.reserve(more_slots, |slot| hasher.hash_one(entries[slot.index()].key));
        entries.reserve(more);
    }

    /// Allocates memory for another entry if there is no free one: twice as much as before, but for
    /// no more than `max_len` entries.
    pub fn make_room(&mut self, max_len: usize) {
        let len = self.entries.len();
        if self.is_full() {
            self.entries.reserve_exact(len.max(4).min(max_len.saturating_sub(len)));
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The slot of a flow.
    // Not inlined, so that a guess with `has` before it stays short: inlined, Snoop took 3% more
    // instructions per packet.
    #[inline(never)]
    pub fn find(&self, key: K) -> Option<Slot> {
        let hash = self.hasher.hash_one(key);
        self.slots.find(hash, |slot| self.entries[slot.index()].key == key).copied()
    }

    /// Whether a slot belongs to this flow: cheaper than [`Slab::find`] for a caller with a guess.
    pub fn has(&self, slot: Slot, key: K) -> bool {
        self.entries.get(slot.index()).is_some_and(|entry| entry.key == key && entry.value.is_some())
    }

    /// The flow in a slot; `None` if the slot is free.
    pub fn key(&self, slot: Slot) -> Option<K> {
        self.entry(slot).map(|entry| entry.key)
    }

    /// The value in a slot; `None` if the slot is free.
    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.entries.get(slot.index())?.value.as_ref()
    }

    /// The value in a slot, mutably; `None` if the slot is free.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.entries.get_mut(slot.index())?.value.as_mut()
    }

    /// Adds a flow that is used now. It must not be in the slab yet, and there must be fewer
    /// entries than [`Slab::MAX_LEN`].
    pub fn insert(&mut self, key: K, value: T, list: L, now: Instant) -> Slot {
        debug_assert!(self.find(key).is_none(), "it is there already");
        let entry = Entry { key, moved: now, list, older: None, newer: None, value: Some(value) };
        let slot = if let Some(slot) = self.free {
            self.free = self.entries[slot.index()].newer;
            self.entries[slot.index()] = entry;
            slot
        } else {
            self.entries.push(entry);
            Slot::at(self.entries.len() - 1)
        };
        let Self { slots, entries, hasher, .. } = self;
        slots.insert_unique(hasher.hash_one(key), slot, |slot| hasher.hash_one(entries[slot.index()].key));
        self.link(slot, list, now);
        slot
    }

    /// Removes a flow; `None` if the slot is free.
    pub fn remove(&mut self, slot: Slot) -> Option<T> {
        let hash = self.hasher.hash_one(self.key(slot)?);
        if let Ok(found) = self.slots.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        self.unlink(slot);
        let entry = &mut self.entries[slot.index()];
        entry.newer = self.free.replace(slot);
        entry.value.take()
    }

    /// Frees the memory of an empty slab; another one stays as it is.
    pub fn release_memory(&mut self) {
        if self.is_empty() {
            (self.entries, self.slots, self.free) = (Vec::new(), HashTable::new(), None);
        }
    }

    /// Moves a flow that is used now to its place in order of use, and into another list if it is
    /// not in this one. A free slot stays as it is.
    pub fn touch(&mut self, slot: Slot, list: L, now: Instant) {
        let Some(entry) = self.entry(slot) else { return };
        // An order to the second is enough, and avoids the neighbors' cache lines.
        if now.since(entry.moved).as_secs() >= 1 || entry.list != list {
            self.unlink(slot);
            self.link(slot, list, now);
        }
    }

    /// When a flow was last used, to the second; `None` if the slot is free.
    pub fn last_used(&self, slot: Slot) -> Option<Instant> {
        self.entry(slot).map(|entry| entry.moved)
    }

    /// The flow of a list that has been idle longest, to the second.
    pub fn idlest(&self, list: L) -> Option<Slot> {
        self.lists[list.index()].idlest
    }

    /// All flows of a list, the idlest first.
    pub fn in_order(&self, list: L) -> impl Iterator<Item = Slot> {
        successors(self.idlest(list), |slot| self.entries[slot.index()].newer)
    }

    /// The slots of all present flows, in the order of the array. The iterator borrows nothing:
    /// flows may be changed meanwhile.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<T, L, LISTS, K> {
        let taken = self.entries.iter().map(|entry| entry.value.is_some()).collect::<Vec<_>>();
        taken.into_iter().enumerate().filter(|(_, taken)| *taken).map(|(index, _)| Slot::at(index))
    }

    /// The flows in at most `slots` slots from index `from`, in the order of the array, and the
    /// index after them; `None` at the end.
    pub fn page(&self, from: usize, slots: usize) -> (impl Iterator<Item = (K, &T)>, Option<usize>) {
        let until = from.saturating_add(slots).min(self.entries.len());
        let entries = self.entries.get(from..until).unwrap_or_default();
        let taken = entries.iter().filter_map(|entry| Some((entry.key, entry.value.as_ref()?)));
        (taken, (until < self.entries.len()).then_some(until))
    }

    /// Reads the entries of present flows, and lets `look` read more of each value. The processor
    /// fetches them from memory in parallel, because finding one does not depend on another.
    /// Usually it is the right entry; rarely it is that of a flow with a similar hash.
    pub fn prefetch(&self, keys: &[K], mut look: impl FnMut(Slot, &T)) {
        const AT_ONCE: usize = 32;
        for keys in keys.chunks(AT_ONCE) {
            // Two passes: the first reads only the hash table, and takes the first slot that may be
            // the right one.
            let mut slots = [None; AT_ONCE];
            for (slot, key) in slots.iter_mut().zip(keys) {
                *slot = self.slots.iter_hash(self.hasher.hash_one(key)).next().copied();
            }
            for slot in slots.iter().take(keys.len()).flatten().copied() {
                let entry = &self.entries[slot.index()];
                black_box((entry.key, entry.moved, entry.newer));
                entry.value.iter().for_each(|value| look(slot, value));
            }
        }
    }

    fn entry(&self, slot: Slot) -> Option<&Entry<T, L, K>> {
        self.entries.get(slot.index()).filter(|entry| entry.value.is_some())
    }

    /// Appends a flow to a list.
    fn link(&mut self, slot: Slot, list: L, now: Instant) {
        let older = self.lists[list.index()].latest.replace(slot);
        let entry = &mut self.entries[slot.index()];
        (entry.moved, entry.list, entry.older, entry.newer) = (now, list, older, None);
        match older {
            Some(older) => self.entries[older.index()].newer = Some(slot),
            None => self.lists[list.index()].idlest = Some(slot),
        }
    }

    fn unlink(&mut self, slot: Slot) {
        let Entry { list, older, newer, .. } = self.entries[slot.index()];
        match older {
            Some(older) => self.entries[older.index()].newer = newer,
            None => self.lists[list.index()].idlest = newer,
        }
        match newer {
            Some(newer) => self.entries[newer.index()].older = older,
            None => self.lists[list.index()].latest = older,
        }
    }
}

impl<T, L: IdleList, const LISTS: usize, K: Copy + Eq + Hash> Default for Slab<T, L, LISTS, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl IdleList for () {
    fn index(self) -> usize {
        0
    }
}
