//! Small random networks.

use std::time::Duration;

use lasthop_apps::traffic::{Beat, Bulk, Constant, OnOff, Span};
use lasthop_packet::{Bitrate, Probability, Rng};
use lasthop_scenario::{
    FlowModel, Link, LinkChange, LinkModel, NodeModel, Scenario, SchemeChoice, TcpModel, TransportModel,
    Trial,
};
use lasthop_sim::{
    Application, Arq, Capacity, ChannelConfig, Delay, Direction, Distribution, Faults, Feedback, LinkLayer,
    NodeKind, Opening, Order, QueueLimit, Sojourn, StateSource, WiredConfig, WirelessConfig,
};
use lasthop_tcp::{AckPolicy, Config, Congestion, Recovery, SlowStart};

/// Fixed hosts, a base station and mobile hosts; data in both directions.
pub fn scenario(shape: u64, reports_fate: bool) -> Scenario {
    let mut rng = Rng::named(shape, "scenario");
    let node = |name: String, kind| NodeModel {
        name,
        kind,
        role: None,
        processing_delay: Duration::ZERO,
        buffer: None,
        position: lasthop_wifi::Position::default(),
        nat: None,
    };
    let mobiles = 1 + rng.below(2) as usize;
    let mut nodes =
        vec![node("server".to_owned(), NodeKind::Host), node("base".to_owned(), NodeKind::Router)];
    nodes.extend((0..mobiles).map(|number| node(format!("mobile {number}"), NodeKind::Host)));
    let mut links = vec![LinkModel::new((0, 1), Link::Wired(wired(&mut rng)))];
    let cell = (rng.below(2) == 0).then(|| "cell".to_owned());
    for number in 0..mobiles {
        let config = wireless(number, reports_fate, &mut rng);
        links.push(LinkModel::new((1, 2 + number), Link::Wireless { config, cell: cell.clone() }));
    }
    // A separate random stream, so that networks and traffic stay the same.
    let mut delays = Rng::named(shape, "delays");
    if delays.below(2) == 0 {
        for model in &mut links {
            vary_delays(model, &mut delays);
        }
    }
    let changes = changes(&links, &mut delays);
    let mut flows: Vec<FlowModel> =
        (0..=rng.below(3)).map(|number| flow(number, mobiles, &mut rng)).collect();
    flows.extend((0..rng.below(3)).map(|number| datagrams(number, mobiles, &mut rng)));
    Scenario {
        name: "random".to_owned(),
        description: String::new(),
        files: Vec::new(),
        duration: Duration::from_secs(5_000),
        warm_up: Duration::ZERO,
        stop_when_done: true,
        nodes,
        links,
        changes,
        intervals: Vec::new(),
        wlans: Vec::new(),
        routes: Vec::new(),
        flows,
        sessions: Vec::new(),
        schemes: vec![SchemeChoice::no_loss()],
        baseline: 0,
        seeds: vec![1],
        measure: Vec::new(),
        trial: Trial::default(),
    }
}

fn direction(rng: &mut Rng) -> Direction {
    let queue = match rng.below(3) {
        0 => QueueLimit::Unlimited,
        1 => QueueLimit::Packets(5 + rng.below(50)),
        _ => QueueLimit::Octets(8_000 + rng.below(50_000)),
    };
    let rate = Bitrate::from_bps(300_000 + rng.below(5_000_000)).expect("above zero");
    let loss = Probability::new([0.0, 0.005, 0.02][rng.below(3) as usize]).expect("a probability").into();
    let mut fault = || Probability::new([0.0, 0.0, 0.01][rng.below(3) as usize]).expect("a probability");
    let faults = Faults { duplicate: fault(), corrupt: fault() };
    Direction { capacity: Capacity::Fixed(rate), queue: queue.into(), loss, delay: Delay::ZERO, faults }
}

fn wired(rng: &mut Rng) -> WiredConfig {
    let (forward, backward) = (direction(rng), direction(rng));
    let delay = Duration::from_millis(rng.below(150));
    WiredConfig {
        name: "wire".to_owned(),
        forward: forward.delayed(delay),
        backward: backward.delayed(delay),
        clock: Duration::ZERO,
        seed: None,
    }
}

fn wireless(number: usize, reports_fate: bool, rng: &mut Rng) -> WirelessConfig {
    let acknowledged =
        |arq| Feedback::Acknowledged { timeout: Duration::from_millis(4), ack_octets: 14, arq };
    let feedback = if reports_fate {
        let selective_repeat = Arq::SelectiveRepeat { window: 1 + rng.below(64) as u32 };
        let acknowledged = [Arq::StopAndWait, selective_repeat].map(acknowledged);
        [Feedback::Immediate, acknowledged[0], acknowledged[1]][rng.below(3) as usize]
    } else {
        Feedback::None
    };
    let stay = |mean: u64, loss: f64| Sojourn {
        mean: Duration::from_millis(mean),
        loss: Probability::new(loss).expect("a probability"),
    };
    let channel = ChannelConfig {
        good: stay(500 + rng.below(3_000), [0.0, 0.02][rng.below(2) as usize]),
        bad: stay(rng.below(200), [1.0, 0.6][rng.below(2) as usize]),
        source: StateSource::Markov,
    };
    WirelessConfig {
        name: format!("air {number}"),
        forward: direction(rng).delayed(Duration::from_millis(1)),
        backward: direction(rng).delayed(Duration::from_millis(1)),
        clock: Duration::from_millis(rng.below(2)),
        channel,
        link_layer: LinkLayer { feedback, retransmission_attempts: rng.below(9) as u32 },
        medium: None,
        seed: None,
    }
}

