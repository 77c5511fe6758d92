//! Clients that roam between access points that translate addresses: `scenarios/roaming-nat.toml`.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lasthop_packet::{Ends, Instant};
use lasthop_scenario::{Built, Overrides, Scenario, file};
use lasthop_sim::{Interest, LinkId, Observer, SessionResult, TraceEvent};

/// The first minute of the scenario, with two hand-offs of each client.
fn corridor(nat: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/roaming-nat.toml");
    let settings = vec![format!("wlans.corridor.roaming.nat={nat}")];
    let overrides = Overrides { settings, ..Overrides::default() };
    let mut scenario = file::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    scenario.duration = Duration::from_secs(75);
    scenario
}

/// Transactions of the session that failed, and octets of the flow from outside.
fn outcome(built: &Built, label: &str) -> (u64, u64) {
    assert!(built.world.accounts().balance(), "{label}");
    let roams = built.world.roams().iter().filter(|roam| roam.from.is_some());
    assert!(roams.count() >= 4, "{label}");
    let flow = built.world.outcome(built.flows[0]);
    assert!(flow.intact, "{label}: {flow:?}");
    let files = built.world.session_outcome(built.sessions[0]);
    let SessionResult::Dialogue(dialogue) = files.result else { panic!("it is a dialogue") };
    assert!(files.intact && dialogue.times.count() > 0, "{label}: {dialogue:?}");
    (dialogue.failed, flow.octets)
}

/// The addresses in packets' headers and in those of the packets that they quote, by link.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeSet<(LinkId, IpAddr)>>>);

impl Observer for Seen {
    fn interest(&self) -> Interest {
        Interest::INTERFACES
    }

    fn on_event(&mut self, _: Instant, event: &TraceEvent<'_>) {
        let (TraceEvent::InterfaceOut { link, packet, .. } | TraceEvent::InterfaceIn { link, packet, .. }) =
            event
        else {
            return;
        };
        let quoted = Ends::quoted(packet).into_iter().flat_map(|ends| [ends.source.0, ends.destination.0]);
        let addresses = [packet.ip().source, packet.ip().destination].into_iter().chain(quoted);
        let mut seen = self.0.lock().expect("no panic while it was locked");
        seen.extend(addresses.map(|address| (*link, address)));
    }
}

#[test]
fn connections_survive_on_two_levels_and_no_link_shows_what_is_inside_under_any_scheme() {
    let scenario = corridor("two-level");
    for scheme in &scenario.schemes {
        let mut built = scenario.build(scheme, 1).expect("the file is right");
        let seen = Seen::default();
        built.world.observe(Box::new(seen.clone()));
        built.world.run(Instant::ZERO + scenario.duration, false);
        let (failed, octets) = outcome(&built, &scheme.label);
        assert_eq!(failed, 0, "{}", scheme.label);
        // 16 kbit/s from the first second on.
        assert!(octets > 145_000, "{}: {octets}", scheme.label);
        let addresses = |prefix: &str| -> Vec<IpAddr> {
            let nodes = scenario.nodes.iter().zip(&built.nodes);
            let nodes = nodes.filter(|(model, _)| model.name.starts_with(prefix));
            nodes.map(|(_, node)| built.world.node_address(*node)).collect()
        };
        let (clients, access_points) = (addresses("walker"), addresses("ap"));
        let seen = seen.0.lock().expect("no panic while it was locked");
        for (model, link) in scenario.links.iter().zip(&built.links) {
            let on_link = |of: &[IpAddr]| of.iter().any(|address| seen.contains(&(*link, *address)));
            let expected = match model.name() {
                "uplink" => (false, false),
                cable if cable.starts_with("cable") => (false, true),
                _ => (true, false),
            };
            assert_eq!((on_link(&clients), on_link(&access_points)), expected, "{}", model.name());
        }
    }
}

#[test]
fn connections_survive_with_bridges_and_break_with_independent_translators() {
    for (nat, breaks) in [("none", false), ("independent", true)] {
        let scenario = corridor(nat);
        let mut built = scenario.build(&scenario.schemes[0], 1).expect("the file is right");
        built.world.run(Instant::ZERO + scenario.duration, false);
        let (failed, octets) = outcome(&built, nat);
        assert_eq!((failed > 0, octets < 145_000), (breaks, breaks), "{nat}: {failed}, {octets}");
    }
}
