//! Loss recovery: which segments are lost, and which are retransmitted. Each variant has its own
//! file and does not depend on the others.

mod f_rto;
mod loss_detection;
mod loss_recovery;
mod newreno;
mod proportional_reduction;
mod rack;
mod reno;
mod reordering_window;
mod sack;
mod scoreboard;
mod tahoe;
mod tail_loss_probe;
mod undo;

pub use loss_recovery::{
    AfterAck, AfterDeadline, AfterDuplicate, AfterTimeout, Chance, DUPLICATE_ACK_THRESHOLD, LossRecovery,
    Missing, Next, Report, Sender,
};
pub use newreno::NewReno;
pub use rack::{Rack, RackConfig};
pub use reno::FastRecovery;
pub use sack::Sack;
pub use scoreboard::Scoreboard;
pub use tahoe::Tahoe;

/// The loss recovery algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// [`Tahoe`]: no recovery; all data from the lost segment on is sent again in slow start.
    Tahoe,
    /// [`FastRecovery`]: ends with the first ACK of new data.
    #[default]
    Reno,
    /// [`NewReno`]: lasts until all data that was in flight is acknowledged.
    NewReno,
    /// [`Sack`]: uses the receiver's SACK blocks. If the peers did not negotiate SACK, [`NewReno`]
    /// takes its place.
    Sack,
    /// [`Rack`]: uses the times of transmission. If the peers did not negotiate SACK, [`NewReno`]
    /// takes its place.
    Rack(RackConfig),
}

impl Recovery {
    /// All of them, RACK with all its options.
    pub const ALL: [Self; 5] =
        [Self::Tahoe, Self::Reno, Self::NewReno, Self::Sack, Self::Rack(RackConfig::ALL)];

    /// Whether it needs the receiver's SACK blocks.
    pub const fn goes_by_reports(self) -> bool {
        matches!(self, Self::Sack | Self::Rack(_))
    }

    /// Creates the algorithm for a new connection; `receiver_reports` if the receiver sends SACK
    /// blocks (RFC 2018).
    pub fn begin(self, receiver_reports: bool) -> Box<dyn LossRecovery> {
        match self {
            Self::Tahoe => Box::new(Tahoe::default()),
            Self::Reno => Box::new(FastRecovery::default()),
            Self::Sack if receiver_reports => Box::new(Sack::default()),
            Self::Rack(config) if receiver_reports => Box::new(Rack::new(config)),
            Self::NewReno | Self::Sack => Box::new(NewReno::default()),
            Self::Rack(config) => Box::new(NewReno::with_undo(config.undo)),
        }
    }
}
