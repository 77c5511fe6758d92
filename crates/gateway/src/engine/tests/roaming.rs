//! Tests that the connections of a client follow it from one access point to another.

mod site;

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Rng, TcpFlags};

use super::splitter::{SHIFT, Splitter};
use super::support::*;
use crate::engine::whereabouts::{HOLD, MAX_HELD};
use crate::engine::{Engine, Outgoing, SavedConnection};
use crate::frame::{Frame, MacAddress};
use site::{Connection, Faults, Site};

const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 3]);
const SERVER_ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// The Ethernet header of a packet to the client or from it, as a bridge forwards it.
fn bridged(from: MacAddress, to: MacAddress) -> Vec<u8> {
    [&to.0[..], &from.0, &[8, 0]].concat()
}

/// An access point whose clients may roam.
struct AccessPoint(Bench);

impl AccessPoint {
    fn new() -> Self {
        let mut bench = Bench::with_agent(Splitter::default);
        bench.engine.roam(4);
        Self(bench)
    }

    /// One at which the client is.
    fn with_client() -> Self {
        let mut access_point = Self::new();
        access_point.serve(&[]);
        access_point
    }

    fn up(&mut self, packet: &lasthop_packet::Packet) -> usize {
        self.0.push(RADIO, frame(&bridged(CLIENT, SERVER_ADDRESS), packet)).len()
    }

    fn down(&mut self, packet: &lasthop_packet::Packet) -> usize {
        self.0.push(CORE, frame(&bridged(SERVER_ADDRESS, CLIENT), packet)).len()
    }

    fn connect(&mut self, port: u16) {
        self.up(&up(port, 0, 0, TcpFlags::SYN));
        self.down(&down(port, 0, 0, TcpFlags::SYN.with(ACK)));
        self.up(&up(port, 1, 0, ACK));
    }

    fn serve(&mut self, saved: &[SavedConnection]) -> crate::engine::Served {
        let Bench { engine, out, now } = &mut self.0;
        engine.serve_client(CLIENT, saved, *now, out)
    }

    fn give(&mut self) -> Vec<SavedConnection> {
        let Bench { engine, out, now } = &mut self.0;
        engine.give_client(CLIENT, *now, out).saved
    }

    fn counters(&self) -> crate::engine::RoamingCounters {
        self.0.engine.roaming_counters().expect("clients may roam")
    }
}

#[test]
fn a_split_connection_goes_on_at_another_access_point_whose_ports_have_other_numbers() {
    let mut old = AccessPoint::with_client();
    old.connect(1);
    assert_eq!(old.down(&down(1, 1, 100, ACK)), 2, "to the client, and an acknowledgment");
    let saved = old.give();
    assert_eq!((saved.len(), old.0.engine.owed().connections), (1, 0));
    let mut plan = plan(vec![rule("test", Splitter::default)]);
    plan.budget.flows = 50;
    let port =
        |name: &str, side| crate::io::Port { name: name.into(), side, ethernet: true, copies_of: None };
    let ports = [
        port("wlan0", Side::Radio),
        port("wlan0", Side::Core),
        port("wlan1", Side::Radio),
        port("wlan1", Side::Core),
    ];
    let (mut engine, mut out, now) = (Engine::new(&ports, &plan), Outgoing::default(), old.0.now);
    engine.roam(4);
    engine.await_client(CLIENT, now, &mut out);
    let acknowledgment = frame(&bridged(CLIENT, SERVER_ADDRESS), &up(1, 1 + SHIFT, 0, ACK));
    engine.on_frame(crate::io::PortId(2), acknowledgment, now, &mut out);
    assert_eq!(out.frames, [], "it waits");
    let served = engine.serve_client(CLIENT, &saved, now, &mut out);
    assert_eq!((served.connections, served.refused), (1, 0), "{served:?}");
    let later = now + Duration::from_secs(1);
    engine.on_deadline(later, &mut out);
    let retransmitted: Vec<u16> = out.frames.iter().map(|(port, _)| port.0).collect();
    assert_eq!(retransmitted, [3], "to the interface at which the client is");
}

#[test]
fn a_connection_whose_state_is_refused_is_reset_on_both_sides() {
    let mut old = AccessPoint::with_client();
    old.connect(1);
    old.down(&down(1, 1, 100, ACK));
    let saved = old.give();
    let mut new = AccessPoint(Bench::with_agent(Splitter::refusing));
    new.0.engine.roam(4);
    let served = new.serve(&saved);
    assert_eq!((served.connections, served.refused), (0, 1), "{served:?}");
    let mut resets: Vec<u16> = new.0.out.frames.iter().map(|(port, _)| port.0).collect();
    resets.sort_unstable();
    let mut ports = [CORE, RADIO].map(|port| port.0);
    ports.sort_unstable();
    assert_eq!(resets, ports);
    assert_eq!(new.0.engine.owed().connections, 0);
}

