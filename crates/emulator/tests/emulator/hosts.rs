//! Two real hosts with a model between them.

use std::net::UdpSocket;
use std::time::Duration;

use lasthop_emulator::{Device, Emulator, End, Peer};
use lasthop_linux::namespace::Namespace;
use lasthop_packet::{Bitrate, Probability};
use lasthop_sim::{
    Capacity, Delay, Direction, Faults, LinkId, NodeConfig, NodeId, NodeKind, QueueLimit, WiredConfig, World,
};

pub struct Hosts {
    pub near: Namespace,
    pub far: Namespace,
}

pub fn direction(mbps: u64, loss_percent: f64) -> Direction {
    Direction {
        capacity: Capacity::Fixed(Bitrate::mbps(mbps)),
        queue: QueueLimit::Packets(2000).into(),
        loss: Probability::new(loss_percent / 100.0).expect("0 to 100").into(),
        delay: Delay::ZERO,
        faults: Faults::NONE,
    }
}

/// A world of two external nodes and a wired link between them, with `direction` in both
/// directions.
pub fn world(seed: u64, direction: &Direction, delay: impl Into<Delay>) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(seed);
    let delay = delay.into();
    let ends = ["near", "far"].map(|name| world.add_node(NodeConfig::new(name, NodeKind::External)));
    let config = WiredConfig {
        name: "hop".to_owned(),
        forward: direction.delayed(delay.clone()),
        backward: direction.delayed(delay),
        clock: Duration::ZERO,
        seed: None,
    };
    let link = world.add_wired_link(ends[0], ends[1], &config);
    (world, ends, link)
}

impl Hosts {
    /// Creates two hosts at the ends of a world: 192.0.2.1 and `2001:db8::1` near, .2 and `::2`
    /// far. Without IPv6, the hosts' kernels send no packets on their own.
    pub fn around(world: World, [near_node, far_node]: [NodeId; 2], with_v6: bool) -> (Self, Emulator) {
        let hosts =
            Self { near: Namespace::new("near").expect("root"), far: Namespace::new("far").expect("root") };
        let ends = [(&hosts.near, near_node, far_node, 1), (&hosts.far, far_node, near_node, 2)].map(
            |(host, node, peer, number)| {
                let device = Device::tap_in(host, "hop").expect("TAP devices are to be had");
                host.ip(&[&format!("address add 192.0.2.{number}/24 dev hop")]).expect("an ordinary device");
                if with_v6 {
                    host.ip(&[&format!("address add 2001:db8::{number}/64 dev hop nodad")]).expect("IPv6");
                } else {
                    host.sysctl("ipv6/conf/hop/disable_ipv6", "1").expect("it is there");
                }
                host.ip(&["link set hop up"]).expect("an ordinary device");
                End { node, peer: Peer::Node(peer), device }
            },
        );
        let emulator = Emulator::new(world, ends.into());
        (hosts, emulator)
    }

    /// A UDP socket at each host, the near one connected to the far one.
    pub fn udp(&self) -> (UdpSocket, UdpSocket) {
        let bind = |address: &'static str| move || UdpSocket::bind(address).expect("a free port");
        let far = self.far.enter(bind("192.0.2.2:4000")).expect("enter");
        let near = self.near.enter(bind("192.0.2.1:4000")).expect("enter");
        near.connect("192.0.2.2:4000").expect("a route");
        // No datagram is lost while a busy machine delays the receiver.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&far, 8 << 20).expect("root");
        far.set_read_timeout(Some(Duration::from_millis(300))).expect("above zero");
        (near, far)
    }
}
