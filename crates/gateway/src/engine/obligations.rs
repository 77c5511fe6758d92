//! What agents owe: connections that the engine does not step aside from, evict, reload away or forget
//! because they are idle.
//!
//! It waits until their agents are free of them, and until then has these take on nothing more.
//! When it must part with one all the same, because it was not taken over, it counts what was at risk.

use lasthop_agent::{Obligation, Owed, Slot};
use lasthop_packet::Instant;

use super::{Engine, Outgoing, rule_for};
use crate::connection::Draining;
use crate::counters::EngineCounters;
use crate::rule::Rule;

impl Engine {
    /// What all agents owe.
    pub fn owed(&self) -> Owed {
        self.rules.iter().map(Rule::owed).fold(Owed::default(), Owed::plus)
    }

    /// Whether agents are to take on no obligation more, because traffic is to bypass them as soon
    /// as they owe nothing.
    pub const fn refuse_obligations(&mut self, refuses: bool) {
        self.refuses_obligations = refuses;
    }

    /// What the agent of a connection owes of it.
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
            && self.connections.at(slot).leaving.is_none()
    }

    /// A connection is to leave its agent: at once if the agent is free of it, or as soon as it is.
    pub(super) fn leave(&mut self, slot: Slot, leaving: Draining, now: Instant, out: &mut Outgoing) {
        if !self.obligation(slot).is_free() {
            self.connections.at_mut(slot).leaving = Some(leaving);
            return;
        }
        self.release(slot, now, out);
        self.connections.at_mut(slot).leaving = None;
        match leaving {
            Draining::Aside(why) => self.step_aside(slot, why, now, out),
            Draining::ForRule => {
                let key = self.connections.key(slot);
                let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
                self.connections.at_mut(slot).rule = rule;
            }
        }
    }

    /// Counts what is lost with a connection that is forgotten now.
    pub(super) fn count_broken(&mut self, slot: Slot) {
        let obligation = self.obligation(slot);
        self.counters.counts.count_broken(obligation);
    }
}

impl EngineCounters {
    /// Counts an obligation that cannot be met any more.
    pub(super) fn count_broken(&mut self, obligation: Obligation) {
        self.obligations_broken += u64::from(!obligation.is_free());
        self.octets_broken = self.octets_broken.saturating_add(obligation.octets());
    }
}
