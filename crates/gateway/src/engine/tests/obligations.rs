//! Tests that a connection with an obligation of an agent is not set aside or evicted, and stays
//! with its agent on a reload.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use lasthop_agent::{
    Accounts, Agent, Context, Deadline, FlowState, ImportError, Obligation, Owed, Scope, Side, Verdict,
};
use lasthop_packet::{FlowKey, Instant, Packet, Payload, Rng, TcpFlags};

use super::splitter::{SHIFT, Splitter};
use super::support::*;
use crate::connection::State;
use crate::frame::Frame;
use crate::io::PortId;
use crate::plan::Plan;

/// A server that sends a file to a client, and the client.
struct Transfer {
    client: u16,
    /// The server's next sequence number.
    sent: u32,
    /// The highest acknowledgment that the server has received.
    acknowledged: u32,
    /// The client's next expected sequence number, on its leg.
    received: u32,
    size: u32,
}

const MSS: u32 = 100;

impl Transfer {
    fn new(client: u16, size: u32) -> Self {
        Self { client, sent: 1, acknowledged: 1, received: 1 + SHIFT, size }
    }

    /// The server sends the next segment; after the end, it starts again at the first
    /// unacknowledged one.
    fn send(&mut self, bench: &mut Bench, lost: &mut impl FnMut() -> bool) {
        if self.sent > self.size {
            self.sent = self.acknowledged;
        }
        if self.sent <= self.size {
            let out = bench.on_core(&down(self.client, self.sent, MSS, ACK));
            self.sent += MSS;
            self.take(bench, out, lost);
        }
    }

    /// Delivers the gateway's frames, except for those that the hop loses.
    fn take(&mut self, bench: &mut Bench, out: Vec<(PortId, Frame)>, lost: &mut impl FnMut() -> bool) {
        let mut out: VecDeque<_> = out.into();
        while let Some((_, frame)) = out.pop_front() {
            let (_, packet) = frame.parse(true).expect("a packet of ours");
            let tcp = packet.tcp().expect("TCP").clone();
            if tcp.destination_port == SERVER.1 {
                self.acknowledged = self.acknowledged.max(tcp.ack.0);
            } else if !lost() && tcp.destination_port == self.client {
                if tcp.seq.0 == self.received {
                    let expected = Payload::Stream {
                        stream: 1,
                        offset: u64::from(tcp.seq.0 - SHIFT),
                        len: packet.payload().len() as u32,
                    };
                    assert_eq!(packet.payload().octets(), expected.octets(), "the octets that were sent");
                    self.received += packet.payload().len() as u32;
                }
                out.extend(bench.on_radio(&up(self.client, self.received, 0, ACK)));
            }
        }
    }

    fn is_delivered(&self) -> bool {
        self.received == 1 + SHIFT + self.size
    }

    /// The client sends its FIN.
    fn finish(&mut self, bench: &mut Bench) {
        let _ = bench.on_radio(&up(self.client, self.received, 0, ACK.with(TcpFlags::FIN)));
    }
}

fn splitting() -> Bench {
    Bench::with_agent(Splitter::default)
}

/// A connection with this number of acknowledged and undelivered segments.
fn at_risk(bench: &mut Bench, client: u16, segments: u32) -> Transfer {
    bench.shake_hands(client);
    let mut transfer = Transfer::new(client, segments * MSS);
    for _ in 0..segments {
        transfer.send(bench, &mut || true);
    }
    assert_eq!(transfer.acknowledged, 1 + segments * MSS, "the server takes all for delivered");
    transfer
}

/// Runs the agent's timers until the octets at risk are delivered.
fn deliver(bench: &mut Bench, transfer: &mut Transfer) {
    for _ in 0..100 {
        bench.later(Duration::from_millis(250));
        bench.engine.on_deadline(bench.now, &mut bench.out);
        let out = bench.take();
        transfer.take(bench, out, &mut || false);
    }
    assert!(transfer.is_delivered(), "{} of {}", transfer.received - SHIFT, transfer.size);
}

