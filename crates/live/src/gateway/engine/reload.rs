//! Another plan, the same connections.

use lasthop_packet::Instant;

use super::{Engine, Outgoing, rule_for};
use crate::gateway::plan::Plan;
use crate::gateway::rule::Rule;

impl Engine {
    /// Follows another plan from now on. Connections stay; a rule whose schemes and settings are in both plans keeps its agent with
    /// all that it knows; the agents of other rules send on what they hold, and go. A connection that another rule wants now is let
    /// go by the agent of the old one.
    pub fn reload(&mut self, plan: &Plan, now: Instant, out: &mut Outgoing) {
        let goes_on_as = self.successors(plan);
        for index in (0..self.rules.len()).filter(|index| goes_on_as[*index].is_none()) {
            self.drain_rule(index, now, out);
            self.retired.add(&self.rules[index].counters);
        }
        // By the new rules, before the old agents are out of reach.
        let next: Vec<Rule> = plan.rules.iter().map(|rule| Rule::new(rule, plan.seed)).collect();
        for slot in self.connections.slots() {
            let wanted_by = rule_for(&plan.traffic, &next, self.connections.key(slot));
            let goes_to = self.connections.at(slot).rule.and_then(|rule| goes_on_as[usize::from(rule)]);
            if goes_to.is_some() && goes_to != wanted_by.map(usize::from) {
                self.release(slot, now, out);
            }
            self.connections.at_mut(slot).rule = wanted_by;
        }
        let old = std::mem::replace(&mut self.rules, next);
        for (mut rule, next) in old.into_iter().zip(goes_on_as) {
            if let Some(next) = next {
                rule.follow(&plan.rules[next]);
                self.rules[next] = rule;
            }
        }
        self.traffic = plan.traffic.clone();
        self.is_drained = false;
        self.stepping_aside = plan.stepping_aside;
        self.budget = plan.budget;
        self.connections.set_bounds(plan.budget.flows, plan.idle);
        while self.connections.len() > plan.budget.flows
            && let Some(slot) = self.connections.idlest()
        {
            self.counters.counts.evicted += 1;
            self.forget(slot, now, out);
        }
    }

    /// For each rule, the index of the first rule of the plan that does the same and goes on with its agent.
    fn successors(&self, plan: &Plan) -> Vec<Option<usize>> {
        let mut taken = vec![false; plan.rules.len()];
        let same = |rule: &Rule| {
            let same =
                (0..plan.rules.len()).find(|next| !taken[*next] && plan.rules[*next].spec == rule.spec)?;
            taken[same] = true;
            Some(same)
        };
        self.rules.iter().map(same).collect()
    }
}
