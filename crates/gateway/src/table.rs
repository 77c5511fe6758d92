//! The table of connections: lookup in constant time, a bounded size, and eviction of the longest
//! idle.

use std::iter::from_fn;
use std::time::Duration;

use lasthop_agent::Budget;
use lasthop_agent::slab::{IdleList, Slab, Slot};
use lasthop_packet::{FlowKey, Instant};

use super::connection::{State, TrackedConnection};

/// Each connection has a slot, and is in the list of its state.
type Connections = Slab<TrackedConnection, State, { State::ALL.len() }>;

/// The maximum number of connections of a state that are considered for eviction.
const EVICTION_SCAN: usize = 16;

/// A bounded number of connections, with idle times by state.
///
/// One list per state keeps them in order of use, so that the idlest is found and removed without a
/// search. A slot is valid until its connection is removed; after that, [`ConnectionTable::at`]
/// panics or returns another connection.
#[derive(Debug)]
pub struct ConnectionTable {
    slab: Connections,
    capacity: usize,
    /// The number of flows of datagrams among them.
    datagrams: usize,
    idle: IdleTimes,
}

/// The times for which a connection may be idle before it expires, and before it may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimes {
    /// The time to expiry, indexed by [`State::index`].
    pub by_state: [Duration; State::ALL.len()],
    /// The idle time before which an established or half-closed connection is not evicted.
    pub grace: Duration,
}

impl ConnectionTable {
    /// Creates an empty table. It reserves all its memory, which becomes resident as it is used.
    pub fn new(capacity: usize, idle: IdleTimes) -> Self {
        Self { slab: Slab::with_capacity(capacity), capacity, datagrams: 0, idle }
    }

    /// Octets of memory per connection.
    pub const fn octets_per_connection() -> usize {
        Connections::octets_per_entry()
    }

    /// Octets of reserved memory.
    #[cfg(test)]
    pub(super) fn octets(&self) -> usize {
        self.slab.octets()
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    /// Whether the table is full.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// The maximum number of connections.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// The slot of this connection.
    pub fn find(&self, key: FlowKey) -> Option<Slot> {
        self.slab.find(key)
    }

    /// Prefetches the connections of these keys, so that their memory accesses overlap. Afterwards
    /// `slots` contains the slots of most of them.
    pub fn prefetch(&self, keys: &[FlowKey], slots: &mut Vec<Slot>) {
        slots.clear();
        self.slab.prefetch(keys, |slot, connection| {
            connection.read_cache_lines();
            slots.push(slot);
        });
    }

    /// The key of the connection in a slot: its direction from the core side to the radio side.
    pub fn key(&self, slot: Slot) -> FlowKey {
        self.slab.key(slot).expect(OCCUPIED)
    }

    /// The connection in a slot.
    pub fn at(&self, slot: Slot) -> &TrackedConnection {
        self.slab.get(slot).expect(OCCUPIED)
    }

    /// The connection in a slot, mutable.
    pub fn at_mut(&mut self, slot: Slot) -> &mut TrackedConnection {
        self.slab.get_mut(slot).expect(OCCUPIED)
    }

    /// Moves a connection that was just used to the end of the list of its state.
    pub fn used(&mut self, slot: Slot, now: Instant) {
        let state = self.at(slot).state;
        self.slab.touch(slot, state, now);
    }

    /// Postpones the expiry of a connection by another idle time.
    pub fn keep(&mut self, slot: Slot, now: Instant) {
        self.at_mut(slot).kept = Some(now);
        self.used(slot, now);
    }

    /// Inserts a connection that is not in the table yet. `None` if it does not fit: see
    /// [`ConnectionTable::eviction_candidate`].
    pub fn insert(&mut self, key: FlowKey, connection: TrackedConnection, now: Instant) -> Option<Slot> {
        let state = connection.state;
        if self.lacks_room(state) {
            return None;
        }
        self.datagrams += usize::from(state == State::Datagrams);
        Some(self.slab.insert(key, connection, state, now))
    }

    /// A connection whose idle time has passed, if there is one.
    pub fn expired(&self, now: Instant) -> Option<Slot> {
        let due = |state: &State| self.expiry(*state).is_some_and(|at| at <= now);
        self.slab.idlest(State::ALL.into_iter().find(due)?)
    }

    /// The time at which [`ConnectionTable::expired`] next finds a connection.
    pub fn next_expiry(&self) -> Option<Instant> {
        State::ALL.into_iter().filter_map(|state| self.expiry(state)).min()
    }

    /// The connections in at most `slots` slots starting at `from`, in the order of the array, and
    /// the slot after them; `None` at the end.
    pub fn page(
        &self,
        from: usize,
        slots: usize,
    ) -> (impl Iterator<Item = (FlowKey, &TrackedConnection)>, Option<usize>) {
        self.slab.page(from, slots)
    }

    /// The slot of every connection.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        self.slab.slots()
    }

    /// Sets new bounds. Excess connections stay until they are removed.
    pub fn set_bounds(&mut self, capacity: usize, idle: IdleTimes) {
        (self.capacity, self.idle) = (capacity, idle);
        self.slab.reserve(capacity);
    }

