//! Detection of a full pipe: a higher sending rate no longer increases the delivery rate
//! (draft-ietf-ccwg-bbr, section 5.3.1.2).

/// Round trips without growth after which the pipe is full.
const ROUNDS: u32 = 3;

/// Detects a plateau of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The pipe has become full since the last [`Self::reset_to`] (`BBR.full_bw_now`).
    is_full: bool,
    /// The pipe was full at some time (`BBR.full_bw_reached`).
    was_reached: bool,
    /// The bandwidth to compare with (`BBR.full_bw`).
    baseline: u64,
    /// Round trips without growth (`BBR.full_bw_count`).
    count: u32,
}

impl FullPipe {
    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) const fn was_reached(&self) -> bool {
        self.was_reached
    }

    /// A round trip has ended in which the application did not limit the sender.
    ///
    //= draft-ietf-ccwg-bbr, section 5.3.1.2: growth is a quarter more.
    pub(super) const fn on_round(&mut self, bandwidth: u64) {
        if self.is_full {
            return;
        }
        if bandwidth >= self.baseline.saturating_mul(5) / 4 {
            self.reset_to(bandwidth);
            return;
        }
        self.count += 1;
        if self.count >= ROUNDS {
            (self.is_full, self.was_reached) = (true, true);
        }
    }

    /// Restarts the detection of growth above this bandwidth.
    pub(super) const fn reset_to(&mut self, baseline: u64) {
        (self.baseline, self.count, self.is_full) = (baseline, 0, false);
    }

    /// Declares the pipe full for another reason.
    pub(super) const fn end(&mut self) {
        (self.is_full, self.was_reached) = (true, true);
    }

    /// Counts any bandwidth of the next round trip as growth.
    pub(super) const fn clear_baseline(&mut self) {
        self.baseline = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_growth_by_a_quarter() {
        let mut pipe = FullPipe::default();
        for bandwidth in [100, 125, 157, 190, 190] {
            pipe.on_round(bandwidth);
            assert!(!pipe.is_full);
        }
        pipe.on_round(195);
        assert!(pipe.is_full && pipe.was_reached);
        pipe.reset_to(0);
        assert!(!pipe.is_full && pipe.was_reached);
    }
}
