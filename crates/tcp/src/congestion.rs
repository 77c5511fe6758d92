//! How cwnd grows and shrinks. A file a flavour; none knows another.

mod abc;
mod control;
mod cubic;
mod hystart;
mod reno;
mod vegas;
mod westwood;

pub use abc::RenoAbc;
pub use control::{AckSample, CongestionControl, Reduction, SentSegment};
pub use cubic::Cubic;
pub use hystart::HystartPlusPlus;
pub use reno::Reno;
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
}

impl Congestion {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Reno, Self::RenoAbc, Self::Vegas, Self::Westwood, Self::Cubic];

    /// One for a new connection.
    pub fn begin(self) -> Box<dyn CongestionControl> {
        match self {
            Self::Reno => Box::new(Reno),
            Self::RenoAbc => Box::new(RenoAbc::default()),
            Self::Vegas => Box::new(Vegas::default()),
            Self::Westwood => Box::new(Westwood::default()),
            Self::Cubic => Box::new(Cubic::default()),
        }
    }
}

/// How the first slow start ends, if no loss ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// At ssthresh.
    #[default]
    Standard,
    /// [`HystartPlusPlus`]: when round-trip times grow.
    HystartPlusPlus,
}

impl SlowStart {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Standard, Self::HystartPlusPlus];

    /// This slow start in front of a congestion control.
    pub fn before(self, control: Box<dyn CongestionControl>) -> Box<dyn CongestionControl> {
        match self {
            Self::Standard => control,
            Self::HystartPlusPlus => Box::new(HystartPlusPlus::new(control)),
        }
    }
}
