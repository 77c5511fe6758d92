//! The memory and obligations of all pairs of an agent together.

use lasthop_agent::{Obligation, Owed};

/// The counts of one pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Octets of memory in all.
    pub(super) octets: usize,
    /// Octets off the hop that wait to be forwarded.
    pub(super) backlog: u64,
    /// Octets at risk.
    pub(super) owed: Obligation,
}

/// The counts of all pairs together.
#[derive(Debug, Default)]
pub(super) struct Account {
    octets: usize,
    backlog: u64,
    owed: Owed,
}

impl Account {
    /// Octets of memory of the pairs, in addition to their places in the table.
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }

    /// Octets that have come off the hop and wait to be forwarded.
    pub(super) const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// The obligations.
    pub(super) const fn owed(&self) -> Owed {
        self.owed
    }

    /// Replaces the counts `before` of a pair by `now`; a pair that is not in the table counts as
    /// zero.
    pub(super) fn change(&mut self, before: Counted, now: Counted) {
        self.octets = self.octets - before.octets + now.octets;
        self.backlog = self.backlog - before.backlog + now.backlog;
        self.owed.change(before.owed, now.owed);
    }
}
