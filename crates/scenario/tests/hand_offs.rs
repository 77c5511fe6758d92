//! Clients that roam between access points with agents.

use std::path::Path;
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_scenario::{Overrides, Scenario, file};
use lasthop_sim::FlowOutcome;

/// The corridor of `scenarios/roaming.toml`. `hands_over`: whether access points hand over what their agents know.
fn corridor(hands_over: bool) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/roaming.toml");
    let mut scenario = file::read(&path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    scenario.duration = Duration::from_secs(60);
    if !hands_over && let Some(roaming) = &mut scenario.wlans[0].roaming {
        roaming.registry = None;
    }
    scenario
}

/// The outcome of each flow under each scheme; every packet is accounted for.
fn outcomes(scenario: &Scenario) -> Vec<(String, Vec<FlowOutcome>)> {
    let run = |scheme: &lasthop_scenario::SchemeChoice| {
        let mut built = scenario.build(scheme, 1).expect("the file is right");
        built.world.run(Instant::ZERO + scenario.duration, false);
        assert!(built.world.accounts().balance(), "{}", scheme.label);
        let roams = built.world.roams().iter().filter(|roam| roam.from.is_some());
        for roam in roams.clone() {
            assert_eq!(roam.served.is_some(), built.world.hands_over(), "{}: {roam:?}", scheme.label);
        }
        assert!(roams.count() >= 2, "{}", scheme.label);
        let flows = built.flows.iter().map(|flow| built.world.outcome(*flow)).collect();
        (scheme.label.clone(), flows)
    };
    scenario.schemes.iter().map(run).collect()
}

#[test]
fn connections_survive_where_access_points_hand_over_the_state_of_their_agents() {
    let all = outcomes(&corridor(true));
    let none = &all[0].1;
    for (scheme, flows) in &all {
        for (flow, plain) in flows.iter().zip(none) {
            assert!(flow.intact && flow.gave_up.is_none(), "{scheme}: {flow:?}");
            // At 6 Mbit/s a state of a megabyte takes its time on the way, and nothing is carried meanwhile.
            assert!(flow.octets * 10 > plain.octets * 8, "{scheme}: {} of {}", flow.octets, plain.octets);
        }
    }
}

#[test]
fn a_split_connection_does_not_survive_where_its_state_stays_behind() {
    for (scheme, flows) in outcomes(&corridor(false)) {
        let download = &flows[0];
        assert!(download.intact, "{scheme}: {download:?}");
        let expected = match scheme.as_str() {
            // The peers have acknowledged to each other's agents what neither has.
            "i-tcp" | "cicada" => 0..20_000_000,
            _ => 20_000_000..40_000_000,
        };
        assert!(expected.contains(&download.octets), "{scheme}: {download:?}");
    }
}
