//! The states and their gains (draft-ietf-ccwg-bbr, section 5.6.1).

/// A multiple, in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

impl Gain {
    pub(super) const UNIT: Self = Self(100);
    /// Gain of the window in most states (`BBR.DefaultCwndGain`).
    pub(super) const WINDOW: Self = Self(200);
    /// Gain of the window in [`State::ProbeRtt`] (`BBR.ProbeRTTCwndGain`).
    pub(super) const HALF: Self = Self(50);

    #[inline]
    pub(super) const fn of(self, value: u64) -> u64 {
        value.saturating_mul(self.0) / 100
    }
}

/// `BBR.state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles the rate each round trip.
    #[default]
    Startup,
    /// Drains the queue of [`Self::Startup`].
    Drain,
    /// Drains the queue of [`Self::Up`], and leaves room for other flows.
    Down,
    /// Stays within the limits of the path.
    Cruise,
    /// Fills the pipe, before [`Self::Up`] fills the queue.
    Refill,
    /// Probes for more bandwidth.
    Up,
    /// Keeps little in the network, to measure the round-trip time.
    ProbeRtt,
}

impl State {
    /// `BBR.pacing_gain`.
    pub(super) const fn pacing_gain(self) -> Gain {
        match self {
            Self::Startup => Gain(277),
            Self::Drain => Gain(50),
            Self::Down => Gain(90),
            Self::Cruise | Self::Refill | Self::ProbeRtt => Gain::UNIT,
            Self::Up => Gain(125),
        }
    }

    /// `BBR.cwnd_gain`.
    pub(super) const fn cwnd_gain(self) -> Gain {
        match self {
            Self::Up => Gain(225),
            Self::ProbeRtt => Gain::HALF,
            _ => Gain::WINDOW,
        }
    }

    /// `IsInAProbeBWState ()`.
    pub(super) const fn is_probing_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW ()`: it may exceed the limits of the path.
    pub(super) const fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}
