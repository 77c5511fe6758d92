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

/// Needs these senses, and records the events.
#[derive(Clone)]
struct Listener {
    needs: LinkSenses,
    received: Arc<Mutex<Vec<LinkSenses>>>,
}

impl Agent for Listener {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _cx: &mut Context<'_>) {
        self.received.lock().expect("no panic").push(event.sense());
    }

    fn needs(&self) -> LinkSenses {
        self.needs
    }
}

impl Stateless for Listener {}

#[test]
fn each_agent_sees_only_the_link_events_that_it_needs() {
    let (backlog, departures) = (LinkSenses::BACKLOG, LinkSenses::DEPARTURES);
    let listeners = [LinkSenses::empty(), backlog, backlog | departures]
        .map(|needs| Listener { needs, received: Arc::default() });
    let mut stack =
        Stack::new(listeners.iter().map(|listener| Box::new(listener.clone()) as Box<dyn Agent>).collect());
    assert_eq!(stack.needs(), backlog | departures);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    stack.on_link(&LinkEvent::Backlog { packet: &packet, packets: 1, octets: 40 }, &mut cx);
    stack.on_link(&LinkEvent::Departure { packet: &packet }, &mut cx);
    let received = listeners.map(|listener| listener.received.lock().expect("no panic").clone());
    assert_eq!(received, [vec![], vec![backlog], vec![backlog, departures]]);
}

/// Sends its name to the destination of each packet; records the messages to it.
struct Messenger {
    name: &'static [u8],
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Agent for Messenger {
    fn on_packet(&mut self, packet: &mut Packet, _from: Side, cx: &mut Context<'_>) -> Verdict {
        cx.send_message(packet.ip().destination, Bytes::from_static(self.name));
        Verdict::Forward
    }

    fn on_message(&mut self, _from: IpAddr, octets: &[u8], _cx: &mut Context<'_>) {
        self.received.lock().expect("no panic").push(octets.to_vec());
    }
}

impl Stateless for Messenger {}

/// The messages that the agents of two layers, numbered from 0, receive from a sender at another
/// node.
fn received_from(
    messenger: &mut dyn Agent,
    make: impl Fn(Vec<Messenger>) -> Box<dyn Agent>,
) -> [Vec<Vec<u8>>; 2] {
    let received: [Arc<Mutex<Vec<_>>>; 2] = Default::default();
    let mut listener = make(
        received.iter().map(|of_layer| Messenger { name: b"", received: Arc::clone(of_layer) }).collect(),
    );
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
    let verdict =
        messenger.on_packet(&mut packet, Side::Core, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
    assert_eq!(verdict, Verdict::Forward);
    for (_, message) in std::mem::take(&mut outbox.messages) {
        listener.on_message(host, &message, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
    }
    received.map(|of_layer| of_layer.lock().expect("no panic").clone())
}

fn messenger(name: &'static [u8]) -> Box<dyn Agent> {
    Box::new(Messenger { name, received: Arc::default() })
}

fn both(messengers: Vec<Messenger>) -> Box<dyn Agent> {
    Box::new(Stack::new(messengers.into_iter().map(|one| Box::new(one) as Box<dyn Agent>).collect()))
}

#[test]
fn a_message_reaches_the_same_layer_where_other_layers_have_no_agent() {
    let mut second = Stack::from_layers(vec![(1, messenger(b"second"))]);
    assert_eq!(received_from(&mut second, both), [vec![], vec![b"second".to_vec()]]);
    let second = |mut messengers: Vec<Messenger>| -> Box<dyn Agent> {
        Box::new(Stack::from_layers(vec![(1, Box::new(messengers.remove(1)))]))
    };
    let mut stack = Stack::new(vec![messenger(b"first"), messenger(b"second")]);
    assert_eq!(received_from(&mut stack, second), [vec![], vec![b"second".to_vec()]]);
}

#[test]
fn a_message_of_a_single_agent_in_a_stack_is_as_without_a_stack() {
    let alone = |mut messengers: Vec<Messenger>| -> Box<dyn Agent> { Box::new(messengers.remove(0)) };
    let in_stack = |mut messengers: Vec<Messenger>| both(vec![messengers.remove(0)]);
    let expected = [vec![b"hello".to_vec()], vec![]];
    assert_eq!(received_from(&mut Stack::new(vec![messenger(b"hello")]), alone), expected);
    assert_eq!(received_from(messenger(b"hello").as_mut(), in_stack), expected);
}

/// Responds to each packet with two copies, back to its origin.
struct Responder;

impl Agent for Responder {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        cx.send(from, packet.clone());
        cx.send(from, packet.clone());
        Verdict::Forward
    }
}

impl Stateless for Responder {}

#[test]
fn agents_that_answer_each_other_are_stopped_and_no_packet_is_lost() {
    let mut stack = Stack::new(vec![Box::new(Responder), Box::new(Responder)]);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let mut packet = Packet::tcp_segment(Ip::new(host, host), Tcp::default(), Payload::EMPTY);
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    assert_eq!(stack.on_packet(&mut packet, Side::Core, &mut cx), Verdict::Forward);
    let at_bound = Report::new(&AT_BOUND).which("answers within a stack");
    assert!(outbox.reports.contains(&at_bound));
    // The first agent sends two packets that leave at once. The second is called with the packet
    // itself, and sends two; each answer leads to two more.
    let calls = 2 + MAX_ANSWERS + 2 * MAX_ANSWERS;
    assert_eq!(outbox.packets.len(), 2 * calls);
    assert!(stack.under_way.is_empty());
}

/// Drops everything.
struct DropAll;

impl Agent for DropAll {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Drop(&FULL)
    }
}

impl Stateless for DropAll {}

#[test]
fn a_packet_that_one_agent_sends_and_another_drops_is_reported() {
    let mut stack = Stack::new(vec![Box::new(DropAll), Box::new(Responder)]);
    let (mut rng, mut outbox) = (Rng::named(1, "stack"), Outbox::default());
    let host = Ipv4Addr::LOCALHOST.into();
    let payload = Payload::Stream { stream: 1, offset: 0, len: 100 };
    let tcp = Tcp { seq: Seq(7), ..Tcp::default() };
    let mut packet = Packet::tcp_segment(Ip::new(host, host), tcp, payload);
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    // From the radio side: the first agent called responds to that side, and the packet is dropped
    // by the second.
    assert_eq!(stack.on_packet(&mut packet, Side::Radio, &mut cx), Verdict::Drop(&FULL));
    assert_eq!((outbox.packets.len(), outbox.reports.len()), (2, 0));
    let mut stack = Stack::new(vec![Box::new(DropAll), Box::<Keeper>::default()]);
    outbox = Outbox::default();
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    assert_eq!(stack.on_packet(&mut packet, Side::Radio, &mut cx), Verdict::Absorb);
    stack.drain(&mut cx);
    let dropped = Report::new(&DROPPED_HELD).at(Seq(7)).which(FULL.about);
    let octets = Report { counter: &DROPPED_HELD_OCTETS, amount: 100, ..dropped };
    assert_eq!((outbox.packets.len(), outbox.reports), (0, vec![dropped, octets]));
}
