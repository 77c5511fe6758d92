//! Many connections of many clients, across many hand-offs.

use std::path::Path;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::model::FlowModel;
use lasthop_scenario::{Overrides, Scenario, file};
use lasthop_sim::{Roam, World};

/// Connections of each client, half of them in each direction.
const CONNECTIONS: usize = 100;

/// They begin so long after each other: a thousand SYNs at once would not fit into the queue of the server.
const START_APART: Duration = Duration::from_millis(20);

/// Ten clients that go back and forth past four access points, each with 100 connections.
fn crowd() -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/roaming-crowd.toml");
    let mut scenario = file::read(&path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let says_little = |flow: &&FlowModel| ["news", "position"].iter().any(|name| flow.name.starts_with(name));
    let quiet: Vec<FlowModel> = scenario.flows.iter().filter(says_little).cloned().collect();
    for copy in 2..CONNECTIONS / 2 {
        let copies = quiet.iter().cloned().map(|flow| FlowModel {
            name: format!("{}-{copy}", flow.name),
            start: flow.start + START_APART * copy as u32,
            ..flow
        });
        scenario.flows.extend(copies);
    }
    scenario
}

/// How long clients' connections were interrupted for longer than their radio was, in milliseconds, in order.
fn interruptions(world: &World) -> Vec<f64> {
    let interruption = |roam: &Roam| {
        let (from, _) = roam.from?;
        // A client that comes back at once is served all the time.
        if from == roam.to {
            return None;
        }
        let (joined, served) = (roam.joined?, roam.served?);
        Some(if served > joined { served.since(joined).as_secs_f64() * 1e3 } else { 0.0 })
    };
    let mut all: Vec<f64> = world.roams().iter().filter_map(interruption).collect();
    all.sort_by(f64::total_cmp);
    all
}

#[test]
#[expect(clippy::print_stdout, reason = "figures, with --nocapture")]
fn a_thousand_connections_of_ten_clients_survive_two_hundred_hand_offs() {
    let scenario = crowd();
    for scheme in scenario.schemes.iter().filter(|scheme| scheme.label == "cicada") {
        let mut built = scenario.build(scheme, 1).expect("the file is right");
        built.world.run(Instant::ZERO + scenario.duration, false);
        let world = &built.world;
        assert!(world.accounts().balance(), "{}", scheme.label);
        let outcomes: Vec<_> = built.flows.iter().map(|flow| world.outcome(*flow)).collect();
        assert_eq!(outcomes.len(), 10 * CONNECTIONS);
        for outcome in &outcomes {
            assert!(outcome.intact && outcome.gave_up.is_none(), "{}: {outcome:?}", scheme.label);
        }
        let (delivered, live) = (
            outcomes.iter().map(|flow| flow.octets).sum::<u64>(),
            outcomes.iter().filter(|flow| flow.octets > 0).count(),
        );
        assert_eq!(live, outcomes.len(), "{}: connections without an octet", scheme.label);
        let is_hand_off = |roam: &&Roam| roam.from.is_some_and(|(from, _)| from != roam.to);
        let hand_offs: Vec<&Roam> = world.roams().iter().filter(is_hand_off).collect();
        assert!(hand_offs.len() >= 200, "{}: {} hand-offs", scheme.label, hand_offs.len());
        let throughput = delivered as f64 * 8.0 / scenario.duration.as_secs_f64() / 1e6;
        println!("{}: {} hand-offs, {throughput:.1} Mbit/s", scheme.label, hand_offs.len());
        let interruptions = interruptions(world);
        assert_eq!(interruptions.len(), hand_offs.len(), "{}: hand-offs without a state", scheme.label);
        let at = |share: f64| interruptions[(share * (interruptions.len() - 1) as f64) as usize];
        let (octets, connections) = hand_offs.iter().fold((0, 0), |(octets, connections), roam| {
            (octets + roam.octets, connections + roam.connections)
        });
        println!(
            "  interrupted for {:.2} ms in the median, {:.2} ms at 99%; {} kB and {} connections a hand-off",
            at(0.5),
            at(0.99),
            octets / 1000 / hand_offs.len() as u64,
            connections / hand_offs.len(),
        );
        // A round trip to the former access point, one to the registry, and what a hundred connections need.
        assert!(at(0.5) <= 5.0, "{}: {} ms in the median", scheme.label, at(0.5));
    }
    assert!(scenario.duration >= Duration::from_secs(60));
}
