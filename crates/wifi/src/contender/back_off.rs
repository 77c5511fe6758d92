//! The backoff procedure (IEEE 802.11-2020, 10.3.3 and 10.3.4.3).

use lasthop_packet::Rng;

/// The stage of a contender's backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// There is no backoff, and nothing to send.
    None,
    /// The backoff counts down with the domain. The contender transmits when the domain's slot
    /// counter reaches this value.
    Counting(u64),
    /// The backoff counts down with the domain, with nothing to send (post-backoff). Its end causes
    /// no event.
    Post(u64),
    /// The backoff counts down apart from the domain in this idle period.
    Apart,
    /// The backoff is over. The contender transmits at a set time and does not sense what has begun
    /// since.
    Committed,
    /// The contender transmits or waits for a response.
    Exchanging,
}

/// A contender's backoff and contention window (CW).
#[derive(Debug)]
pub(crate) struct BackOff {
    stage: Stage,
    /// The contender's entries in the contention queue with another stamp are stale.
    stamp: u32,
    cw: u32,
    /// `aCWmin` and `aCWmax`, in slots.
    bounds: (u32, u32),
    rng: Rng,
}

impl BackOff {
    pub(super) const fn new(bounds: (u32, u32), rng: Rng) -> Self {
        Self { stage: Stage::None, stamp: 0, cw: bounds.0, bounds, rng }
    }

    #[inline]
    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    #[inline]
    pub(crate) const fn set(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Whether an exchange is under way or certain to begin.
    pub(crate) const fn is_transmitting(&self) -> bool {
        matches!(self.stage, Stage::Committed | Stage::Exchanging)
    }

    #[inline]
    pub(crate) const fn stamp(&self) -> u32 {
        self.stamp
    }

    /// Makes the contender's entries in the contention queue stale.
    #[inline]
    pub(crate) const fn invalidate(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
    }

    /// The last frame was withdrawn: a countdown goes on as post-backoff.
    pub(super) fn stop_counting(&mut self) {
        if let Stage::Counting(end) = self.stage {
            self.invalidate();
            self.stage = Stage::Post(end);
        }
    }

    /// A backoff, in slots from 0 to CW.
    //= IEEE 802.11-2020, 10.3.3: uniformly distributed over the closed interval from 0 to CW.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        self.rng.below(u64::from(self.cw) + 1)
    }

    /// Sets CW to `aCWmin`: an exchange succeeded, or its frame was given up.
    #[inline]
    pub(crate) const fn reset_window(&mut self) {
        self.cw = self.bounds.0;
    }

    /// Sets CW to the next value of the series, up to `aCWmax`: an exchange failed and will be
    /// repeated.
    pub(crate) fn double_window(&mut self) {
        self.cw = self.cw.saturating_mul(2).saturating_add(1).min(self.bounds.1);
    }
}
