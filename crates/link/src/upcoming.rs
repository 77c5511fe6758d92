//! A priority queue for simulated events.
//!
//! Most events cause an event that is due before nearly all others, so that a short sorted list is
//! faster than a heap. If many events wait, the later ones are in a heap.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An item that waits for its turn.
pub trait Due: Copy {
    /// The order of items. No two items that wait at the same time have the same turn.
    type Turn: Ord;

    /// The turn of this item; the lowest is next.
    fn turn(&self) -> Self::Turn;

    /// Whether its turn is before that of an item that was added later.
    #[inline]
    fn is_before(&self, newcomer: &Self) -> bool {
        self.turn() < newcomer.turn()
    }
}

/// Items that wait, in the order of their turns.
#[derive(Debug)]
pub struct Upcoming<T: Due> {
    /// Sorted, the next one last; empty only if nothing waits at all.
    soon: Vec<T>,
    /// None of these is due before the first of `soon`.
    later: BinaryHeap<Later<T>>,
}

/// The maximum length of the sorted list.
const MAX_SOON: usize = 32;

impl<T: Due> Default for Upcoming<T> {
    fn default() -> Self {
        Self { soon: Vec::new(), later: BinaryHeap::new() }
    }
}

impl<T: Due> Upcoming<T> {
    /// Adds an item.
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

    /// All items, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.soon.iter().chain(self.later.iter().map(|Later(waiting)| waiting))
    }

    /// The next item.
    #[inline]
    pub fn next(&self) -> Option<&T> {
        self.soon.last()
    }

    /// Removes the next item, if it is due.
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

/// An item in the heap, whose largest element comes first.
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
