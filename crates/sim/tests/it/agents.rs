//! Toy agents, and what the world shows to agents.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::counter::{DROPPED_HELD, FULL};
use lasthop_agent::{
    Accounts, Agent, Context, Deadline, Fate, LinkEvent, LinkSenses, Side, Stack, Stateless, Transfer,
    Verdict,
};
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp};
use lasthop_sim::world::AttachError;
use lasthop_sim::{Arq, ChannelConfig, Feedback, LinkLayer, NodeKind, World};
use lasthop_wifi::{ErrorConfig, Standard, StationConfig, WlanConfig};

use crate::radio::STOP_AND_WAIT;
use crate::support::{arrived, direction, ms, node, number, packet, percent, wired, wireless};

/// Drops, duplicates and delays at random, and so reorders.
pub struct Mangler {
    /// The probability of each, in percent.
    pub percent: f64,
    held: VecDeque<(Instant, Side, Packet)>,
}

impl Mangler {
    pub fn new(percent: f64) -> Self {
        Self { percent, held: VecDeque::new() }
    }
}

impl Agent for Mangler {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let each = percent(self.percent);
        if cx.rng().happens(each) {
            return Verdict::Drop(&FULL);
        }
        if cx.rng().happens(each) {
            cx.send(from.opposite(), packet.clone());
        }
        if cx.rng().happens(each) {
            let due = cx.now() + Duration::from_micros(cx.rng().below(30_000));
            self.held.push_back((due, from.opposite(), packet.clone()));
            return Verdict::Absorb;
        }
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Deadline> {
        self.held.iter().map(|(at, ..)| *at).min().map(|at| Deadline { at, reason: "held packet" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        for _ in 0..self.held.len() {
            let Some((at, to, packet)) = self.held.pop_front() else { break };
            if at <= cx.now() {
                cx.send(to, packet);
            } else {
                self.held.push_back((at, to, packet));
            }
        }
    }
}

impl Accounts for Mangler {
    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}

impl Transfer for Mangler {}

type Fates = Arc<Mutex<Vec<(Fate, u32)>>>;

/// Writes down what becomes of frames.
struct Recorder {
    fates: Fates,
    /// Packets that it sends over the radio, one each time that it hears something.
    echo: Vec<Packet>,
}

impl Agent for Recorder {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let LinkEvent::Frame { fate, transmissions, .. } = *event else { return };
        self.fates.lock().expect("no panic elsewhere").push((fate, transmissions));
        if let Some(packet) = self.echo.pop() {
            cx.send(Side::Radio, packet);
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE
    }
}

impl Stateless for Recorder {}

/// What the sender's agent hears of one packet over a link that loses this share of transmissions.
fn fates(link_layer: LinkLayer, loss_percent: f64) -> Vec<(Fate, u32)> {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let mut config = wireless("air", &direction(1000), link_layer);
    config.forward.loss = percent(loss_percent).into();
    let link = world.add_wireless_link(ends[0], ends[1], &config);
    let fates = Fates::default();
    let agent = Recorder { fates: Arc::clone(&fates), echo: Vec::new() };
    world.attach(ends[0], &[link], Box::new(agent)).expect("the link layer shows fates");
    world.inject(ends[0], packet(&world, ends[0], ends[1], 1));
    world.advance_to(ms(1000));
    assert!(world.accounts().balance());
    let heard = fates.lock().expect("no panic elsewhere");
    heard.clone()
}

#[test]
fn an_agent_hears_of_the_first_failure_and_of_the_end() {
    use Fate::{Delivered, FirstTransmissionFailed, GivenUp};
    let arq = Arq::SelectiveRepeat { window: 8 };
    let selective_repeat = Feedback::Acknowledged { timeout: Duration::from_millis(3), ack_octets: 14, arq };
    for feedback in [Feedback::Immediate, STOP_AND_WAIT.feedback, selective_repeat] {
        let layer = |retransmission_attempts| LinkLayer { feedback, retransmission_attempts };
        assert_eq!(fates(layer(8), 0.0), [(Delivered, 1)]);
        assert_eq!(fates(layer(2), 100.0), [(FirstTransmissionFailed, 1), (GivenUp, 3)]);
        assert_eq!(fates(layer(0), 100.0), [(FirstTransmissionFailed, 1), (GivenUp, 1)]);
    }
}

#[test]
fn an_agent_that_needs_fates_is_refused_where_there_are_none() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let link =
        world.add_wireless_link(ends[0], ends[1], &wireless("air", &direction(1000), LinkLayer::UNRELIABLE));
    let agent = || Box::new(Recorder { fates: Fates::default(), echo: Vec::new() });
    let refusal = world.attach(ends[0], &[link], agent()).expect_err("there are no fates");
    assert!(matches!(refusal, AttachError::Missing(..)));
    assert!(refusal.to_string().contains("fate of each frame"), "{refusal}");
    assert_eq!(world.attach(ends[0], &[link], Box::new(Mangler::new(0.0))), Ok(()), "it needs none");
    assert_eq!(world.attach(ends[0], &[link], Box::new(Mangler::new(0.0))), Err(AttachError::Occupied(link)));
    let wire = world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(1000), 1));
    assert!(
        matches!(world.attach(ends[0], &[wire], agent()), Err(AttachError::Missing(..))),
        "nor on a wire"
    );
    assert_eq!(world.attach(ends[0], &[wire], Box::new(Mangler::new(0.0))), Ok(()), "a wire will do");
    let [other, third] = ["c", "d"].map(|name| node(&mut world, name, NodeKind::External));
    let elsewhere = world.add_wired_link(other, third, &wired("elsewhere", &direction(1000), 1));
    let refusal = world.attach(ends[0], &[elsewhere], Box::new(Mangler::new(0.0)));
    assert_eq!(refusal, Err(AttachError::NotItsLink(elsewhere)));
}

