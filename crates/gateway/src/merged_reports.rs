//! Merges the reports of several packet loops.

use super::clients::ClientsReport;
use super::counters::Counters;
use super::engine::{EngineReport, RuleReport};
use super::link::LinkReport;
use super::packet_loop::LoopReport;
use super::punctuality::PunctualityReport;
use lasthop_linux::lateness::LatenessSummary;
use lasthop_linux::processor::KeptWaiting;

impl LoopReport {
    /// Merges the reports of a gateway's loops: the sum of the counters, and the maximum of
    /// absences and turns.
    pub(super) fn from_reports(reports: Vec<Self>) -> Self {
        reports.into_iter().reduce(Self::and).unwrap_or_default()
    }

    fn and(mut self, other: Self) -> Self {
        self.threads.extend(other.threads);
        Self {
            notes: distinct(self.notes, other.notes),
            uptime_s: self.uptime_s.max(other.uptime_s),
            cpu_s: self.cpu_s + other.cpu_s,
            turns: self.turns + other.turns,
            sent: self.sent + other.sent,
            lost: self.lost + other.lost,
            longest_turn_s: self.longest_turn_s.max(other.longest_turn_s),
            punctuality: self.punctuality.and(other.punctuality),
            faults: distinct(self.faults, other.faults),
            link: either(self.link, other.link, LinkReport::and),
            engine: self.engine.and(other.engine),
            ..self
        }
    }
}

impl PunctualityReport {
    fn and(self, other: Self) -> Self {
        Self {
            stalls: self.stalls + other.stalls,
            stalled_s: self.stalled_s + other.stalled_s,
            longest_absence_s: self.longest_absence_s.max(other.longest_absence_s),
            is_out: self.is_out || other.is_out,
            steps_out: self.steps_out + other.steps_out,
            steps_out_by_ports: self.steps_out_by_ports + other.steps_out_by_ports,
            out_s: self.out_s.max(other.out_s),
            // That of the loops that are out.
            away_s: match (self.is_out, other.is_out) {
                (true, false) => self.away_s,
                (false, true) => other.away_s,
                _ => either(self.away_s, other.away_s, f64::max),
            },
            kept_waiting: either(self.kept_waiting, other.kept_waiting, |one, other| KeptWaiting {
                total_s: one.total_s + other.total_s,
                times: one.times + other.times,
            }),
        }
    }
}

impl LinkReport {
    /// Each percentile is the larger one.
    fn and(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            heard: self.heard + other.heard,
            lost: self.lost + other.lost,
            delivered: self.delivered + other.delivered,
            given_up: self.given_up + other.given_up,
            delay: LatenessSummary {
                count: self.delay.count + other.delay.count,
                median_us: self.delay.median_us.max(other.delay.median_us),
                p99_us: self.delay.p99_us.max(other.delay.p99_us),
                max_us: self.delay.max_us.max(other.delay.max_us),
            },
        }
    }
}

impl EngineReport {
    /// Merges the reports of a gateway's engines. Bounds are added as well: each engine has a
    /// share.
    pub(super) fn from_reports(reports: Vec<Self>) -> Self {
        reports.into_iter().reduce(Self::and).unwrap_or_default()
    }

    fn and(mut self, other: Self) -> Self {
        self.agents.add(&other.agents);
        Self {
            counters: Counters {
                counts: self.counters.counts.plus(other.counters.counts),
                passed: self.counters.passed.plus(other.counters.passed),
            },
            held: self.held + other.held,
            owed_connections: self.owed_connections + other.owed_connections,
            octets_at_risk: self.octets_at_risk + other.octets_at_risk,
            drained: self.drained && other.drained,
            connections: self.connections + other.connections,
            most_connections: self.most_connections + other.most_connections,
            agent_octets: self.agent_octets + other.agent_octets,
            most_agent_octets: self.most_agent_octets + other.most_agent_octets,
            hop_rtts: self.hop_rtts.and(other.hop_rtts),
            hop: self.hop.plus(other.hop),
            clients: either(self.clients, other.clients, ClientsReport::and),
            rules: rules_of_both(self.rules, other.rules),
            ..self
        }
    }
}

/// Merges the rules of two engines. Both have the rules of the plan, and each may have rules of
/// earlier plans whose agents still have obligations.
fn rules_of_both(mut rules: Vec<RuleReport>, others: Vec<RuleReport>) -> Vec<RuleReport> {
    let mut is_taken = vec![false; rules.len()];
    for other in others {
        let is_same = |rule: &RuleReport| {
            (&rule.name, &rule.spec, rule.retiring) == (&other.name, &other.spec, other.retiring)
        };
        let same = (0..is_taken.len()).find(|index| !is_taken[*index] && is_same(&rules[*index]));
        match same {
            Some(index) => {
                is_taken[index] = true;
                let rule = &mut rules[index];
                rule.given_up |= other.given_up;
                rule.held += other.held;
                rule.octets += other.octets;
                rule.counters.add(&other.counters);
            }
            None => rules.push(other),
        }
    }
    rules
}

/// The union of the sentences.
fn distinct(mut sentences: Vec<String>, others: Vec<String>) -> Vec<String> {
    let new: Vec<String> = others.into_iter().filter(|other| !sentences.contains(other)).collect();
    sentences.extend(new);
    sentences
}

fn either<T>(one: Option<T>, other: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rules_are_merged_and_rules_of_one_engine_are_kept() {
        let rule = |name: &str, retiring, held| RuleReport {
            name: name.to_owned(),
            retiring,
            held,
            ..RuleReport::default()
        };
        let first = vec![rule("snoop", false, 1), rule("snoop", false, 2), rule("old", true, 4)];
        let second = vec![rule("snoop", false, 8), rule("snoop", false, 16), rule("older", true, 32)];
        let both = rules_of_both(first, second);
        let held: Vec<_> = both.iter().map(|rule| (rule.name.as_str(), rule.held)).collect();
        assert_eq!(held, [("snoop", 9), ("snoop", 18), ("old", 4), ("older", 32)]);
    }

    #[test]
    fn counters_are_added_the_longest_turn_is_kept_and_one_loop_that_is_out_counts() {
        let report = |sent, longest_turn_s, is_out| LoopReport {
            sent,
            longest_turn_s,
            punctuality: PunctualityReport { is_out, ..PunctualityReport::default() },
            ..LoopReport::default()
        };
        let all = LoopReport::from_reports(vec![
            report(1, 0.5, false),
            report(2, 0.25, true),
            report(4, 0.0, false),
        ]);
        assert_eq!((all.sent, all.punctuality.is_out), (7, true));
        assert!((all.longest_turn_s - 0.5).abs() < 1e-9);
    }
}
