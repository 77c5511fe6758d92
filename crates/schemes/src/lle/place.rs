//! The location of an ARQ agent, and its consequences.

use std::net::IpAddr;

use lasthop_agent::{Context, LinkSenses};
use lasthop_packet::{Packet, TcpFlags};

use crate::scheme::Role;

/// The location of an ARQ agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a node between hosts, or at a host whose hop may lead to other hosts.
    Node(Role),
    /// At an end of a hop whose two ends are the ends of every connection on it: a host, or a split
    /// in its place. Its output is for the other end, and its input is for itself.
    EndOfHop,
    /// The same without fate reports by the link layer: ACKs are suppressed here, and none are
    /// generated.
    SilentEnd,
}

impl Place {
    /// Whether data to a host is acknowledged here: one hop before it. Downstream of an access
    /// point every host is assumed to be one hop away if the world does not know the neighbor.
    pub(super) fn confirms_to(self, host: IpAddr, cx: &Context<'_>) -> bool {
        match self {
            Self::EndOfHop => true,
            Self::SilentEnd => false,
            Self::Node(role) => cx.neighbor().map_or(role == Role::Edge, |neighbor| neighbor == host),
        }
    }

    /// Whether packets from the core side are an end's own: then its ACKs are suppressed.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::EndOfHop | Self::SilentEnd | Self::Node(Role::MobileHost))
    }

    /// Whether a delivery of this segment may be acknowledged here. If connections are split, their
    /// ends open and close them with each other: the other end of the hop cannot answer a SYN or a
    /// FIN.
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
