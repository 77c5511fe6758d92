//! Where what agents send goes: to ends that share an address, and between seats that answer each
//! other.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lasthop_agent::counter::{AT_BOUND, DEADLINES_STUCK};
use lasthop_agent::{Agent, Context, Deadline, LinkEvent, LinkSenses, Side, Stateless, Verdict};
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, Transport, Udp};
use lasthop_sim::{Interest, NodeId, NodeKind, Observer, TraceEvent, World};

use crate::agents::Parrot;
use crate::radio::STOP_AND_WAIT;
use crate::support::{arrived, direction, flow, ms, node, packet, wired, wireless};

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

impl Stateless for Answerer {}

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
    assert_eq!(world.reported().get(&AT_BOUND), 1, "one answer left without being shown");
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
    assert!(world.reported().get(&AT_BOUND) > 0 && world.accounts().balance());
}

/// Has something due from its first packet on that it never sees to.
#[derive(Default)]
struct Stuck(Option<Instant>);

impl Agent for Stuck {
    fn on_packet(&mut self, _: &mut Packet, _: Side, cx: &mut Context<'_>) -> Verdict {
        self.0 = Some(cx.now());
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Deadline> {
        self.0.map(|at| Deadline { at, reason: "never seen to" })
    }
}

impl Stateless for Stuck {}

#[test]
fn an_agent_whose_deadline_does_not_move_does_not_stop_the_world_and_is_reported_by_its_reason() {
    struct Reports(Arc<Mutex<Vec<(NodeId, &'static str)>>>);
    impl Observer for Reports {
        fn interest(&self) -> Interest {
            Interest::REPORTS
        }

        fn on_event(&mut self, _: Instant, event: &TraceEvent<'_>) {
            if let TraceEvent::AgentReport { node, report } = event {
                assert_eq!(report.counter.name, DEADLINES_STUCK.name);
                self.0.lock().expect("nobody panicked").push((*node, report.detail));
            }
        }
    }
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let wire = world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 1));
    world.attach(ends[1], &[wire], Box::new(Stuck::default())).expect("it needs nothing");
    let reports = Arc::default();
    world.observe(Box::new(Reports(Arc::clone(&reports))));
    world.inject(ends[0], packet(&world, ends[0], ends[1], 1));
    world.advance_to(ms(10_000));
    assert_eq!(arrived(&mut world, ends[1]), [1]);
    assert_eq!(world.reported().get(&DEADLINES_STUCK), 1);
    assert_eq!(*reports.lock().expect("nobody panicked"), [(ends[1], "never seen to")]);
    assert!(world.events() < 20_000, "it is called once a millisecond");
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

impl Stateless for Rememberer {}

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
        cx.send_message(packet.ip().source, Bytes::from_static(b"x"));
        Verdict::Forward
    }

    fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        cx.send_message(from, octets.to_vec().into());
    }
}

impl Stateless for Echo {}

#[test]
fn agents_at_one_node_that_answer_each_others_messages_come_to_an_end() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let wire = world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(8000), 1));
    world.attach(ends[0], &[wire], Box::new(Echo)).expect("it needs nothing");
    world.inject(ends[0], packet(&world, ends[0], ends[1], 1));
    world.advance_to(ms(100));
    assert!(world.reported().get(&AT_BOUND) > 0 && world.accounts().balance());
}

/// Sends a copy of what has joined the queue.
struct Filler;

impl Agent for Filler {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        if let LinkEvent::Backlog { packet, .. } = event {
            cx.send(Side::Radio, (*packet).clone());
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::BACKLOG
    }
}

impl Stateless for Filler {}

#[test]
fn an_agent_that_answers_a_backlog_with_a_packet_comes_to_an_end() {
    let mut world = World::new(1);
    let [ap, phone] = ["ap", "phone"].map(|name| node(&mut world, name, NodeKind::External));
    let air = world.add_wireless_link(ap, phone, &wireless("air", &direction(8000), STOP_AND_WAIT));
    world.attach(ap, &[air], Box::new(Filler)).expect("backlog is told");
    for number in 0..2 {
        world.inject(ap, packet(&world, ap, phone, number));
    }
    world.advance_to(ms(1));
    assert!(world.accounts().balance());
}

/// At a mobile host: answers each ACK of the host's with the first data packet once more.
#[derive(Default)]
struct Repeater(Option<Packet>);

impl Agent for Repeater {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        match (from, &self.0) {
            (Side::Radio, None) => self.0 = Some(packet.clone()),
            (Side::Core, Some(first)) => cx.send(Side::Core, first.clone()),
            _ => {}
        }
        Verdict::Forward
    }
}

impl Stateless for Repeater {}

#[test]
fn an_agent_and_the_host_that_it_sits_in_come_to_an_end() {
    let mut world = World::new(1);
    let [server, phone] = ["server", "phone"].map(|name| node(&mut world, name, NodeKind::Host));
    let air = world.add_wireless_link(server, phone, &wireless("air", &direction(8000), STOP_AND_WAIT));
    world.attach(phone, &[air], Box::new(Repeater::default())).expect("it needs nothing");
    let flow = flow(&world, (server, phone), Some(100_000));
    world.add_flow(flow);
    world.run(ms(10_000), true);
    assert!(world.accounts().balance());
}

/// Tells the node that it is sent to; writes down what it is told.
struct Teller(&'static [u8], Arc<Mutex<Vec<Vec<u8>>>>);

impl Agent for Teller {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if from == Side::Core {
            cx.send_message(packet.ip().destination, Bytes::from_static(self.0));
        }
        Verdict::Forward
    }

    fn on_message(&mut self, _: IpAddr, octets: &[u8], _: &mut Context<'_>) {
        self.1.lock().expect("no panic elsewhere").push(octets.to_vec());
    }
}

impl Stateless for Teller {}

#[test]
fn a_datagram_of_a_real_host_reaches_it_whatever_its_ports() {
    let mut world = World::new(1);
    let [ap, phone] = ["ap", "phone"].map(|name| node(&mut world, name, NodeKind::External));
    let air = world.add_wireless_link(ap, phone, &wireless("air", &direction(8000), STOP_AND_WAIT));
    let told = Arc::new(Mutex::new(Vec::new()));
    world.attach(phone, &[air], Box::new(Teller(b"", Arc::clone(&told)))).expect("it needs nothing");
    let ip = Ip::new("198.51.100.1".parse().expect("one"), "198.51.100.2".parse().expect("one"));
    let udp = Udp { source_port: 7654, destination_port: 7654 };
    world.inject_to(
        ap,
        phone,
        Packet::new(ip, Transport::Udp(udp), Payload::Stream { stream: 1, offset: 0, len: 10 }),
    );
    world.advance_to(ms(1000));
    assert_eq!(told.lock().expect("no panic elsewhere").len(), 0, "no agent was meant");
    assert_eq!(world.collect(phone).len(), 1);
}
