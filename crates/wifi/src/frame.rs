//! Frames, whom they are for, and their sizes (IEEE 802.11-2012, clause 8.3).

use lasthop_link::Length;
use lasthop_packet::Instant;

/// Octets of an ACK frame, FCS included (8.3.1.4).
pub const ACK_OCTETS: u32 = 14;
/// Octets of a CTS frame, FCS included (8.3.1.3).
pub const CTS_OCTETS: u32 = 14;
/// Octets of an RTS frame, FCS included (8.3.1.2).
pub const RTS_OCTETS: u32 = 20;
/// Octets of a PS-Poll frame, FCS included (8.3.1.5).
pub const PS_POLL_OCTETS: u32 = 20;

/// Octets around a packet in a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataOverhead {
    /// MAC header: 24 octets, three addresses (8.3.2).
    pub header: u32,
    /// LLC and SNAP headers: 8 octets (IEEE 802.2, RFC 1042).
    pub llc: u32,
    /// Frame check sequence: 4 octets.
    pub fcs: u32,
}

impl DataOverhead {
    /// The standard's: 36 octets.
    pub const STANDARD: Self = Self { header: 24, llc: 8, fcs: 4 };

    /// All of it.
    pub const fn octets(self) -> u32 {
        self.header + self.llc + self.fcs
    }
}

/// A station of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub(crate) u32);

impl StationId {
    /// The station with this index in the order of addition, from 0.
    pub const fn from_index(index: usize) -> Self {
        Self(index as u32)
    }

    /// The index in the order of addition, from 0.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whom a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// One station, which acknowledges it.
    Station(StationId),
    /// Everybody in range, without acknowledgment.
    Broadcast,
}

impl Receiver {
    /// The station; `None` for everybody.
    #[inline]
    pub(crate) const fn station(self) -> Option<u32> {
        match self {
            Self::Station(to) => Some(to.0),
            Self::Broadcast => None,
        }
    }
}

/// A packet for the radio. The key is the caller's and means nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacFrame {
    /// Whom it is for: in an infrastructure network the access point, or, from there, a station.
    pub to: Receiver,
    /// The caller's name for it.
    pub key: u32,
    /// Octets of the packet.
    pub octets: u32,
}

/// A frame that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: MacFrame,
    pub(crate) arrived: Instant,
}

impl Length for Queued {
    fn octets(&self) -> u32 {
        self.frame.octets
    }
}

/// A frame that a station's MAC makes itself. It has no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnFrame {
    Beacon,
    PsPoll { to: StationId },
}

impl OwnFrame {
    pub(crate) const fn receiver(self) -> Receiver {
        match self {
            Self::Beacon => Receiver::Broadcast,
            Self::PsPoll { to } => Receiver::Station(to),
        }
    }
}

/// What a frame in the air is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rts,
    Cts,
    CtsToSelf,
    /// What the exchange is for: data, a beacon, a PS-Poll.
    Data,
    Ack,
}

impl Kind {
    pub(crate) const fn is_control(self) -> bool {
        !matches!(self, Self::Data)
    }

    /// Whether the addressee of the exchange sends it.
    pub(crate) const fn is_of_responder(self) -> bool {
        matches!(self, Self::Cts | Self::Ack)
    }
}
