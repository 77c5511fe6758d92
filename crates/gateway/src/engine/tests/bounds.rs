//! Tests of bounds, expiry and eviction.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Accounts, Agent, Context, Deadline, Stateless, Transfer};

use super::support::*;
use crate::connection::TrackedConnection;
use crate::engine::*;
use crate::plan::RulePlan;
use crate::selector::PortRange;
use lasthop_packet::Ip;

#[test]
fn a_connection_takes_less_than_six_hundred_octets() {
    assert!(ConnectionTable::octets_per_connection() <= 600, "{}", ConnectionTable::octets_per_connection());
    assert!(size_of::<TrackedConnection>() <= 568, "{}", size_of::<TrackedConnection>());
}

#[test]
fn a_million_syns_stay_within_the_bound_and_a_busy_connection_stays_known() {
    let mut bench = Bench::new(&Plan {
        budget: Budget { flows: 1000, ..Budget::default() },
        ..plan(vec![rule("test", Watcher::default)])
    });
    bench.shake_hands(1);
    let octets = bench.engine.connections.octets();
    for flood in 0..1_000_000_u32 {
        let [_, a, b, c] = flood.to_be_bytes();
        let mut packet = up(40_000, 0, 0, TcpFlags::SYN);
        let ip = Ip { source: [11, a, b, c].into(), ..*packet.ip() };
        packet = Packet::new(ip, packet.transport().clone(), packet.payload().clone());
        assert_eq!(bench.on_radio(&packet).len(), 1, "each passes");
        bench.now = bench.now.after_nanos(10_000);
        if flood % 100_000 == 0 {
            bench.on_core(&down(1, 1 + flood, 100, ACK));
        }
    }
    assert_eq!(bench.engine.report().connections, 1000);
    assert_eq!(bench.engine.connections.octets(), octets, "nothing grew");
    assert!(bench.engine.connections.find(key(1)).is_some());
    let counters = bench.counters();
    assert!(counters.passed.table_full > 900_000 && counters.counts.evicted > 5_000, "{counters:?}");
}

#[test]
fn a_full_table_of_busy_connections_lets_new_ones_pass() {
    let mut bench = Bench::new(&Plan {
        budget: Budget { flows: 2, ..Budget::default() },
        ..plan(vec![rule("test", Watcher::default)])
    });
    for client in 1..=3 {
        bench.shake_hands(client);
    }
    let data = frame(&FROM_SERVER, &down(3, 1, 100, ACK));
    assert_eq!(bench.push(CORE, data.clone()), [(CORE, data)]);
    assert_eq!((bench.engine.report().connections, bench.counters().passed.table_full), (2, 4));
    // The connection that is idle for longer than the grace is evicted.
    bench.later(Duration::from_secs(8));
    bench.on_core(&down(2, 1, 100, ACK));
    bench.later(Duration::from_secs(3));
    bench.shake_hands(4);
    assert!(
        bench.engine.connections.find(key(1)).is_none() && bench.engine.connections.find(key(2)).is_some()
    );
    assert_eq!(bench.counters().counts.evicted, 1);
}

#[test]
fn idle_connections_expire_after_the_time_of_their_state() {
    let mut bench = Bench::with_agent(Keeper::default);
    bench.on_radio(&up(1, 0, 0, TcpFlags::SYN));
    for client in 2..=5 {
        bench.shake_hands(client);
    }
    let fin = ACK.with(TcpFlags::FIN);
    bench.on_radio(&up(3, 1, 0, fin));
    bench.on_radio(&up(4, 1, 0, fin));
    bench.on_core(&down(4, 1, 0, fin));
    bench.on_core(&down(5, 1, 0, TcpFlags::RST));
    let states: Vec<String> =
        bench.engine.flows(0, bench.now).flows.into_iter().map(|flow| flow.state).collect();
    assert_eq!(states, ["opening", "established", "half-closed", "closing", "closing"]);
    let mut left = Vec::new();
    for seconds in [9, 1, 20, 90, 480] {
        bench.later(Duration::from_secs(seconds));
        assert!(bench.engine.deadline().is_some());
        bench.engine.on_deadline(bench.now, &mut bench.out);
        left.push(bench.engine.report().connections);
    }
    assert_eq!(left, [5, 3, 2, 1, 0]);
    assert_eq!((bench.counters().counts.expired, bench.engine.deadline()), (5, None));
}

#[test]
fn pages_list_all_connections_with_bounded_work_per_page() {
    let mut bench = Bench::new(&Plan {
        budget: Budget { flows: 2000, ..Budget::default() },
        ..plan(vec![rule("test", Watcher::default)])
    });
    for client in 1..=1000 {
        bench.on_radio(&up(client, 0, 0, TcpFlags::SYN));
    }
    let (mut listed, mut next) = (std::collections::BTreeSet::new(), Some(0));
    while let Some(from) = next {
        let page = bench.engine.flows(from, bench.now);
        assert!(page.flows.len() <= 256 && page.next.is_none_or(|next| next <= from + 256), "{from}");
        listed.extend(page.flows.iter().map(|flow| flow.radio));
        next = page.next;
        // Connections begin between two pages.
        bench.on_radio(&up(2000 + from as u16, 0, 0, TcpFlags::SYN));
    }
    assert!(listed.len() >= 1000, "{}", listed.len());
    assert_eq!(bench.engine.flows(usize::MAX, bench.now).next, None, "a slot that is none");
}

