//! `check`, which builds no world, agrees with `build`, and refuses the scenarios that a world
//! would refuse.

mod random;

use std::collections::BTreeMap;

use lasthop_aodv::AodvConfig;
use lasthop_packet::Rng;
use lasthop_scenario::model::{GivenRoute, Placement};
use lasthop_scenario::{BuildError, Link, LinkModel, Scenario, SchemeChoice, WlanModel, WlanStation};
use lasthop_schemes::catalog::CATALOG;
use lasthop_schemes::{Placement as _, Role, Seat};
use lasthop_sim::queue::StationQueue;
use lasthop_sim::world::{AodvError, AttachError};
use lasthop_sim::{LinkLayer, NodeId, NodeKind, RadioLinkConfig};
use lasthop_wifi::{Position, Propagation, Standard, StationConfig, WlanConfig};

#[test]
fn check_and_build_say_the_same() {
    let mut said: BTreeMap<&str, u32> = BTreeMap::new();
    for shape in 0..600 {
        let mut scenario = random::scenario(shape, shape % 3 != 0);
        spoil(&mut scenario, &mut Rng::named(shape, "spoil"));
        for scheme in schemes() {
            let (checked, built) = (scenario.check(&scheme, shape), scenario.build(&scheme, shape).map(drop));
            assert_eq!(checked, built, "{scheme:?}, shape {shape}");
            let verdict = match checked {
                Ok(()) => "right",
                Err(BuildError::Agent { .. }) => "agent",
                Err(BuildError::OnDemand { problem: AodvError::OtherLinks, .. }) => "on demand",
                Err(BuildError::Circle { .. }) => "circle",
                Err(BuildError::Placement { .. }) => "placement",
                Err(BuildError::NoRoute { .. }) => "no route",
                Err(other) => panic!("{other}"),
            };
            *said.entry(verdict).or_default() += 1;
        }
    }
    assert_eq!(said.len(), 6, "{said:?}");
    assert!(said.values().all(|times| *times >= 30), "{said:?}");
}

/// Two stations that are within range of each other only with some seeds.
#[test]
fn a_comparison_is_checked_with_each_of_its_seeds() {
    let mut scenario = random::scenario(1, true);
    add_field(&mut scenario, &mut Rng::named(1, "field"));
    scenario.links.truncate(scenario.links.iter().position(|link| link.link.is_of_cell(0)).expect("a cell"));
    scenario.flows.truncate(1);
    let cell = &mut scenario.wlans[0];
    cell.routing = None;
    cell.config.propagation = Propagation::Ranges { reception: 0.6, carrier_sense: 1.0 };
    cell.placement = Some(Placement { area: Position::new(100.0, 100.0), apart: Some((0, 1, 1)) });
    let stands = |seed: &u64| scenario.check(&none(), *seed).is_ok();
    let (right, wrong): (Vec<u64>, Vec<u64>) = (0..20).partition(stands);
    assert!(!right.is_empty() && !wrong.is_empty(), "{right:?}, {wrong:?}");
    scenario.seeds = right;
    assert_eq!(scenario.check_all(), Ok(()));
    scenario.seeds.push(wrong[0]);
    let error = scenario.check_all().expect_err("one of its seeds has no places");
    assert!(matches!(error, BuildError::Placement { seed, .. } if seed == wrong[0]), "{error}");
}

/// Builds a world without the parts that may be refused, and compares its refusals of these parts.
#[test]
fn check_refuses_the_same_scenarios_as_a_world() {
    for shape in 0..300 {
        let mut scenario = random::scenario(shape, shape % 3 != 0);
        spoil(&mut scenario, &mut Rng::named(shape, "spoil"));
        scenario.wlans.iter_mut().for_each(|wlan| wlan.placement = None);
        if matches!(scenario.check(&none(), shape), Err(BuildError::OnDemand { .. })) {
            continue;
        }
        let routes = std::mem::take(&mut scenario.routes);
        let flows = std::mem::take(&mut scenario.flows);
        let mut built = scenario.build(&none(), shape).expect("nothing is left that could be refused");
        for route in &routes {
            let [node, destination] = [route.node, route.destination].map(|node| built.nodes[node]);
            built.world.set_route(node, destination, built.links[route.link]).expect("a link of the node");
        }
        (scenario.routes, scenario.flows) = (routes, flows);
        let ends =
            |flow: usize| [scenario.flows[flow].from, scenario.flows[flow].to].map(|end| built.nodes[end]);
        let unconnected = (0..scenario.flows.len()).find(|flow| {
            let [from, to] = ends(*flow);
            !built.world.has_route(from, to)
        });
        match scenario.check(&none(), shape) {
            Err(BuildError::NoRoute { flow, .. }) => {
                let unconnected = unconnected.map(|flow| &scenario.flows[flow].name);
                assert_eq!(unconnected, Some(&flow), "shape {shape}");
            }
            // Flows in the rest of the network may have routes.
            Err(BuildError::Circle { .. }) => continue,
            Err(other) => panic!("shape {shape}: {other}"),
            Ok(()) => assert_eq!(unconnected, None, "shape {shape}"),
        }
        for scheme in schemes() {
            let refused = match scenario.check(&scheme, shape) {
                Err(BuildError::Agent { node, link, problem, .. }) => Some((node, link, problem)),
                _ => None,
            };
            if scenario.check(&none(), shape).is_ok() {
                let by_world = refused_seat(&scenario, &scheme, shape);
                assert_eq!(refused, by_world, "{scheme:?}, shape {shape}");
            }
        }
    }
}

