//! What SYNs say of the connection that they open: its numbers, and how its windows are scaled, which
//! is known only to who has seen the handshake (RFC 7323, section 2).

use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

/// Whether a segment is a SYN, or the answer to one. What would end the connection as well is neither,
/// and no host opens one for it (RFC 9293, section 3.10.7).
pub const fn is_syn(tcp: &Tcp) -> bool {
    tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::RST) && !tcp.flags.has(TcpFlags::FIN)
}

/// The initial sequence number in a segment that opens a connection: a SYN without ACK. A copy of it
/// has the same, and that of another connection on the same ports does not.
pub fn opening(packet: &Packet) -> Option<Seq> {
    packet.tcp().filter(|tcp| is_syn(tcp) && !tcp.flags.has(TcpFlags::ACK)).map(|tcp| tcp.seq)
}

/// Whether a segment is a SYN-ACK that answers the SYN with this initial sequence number. One that
/// acknowledges anything else is of no handshake that was seen (RFC 9293, section 3.10.7.3).
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

/// What a side's SYN said of its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// There was none yet.
    #[default]
    Unknown,
    /// They are not to be scaled.
    None,
    /// They count units of two to this power, at most 14.
    Shift(u8),
}

impl Scale {
    fn of(syn: &Packet) -> Self {
        match syn.tcp().and_then(|tcp| tcp.options.window_scale) {
            //= RFC 7323, section 2.3: more than 14 counts for 14
            Some(shift) => Self::Shift(shift.min(14)),
            None => Self::None,
        }
    }

    /// Takes in what a SYN of this side says, when the other side's SYN said `other`. Only SYNs of the
    /// handshake count that the SYN with the number `opened_by` began, and only until it was answered: what
    /// is repeated or forged later changes nothing. Whether it counts.
    pub fn note(&mut self, syn: &Packet, other: Self, opened_by: Option<Seq>) -> bool {
        let is_of_handshake = match opening(syn) {
            Some(seq) => opened_by == Some(seq),
            None => answers(syn, opened_by),
        };
        let counts = is_of_handshake && (*self == Self::Unknown || other == Self::Unknown);
        if counts {
            *self = Self::of(syn);
        }
        counts
    }

    /// The same where it comes from elsewhere.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            Self::Shift(shift) => Self::Shift(shift.min(14)),
            other => other,
        }
    }

    /// By how much this side's windows are scaled: not at all unless both sides offer it.
    pub const fn with(self, other: Self) -> Option<u8> {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => None,
            (Self::Shift(shift), Self::Shift(_)) => Some(shift),
            _ => Some(0),
        }
    }
}
