//! Per-connection state within a bound, with a timer for each connection.

use std::hint::black_box;
use std::time::Duration;

use lasthop_packet::{FlowKey, Instant};

use crate::budget::Budget;
use crate::slab::{Slab, Slot};
use crate::timer_heap::TimerHeap;

/// Maximum number of the idlest flows that are tested for whether they may make room: this limits
/// the cost of a new flow in a full table.
const CANDIDATES: usize = 16;

/// State `S` and a timer for each flow, up to the number of flows in the world's budget
/// ([`crate::Budget::flows`]). At the bound one of the flows that have been idle longest makes room
/// ([`FlowTable::eviction_candidate`]), if it has been idle for the grace time and may be
/// evicted. Otherwise the new flow gets no state and passes untouched.
#[derive(Debug)]
pub struct FlowTable<S> {
    slab: Slab<Flow<S>>,
    /// The last slot found, which is usually the next one, too: a packet's flow is looked up
    /// several times.
    last_found: Option<Slot>,
    timers: TimerHeap,
    grace: Duration,
}

#[derive(Debug)]
struct Flow<S> {
    /// When the timer is due.
    due: Option<Instant>,
    state: S,
}

impl<S> FlowTable<S> {
    /// An empty table; a flow that was used within `grace` is not evicted.
    pub fn new(grace: Duration) -> Self {
        Self { slab: Slab::new(), last_found: None, timers: TimerHeap::default(), grace }
    }

    /// The slot of a flow, for callers with several operations on it. It stays the same until the
    /// flow is removed; then the slot may be another flow's.
    #[inline]
    pub fn find(&mut self, key: FlowKey) -> Option<Slot> {
        let slot = self.look_up(key)?;
        self.last_found = Some(slot);
        Some(slot)
    }

    /// The flow in a slot.
    #[inline]
    pub fn key(&self, slot: Slot) -> Option<FlowKey> {
        self.slab.key(slot)
    }

