//! The two sides of an agent.

use lasthop_packet::FlowKey;

/// The two sides of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// On an access point: the wired network. On a host: its own TCP stack.
    Core,
    /// On an access point: the wireless hops. On a host: its network interfaces.
    Radio,
}

impl Side {
    /// The other side: the one that a packet from this side goes to.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Core => Self::Radio,
            Self::Radio => Self::Core,
        }
    }

    /// The connection of a packet with this key from this side, by its direction from the core side
    /// to the radio side.
    #[must_use]
    pub const fn connection(self, key: FlowKey) -> FlowKey {
        match self {
            Self::Core => key,
            Self::Radio => key.reversed(),
        }
    }
}
