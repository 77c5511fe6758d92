//! The network of all the thesis's experiments: figure 5.1 and table 5.1.

use std::time::Duration;

use lasthop_packet::Bitrate;
use lasthop_scenario::{
    FlowModel, Link, LinkModel, NodeModel, Scenario, SchemeChoice, TcpModel, TransportModel, Trial,
};
use lasthop_sim::{
    Application, Arq, Capacity, ChannelConfig, Direction, Faults, Feedback, LinkLayer, Loss, NodeKind,
    Opening, QueueLimit, WiredConfig, WirelessConfig,
};
use lasthop_tcp::{Config, RtoConfig};
use lasthop_thesis::CLOCK;

/// One setting of the parameters that the thesis varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Propagation delay of the wired link.
    pub wired_delay: Duration,
    /// Mean stay in the bad state.
    pub mean_bad: Duration,
    /// The receiver's advertised window, in KB of 1,024 octets.
    pub window_kb: u32,
}

/// 10 MB in 10,000 packets (section 5.5.4) of 1 KB.
pub const TRANSFER: u64 = 10_000 * 1024;

/// The experiment with these parameters.
pub fn experiment(parameters: Parameters) -> Scenario {
    let node = |name: &str, kind| NodeModel {
        name: name.to_owned(),
        kind,
        role: None,
        processing_delay: Duration::ZERO,
        buffer: None,
        position: lasthop_wifi::Position::default(),
        nat: None,
    };
    let direction = |bps, delay: Duration| Direction {
        capacity: Capacity::Fixed(Bitrate::mbps(bps)),
        queue: QueueLimit::Unlimited.into(),
        loss: Loss::NONE,
        delay: delay.into(),
        faults: Faults::NONE,
    };
    let tcp = Config {
        mss: 1024,
        window: parameters.window_kb * 1024,
        rto: RtoConfig { granularity: CLOCK, ..RtoConfig::default() },
        ..Config::default()
    };
    Scenario {
        name: "goel".to_owned(),
        description: String::new(),
        files: Vec::new(),
        duration: Duration::from_secs(20_000),
        warm_up: Duration::ZERO,
        stop_when_done: true,
        nodes: vec![
            node("source", NodeKind::Host),
            node("base", NodeKind::Router),
            node("sink", NodeKind::Host),
        ],
        links: vec![
            LinkModel::new(
                (0, 1),
                Link::Wired(WiredConfig {
                    name: "wired".to_owned(),
                    forward: direction(8, parameters.wired_delay),
                    backward: direction(8, parameters.wired_delay),
                    clock: CLOCK,
                    seed: None,
                }),
            ),
            LinkModel::new(
                (1, 2),
                Link::Wireless {
                    config: WirelessConfig {
                        name: "wireless".to_owned(),
                        forward: direction(1, Duration::from_millis(1)),
                        backward: direction(1, Duration::from_millis(1)),
                        clock: CLOCK,
                        channel: ChannelConfig::bursty(Duration::from_secs(5), parameters.mean_bad),
                        link_layer: LINK_LAYER,
                        medium: None,
                        seed: None,
                    },
                    cell: None,
                },
            ),
        ],
        changes: Vec::new(),
        intervals: Vec::new(),
        wlans: Vec::new(),
        routes: Vec::new(),
        flows: vec![FlowModel {
            name: "transfer".to_owned(),
            from: 0,
            to: 2,
            start: Duration::ZERO,
            stop: None,
            application: Application::transfer(Some(TRANSFER)),
            transport: TransportModel::Tcp(TcpModel {
                opening: Opening::Established,
                sender: tcp.clone(),
                receiver: tcp,
            }),
        }],
        sessions: Vec::new(),
        schemes: vec![SchemeChoice::no_loss()],
        baseline: 0,
        seeds: vec![1],
        measure: Vec::new(),
        trial: Trial::default(),
    }
}

/// Stop-and-wait: an attempt that fails takes 11 ms, one that succeeds 10 ms (appendix B.4: 945,
/// 956, ... 1033, and the duplicate ACKs 10 ms apart that lead to the fast retransmit at 1174);
/// nine transmissions before a frame is given up (the same trace).
pub const LINK_LAYER: LinkLayer = LinkLayer {
    feedback: Feedback::Acknowledged {
        timeout: Duration::from_millis(3),
        ack_octets: 14,
        arq: Arq::StopAndWait,
    },
    retransmission_attempts: 8,
};
