//! Laws that hold in every world: random networks, traffic and agents.

use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::{Agent, Stack};
use lasthop_apps::traffic::{Beat, Bulk, Constant, OnOff, Shape, Span};
use lasthop_packet::{Bitrate, Instant, Rng};
use lasthop_sim::delay::{Band, Bands};
use lasthop_sim::loss::GilbertElliott;
use lasthop_sim::queue::{CoDelConfig, FqCoDelConfig, RedConfig};
use lasthop_sim::{
    Application, Arq, Capacity, CapacityTrace, ChannelConfig, Delay, Direction, Discipline, Distribution,
    Faults, Feedback, FlowConfig, LinkId, LinkLayer, Loss, MediumId, NodeConfig, NodeId, NodeKind, Opening,
    Order, QueueConfig, QueueLimit, Sojourn, StateSource, TcpConfig, TransportConfig, WirelessConfig, World,
};
use lasthop_tcp::{AckPolicy, Config, Congestion, PacingRule, Recovery, RtoConfig, SlowStart};
use proptest::prelude::*;

use crate::agents::Mangler;
use crate::support::{direction, flow, hash, percent, tcp_transport, udp_flow, wired};

/// Which agents sit at the wireless interfaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agents {
    None,
    EmptyStacks,
    /// At random, up to three on top of each other.
    Manglers,
}

/// The world of a shape, with the randomness of a seed.
fn world(shape: u64, seed: u64, agents: Agents) -> World {
    let mut rng = Rng::named(shape, "shape");
    let mut world = World::new(seed);
    let nodes: Vec<NodeId> = (0..2 + rng.below(5))
        .map(|number| {
            world.add_node(NodeConfig {
                processing_delay: Duration::from_micros(rng.below(3) * 700),
                buffer: (rng.below(4) == 0).then(|| 20_000 + rng.below(50_000)),
                ..NodeConfig::new(format!("node {number}"), NodeKind::Host)
            })
        })
        .collect();
    let medium = world.add_medium();
    // A tree, and up to two more links that close circles.
    let mut joints: Vec<(NodeId, NodeId)> =
        (1..nodes.len()).map(|far| (nodes[rng.below(far as u64) as usize], nodes[far])).collect();
    for _ in 0..rng.below(3) {
        let (a, b) = (rng.below(nodes.len() as u64) as usize, rng.below(nodes.len() as u64) as usize);
        if a != b {
            joints.push((nodes[a], nodes[b]));
        }
    }
    let mut links = Vec::new();
    for (number, (near, far)) in joints.into_iter().enumerate() {
        let name = format!("link {number}");
        if rng.below(2) == 0 {
            let mut config = wired(&name, &random_direction(&mut rng), 0);
            config.forward = random_direction(&mut rng).delayed(random_delay(&mut rng));
            config.backward = random_direction(&mut rng).delayed(random_delay(&mut rng));
            links.push(world.add_wired_link(near, far, &config));
        } else {
            let config = random_wireless(name, medium, &mut rng);
            links.push(world.add_wireless_link(near, far, &config));
        }
    }
    for node in &nodes {
        attach(&mut world, *node, &links, agents, &mut rng);
    }
    for _ in 0..=rng.below(4) {
        let config = random_flow(&world, &nodes, &mut rng);
        world.add_flow(config);
    }
    for _ in 0..rng.below(4) {
        let config = random_datagrams(&world, &nodes, &mut rng);
        world.add_flow(config);
    }
    world
}

/// Agents in up to two seats at a node: each watches some of its links, some are watched by none.
fn attach(world: &mut World, node: NodeId, links: &[LinkId], agents: Agents, rng: &mut Rng) {
    let mut watched = [const { Vec::new() }; 2];
    for link in links {
        let (first, second) = world.link_ends(*link);
        if [first, second].contains(&node)
            && let Some(seat) = watched.get_mut(rng.below(3) as usize)
        {
            seat.push(*link);
        }
    }
    for links in watched {
        attach_one(world, node, &links, agents, rng);
    }
}

