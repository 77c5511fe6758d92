//! Invariants in small random networks, with every scheme and with stacks of schemes: data arrive
//! as they were sent, every packet is accounted for, every transfer completes, and agents deliver
//! the data that they have acknowledged.

mod random;

use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{Agent, Context, LinkEvent, LinkSenses, Owed, Side, Stack, Stateless, Verdict};
use lasthop_packet::{Instant, Packet, Rng};
use lasthop_scenario::SchemeChoice;
use lasthop_schemes::catalog::CATALOG;
use lasthop_schemes::{Placement as _, Scheme, Seat};
use lasthop_sim::world::AttachError;
use lasthop_sim::{LinkId, World};

use random::scenario;

#[test]
fn every_scheme_keeps_the_laws() {
    for shape in 0..1_000 {
        let reports_fate = shape % 3 != 0;
        let scenario = scenario(shape, reports_fate);
        for scheme in CATALOG {
            let choice = SchemeChoice::new(scheme.name, toml::Table::new()).expect("it is in the catalog");
            match scenario.build(&choice, shape) {
                Ok(built) => run_by_the_laws(built.world, &format!("{}, shape {shape}", scheme.name)),
                Err(refusal) => {
                    let is_right = needs_options(scheme) || (!reports_fate && !scheme.needs().is_empty());
                    assert!(is_right, "{refusal}");
                }
            }
        }
    }
}

/// Whether a scheme works only in 802.11 cells, which have their own tests (`random_cells.rs`).
fn needs_options(scheme: &Scheme) -> bool {
    scheme.needs().contains(LinkSenses::LINK_OPTIONS)
}

/// Each node's agent is replaced repeatedly by a new one of the same scheme and settings, which
/// imports its state.
#[test]
fn agent_state_can_be_transferred_at_any_time_and_every_transfer_completes() {
    for shape in 0..400 {
        let scenario = scenario(shape, true);
        for scheme in CATALOG.iter().filter(|scheme| !needs_options(scheme)) {
            let which = format!("{}, shape {shape}", scheme.name);
            let choice = SchemeChoice::new(scheme.name, toml::Table::new()).expect("it is in the catalog");
            let built = scenario.build(&choice, shape).expect("fates are reported");
            let placement = choice.stack().expect("it is a scheme");
            let (mut world, mut rng) = (built.world, Rng::named(shape, "moments"));
            let mut now = Instant::ZERO;
            for _ in 0..40 {
                now += Duration::from_millis(1 + rng.below(800));
                world.run(now, true);
                for (model, link) in scenario.links.iter().zip(&built.links) {
                    for index in [model.ends.0, model.ends.1] {
                        let node = built.nodes[index];
                        let seat = Seat { role: scenario.role(index), address: world.node_address(node) };
                        let Some(agent) = placement.agent(seat) else { continue };
                        let refused = world.replace_agent(node, *link, agent).unwrap_or_default();
                        assert!(refused.is_empty(), "{which}: {refused:?}");
                    }
                }
                assert!(world.accounts().balance(), "{which}: {:?}", world.accounts());
            }
            let lost = world.reported().get(&ACKNOWLEDGED_AND_LOST);
            assert_eq!(lost, 0, "{which}: nothing that was acknowledged is lost by it");
            run_by_the_laws(world, &which);
        }
    }
}

const QUEUE: LinkSenses = LinkSenses::DEPARTURES.union(LinkSenses::BACKLOG);

/// An agent next to the radio that compares the reports of the link layer's queue with the packets
/// that it has forwarded: only these may depart or wait.
#[derive(Default)]
struct Queued {
    passed: usize,
    departed: usize,
}

impl Agent for Queued {
    fn on_packet(&mut self, _: &mut Packet, from: Side, _: &mut Context<'_>) -> Verdict {
        self.passed += usize::from(from == Side::Core);
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _: &mut Context<'_>) {
        match event {
            LinkEvent::Departure { .. } => self.departed += 1,
            LinkEvent::Backlog { packets, .. } => assert!(self.departed + packets <= self.passed),
            LinkEvent::Frame { .. } | LinkEvent::Attempt { .. } | LinkEvent::Transmission { .. } => {}
        }
        assert!(self.departed <= self.passed);
    }

