//! The fate of every packet.

use std::collections::BTreeMap;

use lasthop_agent::DropReason;
use lasthop_nat::Refusal;

/// Why the world dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// A queue was full.
    QueueFull,
    /// A queue's discipline (RED, CoDel) dropped it before the queue was full.
    QueueManagement,
    /// A wired link lost it.
    WiredLoss,
    /// A wireless link without a link layer lost it, or the link layer gave up.
    WirelessLoss,
    /// It waited at an access point for a station that dozed, and was not fetched in time.
    PowerSave,
    /// A client of an extended service set was not associated, or not with this access point.
    NotAssociated,
    /// There is no way to its destination.
    NoRoute,
    /// A search for a route to its destination found none.
    RouteNotFound,
    /// Too many packets waited for routes at its source, and it had waited longest.
    RouteBufferFull,
    /// Nobody listens for it at its destination.
    NoListener,
    /// A link had damaged it, and its receiver verified the checksum.
    WrongChecksum,
    /// A link has cut its connection, or refused it.
    ConnectionCut,
    /// A node that translates addresses has no translation for it.
    Translation(Refusal),
    /// An agent dropped it.
    Agent(DropReason),
}

impl DropCause {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue full",
            Self::QueueManagement => "queue management",
            Self::WiredLoss => "wired loss",
            Self::WirelessLoss => "wireless loss",
            Self::PowerSave => "not fetched in power save",
            Self::NotAssociated => "not associated",
            Self::NoRoute => "no route",
            Self::RouteNotFound => "route not found",
            Self::RouteBufferFull => "too many waiting for routes",
            Self::NoListener => "no listener",
            Self::WrongChecksum => "wrong checksum",
            Self::ConnectionCut => "connection cut",
            Self::Translation(refusal) => refusal.name(),
            Self::Agent(reason) => reason.about,
        }
    }
}

/// The world's account of packets. The law: `originated + heard + duplicated == consumed +
/// dropped + absorbed + broadcast + in_transit`, at every moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Packets made by flows' endpoints, by agents, by links that cut connections, or put in from outside.
    pub originated: u64,
    /// Packets that reached their destination.
    pub consumed: u64,
    /// Packets dropped, by cause.
    pub dropped: BTreeMap<DropCause, u64>,
    /// Packets that an agent took over.
    pub absorbed: u64,
    /// Packets whose way ended when a radio had broadcast them.
    pub broadcast: u64,
    /// Copies of them, one for each station that heard one: packets of their own from there on.
    pub heard: u64,
    /// Second copies that links delivered.
    pub duplicated: u64,
    /// Packets, and second copies, that links delivered with a wrong bit.
    pub corrupted: u64,
    /// Packets that passed around a link that impairs others (for each such link).
    pub unselected: u64,
    /// TCP connections that links reset.
    pub connections_reset: u64,
    /// First segments of TCP connections that links answered with a reset.
    pub connections_refused: u64,
    /// Packets in queues and on links now.
    pub in_transit: u64,
}

impl Accounts {
    /// Packets dropped for any cause.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.values().sum()
    }

    /// Whether every packet is accounted for.
    pub fn balance(&self) -> bool {
        let ended = self.consumed + self.dropped_in_all() + self.absorbed + self.broadcast;
        self.originated + self.heard + self.duplicated == ended + self.in_transit
    }
}
