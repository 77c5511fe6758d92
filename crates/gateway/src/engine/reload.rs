//! Reload: a new plan for the same connections.

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
    /// The number of connections.
    pub connections: usize,
    /// The number of connections that a rule selects.
    pub by_a_rule: usize,
}

impl Selected {
    /// The sum over the packet loops of a gateway.
    pub fn from_parts(parts: Vec<Self>) -> Self {
        parts.into_iter().fold(Self::default(), |sum, part| Self {
            connections: sum.connections + part.connections,
            by_a_rule: sum.by_a_rule + part.by_a_rule,
        })
    }

    /// A notice to the operator if there are connections and no rule selects any.
    pub fn note(self) -> Option<String> {
        let connections = counted(self.connections as u64, "connection");
        (self.connections > 0 && self.by_a_rule == 0)
            .then(|| format!("no rule selects any of the {connections} that the gateway tracks"))
    }
}

impl Engine {
    /// Applies another plan. Connections are kept.
    ///
    /// - A rule whose schemes and settings are in both plans keeps its agent and the agent's state.
    /// - If only the settings differ, the state of its connections moves to the new agent.
    /// - The agents of all other rules send the packets that they hold, and are removed. An agent
    ///   with obligations stays until it is free of the connections concerned.
    /// - Connections that were set aside because an agent had no use for them are diverted again.
    /// - The engine stays passive if it is passive, and does not become passive otherwise.
    /// - A connection that another rule now selects leaves its old agent in the same way.
    ///
    /// Returns how many of its connections the rules select; all zero if it is passive, where no
    /// rule applies.
    pub fn reload(&mut self, plan: &Plan, now: Instant, out: &mut Outgoing) -> Selected {
        // The BPF programs do not change until a restart.
        let plan = &Plan { passive: self.is_passive, ..plan.clone() };
        let successors = self.successors(plan);
        for index in (0..self.rules.len()).filter(|index| successors[*index].is_none()) {
            self.drain_rule(index, now, out);
        }
        (self.is_drained, self.stepping_aside) = (false, plan.stepping_aside);
        self.traffic = plan.traffic.clone();
        self.connections.set_bounds(plan.budget.flows, plan.idle);
        self.set_max_clients(plan.max_clients);
        let new_index = self.adopt_rules(plan, &successors);
        let mut selected = Selected::default();
        for slot in self.connections.slots() {
            let is_selected = self.follow_plan(slot, &new_index, now, out);
            selected.connections += 1;
            selected.by_a_rule += usize::from(is_selected);
        }
        self.drop_idle_rules();
        // The new budget applies only now, so that it does not refuse state that moved between
        // agents.
        self.budget = plan.budget;
        let too_many = self.connections.len().saturating_sub(plan.budget.flows);
        for slot in self.connections.idlest(too_many, |key, rule| is_free(&self.rules, key, rule)) {
            self.counters.counts.evicted += 1;
            self.forget(slot, now, out);
        }
        if self.is_passive { Selected::default() } else { selected }
    }

    /// Replaces the rules by those of the plan, which include the old rules with a successor,
    /// followed by the old rules without one. Returns the new index of each old rule.
    fn adopt_rules(&mut self, plan: &Plan, successors: &[Option<usize>]) -> Vec<u16> {
        let mut rules: Vec<Rule> =
            plan.rules_in_force().iter().map(|rule| Rule::new(rule, plan.seed)).collect();
        self.planned = rules.len();
        let mut new_index = Vec::with_capacity(self.rules.len());
        for (mut rule, next) in std::mem::take(&mut self.rules).into_iter().zip(successors) {
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

    /// Applies the plan to a connection. Returns whether one of its rules selects the connection.
    fn follow_plan(&mut self, slot: Slot, new_index: &[u16], now: Instant, out: &mut Outgoing) -> bool {
        self.restore(slot, out);
        let key = self.connections.key(slot);
        let connection = self.connections.at_mut(slot);
        let is_aside = connection.aside.is_some();
        let selected_by = rule_for(&self.traffic, &self.rules[..self.planned], key);
        let old = connection.rule.map(|rule| new_index[usize::from(rule)]);
        connection.rule = old;
        let Some(old) = old.filter(|old| Some(*old) != selected_by && !is_aside) else {
            connection.assign_to(selected_by);
            return selected_by.is_some();
        };
        if let Some(next) = selected_by
            && self.rules[usize::from(next)].schemes == self.rules[usize::from(old)].schemes
        {
            let owed = self.obligation(slot);
            let states = self.export_one(old, key, now, out);
            // The next agent may need packets that the old one allowed to bypass it.
            out.bypasses.push(Bypass { flow: key, limits: None });
            if self.import_all(next, &states, now, out).is_ok() {
                self.connections.at_mut(slot).assign_to(selected_by);
                return true;
            }
            if self.import_all(old, &states, now, out).is_err() {
                self.give_up(old, &states, now, out);
                self.counters.counts.count_broken(owed);
            }
        }
        let draining = self.connections.at(slot).draining.unwrap_or(Draining::ForRule);
        self.leave(slot, draining, now, out);
        selected_by.is_some()
    }

    /// Removes rules that are not in the plan and have no connection.
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

    /// For each rule, the index of the first rule of the plan that has the same schemes and
    /// settings and takes over its agent.
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
