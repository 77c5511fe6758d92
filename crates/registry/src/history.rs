//! The latest changes, within a bound.

use std::collections::VecDeque;

use super::entry::Change;

#[derive(Clone, Debug)]
pub(crate) struct History {
    /// In the order of their revisions.
    changes: VecDeque<Change>,
    limit: usize,
    /// All changes after this revision are here.
    complete_after: u64,
}

impl History {
    /// No changes up to a revision.
    pub(crate) fn new(limit: u32, revision: u64) -> Self {
        Self { changes: VecDeque::new(), limit: limit as usize, complete_after: revision }
    }

    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push_back(change);
        if self.changes.len() > self.limit
            && let Some(dropped) = self.changes.pop_front()
        {
            self.complete_after = dropped.revision;
        }
    }

    /// The lowest revision after which all changes are here.
    pub(crate) fn complete_after(&self) -> u64 {
        self.complete_after
    }

    /// The changes after a revision that are here.
    pub(crate) fn after(&self, revision: u64) -> impl Iterator<Item = &Change> {
        self.changes.range(self.changes.partition_point(|change| change.revision <= revision)..)
    }
}
