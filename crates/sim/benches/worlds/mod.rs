//! The worlds that speed is measured in.

#![allow(dead_code, reason = "not every bench and test runs all of them")]

use std::time::Duration;

use lasthop_packet::{Bitrate, Instant};
use lasthop_sim::{
    Application, Arq, Capacity, ChannelConfig, Direction, Feedback, FlowConfig, FlowId, LinkLayer,
    NodeConfig, NodeId, NodeKind, Opening, QueueConfig, QueueLimit, TcpConfig, TransportConfig, WiredConfig,
    WirelessConfig, World,
};
use lasthop_tcp::{Config, RtoConfig};
use lasthop_wifi::{PowerSaveConfig, Scheduler, Standard, StationConfig, WlanConfig};

/// Octets of data in a full segment of the wired case.
pub const MSS: u32 = 1460;

/// Its window: 64 segments.
const WINDOW: u32 = 64 * MSS;

/// One Reno flow without end through 100 Mbit/s 20 ms and 10 Mbit/s 5 ms, queues of 50 packets, a
/// window of 64 segments, one ACK a segment. Nothing is lost: the second link's queue holds what
/// the path does not.
pub fn wired() -> (World, FlowId) {
    wired_with(&reno(), QueueLimit::Packets(50).into())
}

/// TCP of the wired case.
pub fn reno() -> Config {
    Config { initial_ssthresh: WINDOW, ..Config::default() }
}

/// The same with another TCP at both ends, but for its segments and its window, and with such queues
/// at the slow link.
pub fn wired_with(tcp: &Config, queue: QueueConfig) -> (World, FlowId) {
    let tcp = Config { mss: MSS, window: WINDOW, window_max: None, ..tcp.clone() };
    let mut world = World::new(1);
    let [source, router, sink] = nodes(&mut world);
    for (ends, name, mbps, delay_ms) in [((source, router), "fast", 100, 20), ((router, sink), "slow", 10, 5)]
    {
        let queue = if name == "slow" { queue } else { QueueLimit::Packets(50).into() };
        let direction = direction(mbps, queue);
        world.add_wired_link(ends.0, ends.1, &wired_link(name, &direction, delay_ms, Duration::ZERO));
    }
    let flow = flow(&mut world, (source, sink), None, &tcp);
    (world, flow)
}

/// 802.11b at 11 Mbit/s: so many stations upload without end through an access point to a server
/// behind 100 Mbit/s and 1 ms, with 1,460-octet segments, an ACK for each, and queues of 50
/// packets.
pub fn wlan(stations: u32) -> (World, Vec<FlowId>) {
    wlan_with(stations, Scheduler::Fifo, None)
}

/// The same with flows that take turns at each station: at the access point as many as there are
/// stations.
pub fn wlan_in_turns(stations: u32) -> (World, Vec<FlowId>) {
    wlan_with(stations, Scheduler::PerFlow, None)
}

/// The same with stations that doze.
pub fn dozing_wlan(stations: u32) -> (World, Vec<FlowId>) {
    wlan_with(stations, Scheduler::Fifo, Some(PowerSaveConfig::default()))
}

fn wlan_with(
    stations: u32,
    scheduler: Scheduler,
    power_save: Option<PowerSaveConfig>,
) -> (World, Vec<FlowId>) {
    let mut world = World::new(1);
    let host = |world: &mut World, name: &str, kind| world.add_node(NodeConfig::new(name, kind));
    let server = host(&mut world, "server", NodeKind::Host);
    let ap = host(&mut world, "ap", NodeKind::Router);
    let wire = direction(100, QueueLimit::Packets(1000).into());
    world.add_wired_link(ap, server, &wired_link("wire", &wire, 1, Duration::ZERO));
    let cell = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
    let config = StationConfig { scheduler, ..StationConfig::default() };
    let center = world.add_station(cell, ap, &config);
    let tcp = Config { mss: MSS, window: 40 * MSS, ..Config::default() };
    let mut dozing = Vec::new();
    let flows = (0..stations).map(|number| {
        let name = format!("station {number}");
        let node = host(&mut world, &name, NodeKind::Host);
        let station = world.add_station(cell, node, &config);
        world.add_radio_link(&name, cell, center, station);
        dozing.push(station);
        flow(&mut world, (node, server), None, &tcp)
    });
    let flows = flows.collect();
    if let Some(config) = power_save {
        world.save_power(cell, center, &dozing, config);
    }
    (world, flows)
}

