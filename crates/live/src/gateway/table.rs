//! The connections: found in constant time, bounded, and forgotten in order of idleness.

use std::hint::black_box;
use std::time::Duration;

use ahash::RandomState;
use hashbrown::HashTable;
use lasthop_packet::{FlowKey, Instant};

use super::connection::{State, TrackedConnection};

const NONE: u32 = u32::MAX;

/// Connections of a state of which it is looked at most whether they can make room for another.
const LOOKED_AT: usize = 16;

/// At most so many connections, and how long each may be idle.
///
/// Connections lie in one array; a hash table holds their slots, and one list a state has them in order of use: the idlest is
/// found, and forgotten, without a search. The hash is `ahash` with keys drawn at start: quick on short keys with and without AES
/// instructions, and nobody outside can make connections collide on purpose.
#[derive(Debug)]
pub struct ConnectionTable {
    slots: HashTable<u32>,
    hasher: RandomState,
    entries: Vec<Entry>,
    /// Places in `entries` that are free.
    free: Vec<u32>,
    /// Of each state, the idlest and the latest used.
    lists: [List; State::ALL.len()],
    capacity: usize,
    idle: IdleTimes,
}

/// How long a connection may be idle before it is forgotten, and before it has to make room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimes {
    /// By [`State::index`].
    pub by_state: [Duration; State::ALL.len()],
    /// An established connection that was used within this time does not make room for a new one.
    pub grace: Duration,
}

#[derive(Debug)]
struct Entry {
    connection: TrackedConnection,
    /// When it last moved to the end of its list.
    moved: Instant,
    /// The list that it is in; `None` where the slot is free.
    listed: Option<State>,
    older: u32,
    newer: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    oldest: u32,
    newest: u32,
}

