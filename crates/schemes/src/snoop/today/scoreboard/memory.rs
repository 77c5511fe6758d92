//! Release of memory.

use std::collections::VecDeque;

/// Shrinks a deque that uses less than a quarter of its capacity, to twice its length: so entries
/// are moved at most once in as many steps.
pub(super) fn shrink<T>(deque: &mut VecDeque<T>) {
    /// Deques of at most this capacity are not shrunk.
    const MIN_CAPACITY: usize = 32;
    if deque.is_empty() {
        *deque = VecDeque::new();
    } else if deque.capacity() > MIN_CAPACITY && deque.len() < deque.capacity() / 4 {
        deque.shrink_to(2 * deque.len());
    }
}
