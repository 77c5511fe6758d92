//! Frames that carry no packet.

use super::frame::{Receiver, StationId};
use super::rates::Rates;

/// A whole MPDU that a station is to transmit: a management frame of its entity, or any frame of a host that has a
/// MAC of its own above the distributed coordination function. The caller chooses the key; the MAC does not
/// interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame {
    /// The receiver.
    pub to: Receiver,
    /// The caller's identifier of the frame.
    pub key: u32,
    /// Length of the whole MPDU in octets, with MAC header and FCS.
    pub octets: u32,
    /// The rates of its transmissions.
    pub rates: Rates,
}

/// A frame that a station itself makes. It carries no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnFrame {
    /// A beacon of power save.
    Beacon,
    PsPoll {
        to: StationId,
    },
    /// A block ack request: the sender has given up packets to this station.
    BlockAckRequest {
        to: StationId,
    },
    /// The end of a TXOP before its time.
    CfEnd,
    /// A frame of the caller.
    Raw {
        to: Receiver,
    },
}

impl OwnFrame {
    pub(crate) const fn receiver(self) -> Receiver {
        match self {
            Self::Beacon | Self::CfEnd => Receiver::Broadcast,
            Self::PsPoll { to } | Self::BlockAckRequest { to } => Receiver::Station(to),
            Self::Raw { to } => to,
        }
    }

    /// Whether the MAC has made it, not the caller.
    pub(crate) const fn is_of_mac(self) -> bool {
        !matches!(self, Self::Raw { .. })
    }

    /// Whether it is a control frame.
    pub(crate) const fn is_control(self) -> bool {
        matches!(self, Self::PsPoll { .. } | Self::BlockAckRequest { .. } | Self::CfEnd)
    }
}
