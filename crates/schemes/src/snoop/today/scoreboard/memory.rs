//! Memory that is given back.

use std::collections::VecDeque;

/// Gives back what a deque needs less than a quarter of, but for as much as it holds: so it is
/// moved once in as many steps, at most.
pub(super) fn shrink<T>(deque: &mut VecDeque<T>) {
    /// Entries that no deque in use is worth shrinking for.
    const LEAST: usize = 32;
    if deque.is_empty() {
        *deque = VecDeque::new();
    } else if deque.capacity() > LEAST && deque.len() < deque.capacity() / 4 {
        deque.shrink_to(2 * deque.len());
    }
}
