//! The connections: found in constant time, bounded, and forgotten in order of idleness.

use std::iter::from_fn;
use std::time::Duration;

use lasthop_agent::Budget;
use lasthop_agent::slab::{IdleList, Slab, Slot};
use lasthop_packet::{FlowKey, Instant};

use super::connection::{State, TrackedConnection};

/// A connection in its slot, and in the list of its state.
type Connections = Slab<TrackedConnection, State, { State::ALL.len() }>;

/// Connections of a state of which it is looked at most whether they can make room for another.
const LOOKED_AT: usize = 16;

/// Connections up to a bound, and how long each may be idle.
///
/// One list per state has them in order of use: the idlest is found, and forgotten, without a
/// search. A slot is valid until its connection is forgotten; after that, [`ConnectionTable::at`]
/// panics or has another connection.
#[derive(Debug)]
pub struct ConnectionTable {
    slab: Connections,
    capacity: usize,
    /// How many of them are no TCP connections.
    datagrams: usize,
    idle: IdleTimes,
}

/// How long a connection may be idle before it is forgotten, and before it has to make room for
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimes {
    /// By [`State::index`].
    pub by_state: [Duration; State::ALL.len()],
    /// An established connection that was used within this time does not make room for a new one.
    pub grace: Duration,
}

impl ConnectionTable {
    /// An empty table. All its memory is reserved here, and becomes resident as it is used.
    pub fn new(capacity: usize, idle: IdleTimes) -> Self {
        Self { slab: Slab::with_capacity(capacity), capacity, datagrams: 0, idle }
    }

    /// Octets of memory that a connection takes here.
    pub const fn octets_per_connection() -> usize {
        Connections::octets_per_entry()
    }

    /// Octets of memory that are reserved.
    #[cfg(test)]
    pub(super) fn octets(&self) -> usize {
        self.slab.octets()
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
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
        self.slab.find(key)
    }

    /// Looks at the connections of these keys, so that their memory comes for all of them at once;
    /// the slots of most of them.
    pub fn prefetch(&self, keys: &[FlowKey], slots: &mut Vec<Slot>) {
        slots.clear();
        self.slab.prefetch(keys, |slot, connection| {
            connection.look();
            slots.push(slot);
        });
    }

    /// The key of the connection there: its direction from the core side to the radio side.
    pub fn key(&self, slot: Slot) -> FlowKey {
        self.slab.key(slot).expect(TAKEN)
    }

    /// The connection there.
    pub fn at(&self, slot: Slot) -> &TrackedConnection {
        self.slab.get(slot).expect(TAKEN)
    }

    /// The connection there, to change.
    pub fn at_mut(&mut self, slot: Slot) -> &mut TrackedConnection {
        self.slab.get_mut(slot).expect(TAKEN)
    }

    /// Puts the connection there, which was just used, where it belongs in order of idleness.
    pub fn used(&mut self, slot: Slot, now: Instant) {
        let state = self.at(slot).state;
        self.slab.touch(slot, state, now);
    }

    /// Keeps the connection there, which has been idle for too long, for as long again.
    pub fn keep(&mut self, slot: Slot, now: Instant) {
        self.at_mut(slot).kept = Some(now);
        self.used(slot, now);
    }

    /// Adds a connection that is not there yet. `None` where the table is full: see
    /// [`ConnectionTable::spared`].
    pub fn insert(&mut self, key: FlowKey, connection: TrackedConnection, now: Instant) -> Option<Slot> {
        let state = connection.state;
        if self.lacks_room(state) {
            return None;
        }
        self.datagrams += usize::from(state == State::Datagrams);
        Some(self.slab.insert(key, connection, state, now))
    }

    /// A connection that has been idle for too long, and is to be forgotten.
    pub fn expired(&self, now: Instant) -> Option<Slot> {
        let due = |state: &State| self.expiry(*state).is_some_and(|at| at <= now);
        self.slab.idlest(State::ALL.into_iter().find(due)?)
    }

    /// When [`ConnectionTable::expired`] next finds one.
    pub fn next_expiry(&self) -> Option<Instant> {
        State::ALL.into_iter().filter_map(|state| self.expiry(state)).min()
    }

    /// The connections in at most so many slots from one on, in the order of the array, and the
    /// slot behind them; `None` at the end.
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

    /// Sets new bounds. More connections than fit stay until they are forgotten.
    pub fn set_bounds(&mut self, capacity: usize, idle: IdleTimes) {
        (self.capacity, self.idle) = (capacity, idle);
        self.slab.reserve(capacity);
    }

    /// Whether one more in this state does not fit.
    fn lacks_room(&self, state: State) -> bool {
        self.is_full() || (state == State::Datagrams && !self.has_share())
    }

    /// Whether datagrams have not taken their share.
    const fn has_share(&self) -> bool {
        self.datagrams < Budget::of_datagrams(self.capacity)
    }

    /// The connection that is most easily spared where one more in this state does not fit: one
    /// that is closing, one that was not answered for a second, datagrams that have stopped for a
    /// second, or the one that has been idle longest, if that is past its grace. Only one of the
    /// idlest of each state that `may_go`, by key and rule. Datagrams never take the place of a
    /// connection in use, and, once they have their share, only that of other datagrams.
    pub fn spared(
        &self,
        state: State,
        now: Instant,
        may_go: impl Fn(FlowKey, Option<u16>) -> bool,
    ) -> Option<Slot> {
        if !self.lacks_room(state) {
            return None;
        }
        let lacks_share = state == State::Datagrams && !self.has_share();
        let is_full = self.is_full();
        let spared = [
            (State::Closing, Duration::ZERO),
            (State::Opening, Duration::from_secs(1)),
            (State::Datagrams, Duration::from_secs(1)),
            (State::HalfClosed, self.idle.grace),
            (State::Established, self.idle.grace),
        ];
        let is_in_use = |spared| matches!(spared, State::HalfClosed | State::Established);
        let of_state = |(spared, _): &(State, Duration)| {
            if lacks_share {
                *spared == State::Datagrams
            } else {
                (is_full || *spared == state) && !(state == State::Datagrams && is_in_use(*spared))
            }
        };
        spared.into_iter().filter(of_state).find_map(|(state, grace)| {
            let mut idlest = self.slab.in_order(state).take(LOOKED_AT);
            idlest.find(|slot| {
                now.since(self.at(*slot).last_used) >= grace && may_go(self.key(*slot), self.at(*slot).rule)
            })
        })
    }

    /// At most so many of the connections that `may_go`, by key and rule: those that have been idle
    /// longest, to the second, the idlest first. One walk: it looks at each connection at most
    /// once.
    pub fn idlest(&self, most: usize, may_go: impl Fn(FlowKey, Option<u16>) -> bool) -> Vec<Slot> {
        let mut lists = State::ALL.map(|state| self.slab.in_order(state).peekable());
        let in_order = from_fn(|| {
            let next = lists.iter_mut().filter_map(|list| Some((self.slab.last_used(*list.peek()?), list)));
            next.min_by_key(|(last_used, _)| *last_used)?.1.next()
        });
        in_order.filter(|slot| may_go(self.key(*slot), self.at(*slot).rule)).take(most).collect()
    }

    /// Forgets the connection there.
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

/// Why it cannot fail: slots come from this table alone, and the engine keeps none longer than the
/// call in which it got it, nor after it has forgotten the connection.
const TAKEN: &str = "the slot of a connection that is here";

impl IdleList for State {
    fn index(self) -> usize {
        // The inherent one, which is `const`.
        Self::index(self)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_idlest_that_may_go_are_found_in_one_walk_over_all_states() {
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