#[test]
fn a_crash_takes_what_an_agent_holds_and_lets_later_packets_pass() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let link = world.add_wired_link(ends[0], ends[1], &wired("wire", &direction(1000), 1));
    let mut hoarder = Mangler::new(0.0);
    let kept = packet(&world, ends[0], ends[1], 1);
    hoarder.held.push_back((ms(50), Side::Radio, kept));
    world.attach(ends[0], &[link], Box::new(hoarder)).expect("a wire will do");
    assert_eq!(world.held_by_agents(), 1);
    world.crash_agents(ends[1]);
    assert_eq!(world.held_by_agents(), 1, "that is another node");
    world.crash_agents(ends[0]);
    assert_eq!((world.held_by_agents(), world.reported().get(&DROPPED_HELD)), (0, 1));
    world.inject(ends[0], packet(&world, ends[0], ends[1], 2));
    world.advance_to(ms(200));
    assert_eq!(arrived(&mut world, ends[1]), [2], "nothing is sent on behalf of what is gone");
    assert!(world.accounts().balance());
}

#[test]
fn what_an_agent_sends_on_hearing_of_a_frame_waits_for_its_turn() {
    for loss in [0.0, 30.0, 100.0] {
        for attempts in [0, 3] {
            let mut world = World::new(1);
            let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
            let layer = LinkLayer { retransmission_attempts: attempts, ..STOP_AND_WAIT };
            let mut config = wireless("air", &direction(1000), layer);
            config.channel = ChannelConfig::PERFECT;
            config.forward.loss = percent(loss).into();
            let link = world.add_wireless_link(ends[0], ends[1], &config);
            let echo = (100..150).map(|number| packet(&world, ends[0], ends[1], number)).collect();
            world
                .attach(ends[0], &[link], Box::new(Recorder { fates: Fates::default(), echo }))
                .expect("the link layer shows fates");
            for number in 0..50 {
                world.inject(ends[0], packet(&world, ends[0], ends[1], number));
            }
            let mut seen = Vec::new();
            for step in 1..3000 {
                world.advance_to(ms(step * 5));
                assert!(world.accounts().balance(), "{:?}", world.accounts());
                seen.extend(arrived(&mut world, ends[1]));
            }
            let given_up = world.counters().frames_given_up as usize;
            assert_eq!(seen.len() + given_up, 100, "loss {loss}%, {attempts} attempts");
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len() + given_up, 100, "nothing comes twice");
        }
    }
}

/// Sends a copy of each packet ahead of it.
pub struct Parrot;

