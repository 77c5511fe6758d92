//! What an agent holds and owes: what a world must know before it takes the agent away.

use lasthop_packet::FlowKey;
use serde::{Deserialize, Serialize};

/// What an agent holds, occupies and owes. An agent that does not say otherwise has nothing.
pub trait Accounts {
    /// Packets that the agent holds to send later, of those that it absorbed or made.
    fn held(&self) -> u64 {
        0
    }

    /// Octets of memory that it has allocated, tables and their spare capacity included. They never
    /// exceed [`crate::Context::budget`], apart from some KiB of working memory, unless the budget
    /// has shrunk since.
    fn octets(&self) -> usize {
        0
    }

    /// What it owes of a connection, by its direction from the core side to the radio side.
    fn obligation(&self, connection: FlowKey) -> Obligation {
        let _ = connection;
        Obligation::Free
    }

    /// What it owes of all connections: the sum of their [obligations](Accounts::obligation).
    fn owed(&self) -> Owed {
        Owed::default()
    }
}

/// What an agent owes of a connection.
///
/// Worlds never step aside from, evict, reload away, or forget for its idleness a connection that is not
/// [`Obligation::Free`]: they wait, count the octets at risk, and at a bound refuse new obligations
/// first ([`crate::Context::may_owe`]). So an agent finds out by itself whether the ends are still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Obligation {
    /// Nothing: the agent may be taken out of the path at any time.
    #[default]
    Free,
    /// It has acknowledged this many octets whose delivery is not certain, and can still deliver
    /// them.
    Owes(u64),
    /// It is an end of both legs, which have sequence numbers of their own: without it the
    /// connection breaks. So many octets are acknowledged on one leg and not on the other.
    Terminates(u64),
}

impl Obligation {
    /// Whether nothing is owed.
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Free)
    }

    /// Octets at risk: what a sender takes for delivered and only this agent can deliver.
    pub const fn octets(self) -> u64 {
        match self {
            Self::Free => 0,
            Self::Owes(octets) | Self::Terminates(octets) => octets,
        }
    }

    /// What two agents owe of one connection.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        let octets = self.octets().saturating_add(other.octets());
        match (self, other) {
            (Self::Free, Self::Free) => Self::Free,
            (Self::Terminates(_), _) | (_, Self::Terminates(_)) => Self::Terminates(octets),
            _ => Self::Owes(octets),
        }
    }
}

/// What an agent owes of all its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// Connections that are not [`Obligation::Free`].
    pub connections: u64,
    /// Octets at risk.
    pub octets: u64,
}

impl Owed {
    /// Takes note that a connection's obligation has changed.
    pub fn change(&mut self, before: Obligation, after: Obligation) {
        self.connections = self.connections + u64::from(!after.is_free()) - u64::from(!before.is_free());
        self.octets = self.octets + after.octets() - before.octets();
    }

    /// What two agents owe. A connection of which both owe something counts twice.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            connections: self.connections.saturating_add(other.connections),
            octets: self.octets.saturating_add(other.octets),
        }
    }
}
