//! The two sides of a seat.

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
    /// The other side: where a packet from this side is bound for.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Core => Self::Radio,
            Self::Radio => Self::Core,
        }
    }

    /// The connection, by its direction from the core side to the radio side, of a packet that came
    /// from this side with this key.
    #[must_use]
    pub const fn connection(self, key: FlowKey) -> FlowKey {
        match self {
            Self::Core => key,
            Self::Radio => key.reversed(),
        }
    }
}