#[test]
fn octets_at_risk_are_counted() {
    let mut bench = splitting();
    let mut transfers = [at_risk(&mut bench, 1, 3), at_risk(&mut bench, 2, 5)];
    let report = bench.engine.report();
    assert_eq!((report.owed_connections, report.octets_at_risk), (2, u64::from(8 * MSS)));
    for transfer in &mut transfers {
        deliver(&mut bench, transfer);
    }
    let report = bench.engine.report();
    assert_eq!((report.owed_connections, report.octets_at_risk), (2, 0), "it still is both ends");
    for transfer in &mut transfers {
        transfer.finish(&mut bench);
    }
    assert_eq!(bench.engine.owed(), Owed::default());
    assert_eq!(bench.counters().counts.octets_broken, 0);
}

#[test]
fn a_connection_at_risk_is_set_aside_once_its_obligation_is_met() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    assert!(bench.engine.set_aside(key(1), bench.now, &mut bench.out));
    assert!(bench.out.set_aside.is_empty(), "not yet");
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    let _ = bench.on_core(&down(1, transfer.sent, 0, ACK));
    assert_eq!(bench.out.set_aside, [key(1)]);
    assert_eq!(bench.counters().counts.aside_asked, 1);
}

#[test]
fn a_full_table_refuses_new_connections_and_keeps_those_at_risk() {
    let mut plan = plan(vec![rule("splitter", Splitter::default)]);
    plan.budget.flows = 3;
    let mut bench = Bench::new(&plan);
    // Agents take on no obligation for the connection that fills the table.
    let mut transfers = [at_risk(&mut bench, 1, 3), at_risk(&mut bench, 2, 3)];
    bench.shake_hands(3);
    assert_eq!(bench.on_core(&down(3, 1, MSS, ACK)).len(), 1, "untouched");
    // The grace of all three has passed.
    bench.later(Duration::from_secs(60));
    bench.shake_hands(4);
    assert_eq!(bench.counters().counts.evicted, 1, "the one of which nothing is owed");
    bench.shake_hands(5);
    assert_eq!(bench.counters().counts.evicted, 1, "the latest is in its grace");
    assert!(bench.counters().passed.table_full > 0);
    for transfer in &mut transfers {
        deliver(&mut bench, transfer);
    }
    assert_eq!(bench.counters().counts.obligations_broken, 0);
}

#[test]
fn after_a_reload_without_its_rule_a_connection_at_risk_stays_with_its_agent() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    let without = plan(vec![rule("watcher", Watcher::default)]);
    bench.engine.reload(&without, bench.now, &mut bench.out);
    let report = bench.engine.report();
    let rules: Vec<_> = report.rules.iter().map(|rule| (rule.name.as_str(), rule.retiring)).collect();
    assert_eq!(rules, [("watcher", false), ("test", true)]);
    // New connections have the new rule.
    bench.shake_hands(2);
    assert_eq!(bench.on_core(&down(2, 1, MSS, ACK)).len(), 1);
    assert_eq!(bench.engine.owed().connections, 1);
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    let _ = bench.on_core(&down(1, transfer.sent, 0, ACK));
    bench.engine.reload(&without, bench.now, &mut bench.out);
    assert_eq!(bench.engine.report().rules.len(), 1, "nobody needs it any more");
}

#[test]
fn a_reload_with_other_settings_moves_a_connection_at_risk_to_the_new_agent() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    let mut other = plan(vec![rule("test", Splitter::default)]);
    "test { patience = 2 }".clone_into(&mut other.rules[0].spec);
    bench.engine.reload(&other, bench.now, &mut bench.out);
    let report = bench.engine.report();
    assert_eq!((report.rules.len(), report.rules[0].spec.as_str()), (1, "test { patience = 2 }"));
    assert_eq!(report.octets_at_risk, u64::from(3 * MSS));
    deliver(&mut bench, &mut transfer);
}

/// The plan of [`splitting`] with other settings, and with a budget below the memory of three
/// segments at risk.
fn tighter(make: impl Fn() -> Splitter + Send + Sync + 'static) -> Plan {
    let mut tighter = plan(vec![rule("test", make)]);
    "test { patience = 2 }".clone_into(&mut tighter.rules[0].spec);
    tighter.budget.octets_in_all = MSS as usize;
    tighter
}

