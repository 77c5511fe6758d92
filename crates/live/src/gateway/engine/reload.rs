//! Another plan, the same connections.

use lasthop_packet::Instant;

use super::{Engine, Outgoing, rule_for};
use crate::gateway::plan::Plan;
use crate::gateway::rule::Rule;

impl Engine {
    /// Follows another plan from now on. Connections stay; a rule whose schemes and settings are in both plans keeps its agent with
    /// all that it knows; the agents of other rules send on what they hold, and go.
    pub fn reload(&mut self, plan: &Plan, now: Instant, out: &mut Outgoing) {
        let mut stays = vec![false; self.rules.len()];
        let kept: Vec<Option<usize>> = plan
            .rules
            .iter()
            .map(|wanted| {
                let same = (0..stays.len())
                    .find(|index| !stays[*index] && self.rules[*index].recipe == wanted.recipe);
                if let Some(index) = same {
                    stays[index] = true;
                }
                same
            })
            .collect();
        for (index, stays) in stays.iter().enumerate() {
            if !stays {
                self.drain_rule(index, now, out);
                self.retired = self.retired.plus(self.rules[index].counters);
            }
        }
        let mut old: Vec<Option<Rule>> = std::mem::take(&mut self.rules).into_iter().map(Some).collect();
        for (wanted, kept) in plan.rules.iter().zip(kept) {
            let rule = match kept.and_then(|index| old[index].take()) {
                Some(mut rule) => {
                    rule.follow(wanted);
                    rule
                }
                None => Rule::new(wanted, plan.seed),
            };
            self.rules.push(rule);
        }
        self.traffic = plan.traffic.clone();
        self.is_drained = false;
        self.stepping_aside = plan.stepping_aside;
        self.connections.set_bounds(plan.flows, plan.idle);
        let (traffic, rules) = (&self.traffic, &self.rules);
        for connection in self.connections.iter_mut() {
            connection.rule = rule_for(traffic, rules, connection.key);
        }
    }
}
