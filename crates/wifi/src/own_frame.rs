//! Frames that carry no packet.

use super::frame::{Receiver, StationId};

/// A frame that a station makes itself. It carries no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnFrame {
    /// A beacon of power save.
    Beacon,
    PsPoll {
        to: StationId,
    },
}

impl OwnFrame {
    pub(crate) const fn receiver(self) -> Receiver {
        match self {
            Self::Beacon => Receiver::Broadcast,
            Self::PsPoll { to } => Receiver::Station(to),
        }
    }
}