fn attach_one(world: &mut World, node: NodeId, links: &[LinkId], agents: Agents, rng: &mut Rng) {
    let manglers = (0..rng.below(4)).map(|_| Box::new(Mangler::new(1.0)) as Box<dyn Agent>).collect();
    let agent: Box<dyn Agent> = match agents {
        Agents::None => return,
        Agents::EmptyStacks => Box::new(Stack::default()),
        Agents::Manglers => Box::new(Stack::new(manglers)),
    };
    world.attach(node, links, agent).expect("these agents need nothing");
}

fn random_direction(rng: &mut Rng) -> Direction {
    let capacity = if rng.below(5) == 0 {
        let trace = CapacityTrace::parse("2\n9\n9\n20\n21\n30\n").expect("a good trace");
        Capacity::Trace(Arc::new(trace))
    } else {
        direction(200 + rng.below(10_000)).capacity
    };
    let limit = match rng.below(3) {
        0 => QueueLimit::Unlimited,
        1 => QueueLimit::Packets(5 + rng.below(50)),
        _ => QueueLimit::Octets(8_000 + rng.below(50_000)),
    };
    let discipline = match rng.below(8) {
        0 => Discipline::Red(RedConfig::default()),
        1 => Discipline::CoDel(CoDelConfig::default()),
        2 => {
            let flows = 1 + rng.below(8) as u32;
            Discipline::FqCoDel(FqCoDelConfig { flows, memory_limit: 30_000, ..FqCoDelConfig::default() })
        }
        _ => Discipline::DropTail,
    };
    let queue = QueueConfig { limit, discipline };
    let mut share = || percent([0.0, 0.0, 1.0][rng.below(3) as usize]);
    let (loss, faults) = (share(), Faults { duplicate: share(), corrupt: share() });
    let loss = match rng.below(4) {
        0 => Loss::Bursts(GilbertElliott::from_bursts(loss, 3.0).expect("below 75%")),
        1 if !loss.is_zero() => Loss::Every(100.try_into().expect("above zero")),
        _ => loss.into(),
    };
    Direction { capacity, queue, loss, delay: Delay::ZERO, faults }
}

fn random_delay(rng: &mut Rng) -> Delay {
    let [min, more] = [40_000, 20_000].map(|most| Duration::from_micros(rng.below(most)));
    let max = min + more;
    let band = |share, min, max| Band { share, min, max };
    let distribution = match rng.below(5) {
        0 => Distribution::Uniform { min, max },
        1 => Distribution::Normal { mean: min, deviation: more },
        2 => Distribution::Exponential { min, mean: max },
        3 => {
            let bands = vec![band(0.75, min, max), band(0.25, max, 3 * max)];
            Distribution::Bands(Arc::new(Bands::new(bands).expect("good bands")))
        }
        _ => Distribution::Constant(min),
    };
    Delay { order: [Order::Kept, Order::Overtake][rng.below(2) as usize], ..Delay::from(distribution) }
}

