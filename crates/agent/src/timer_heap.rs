//! A heap of many timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lasthop_packet::Instant;

use crate::slab::Slot;

/// The order of timers that are stored elsewhere, each in a slot; their owner says which entries
/// are valid. Setting a timer again or clearing it affects no other timer. Memory is proportional
/// to the number of running timers.
#[derive(Debug, Default)]
pub(crate) struct TimerHeap {
    /// May contain stale entries; an entry is valid only if the timer in its slot is due at its
    /// time.
    heap: BinaryHeap<Reverse<(Instant, Slot)>>,
    running: usize,
}

/// Stale entries that are kept in addition to as many as there are running timers.
const SLACK: usize = 4;

impl TimerHeap {
    /// Maximum octets of memory per running timer: twice as many entries, and room for as many
    /// again, because an array doubles.
    pub(crate) const OCTETS_OF_ONE: usize = 4 * size_of::<(Instant, Slot)>();

    /// Whether memory is allocated.
    pub(crate) fn has_memory(&self) -> bool {
        self.heap.capacity() > 0
    }

    /// Records that a timer was set, and whether it ran before. The caller then prunes the heap.
    pub(crate) fn add(&mut self, at: Instant, slot: Slot, was_running: bool) {
        self.running += usize::from(!was_running);
        self.heap.push(Reverse((at, slot)));
    }

    /// Records that a timer was cleared. The caller then prunes the heap.
    pub(crate) const fn ended(&mut self) {
        self.running -= 1;
    }

    /// When the next timer is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The slot of the earliest timer, if it is due at `now`.
    pub(crate) fn first_due(&self, now: Instant) -> Option<Slot> {
        self.heap.peek().filter(|Reverse((at, _))| *at <= now).map(|Reverse((_, slot))| *slot)
    }

    /// Keeps the top of the heap valid, and the stale entries fewer than the running timers. `due`
    /// returns when the timer in a slot is due.
    pub(crate) fn prune(&mut self, due: impl Fn(Slot) -> Option<Instant>) {
        while let Some(Reverse((at, slot))) = self.heap.peek()
            && due(*slot) != Some(*at)
        {
            self.heap.pop();
        }
        if self.heap.len() > 2 * self.running + SLACK {
            let mut live = std::mem::take(&mut self.heap).into_vec();
            live.retain(|Reverse((at, slot))| due(*slot) == Some(*at));
            live.sort_unstable();
            live.dedup();
            live.shrink_to(2 * self.running + SLACK);
            self.heap = live.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_the_timers_not_the_settings() {
        let (mut heap, mut due) = (TimerHeap::default(), [None; 3]);
        for round in 0..10_000_u32 {
            let (index, at) = ((round % 3) as usize, Instant::from_nanos(u64::from(1_000_000 - round)));
            let before = due[index].replace(at);
            heap.add(at, Slot::at(index), before.is_some());
            heap.prune(|slot| due[slot.index()]);
        }
        assert!(heap.heap.len() <= 32, "{}", heap.heap.len());
        assert_eq!(heap.first_due(Instant::from_nanos(1_000_000)), Some(Slot::at(9_999 % 3)));
    }
}
