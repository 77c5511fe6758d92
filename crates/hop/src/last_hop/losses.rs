//! A hop's recent losses, and the window that they allow a sender.

use super::progress::Progress;

/// After this many delivered segments both counts are halved.
const HALVED_AFTER: u64 = 8192;
/// Fewer losses may be due to chance.
const MIN_LOSSES: u64 = 32;
/// Segments. A sender with a smaller window has too few duplicate ACKs and waits for its timer.
const MIN_WINDOW: f64 = 10.0;

/// Octets lost and delivered; older ones count less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    lost: u64,
    delivered: u64,
}

impl Losses {
    /// Records what an ACK showed, in segments of this size.
    pub(super) fn on_progress(&mut self, progress: &Progress, segment: u32) {
        self.lost += progress.lost;
        self.delivered += progress.delivered;
        if self.delivered > HALVED_AFTER * u64::from(segment.max(1)) {
            (self.lost, self.delivered) = (self.lost / 2, self.delivered / 2);
        }
    }

    /// Whether a sender that slows down at each of these losses keeps twice this window, in octets.
    /// Where a share p of its segments is lost, its window is sqrt(3 / 2p) segments (Mathis, Semke,
    /// Mahdavi, Ott, CCR 27(3), 1997, equation 3).
    pub(super) fn allow_twice(&self, window: f64, segment: u32) -> bool {
        let segment = segment.max(1);
        if self.lost < MIN_LOSSES * u64::from(segment) {
            return false;
        }
        let kept = (1.5 * self.delivered as f64 / self.lost as f64).sqrt();
        kept >= MIN_WINDOW.max(2.0 * window / f64::from(segment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1000;

    fn losing_one_in(segments: u64, times: u64) -> Losses {
        let mut losses = Losses::default();
        for _ in 0..times {
            let progress = Progress { delivered: (segments - 1) * 1000, lost: 1000, ..Progress::default() };
            losses.on_progress(&progress, SEGMENT);
        }
        losses
    }

    #[test]
    fn at_a_loss_of_one_percent_half_the_window_of_twelve_segments_may_be_needed() {
        let losses = losing_one_in(100, 50);
        assert!(losses.allow_twice(6000.0, SEGMENT));
        assert!(!losses.allow_twice(6500.0, SEGMENT));
    }

    #[test]
    fn at_a_loss_of_two_percent_no_window_is_large_enough() {
        assert!(!losing_one_in(50, 50).allow_twice(1.0, SEGMENT));
    }

    #[test]
    fn few_losses_prove_nothing() {
        assert!(!losing_one_in(100, 31).allow_twice(1.0, SEGMENT));
        assert!(losing_one_in(100, 32).allow_twice(1.0, SEGMENT));
    }

    #[test]
    fn old_losses_are_forgotten() {
        let mut losses = losing_one_in(10, 400);
        for _ in 0..100 {
            losses.on_progress(&Progress { delivered: 1_000_000, ..Progress::default() }, SEGMENT);
        }
        assert!(!losses.allow_twice(1.0, SEGMENT), "too few to tell");
    }
}
