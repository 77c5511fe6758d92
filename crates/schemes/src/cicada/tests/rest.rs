//! States that follow: the data that a connection does not need at once.

use std::time::Duration;

use lasthop_agent::{
    Accounts as _, Budget, Context, FlowState, ImportError, Outbox, Owed, Scope, Side, Transfer as _,
};
use lasthop_packet::{Packet, Rng, TcpFlags};

use super::bench::{Bench, Step, fixed, mobile};
use crate::cicada::{Cicada, Settings};

/// Octets that the fixed host has sent, and the mobile host has not acknowledged.
const OCTETS: u32 = 60_000;

/// An agent that holds much for a mobile host.
fn full() -> Bench {
    let mut bench = Bench::split();
    for start in (0..OCTETS).step_by(1000) {
        bench.core(&fixed(1001 + start, 1000, 5001));
    }
    assert_eq!(bench.obligation().octets(), u64::from(OCTETS));
    bench
}

fn export(bench: &mut Bench) -> Vec<FlowState> {
    let exported = bench.seat.call(bench.now, |agent, cx| agent.export(Scope::All, cx));
    bench.seat.agent = Some(Cicada::new(&Settings::default()));
    exported.expect("there is an agent").0
}

/// Imports a state. Whether it was taken.
fn import(bench: &mut Bench, state: &FlowState) -> bool {
    let called = bench.seat.call(bench.now, |agent, cx| agent.import(state, cx));
    called.expect("there is an agent").0.is_ok()
}

#[test]
fn a_connection_continues_with_what_is_outstanding_and_owes_the_rest() {
    let mut bench = full();
    let states = export(&mut bench);
    let follow: Vec<bool> = states.iter().map(|state| state.may_follow).collect();
    assert_eq!(follow, [false, true]);
    let octets: u64 = states.iter().map(FlowState::len_with_payloads).sum();
    assert!(octets >= u64::from(OCTETS), "{octets}");
    assert!(import(&mut bench, &states[0]));
    assert_eq!(bench.obligation().octets(), u64::from(OCTETS), "owed, although it is not here");
    // What comes next belongs behind it.
    let next = bench.core(&fixed(1001 + OCTETS, 1000, 5001));
    assert!(next.to(Side::Radio).iter().all(|line| line.contains("+0 ")), "{next:?}");
    assert!(import(&mut bench, &states[1]));
    assert_eq!(bench.obligation().octets(), u64::from(OCTETS) + 1000);
    assert!(!import(&mut bench, &states[1]), "it comes once");
}

fn is_reset(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::RST))
}

/// The segments with data to the mobile host, as lines.
fn data(step: &Step) -> Vec<String> {
    step.to(Side::Radio).into_iter().filter(|line| !line.contains("+0 ")).collect()
}

#[test]
fn outstanding_data_is_sent_again_only_when_it_has_come() {
    let mut bench = full();
    let states = export(&mut bench);
    assert!(import(&mut bench, &states[0]));
    let waited = bench.wait(2_000);
    assert_eq!(data(&waited), Vec::<String>::new(), "it is not here");
    assert!(import(&mut bench, &states[1]));
    let sent = data(&bench.wait(2_000));
    assert!(sent[0].starts_with("A 1001+1460 "), "{sent:?}");
}

#[test]
fn outstanding_data_may_be_acknowledged_before_it_comes() {
    let mut bench = full();
    let states = export(&mut bench);
    assert!(import(&mut bench, &states[0]));
    // The radio leg had sent ten segments.
    let acknowledged = 2 * 1460;
    bench.radio(&mobile(5001, 100, 1001 + acknowledged));
    let owed = u64::from(OCTETS - acknowledged) + 100;
    assert_eq!(bench.obligation().octets(), owed);
    assert!(import(&mut bench, &states[1]));
    assert_eq!(bench.obligation().octets(), owed);
    let sent = data(&bench.wait(2_000));
    assert!(sent[0].starts_with("A 3921+1460 "), "{sent:?}");
}