fn random_wireless(name: String, medium: MediumId, rng: &mut Rng) -> WirelessConfig {
    let attempts = rng.below(10) as u32;
    let delay = Duration::from_micros(rng.below(3_000));
    let timeout = 2 * delay + Duration::from_millis(2);
    let acknowledged = |arq| Feedback::Acknowledged { timeout, ack_octets: 14, arq };
    let window = 1 + rng.below(u64::from(Arq::LARGEST_WINDOW)) as u32;
    let feedback = [
        Feedback::None,
        Feedback::Immediate,
        acknowledged(Arq::StopAndWait),
        acknowledged(Arq::SelectiveRepeat { window }),
    ][rng.below(4) as usize];
    // A sender that waits for acknowledgments has a constant delay.
    let (forward, backward) = match feedback {
        Feedback::Acknowledged { .. } => (delay.into(), delay.into()),
        Feedback::None | Feedback::Immediate => (random_delay(rng), random_delay(rng)),
    };
    let stay = |mean: u64, loss: f64| Sojourn { mean: Duration::from_millis(mean), loss: percent(loss) };
    let channel = if rng.below(3) == 0 {
        ChannelConfig::PERFECT
    } else {
        let good = stay(500 + rng.below(3_000), [0.0, 1.0][rng.below(2) as usize]);
        let bad = stay(rng.below(80), [100.0, 60.0][rng.below(2) as usize]);
        ChannelConfig { good, bad, source: StateSource::Markov }
    };
    WirelessConfig {
        name,
        forward: Direction { loss: Loss::NONE, ..random_direction(rng).delayed(forward) },
        backward: random_direction(rng).delayed(backward),
        clock: Duration::from_millis(rng.below(2)),
        channel,
        link_layer: LinkLayer { feedback, retransmission_attempts: attempts },
        medium: (rng.below(2) == 0).then_some(medium),
        seed: None,
    }
}

fn random_flow(world: &World, nodes: &[NodeId], rng: &mut Rng) -> FlowConfig {
    let from = rng.below(nodes.len() as u64) as usize;
    let to = (from + 1 + rng.below(nodes.len() as u64 - 1) as usize) % nodes.len();
    let mss = 300 + rng.below(1161) as u32;
    let mut endpoint = || Config {
        mss,
        window: mss * (2 + rng.below(60) as u32),
        timestamps: rng.below(2) == 0,
        sack: rng.below(2) == 0,
        ack_policy: [
            AckPolicy::EverySegment,
            AckPolicy::Delayed(Duration::from_millis(200)),
            AckPolicy::DynDelAck(Duration::from_millis(100)),
            AckPolicy::Linux,
        ][rng.below(4) as usize],
        ack_compression: rng.below(2) == 0,
        dsack: rng.below(2) == 0,
        ecn: rng.below(2) == 0,
        window_max: [None, Some(100_000)][rng.below(2) as usize],
        send_window: [None, None, None, Some(5_000)][rng.below(4) as usize],
        congestion: Congestion::ALL[rng.below(Congestion::ALL.len() as u64) as usize],
        recovery: Recovery::ALL[rng.below(Recovery::ALL.len() as u64) as usize],
        limited_transmit: rng.below(2) == 0,
        window_validation: rng.below(2) == 0,
        segmentation_offload: rng.below(2) == 0,
        slow_start: SlowStart::ALL[rng.below(SlowStart::ALL.len() as u64) as usize],
        pacing: [PacingRule::Control, PacingRule::Fq][rng.below(2) as usize],
        rto: RtoConfig { minimum: Duration::from_millis(200 + rng.below(800)), ..RtoConfig::default() },
        ..Config::default()
    };
    let (sender, receiver) = (endpoint(), endpoint());
    let opening = [Opening::Handshake, Opening::Established][rng.below(2) as usize];
    let size = 1 + rng.below(60_000);
    let start = Instant::from_millis(rng.below(2_000));
    let transport = TransportConfig::Tcp(TcpConfig {
        opening,
        sender,
        receiver,
        sender_extension: None,
        receiver_extension: None,
    });
    FlowConfig { start, transport, ..flow(world, (nodes[from], nodes[to]), Some(size)) }
}

