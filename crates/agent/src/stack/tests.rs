use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use lasthop_packet::{Instant, Ip, Payload, Rng, Seq, Tcp};

use super::*;
use crate::agent::Stateless;
use crate::counter::{DROPPED_HELD, DROPPED_HELD_OCTETS, FULL};

/// Holds everything until it is drained.
#[derive(Default)]
struct Keeper {
    kept: Vec<(Side, Packet)>,
}

impl Agent for Keeper {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _cx: &mut Context<'_>) -> Verdict {
        self.kept.push((from.opposite(), packet.clone()));
        Verdict::Absorb
    }
}

impl Accounts for Keeper {
    fn held(&self) -> u64 {
        self.kept.len() as u64
    }
}

impl Transfer for Keeper {
    fn drain(&mut self, cx: &mut Context<'_>) {
        for (to, packet) in self.kept.drain(..) {
            cx.send(to, packet);
        }
    }
}

#[test]
fn a_stack_is_drained_in_both_directions_and_in_order() {
    let keepers = (0..3).map(|_| Box::<Keeper>::default() as Box<dyn Agent>).collect();
    let mut stack = Stack::new(keepers);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    for port in 0..4 {
        let from = if port % 2 == 0 { Side::Core } else { Side::Radio };
        let tcp = Tcp { source_port: port, ..Tcp::default() };
        let mut packet = Packet::tcp_segment(Ip::new(host, host), tcp, Payload::EMPTY);
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        assert_eq!(stack.on_packet(&mut packet, from, &mut cx), Verdict::Absorb);
    }
    assert_eq!(stack.held(), 4);
    stack.drain(&mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
    assert_eq!(stack.held(), 0);
    let ports = |side: Side| -> Vec<u16> {
        let sent = outbox.packets.iter().filter(|(to, _)| *to == side);
        sent.filter_map(|(_, packet)| packet.tcp().map(|tcp| tcp.source_port)).collect()
    };
    assert_eq!((ports(Side::Radio), ports(Side::Core)), (vec![0, 2], vec![1, 3]));
}

/// Needs what it says, and writes down what it is told.
#[derive(Clone)]
struct Listener {
    needs: LinkSenses,
    told: Arc<Mutex<Vec<LinkSenses>>>,
}

impl Agent for Listener {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _cx: &mut Context<'_>) {
        self.told.lock().expect("no panic").push(event.sense());
    }

    fn needs(&self) -> LinkSenses {
        self.needs
    }
}

impl Stateless for Listener {}

#[test]
fn each_agent_learns_of_the_link_layer_only_what_it_needs() {
    let (backlog, departures) = (LinkSenses::BACKLOG, LinkSenses::DEPARTURES);
    let listeners = [LinkSenses::empty(), backlog, backlog | departures]
        .map(|needs| Listener { needs, told: Arc::default() });
    let mut stack =
        Stack::new(listeners.iter().map(|listener| Box::new(listener.clone()) as Box<dyn Agent>).collect());
    assert_eq!(stack.needs(), backlog | departures);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    stack.on_link(&LinkEvent::Backlog { packet: &packet, packets: 1, octets: 40 }, &mut cx);
    stack.on_link(&LinkEvent::Departure { packet: &packet }, &mut cx);
    let told = listeners.map(|listener| listener.told.lock().expect("no panic").clone());
    assert_eq!(told, [vec![], vec![backlog], vec![backlog, departures]]);
}