#[test]
fn a_refused_state_sends_nothing_and_one_that_is_given_up_resets_both_ends() {
    let mut bench = full();
    let states = export(&mut bench);
    let (mut rng, mut outbox) = (Rng::named(1, "no room"), Outbox::default());
    let budget = Budget { octets_in_all: 4096, ..Budget::default() };
    let mut cx = Context::new(bench.now, &mut rng, &mut outbox).within(budget);
    let mut agent = Cicada::new(&Settings::default());
    assert_eq!(agent.import(&states[0], &mut cx), Err(ImportError::NoRoom("connections")));
    assert_eq!(outbox.packets, Vec::new(), "another agent may continue it");
    let mut cx = Context::new(bench.now, &mut rng, &mut outbox);
    agent.give_up(&states[0], &mut cx);
    let resets: Vec<Side> =
        outbox.packets.iter().filter(|(_, packet)| is_reset(packet)).map(|(side, _)| *side).collect();
    assert_eq!(resets, [Side::Core, Side::Radio]);
    assert!(agent.owed() == Owed::default() && agent.octets() == Cicada::new(&Settings::default()).octets());
}

#[test]
fn a_piece_is_taken_only_in_its_place() {
    let mut bench = full();
    for start in (OCTETS..2 * OCTETS).step_by(1000) {
        bench.core(&fixed(1001 + start, 1000, 5001));
    }
    let states = export(&mut bench);
    assert!(states.len() > 2, "{} states", states.len());
    assert!(import(&mut bench, &states[0]));
    assert!(!import(&mut bench, &states[2]), "another one comes before it");
    assert!(states[1..].iter().all(|state| import(&mut bench, state)));
}

#[test]
fn a_connection_whose_rest_does_not_come_is_reset_at_both_ends() {
    let mut bench = full();
    let states = export(&mut bench);
    assert!(import(&mut bench, &states[0]));
    let sent = bench.wait(11_000).sent;
    for side in [Side::Core, Side::Radio] {
        assert!(sent.iter().any(|(to, packet)| *to == side && is_reset(packet)), "{side:?}");
    }
    assert!(bench.obligation().is_free());
    assert!(!import(&mut bench, &states[1]), "nobody waits for it");
}

#[test]
fn another_rest_is_refused() {
    let (mut one, mut other) = (full(), full());
    other.core(&fixed(1001 + OCTETS, 1000, 5001));
    let (states, others) = (export(&mut one), export(&mut other));
    assert!(!import(&mut one, &states[1]), "there is no connection");
    assert!(import(&mut one, &states[0]));
    assert!(!import(&mut one, &others[1]), "it is longer");
    assert!(import(&mut one, &states[1]));
}

#[test]
fn a_connection_moves_on_before_its_rest_has_come() {
    let mut bench = full();
    let first = export(&mut bench);
    assert!(import(&mut bench, &first[0]));
    let second = export(&mut bench);
    assert_eq!(second.len(), 1, "it has nothing that could follow");
    assert!(import(&mut bench, &second[0]) && import(&mut bench, &first[1]));
    assert_eq!(bench.obligation().octets(), u64::from(OCTETS));
}

#[test]
fn fixed_hosts_pause_at_a_hand_off_if_they_are_to() {
    for pause_senders in [false, true] {
        let mut bench = Bench::split_with(Settings { pause_senders, ..Settings::default() });
        bench.core(&fixed(1001, 1000, 5001));
        let called = bench.seat.call(bench.now, |agent, cx| agent.prepare_export(Scope::All, cx));
        let ((), sent) = called.expect("there is an agent");
        let windows = sent.iter().map(|(side, packet)| (*side, packet.tcp().map(|tcp| tcp.window)));
        let expected = if pause_senders { vec![(Side::Core, Some(0))] } else { Vec::new() };
        assert_eq!(windows.collect::<Vec<_>>(), expected);
        let states = export(&mut bench);
        let called = bench.seat.call(bench.now, |agent, cx| agent.import(&states[0], cx));
        let (_, sent) = called.expect("there is an agent");
        let opens = sent
            .iter()
            .any(|(side, packet)| *side == Side::Core && packet.tcp().is_some_and(|tcp| tcp.window > 0));
        assert!(opens, "the window opens with the state");
        assert!(states[1..].iter().all(|state| import(&mut bench, state)));
        assert!(bench.seat.deadline().is_some_and(|due| due.at < bench.now + Duration::from_secs(1)));
        assert!(bench.seat.agent.as_ref().is_some_and(|agent| agent.octets() > 0));
    }
}