/// A flow of datagrams, or of an application that limits TCP, that stops after two seconds at most.
fn random_datagrams(world: &World, nodes: &[NodeId], rng: &mut Rng) -> FlowConfig {
    let from = rng.below(nodes.len() as u64) as usize;
    let to = (from + 1 + rng.below(nodes.len() as u64 - 1) as usize) % nodes.len();
    let message = 1 + rng.below(1472) as u32;
    let beat = match rng.below(2) {
        0 => Beat::Interval(Duration::from_micros(500 + rng.below(50_000))),
        _ => Beat::Rate(Bitrate::from_bps(8_000 + rng.below(1_000_000)).expect("above zero")),
    };
    let constant = Constant { message, beat, jitter: Duration::from_micros(rng.below(2) * 3_000) };
    let mut span = || {
        let mean = Duration::from_millis(1 + rng.below(300));
        let shape = Shape::new(1.1 + rng.uniform()).expect("above 1");
        [Span::Fixed(mean), Span::Exponential(mean), Span::Pareto(mean, shape)][rng.below(3) as usize]
    };
    let (on, off) = (span(), span());
    let application = match rng.below(4) {
        0 => Application::Bulk(Bulk { size: None, message: message.max(100) }),
        1 => Application::Bulk(Bulk { size: Some(rng.below(100_000)), message: message.max(100) }),
        2 => Application::Constant(constant),
        _ => Application::OnOff(OnOff { constant, on, off }),
    };
    let start = Instant::from_millis(rng.below(1_000));
    let stop = Some(Instant::from_millis(rng.below(2_000)));
    let config = FlowConfig { start, stop, ..udp_flow(world, (nodes[from], nodes[to]), application) };
    if rng.below(4) == 0 && !matches!(application, Application::Bulk(_)) {
        let opening = [Opening::Handshake, Opening::Established][rng.below(2) as usize];
        return FlowConfig { transport: tcp_transport(opening, &Config::default()), ..config };
    }
    config
}

/// The end of a run: what happened, as one number, after all laws were seen to hold.
fn run_by_the_laws(mut world: World) -> u64 {
    let hash = hash(&mut world);
    for step in 1..=40 {
        world.run(Instant::from_millis(step * 250), true);
        check(&world);
    }
    world.run(Instant::from_secs(3_000), true);
    check(&world);
    for id in world.flows() {
        let outcome = world.outcome(id);
        let Some(udp) = outcome.udp() else {
            let is_bulk = world.flow(id).size().is_some();
            assert!(outcome.completion.is_some() == is_bulk, "{outcome:?}\n{:?}", world.accounts());
            if is_bulk {
                assert_eq!(Some(outcome.octets), world.flow(id).size());
            }
            continue;
        };
        assert_eq!((udp.received + udp.lost, udp.in_transit), (udp.sent, 0), "{outcome:?}");
        assert_eq!(udp.delay.is_some(), udp.received > 0);
    }
    assert!(world.counters().events < 3_000_000, "{:?}", world.counters());
    hash()
}

fn check(world: &World) {
    assert!(world.accounts().balance(), "{:?}", world.accounts());
    for id in world.flows() {
        assert!(world.outcome(id).intact, "{:?}", world.outcome(id));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn what_arrives_is_what_was_sent_and_no_packet_is_lost_from_the_books(shape: u64, seed: u64) {
        run_by_the_laws(world(shape, seed, Agents::None));
        run_by_the_laws(world(shape, seed, Agents::Manglers));
    }

    #[test]
    fn an_empty_stack_changes_nothing(shape: u64, seed: u64) {
        let without = run_by_the_laws(world(shape, seed, Agents::None));
        prop_assert_eq!(run_by_the_laws(world(shape, seed, Agents::EmptyStacks)), without);
    }
}

#[test]
fn one_seed_gives_one_trace_on_any_number_of_threads_and_another_seed_another() {
    let run = |job: u64| run_by_the_laws(world(job / 2, job % 2, Agents::Manglers));
    let jobs = 60;
    let alone: Vec<u64> = (0..jobs).map(run).collect();
    let shared: Vec<u64> = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || (0..jobs).filter(|job| job % 2 == half).map(run).collect::<Vec<u64>>())
        });
        let [even, odd] = halves.map(|half| half.join().expect("no panic"));
        even.into_iter().zip(odd).flat_map(|(even, odd)| [even, odd]).collect()
    });
    assert_eq!(alone, shared);
    for pair in alone.chunks(2) {
        assert_ne!(pair[0], pair[1]);
    }
}
