//! Short ways to say what a world is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lasthop_packet::{Bitrate, Instant, Ip, Packet, Payload, Probability, Seq, Tcp};
use lasthop_sim::observe::TraceHash;
use lasthop_sim::{
    Application, Capacity, ChannelConfig, Delay, Direction, Faults, FlowConfig, Interest, LinkLayer, Loss,
    NodeConfig, NodeId, NodeKind, Observer, Opening, QueueLimit, TcpConfig, TraceEvent, TransportConfig,
    WiredConfig, WirelessConfig, World,
};
use lasthop_tcp::Config;

pub fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub fn percent(value: f64) -> Probability {
    Probability::new(value / 100.0).expect("0 to 100")
}

pub fn node(world: &mut World, name: &str, kind: NodeKind) -> NodeId {
    world.add_node(NodeConfig::new(name, kind))
}

pub fn direction(kbps: u64) -> Direction {
    Direction {
        capacity: Capacity::Fixed(Bitrate::from_bps(kbps * 1000).expect("above zero")),
        queue: QueueLimit::Unlimited.into(),
        loss: Loss::NONE,
        delay: Delay::ZERO,
        faults: Faults::NONE,
    }
}

pub fn wired(name: &str, direction: &Direction, delay_ms: u64) -> WiredConfig {
    let direction = direction.delayed(Duration::from_millis(delay_ms));
    WiredConfig {
        name: name.to_owned(),
        forward: direction.clone(),
        backward: direction,
        clock: Duration::ZERO,
        seed: None,
    }
}

/// A perfect channel with 1 ms of propagation.
pub fn wireless(name: &str, direction: &Direction, link_layer: LinkLayer) -> WirelessConfig {
    let direction = direction.delayed(Duration::from_millis(1));
    WirelessConfig {
        name: name.to_owned(),
        forward: direction.clone(),
        backward: direction,
        clock: Duration::ZERO,
        channel: ChannelConfig::PERFECT,
        link_layer,
        medium: None,
        seed: None,
    }
}

/// A flow of 1,000-octet segments.
pub fn flow(world: &World, (from, to): (NodeId, NodeId), size: Option<u64>) -> FlowConfig {
    let tcp = Config { mss: 1000, ..Config::default() };
    FlowConfig {
        transport: tcp_transport(Opening::Established, &tcp),
        ..udp_flow(world, (from, to), Application::transfer(size))
    }
}

/// A connection whose two ends are set alike.
pub fn tcp_transport(opening: Opening, tcp: &Config) -> TransportConfig {
    TransportConfig::Tcp(TcpConfig {
        opening,
        sender: tcp.clone(),
        receiver: tcp.clone(),
        sender_extension: None,
        receiver_extension: None,
    })
}

/// A flow of datagrams from the start on.
pub fn udp_flow(world: &World, (from, to): (NodeId, NodeId), application: Application) -> FlowConfig {
    let name = format!("flow {}", world.flows().count());
    FlowConfig {
        name,
        from,
        to,
        start: Instant::ZERO,
        stop: None,
        application,
        transport: TransportConfig::Udp,
    }
}

/// Packet `number` of 1,000 octets in all from one node to another; nobody's connection.
pub fn packet(world: &World, from: NodeId, to: NodeId, number: u32) -> Packet {
    sized_packet(world, (from, to), number, 1000)
}

pub fn sized_packet(world: &World, (from, to): (NodeId, NodeId), number: u32, len: u32) -> Packet {
    let tcp = Tcp { source_port: 1, destination_port: 2, seq: Seq(number), ..Tcp::default() };
    let ip = Ip::new(world.node_address(from), world.node_address(to));
    Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 9, offset: 0, len: len - 40 })
}

pub fn number(packet: &Packet) -> u32 {
    packet.tcp().expect("ours are segments").seq.0
}

/// The numbers of the packets that have arrived.
pub fn arrived(world: &mut World, node: NodeId) -> Vec<u32> {
    world.collect(node).iter().map(|(_, packet)| number(packet)).collect()
}

/// Hashes all that happens in a world from now on.
pub fn hash(world: &mut World) -> impl Fn() -> u64 + use<> {
    struct Shared(Arc<Mutex<TraceHash>>);
    impl Observer for Shared {
        fn interest(&self) -> Interest {
            self.0.lock().expect("no panic while it was locked").interest()
        }
        fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
            self.0.lock().expect("no panic while it was locked").on_event(now, event);
        }
    }
    let hash = Arc::new(Mutex::new(TraceHash::new()));
    world.observe(Box::new(Shared(Arc::clone(&hash))));
    move || hash.lock().expect("no panic while it was locked").value()
}
