//! Calls of agents: what each may take and take on, and what is counted if one panics.

use lasthop_agent::{Agent, Budget, Context, Slot};
use lasthop_packet::Instant;

use super::Engine;

impl Engine {
    /// Calls a rule's agent; what it sends is in the outbox then. `None` if there is none, or it
    /// panicked.
    pub(super) fn call<R>(
        &mut self,
        rule: usize,
        now: Instant,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> Option<R> {
        self.call_with(rule, false, now, f)
    }

    /// Calls a rule's agent about a connection, for which it may take on obligations unless
    /// something speaks against that.
    pub(super) fn call_about<R>(
        &mut self,
        slot: Slot,
        rule: usize,
        now: Instant,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> Option<R> {
        self.call_with(rule, self.may_owe(slot), now, f)
    }

    fn call_with<R>(
        &mut self,
        rule: usize,
        may_owe: bool,
        now: Instant,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let budget = self.budget_of(rule);
        let result = self.rules[rule].call(now, budget, may_owe, &mut self.outbox, f);
        if result.is_none() {
            self.count_broken_by_panic(rule);
        }
        result
    }

    /// Counts what a rule's agent owed, if it has just panicked.
    pub(super) fn count_broken_by_panic(&mut self, rule: usize) {
        let broken = self.rules[rule].take_broken();
        self.counters.counts.obligations_broken += broken.connections;
        self.counters.counts.octets_broken += broken.octets;
    }

    /// What a rule's agent may take, beside the others.
    pub(super) fn budget_of(&self, rule: usize) -> Budget {
        let others = self.rules.iter().enumerate().filter(|(other, _)| *other != rule);
        self.budget.beside(others.map(|(_, rule)| rule.octets()).sum())
    }
}
