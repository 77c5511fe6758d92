//! Frames: their receivers, kinds and sizes (IEEE 802.11-2020, 9.3).

use lasthop_link::Length;
use lasthop_packet::Instant;

/// Octets of an ACK frame, FCS included (9.3.1).
pub const ACK_OCTETS: u32 = 14;
/// Octets of a CTS frame, FCS included (9.3.1).
pub const CTS_OCTETS: u32 = 14;
/// Octets of an RTS frame, FCS included (9.3.1).
pub const RTS_OCTETS: u32 = 20;
/// Octets of a CF-End frame, FCS included (9.3.1.6).
pub const CF_END_OCTETS: u32 = 20;
/// Octets of a PS-Poll frame, FCS included (9.3.1.5).
pub const PS_POLL_OCTETS: u32 = 20;

/// Octets of a block ack request for one traffic identifier, FCS included (9.3.1.7).
pub const BLOCK_ACK_REQUEST_OCTETS: u32 = 24;

/// Octets of the header before an MSDU in an A-MSDU: addresses and length (9.3.2.2).
pub const SUBFRAME_OCTETS: u32 = 14;

/// Octets of the delimiter before an MPDU in an A-MPDU (9.7.1).
pub const DELIMITER_OCTETS: u32 = 4;

/// Octets of a compressed block ack under an agreement with this window, FCS included (9.3.1.8): its bitmap has 8 or 32.
pub const fn block_ack_octets(window: u16) -> u32 {
    if window <= 64 { 32 } else { 56 }
}

/// Octets that a data frame adds to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataOverhead {
    /// MAC header: 24 octets with three addresses, 26 with a `QoS` Control field (9.3.2.1).
    pub header: u32,
    /// LLC and SNAP headers: 8 octets (IEEE 802.2, RFC 1042).
    pub llc: u32,
    /// Frame check sequence: 4 octets.
    pub fcs: u32,
}

impl DataOverhead {
    /// The standard's values: 36 octets together.
    pub const STANDARD: Self = Self { header: 24, llc: 8, fcs: 4 };

    /// Those of a `QoS` data frame: 38 octets together (9.2.4.5).
    pub const QOS: Self = Self { header: 26, ..Self::STANDARD };

    /// The sum, in octets.
    pub const fn octets(self) -> u32 {
        self.header + self.llc + self.fcs
    }
}

/// The identifier of a station within its cell.
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

/// The receiver of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// One station, which acknowledges the frame.
    Station(StationId),
    /// All stations in range, without acknowledgment.
    Broadcast,
}

impl Receiver {
    /// The station; `None` for a broadcast.
    #[inline]
    pub(crate) const fn station(self) -> Option<u32> {
        match self {
            Self::Station(to) => Some(to.0),
            Self::Broadcast => None,
        }
    }
}

/// A packet that the MAC is to transmit. The caller chooses the key; the MAC does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacFrame {
    /// The receiver: in an infrastructure network, the access point for a station's frames, and a
    /// station for the access point's.
    pub to: Receiver,
    /// The caller's identifier of the packet.
    pub key: u32,
    /// Length of the packet, in octets.
    pub octets: u32,
}

/// A frame in a queue.
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

/// The kind of a frame on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rts,
    Cts,
    CtsToSelf,
    /// The frame that the exchange serves: data, a beacon, a PS-Poll, or a block ack request.
    Data,
    /// An ACK or a block ack.
    Ack,
}

impl Kind {
    pub(crate) const fn is_control(self) -> bool {
        !matches!(self, Self::Data)
    }

    /// Whether it is a response, which the addressee of the exchange sends.
    pub(crate) const fn is_of_responder(self) -> bool {
        matches!(self, Self::Cts | Self::Ack)
    }
}
