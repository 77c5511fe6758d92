//! Per-connection state within a bound, and a timer for each connection.

use std::hint::black_box;
use std::time::Duration;

use ahash::RandomState;
use hashbrown::HashTable;
use lasthop_packet::{FlowKey, Instant};

use crate::timer_heap::TimerHeap;

const NONE: u32 = u32::MAX;

/// State `S` and a timer for each flow, as many flows as the world's budget allows ([`crate::Budget::flows`]). At the bound the flow
/// that has been idle longest makes room, if it has been idle for the grace time; else the new flow gets no state and passes
/// through untouched.
///
/// With very many flows the next one's state is never in the processor's cache, so what a packet needs lies in one piece: state,
/// timer, and neighbours in order of idleness are one entry of an array. The hash table has only the entries' places, and is small
/// enough to stay in the cache. Its hash keys are drawn at random, as [`Lookup`](crate::Lookup)'s are, and no result depends on them.
#[derive(Debug)]
pub struct FlowTable<S> {
    places: HashTable<u32>,
    hasher: RandomState,
    entries: Vec<Entry<S>>,
    /// Places in `entries` that are free.
    free: Vec<u32>,
    /// The place that was last asked for, because it mostly is the next one too: a packet asks for its flow several times.
    asked: u32,
    idlest: u32,
    latest: u32,
    timers: TimerHeap,
    grace: Duration,
}

#[derive(Debug)]
struct Entry<S> {
    key: FlowKey,
    last_used: Instant,
    /// When its timer is due.
    due: Option<Instant>,
    /// Its neighbours in order of idleness.
    older: u32,
    newer: u32,
    /// `None` where the place is free.
    state: Option<S>,
}

impl<S> FlowTable<S> {
    /// An empty table; a flow that was used within `grace` is not evicted.
    pub fn new(grace: Duration) -> Self {
        Self {
            places: HashTable::new(),
            hasher: RandomState::new(),
            entries: Vec::new(),
            free: Vec::new(),
            asked: NONE,
            idlest: NONE,
            latest: NONE,
            timers: TimerHeap::default(),
            grace,
        }
    }

    /// The state of a flow, which counts as used now.
    pub fn touch(&mut self, key: FlowKey, now: Instant) -> Option<&mut S> {
        let place = self.find_mut(key)?;
        // Idleness in whole seconds is fine enough, and spares the neighbours' cache lines.
        if now.since(self.entries[place as usize].last_used).as_secs() >= 1 {
            self.unlink(place);
            self.link(place, now);
        }
        self.entries[place as usize].state.as_mut()
    }

    /// The state of a flow, without counting as use.
    pub fn peek(&self, key: FlowKey) -> Option<&S> {
        self.entries[self.find(key)? as usize].state.as_ref()
    }

    /// The state of a flow for a change that does not count as use, such as one that a timer makes.
    pub fn peek_mut(&mut self, key: FlowKey) -> Option<&mut S> {
        let place = self.find_mut(key)?;
        self.entries[place as usize].state.as_mut()
    }