impl Agent for Parrot {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        cx.send(from.opposite(), packet.clone());
        Verdict::Forward
    }
}

impl Stateless for Parrot {}

#[test]
fn what_an_agent_sends_to_an_address_of_the_outside_goes_where_packets_to_it_went() {
    let mut world = World::new(1);
    // Two links that have nothing to do with each other; the same host is behind one end of each.
    let [server, wire_end, gateway, client] =
        ["server", "wire end", "gateway", "client"].map(|name| node(&mut world, name, NodeKind::External));
    world.add_wired_link(server, wire_end, &wired("wire", &direction(8000), 1));
    let air = world.add_wireless_link(gateway, client, &wireless("air", &direction(8000), STOP_AND_WAIT));
    world.attach(client, &[air], Box::new(Parrot)).expect("it needs nothing");
    let between = |source: &str, destination: &str, number: u32| {
        let ip = Ip::new(source.parse().expect("one"), destination.parse().expect("one"));
        let tcp = Tcp { seq: Seq(number), ..Tcp::default() };
        Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 9, offset: 0, len: 100 })
    };
    let (of_server, of_client) = ("198.51.100.1", "198.51.100.2");
    world.inject_to(server, wire_end, between(of_server, of_client, 1));
    world.inject_to(gateway, client, between(of_server, of_client, 2));
    world.inject_to(client, gateway, between(of_client, of_server, 3));
    world.advance_to(ms(1000));
    assert_eq!(arrived(&mut world, wire_end), [1]);
    assert_eq!(arrived(&mut world, client), [2, 2], "the agent's copy and the packet itself");
    assert_eq!(arrived(&mut world, gateway), [3, 3]);
    assert_eq!(arrived(&mut world, server), []);
    assert!(world.accounts().balance() && world.accounts().dropped.is_empty());
}

/// Writes down what it is asked about: from which side, at the interface to whom.
#[derive(Default)]
struct Clerk {
    asked: Arc<Mutex<Vec<(u32, Side, IpAddr)>>>,
    /// What it sends when it is next asked.
    sends: Option<(Side, Packet)>,
}

impl Agent for Clerk {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let neighbour = cx.neighbor().expect("it is about a link");
        self.asked.lock().expect("no panic elsewhere").push((number(packet), from, neighbour));
        if let Some((to, packet)) = self.sends.take() {
            cx.send(to, packet);
        }
        Verdict::Forward
    }
}

impl Stateless for Clerk {}

#[test]
fn a_seat_has_all_its_interfaces_and_what_it_sends_takes_the_route() {
    let mut world = World::new(1);
    let server = node(&mut world, "server", NodeKind::External);
    let [router, access_point] = ["router", "ap"].map(|name| node(&mut world, name, NodeKind::Router));
    let [phone, tablet] = ["phone", "tablet"].map(|name| node(&mut world, name, NodeKind::External));
    let trunk = world.add_wired_link(server, router, &wired("trunk", &direction(8000), 1));
    let _ = world.add_wired_link(router, access_point, &wired("wire", &direction(8000), 1));
    let air = [phone, tablet].map(|station| {
        let config = wireless("air", &direction(8000), STOP_AND_WAIT);
        world.add_wireless_link(access_point, station, &config)
    });
    let here = Clerk { sends: Some((Side::Radio, packet(&world, server, tablet, 2))), ..Clerk::default() };
    let (asked, on_the_wire) = (Arc::clone(&here.asked), Clerk::default());
    let asked_upstream = Arc::clone(&on_the_wire.asked);
    world.attach(access_point, &air, Box::new(here)).expect("it needs nothing");
    world.attach(router, &[trunk], Box::new(on_the_wire)).expect("it needs nothing");

    world.inject(server, packet(&world, server, phone, 1));
    world.advance_to(ms(100));
    assert_eq!(arrived(&mut world, phone), [1]);
    assert_eq!(arrived(&mut world, tablet), [2], "by the link that leads there");
    world.inject(phone, packet(&world, phone, tablet, 3));
    world.inject(phone, packet(&world, phone, server, 4));
    world.advance_to(ms(200));
    assert_eq!(arrived(&mut world, tablet), [3]);
    assert_eq!(arrived(&mut world, server), [4]);

    let address = |node| world.node_address(node);
    let asked = asked.lock().expect("no panic elsewhere").clone();
    let expected = [
        (1, Side::Core, address(phone)),
        (3, Side::Radio, address(phone)),
        (4, Side::Radio, address(phone)),
        (3, Side::Core, address(tablet)),
    ];
    assert_eq!(asked.len(), expected.len(), "not about its own: {asked:?}");
    assert!(expected.iter().all(|one| asked.contains(one)), "{asked:?}");
    // The trunk is the router's radio side.
    let upstream = asked_upstream.lock().expect("no panic elsewhere").clone();
    assert_eq!(upstream, [(1, Side::Radio, address(server)), (4, Side::Core, address(server))]);
}

