//! Whether the pipe is full: sending faster no longer brings more (draft-ietf-ccwg-bbr, section
//! 5.3.1.2).

/// Round trips without growth that are enough.
const ROUNDS: u32 = 3;

/// Looks for a plateau of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// It is full since the last [`Self::reset_to`] (`BBR.full_bw_now`).
    pub(super) is_full: bool,
    /// It was full at some time (`BBR.full_bw_reached`).
    pub(super) was_reached: bool,
    /// The bandwidth that is compared with (`BBR.full_bw`).
    baseline: u64,
    /// Round trips without growth (`BBR.full_bw_count`).
    count: u32,
}

impl FullPipe {
    /// A round trip is over that the application did not limit.
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

    /// Starts again, and looks for growth above this bandwidth.
    pub(super) const fn reset_to(&mut self, baseline: u64) {
        (self.baseline, self.count, self.is_full) = (baseline, 0, false);
    }

    /// It counts as full for another reason.
    pub(super) const fn end(&mut self) {
        (self.is_full, self.was_reached) = (true, true);
    }

    /// Any bandwidth of the next round trip counts as growth.
    pub(super) const fn forget_baseline(&mut self) {
        self.baseline = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more_are_enough() {
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
