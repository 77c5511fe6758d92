//! Per-connection state within a bound.

use std::collections::BTreeSet;

use lasthop_packet::{FlowKey, Instant};

use crate::lookup::Lookup;

/// State `S` for each flow, at most `capacity` flows. At the bound the flow that has been idle longest makes room, if it has
/// been idle for the grace time; else the new flow gets no state and passes through untouched.
#[derive(Debug)]
pub struct FlowTable<S> {
    flows: Lookup<FlowKey, Entry<S>>,
    /// Flows by the time they were last used: the idlest first.
    by_idleness: BTreeSet<(Instant, FlowKey)>,
    capacity: usize,
    grace: std::time::Duration,
}

#[derive(Debug)]
struct Entry<S> {
    state: S,
    last_used: Instant,
}

impl<S> FlowTable<S> {
    /// An empty table for at most `capacity` flows; a flow that was used within `grace` is not evicted.
    pub fn new(capacity: usize, grace: std::time::Duration) -> Self {
        Self { flows: Lookup::new(), by_idleness: BTreeSet::new(), capacity, grace }
    }

    /// The state of a flow, which counts as used now.
    pub fn touch(&mut self, key: FlowKey, now: Instant) -> Option<&mut S> {
        let entry = self.flows.get_mut(&key)?;
        // Idleness in whole seconds is fine enough, and spares two map operations a packet.
        if now.since(entry.last_used).as_secs() >= 1 {
            self.by_idleness.remove(&(entry.last_used, key));
            self.by_idleness.insert((now, key));
            entry.last_used = now;
        }
        Some(&mut entry.state)
    }

    /// The state of a flow, without counting as use.
    pub fn peek(&self, key: FlowKey) -> Option<&S> {
        self.flows.get(&key).map(|entry| &entry.state)
    }

    /// The state of a flow for a change that does not count as use, such as one that a timer makes.
    pub fn peek_mut(&mut self, key: FlowKey) -> Option<&mut S> {
        self.flows.get_mut(&key).map(|entry| &mut entry.state)
    }

    /// Adds a flow. `Err` gives the state back where the table is full of flows in use; `Ok` holds the flow that made room.
    pub fn insert(&mut self, key: FlowKey, state: S, now: Instant) -> Result<Option<FlowKey>, S> {
        self.remove(key);
        let evicted = self.make_room(now).map(|(idlest, _)| idlest);
        if self.flows.len() >= self.capacity {
            return Err(state);
        }
        self.flows.insert(key, Entry { state, last_used: now });
        self.by_idleness.insert((now, key));
        Ok(evicted)
    }

    /// Takes out the flow that must go before another fits.
    fn make_room(&mut self, now: Instant) -> Option<(FlowKey, S)> {
        let idlest = self.next_to_go(now)?;
        self.remove(idlest).map(|state| (idlest, state))
    }

    /// The flow that must go before another fits: none unless the table is full and the idlest is past its grace. For schemes
    /// that have something to put in order first; others leave it to [`FlowTable::insert`].
    pub fn next_to_go(&self, now: Instant) -> Option<FlowKey> {
        let (last_used, idlest) = self.idlest()?;
        (self.flows.len() >= self.capacity && now.since(last_used) >= self.grace).then_some(idlest)
    }

    /// The flow that has been idle longest and when it was last used, to the second.
    pub fn idlest(&self) -> Option<(Instant, FlowKey)> {
        self.by_idleness.first().copied()
    }

    /// All flows, the idlest first.
    pub fn keys(&self) -> impl Iterator<Item = FlowKey> {
        self.by_idleness.iter().map(|(_, key)| *key)
    }

    /// Forgets a flow.
    pub fn remove(&mut self, key: FlowKey) -> Option<S> {
        let entry = self.flows.remove(&key)?;
        self.by_idleness.remove(&(entry.last_used, key));
        Some(entry.state)
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
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
        let mut table = FlowTable::new(2, Duration::from_secs(10));
        assert_eq!(table.insert(key(1), 'a', Instant::ZERO), Ok(None));
        assert_eq!(table.insert(key(2), 'b', Instant::from_secs(1)), Ok(None));
        assert_eq!(table.touch(key(1), Instant::from_secs(5)), Some(&mut 'a'));
        assert_eq!(table.insert(key(3), 'c', Instant::from_secs(6)), Err('c'));
        assert_eq!(table.insert(key(3), 'c', Instant::from_secs(11)), Ok(Some(key(2))));
        assert_eq!((table.len(), table.peek(key(2)), table.peek(key(1))), (2, None, Some(&'a')));
    }

    #[test]
    fn room_is_made_only_where_it_is_needed_and_hands_out_the_state() {
        let mut table = FlowTable::new(1, Duration::from_secs(10));
        assert_eq!(table.insert(key(1), 'a', Instant::ZERO), Ok(None));
        assert_eq!(table.idlest(), Some((Instant::ZERO, key(1))));
        assert_eq!(table.make_room(Instant::from_secs(9)), None);
        assert_eq!(table.make_room(Instant::from_secs(10)), Some((key(1), 'a')));
        assert_eq!((table.make_room(Instant::from_secs(99)), table.idlest()), (None, None));
    }

    #[test]
    fn a_flow_that_is_removed_or_replaced_leaves_nothing_behind() {
        let mut table = FlowTable::new(4, Duration::ZERO);
        for round in 0..10 {
            assert!(table.insert(key(1), round, Instant::from_secs(round)).is_ok());
        }
        assert_eq!(table.remove(key(1)), Some(9));
        assert!(table.is_empty() && table.by_idleness.is_empty());
    }
}
