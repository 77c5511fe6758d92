//! What is lost, and what goes again. A file a flavour; none knows another.

mod loss_recovery;
mod newreno;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;

pub use loss_recovery::{
    AfterAck, AfterDuplicate, Chance, DUPLICATE_ACK_THRESHOLD, LossRecovery, Missing, Next, Report,
};
pub use newreno::NewReno;
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
}

impl Recovery {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tahoe, Self::Reno, Self::NewReno, Self::Sack];

    /// One for a new connection, whose receiver reports what it has (RFC 2018) or not.
    pub fn begin(self, receiver_reports: bool) -> Box<dyn LossRecovery> {
        match self {
            Self::Tahoe => Box::new(Tahoe::default()),
            Self::Reno => Box::new(FastRecovery::default()),
            Self::Sack if receiver_reports => Box::new(Sack::default()),
            Self::NewReno | Self::Sack => Box::new(NewReno::default()),
        }
    }
}