#[test]
fn packets_held_for_a_connection_are_sent_before_it_is_evicted() {
    let mut bench = Bench::new(&Plan {
        budget: Budget { flows: 1, ..Budget::default() },
        ..plan(vec![rule("test", Keeper::default)])
    });
    bench.shake_hands(1);
    bench.on_core(&down(1, 1, 100, ACK));
    bench.on_core(&down(1, 101, 0, TcpFlags::RST));
    assert_eq!(bench.engine.report().held, 1);
    let out = bench.on_radio(&up(2, 0, 0, TcpFlags::SYN));
    assert_eq!((out.len(), bench.engine.report().held, bench.counters().counts.unaddressed), (2, 0, 0));
}

/// Uses all the memory of its budget.
#[derive(Default)]
struct Greedy {
    octets: usize,
}

impl Agent for Greedy {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
        self.octets = cx.budget().octets_in_all;
        Verdict::Forward
    }
}

impl Accounts for Greedy {
    fn octets(&self) -> usize {
        self.octets
    }
}

impl Transfer for Greedy {}

#[test]
fn all_rules_share_one_budget() {
    let client = |port| Selector { ports: vec![PortRange(port..=port)], ..Selector::default() };
    let rules = [1, 2].map(|port| RulePlan { traffic: client(port), ..rule("greedy", Greedy::default) });
    let budget = Budget { octets_in_all: 1000, ..Budget::default() };
    let mut bench = Bench::new(&Plan { budget, ..plan(rules.to_vec()) });
    let taken =
        |bench: &Bench| bench.engine.report().rules.iter().map(|rule| rule.octets).collect::<Vec<_>>();
    bench.shake_hands(1);
    bench.shake_hands(2);
    assert_eq!(taken(&bench), [1000, 0]);
    bench.engine.reload(
        &Plan { budget: Budget { octets_in_all: 1500, ..budget }, ..plan(rules.to_vec()) },
        bench.now,
        &mut bench.out,
    );
    bench.on_core(&down(2, 1, 100, ACK));
    assert_eq!(taken(&bench), [1000, 500]);
    assert_eq!(bench.engine.report().agent_octets, 1500);
}

#[test]
fn agents_send_held_packets_when_traffic_bypasses_them_and_may_hold_again() {
    let mut bench = Bench::with_agent(Keeper::default);
    bench.shake_hands(1);
    for _ in 0..2 {
        bench.on_core(&down(1, 1, 100, ACK));
        assert_eq!(bench.engine.report().held, 1);
        bench.engine.send_held(bench.now, &mut bench.out);
        assert_eq!((bench.take().len(), bench.engine.report().held), (1, 0));
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Sends a packet each second.
#[derive(Default)]
struct Ticker {
    due: Option<Instant>,
}

impl Agent for Ticker {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
        self.due = Some(cx.now() + SECOND);
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, reason: "a tick" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.due = Some(cx.now() + SECOND);
        cx.send(Side::Radio, down(1, 1, 100, ACK));
    }
}

impl Accounts for Ticker {}

impl Transfer for Ticker {
    fn on_return(&mut self, cx: &mut Context<'_>) {
        self.due = Some(cx.now() + 2 * SECOND);
    }
}

#[test]
fn timers_of_agents_do_not_run_while_traffic_bypasses_them() {
    let mut bench = Bench::with_agent(Ticker::default);
    bench.shake_hands(1);
    let sent = |bench: &mut Bench, after| {
        bench.now += after;
        bench.engine.on_deadline(bench.now, &mut bench.out);
        bench.take().len()
    };
    assert_eq!(sent(&mut bench, SECOND), 1);
    bench.engine.step_out();
    let due = bench.engine.deadline().expect("connections are forgotten all the same");
    assert!(due > bench.now + SECOND, "the loop sleeps until a connection expires");
    assert_eq!(sent(&mut bench, 3 * SECOND), 0);
    bench.engine.on_return(bench.now, &mut bench.out);
    assert_eq!(sent(&mut bench, SECOND), 0, "what was due meanwhile is the agent's to judge");
    assert_eq!(sent(&mut bench, SECOND), 1);
}

/// Sends a peer the same message for each packet.
struct Messenger(Arc<[u8]>);

impl Agent for Messenger {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
        cx.send_message(client(1).0.into(), Bytes::from_owner(Arc::clone(&self.0)));
        Verdict::Forward
    }
}

impl Stateless for Messenger {}

#[test]
fn a_message_to_a_peer_is_dropped_at_once() {
    let message: Arc<[u8]> = Arc::from(*b"state");
    let of_agent = Arc::clone(&message);
    let mut bench = Bench::with_agent(move || Messenger(Arc::clone(&of_agent)));
    let kept = Arc::strong_count(&message);
    bench.shake_hands(1);
    for number in 0..10 {
        assert_eq!(bench.on_core(&down(1, 1 + number * 100, 100, ACK)).len(), 1);
        assert_eq!(Arc::strong_count(&message), kept, "none is left in an outbox");
    }
    assert_eq!(bench.counters().passed.broken_agent, 0);
}