#[test]
fn a_reload_with_a_smaller_budget_moves_all_existing_state() {
    let mut bench = splitting();
    let mut transfers = [at_risk(&mut bench, 1, 3), at_risk(&mut bench, 2, 3)];
    bench.engine.reload(&tighter(Splitter::default), bench.now, &mut bench.out);
    let report = bench.engine.report();
    assert_eq!((report.rules.len(), report.octets_at_risk), (1, u64::from(6 * MSS)));
    for transfer in &mut transfers {
        deliver(&mut bench, transfer);
    }
    assert_eq!(bench.counters().counts.obligations_broken, 0);
}

#[test]
fn a_connection_at_risk_stays_with_its_agent_if_the_new_one_refuses_its_state() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    let refusing = tighter(Splitter::refusing);
    bench.engine.reload(&refusing, bench.now, &mut bench.out);
    let report = bench.engine.report();
    assert_eq!(report.rules.iter().map(|rule| rule.retiring).collect::<Vec<_>>(), [false, true]);
    assert_eq!(report.octets_at_risk, u64::from(3 * MSS));
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    let _ = bench.on_core(&down(1, transfer.sent, 0, ACK));
    bench.engine.reload(&refusing, bench.now, &mut bench.out);
    assert_eq!(bench.engine.report().rules.len(), 1, "its time is over");
    assert_eq!(bench.counters().counts.obligations_broken, 0);
}

#[test]
fn an_obligation_that_both_agents_refuse_on_a_reload_is_counted_as_broken() {
    let mut bench = Bench::with_agent(Splitter::refusing);
    let _transfer = at_risk(&mut bench, 1, 3);
    bench.engine.reload(&tighter(Splitter::refusing), bench.now, &mut bench.out);
    let counts = bench.counters().counts;
    assert_eq!((counts.obligations_broken, counts.octets_broken), (1, u64::from(3 * MSS)));
    assert_eq!(bench.engine.owed(), Owed::default());
}

#[test]
fn a_drained_gateway_meets_its_obligations_and_takes_on_no_new_ones() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    bench.engine.drain(bench.now, &mut bench.out);
    bench.shake_hands(2);
    assert_eq!(bench.on_core(&down(2, 1, MSS, ACK)).len(), 1, "untouched");
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    assert_eq!(bench.engine.owed(), Owed::default());
}

#[test]
fn an_idle_connection_at_risk_is_kept_until_its_agent_is_free_of_it() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    for _ in 0..10 {
        bench.later(Duration::from_secs(3600));
        bench.engine.on_deadline(bench.now, &mut bench.out);
        assert!(bench.engine.deadline().is_some_and(|at| at > bench.now), "it is not asked for ever");
    }
    let counts = bench.counters().counts;
    assert_eq!((counts.expired, counts.obligations_broken), (0, 0));
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    bench.later(Duration::from_secs(3600));
    bench.engine.on_deadline(bench.now, &mut bench.out);
    let counts = bench.counters().counts;
    assert_eq!((counts.expired, counts.obligations_broken), (1, 0));
}

#[test]
fn connections_at_risk_move_between_gateways_at_any_time_without_loss() {
    for seed in 0..200 {
        let mut rng = Rng::named(seed, "moves");
        let mut bench = splitting();
        let mut transfers: BTreeMap<u16, Transfer> =
            (1..=3).map(|client| (client, Transfer::new(client, 40 * MSS))).collect();
        for transfer in transfers.values_mut() {
            bench.shake_hands(transfer.client);
            transfer.send(&mut bench, &mut || false);
        }
        let mut moves = 0;
        for _ in 0..2000 {
            let transfer = transfers.get_mut(&(1 + rng.below(3) as u16)).expect("one of three");
            transfer.send(&mut bench, &mut || rng.below(3) == 0);
            bench.later(Duration::from_millis(rng.below(40)));
            bench.engine.on_deadline(bench.now, &mut bench.out);
            for (port, frame) in bench.take() {
                let (_, packet) = frame.parse(true).expect("a packet of ours");
                let client = packet.tcp().expect("TCP").destination_port;
                let transfer = transfers.get_mut(&client).expect("one of three");
                transfer.take(&mut bench, vec![(port, frame)], &mut || rng.below(3) == 0);
            }
            if rng.below(20) == 0 {
                let at_risk = bench.engine.owed();
                let saved = bench.engine.export(bench.now, &mut bench.out);
                assert_eq!(bench.engine.owed(), Owed::default());
                let mut other = splitting();
                other.now = bench.now;
                for one in &saved {
                    assert_eq!(other.engine.import(one, other.now, &mut other.out), Ok(()));
                }
                assert_eq!(other.engine.owed(), at_risk);
                bench = other;
                moves += 1;
            }
        }
        assert!(moves > 50, "{moves} moves");
        assert!(transfers.values().all(Transfer::is_delivered), "seed {seed}");
    }
}