#[test]
fn many_connections_are_given_in_several_turns_while_the_client_is_elsewhere() {
    let mut old = AccessPoint::with_client();
    let connections = 70;
    for port in 1..=connections {
        old.connect(port);
        old.down(&down(port, 1, 100, ACK));
    }
    let Bench { engine, out, now } = &mut old.0;
    let first = engine.give_client(CLIENT, *now, out);
    assert!(!first.is_all && first.saved.len() < usize::from(connections), "{}", first.saved.len());
    let left = usize::from(connections) - first.saved.len();
    old.0.take();
    // A connection that was not given yet goes on, and no new one begins.
    assert_eq!(old.0.engine.owed().connections, left as u64);
    old.down(&down(connections + 1, 0, 0, TcpFlags::SYN));
    assert_eq!(old.0.engine.owed().connections, left as u64);
    assert_eq!(old.give().len(), left);
    assert_eq!(old.0.engine.owed().connections, 0);
}

#[test]
fn a_packet_of_a_client_waits_for_its_state_and_is_then_shown_to_the_agent() {
    let mut old = AccessPoint::with_client();
    old.connect(1);
    old.down(&down(1, 1, 100, ACK));
    let saved = old.give();
    let mut new = AccessPoint::new();
    assert_eq!(new.up(&up(1, 101 + SHIFT, 0, ACK)), 0);
    assert_eq!(new.0.engine.take_arrived(), [CLIENT]);
    assert_eq!(new.down(&down(1, 101, 100, ACK)), 0, "of both directions");
    new.serve(&saved);
    assert_eq!(new.0.engine.owed().octets, 100, "the first segment is acknowledged, the second is not");
    assert_eq!(new.0.take().len(), 2);
    assert_eq!(new.0.engine.take_arrived(), []);
}

#[test]
fn a_packet_whose_state_does_not_come_passes_after_the_hold() {
    let mut new = AccessPoint::new();
    assert_eq!(new.up(&up(1, 1, 10, ACK)), 0);
    let end = new.0.now + HOLD;
    assert_eq!(new.0.engine.deadline(), Some(end));
    new.0.now = end;
    new.0.engine.on_deadline(end, &mut new.0.out);
    assert_eq!(new.0.take().len(), 1);
    assert_eq!(new.up(&up(1, 1, 10, ACK)), 1, "no other one waits");
    assert_eq!(new.down(&down(1, 1, 10, ACK)), 1);
    assert_eq!(new.0.counters().counts.connections, 0, "no agent begins in the middle of a connection");
    assert_eq!((new.counters().held, new.counters().passed), (1, 3));
    new.serve(&[]);
    assert_eq!(new.up(&up(1, 1, 10, ACK)), 1);
    assert_eq!(new.0.counters().counts.connections, 1);
}

#[test]
fn packets_to_a_client_that_is_elsewhere_pass_and_one_from_it_means_that_it_is_back() {
    let mut old = AccessPoint::with_client();
    old.connect(1);
    old.give();
    assert_eq!(old.down(&down(1, 1, 10, ACK)), 1);
    assert_eq!(old.0.engine.take_arrived(), []);
    assert_eq!(old.up(&up(1, 1, 10, ACK)), 0, "it waits");
    assert_eq!(old.0.engine.take_arrived(), [CLIENT]);
}

#[test]
fn packets_that_wait_take_bounded_memory() {
    let mut new = AccessPoint::new();
    let room = MAX_HELD / 1000;
    for _ in 0..room {
        assert_eq!(new.up(&up(1, 1, 1400, ACK)), 0);
    }
    let counters = new.counters();
    assert!(counters.held > 400 && counters.dropped > 0, "{counters:?}");
    assert_eq!(counters.held + counters.dropped, room as u64);
    new.serve(&[]);
    assert_eq!(new.0.take().len() as u64, counters.held);
    // The room is free again.
    new.give();
    assert_eq!(new.up(&up(2, 1, 1400, ACK)), 0);
    assert_eq!(new.counters().held, counters.held + 1);
}

#[test]
fn clients_beyond_the_bound_are_served_and_do_not_roam() {
    let mut new = AccessPoint::new();
    for last in 0..6 {
        let client = MacAddress([2, 0, 0, 0, 1, last]);
        let sent = new.0.push(RADIO, frame(&bridged(client, SERVER_ADDRESS), &up(1, 1, 10, ACK)));
        assert_eq!(sent.len(), usize::from(last >= 4), "client {last}");
    }
    assert_eq!(new.counters().too_many, 1, "the second one has a connection by then");
    assert_eq!(new.0.engine.take_arrived().len(), 4);
}

