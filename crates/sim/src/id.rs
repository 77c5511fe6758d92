//! Names of entities: indices into the world's arenas.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The index in the order of addition, from 0.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            pub(crate) fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id!(
    /// A node.
    NodeId
);
impl NodeId {
    /// The destination of a broadcast: no node has this number.
    pub(crate) const EVERYBODY: Self = Self(u32::MAX);
}

/// A node, with the number of one of its interfaces.
pub(crate) type At = (NodeId, usize);

id!(
    /// A link, wired or wireless, both directions.
    LinkId
);
id!(
    /// A flow.
    FlowId
);
id!(
    /// A session.
    SessionId
);
id!(
    /// A session's dialogue.
    DialogueId
);
id!(
    /// One of the two ends of a dialogue's connection.
    ChannelEndId
);
id!(
    /// One of the two parties of a call.
    PartyId
);
id!(
    /// A medium that the transmitters of a wireless cell share.
    MediumId
);
id!(
    /// An IEEE 802.11 cell: stations on one channel.
    WlanId
);
id!(
    /// An extended service set: the access points of one network, and their clients.
    ServiceSetId
);
id!(
    /// An access point or a client of any extended service set.
    MemberId
);
id!(
    /// A client at an access point that hands it over, or takes it over.
    HandOffId
);
id!(
    /// One of the two ends of a connection between access points.
    TunnelEndId
);
id!(
    /// One direction of a link in an IEEE 802.11 cell.
    PortId
);
id!(
    /// One direction of a wired link with a plain queue.
    PipeId
);
id!(
    /// One direction of a wired link with a managed queue.
    ManagedPipeId
);
id!(
    /// One direction of a wireless link.
    HopId
);
id!(
    /// A TCP endpoint.
    ConnectionId
);
id!(
    /// An agent.
    AgentId
);
impl AgentId {
    /// No agent has this number.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// Nor this one: it stands for the translator of a node.
    pub(crate) const TRANSLATOR: Self = Self(u32::MAX - 1);
}
