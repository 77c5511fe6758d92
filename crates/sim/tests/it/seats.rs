//! Where what agents send goes: to ends that share an address, and between seats that answer each
//! other.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Agent, Context, Side, Verdict};
use lasthop_packet::{Ip, Packet, Payload, Seq, Tcp};
use lasthop_sim::{NodeId, NodeKind, World};

use crate::agents::Parrot;
use crate::radio::STOP_AND_WAIT;
use crate::support::{arrived, direction, ms, node, packet, wired, wireless};

/// Packet `number` between real hosts.
fn between(source: &str, destination: &str, number: u32) -> Packet {
    let ip = Ip::new(source.parse().expect("one"), destination.parse().expect("one"));
    let tcp = Tcp { seq: Seq(number), ..Tcp::default() };
    Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 9, offset: 0, len: 100 })
}

#[test]
fn what_an_agent_sends_to_an_address_behind_two_links_goes_where_packets_between_the_same_two_went() {
    let mut world = World::new(1);
    let access_point = node(&mut world, "ap", NodeKind::External);
    let stations = ["phone", "tablet"].map(|name| node(&mut world, name, NodeKind::External));
    let air = stations.map(|station| {
        world.add_wireless_link(access_point, station, &wireless("air", &direction(8000), STOP_AND_WAIT))
    });
    world.attach(access_point, &air, Box::new(Parrot)).expect("it needs nothing");
    // Two private networks that use the same address; the world takes it for the phone's.
    let [host, of_phone, of_tablet] = ["192.168.1.2", "198.51.100.1", "198.51.100.2"];
    let [phone, tablet] = stations;
    world.add_address(phone, host.parse().expect("one"));
    for round in 0..3 {
        world.inject_to(access_point, tablet, between(of_tablet, host, 2 * round));
        world.inject_to(access_point, phone, between(of_phone, host, 2 * round + 1));
    }
    world.advance_to(ms(1000));
    assert_eq!(arrived(&mut world, tablet), [0, 0, 2, 2, 4, 4], "the agent's copy and the packet itself");
    assert_eq!(arrived(&mut world, phone), [1, 1, 3, 3, 5, 5]);
    assert!(world.accounts().balance() && world.accounts().dropped.is_empty());
}

/// Answers each packet from the core side with this one, so many times.
struct Answerer(Packet, usize);

impl Agent for Answerer {
    fn on_packet(&mut self, _: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if from == Side::Core {
            for _ in 0..self.1 {
                cx.send(Side::Core, self.0.clone());
            }
        }
        Verdict::Forward
    }
}

/// A server, a router and a phone. Two agents at the router answer each other's packets so many
/// times; a packet of the server's sets them off.
fn answering(times: usize) -> (World, [NodeId; 2]) {
    let mut world = World::new(1);
    let server = node(&mut world, "server", NodeKind::External);
    let router = node(&mut world, "router", NodeKind::Router);
    let phone = node(&mut world, "phone", NodeKind::External);
    let wire = world.add_wired_link(server, router, &wired("wire", &direction(8000), 1));
    let air = world.add_wireless_link(router, phone, &wireless("air", &direction(8000), STOP_AND_WAIT));
    let [down, up] = [(server, phone), (phone, server)].map(|(from, to)| packet(&world, from, to, 7));
    for (link, answer) in [(air, up), (wire, down)] {
        world.attach(router, &[link], Box::new(Answerer(answer, times))).expect("it needs nothing");
    }
    world.inject(server, packet(&world, server, phone, 1));
    world.advance_to(ms(10_000));
    (world, [server, phone])
}

#[test]
fn agents_in_two_seats_that_answer_each_other_without_time_between_come_to_an_end() {
    let (mut world, [server, phone]) = answering(1);
    assert_eq!(world.reported().of(&AT_BOUND), 1, "one answer left without being shown");
    let (to_server, to_phone) = (arrived(&mut world, server), arrived(&mut world, phone));
    assert_eq!(to_phone.iter().filter(|number| **number == 1).count(), 1, "the packet itself went on");
    // Each of 65 calls has one answer.
    assert_eq!((to_server.len(), to_phone.len()), (33, 33));
    let accounts = world.accounts();
    assert!(accounts.balance() && accounts.dropped.is_empty(), "{accounts:?}");
    assert_eq!((accounts.originated, accounts.consumed), (66, 66));
}

#[test]
fn agents_that_answer_twice_come_to_an_end_too() {
    let (world, _) = answering(2);
    // Each of the first call's two answers leads to 64 calls, and each call to two packets.
    assert_eq!(world.accounts().originated, 1 + 2 + 2 * 64 * 2);
    assert!(world.reported().of(&AT_BOUND) > 0 && world.accounts().balance());
}

/// Keeps the first packet that it sees, and sends it again with the next one.
#[derive(Default)]
struct Rememberer(Option<Packet>);

impl Agent for Rememberer {
    fn on_packet(&mut self, packet: &mut Packet, _: Side, cx: &mut Context<'_>) -> Verdict {
        match &self.0 {
            None => self.0 = Some(packet.clone()),
            Some(first) => cx.send(Side::Radio, first.clone()),
        }
        Verdict::Forward
    }
}

#[test]
fn an_end_that_was_met_before_another_with_its_address_is_known_too() {
    let mut world = World::new(1);
    let access_point = node(&mut world, "ap", NodeKind::External);
    let stations = ["phone", "tablet"].map(|name| node(&mut world, name, NodeKind::External));
    let air = stations.map(|station| {
        world.add_wireless_link(access_point, station, &wireless("air", &direction(8000), STOP_AND_WAIT))
    });
    world.attach(access_point, &air, Box::new(Rememberer::default())).expect("it needs nothing");
    let [host, of_phone, of_tablet] = ["192.168.1.2", "198.51.100.1", "198.51.100.2"];
    let [phone, tablet] = stations;
    world.add_address(phone, host.parse().expect("one"));
    world.inject_to(access_point, phone, between(of_phone, host, 1));
    world.inject_to(access_point, tablet, between(of_tablet, host, 2));
    world.advance_to(ms(1000));
    assert_eq!((arrived(&mut world, phone), arrived(&mut world, tablet)), (vec![1, 1], vec![2]));
}

/// Answers each message with the same.
struct Echo;

impl Agent for Echo {
    fn on_packet(&mut self, packet: &mut Packet, _: Side, cx: &mut Context<'_>) -> Verdict {
        cx.tell(packet.ip().source, bytes::Bytes::from_static(b"x"));
        Verdict::Forward
    }

    fn on_message(&mut self, from: std::net::IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        cx.tell(from, octets.to_vec().into());
    }
}

#[test]
fn agents_at_one_node_that_answer_each_others_messages_come_to_an_end() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let wire = world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 1));
    world.attach(ends[0], &[wire], Box::new(Echo)).expect("it needs nothing");
    world.inject(ends[0], packet(&world, ends[0], ends[1], 1));
    world.advance_to(ms(100));
    assert!(world.reported().of(&AT_BOUND) > 0 && world.accounts().balance());
}
