//! Handshakes in progress: their maximum number and lifetime.

use std::time::Duration;

use lasthop_agent::{Budget, FlowTable, Scope};
use lasthop_packet::{FlowKey, Instant};

use super::opening::Opening;

/// A handshake without packets for this long is removed. An end that retries waits at most 64 s for
/// an answer: its time-out of 1 s doubles with each SYN (RFC 6298, section 5), and it tries for
/// three minutes (RFC 9293, section 3.8.3), or six more times as in Linux (`tcp_syn_retries`). With
/// twice that time, the answer to the last SYN, or its retransmission, still finds the handshake.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(128);

/// Octets of memory of a handshake, in addition to its place in the table.
const OCTETS: usize = size_of::<Opening>();

/// Handshakes in progress. In a flood of SYNs the oldest is replaced at once, because a handshake
/// that is answered is short. Three quarters of the memory are left to connections.
#[derive(Debug)]
pub(super) struct Openings {
    table: FlowTable<Box<Opening>>,
}

impl Openings {
    pub(super) fn new() -> Self {
        Self { table: FlowTable::new(Duration::ZERO) }
    }

    /// Octets of allocated memory.
    pub(super) fn octets(&self) -> usize {
        self.table.octets() + self.table.len() * OCTETS
    }

    pub(super) fn peek(&self, key: FlowKey) -> Option<&Opening> {
        self.table.peek(key).map(Box::as_ref)
    }

    pub(super) fn peek_mut(&mut self, key: FlowKey) -> Option<&mut Opening> {
        self.table.peek_mut(key).map(Box::as_mut)
    }

    /// The handshake of a connection whose packet has just come.
    pub(super) fn touch(&mut self, key: FlowKey, now: Instant) -> Option<&mut Opening> {
        self.table.touch(key, now).map(Box::as_mut)
    }

    /// Adds a handshake if the budget has room, given `taken` octets of other use; the oldest is
    /// removed if necessary. Otherwise returns the limit that was reached.
    pub(super) fn insert(
        &mut self,
        key: FlowKey,
        opening: Opening,
        budget: Budget,
        taken: usize,
        now: Instant,
    ) -> Result<(), &'static str> {
        let octets_in_all = budget.octets_in_all.saturating_sub(taken).min(budget.octets_in_all / 4);
        let budget = Budget { octets_in_all, ..budget };
        // The budget may have shrunk.
        while self.octets() > octets_in_all
            && let Some((_, oldest)) = self.table.idlest()
        {
            self.table.remove(oldest);
        }
        let room = octets_in_all.saturating_sub(self.octets());
        let limit = self.table.max_flows(budget, self.octets(), OCTETS).min(self.table.len() + room / OCTETS);
        if let Some(oldest) = self.table.eviction_candidate(limit, now, |_| true) {
            self.table.remove(oldest);
        }
        let inserted = self.table.insert(key, Box::new(opening), limit, now);
        inserted.map_err(|_| budget.bound_at(limit))
    }

    pub(super) fn remove(&mut self, key: FlowKey) -> Option<Box<Opening>> {
        self.table.remove(key)
    }

    /// Removes the handshakes of connections that other agents continue.
    pub(super) fn leave(&mut self, scope: Scope) {
        for key in scope.connections(&self.table) {
            self.table.remove(key);
        }
    }

    /// When the oldest expires.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.table.idle_since().map(|since| since + FORGOTTEN_AFTER)
    }

    /// Removes expired handshakes.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        while let Some((last_used, key)) = self.table.idlest()
            && last_used + FORGOTTEN_AFTER <= now
        {
            self.table.remove(key);
        }
    }
}