/// A connection's slot in the table, good until something is inserted or forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl ConnectionTable {
    /// An empty table. All its memory is reserved here, and becomes resident as it is used.
    pub fn new(capacity: usize, idle: IdleTimes) -> Self {
        Self {
            // A table that is at most half full clears up after removals in place, and never grows.
            slots: HashTable::with_capacity(2 * capacity),
            hasher: RandomState::new(),
            entries: Vec::with_capacity(capacity),
            free: Vec::new(),
            lists: [List { oldest: NONE, newest: NONE }; State::ALL.len()],
            capacity,
            idle,
        }
    }

    /// Octets of memory that a connection takes here.
    pub const fn octets_per_connection() -> usize {
        // At most 4.6 slots of 5 octets in the hash table, and one in the list of free slots.
        size_of::<Entry>() + 24 + 4
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Connections that there is memory for.
    #[cfg(test)]
    pub(super) fn reserved(&self) -> (usize, usize) {
        (self.entries.capacity(), self.slots.allocation_size())
    }

    /// Whether no more fit.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// The most connections that fit.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Where this connection is.
    pub fn find(&self, key: FlowKey) -> Option<Slot> {
        let hash = self.hasher.hash_one(key);
        self.slots.find(hash, |slot| self.entries[*slot as usize].connection.key == key).copied().map(Slot)
    }

    /// Looks at the connections of these keys, so that their memory comes for all of them at once; the slots of most of them.
    pub fn prefetch(&self, keys: &[FlowKey], slots: &mut Vec<Slot>) {
        // Two passes: the first touches the hash table alone, and takes the first slot that may be the right one.
        let may_be = |key: &FlowKey| self.slots.iter_hash(self.hasher.hash_one(key)).next();
        slots.clear();
        slots.extend(keys.iter().filter_map(may_be).copied().map(Slot));
        for slot in &*slots {
            let entry = &self.entries[slot.0 as usize];
            entry.connection.look();
            black_box((entry.moved, entry.listed, entry.older));
        }
    }

    /// The connection there.
    pub fn at(&self, slot: Slot) -> &TrackedConnection {
        &self.entries[slot.0 as usize].connection
    }

    /// The connection there, to change.
    pub fn at_mut(&mut self, slot: Slot) -> &mut TrackedConnection {
        &mut self.entries[slot.0 as usize].connection
    }

    /// Puts the connection there, which was just used, where it belongs in order of idleness.
    pub fn used(&mut self, slot: Slot, now: Instant) {
        let entry = &mut self.entries[slot.0 as usize];
        // Order to the second will do, and spares the neighbours' cache lines.
        let is_in_order = now.since(entry.moved) < Duration::from_secs(1);
        if is_in_order && entry.listed == Some(entry.connection.state) {
            return;
        }
        self.unlink(slot.0);
        self.link(slot.0, now);
    }

    /// Adds a connection that is not there yet. `None` where the table is full: see [`ConnectionTable::spared`].
    pub fn insert(&mut self, connection: TrackedConnection, now: Instant) -> Option<Slot> {
        if self.is_full() {
            return None;
        }
        let hash = self.hasher.hash_one(connection.key);
        let entry = Entry { connection, moved: now, listed: None, older: NONE, newer: NONE };
        let slot = if let Some(slot) = self.free.pop() {
            self.entries[slot as usize] = entry;
            slot
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        let Self { slots, entries, hasher, .. } = self;
        slots.insert_unique(hash, slot, |slot| hasher.hash_one(entries[*slot as usize].connection.key));
        self.link(slot, now);
        Some(Slot(slot))
    }

    /// A connection that has been idle for too long, and is to be forgotten.
    pub fn expired(&self, now: Instant) -> Option<Slot> {
        let due = |state: &State| self.expiry(*state).is_some_and(|at| at <= now);
        let state = State::ALL.into_iter().find(due)?;
        Some(Slot(self.lists[state.index()].oldest))
    }

    /// When [`ConnectionTable::expired`] next finds one.
    pub fn next_expiry(&self) -> Option<Instant> {
        State::ALL.into_iter().filter_map(|state| self.expiry(state)).min()
    }

    /// The connections in at most so many slots from one on, in the order of the array, and the slot behind them; `None` at the end.
    pub fn page(
        &self,
        from: usize,
        slots: usize,
    ) -> (impl Iterator<Item = &TrackedConnection>, Option<usize>) {
        let until = from.saturating_add(slots).min(self.entries.len());
        let entries = self.entries.get(from..until).unwrap_or_default();
        let connections =
            entries.iter().filter(|entry| entry.listed.is_some()).map(|entry| &entry.connection);
        (connections, (until < self.entries.len()).then_some(until))
    }

    /// The slot of every connection.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        let listed = self.entries.iter().map(|entry| entry.listed.is_some()).collect::<Vec<_>>();
        (0..).zip(listed).filter(|(_, listed)| *listed).map(|(slot, _)| Slot(slot))
    }

    /// Sets new bounds. More connections than fit stay until they are forgotten.
    pub fn set_bounds(&mut self, capacity: usize, idle: IdleTimes) {
        self.idle = idle;
        self.capacity = capacity;
        let more = capacity.saturating_sub(self.len());
        let places_more = (2 * capacity).saturating_sub(self.len());
        let Self { slots, entries, hasher, .. } = self;
        slots.reserve(places_more, |slot| hasher.hash_one(entries[*slot as usize].connection.key));
        entries.reserve(more);
    }

    /// The connection that is most easily spared: one that is closing, one that nobody answered for a second, or the
    /// one that has been idle longest, if that is past its grace.
    /// Only one of the idlest of each state that `may_go`, by key and rule.
    pub fn spared(&self, now: Instant, may_go: impl Fn(FlowKey, Option<u16>) -> bool) -> Option<Slot> {
        let spared = [
            (State::Closing, Duration::ZERO),
            (State::Opening, Duration::from_secs(1)),
            (State::HalfClosed, self.idle.grace),
            (State::Established, self.idle.grace),
        ];
        spared.into_iter().find_map(|(state, grace)| {
            let mut oldest = self.oldest_of(state).take(LOOKED_AT);
            oldest.find(|slot| {
                let TrackedConnection { key, rule, last_used, .. } = *self.at(*slot);
                now.since(last_used) >= grace && may_go(key, rule)
            })
        })
    }

    /// The connection that has been idle longest, to the second.
    pub fn idlest(&self, may_go: impl Fn(FlowKey, Option<u16>) -> bool) -> Option<Slot> {
        let may_go = |slot: &Slot| {
            let TrackedConnection { key, rule, .. } = *self.at(*slot);
            may_go(key, rule)
        };
        let oldest = State::ALL.iter().filter_map(|state| self.oldest_of(*state).find(may_go));
        oldest.min_by_key(|slot| self.entries[slot.0 as usize].moved)
    }

    /// The connections in a state, the idlest first.
    fn oldest_of(&self, state: State) -> impl Iterator<Item = Slot> {
        let first = Some(self.lists[state.index()].oldest).filter(|slot| *slot != NONE);
        let next = |slot: &u32| Some(self.entries[*slot as usize].newer).filter(|slot| *slot != NONE);
        std::iter::successors(first, next).map(Slot)
    }

    /// Forgets the connection there.
    pub fn forget(&mut self, slot: Slot) {
        let hash = self.hasher.hash_one(self.at(slot).key);
        self.unlink(slot.0);
        if let Ok(entry) = self.slots.find_entry(hash, |other| *other == slot.0) {
            entry.remove();
            self.free.push(slot.0);
        }
    }

    fn expiry(&self, state: State) -> Option<Instant> {
        let oldest = self.entries.get(self.lists[state.index()].oldest as usize)?;
        Some(oldest.connection.last_used + self.idle.by_state[state.index()])
    }

    fn link(&mut self, slot: u32, now: Instant) {
        let entry = &mut self.entries[slot as usize];
        let state = entry.connection.state;
        let list = &mut self.lists[state.index()];
        entry.moved = now;
        entry.listed = Some(state);
        entry.newer = NONE;
        entry.older = list.newest;
        let older = std::mem::replace(&mut list.newest, slot);
        match older {
            NONE => list.oldest = slot,
            older => self.entries[older as usize].newer = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        let Some(state) = entry.listed.take() else { return };
        let (older, newer) = (entry.older, entry.newer);
        let list = &mut self.lists[state.index()];
        match older {
            NONE => list.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        let list = &mut self.lists[state.index()];
        match newer {
            NONE => list.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }
}