/// The first seat for which a world without agents refuses the scheme's agent: node, link, and the
/// missing event.
fn refused_seat(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    seed: u64,
) -> Option<(String, String, &'static str)> {
    let placement = scheme.stack()?;
    let mut built = scenario.build(&none(), seed).expect("it has been checked");
    let mut seats: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut watch = |node, link| match seats.iter_mut().find(|(seated, _)| *seated == node) {
        Some((_, watched)) => watched.push(link),
        None => seats.push((node, vec![link])),
    };
    for (index, link) in scenario.links.iter().enumerate().filter(|(_, link)| link.link.is_wireless()) {
        watch(link.ends.0, index);
        watch(link.ends.1, index);
    }
    let in_role = |role: Role| (0..scenario.nodes.len()).filter(move |node| scenario.role(*node) == role);
    for router in in_role(Role::Router) {
        let links = in_role(Role::MobileHost)
            .filter_map(|host| built.world.next_link(built.nodes[router], built.nodes[host]));
        let mut links: Vec<usize> = links.map(lasthop_sim::LinkId::index).collect();
        links.sort_unstable();
        links.dedup();
        for link in links {
            watch(router, link);
        }
    }
    for (node, watched) in seats {
        let at: NodeId = built.nodes[node];
        let seat = Seat { role: scenario.role(node), address: built.world.node_address(at) };
        let Some(agent) = placement.agent(seat) else { continue };
        let links: Vec<_> = watched.iter().map(|link| built.links[*link]).collect();
        match built.world.attach(at, &links, agent) {
            Ok(()) => {}
            Err(AttachError::Missing(link, problem)) => {
                let link = built.world.link_name(link).to_owned();
                return Some((scenario.nodes[node].name.clone(), link, problem));
            }
            Err(other) => panic!("{other}"),
        }
    }
    None
}

fn none() -> SchemeChoice {
    SchemeChoice::new("none", toml::Table::new()).expect("it is in the catalog")
}

fn schemes() -> impl Iterator<Item = SchemeChoice> {
    let all = CATALOG.iter().map(|scheme| SchemeChoice::new(scheme.name, toml::Table::new()));
    all.map(|choice| choice.expect("it is in the catalog")).chain([SchemeChoice::no_loss()])
}

/// Changes a network so that it may become invalid. Link 0 joins nodes 0 and 1, server and base.
fn spoil(scenario: &mut Scenario, rng: &mut Rng) {
    let mobile = 2 + rng.below(scenario.nodes.len() as u64 - 2) as usize;
    // The changes may be of removed links.
    scenario.changes.clear();
    match rng.below(8) {
        0 => {}
        1 => drop(scenario.links.remove(rng.below(scenario.links.len() as u64) as usize)),
        // The server sends through the base, as it must, and the base may send back.
        2 => {
            for node in 0..=rng.below(2) as usize {
                scenario.routes.push(GivenRoute { node, destination: mobile, link: 0 });
            }
        }
        // A static route to a neighbor that has no route.
        3 => {
            scenario.links.truncate(1);
            scenario.routes.push(GivenRoute { node: 0, destination: mobile, link: 0 });
        }
        4 => {
            let any = |rng: &mut Rng| Some(Role::ALL[rng.below(Role::ALL.len() as u64) as usize].0);
            scenario.nodes.iter_mut().for_each(|node| node.role = any(rng));
        }
        5 => {
            let blind = 1 + rng.below(scenario.links.len() as u64 - 1) as usize;
            if let Link::Wireless { config, .. } = &mut scenario.links[blind].link {
                config.link_layer = LinkLayer::UNRELIABLE;
            }
        }
        _ => add_field(scenario, rng),
    }
}

/// Adds stations with routing on demand or without it, and a flow between two of them or to the
/// server.
fn add_field(scenario: &mut Scenario, rng: &mut Rng) {
    let first = scenario.nodes.len();
    let count = 3 + rng.below(3) as usize;
    for number in 0..count {
        let mut node = scenario.nodes[0].clone();
        node.name = format!("station {number}");
        node.kind = if number < 2 { NodeKind::Host } else { NodeKind::Router };
        scenario.nodes.push(node);
    }
    for number in 0..count {
        for other in 0..number {
            let link =
                Link::Radio { config: RadioLinkConfig::new(format!("field {other} {number}")), wlan: 0 };
            scenario.links.push(LinkModel::new((first + other, first + number), link));
        }
    }
    let station = |number: usize| WlanStation {
        node: first + number,
        config: StationConfig::default(),
        queue: StationQueue::Mac,
    };
    let reception = 40.0;
    let propagation = Propagation::Ranges { reception, carrier_sense: 100.0 };
    scenario.wlans.push(WlanModel {
        name: "field".to_owned(),
        config: WlanConfig { propagation, ..WlanConfig::new(Standard::HrDsss) },
        channel: None,
        stations: (0..count).map(station).collect(),
        has_access_point: false,
        errors: Vec::new(),
        power_save: None,
        routing: (rng.below(4) > 0).then(AodvConfig::default),
        placement: (rng.below(2) == 0).then(|| Placement {
            area: Position::new(60.0, 60.0),
            // Five stations cannot be nine hops apart.
            apart: Some((0, 1, [1, 2, 9][rng.below(3) as usize])),
        }),
        mobility: None,
        paths: Vec::new(),
        program: None,
        roaming: None,
    });
    let mut flow = scenario.flows[0].clone();
    "between stations".clone_into(&mut flow.name);
    (flow.from, flow.to) = (first, if rng.below(4) == 0 { 0 } else { first + 1 });
    scenario.flows.push(flow);
    if rng.below(4) == 0 {
        let mut wire = scenario.links[0].clone();
        wire.ends = (first, 0);
        if let Link::Wired(config) = &mut wire.link {
            "gateway".clone_into(&mut config.name);
        }
        scenario.links.push(wire);
    }
}
