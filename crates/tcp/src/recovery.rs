//! What is lost, and what goes again. A file a flavour; none knows another.

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

/// The loss recoveries that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// [`Tahoe`]: none; from the loss on, everything goes again in slow start.
    Tahoe,
    /// [`FastRecovery`]: over with the first ACK of new data.
    #[default]
    Reno,
    /// [`NewReno`]: goes on until all is acknowledged that was in flight.
    NewReno,
    /// [`Sack`]: goes by what the receiver reports. Where the peers did not agree on SACK,
    /// [`NewReno`] does its work.
    Sack,
    /// [`Rack`]: goes by time. Where the peers did not agree on SACK, [`NewReno`] does its work.
    Rack(RackConfig),
}

impl Recovery {
    /// All of them, RACK with everything that belongs to it.
    pub const ALL: [Self; 5] =
        [Self::Tahoe, Self::Reno, Self::NewReno, Self::Sack, Self::Rack(RackConfig::ALL)];

    /// Whether it goes by what the receiver reports.
    pub const fn goes_by_reports(self) -> bool {
        matches!(self, Self::Sack | Self::Rack(_))
    }

    /// One for a new connection, whose receiver reports what it has (RFC 2018) or not.
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