    /// Whether another connection in this state does not fit.
    fn lacks_room(&self, state: State) -> bool {
        self.is_full() || (state == State::Datagrams && !self.has_share())
    }

    /// Whether datagrams have not used up their share.
    const fn has_share(&self) -> bool {
        self.datagrams < Budget::datagram_share(self.capacity)
    }

    /// The connection to evict if another connection in this state does not fit. In this order: a
    /// closing connection, an opening one idle for a second, datagrams idle for a second, and the
    /// longest idle of the half-closed and then of the established connections, if its grace has
    /// passed. Considers the idlest of each state for which `may_evict`, called with key and rule,
    /// returns true. Datagrams never evict a half-closed or established connection, and, once they
    /// have used up their share, evict only other datagrams.
    pub fn eviction_candidate(
        &self,
        state: State,
        now: Instant,
        may_evict: impl Fn(FlowKey, Option<u16>) -> bool,
    ) -> Option<Slot> {
        if !self.lacks_room(state) {
            return None;
        }
        let lacks_share = state == State::Datagrams && !self.has_share();
        let is_full = self.is_full();
        let candidates = [
            (State::Closing, Duration::ZERO),
            (State::Opening, Duration::from_secs(1)),
            (State::Datagrams, Duration::from_secs(1)),
            (State::HalfClosed, self.idle.grace),
            (State::Established, self.idle.grace),
        ];
        let is_in_use = |candidate| matches!(candidate, State::HalfClosed | State::Established);
        let may_replace = |(candidate, _): &(State, Duration)| {
            if lacks_share {
                *candidate == State::Datagrams
            } else {
                (is_full || *candidate == state) && !(state == State::Datagrams && is_in_use(*candidate))
            }
        };
        candidates.into_iter().filter(may_replace).find_map(|(state, grace)| {
            let mut idlest = self.slab.in_order(state).take(EVICTION_SCAN);
            idlest.find(|slot| {
                let connection = self.at(*slot);
                now.since(connection.last_used) >= grace && may_evict(self.key(*slot), connection.rule)
            })
        })
    }

    /// The `most` longest idle connections, to the second, the idlest first, of those for which
    /// `may_evict`, called with key and rule, returns true. It visits each connection at most once.
    pub fn idlest(&self, most: usize, may_evict: impl Fn(FlowKey, Option<u16>) -> bool) -> Vec<Slot> {
        let mut lists = State::ALL.map(|state| self.slab.in_order(state).peekable());
        let in_order = from_fn(|| {
            let next = lists.iter_mut().filter_map(|list| Some((self.slab.last_used(*list.peek()?), list)));
            next.min_by_key(|(last_used, _)| *last_used)?.1.next()
        });
        in_order.filter(|slot| may_evict(self.key(*slot), self.at(*slot).rule)).take(most).collect()
    }

    /// Removes the connection in a slot.
    pub fn forget(&mut self, slot: Slot) {
        let was = self.slab.remove(slot).map(|connection| connection.state);
        self.datagrams -= usize::from(was == Some(State::Datagrams));
    }

    fn expiry(&self, state: State) -> Option<Instant> {
        let idlest = self.slab.idlest(state)?;
        let connection = self.at(idlest);
        let since = connection.kept.map_or(connection.last_used, |kept| kept.max(connection.last_used));
        Some(since + self.idle.by_state[state.index()])
    }
}

/// The reason why the lookup cannot fail: slots come only from this table, and the engine keeps a
/// slot no longer than the call in which it obtained it, and not after it has removed the
/// connection.
const OCCUPIED: &str = "the slot of a connection that is here";

impl IdleList for State {
    fn index(self) -> usize {
        // The inherent function, which is `const`.
        Self::index(self)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn idlest_connections_are_found_in_one_pass_over_all_states() {
        let idle = IdleTimes { by_state: [Duration::MAX; State::ALL.len()], grace: Duration::ZERO };
        let mut table = ConnectionTable::new(100, idle);
        for port in 0..100 {
            let end = (Ipv4Addr::LOCALHOST.into(), port);
            let (state, now) = (State::ALL[usize::from(port) % 4], Instant::from_secs(port.into()));
            let connection = TrackedConnection::new(None, state, now);
            table.insert(FlowKey::tcp(end, end), connection, now).expect("there is room");
        }
        let looked_at = Cell::new(0);
        let ports = |most| -> Vec<u16> {
            looked_at.set(0);
            let idlest = table.idlest(most, |key, _| {
                looked_at.set(looked_at.get() + 1);
                key.source.1 >= 40
            });
            idlest.into_iter().map(|slot| table.key(slot).source.1).collect()
        };
        assert_eq!(ports(30), (40..70).collect::<Vec<_>>());
        assert_eq!(looked_at.get(), 70, "each once, and none behind the last");
        assert_eq!(ports(1000), (40..100).collect::<Vec<_>>(), "no more than there are");
        assert_eq!(looked_at.get(), 100);
    }
}
