//! Connections of the table, as values.

use std::net::SocketAddrV4;
use std::time::Duration;

/// What packets in one direction of a connection have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    /// The protocol.
    pub protocol: Protocol,
    /// Where they come from.
    pub source: SocketAddrV4,
    /// Where they go.
    pub destination: SocketAddrV4,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A connection of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Packets as the end that opened the connection sends them.
    pub original: Tuple,
    /// Packets as the other end sends them. Without translation it is the reverse of `original`.
    pub reply: Tuple,
    /// Which bits of its state are set.
    pub status: Status,
    /// How long it stays without a packet.
    pub timeout: Duration,
    /// The mark (`ct mark`), which rules set.
    pub mark: u32,
    /// TCP's state; `None` for UDP.
    pub tcp: Option<TcpState>,
}

/// What is known of a connection (`enum ip_conntrack_status`), as far as it holds on another machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Packets came from both ends.
    pub is_answered: bool,
    /// It is not removed early when the table is full.
    pub is_assured: bool,
}

/// What the kernel knows of a TCP connection. It does not tell sequence numbers and windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpState {
    /// The state (`enum tcp_conntrack`): 1 to 9.
    pub state: u8,
    /// The end that opened the connection, and the other one.
    pub ends: [TcpEnd; 2],
}

/// What the kernel knows of an end of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpEnd {
    /// The shift of its windows (RFC 7323): at most 14.
    pub window_scale: u8,
    /// Flags (`IP_CT_TCP_FLAG_...`) that hold as long as the connection: [`TcpEnd::LASTING`].
    pub flags: u8,
}

impl TcpState {
    /// The highest state.
    pub const MAX: u8 = 9;
}

impl TcpEnd {
    /// The flags that hold as long as the connection: it shifts its windows, it permits SACK, and it has sent the
    /// first FIN. Others depend on sequence numbers.
    pub const LASTING: u8 = 0x01 | 0x02 | 0x04;
    /// The largest shift.
    pub const MAX_SCALE: u8 = 14;
}

impl Tuple {
    /// Packets in the other direction, if no address is translated.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { protocol: self.protocol, source: self.destination, destination: self.source }
    }
}

impl Entry {
    /// The outside end of a connection whose source is translated, and nothing else.
    pub fn outside(&self) -> Option<SocketAddrV4> {
        let reverse = self.original.reversed();
        let is_translated = self.reply.destination != reverse.destination;
        (is_translated && self.reply.source == reverse.source && self.reply.protocol == reverse.protocol)
            .then_some(self.reply.destination)
    }
}