/// Tells the destination of each packet its name; writes down what it is told.
struct Teller {
    name: &'static [u8],
    told: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Agent for Teller {
    fn on_packet(&mut self, packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
        cx.send_message(packet.ip().destination, Bytes::from_static(self.name));
        Verdict::Forward
    }

    fn on_message(&mut self, _from: IpAddr, octets: &[u8], _cx: &mut Context<'_>) {
        self.told.lock().expect("no panic").push(octets.to_vec());
    }
}

impl Stateless for Teller {}

/// What agents of these layers, the first of which has number 0, are told when a seat tells
/// all that it has to tell.
fn told_by(teller: &mut dyn Agent, make: impl Fn(Vec<Teller>) -> Box<dyn Agent>) -> [Vec<Vec<u8>>; 2] {
    let told: [Arc<Mutex<Vec<_>>>; 2] = Default::default();
    let mut listener = make(told.iter().map(|told| Teller { name: b"", told: Arc::clone(told) }).collect());
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
    let verdict =
        teller.on_packet(&mut packet, Side::Core, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
    assert_eq!(verdict, Verdict::Forward);
    for (_, message) in std::mem::take(&mut outbox.messages) {
        listener.on_message(host, &message, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
    }
    told.map(|told| told.lock().expect("no panic").clone())
}

fn teller(name: &'static [u8]) -> Box<dyn Agent> {
    Box::new(Teller { name, told: Arc::default() })
}

fn both(tellers: Vec<Teller>) -> Box<dyn Agent> {
    Box::new(Stack::new(tellers.into_iter().map(|one| Box::new(one) as Box<dyn Agent>).collect()))
}

#[test]
fn a_message_reaches_the_same_layer_whatever_other_layers_have_no_agent_there() {
    let mut second = Stack::of_layers(vec![(1, teller(b"second"))]);
    assert_eq!(told_by(&mut second, both), [vec![], vec![b"second".to_vec()]]);
    let second = |mut tellers: Vec<Teller>| -> Box<dyn Agent> {
        Box::new(Stack::of_layers(vec![(1, Box::new(tellers.remove(1)))]))
    };
    let mut stack = Stack::new(vec![teller(b"first"), teller(b"second")]);
    assert_eq!(told_by(&mut stack, second), [vec![], vec![b"second".to_vec()]]);
}

#[test]
fn a_message_of_an_agent_alone_in_a_stack_is_as_it_is_without_one() {
    let alone = |mut tellers: Vec<Teller>| -> Box<dyn Agent> { Box::new(tellers.remove(0)) };
    let in_stack = |mut tellers: Vec<Teller>| both(vec![tellers.remove(0)]);
    let heard = [vec![b"hello".to_vec()], vec![]];
    assert_eq!(told_by(&mut Stack::new(vec![teller(b"hello")]), alone), heard);
    assert_eq!(told_by(teller(b"hello").as_mut(), in_stack), heard);
}

/// Answers each packet with two of its own, back to where it came from.
struct Quarrelsome;

impl Agent for Quarrelsome {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        cx.send(from, packet.clone());
        cx.send(from, packet.clone());
        Verdict::Forward
    }
}

impl Stateless for Quarrelsome {}

#[test]
fn agents_that_answer_each_other_come_to_an_end_and_nothing_is_lost() {
    let mut stack = Stack::new(vec![Box::new(Quarrelsome), Box::new(Quarrelsome)]);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    assert_eq!(stack.on_packet(&mut packet, Side::Core, &mut cx), Verdict::Forward);
    let at_bound = Report::of(&AT_BOUND).which("answers within a stack");
    assert!(outbox.reports.contains(&at_bound));
    // The first sends two packets that leave at once. The second is asked about the packet in
    // hand, and sends two; each answer leads to two more, and goes on.
    let asked = 2 + ANSWERS + 2 * ANSWERS;
    assert_eq!(outbox.packets.len(), 2 * asked);
    assert!(stack.under_way.is_empty());
}

/// Drops everything.
struct Wall;

impl Agent for Wall {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Drop(&FULL)
    }
}

impl Stateless for Wall {}

#[test]
fn what_one_agent_sends_and_another_drops_is_reported() {
    let mut stack = Stack::new(vec![Box::new(Wall), Box::new(Quarrelsome)]);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let payload = Payload::Stream { stream: 1, offset: 0, len: 100 };
    let tcp = Tcp { seq: Seq(7), ..Tcp::default() };
    let mut packet = Packet::tcp_segment(Ip::new(host, host), tcp, payload);
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    // From the radio side: the first agent asked answers back there, and the packet ends at the
    // second.
    assert_eq!(stack.on_packet(&mut packet, Side::Radio, &mut cx), Verdict::Drop(&FULL));
    assert_eq!((outbox.packets.len(), outbox.reports.len()), (2, 0));
    let mut stack = Stack::new(vec![Box::new(Wall), Box::<Keeper>::default()]);
    outbox = Outbox::default();
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    assert_eq!(stack.on_packet(&mut packet, Side::Radio, &mut cx), Verdict::Absorb);
    stack.drain(&mut cx);
    let dropped = Report::of(&DROPPED_HELD).at(Seq(7)).which(FULL.about);
    let octets = Report { counter: &DROPPED_HELD_OCTETS, amount: 100, ..dropped };
    assert_eq!((outbox.packets.len(), outbox.reports), (0, vec![dropped, octets]));
}
