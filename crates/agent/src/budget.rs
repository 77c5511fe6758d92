//! The limits on the memory of agents.

/// The limits on the state of an agent. The world sets them, and passes them in each call.
///
/// Octets are the real cost of memory: allocations with the spare capacity of tables and queues,
/// not payloads. Everything that an agent has on the heap counts: tables of connections and hosts
/// as well as caches, queues and scoreboards. At a bound packets pass untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of connections at a time, 1 or more.
    pub flows: usize,
    /// Octets of memory for the stored packets of one connection. Its fixed state counts only in
    /// all.
    pub octets_per_flow: usize,
    /// Octets of memory in all.
    pub octets_in_all: usize,
}

impl Budget {
    /// The maximum share of datagrams in a table of `flows` connections: a quarter, so that a flood
    /// to many ports cannot evict TCP connections.
    pub const fn datagram_share(flows: usize) -> usize {
        flows.div_ceil(4)
    }

    /// The bound that limits a table to `max_flows` connections.
    pub const fn bound_at(self, max_flows: usize) -> &'static str {
        if max_flows < self.flows { MEMORY_IN_ALL } else { "connections" }
    }

    /// The budget of one agent among several, if the others have taken `taken` octets.
    #[must_use]
    pub const fn beside(self, taken: usize) -> Self {
        Self { octets_in_all: self.octets_in_all.saturating_sub(taken), ..self }
    }

    /// The octets that an agent may still allocate for a connection that has taken `by_flow`, if
    /// all its connections have taken `in_all`.
    pub const fn room(self, by_flow: usize, in_all: usize) -> Room {
        Room {
            of_flow: self.octets_per_flow.saturating_sub(by_flow),
            in_all: self.octets_in_all.saturating_sub(in_all),
        }
    }
}

/// The name of the bound [`Budget::octets_in_all`] in reports.
pub const MEMORY_IN_ALL: &str = "memory in all";

impl Default for Budget {
    /// 10,000 connections, 4 MiB each, 64 MiB in all.
    fn default() -> Self {
        Self { flows: 10_000, octets_per_flow: 4 << 20, octets_in_all: 64 << 20 }
    }
}

/// The rest of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Octets for the connection in question.
    pub of_flow: usize,
    /// Octets in all.
    pub in_all: usize,
}

impl Room {
    /// The bound that an allocation of `octets` would exceed, apart from that of the connection;
    /// `None` if it fits.
    pub const fn lacks_in_all(self, octets: usize) -> Option<&'static str> {
        if octets > self.in_all { Some(MEMORY_IN_ALL) } else { None }
    }

    /// The bound that an allocation of `octets` would exceed; `None` if it fits.
    pub const fn lacks(self, octets: usize) -> Option<&'static str> {
        if octets > self.of_flow {
            Some("memory of a connection")
        } else if octets > self.in_all {
            Some(MEMORY_IN_ALL)
        } else {
            None
        }
    }
}