    /// The state of the flow in a slot, without counting as use.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&S> {
        self.slab.get(slot).map(|flow| &flow.state)
    }

    /// The same, mutably, for changes that do not count as use, such as those by a timer.
    #[inline]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut S> {
        self.slab.get_mut(slot).map(|flow| &mut flow.state)
    }

    /// The state of the flow in a slot, which counts as used now.
    #[inline]
    pub fn touch_at(&mut self, slot: Slot, now: Instant) -> Option<&mut S> {
        self.slab.touch(slot, (), now);
        self.get_mut(slot)
    }

    /// The state of a flow, which counts as used now.
    pub fn touch(&mut self, key: FlowKey, now: Instant) -> Option<&mut S> {
        let slot = self.find(key)?;
        self.touch_at(slot, now)
    }

    /// The state of a flow, without counting as use.
    pub fn peek(&self, key: FlowKey) -> Option<&S> {
        self.get(self.look_up(key)?)
    }

    /// The state of a flow, mutably, without counting as use.
    pub fn peek_mut(&mut self, key: FlowKey) -> Option<&mut S> {
        let slot = self.find(key)?;
        self.get_mut(slot)
    }

    /// Adds a flow, replacing its present state, to at most `flows`. Returns the state as `Err` if
    /// the table is full: no flow is evicted here, because the scheme may owe it something.
    pub fn insert(&mut self, key: FlowKey, state: S, flows: usize, now: Instant) -> Result<(), S> {
        self.remove(key);
        if self.len() >= flows.min(Slab::<Flow<S>>::MAX_LEN) {
            return Err(state);
        }
        self.slab.make_room(flows);
        self.last_found = Some(self.slab.insert(key, Flow { due: None, state }, (), now));
        Ok(())
    }

    /// Maximum octets of allocated memory.
    pub fn octets(&self) -> usize {
        let of_timers = if self.timers.has_memory() { TimerHeap::OCTETS_OF_ONE } else { 0 };
        self.slab.octets() + self.slab.capacity() * of_timers
    }

    /// Maximum octets of memory of one more flow.
    pub fn cost_of_one(&self) -> usize {
        let each = Slab::<Flow<S>>::octets_per_entry() + TimerHeap::OCTETS_OF_ONE;
        if self.slab.is_full() { self.slab.capacity().max(4) * each } else { 0 }
    }

    /// The limit on flows in a budget of which the agent has taken `taken` octets, those of this
    /// table ([`Self::octets`]) included: as many as the budget allows, or as there is memory for,
    /// each with a timer and `beside` octets of the agent's memory elsewhere.
    pub fn max_flows(&self, budget: Budget, taken: usize, beside: usize) -> usize {
        let each = Slab::<Flow<S>>::octets_per_entry() + TimerHeap::OCTETS_OF_ONE + beside;
        self.slab.max_of(budget.flows, budget.octets_in_all.saturating_sub(taken), each)
    }

    /// The flow to remove before another fits among `flows`: the idlest that is past its grace time
    /// and `may_be_evicted`. `None` unless the table is full, and if none of the idlest may be
    /// evicted. A flow with an obligation must not ([`crate::Obligation`]).
    pub fn eviction_candidate(
        &self,
        flows: usize,
        now: Instant,
        may_be_evicted: impl Fn(&S) -> bool,
    ) -> Option<FlowKey> {
        if self.len() < flows {
            return None;
        }
        let is_past_grace = |slot: &Slot| {
            self.slab.last_used(*slot).is_some_and(|last_used| now.since(last_used) >= self.grace)
        };
        let mut candidates = self.slab.in_order(()).take(CANDIDATES).take_while(is_past_grace);
        let candidate =
            candidates.find(|slot| self.slab.get(*slot).is_some_and(|flow| may_be_evicted(&flow.state)))?;
        self.slab.key(candidate)
    }

    /// When the flow that has been idle longest was last used, to the second.
    #[inline]
    pub fn idle_since(&self) -> Option<Instant> {
        self.slab.last_used(self.slab.idlest(())?)
    }

    /// The flow that has been idle longest and when it was last used, to the second.
    pub fn idlest(&self) -> Option<(Instant, FlowKey)> {
        let slot = self.slab.idlest(())?;
        self.slab.last_used(slot).zip(self.slab.key(slot))
    }

    /// All flows, the idlest first.
    pub fn keys(&self) -> impl Iterator<Item = FlowKey> {
        self.slab.in_order(()).filter_map(|slot| self.slab.key(slot))
    }

    /// The slots of all flows, the idlest first.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.slab.in_order(())
    }

    /// Removes a flow and its timer.
    pub fn remove(&mut self, key: FlowKey) -> Option<S> {
        let slot = self.find(key)?;
        self.clear_timer_at(slot);
        let state = self.slab.remove(slot).map(|flow| flow.state);
        // Frees the memory of a flood once it is over.
        if self.slab.is_empty() {
            self.slab.release_memory();
            self.timers = TimerHeap::default();
        }
        state
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    /// Sets or replaces the timer of a flow. An unknown flow has no timer.
    pub fn set_timer(&mut self, key: FlowKey, at: Instant) {
        if let Some(slot) = self.find(key) {
            self.set_timer_at(slot, at);
        }
    }

    /// The same for the flow in a slot.
    pub fn set_timer_at(&mut self, slot: Slot, at: Instant) {
        let Some(flow) = self.slab.get_mut(slot) else { return };
        let before = flow.due.replace(at);
        if before != Some(at) {
            self.timers.add(at, slot, before.is_some());
            self.prune_timers();
        }
    }

    /// Clears the timer of a flow.
    pub fn clear_timer(&mut self, key: FlowKey) {
        if let Some(slot) = self.find(key) {
            self.clear_timer_at(slot);
        }
    }

    /// The same for the flow in a slot.
    #[inline]
    pub fn clear_timer_at(&mut self, slot: Slot) {
        if self.slab.get_mut(slot).is_some_and(|flow| flow.due.take().is_some()) {
            self.timers.ended();
            self.prune_timers();
        }
    }

    /// When the timer of a flow is due.
    pub fn timer(&self, key: FlowKey) -> Option<Instant> {
        self.timer_at(self.look_up(key)?)
    }

    /// The same for the flow in a slot.
    #[inline]
    pub fn timer_at(&self, slot: Slot) -> Option<Instant> {
        self.slab.get(slot)?.due
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Removes the earliest timer that is due at `now`, and returns its flow.
    pub fn pop_timer(&mut self, now: Instant) -> Option<FlowKey> {
        let slot = self.timers.first_due(now)?;
        self.clear_timer_at(slot);
        self.last_found = Some(slot);
        self.slab.key(slot)
    }

    /// Reads the states of present flows, and calls `look` for each. The states come from memory in
    /// parallel, because none is found by way of another.
    pub fn prefetch(&self, keys: &[FlowKey], look: impl Fn(&S)) {
        self.slab.prefetch(keys, |_, flow| {
            black_box(flow.due);
            look(&flow.state);
        });
    }

    fn prune_timers(&mut self) {
        let Self { timers, slab, .. } = self;
        timers.prune(|slot| slab.get(slot)?.due);
    }

    #[inline]
    fn look_up(&self, key: FlowKey) -> Option<Slot> {
        self.last_found.filter(|slot| self.slab.has(*slot, key)).or_else(|| self.slab.find(key))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    fn key(port: u16) -> FlowKey {
        let host = Ipv4Addr::LOCALHOST.into();
        FlowKey::tcp((host, port), (host, 80))
    }

    #[test]
    fn at_the_bound_the_idlest_flow_makes_room_and_a_busy_one_does_not() {
        let mut table = FlowTable::new(Duration::from_secs(10));
        assert_eq!(table.insert(key(1), 'a', 2, Instant::ZERO), Ok(()));
        assert_eq!(table.eviction_candidate(2, Instant::from_secs(99), |_| true), None, "there is room");
        assert_eq!(table.insert(key(2), 'b', 2, Instant::from_secs(1)), Ok(()));
        assert_eq!(table.touch(key(1), Instant::from_secs(5)), Some(&mut 'a'));
        assert_eq!(table.eviction_candidate(2, Instant::from_secs(10), |_| true), None);
        assert_eq!(table.insert(key(3), 'c', 2, Instant::from_secs(99)), Err('c'));
        assert_eq!(table.eviction_candidate(2, Instant::from_secs(11), |_| true), Some(key(2)));
        assert_eq!(table.remove(key(2)), Some('b'));
        assert_eq!(table.insert(key(3), 'c', 2, Instant::from_secs(11)), Ok(()));
        assert_eq!((table.len(), table.peek(key(2)), table.peek(key(1))), (2, None, Some(&'a')));
    }

    #[test]
    fn a_flow_that_may_not_be_evicted_makes_no_room_and_few_flows_are_tested() {
        let mut table = FlowTable::new(Duration::from_secs(10));
        for port in 0..100 {
            assert!(table.insert(key(port), port, 100, Instant::from_secs(u64::from(port))).is_ok());
        }
        let now = Instant::from_secs(25);
        assert_eq!(table.eviction_candidate(100, now, |port| *port > 2), Some(key(3)));
        assert_eq!(table.eviction_candidate(100, now, |port| *port > 15), None, "within its grace");
        let tested = std::cell::Cell::new(0);
        let none_may_be_evicted = |_: &u16| {
            tested.set(tested.get() + 1);
            false
        };
        assert_eq!(table.eviction_candidate(100, Instant::from_secs(1000), none_may_be_evicted), None);
        assert_eq!(tested.get(), CANDIDATES);
    }

    #[test]
    fn a_flow_that_is_removed_or_replaced_leaves_nothing_behind() {
        let mut table = FlowTable::new(Duration::ZERO);
        for round in 0..10 {
            assert!(table.insert(key(1), round, 4, Instant::from_secs(round)).is_ok());
        }
        assert_eq!(table.remove(key(1)), Some(9));
        assert!(table.is_empty() && table.slab.octets() == 0 && table.idlest().is_none());
    }

    #[test]
    fn a_table_takes_no_memory_for_more_flows_than_it_may_have() {
        let mut table = FlowTable::new(Duration::ZERO);
        for port in 0..1025 {
            assert!(table.insert(key(port), [0u8; 1000], 1030, Instant::ZERO).is_ok());
        }
        let entry = Slab::<Flow<[u8; 1000]>>::octets_per_entry();
        assert!(table.slab.octets() <= 1030 * entry, "{} octets", table.slab.octets());
    }

    #[test]
    fn the_stated_size_of_a_table_is_no_less_than_the_allocation() {
        let mut table = FlowTable::new(Duration::ZERO);
        let allocated = allocation_counter::measure(|| {
            for port in 0..3000 {
                assert!(table.insert(key(port), [0u8; 100], 10_000, Instant::ZERO).is_ok());
                // Each earlier than the previous one, so that many are stale.
                for step in 0..5 {
                    let at = Instant::from_millis(100_000 - 5 * u64::from(port) - step);
                    table.set_timer(key(port), at);
                }
                if port % 3 == 0 {
                    assert!(table.remove(key(port / 2)).is_some() || port > 0);
                }
            }
        });
        let (allocated, stated) = (allocated.bytes_current as usize, table.octets());
        assert!(
            allocated <= stated && stated <= 2 * allocated,
            "{allocated} octets allocated, {stated} stated"
        );
    }

    #[test]
    fn a_table_has_no_more_flows_than_fit_into_memory() {
        let mut table = FlowTable::new(Duration::ZERO);
        let budget = Budget { flows: 1000, octets_in_all: 100_000, ..Budget::default() };
        let mut port = 0;
        while table.len() < table.max_flows(budget, table.octets() + 20_000, 0) {
            let max_flows = table.max_flows(budget, table.octets() + 20_000, 0);
            assert!(table.insert(key(port), [0u8; 300], max_flows, Instant::ZERO).is_ok());
            table.set_timer(key(port), Instant::from_secs(1));
            port += 1;
        }
        assert!((60_000..=80_000).contains(&table.octets()), "{} octets", table.octets());
        let max_flows = table.max_flows(budget, table.octets() + 20_000, 0);
        assert_eq!(budget.bound_at(max_flows), "memory in all");
        assert_eq!(budget.bound_at(table.max_flows(budget, 0, 0)), "memory in all");
        assert_eq!(FlowTable::<u8>::new(Duration::ZERO).max_flows(Budget::default(), 0, 0), 10_000);
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
        // A slot that may be the right one usually is.
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
