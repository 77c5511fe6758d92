//! Frames that carry no packet.

use super::frame::{Receiver, StationId};
use super::phy::Rate;

/// A management frame that a station is to transmit (IEEE 802.11-2020, 9.3.3). The caller chooses the key; the
/// MAC does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagementFrame {
    /// The receiver.
    pub to: Receiver,
    /// The caller's identifier of the frame.
    pub key: u32,
    /// Length of the whole MPDU in octets, with MAC header and FCS.
    pub octets: u32,
    /// Its rate, one of the cell's standard; `None` for the lowest basic rate.
    pub rate: Option<Rate>,
}

/// A frame that a station itself makes. It carries no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnFrame {
    /// A beacon of power save.
    Beacon,
    PsPoll {
        to: StationId,
    },
    /// A management frame of the caller.
    Management {
        to: Receiver,
    },
}

impl OwnFrame {
    pub(crate) const fn receiver(self) -> Receiver {
        match self {
            Self::Beacon => Receiver::Broadcast,
            Self::PsPoll { to } => Receiver::Station(to),
            Self::Management { to } => to,
        }
    }

    /// Whether power save has made it.
    pub(crate) const fn is_of_power_save(self) -> bool {
        matches!(self, Self::Beacon | Self::PsPoll { .. })
    }
}
