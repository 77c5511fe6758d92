//! Handshakes under way: how many there may be, and for how long.

use std::time::Duration;

use lasthop_agent::{Budget, FlowTable, Scope};
use lasthop_packet::{FlowKey, Instant};

use super::opening::Opening;

/// A handshake of which nothing was heard for this long is forgotten. An end that goes on trying
/// waits 64 s at most for an answer: its time-out of 1 s doubles with each SYN (RFC 6298, section 5),
/// and it tries for three minutes (RFC 9293, section 3.8.3), or six times more as in Linux
/// (`tcp_syn_retries`). Twice that: what answers the last SYN, or repeats it, still finds it here.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(128);

/// Octets of memory that one takes beside its place in the table.
const OCTETS: usize = size_of::<Opening>();

/// Handshakes under way. A flood of SYNs makes room by the oldest at once, as a handshake that is
/// answered is short, and leaves three quarters of the memory to connections.
#[derive(Debug)]
pub(super) struct Openings {
    table: FlowTable<Box<Opening>>,
}

impl Openings {
    pub(super) fn new() -> Self {
        Self { table: FlowTable::new(Duration::ZERO) }
    }

    /// Octets of memory that they have taken.
    pub(super) fn octets(&self) -> usize {
        self.table.octets() + self.table.len() * OCTETS
    }

    pub(super) fn peek(&self, key: FlowKey) -> Option<&Opening> {
        self.table.peek(key).map(Box::as_ref)
    }

    pub(super) fn peek_mut(&mut self, key: FlowKey) -> Option<&mut Opening> {
        self.table.peek_mut(key).map(Box::as_mut)
    }

    /// That of a connection of which something has come.
    pub(super) fn touch(&mut self, key: FlowKey, now: Instant) -> Option<&mut Opening> {
        self.table.touch(key, now).map(Box::as_mut)
    }

    /// Adds one, where the budget has room when all else has taken `taken` octets of it; the oldest goes if
    /// need be. The bound where there is none.
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
        // Where the memory has become less.
        while self.octets() > octets_in_all
            && let Some((_, oldest)) = self.table.idlest()
        {
            self.table.remove(oldest);
        }
        let room = octets_in_all.saturating_sub(self.octets());
        let most = self.table.most(budget, self.octets(), OCTETS).min(self.table.len() + room / OCTETS);
        if let Some(oldest) = self.table.next_to_go(most, now, |_| true) {
            self.table.remove(oldest);
        }
        let inserted = self.table.insert(key, Box::new(opening), most, now);
        inserted.map_err(|_| budget.bound_at(most))
    }

    pub(super) fn remove(&mut self, key: FlowKey) -> Option<Box<Opening>> {
        self.table.remove(key)
    }

    /// Forgets those of connections that others go on with.
    pub(super) fn leave(&mut self, scope: Scope) {
        for key in scope.of(&self.table) {
            self.table.remove(key);
        }
    }

    /// When the oldest is to be forgotten.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.table.idle_since().map(|since| since + FORGOTTEN_AFTER)
    }

    /// Forgets those of which nothing was heard for long.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        while let Some((last_used, key)) = self.table.idlest()
            && last_used + FORGOTTEN_AFTER <= now
        {
            self.table.remove(key);
        }
    }
}
