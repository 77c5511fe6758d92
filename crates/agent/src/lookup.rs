//! A map without iteration.

use std::hash::Hash;

use ahash::RandomState;
use hashbrown::HashMap;

/// A hash map without iteration, so that no result depends on its order.
///
/// Its hash keys are drawn at random, the only randomness in this crate: on a real access point
/// anyone may choose addresses and ports, and with known hash keys an attacker could make every
/// lookup slow. Nothing observable depends on them, except for time.
#[derive(Debug, Clone)]
pub struct Lookup<K, V> {
    entries: HashMap<K, V, RandomState>,
}

impl<K: Hash + Eq, V> Lookup<K, V> {
    /// An empty map.
    pub fn new() -> Self {
        Self { entries: HashMap::with_hasher(RandomState::new()) }
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// The value of a key, mutably.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    /// The value of a key, which is created if it does not exist.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.entries.entry(key).or_insert_with(make)
    }

    /// Sets the value of a key; returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.entries.insert(key, value)
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let value = self.entries.remove(key);
        // Frees the memory of a flood; the removals since then have paid for the cost.
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to(2 * self.entries.len());
        }
        value
    }

    /// Octets of allocated memory.
    pub fn octets(&self) -> usize {
        self.entries.allocation_size()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<K: Hash + Eq, V> Default for Lookup<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_flood_is_freed() {
        let mut lookup = Lookup::new();
        for key in 0..100_000 {
            assert_eq!(lookup.insert(key, key), None);
        }
        for key in 0..99_999 {
            assert_eq!(lookup.remove(&key), Some(key));
        }
        assert_eq!((lookup.get(&99_999), lookup.len()), (Some(&99_999), 1));
        assert!(lookup.entries.capacity() <= 64);
        assert_eq!(*lookup.get_or_insert_with(1, || 7), 7);
    }
}