/// Sets different delays in both directions, and lets packets overtake each other.
fn vary_delays(model: &mut LinkModel, rng: &mut Rng) {
    let (forward, backward) = match &mut model.link {
        Link::Wired(config) => (&mut config.forward, &mut config.backward),
        // A sender that waits for acknowledgments has a constant delay.
        Link::Wireless { config, .. } if config.link_layer.feedback == Feedback::Immediate => {
            (&mut config.forward, &mut config.backward)
        }
        _ => return,
    };
    forward.delay = delay(rng);
    backward.delay = delay(rng);
}

fn delay(rng: &mut Rng) -> Delay {
    let [min, more] = [100, 100].map(|most| Duration::from_millis(rng.below(most)));
    let distribution = match rng.below(4) {
        0 => Distribution::Constant(min),
        1 => Distribution::Uniform { min, max: min + more },
        2 => Distribution::Normal { mean: min, deviation: more / 3 },
        _ => Distribution::Exponential { min, mean: min + more },
    };
    Delay { order: [Order::Kept, Order::Overtake][rng.below(2) as usize], ..Delay::from(distribution) }
}

/// Changes of rates, losses and delays, up to five of them in the first ten seconds.
fn changes(links: &[LinkModel], rng: &mut Rng) -> Vec<LinkChange> {
    let mut now = links.to_vec();
    let mut times: Vec<u64> = (0..rng.below(6)).map(|_| rng.below(10_000)).collect();
    times.sort_unstable();
    let change = |millis: u64| {
        let link = rng.below(now.len() as u64) as usize;
        vary_delays(&mut now[link], rng);
        if let Link::Wired(WiredConfig { forward, .. })
        | Link::Wireless { config: WirelessConfig { forward, .. }, .. } = &mut now[link].link
            && rng.below(2) == 0
        {
            let Direction { capacity, loss, .. } = direction(rng);
            (forward.capacity, forward.loss) = (capacity, loss);
        }
        LinkChange { at: Duration::from_millis(millis), link, model: now[link].clone(), set: Vec::new() }
    };
    times.into_iter().map(change).collect()
}

/// A flow of datagrams that stops.
fn datagrams(number: u64, mobiles: usize, rng: &mut Rng) -> FlowModel {
    let message = 1 + rng.below(1472) as u32;
    let beat = Beat::Interval(Duration::from_millis(2 + rng.below(50)));
    let constant = Constant { message, beat, jitter: Duration::from_micros(rng.below(2) * 500) };
    let mean = Duration::from_millis(10 + rng.below(500));
    let application = match rng.below(3) {
        0 => Application::Bulk(Bulk { size: None, message: message.max(200) }),
        1 => Application::Constant(constant),
        _ => Application::OnOff(OnOff { constant, on: Span::Exponential(mean), off: Span::Fixed(mean) }),
    };
    FlowModel {
        name: format!("datagrams {number}"),
        stop: Some(Duration::from_millis(500 + rng.below(2_000))),
        application,
        transport: TransportModel::Udp,
        ..flow(number, mobiles, rng)
    }
}

fn flow(number: u64, mobiles: usize, rng: &mut Rng) -> FlowModel {
    let mobile = 2 + rng.below(mobiles as u64) as usize;
    let other = if rng.below(4) == 0 && mobiles > 1 { 5 - mobile } else { 0 };
    let (from, to) = if rng.below(2) == 0 { (other, mobile) } else { (mobile, other) };
    let mss = 400 + rng.below(1061) as u32;
    let mut endpoint = || Config {
        mss,
        window: mss * (2 + rng.below(60) as u32),
        timestamps: rng.below(2) == 0,
        sack: rng.below(2) == 0,
        congestion: Congestion::ALL[rng.below(5) as usize],
        recovery: Recovery::ALL[rng.below(4) as usize],
        limited_transmit: rng.below(2) == 0,
        slow_start: SlowStart::ALL[rng.below(2) as usize],
        ack_policy: [
            AckPolicy::EverySegment,
            AckPolicy::Delayed(Duration::from_millis(200)),
            AckPolicy::DynDelAck(Duration::from_millis(100)),
            AckPolicy::Linux,
        ][rng.below(4) as usize],
        ack_compression: rng.below(2) == 0,
        dsack: rng.below(2) == 0,
        window_max: [None, Some(100_000)][rng.below(2) as usize],
        send_window: [None, None, None, Some(5_000)][rng.below(4) as usize],
        ..Config::default()
    };
    FlowModel {
        name: format!("flow {number}"),
        from,
        to,
        transport: TransportModel::Tcp(TcpModel {
            sender: endpoint(),
            receiver: endpoint(),
            opening: [Opening::Handshake, Opening::Established][rng.below(2) as usize],
        }),
        application: Application::transfer(Some(1 + rng.below(150_000))),
        start: Duration::from_millis(rng.below(2_000)),
        stop: None,
    }
}