    /// Adds a flow to at most `flows`. `Err` gives the state back where the table is full of flows in use; `Ok` holds the flow that
    /// made room.
    pub fn insert(
        &mut self,
        key: FlowKey,
        state: S,
        flows: usize,
        now: Instant,
    ) -> Result<Option<FlowKey>, S> {
        self.remove(key);
        let evicted = self.make_room(flows, now).map(|(idlest, _)| idlest);
        if self.len() >= flows.min(NONE as usize) {
            return Err(state);
        }
        let entry = Entry { key, last_used: now, due: None, older: NONE, newer: NONE, state: Some(state) };
        let place = if let Some(place) = self.free.pop() {
            self.entries[place as usize] = entry;
            place
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        let Self { places, entries, hasher, .. } = self;
        places.insert_unique(hasher.hash_one(key), place, |place| {
            hasher.hash_one(entries[*place as usize].key)
        });
        self.link(place, now);
        self.asked = place;
        Ok(evicted)
    }

    /// Takes out the flow that must go before another fits.
    fn make_room(&mut self, flows: usize, now: Instant) -> Option<(FlowKey, S)> {
        let idlest = self.next_to_go(flows, now)?;
        self.remove(idlest).map(|state| (idlest, state))
    }

    /// The flow that must go before another fits among `flows`: none unless the table is full and the idlest is past its grace. For
    /// schemes that have something to put in order first; others leave it to [`FlowTable::insert`].
    pub fn next_to_go(&self, flows: usize, now: Instant) -> Option<FlowKey> {
        let (last_used, idlest) = self.idlest()?;
        (self.len() >= flows && now.since(last_used) >= self.grace).then_some(idlest)
    }

    /// The flow that has been idle longest and when it was last used, to the second.
    pub fn idlest(&self) -> Option<(Instant, FlowKey)> {
        self.entries.get(self.idlest as usize).map(|entry| (entry.last_used, entry.key))
    }

    /// All flows, the idlest first.
    pub fn keys(&self) -> impl Iterator<Item = FlowKey> {
        let first = self.entries.get(self.idlest as usize);
        std::iter::successors(first, |entry| self.entries.get(entry.newer as usize)).map(|entry| entry.key)
    }

    /// Forgets a flow and its timer.
    pub fn remove(&mut self, key: FlowKey) -> Option<S> {
        let place = self.find(key)?;
        self.clear_timer(key);
        self.unlink(place);
        let hash = self.hasher.hash_one(key);
        self.places.find_entry(hash, |other| *other == place).ok()?.remove();
        let state = self.entries[place as usize].state.take();
        self.free.push(place);
        if self.is_empty() {
            // What a flood has taken is given back once it is over.
            (self.places, self.entries, self.free) = (HashTable::new(), Vec::new(), Vec::new());
        }
        state
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Sets the timer of a flow, in place of one that is set already. A flow that is not there has none.
    pub fn set_timer(&mut self, key: FlowKey, at: Instant) {
        let Some(place) = self.find_mut(key) else { return };
        let before = self.entries[place as usize].due.replace(at);
        if before != Some(at) {
            self.timers.add(at, place, before.is_some());
            self.prune_timers();
        }
    }

    /// Clears the timer of a flow.
    pub fn clear_timer(&mut self, key: FlowKey) {
        let Some(place) = self.find_mut(key) else { return };
        if self.entries[place as usize].due.take().is_some() {
            self.timers.ended();
            self.prune_timers();
        }
    }

    /// When the timer of a flow is due.
    pub fn timer(&self, key: FlowKey) -> Option<Instant> {
        self.entries[self.find(key)? as usize].due
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Takes one timer that is due at `now`, the earliest first: whose it is.
    pub fn pop_timer(&mut self, now: Instant) -> Option<FlowKey> {
        let place = self.timers.first_due(now)?;
        let key = self.entries[place as usize].key;
        self.clear_timer(key);
        Some(key)
    }

    /// The states of those of the flows that are here, with a chance to look at each. What is looked at comes from memory for all
    /// of them at once, because none is looked for by way of another.
    pub fn prefetch(&self, keys: &[FlowKey], look: impl Fn(&S)) {
        const AT_ONCE: usize = 32;
        for keys in keys.chunks(AT_ONCE) {
            // Two passes: the first touches the hash table alone, and takes the first place that may be the right one.
            let mut places = [NONE; AT_ONCE];
            for (place, key) in places.iter_mut().zip(keys) {
                *place = self.places.iter_hash(self.hasher.hash_one(key)).next().copied().unwrap_or(NONE);
            }
            for entry in places.iter().filter_map(|place| self.entries.get(*place as usize)) {
                black_box((entry.key.source.1, entry.last_used, entry.due));
                entry.state.iter().for_each(&look);
            }
        }
    }

    fn prune_timers(&mut self) {
        let Self { timers, entries, .. } = self;
        timers.prune(|place| entries.get(place as usize).and_then(|entry| entry.due));
    }

    fn find(&self, key: FlowKey) -> Option<u32> {
        let is_it = |entry: &Entry<S>| entry.key == key && entry.state.is_some();
        if self.entries.get(self.asked as usize).is_some_and(is_it) {
            return Some(self.asked);
        }
        let hash = self.hasher.hash_one(key);
        self.places.find(hash, |place| self.entries[*place as usize].key == key).copied()
    }

    fn find_mut(&mut self, key: FlowKey) -> Option<u32> {
        let place = self.find(key)?;
        self.asked = place;
        Some(place)
    }

    /// Puts a flow behind all others in order of idleness.
    fn link(&mut self, place: u32, now: Instant) {
        let older = std::mem::replace(&mut self.latest, place);
        let entry = &mut self.entries[place as usize];
        (entry.last_used, entry.older, entry.newer) = (now, older, NONE);
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = place,
            None => self.idlest = place,
        }
    }

    fn unlink(&mut self, place: u32) {
        let Entry { older, newer, .. } = self.entries[place as usize];
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.idlest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.latest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    fn key(port: u16) -> FlowKey {
        let host = Ipv4Addr::LOCALHOST.into();
        FlowKey { source: (host, port), destination: (host, 80) }
    }

    #[test]
    fn at_the_bound_the_idlest_flow_makes_room_and_a_busy_one_does_not() {
        let mut table = FlowTable::new(Duration::from_secs(10));
        assert_eq!(table.insert(key(1), 'a', 2, Instant::ZERO), Ok(None));
        assert_eq!(table.insert(key(2), 'b', 2, Instant::from_secs(1)), Ok(None));
        assert_eq!(table.touch(key(1), Instant::from_secs(5)), Some(&mut 'a'));
        assert_eq!(table.insert(key(3), 'c', 2, Instant::from_secs(6)), Err('c'));
        assert_eq!(table.insert(key(3), 'c', 2, Instant::from_secs(11)), Ok(Some(key(2))));
        assert_eq!((table.len(), table.peek(key(2)), table.peek(key(1))), (2, None, Some(&'a')));
    }

    #[test]
    fn room_is_made_only_where_it_is_needed_and_hands_out_the_state() {
        let mut table = FlowTable::new(Duration::from_secs(10));
        assert_eq!(table.insert(key(1), 'a', 1, Instant::ZERO), Ok(None));
        assert_eq!(table.idlest(), Some((Instant::ZERO, key(1))));
        assert_eq!(table.make_room(1, Instant::from_secs(9)), None);
        assert_eq!(table.make_room(1, Instant::from_secs(10)), Some((key(1), 'a')));
        assert_eq!((table.make_room(1, Instant::from_secs(99)), table.idlest()), (None, None));
    }

    #[test]
    fn a_flow_that_is_removed_or_replaced_leaves_nothing_behind() {
        let mut table = FlowTable::new(Duration::ZERO);
        for round in 0..10 {
            assert!(table.insert(key(1), round, 4, Instant::from_secs(round)).is_ok());
        }
        assert_eq!(table.remove(key(1)), Some(9));
        assert!(table.is_empty() && table.entries.capacity() == 0 && table.idlest().is_none());
    }

    #[test]
    fn flows_are_in_order_of_idleness() {
        let mut table = FlowTable::new(Duration::ZERO);
        for port in 1..=4 {
            assert!(table.insert(key(port), port, 4, Instant::from_secs(u64::from(port))).is_ok());
        }
        assert!(table.touch(key(2), Instant::from_secs(5)).is_some());
        assert!(table.touch(key(3), Instant::from_millis(3999)).is_some(), "within the second: no move");
        assert_eq!(table.remove(key(4)), Some(4));
        assert_eq!(table.keys().collect::<Vec<_>>(), [key(1), key(3), key(2)]);
        assert!(table.insert(key(5), 5, 4, Instant::from_secs(6)).is_ok());
        assert_eq!(table.remove(key(1)), Some(1));
        assert_eq!(table.keys().collect::<Vec<_>>(), [key(3), key(2), key(5)]);
        assert_eq!(table.idlest(), Some((Instant::from_secs(3), key(3))));
    }

    #[test]
    fn prefetch_looks_at_the_flows_that_are_there() {
        let mut table = FlowTable::new(Duration::ZERO);
        for port in 0..100 {
            assert!(table.insert(key(port), port, 100, Instant::ZERO).is_ok());
        }
        let keys: Vec<FlowKey> = (0..100).map(key).collect();
        let seen = std::cell::RefCell::new(Vec::new());
        table.prefetch(&keys, |port| seen.borrow_mut().push(*port));
        // A place that may be the right one mostly is.
        let hits = seen.borrow().iter().zip(0..100).filter(|(seen, port)| *seen == port).count();
        assert!(hits > 50, "{hits}");
    }

    #[test]
    fn a_timer_that_is_set_again_moves() {
        let mut table = FlowTable::new(Duration::ZERO);
        for port in [1, 2] {
            assert!(table.insert(key(port), (), 4, Instant::ZERO).is_ok());
        }
        table.set_timer(key(1), Instant::from_millis(5));
        table.set_timer(key(2), Instant::from_millis(7));
        table.set_timer(key(1), Instant::from_millis(9));
        table.set_timer(key(3), Instant::from_millis(1));
        assert_eq!((table.next_timer(), table.timer(key(3))), (Some(Instant::from_millis(7)), None));
        assert_eq!(table.pop_timer(Instant::from_millis(8)), Some(key(2)));
        assert_eq!(table.pop_timer(Instant::from_millis(8)), None);
        table.set_timer(key(1), Instant::from_millis(4));
        assert_eq!(table.pop_timer(Instant::from_millis(8)), Some(key(1)));
        assert_eq!(table.next_timer(), None);
    }

    #[test]
    fn a_flow_takes_its_timer_with_it() {
        let mut table = FlowTable::new(Duration::ZERO);
        for port in [1, 2] {
            assert!(table.insert(key(port), (), 4, Instant::ZERO).is_ok());
            table.set_timer(key(port), Instant::from_millis(port.into()));
        }
        assert_eq!(table.remove(key(1)), Some(()));
        assert!(table.insert(key(3), (), 4, Instant::ZERO).is_ok());
        assert_eq!((table.timer(key(3)), table.next_timer()), (None, Some(Instant::from_millis(2))));
        assert_eq!(table.remove(key(2)), Some(()));
        assert_eq!(table.pop_timer(Instant::from_secs(1)), None);
    }
}
