//! Where an ARQ agent sits, and what follows from that.

use std::net::IpAddr;

use lasthop_agent::{Context, LinkSenses};
use lasthop_packet::{Packet, TcpFlags};

use crate::scheme::Role;

/// Where an ARQ agent sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a node between hosts, or at a host that other hosts may be behind the hop of.
    Node(Role),
    /// At an end of a hop whose two ends are the ends of every connection on it: a host, or a split
    /// in place of one. What it sends is for the other end, and what arrives is for it.
    EndOfHop,
    /// The same where the link layer tells no fates: ACKs are kept back here, and none are made.
    SilentEnd,
}

impl Place {
    /// Whether data to a host is acknowledged here: one hop before it. Behind an access point every
    /// host is one hop away, where the world does not know the neighbour.
    pub(super) fn confirms_to(self, host: IpAddr, cx: &Context<'_>) -> bool {
        match self {
            Self::EndOfHop => true,
            Self::SilentEnd => false,
            Self::Node(role) => cx.neighbour().map_or(role == Role::Edge, |neighbour| neighbour == host),
        }
    }

    /// Whether what comes from the core side is an end's own: then its ACKs are kept back.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::EndOfHop | Self::SilentEnd | Self::Node(Role::MobileHost))
    }

    /// Whether a delivery of this segment may be acknowledged here. Where connections are split, their
    /// ends open and close them with each other: the other end of the hop cannot answer a SYN or a FIN.
    pub(super) fn confirms(self, packet: &Packet) -> bool {
        let opens_or_closes =
            packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::FIN));
        matches!(self, Self::Node(_)) || !opens_or_closes
    }

    pub(super) const fn needs(self) -> LinkSenses {
        match self {
            Self::Node(_) | Self::EndOfHop => LinkSenses::FRAME_FATE,
            Self::SilentEnd => LinkSenses::empty(),
        }
    }
}
