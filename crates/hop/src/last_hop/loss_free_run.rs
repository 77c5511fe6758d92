//! Whether a hop counts as one without losses.
//!
//! It has to deliver a run of segments without a loss. Then an agent may omit its measures against
//! losses until one shows. After a loss, the next run has to be twice as long: so a hop that loses
//! one segment in a thousand counts as perfect only a few times in all.
//!
//! The hops of all hosts together have such a run, too. While that is long enough, a host that has
//! never lost anything needs no run of its own.

use super::progress::Progress;

/// Segments of the first run: at a loss of 1%, one run in 23,000 is that long; at 0.1% one in
/// three.
const FIRST_RUN: u64 = 1000;
/// Maximum length of a required run, in segments.
const LONGEST_RUN: u64 = 1 << 20;

/// The run of a hop without losses.
#[derive(Clone, Copy, Debug)]
pub struct LossFreeRun {
    /// Octets delivered since the latest loss.
    run: u64,
    /// Segments of the required run; the next field has the octets of the largest segment.
    needed: u64,
    segment: u32,
    has_lost: bool,
}

impl Default for LossFreeRun {
    /// The run of a new hop.
    fn default() -> Self {
        Self { run: 0, needed: FIRST_RUN, segment: 1, has_lost: false }
    }
}

impl LossFreeRun {
    /// Records what an ACK showed, with segments of this size.
    pub fn on_progress(&mut self, progress: &Progress, segment: u32) {
        self.segment = self.segment.max(segment);
        self.run = self.run.saturating_add(progress.delivered);
        if progress.lost > 0 {
            self.on_loss();
        }
    }

    /// Records a loss.
    fn on_loss(&mut self) {
        self.has_lost = true;
        if self.is_complete() {
            self.needed = (2 * self.needed).min(LONGEST_RUN);
        }
        self.run = 0;
    }

    /// Whether nothing has ever been lost.
    pub(super) const fn has_lost_nothing(&self) -> bool {
        !self.has_lost
    }

    /// Whether the run has the required length.
    pub(super) fn is_complete(&self) -> bool {
        self.run >= self.needed * u64::from(self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl LossFreeRun {
        fn on_delivered(&mut self, delivered: u64) {
            self.on_progress(&Progress { delivered, ..Progress::default() }, 1448);
        }
    }

    #[test]
    fn each_loss_after_a_complete_run_doubles_the_required_run() {
        let mut loss_free_run = LossFreeRun::default();
        for run in [1000, 2000, 4000] {
            assert!(!loss_free_run.is_complete());
            loss_free_run.on_delivered(run * 1448 - 1);
            assert!(!loss_free_run.is_complete());
            loss_free_run.on_delivered(1);
            assert!(loss_free_run.is_complete());
            loss_free_run.on_loss();
        }
    }

    #[test]
    fn a_loss_during_a_run_restarts_it() {
        let mut loss_free_run = LossFreeRun::default();
        loss_free_run.on_delivered(999 * 1448);
        loss_free_run.on_loss();
        loss_free_run.on_delivered(999 * 1448);
        assert!(!loss_free_run.is_complete());
        loss_free_run.on_delivered(1448);
        assert!(loss_free_run.is_complete());
    }

    #[test]
    fn the_required_run_is_bounded() {
        let mut loss_free_run = LossFreeRun::default();
        for _ in 0..100 {
            loss_free_run.on_delivered(u64::MAX);
            loss_free_run.on_loss();
        }
        loss_free_run.on_delivered(LONGEST_RUN * 1448);
        assert!(loss_free_run.is_complete());
    }
}
