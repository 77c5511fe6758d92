//! How many connections may be there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Admits at most so many at a time, and of them so many of the same kind.
#[derive(Debug)]
pub struct Gate<K> {
    inside: Mutex<Vec<K>>,
    limit: usize,
    limit_of_a_kind: usize,
}

/// One that was admitted, until this is dropped.
#[derive(Debug)]
pub struct Permit<K: PartialEq> {
    gate: Arc<Gate<K>>,
    kind: K,
}

impl<K: PartialEq + Clone> Gate<K> {
    pub const fn new(limit: usize, limit_of_a_kind: usize) -> Self {
        Self { inside: Mutex::new(Vec::new()), limit, limit_of_a_kind }
    }

    /// Admits one; none if there are too many.
    pub fn admit(self: &Arc<Self>, kind: K) -> Option<Permit<K>> {
        let mut inside = self.lock();
        let of_the_kind = inside.iter().filter(|other| **other == kind).count();
        if inside.len() >= self.limit || of_the_kind >= self.limit_of_a_kind {
            return None;
        }
        inside.push(kind.clone());
        Some(Permit { gate: Arc::clone(self), kind })
    }
}

impl<K> Gate<K> {
    fn lock(&self) -> MutexGuard<'_, Vec<K>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: PartialEq> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut inside = self.gate.lock();
        if let Some(index) = inside.iter().position(|kind| *kind == self.kind) {
            inside.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_as_many_inside_as_the_limits_say() {
        let gate = Arc::new(Gate::new(3, 2));
        let first = gate.admit('a').expect("there is room");
        let _second = gate.admit('a').expect("there is room");
        assert!(gate.admit('a').is_none(), "two of a kind");
        let _third = gate.admit('b').expect("there is room");
        assert!(gate.admit('c').is_none(), "three in all");
        drop(first);
        assert!(gate.admit('a').is_some());
    }
}
