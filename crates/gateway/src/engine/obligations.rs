//! Obligations of agents. The engine does not set aside, evict or expire a connection for which an
//! agent has an obligation, nor give it to another rule.
//!
//! It waits until the agent is free of the connection, and until then lets it take on no new
//! obligations. If the engine must give up such a connection, because it was not taken over, it
//! counts the octets that were at risk.

use lasthop_agent::{Obligation, Owed, Slot};
use lasthop_packet::Instant;

use super::{Engine, Outgoing, rule_for};
use crate::connection::Draining;
use crate::counters::EngineCounters;
use crate::rule::Rule;

impl Engine {
    /// The obligations of all agents.
    pub fn owed(&self) -> Owed {
        self.rules.iter().map(Rule::owed).fold(Owed::default(), Owed::plus)
    }

    /// Sets whether agents may not take on new obligations, because traffic is to bypass them as
    /// soon as they have none.
    pub const fn refuse_obligations(&mut self, refuses: bool) {
        self.refuses_obligations = refuses;
    }

    /// The obligation of a connection's agent for it.
    pub(super) fn obligation(&self, slot: Slot) -> Obligation {
        let connection = self.connections.at(slot);
        let rule = connection.rule.filter(|_| connection.aside.is_none());
        let key = self.connections.key(slot);
        rule.map_or(Obligation::Free, |rule| self.rules[usize::from(rule)].obligation(key))
    }

    /// Whether an agent may take on an obligation for a connection.
    pub(super) fn may_owe(&self, slot: Slot) -> bool {
        !self.is_drained
            && !self.refuses_obligations
            && !self.connections.is_full()
            && self.connections.at(slot).draining.is_none()
    }

    /// Takes a connection from its agent, at once if the agent has no obligation for it, otherwise
    /// as soon as it has none.
    pub(super) fn leave(&mut self, slot: Slot, draining: Draining, now: Instant, out: &mut Outgoing) {
        if !self.obligation(slot).is_free() {
            self.connections.at_mut(slot).draining = Some(draining);
            return;
        }
        self.release(slot, now, out);
        self.connections.at_mut(slot).draining = None;
        match draining {
            Draining::Aside(why) => self.step_aside(slot, why, now, out),
            Draining::ForRule => {
                let key = self.connections.key(slot);
                let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
                self.connections.at_mut(slot).rule = rule;
            }
        }
    }

    /// Counts the obligation that is broken when a connection is removed.
    pub(super) fn count_broken(&mut self, slot: Slot) {
        let obligation = self.obligation(slot);
        self.counters.counts.count_broken(obligation);
    }
}

impl EngineCounters {
    /// Counts an obligation that can no longer be met.
    pub(super) fn count_broken(&mut self, obligation: Obligation) {
        self.obligations_broken += u64::from(!obligation.is_free());
        self.octets_broken = self.octets_broken.saturating_add(obligation.octets());
    }
}
