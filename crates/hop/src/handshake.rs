//! What SYNs carry about the connection that they open: its initial sequence numbers and its window
//! scales. Only an observer of the handshake knows the scales (RFC 7323, section 2).

use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

/// Whether a segment is a SYN or SYN-ACK. A segment that would also end the connection is neither:
/// no host opens a connection for it (RFC 9293, section 3.10.7).
pub const fn is_syn(tcp: &Tcp) -> bool {
    tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::RST) && !tcp.flags.has(TcpFlags::FIN)
}

/// The initial sequence number in a segment that opens a connection: a SYN without ACK. A
/// retransmission has the same number, a SYN of another connection on the same ports does not.
pub fn opening(packet: &Packet) -> Option<Seq> {
    packet.tcp().filter(|tcp| is_syn(tcp) && !tcp.flags.has(TcpFlags::ACK)).map(|tcp| tcp.seq)
}

/// Whether a segment is a SYN-ACK that answers the SYN with this initial sequence number. A SYN-ACK
/// that acknowledges another number does not belong to the observed handshake (RFC 9293, section
/// 3.10.7.3).
pub fn answers(packet: &Packet, opened_by: Option<Seq>) -> bool {
    is_syn_ack(packet) && packet.tcp().zip(opened_by).is_some_and(|(tcp, seq)| tcp.ack == seq + 1)
}

/// Whether a segment is a SYN-ACK.
pub fn is_syn_ack(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN) && tcp.flags.has(TcpFlags::ACK))
}

/// Whether a SYN permits SACK blocks (RFC 2018, section 2).
pub fn permits_sack(syn: &Packet) -> bool {
    syn.tcp().is_some_and(|tcp| tcp.options.sack_permitted)
}

/// The window scale in one side's SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// No SYN has come yet.
    #[default]
    Unknown,
    /// The SYN has no window scale option: windows are not scaled.
    None,
    /// Windows count units of two to this power, at most 14.
    Shift(u8),
}

impl Scale {
    fn from_syn(syn: &Packet) -> Self {
        match syn.tcp().and_then(|tcp| tcp.options.window_scale) {
            //= RFC 7323, section 2.3: more than 14 counts for 14
            Some(shift) => Self::Shift(shift.min(14)),
            None => Self::None,
        }
    }

    /// Records the scale in a SYN of this side, where `other` is the scale in the other side's SYN.
    /// Only SYNs of the handshake that the SYN with the number `opened_by` began count, and only
    /// until it was answered: later copies and forgeries change nothing. Returns whether the SYN
    /// counts.
    pub fn record(&mut self, syn: &Packet, other: Self, opened_by: Option<Seq>) -> bool {
        let is_of_handshake = match opening(syn) {
            Some(seq) => opened_by == Some(seq),
            None => answers(syn, opened_by),
        };
        let counts = is_of_handshake && (*self == Self::Unknown || other == Self::Unknown);
        if counts {
            *self = Self::from_syn(syn);
        }
        counts
    }

    /// The same, with the values of an imported scale brought into range.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Shift(shift) => Self::Shift(shift.min(14)),
            other => other,
        }
    }

    /// The shift of this side's windows: zero unless both sides offer scaling; `None` before both
    /// SYNs have come.
    pub const fn with(self, other: Self) -> Option<u8> {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => None,
            (Self::Shift(shift), Self::Shift(_)) => Some(shift),
            _ => Some(0),
        }
    }
}
