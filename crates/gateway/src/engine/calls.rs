//! Calls of agents: their budgets, whether they may take on obligations, and the counters of
//! panics.

use lasthop_agent::{Agent, Budget, Context, Slot};
use lasthop_packet::Instant;

use super::Engine;

impl Engine {
    /// Calls a rule's agent, whose packets are in the outbox afterwards. `None` if the rule has no
    /// agent, or the agent panicked.
    pub(super) fn call<R>(
        &mut self,
        rule: usize,
        now: Instant,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> Option<R> {
        self.call_with(rule, false, now, f)
    }

    /// Calls a rule's agent about a connection, for which it may take on obligations if
    /// [`Engine::may_owe`] allows it.
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

    /// Counts the obligations of a rule's agent as broken, if it has just panicked.
    pub(super) fn count_broken_by_panic(&mut self, rule: usize) {
        let broken = self.rules[rule].take_broken();
        self.counters.counts.obligations_broken += broken.connections;
        self.counters.counts.octets_broken += broken.octets;
    }

    /// The budget of a rule's agent, after the memory of the other agents.
    pub(super) fn budget_of(&self, rule: usize) -> Budget {
        let others = self.rules.iter().enumerate().filter(|(other, _)| *other != rule);
        self.budget.beside(others.map(|(_, rule)| rule.octets()).sum())
    }
}
