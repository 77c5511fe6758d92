//! What an agent holds and owes: a world must know this before it removes the agent.

use lasthop_packet::FlowKey;
use serde::{Deserialize, Serialize};

/// The packets, memory and obligations of an agent. By default, an agent has none.
pub trait Accounts {
    /// Packets that the agent has absorbed or made and will send later. A copy of a packet that was
    /// forwarded, kept in case it must be sent again, is none of them.
    fn held(&self) -> u64 {
        0
    }

    /// Octets of allocated memory, including tables and their spare capacity. They never exceed
    /// [`crate::Context::budget`], apart from some KiB of working memory, unless the budget has
    /// shrunk since.
    fn octets(&self) -> usize {
        0
    }

    /// The obligation to a connection, given by its direction from the core side to the radio side.
    fn obligation(&self, connection: FlowKey) -> Obligation {
        let _ = connection;
        Obligation::Free
    }

    /// The sum of the [obligations](Accounts::obligation) to all connections.
    fn owed(&self) -> Owed {
        Owed::default()
    }
}

/// An agent's obligation to a connection.
///
/// Worlds never bypass, evict, drop at a reload, or remove for idleness a connection that is not
/// [`Obligation::Free`]: they wait, count the octets at risk, and at a bound first refuse new
/// obligations ([`crate::Context::may_owe`]). So the agent itself has to detect that the ends are
/// gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Obligation {
    /// None: the agent may be removed from the path at any time.
    #[default]
    Free,
    /// It has acknowledged this many octets whose delivery is not certain, and can still deliver
    /// them.
    Owes(u64),
    /// It terminates both legs, which have their own sequence numbers: without it the connection
    /// breaks. This many octets are acknowledged on one leg and not on the other.
    Terminates(u64),
}

impl Obligation {
    /// Whether nothing is owed.
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Free)
    }

    /// Octets at risk: data that its sender considers delivered and that only this agent can
    /// deliver.
    pub const fn octets(self) -> u64 {
        match self {
            Self::Free => 0,
            Self::Owes(octets) | Self::Terminates(octets) => octets,
        }
    }

    /// The sum of two agents' obligations to one connection.
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

/// The obligations of an agent to all its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owed {
    /// Connections that are not [`Obligation::Free`].
    pub connections: u64,
    /// Octets at risk.
    pub octets: u64,
}

impl Owed {
    /// Records a change of a connection's obligation.
    pub fn change(&mut self, before: Obligation, after: Obligation) {
        self.connections = self.connections + u64::from(!after.is_free()) - u64::from(!before.is_free());
        self.octets = self.octets + after.octets() - before.octets();
    }

    /// The sum of two agents' obligations. A connection to which both have one counts twice.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            connections: self.connections.saturating_add(other.connections),
            octets: self.octets.saturating_add(other.octets),
        }
    }
}