    fn needs(&self) -> LinkSenses {
        QUEUE
    }
}

impl Stateless for Queued {}

#[test]
fn stacked_schemes_keep_the_laws() {
    for shape in 0..600 {
        let scenario = scenario(shape, shape % 3 != 0);
        let built = scenario.build(&SchemeChoice::new("none", toml::Table::new()).expect("nothing"), shape);
        let built = built.expect("nothing is needed");
        let mut world = built.world;
        let mut rng = Rng::named(shape, "stacks");
        for (index, node) in built.nodes.iter().enumerate() {
            let of_node = scenario.links.iter().zip(&built.links).filter(|(model, _)| {
                model.link.is_wireless() && [model.ends.0, model.ends.1].contains(&index)
            });
            let watched: Vec<LinkId> = of_node.map(|(_, link)| *link).collect();
            let seat = Seat { role: scenario.role(index), address: world.node_address(*node) };
            let agents = (0..=rng.below(3)).filter_map(|_| {
                let (_none, others) = CATALOG.split_first().expect("there are schemes");
                let scheme = others[rng.below(others.len() as u64) as usize].configure(toml::Table::new());
                scheme.expect("it is in the catalog").agent(seat)
            });
            let mut agents: Vec<Box<dyn Agent>> = agents.collect();
            // With more links, packets that an agent sends toward the core may leave by another
            // link, and bypass the agents of its own seat.
            if watched.len() == 1 {
                agents.push(Box::new(Queued::default()));
            }
            match world.attach(*node, &watched, Box::new(Stack::new(agents))) {
                Ok(()) => {}
                Err(refusal) => assert!(matches!(refusal, AttachError::Missing(..)), "{refusal}"),
            }
        }
        // Links of the 1997 thesis neither carry options nor refuse packets, so that c3tcp is
        // refused there.
        let of_cells = LinkSenses::TRANSMISSIONS | LinkSenses::LINK_OPTIONS | LinkSenses::REFUSAL;
        let covered = LinkSenses::FRAME_FATE | LinkSenses::RETRIES | LinkSenses::ATTEMPTS | QUEUE | of_cells;
        assert_eq!(LinkSenses::all(), covered, "a new sense: cover it here");
        run_by_the_laws(world, &format!("stacks, shape {shape}"));
    }
}

/// Shorter than any agent's time-out of idle connections.
const IDLE: Duration = Duration::from_secs(200);

fn run_by_the_laws(mut world: World, which: &str) {
    for step in 1..=60 {
        world.run(Instant::from_millis(step * 500), true);
        assert!(world.accounts().balance(), "{which}: {:?}", world.accounts());
    }
    world.run(Instant::from_secs(5_000), true);
    assert!(world.accounts().balance(), "{which}: {:?}", world.accounts());
    for id in world.flows() {
        let outcome = world.outcome(id);
        assert!(outcome.intact, "{which}: {outcome:?}");
        let Some(udp) = outcome.udp() else {
            assert!(outcome.completion.is_some(), "{which}: {outcome:?}");
            assert_eq!(Some(outcome.octets), world.flow(id).size(), "{which}");
            continue;
        };
        assert_eq!((udp.received + udp.lost, udp.in_transit), (udp.sent, 0), "{which}: {outcome:?}");
    }
    assert!(world.counters().events < 3_000_000, "{which}: {:?}", world.counters());
    // All acknowledged data have arrived: the agents learn this before they remove idle
    // connections.
    world.run(world.now() + IDLE, false);
    let lost = world.reported().get(&ACKNOWLEDGED_AND_LOST);
    assert_eq!((world.owed_by_agents(), lost), (Owed::default(), 0), "{which}");
}
