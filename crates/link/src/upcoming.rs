//! A priority queue for simulated events.
//!
//! Most events bring about one that is due before nearly all others: a short sorted list is faster
//! than a heap. Where many wait, those that are due later are in a heap.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What waits for its turn.
pub trait Due: Copy {
    /// No two that wait at a time have the same.
    type Turn: Ord;

    /// The lowest is next.
    fn turn(&self) -> Self::Turn;

    /// Whether its turn is before that of one that comes after it has come.
    #[inline]
    fn is_before(&self, newcomer: &Self) -> bool {
        self.turn() < newcomer.turn()
    }
}

/// What waits, in the order of its turns.
#[derive(Debug)]
pub struct Upcoming<T: Due> {
    /// Sorted, the next one last; empty only if nothing waits at all.
    soon: Vec<T>,
    /// None is due before the first of `soon`.
    later: BinaryHeap<Later<T>>,
}

/// At most this many are in the sorted list.
const MAX_SOON: usize = 32;

impl<T: Due> Default for Upcoming<T> {
    fn default() -> Self {
        Self { soon: Vec::new(), later: BinaryHeap::new() }
    }
}

impl<T: Due> Upcoming<T> {
    /// An event is to come.
    #[expect(clippy::inline_always, reason = "every event; measured")]
    #[inline(always)]
    pub fn push(&mut self, new: T) {
        if !self.later.is_empty() && self.soon.first().is_none_or(|last| last.is_before(&new)) {
            self.later.push(Later(new));
            return;
        }
        self.soon.push(new);
        let Some((mut place, others)) = self.soon.split_last_mut() else { return };
        for before in others.iter_mut().rev() {
            if !before.is_before(&new) {
                break;
            }
            *place = *before;
            place = before;
        }
        *place = new;
        if self.soon.len() > MAX_SOON {
            self.defer();
        }
    }

    /// All that wait, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.soon.iter().chain(self.later.iter().map(|Later(waiting)| waiting))
    }

    /// What is next.
    #[inline]
    pub fn next(&self) -> Option<&T> {
        self.soon.last()
    }

    /// Takes what is next, if it is due.
    #[inline]
    pub fn pop_if(&mut self, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
        let next = self.soon.pop_if(|next| is_due(next))?;
        if self.soon.is_empty() && !self.later.is_empty() {
            self.fetch();
        }
        Some(next)
    }

    #[cold]
    fn defer(&mut self) {
        self.later.extend(self.soon.drain(..MAX_SOON / 2).map(Later));
    }

    #[cold]
    fn fetch(&mut self) {
        let next = std::iter::from_fn(|| self.later.pop()).take(MAX_SOON / 2);
        self.soon.extend(next.map(|Later(next)| next));
        self.soon.reverse();
    }
}

impl<T: Due> FromIterator<T> for Upcoming<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut upcoming = Self::default();
        items.into_iter().for_each(|item| upcoming.push(item));
        upcoming
    }
}

/// In a heap, of which the largest comes first.
#[derive(Clone, Copy, Debug)]
struct Later<T>(T);

impl<T: Due> Ord for Later<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.turn().cmp(&self.0.turn())
    }
}

impl<T: Due> PartialOrd for Later<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Due> PartialEq for Later<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Due> Eq for Later<T> {}
