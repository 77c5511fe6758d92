//! Access points and clients that are real hosts: associations in the model, bridges outside.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use lasthop_packet::{Instant, Ip, Packet, Payload, Transport, Udp};
use lasthop_sim::ess::{AccessPointConfig, Channel, ClientConfig, ClientId};
use lasthop_sim::mobility::Path;
use lasthop_sim::{
    AccessPointMember, ClientMember, NodeConfig, NodeId, NodeKind, ServiceSetConfig, ServiceSetId, World,
};
use lasthop_wifi::{LogDistance, Position, Propagation, Rate, Standard, StationConfig, WlanConfig};

use crate::support::ms;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9));

/// Two access points, and a client that goes from one to the other after two seconds.
struct Site {
    world: World,
    set: ServiceSetId,
    access_points: [NodeId; 2],
    client: NodeId,
}

impl Site {
    fn new() -> Self {
        let mut world = World::new(1);
        let mut external = |name: &str, address: IpAddr| {
            let address = Some(address);
            world.add_node(NodeConfig { address, ..NodeConfig::new(name, NodeKind::External) })
        };
        let access_points =
            [2, 3].map(|number| external(&format!("ap {number}"), [192, 0, 2, number].into()));
        let client = external("client", CLIENT);
        let mut config = WlanConfig {
            propagation: Propagation::LogDistance(LogDistance::OFDM),
            ..WlanConfig::new(Standard::Ofdm)
        };
        config.phy.rate = Rate::OFDM_6;
        let wlan = world.add_wlan("floor", config);
        let members = access_points.into_iter().enumerate().map(|(number, node)| {
            let position = Position::new(50.0 * number as f64, 0.0);
            let channel = Some(lasthop_wifi::Channel(number as u16));
            let station = world.add_station(
                wlan,
                node,
                &StationConfig { position, channel, ..StationConfig::default() },
            );
            AccessPointMember { station, config: AccessPointConfig::default() }
        });
        let members = members.collect();
        let position = Position::new(0.0, 3.0);
        let station = world.add_station(
            wlan,
            client,
            &StationConfig { position, channel: None, ..StationConfig::default() },
        );
        let mut config = ClientConfig::new([0, 1].map(Channel).to_vec());
        config.short_interval = Duration::from_millis(500);
        let member = ClientMember { link: "air".to_owned(), station, config, start: Instant::ZERO };
        let (set, _) =
            world.add_service_set(wlan, "site", ServiceSetConfig::default(), members, vec![member]);
        let path = vec![(ms(2_000), position), (ms(7_000), Position::new(50.0, 3.0))];
        let path = Path::new(path).expect("time goes on");
        world.follow_paths(wlan, Duration::from_millis(100), vec![(station, path)]);
        Self { world, set, access_points, client }
    }

    /// Runs until a time. Returns what each of these nodes hands out.
    fn run(&mut self, until: Instant) -> [Vec<Packet>; 3] {
        self.world.advance_to(until);
        let [first, second] = self.access_points;
        [first, second, self.client]
            .map(|node| self.world.collect(node).into_iter().map(|(_, packet)| packet).collect())
    }

    fn association(&self) -> Option<NodeId> {
        self.world.association(self.set, ClientId(0))
    }
}

fn datagram(from: IpAddr, to: IpAddr, port: u16, octets: &[u8]) -> Packet {
    let udp = Udp { source_port: port, destination_port: port };
    Packet::new(Ip::new(from, to), Transport::Udp(udp), Payload::Bytes(Bytes::copy_from_slice(octets)))
}

fn is_announcement(packet: &Packet) -> bool {
    (packet.ip().source, packet.ip().destination) == (CLIENT, Ipv4Addr::BROADCAST.into())
}

#[test]
fn packets_go_where_the_client_is_and_its_access_point_announces_it() {
    let mut site = Site::new();
    let [first, second] = site.access_points;
    site.world.inject_at_station(site.client, datagram(CLIENT, SERVER, 7, b"too early"));
    let [announced, other, _] = site.run(ms(1_000));
    assert_eq!(site.association(), Some(first));
    assert!(matches!(&announced[..], [one] if is_announcement(one)), "{announced:?}");
    assert!(other.is_empty());
    // The bridges flood an announcement, and what is for hosts that they have not heard of.
    site.world.inject_at_station(second, announced[0].clone());
    site.world.inject_at_station(second, datagram(SERVER, CLIENT, 7, b"not there"));
    site.world.inject_at_station(second, datagram(SERVER, [192, 0, 2, 77].into(), 7, b"whose?"));
    site.world.inject_at_station(first, datagram(SERVER, CLIENT, 7, b"down"));
    site.world.inject_at_station(site.client, datagram(CLIENT, SERVER, 7, b"up"));
    let received = site.run(ms(1_900)).map(|packets| packets.len());
    assert_eq!(received, [1, 0, 1]);
    assert!(site.world.accounts().balance());
}

#[test]
fn an_announcement_ends_the_association_with_the_former_access_point() {
    let mut site = Site::new();
    let [first, second] = site.access_points;
    let [early, ..] = site.run(ms(1_900));
    let [_, announced, _] = site.run(ms(12_000));
    assert_eq!(site.association(), Some(second));
    let announcement =
        announced.iter().find(|packet| is_announcement(packet)).expect("the host tells the bridges");
    site.world.inject_at_station(first, announcement.clone());
    // It was late.
    site.world.inject_at_station(second, early[0].clone());
    for access_point in [first, second] {
        site.world.inject_at_station(access_point, datagram(SERVER, CLIENT, 7, b"down"));
    }
    let [_, _, received] = site.run(ms(13_000));
    assert_eq!(received.len(), 1, "the second access point has it");
    assert!(site.world.accounts().balance());
}

#[test]
fn what_only_looks_like_an_announcement_changes_nothing() {
    let mut site = Site::new();
    let [first, second] = site.access_points;
    let [announced, ..] = site.run(ms(1_000));
    let port = match announced[0].transport() {
        Transport::Udp(udp) => udp.destination_port,
        other => panic!("{other:?}"),
    };
    let octets = announced[0].payload().octets().to_vec();
    for len in 0..octets.len() {
        site.world
            .inject_at_station(first, datagram(CLIENT, Ipv4Addr::BROADCAST.into(), port, &octets[..len]));
    }
    for place in 0..octets.len() {
        let mut wrong = octets.clone();
        wrong[place] ^= 0x81;
        for (node, from) in [(first, CLIENT), (second, CLIENT), (first, SERVER), (site.client, CLIENT)] {
            site.world.inject_at_station(node, datagram(from, Ipv4Addr::BROADCAST.into(), port, &wrong));
        }
    }
    // Its own announcement, which came back.
    site.world.inject_at_station(first, announced[0].clone());
    site.world.inject_at_station(first, datagram(SERVER, CLIENT, 7, b"down"));
    let [_, _, received] = site.run(ms(1_900));
    assert_eq!(received.len(), 1);
    assert_eq!(site.association(), Some(first));
    assert!(site.world.accounts().balance());
}
