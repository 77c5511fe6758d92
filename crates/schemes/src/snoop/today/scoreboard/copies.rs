//! The agent's latest copies, to recognize the reports of duplicate data that they cause.

use lasthop_packet::Seq;

/// The number of copies kept. On a hop that reorders, as many are sent at a time as wait for it: if
/// the reports of needless ones were not recognized, the tolerance would not grow, and ever more
/// would follow.
const REMEMBERED: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Copy {
    seq: Seq,
    end: Seq,
    /// Whether it repairs a detected loss.
    is_repair: bool,
}

const NONE: Copy = Copy { seq: Seq(0), end: Seq(0), is_repair: false };

/// The latest copies. Flows without copies allocate no memory for them.
#[derive(Debug)]
pub(super) struct Copies {
    latest: Option<Box<[Copy; REMEMBERED]>>,
    next: u8,
}

impl Copies {
    /// An empty list.
    pub(super) const fn new() -> Self {
        Self { latest: None, next: 0 }
    }

    /// Octets of memory once there is a copy.
    pub(super) const MEMORY: usize = size_of::<[Copy; REMEMBERED]>();

    /// Whether that memory is allocated.
    pub(super) const fn has_memory(&self) -> bool {
        self.latest.is_some()
    }

    /// Adds a copy of `[seq, end)`.
    pub(super) fn remember(&mut self, seq: Seq, end: Seq, is_repair: bool) {
        let latest = self.latest.get_or_insert_with(|| Box::new([NONE; REMEMBERED]));
        latest[usize::from(self.next) % REMEMBERED] = Copy { seq, end, is_repair };
        self.next = self.next.wrapping_add(1);
    }

    /// Forgets copies that overlap `[seq, end)`.
    pub(super) fn forget(&mut self, seq: Seq, end: Seq) {
        for copy in self.latest.iter_mut().flat_map(|latest| latest.iter_mut()) {
            if copy.seq.before(end) && copy.end.after(seq) {
                *copy = NONE;
            }
        }
    }

    /// Whether the copy that contains `[left, right)` repairs a detected loss; `None` if there is
    /// no such copy.
    pub(super) fn of(&self, left: Seq, right: Seq) -> Option<bool> {
        let is_in = |copy: &&Copy| !left.before(copy.seq) && !right.after(copy.end) && right.after(left);
        self.latest.as_deref()?.iter().find(is_in).map(|copy| copy.is_repair)
    }

    /// Whether there are any, and the next index: see [`lasthop_agent::Agent::prefetch`].
    pub(super) const fn edges(&self) -> (bool, u8) {
        (self.latest.is_some(), self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_of_copies_is_recognized() {
        let mut copies = Copies::new();
        for n in 0..=REMEMBERED as u32 {
            copies.remember(Seq(100 * n), Seq(100 * (n + 1)), n % 2 == 0);
        }
        assert_eq!(copies.of(Seq(0), Seq(100)), None, "the oldest makes room");
        for n in 1..=30 {
            assert_eq!(copies.of(Seq(100 * n), Seq(100 * (n + 1))), Some(n % 2 == 0), "{n}");
        }
    }
}