/// The thesis's network with its longest wired delay, in the middle of its range otherwise: 10 MB
/// over stop-and-wait on a two-state channel.
pub fn wireless() -> (World, FlowId) {
    wireless_transfer(Some(10_000 * 1024), QueueLimit::Unlimited.into())
}

/// The same with a transfer that never ends.
pub fn wireless_without_end() -> (World, FlowId) {
    wireless_transfer(None, QueueLimit::Unlimited.into())
}

/// The same with such queues at the wireless link.
pub fn wireless_with(queue: QueueConfig) -> (World, FlowId) {
    wireless_transfer(None, queue)
}

fn wireless_transfer(size: Option<u64>, queue: QueueConfig) -> (World, FlowId) {
    let clock = Duration::from_millis(1);
    let mut world = World::new(1);
    let [source, base, sink] = nodes(&mut world);
    world.add_wired_link(
        source,
        base,
        &wired_link("wired", &direction(8, QueueLimit::Unlimited.into()), 150, clock),
    );
    world.add_wireless_link(
        base,
        sink,
        &WirelessConfig {
            name: "wireless".to_owned(),
            forward: direction(1, queue).delayed(Duration::from_millis(1)),
            backward: direction(1, queue).delayed(Duration::from_millis(1)),
            clock,
            channel: ChannelConfig::bursty(Duration::from_secs(5), Duration::from_millis(500)),
            link_layer: LinkLayer {
                feedback: Feedback::Acknowledged {
                    timeout: Duration::from_millis(3),
                    ack_octets: 14,
                    arq: Arq::StopAndWait,
                },
                retransmission_attempts: 8,
            },
            medium: None,
            seed: None,
        },
    );
    let rto = RtoConfig { granularity: clock, ..RtoConfig::default() };
    let tcp = Config { mss: 1024, window: 32 * 1024, rto, ..Config::default() };
    let flow = flow(&mut world, (source, sink), size, &tcp);
    (world, flow)
}

fn nodes(world: &mut World) -> [NodeId; 3] {
    [("source", NodeKind::Host), ("router", NodeKind::Router), ("sink", NodeKind::Host)]
        .map(|(name, kind)| world.add_node(NodeConfig::new(name, kind)))
}

fn direction(mbps: u64, queue: QueueConfig) -> Direction {
    Direction {
        capacity: Capacity::Fixed(Bitrate::mbps(mbps)),
        queue,
        loss: lasthop_sim::Loss::NONE,
        delay: lasthop_sim::Delay::ZERO,
        faults: lasthop_sim::Faults::NONE,
    }
}

fn wired_link(name: &str, direction: &Direction, delay_ms: u64, clock: Duration) -> WiredConfig {
    let direction = direction.delayed(Duration::from_millis(delay_ms));
    WiredConfig { name: name.to_owned(), forward: direction.clone(), backward: direction, clock, seed: None }
}

fn flow(world: &mut World, (from, to): (NodeId, NodeId), size: Option<u64>, tcp: &Config) -> FlowId {
    world.add_flow(FlowConfig {
        name: "flow".to_owned(),
        from,
        to,
        start: Instant::ZERO,
        stop: None,
        application: Application::transfer(size),
        transport: TransportConfig::Tcp(TcpConfig {
            opening: Opening::Established,
            sender: tcp.clone(),
            receiver: tcp.clone(),
            sender_extension: None,
            receiver_extension: None,
        }),
    })
}