#[test]
fn what_an_agent_sends_is_shown_to_the_agents_of_other_seats_on_its_way() {
    let mut world = World::new(1);
    let server = node(&mut world, "server", NodeKind::External);
    let access_point = node(&mut world, "ap", NodeKind::Router);
    let phone = node(&mut world, "phone", NodeKind::External);
    let wire = world.add_wired_link(server, access_point, &wired("wire", &direction(8000), 1));
    let air = world.add_wireless_link(access_point, phone, &wireless("air", &direction(8000), STOP_AND_WAIT));
    let answer = packet(&world, phone, server, 2);
    let sender = Clerk { sends: Some((Side::Core, answer)), ..Clerk::default() };
    let other = Clerk::default();
    let asked = Arc::clone(&other.asked);
    world.attach(access_point, &[air], Box::new(sender)).expect("it needs nothing");
    world.attach(access_point, &[wire], Box::new(other)).expect("it needs nothing");
    world.inject(server, packet(&world, server, phone, 1));
    world.advance_to(ms(100));
    assert_eq!(arrived(&mut world, server), [2]);
    let server = world.node_address(server);
    let asked = asked.lock().expect("no panic elsewhere").clone();
    assert_eq!(asked, [(1, Side::Radio, server), (2, Side::Core, server)]);
}

/// When a message came, from whom, and what it says.
type Letter = (Instant, IpAddr, Vec<u8>);

/// Answers each message with its own in reverse, and writes down what came when.
#[derive(Default)]
struct Correspondent {
    got: Arc<Mutex<Vec<Letter>>>,
    /// To whom it sends a message when it sees a packet.
    writes_to: Option<IpAddr>,
}

impl Agent for Correspondent {
    fn on_packet(&mut self, _: &mut Packet, _: Side, cx: &mut Context<'_>) -> Verdict {
        if let Some(peer) = self.writes_to.take() {
            cx.send_message(peer, Bytes::from_static(b"state"));
        }
        Verdict::Forward
    }

    fn on_message(&mut self, from: IpAddr, octets: &[u8], cx: &mut Context<'_>) {
        self.got.lock().expect("no panic elsewhere").push((cx.now(), from, octets.to_vec()));
        if octets == b"state" {
            cx.send_message(from, octets.iter().rev().copied().collect());
        }
    }
}

impl Stateless for Correspondent {}

