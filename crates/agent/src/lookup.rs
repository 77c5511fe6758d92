//! A map that is only ever asked for one key at a time.

use std::hash::Hash;

use ahash::RandomState;
use hashbrown::HashMap;

/// A hash map that nobody can iterate over, so that no result depends on its order.
///
/// Its hash keys are drawn at random, the one thing on this floor that is: on a real access point
/// anybody may choose addresses and ports, and with keys that he knows he could make every look-up
/// slow. Nothing that can be seen from outside, but for the time that it takes, depends on them.
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

    /// The value of a key, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    /// The value of a key, which is made if it is not there.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.entries.entry(key).or_insert_with(make)
    }

    /// Sets the value of a key; returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.entries.insert(key, value)
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let value = self.entries.remove(key);
        // What a flood has taken is given back, at a price that the removals since have paid.
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to(2 * self.entries.len());
        }
        value
    }

    /// Octets of memory that it has taken.
    pub fn octets(&self) -> usize {
        self.entries.allocation_size()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
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
    fn a_flood_leaves_no_memory_behind() {
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