#[test]
fn a_syn_does_not_take_a_connection_at_risk_from_its_agent() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    let without = plan(vec![rule("watcher", Watcher::default)]);
    bench.engine.reload(&without, bench.now, &mut bench.out);
    let _ = bench.on_core(&down(1, 7, 0, TcpFlags::SYN));
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    assert_eq!(bench.engine.owed(), Owed::default());
}

#[test]
fn a_reload_that_restores_the_schemes_cancels_the_change_of_rule() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    bench.engine.reload(&plan(vec![rule("watcher", Watcher::default)]), bench.now, &mut bench.out);
    let mut back = plan(vec![rule("test", Splitter::default)]);
    "test { patience = 2 }".clone_into(&mut back.rules[0].spec);
    bench.engine.reload(&back, bench.now, &mut bench.out);
    let slot = bench.engine.connections.find(key(1)).expect("it is known");
    assert_eq!(bench.engine.connections.at(slot).draining, None);
    assert_eq!(bench.engine.report().octets_at_risk, u64::from(3 * MSS));
    deliver(&mut bench, &mut transfer);
}

#[test]
fn a_request_to_set_a_connection_aside_survives_a_reload() {
    let mut bench = splitting();
    let mut transfer = at_risk(&mut bench, 1, 3);
    assert!(bench.engine.set_aside(key(1), bench.now, &mut bench.out));
    bench.engine.reload(&plan(vec![rule("watcher", Watcher::default)]), bench.now, &mut bench.out);
    deliver(&mut bench, &mut transfer);
    transfer.finish(&mut bench);
    let _ = bench.on_core(&down(1, transfer.sent, 0, ACK));
    assert_eq!(bench.counters().counts.aside_asked, 1);
}

#[test]
fn an_import_restores_the_connection_and_refuses_states_of_other_connections() {
    let mut bench = splitting();
    let transfer = at_risk(&mut bench, 1, 3);
    let fin = ACK.with(TcpFlags::FIN);
    let _ = bench.on_core(&down(1, transfer.sent, MSS, fin));
    let saved = bench.engine.export(bench.now, &mut bench.out);
    let [one] = saved.as_slice() else { panic!("one: {saved:?}") };
    let mut other = splitting();
    other.now = bench.now;
    let mut forged = one.clone();
    forged.states.iter_mut().for_each(|state| state.connection = key(2));
    assert!(other.engine.import(&forged, other.now, &mut other.out).is_err());
    let mut value = serde_json::to_value(one).expect("it can be written");
    value["state"] = State::Datagrams.index().into();
    let forged = serde_json::from_value(value).expect("it can be read");
    let wrong = ImportError::Malformed("the state belongs to another protocol");
    assert_eq!(other.engine.import(&forged, other.now, &mut other.out), Err(wrong));
    assert_eq!(other.engine.owed(), Owed::default());
    assert_eq!(other.engine.import(one, other.now, &mut other.out), Ok(()));
    let _ = other.on_radio(&up(1, transfer.received, 0, ACK));
    let _ = other.on_radio(&up(1, transfer.received, 0, fin));
    let slot = other.engine.connections.find(key(1)).expect("it is known");
    assert_eq!(other.engine.connections.at(slot).state, State::Closing);
    let counts = other.counters().counts;
    assert_eq!((counts.taken_over, counts.not_taken_over), (1, 2));
}

