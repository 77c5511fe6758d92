//! Where an ARQ agent sits, and what follows from that.

use std::net::IpAddr;

use lasthop_agent::{Context, LinkSenses};

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

    /// Whether a FIN is acknowledged here. Not where a split may stand at the other end of the hop: the
    /// FIN's ACK says that all data has reached the connection's own end, which only the split knows.
    pub(super) const fn confirms_fins(self) -> bool {
        matches!(self, Self::Node(_))
    }

    /// Whether what comes from the core side is an end's own: then its ACKs are kept back.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::EndOfHop | Self::SilentEnd | Self::Node(Role::MobileHost))
    }

    pub(super) const fn needs(self) -> LinkSenses {
        match self {
            Self::Node(_) | Self::EndOfHop => LinkSenses::FRAME_FATE,
            Self::SilentEnd => LinkSenses::empty(),
        }
    }
}
