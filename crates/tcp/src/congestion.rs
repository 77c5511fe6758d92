//! How cwnd grows and shrinks. A file a flavour; none knows another.

mod abc;
mod bbr;
mod control;
mod cubic;
mod cubic_linux;
mod hystart;
mod hystart_plus_plus;
mod outside;
mod pacing;
mod path_model;
mod reno;
mod sample;
mod vegas;
mod westwood;

pub use abc::RenoAbc;
pub use bbr::{Bbr, Bbr3};
pub use control::{CongestionControl, Reduction};
pub use cubic::Cubic;
pub use cubic_linux::CubicLinux;
pub use hystart::Hystart;
pub use hystart_plus_plus::HystartPlusPlus;
pub use outside::Outside;
pub use pacing::Pacing;
pub use path_model::{PathModel, PathSample, Stage};
pub use reno::Reno;
pub use sample::{AckSample, SentSegment};
pub use vegas::Vegas;
pub use westwood::Westwood;

/// The congestion controls that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// [`Reno`]: counts ACKs.
    #[default]
    Reno,
    /// [`RenoAbc`]: counts octets.
    RenoAbc,
    /// [`Vegas`]: goes by the round-trip time.
    Vegas,
    /// [`Westwood`]: after a loss, the window is what the measured bandwidth needs.
    Westwood,
    /// [`Cubic`]: a cubic function of the time since the last loss.
    Cubic,
    /// [`CubicLinux`]: the same as Linux has it.
    CubicLinux,
    /// [`Bbr`]: goes by the bandwidth and the least round-trip time, not by losses (version 1, as
    /// Linux has it). Made for [`Recovery::Rack`](crate::Recovery::Rack).
    Bbr,
    /// [`Bbr3`]: the same, and heeds losses (version 3, draft-ietf-ccwg-bbr). Made for
    /// [`Recovery::Rack`](crate::Recovery::Rack).
    Bbr3,
    /// [`Outside`]: none of its own; the owner of the connection sets the window. Made for
    /// [`Recovery::Rack`](crate::Recovery::Rack).
    Outside,
}

impl Congestion {
    /// All that stand on their own.
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

    /// What a Linux host has under this name: its Reno counts octets, and its CUBIC is its own.
    #[must_use]
    pub const fn as_in_linux(self) -> Self {
        match self {
            Self::Reno => Self::RenoAbc,
            Self::Cubic => Self::CubicLinux,
            other => other,
        }
    }

    /// How slow start ends in a Linux host: `HyStart` is a part of its CUBIC.
    pub const fn slow_start_in_linux(self) -> SlowStart {
        match self {
            Self::Cubic | Self::CubicLinux => SlowStart::Hystart,
            _ => SlowStart::Standard,
        }
    }

    /// Whether it goes by a model of the path ([`PathModel`]): made for
    /// [`Recovery::Rack`](crate::Recovery::Rack).
    pub const fn goes_by_model(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr3 | Self::Outside)
    }

    /// Whether slow start opens the window by octets acknowledged, so that it has a limit to that.
    pub const fn counts_octets(self) -> bool {
        matches!(self, Self::RenoAbc | Self::Cubic)
    }

    /// One for a new connection. In slow start an ACK opens its window by `slow_start_limit`
    /// segments at most (L of RFC 3465), if it counts octets; None: by as many as its RFC says.
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
            Self::Outside => Box::new(Outside),
        }
    }
}

/// How the first slow start ends, if no loss ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// At ssthresh.
    #[default]
    Standard,
    /// [`Hystart`]: when a round's ACKs come in for long, or round-trip times grow.
    Hystart,
    /// [`HystartPlusPlus`]: when round-trip times grow.
    HystartPlusPlus,
}

impl SlowStart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Hystart, Self::HystartPlusPlus];

    /// This slow start in front of a congestion control; one that goes by a model of the path has
    /// its own.
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
