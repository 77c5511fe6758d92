//! What all pairs of an agent have taken, and owe, together.

use lasthop_agent::{Obligation, Owed};

/// What is counted of one pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Octets of memory in all.
    pub(super) octets: usize,
    /// Octets off the hop that wait to be sent on.
    pub(super) backlog: u64,
    /// Octets at risk.
    pub(super) owed: Obligation,
}

/// The same of all pairs together.
#[derive(Debug, Default)]
pub(super) struct Account {
    octets: usize,
    backlog: u64,
    owed: Owed,
}

impl Account {
    /// Octets of memory that the pairs have taken, beside their places in the table.
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }

    /// Octets that have come off the hop and wait to be sent on.
    pub(super) const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// What is owed.
    pub(super) const fn owed(&self) -> Owed {
        self.owed
    }

    /// A pair that was counted as `before` counts as `now`; one that is not there counts as nothing.
    pub(super) fn change(&mut self, before: Counted, now: Counted) {
        self.octets = self.octets - before.octets + now.octets;
        self.backlog = self.backlog - before.backlog + now.backlog;
        self.owed.change(before.owed, now.owed);
    }
}