#[test]
fn a_state_of_another_client_is_refused() {
    let mut old = AccessPoint::with_client();
    old.connect(1);
    old.down(&down(1, 1, 100, ACK));
    let saved = old.give();
    let mut new = AccessPoint::new();
    let Bench { engine, out, now } = &mut new.0;
    let other = MacAddress([2, 0, 0, 0, 0, 4]);
    let served = engine.serve_client(other, &saved, *now, out);
    assert_eq!((served.connections, served.refused), (0, 1));
    let counts = engine.report().counters.counts;
    assert_eq!((counts.obligations_broken, counts.octets_broken), (1, 100), "it was given up elsewhere");
}

#[test]
fn a_drained_engine_holds_nothing() {
    let mut new = AccessPoint::new();
    assert_eq!(new.up(&up(1, 1, 10, ACK)), 0);
    new.0.engine.drain(new.0.now, &mut new.0.out);
    assert_eq!(new.0.take().len(), 1);
    assert_eq!(new.up(&up(1, 1, 10, ACK)), 1);
}

#[test]
fn clients_of_connections_from_before_a_restart_are_here() {
    let mut old = AccessPoint::with_client();
    old.connect(1);
    old.down(&down(1, 1, 100, ACK));
    let saved = old.0.engine.export(old.0.now, &mut old.0.out);
    let mut next = AccessPoint(Bench::with_agent(Splitter::default));
    assert_eq!(next.0.engine.import(&saved[0], next.0.now, &mut next.0.out), Ok(()));
    next.0.engine.roam(4);
    assert_eq!(next.0.engine.take_arrived(), [CLIENT]);
    next.connect(2);
    assert_eq!(next.counters().held, 0);
}

#[test]
fn every_received_packet_passes_or_is_seen_or_waits_or_is_dropped() {
    let mut rng = Rng::named(1, "balance");
    let mut new = AccessPoint::new();
    for _ in 0..2000 {
        let port = 1 + rng.below(3) as u16;
        match rng.below(40) {
            0 => drop(new.serve(&[])),
            1 => drop(new.give()),
            2 => {
                new.0.later(Duration::from_millis(rng.below(400)));
                new.0.engine.on_deadline(new.0.now, &mut new.0.out);
            }
            3..20 => drop(new.up(&up(port, 1, 10, ACK))),
            _ => drop(new.down(&down(port, 1, 10, ACK))),
        }
        let counters = new.counters();
        let report = new.0.engine.report();
        let packets = report.agents.packets;
        let seen_or_passed = packets.seen + report.counters.passed.sum() + counters.passed + counters.dropped;
        let waiting = report.counters.counts.received - seen_or_passed;
        assert_eq!(
            waiting,
            new.0.engine.roaming.as_ref().map_or(0, |roaming| roaming.waiting()),
            "{counters:?} {:?}",
            report.counters
        );
    }
    assert!(new.counters().held > 50 && new.counters().passed > 50, "{:?}", new.counters());
}

/// How many connections of each kind there are, and how much each carries.
const KINDS: u16 = 3;
const SEGMENTS: u32 = 60;

fn walk(seed: u64, faults: Faults) -> Site {
    let mut site = Site::new(seed, faults, KINDS, SEGMENTS);
    site.run();
    site
}

#[test]
fn all_connections_of_a_client_that_walks_arrive_whole_though_messages_are_lost_doubled_and_reordered() {
    let (mut moves, mut with_state, mut unreachable) = (0, 0, 0);
    for seed in 0..150 {
        let site = walk(seed, Faults { messages: true, ..Faults::default() });
        // An access point whose answers are lost three times counts as dead, and its state with it. When the
        // client is served for the first time, there is no state.
        let is_excused = site.counters().without_state > 1;
        let is_safe = |one: &&Connection| !(one.is_split && is_excused);
        assert!(
            site.connections().filter(is_safe).all(Connection::is_delivered),
            "seed {seed}: {}",
            site.describe()
        );
        moves += site.moves;
        with_state += site.counters().received;
        unreachable += u32::from(is_excused);
    }
    assert!(moves > 1500 && with_state > 700, "{moves} moves, {with_state} with a state");
    assert!(unreachable < 15, "{unreachable} runs of 150");
}

#[test]
fn connections_of_which_nothing_is_owed_survive_an_outage_of_the_registry_and_the_death_of_gateways() {
    let mut deaths = 0;
    for seed in 0..150 {
        let site = walk(seed, Faults { messages: true, outages: true, deaths: true });
        for connection in site.connections().filter(|connection| !connection.is_split) {
            assert!(connection.is_delivered(), "seed {seed}: {}", site.describe());
        }
        deaths += site.deaths;
    }
    assert!(deaths > 100, "{deaths} deaths");
}

#[test]
fn all_connections_survive_an_outage_of_the_registry() {
    for seed in 0..150 {
        let site = walk(seed, Faults { outages: true, ..Faults::default() });
        assert!(site.connections().all(Connection::is_delivered), "seed {seed}: {}", site.describe());
    }
}
