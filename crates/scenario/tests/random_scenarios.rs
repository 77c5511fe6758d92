//! With every scheme, and with schemes on top of each other: what arrives is what was sent, no
//! packet is lost from the books, every transfer ends, and what agents owe is delivered, in random
//! small networks.

mod random;

use std::time::Duration;

use lasthop_agent::counter::ACKNOWLEDGED_AND_LOST;
use lasthop_agent::{Agent, Context, LinkEvent, LinkSenses, Owed, Side, Stack, Stateless, Verdict};
use lasthop_packet::{Instant, Packet, Rng};
use lasthop_scenario::SchemeChoice;
use lasthop_schemes::catalogue::CATALOGUE;
use lasthop_schemes::{Placement as _, Scheme, Seat};
use lasthop_sim::world::AttachError;
use lasthop_sim::{LinkId, World};

use random::scenario;

#[test]
fn every_scheme_keeps_the_laws() {
    for shape in 0..1_000 {
        let reports_fate = shape % 3 != 0;
        let scenario = scenario(shape, reports_fate);
        for scheme in CATALOGUE {
            let choice = SchemeChoice::new(scheme.name, toml::Table::new()).expect("it is in the catalogue");
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

/// Whether a scheme works in 802.11 cells alone, which have tests of their own (`random_cells.rs`).
fn needs_options(scheme: &Scheme) -> bool {
    scheme.needs().contains(LinkSenses::LINK_OPTIONS)
}

/// A node's agent is replaced by another of the same scheme and settings, with the state that it
/// exports.
#[test]
fn state_moves_to_another_agent_at_any_moment_and_every_transfer_ends() {
    for shape in 0..400 {
        let scenario = scenario(shape, true);
        for scheme in CATALOGUE.iter().filter(|scheme| !needs_options(scheme)) {
            let which = format!("{}, shape {shape}", scheme.name);
            let choice = SchemeChoice::new(scheme.name, toml::Table::new()).expect("it is in the catalogue");
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
            let lost = world.reported().of(&ACKNOWLEDGED_AND_LOST);
            assert_eq!(lost, 0, "{which}: nothing that was acknowledged is lost by it");
            run_by_the_laws(world, &which);
        }
    }
}

const QUEUE: LinkSenses = LinkSenses::DEPARTURES.union(LinkSenses::BACKLOG);

/// Sits next to the radio and holds the word of the link layer's queue against what it saw go there:
/// nothing departs or waits that has not passed.
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
fn schemes_on_top_of_each_other_keep_the_laws() {
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
                let (_none, others) = CATALOGUE.split_first().expect("there are schemes");
                let scheme = others[rng.below(others.len() as u64) as usize].configure(toml::Table::new());
                scheme.expect("it is in the catalogue").agent(seat)
            });
            let mut agents: Vec<Box<dyn Agent>> = agents.collect();
            // Where there are more links, what an agent sends towards the core may leave by another
            // of them, past the agents of its own seat.
            if watched.len() == 1 {
                agents.push(Box::new(Queued::default()));
            }
            match world.attach(*node, &watched, Box::new(Stack::new(agents))) {
                Ok(()) => {}
                Err(refusal) => assert!(matches!(refusal, AttachError::Missing(..)), "{refusal}"),
            }
        }
        // Links of the 1997 thesis have no frames with options, and refuse none: c3tcp is refused there.
        let of_cells = LinkSenses::TRANSMISSIONS | LinkSenses::LINK_OPTIONS | LinkSenses::REFUSAL;
        let covered = LinkSenses::FRAME_FATE | LinkSenses::ATTEMPTS | QUEUE | of_cells;
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
    // What was acknowledged has arrived: the agents hear of it before they forget idle connections,
    // and nothing is lost.
    world.run(world.now() + IDLE, false);
    let lost = world.reported().of(&ACKNOWLEDGED_AND_LOST);
    assert_eq!((world.owed_by_agents(), lost), (Owed::default(), 0), "{which}");
}
