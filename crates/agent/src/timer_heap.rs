//! Many timers, one deadline.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lasthop_packet::Instant;

/// The order of timers that lie elsewhere, each at a place with a number: whoever owns them says which still count. To set a timer
/// anew, or to clear it, touches no other. Memory is proportional to the number of timers that run.
#[derive(Debug, Default)]
pub(crate) struct TimerHeap {
    /// May hold stale entries; an entry counts only if the timer at its place is due then.
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    running: usize,
}

impl TimerHeap {
    /// A timer was set; `was_running` says whether it was before. To be pruned.
    pub(crate) fn add(&mut self, at: Instant, place: u32, was_running: bool) {
        self.running += usize::from(!was_running);
        self.heap.push(Reverse((at, place)));
    }

    /// A timer ended. To be pruned.
    pub(crate) const fn ended(&mut self) {
        self.running -= 1;
    }

    /// When the next timer is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Where the earliest timer is, if it is due at `now`.
    pub(crate) fn first_due(&self, now: Instant) -> Option<u32> {
        self.heap.peek().filter(|Reverse((at, _))| *at <= now).map(|Reverse((_, place))| *place)
    }

    /// Keeps the top of the heap valid, and the stale entries fewer than the live ones. `due` says when the timer at a place is due.
    pub(crate) fn prune(&mut self, due: impl Fn(u32) -> Option<Instant>) {
        while let Some(Reverse((at, place))) = self.heap.peek()
            && due(*place) != Some(*at)
        {
            self.heap.pop();
        }
        if self.heap.len() > 2 * self.running + 16 {
            let mut live = std::mem::take(&mut self.heap).into_vec();
            live.retain(|Reverse((at, place))| due(*place) == Some(*at));
            live.sort_unstable();
            live.dedup();
            live.shrink_to(2 * self.running + 16);
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
            let (place, at) = (round % 3, Instant::from_nanos(u64::from(1_000_000 - round)));
            let before = due[place as usize].replace(at);
            heap.add(at, place, before.is_some());
            heap.prune(|place| due[place as usize]);
        }
        assert!(heap.heap.len() <= 32, "{}", heap.heap.len());
        assert_eq!(heap.first_due(Instant::from_nanos(1_000_000)), Some(9_999 % 3));
    }
}
