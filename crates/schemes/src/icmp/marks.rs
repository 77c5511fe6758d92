//! The outstanding segments that messages arrived for.

use lasthop_packet::Seq;

/// A set of sequence numbers. The bound is far above the number of segments in any window, so that
/// only forged messages reach it.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks(Vec<Seq>);

const CAPACITY: usize = 4096;

impl Marks {
    pub(super) fn set(&mut self, seq: Seq) {
        if self.0.len() < CAPACITY && !self.0.contains(&seq) {
            self.0.push(seq);
        }
    }

    /// Removes `seq`. Returns whether it was in the set.
    pub(super) fn take(&mut self, seq: Seq) -> bool {
        let at = self.0.iter().position(|marked| *marked == seq);
        at.map(|at| self.0.swap_remove(at)).is_some()
    }

    pub(super) fn forget_before(&mut self, una: Seq) {
        self.0.retain(|marked| !marked.before(una));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
