//! Another plan, the same connections.

use lasthop_agent::{Bypass, Slot};
use lasthop_config::words::counted;
use lasthop_packet::Instant;

use super::{Engine, Outgoing, rule_for};
use crate::connection::Draining;
use crate::plan::Plan;
use crate::rule::{Rule, is_free};

/// The connections that the rules of a plan select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// All that there are.
    pub connections: usize,
    /// Those that a rule selects.
    pub by_a_rule: usize,
}

impl Selected {
    /// Of the loops of a gateway.
    pub fn of_all(parts: Vec<Self>) -> Self {
        parts.into_iter().fold(Self::default(), |sum, part| Self {
            connections: sum.connections + part.connections,
            by_a_rule: sum.by_a_rule + part.by_a_rule,
        })
    }

    /// A sentence for the operator if there are connections and no rule selects any.
    pub fn note(self) -> Option<String> {
        let connections = counted(self.connections as u64, "connection");
        (self.connections > 0 && self.by_a_rule == 0)
            .then(|| format!("no rule selects any of the {connections} that the gateway tracks"))
    }
}

impl Engine {
    /// Follows another plan from now on. Connections stay.
    ///
    /// - A rule whose schemes and settings are in both plans keeps its agent with all that it
    ///   knows.
    /// - Where only the settings are others, the state of its connections moves to the new agent.
    /// - The agents of other rules send on what they hold, and go: all but those that owe
    ///   something, which see to the connections of which they do, until they are free of them.
    /// - What an agent had no use for is shown to one again.
    /// - An engine that is passive stays passive, and one that is not does not become so.
    /// - A connection that another rule wants now leaves the agent of the old one in the same way.
    ///
    /// Returns what of its connections the rules select; nothing if it is passive, where no rule applies.
    pub fn reload(&mut self, plan: &Plan, now: Instant, out: &mut Outgoing) -> Selected {
        // The kernel's side stays as it is until a restart.
        let plan = &Plan { passive: self.is_passive, ..plan.clone() };
        let goes_on_as = self.successors(plan);
        for index in (0..self.rules.len()).filter(|index| goes_on_as[*index].is_none()) {
            self.drain_rule(index, now, out);
        }
        (self.is_drained, self.stepping_aside) = (false, plan.stepping_aside);
        self.traffic = plan.traffic.clone();
        self.connections.set_bounds(plan.budget.flows, plan.idle);
        self.set_most_clients(plan.most_clients);
        let new_index = self.adopt_rules(plan, &goes_on_as);
        let mut selected = Selected::default();
        for slot in self.connections.slots() {
            let is_selected = self.follow_plan(slot, &new_index, now, out);
            selected.connections += 1;
            selected.by_a_rule += usize::from(is_selected);
        }
        self.drop_idle_rules();
        // Only now: what moved from one agent to another has the room that it had.
        self.budget = plan.budget;
        let too_many = self.connections.len().saturating_sub(plan.budget.flows);
        for slot in self.connections.idlest(too_many, |key, rule| is_free(&self.rules, key, rule)) {
            self.counters.counts.evicted += 1;
            self.forget(slot, now, out);
        }
        if self.is_passive { Selected::default() } else { selected }
    }

    /// Puts the plan's rules first, those that go on among them, and behind them the rules that are
    /// in no plan any more. Where each old rule is now.
    fn adopt_rules(&mut self, plan: &Plan, goes_on_as: &[Option<usize>]) -> Vec<u16> {
        let mut rules: Vec<Rule> =
            plan.rules_in_force().iter().map(|rule| Rule::new(rule, plan.seed)).collect();
        self.planned = rules.len();
        let mut new_index = Vec::with_capacity(self.rules.len());
        for (mut rule, next) in std::mem::take(&mut self.rules).into_iter().zip(goes_on_as) {
            if let Some(next) = *next {
                rule.follow(&plan.rules[next]);
                rules[next] = rule;
                new_index.push(next as u16);
            } else {
                new_index.push(rules.len() as u16);
                rules.push(rule);
            }
        }
        self.rules = rules;
        new_index
    }

    /// Has a connection follow the plan. Returns whether a rule of it selects the connection.
    fn follow_plan(&mut self, slot: Slot, new_index: &[u16], now: Instant, out: &mut Outgoing) -> bool {
        self.take_back(slot, out);
        let key = self.connections.key(slot);
        let connection = self.connections.at_mut(slot);
        let is_aside = connection.aside.is_some();
        let wanted_by = rule_for(&self.traffic, &self.rules[..self.planned], key);
        let was = connection.rule.map(|rule| new_index[usize::from(rule)]);
        connection.rule = was;
        let Some(was) = was.filter(|was| Some(*was) != wanted_by && !is_aside) else {
            connection.stay_with(wanted_by);
            return wanted_by.is_some();
        };
        if let Some(next) = wanted_by
            && self.rules[usize::from(next)].schemes == self.rules[usize::from(was)].schemes
        {
            let owed = self.obligation(slot);
            let states = self.export_one(was, key, now, out);
            // The next agent may want to see what this one let pass.
            out.bypasses.push(Bypass { flow: key, limits: None });
            if self.import_all(next, &states, now, out).is_ok() {
                self.connections.at_mut(slot).stay_with(wanted_by);
                return true;
            }
            if self.import_all(was, &states, now, out).is_err() {
                self.counters.counts.count_broken(owed);
            }
        }
        let leaving = self.connections.at(slot).leaving.unwrap_or(Draining::ForRule);
        self.leave(slot, leaving, now, out);
        wanted_by.is_some()
    }

    /// Forgets rules that are in no plan and have no connection.
    fn drop_idle_rules(&mut self) {
        let mut used = vec![false; self.rules.len()];
        for slot in self.connections.slots() {
            if let Some(rule) = self.connections.at(slot).rule {
                used[usize::from(rule)] = true;
            }
        }
        let mut new_index = Vec::with_capacity(used.len());
        let mut kept = Vec::with_capacity(used.len());
        for (index, rule) in std::mem::take(&mut self.rules).into_iter().enumerate() {
            new_index.push(kept.len() as u16);
            if index < self.planned || used[index] {
                kept.push(rule);
            } else {
                self.retired.add(&rule.counters);
            }
        }
        self.rules = kept;
        for slot in self.connections.slots() {
            let connection = self.connections.at_mut(slot);
            connection.rule = connection.rule.map(|rule| new_index[usize::from(rule)]);
        }
    }

    /// For each rule, the index of the first rule of the plan that does the same and goes on with
    /// its agent.
    fn successors(&self, plan: &Plan) -> Vec<Option<usize>> {
        let rules = plan.rules_in_force();
        let mut taken = vec![false; rules.len()];
        let same = |rule: &Rule| {
            let same = (0..rules.len()).find(|next| !taken[*next] && rules[*next].spec == rule.spec)?;
            taken[same] = true;
            Some(same)
        };
        self.rules.iter().map(same).collect()
    }
}
