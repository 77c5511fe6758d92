//! Our latest copies, to know the reports of duplicate data that they cause.

use lasthop_packet::Seq;

/// How many are remembered.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Copy {
    seq: Seq,
    end: Seq,
    /// A loss called for it.
    is_repair: bool,
}

const NONE: Copy = Copy { seq: Seq(0), end: Seq(0), is_repair: false };

/// The latest copies.
#[derive(Debug)]
pub(super) struct Copies {
    latest: [Copy; REMEMBERED],
    next: u8,
}

impl Copies {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { latest: [NONE; REMEMBERED], next: 0 }
    }

    /// Takes note of a copy of `[seq, end)`.
    pub(super) fn remember(&mut self, seq: Seq, end: Seq, is_repair: bool) {
        self.latest[usize::from(self.next) % REMEMBERED] = Copy { seq, end, is_repair };
        self.next = self.next.wrapping_add(1);
    }

    /// Forgets what touches `[seq, end)`.
    pub(super) fn forget(&mut self, seq: Seq, end: Seq) {
        for copy in &mut self.latest {
            if copy.seq.before(end) && copy.end.after(seq) {
                *copy = NONE;
            }
        }
    }

    /// Whether a loss called for our copy of `[left, right)`; `None` without one.
    pub(super) fn of(&self, left: Seq, right: Seq) -> Option<bool> {
        let is_in = |copy: &&Copy| !left.before(copy.seq) && !right.after(copy.end) && right.after(left);
        self.latest.iter().find(is_in).map(|copy| copy.is_repair)
    }

    /// The first and the last: see [`lasthop_agent::Agent::prefetch`].
    pub(super) const fn edges(&self) -> (bool, u8) {
        (self.latest[0].is_repair, self.next)
    }
}