#[test]
fn an_obligation_that_a_successor_refuses_is_counted_as_broken_only_there() {
    let mut bench = splitting();
    let _transfer = at_risk(&mut bench, 1, 3);
    let saved = bench.engine.export(bench.now, &mut bench.out);
    let mut other = Bench::with_agent(Splitter::refusing);
    other.now = bench.now;
    assert!(other.engine.import(&saved[0], other.now, &mut other.out).is_err());
    let [before, after] = [bench.counters().counts, other.counters().counts];
    assert_eq!((before.obligations_broken, before.octets_broken), (0, 0));
    assert_eq!((after.obligations_broken, after.octets_broken), (1, u64::from(3 * MSS)));
    assert_eq!(other.engine.owed(), Owed::default());
}

/// Terminates each connection from its SYN on.
#[derive(Default)]
struct Proxy(BTreeSet<FlowKey>);

impl Agent for Proxy {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _: &mut Context<'_>) -> Verdict {
        if packet.tcp().is_some_and(|tcp| tcp.flags == TcpFlags::SYN) {
            self.0.insert(from.connection(packet.flow_key().expect("TCP")));
        }
        Verdict::Forward
    }
}

impl Accounts for Proxy {
    fn obligation(&self, connection: FlowKey) -> Obligation {
        if self.0.contains(&connection) { Obligation::Terminates(0) } else { Obligation::Free }
    }

    fn owed(&self) -> Owed {
        Owed { connections: self.0.len() as u64, octets: 0 }
    }
}

impl lasthop_agent::Transfer for Proxy {
    fn export(&mut self, scope: Scope, _: &mut Context<'_>) -> Vec<FlowState> {
        let Scope::Connection(connection) = scope else { return Vec::new() };
        let state = || FlowState::new("proxy".into(), connection, Vec::new());
        self.0.remove(&connection).then(state).into_iter().collect()
    }

    fn import(&mut self, state: &FlowState, _: &mut Context<'_>) -> Result<(), ImportError> {
        self.0.insert(state.connection);
        Ok(())
    }
}

#[test]
fn a_one_way_connection_with_an_obligation_is_exported() {
    let mut bench = Bench::with_agent(Proxy::default);
    let _ = bench.on_core(&down(1, 0, 0, TcpFlags::SYN));
    let owed = bench.engine.owed();
    assert_eq!(owed.connections, 1);
    let saved = bench.engine.export(bench.now, &mut bench.out);
    assert_eq!((saved.len(), bench.engine.owed()), (1, Owed::default()));
    let mut other = Bench::with_agent(Proxy::default);
    other.now = bench.now;
    assert_eq!(other.engine.import(&saved[0], other.now, &mut other.out), Ok(()));
    assert_eq!(other.engine.owed(), owed);
    let slot = other.engine.connections.find(key(1)).expect("it is known");
    let connection = other.engine.connections.at(slot);
    assert_eq!((connection.state, connection.from_radio.arrival.is_none()), (State::Opening, true));
}

/// Owes seven octets of one connection, and panics at its deadline.
#[derive(Default)]
struct Defaulter {
    due: Option<Instant>,
}

impl Agent for Defaulter {
    fn on_packet(&mut self, _: &mut Packet, _: Side, cx: &mut Context<'_>) -> Verdict {
        self.due.get_or_insert(cx.now() + Duration::from_secs(1));
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, reason: "its end" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        assert!(self.due.is_none_or(|due| due > cx.now()), "its time has come");
    }
}

impl Accounts for Defaulter {
    fn owed(&self) -> Owed {
        if self.due.is_some() { Owed { connections: 1, octets: 7 } } else { Owed::default() }
    }
}

impl lasthop_agent::Transfer for Defaulter {}

#[test]
fn obligations_are_counted_as_broken_if_the_agent_panics_at_its_deadline() {
    let mut bench = Bench::with_agent(Defaulter::default);
    bench.shake_hands(1);
    assert_eq!(bench.engine.report().octets_at_risk, 7);
    bench.later(Duration::from_secs(2));
    bench.engine.on_deadline(bench.now, &mut bench.out);
    let counts = bench.counters().counts;
    assert_eq!((counts.obligations_broken, counts.octets_broken), (1, 7));
    assert_eq!(bench.engine.owed(), Owed::default());
}
