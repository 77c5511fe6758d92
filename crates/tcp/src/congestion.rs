//! Congestion control: how cwnd grows and shrinks. Each variant has its own file and does not
//! depend on the others.

mod abc;
mod bbr;
mod control;
mod cubic;
mod cubic_linux;
mod external;
mod hystart;
mod hystart_plus_plus;
mod pacing;
mod reno;
mod vegas;
mod westwood;

pub use abc::RenoAbc;
pub use bbr::{Bbr, Bbr3};
pub use control::{AckSample, CongestionControl, PathModel, PathSample, Reduction, SentSegment, Stage};
pub use cubic::Cubic;
pub use cubic_linux::CubicLinux;
pub use external::External;
pub use hystart::Hystart;
pub use hystart_plus_plus::HystartPlusPlus;
pub use pacing::Pacing;
pub use reno::Reno;
pub use vegas::Vegas;
pub use westwood::Westwood;

/// The congestion control algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// [`Reno`]: counts ACKs.
    #[default]
    Reno,
    /// [`RenoAbc`]: counts octets.
    RenoAbc,
    /// [`Vegas`]: adapts to the round-trip time.
    Vegas,
    /// [`Westwood`]: sets the window from the measured bandwidth after a loss.
    Westwood,
    /// [`Cubic`]: a cubic function of the time since the last loss.
    Cubic,
    /// [`CubicLinux`]: CUBIC as implemented in Linux.
    CubicLinux,
    /// [`Bbr`]: adapts to the bandwidth and the minimum round-trip time, not to losses (version 1,
    /// as implemented in Linux). Intended for [`Recovery::Rack`](crate::Recovery::Rack).
    Bbr,
    /// [`Bbr3`]: adapts to losses as well (version 3, draft-ietf-ccwg-bbr). Intended for
    /// [`Recovery::Rack`](crate::Recovery::Rack).
    Bbr3,
    /// [`External`]: the owner of the connection sets the window. Intended for
    /// [`Recovery::Rack`](crate::Recovery::Rack).
    External,
}

impl Congestion {
    /// All algorithms that set the window themselves.
    pub const ALL: [Self; 8] = [
        Self::Reno,
        Self::RenoAbc,
        Self::Vegas,
        Self::Westwood,
        Self::Cubic,
        Self::CubicLinux,
        Self::Bbr,
        Self::Bbr3,
    ];

    /// The Linux implementation of this algorithm: Reno with byte counting, and Linux's CUBIC.
    #[must_use]
    pub const fn as_in_linux(self) -> Self {
        match self {
            Self::Reno => Self::RenoAbc,
            Self::Cubic => Self::CubicLinux,
            other => other,
        }
    }

    /// The end of slow start in Linux: `HyStart` is part of its CUBIC.
    pub const fn slow_start_in_linux(self) -> SlowStart {
        match self {
            Self::Cubic | Self::CubicLinux => SlowStart::Hystart,
            _ => SlowStart::Standard,
        }
    }

    /// Whether it uses a model of the path ([`PathModel`]) and is intended for
    /// [`Recovery::Rack`](crate::Recovery::Rack).
    pub const fn goes_by_model(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr3 | Self::External)
    }

    /// Whether slow start opens the window by the acknowledged octets, up to a limit for each ACK.
    pub const fn counts_octets(self) -> bool {
        matches!(self, Self::RenoAbc | Self::Cubic)
    }

    /// Creates the algorithm for a new connection. If it counts octets, an ACK in slow start opens
    /// the window by at most `slow_start_limit` segments (L of RFC 3465); None: the RFC's limit.
    pub fn begin(self, slow_start_limit: Option<u32>) -> Box<dyn CongestionControl> {
        match self {
            Self::Reno => Box::new(Reno),
            Self::RenoAbc => Box::new(RenoAbc::new(slow_start_limit)),
            Self::Vegas => Box::new(Vegas::default()),
            Self::Westwood => Box::new(Westwood::default()),
            Self::CubicLinux => Box::new(CubicLinux::new(slow_start_limit)),
            Self::Cubic => Box::new(Cubic::new(slow_start_limit)),
            Self::Bbr => Box::<Bbr>::default(),
            Self::Bbr3 => Box::<Bbr3>::default(),
            Self::External => Box::new(External),
        }
    }
}

/// The rule that ends the first slow start if no loss does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// At ssthresh.
    #[default]
    Standard,
    /// [`Hystart`]: when the ACK train of a round is long, or round-trip times grow.
    Hystart,
    /// [`HystartPlusPlus`]: when round-trip times grow.
    HystartPlusPlus,
}

impl SlowStart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Hystart, Self::HystartPlusPlus];

    /// Wraps a congestion control with this rule; one that uses a model of the path has its own
    /// rule, and is returned unchanged.
    pub fn before(self, control: Box<dyn CongestionControl>) -> Box<dyn CongestionControl> {
        if control.rules_recovery() {
            return control;
        }
        match self {
            Self::Standard => control,
            Self::Hystart => Box::new(Hystart::new(control)),
            Self::HystartPlusPlus => Box::new(HystartPlusPlus::new(control)),
        }
    }
}
