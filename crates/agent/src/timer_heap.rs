//! Many timers, one deadline.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

use lasthop_packet::Instant;

use crate::lookup::Lookup;

/// One timer a key; setting a key again moves its timer. Memory is proportional to the number of keys.
#[derive(Debug)]
pub struct TimerHeap<K> {
    /// May hold stale entries; an entry counts only if `due` agrees with it.
    heap: BinaryHeap<Reverse<(Instant, K)>>,
    due: Lookup<K, Instant>,
}

impl<K: Ord + Hash + Copy> TimerHeap<K> {
    /// No timers.
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), due: Lookup::new() }
    }

    /// Sets the timer of `key`, in place of one that is set already.
    pub fn set(&mut self, key: K, at: Instant) {
        if self.due.insert(key, at) != Some(at) {
            self.heap.push(Reverse((at, key)));
            self.prune();
        }
    }

    /// Clears the timer of `key`.
    pub fn clear(&mut self, key: K) {
        if self.due.remove(&key).is_some() {
            self.prune();
        }
    }

    /// When the timer of `key` is due.
    pub fn due(&self, key: K) -> Option<Instant> {
        self.due.get(&key).copied()
    }

    /// When the next timer is due.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes one timer that is due at `now`, the earliest first.
    pub fn pop_due(&mut self, now: Instant) -> Option<K> {
        let Reverse((at, key)) = *self.heap.peek()?;
        if at > now {
            return None;
        }
        self.due.remove(&key);
        self.prune();
        Some(key)
    }

    /// Keeps the top of the heap valid, and the stale entries fewer than the live ones.
    fn prune(&mut self) {
        while let Some(Reverse((at, key))) = self.heap.peek()
            && self.due.get(key) != Some(at)
        {
            self.heap.pop();
        }
        if self.heap.len() > 2 * self.due.len() + 16 {
            let mut live = std::mem::take(&mut self.heap).into_vec();
            live.retain(|Reverse((at, key))| self.due.get(key) == Some(at));
            live.sort_unstable();
            live.dedup();
            live.shrink_to(2 * self.due.len() + 16);
            self.heap = live.into();
        }
    }
}

impl<K: Ord + Hash + Copy> Default for TimerHeap<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_set_again_moves() {
        let mut timers = TimerHeap::new();
        timers.set("a", Instant::from_millis(5));
        timers.set("b", Instant::from_millis(7));
        timers.set("a", Instant::from_millis(9));
        assert_eq!(timers.next(), Some(Instant::from_millis(7)));
        assert_eq!(timers.pop_due(Instant::from_millis(8)), Some("b"));
        assert_eq!(timers.pop_due(Instant::from_millis(8)), None);
        timers.set("a", Instant::from_millis(4));
        assert_eq!(timers.pop_due(Instant::from_millis(8)), Some("a"));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn memory_follows_the_keys_not_the_settings() {
        let mut timers = TimerHeap::new();
        for round in 0..10_000 {
            timers.set(round % 3, Instant::from_nanos(1_000_000 - round));
        }
        assert!(timers.heap.len() <= 32, "{}", timers.heap.len());
    }
}
