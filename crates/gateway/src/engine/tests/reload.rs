//! Tests of reloading.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lasthop_agent::{Accounts, Agent, Context, Obligation, Transfer};
use portable_atomic::AtomicU64;

use super::support::*;
use crate::engine::*;
use crate::plan::{Plan, RulePlan};

#[test]
fn a_rule_that_stays_keeps_its_agent_and_the_agent_of_a_removed_rule_is_drained() {
    let keeper = || rule("keeper", Keeper::default);
    let mut bench = Bench::new(&plan(vec![keeper()]));
    bench.shake_hands(1);
    bench.on_core(&down(1, 1, 100, ACK));

    // The same spec under another name, after another rule that selects other traffic.
    let mut other = rule("other", Watcher::default);
    other.traffic.ports = vec!["443".parse().expect("a port")];
    let renamed = RulePlan { name: "renamed".into(), ..keeper() };
    bench.engine.reload(&plan(vec![other, renamed]), bench.now, &mut bench.out);
    let report = bench.engine.report();
    assert_eq!((report.held, report.connections, report.rules[1].name.as_str()), (1, 1, "renamed"));
    assert!(bench.take().is_empty());
    assert!(bench.on_core(&down(1, 101, 100, ACK)).is_empty(), "it holds this, too");

    bench.engine.reload(&plan(vec![rule("other", Watcher::default)]), bench.now, &mut bench.out);
    let seqs: Vec<u32> = bench
        .take()
        .iter()
        .filter_map(|(_, frame)| frame.parse(true).ok()?.1.tcp().map(|tcp| tcp.seq.0))
        .collect();
    assert_eq!(seqs, [1, 101], "in order");
    let report = bench.engine.report();
    assert_eq!(
        (report.held, report.connections, report.agents.packets.absorbed),
        (0, 1, 2),
        "nothing that was counted is forgotten"
    );
    assert_eq!(bench.on_core(&down(1, 201, 100, ACK)).len(), 1);
    assert_eq!(bench.engine.report().rules[0].counters.packets.seen, 1, "the new agent has the connection");
}

#[test]
fn a_passive_engine_gives_no_notice_that_no_rule_selects_a_connection() {
    let of = |passive| Plan { passive, ..plan(vec![]) };
    for (passive, has_note) in [(false, true), (true, false)] {
        let mut bench = Bench::new(&Plan { passive, ..plan(vec![rule("watcher", Watcher::default)]) });
        bench.shake_hands(1);
        let selected = bench.engine.reload(&of(passive), bench.now, &mut bench.out);
        assert_eq!(bench.engine.report().connections, 1);
        assert_eq!(selected.note().is_some(), has_note, "{selected:?}");
    }
}

#[test]
fn an_agent_that_stays_releases_connections_that_another_rule_now_selects() {
    let mut bench = Bench::new(&plan(vec![rule("keeper", Keeper::default)]));
    bench.shake_hands(1);
    bench.shake_hands(2);
    bench.on_core(&down(1, 1, 100, ACK));
    bench.on_core(&down(2, 1, 100, ACK));
    let mut first = rule("watcher", Watcher::default);
    first.traffic.ports = vec!["1".parse().expect("a port")];
    bench.engine.reload(&plan(vec![first, rule("keeper", Keeper::default)]), bench.now, &mut bench.out);
    assert_eq!((bench.take().len(), bench.engine.report().held), (1, 1));
}

#[test]
fn smaller_bounds_apply_at_once_and_a_drained_gateway_resumes() {
    let mut bench = Bench::new(&plan(vec![rule("keeper", Keeper::default)]));
    for client in 1..=9 {
        bench.shake_hands(client);
    }
    bench.on_core(&down(1, 1, 100, ACK));
    bench.engine.drain(bench.now, &mut bench.out);
    assert_eq!((bench.take().len(), bench.engine.report().drained), (1, true));
    bench.engine.reload(
        &Plan {
            budget: Budget { flows: 3, ..Budget::default() },
            ..plan(vec![rule("keeper", Keeper::default)])
        },
        bench.now,
        &mut bench.out,
    );
    let report = bench.engine.report();
    assert_eq!((report.connections, report.drained, report.counters.counts.evicted), (3, false, 6));
}

/// Owes an octet of each connection with a client port below 100, and counts the queries for
/// obligations.
struct Owing(Arc<AtomicU64>);

impl Agent for Owing {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }
}

impl Accounts for Owing {
    fn obligation(&self, connection: FlowKey) -> Obligation {
        self.0.fetch_add(1, Ordering::Relaxed);
        if connection.destination.1 < 100 { Obligation::Owes(1) } else { Obligation::Free }
    }
}

impl Transfer for Owing {}

#[test]
fn the_work_to_shrink_the_table_is_proportional_to_its_connections() {
    let queries = Arc::new(AtomicU64::new(0));
    let of_agent = Arc::clone(&queries);
    let mut plan = plan(vec![rule("owing", move || Owing(Arc::clone(&of_agent)))]);
    plan.budget.flows = 400;
    let mut bench = Bench::new(&plan);
    for client in 0..400 {
        bench.shake_hands(client);
    }
    queries.store(0, Ordering::Relaxed);
    plan.budget.flows = 200;
    bench.engine.reload(&plan, bench.now, &mut bench.out);
    let report = bench.engine.report();
    assert_eq!((report.connections, report.counters.counts.evicted), (200, 200));
    assert_eq!(report.counters.counts.obligations_broken, 0);
    // Once to find the connections that may be evicted, and once to evict them.
    let queries = queries.load(Ordering::Relaxed);
    assert!(queries <= 2 * 400, "{queries} queries for 400 connections");
}