#[test]
fn a_message_is_a_packet_of_its_length_on_the_path_between_two_seats() {
    for stacked in [false, true] {
        let mut world = World::new(1);
        let [server, nobody] = ["server", "nobody"].map(|name| node(&mut world, name, NodeKind::External));
        let [here, there] = ["here", "there"].map(|name| node(&mut world, name, NodeKind::Router));
        let _ = world.add_wired_link(server, here, &wired("trunk", &direction(8000), 1));
        // 1 Mbit/s: an octet takes 8 us.
        let between = world.add_wired_link(here, there, &wired("between", &direction(1000), 5));
        let last = world.add_wired_link(there, nobody, &wired("last", &direction(1000), 1));
        let address = [here, there].map(|node| world.node_address(node));
        let writer = Correspondent { writes_to: Some(address[1]), ..Correspondent::default() };
        let reader = Correspondent::default();
        let got = [&writer, &reader].map(|correspondent| Arc::clone(&correspondent.got));
        let seated = |agent: Correspondent| -> Box<dyn Agent> {
            if stacked {
                Box::new(Stack::new(vec![Box::new(Mangler::new(0.0)), Box::new(agent)]))
            } else {
                Box::new(agent)
            }
        };
        world.attach(here, &[between], seated(writer)).expect("it needs nothing");
        world.attach(there, &[last], seated(reader)).expect("it needs nothing");
        world.inject(server, packet(&world, server, there, 1));
        world.advance_to(ms(1000));
        assert!(world.accounts().balance(), "{:?}", world.accounts());
        let got = got.map(|got| got.lock().expect("no panic elsewhere").clone());
        let [(answered, _, answer)] = got[0].as_slice() else { panic!("one: {got:?}") };
        let [(arrived, from, message)] = got[1].as_slice() else { panic!("one: {got:?}") };
        assert_eq!(
            (answer.as_slice(), *from, message.as_slice()),
            (&b"etats"[..], address[0], &b"state"[..])
        );
        // IP, UDP, what it says, and which layer of a stack it is for; behind the packet that it
        // was sent before.
        let octets = 20 + 8 + 5 + u64::from(stacked);
        assert_eq!(answered.since(*arrived), Duration::from_micros(5000 + 8 * octets));
    }
}

/// What a link layer told of one frame after the other: each transmission, and then its fate.
#[derive(Default)]
struct Auditor {
    /// Transmissions of the frame in hand: when each began, and whether it was confirmed.
    attempts: Vec<(Instant, bool)>,
    audited: Arc<Mutex<Vec<usize>>>,
}

impl Agent for Auditor {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        match *event {
            LinkEvent::Attempt { transmission, began, is_confirmed, .. } => {
                self.attempts.push((began, is_confirmed));
                assert_eq!(transmission as usize, self.attempts.len(), "in order, and none left out");
                assert!(began < cx.now() && self.attempts.is_sorted_by_key(|(began, _)| *began));
            }
            LinkEvent::Frame { fate: Fate::FirstTransmissionFailed, .. } => {
                assert_eq!(self.attempts.len(), 1, "the attempt is told first");
            }
            LinkEvent::Frame { fate, transmissions, .. } => {
                let confirmed = self.attempts.iter().filter(|(_, confirmed)| *confirmed).count();
                assert_eq!(confirmed, usize::from(fate == Fate::Delivered), "{fate:?}");
                assert_eq!(transmissions as usize, self.attempts.len());
                self.audited.lock().expect("no panic elsewhere").push(self.attempts.len());
                self.attempts.clear();
            }
            LinkEvent::Departure { .. } | LinkEvent::Transmission { .. } | LinkEvent::Backlog { .. } => {
                unreachable!("it has no such sense")
            }
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE | LinkSenses::ATTEMPTS
    }
}

impl Stateless for Auditor {}

#[test]
fn each_transmission_is_told_before_the_fate_that_follows_from_it() {
    for cell in [false, true] {
        let mut world = World::new(3);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
        let link = if cell {
            let errors = ErrorConfig::packets(percent(40.0), false);
            let config = WlanConfig { errors, ..WlanConfig::new(Standard::HrDsss) };
            let wlan = world.add_wlan("cell", config);
            let stations = ends.map(|end| world.add_station(wlan, end, &StationConfig::default()));
            world.add_radio_link("air", wlan, stations[0], stations[1])
        } else {
            let mut config = wireless("air", &direction(1000), STOP_AND_WAIT);
            config.forward.loss = percent(40.0).into();
            world.add_wireless_link(ends[0], ends[1], &config)
        };
        let agent = Auditor::default();
        let audited = Arc::clone(&agent.audited);
        world.attach(ends[0], &[link], Box::new(agent)).expect("the link layer shows all");
        for number in 0..300 {
            world.inject(ends[0], packet(&world, ends[0], ends[1], number));
            world.advance_to(ms(u64::from(number + 1) * 50));
        }
        world.advance_to(ms(20_000));
        let audited = audited.lock().expect("no panic elsewhere");
        assert_eq!(audited.len(), 300);
        assert_eq!(audited.iter().sum::<usize>() as u64, world.counters().frames_sent);
        assert!(audited.iter().any(|attempts| *attempts > 2), "some are repeated");
    }
}
