//! What link layers tell agents of their queues.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lasthop_agent::{Agent, Context, LinkEvent, LinkSenses, Side, Stateless, Verdict};
use lasthop_aodv::AodvConfig;
use lasthop_packet::{Packet, Seq};
use lasthop_sim::world::AttachError;
use lasthop_sim::{LinkId, LinkLayer, NodeId, NodeKind, World};
use lasthop_wifi::{
    ErrorConfig, Position, PowerSaveConfig, Propagation, Standard, StationConfig, WlanConfig,
};

use crate::radio::STOP_AND_WAIT;
use crate::support::{direction, ms, node, number, packet, percent, wired, wireless};

/// Counts what waits by what it sees, and holds the link layer's word against it.
#[derive(Default)]
struct Storekeeper {
    /// Packets that have gone to the interface and have not departed, by sequence number and
    /// length.
    waiting: Vec<(u32, u64)>,
    /// The packet on the air.
    departed: Option<u32>,
    told: Arc<Mutex<Told>>,
}

#[derive(Default)]
struct Told {
    departures: usize,
    longest: usize,
}

impl Agent for Storekeeper {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _: &mut Context<'_>) -> Verdict {
        if from == Side::Core {
            self.waiting.push((number(packet), packet.len() as u64));
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _: &mut Context<'_>) {
        let mut told = self.told.lock().expect("no panic elsewhere");
        match *event {
            LinkEvent::Departure { packet } => {
                let (first, _) = self.waiting.remove(0);
                assert_eq!(first, number(packet), "in the order in which they came");
                self.departed = Some(first);
                told.departures += 1;
            }
            LinkEvent::Backlog { packets, octets, .. } => {
                assert_eq!(packets, self.waiting.len());
                assert_eq!(octets, self.waiting.iter().map(|(_, len)| len).sum::<u64>());
                told.longest = told.longest.max(packets);
            }
            LinkEvent::Frame { packet, .. }
            | LinkEvent::Attempt { packet, .. }
            | LinkEvent::Transmission { packet, .. } => {
                assert_eq!(self.departed, Some(number(packet)), "what is on the air has departed");
            }
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE | LinkSenses::ATTEMPTS | LinkSenses::DEPARTURES | LinkSenses::BACKLOG
    }
}

impl Stateless for Storekeeper {}

/// An access point with two stations: two links of one cell, or two links.
fn access_point(world: &mut World, cell: bool) -> (NodeId, [NodeId; 2], [LinkId; 2]) {
    let access_point = node(world, "ap", NodeKind::External);
    let stations = ["phone", "tablet"].map(|name| node(world, name, NodeKind::External));
    let links = if cell {
        let errors = ErrorConfig::packets(percent(30.0), false);
        let wlan = world.add_wlan("cell", WlanConfig { errors, ..WlanConfig::new(Standard::HrDsss) });
        let center = world.add_station(wlan, access_point, &StationConfig::default());
        stations.map(|node| {
            let station = world.add_station(wlan, node, &StationConfig::default());
            world.add_radio_link("air", wlan, center, station)
        })
    } else {
        stations.map(|station| {
            let mut config = wireless("air", &direction(1000), STOP_AND_WAIT);
            config.forward.loss = percent(30.0).into();
            world.add_wireless_link(access_point, station, &config)
        })
    };
    (access_point, stations, links)
}

#[test]
fn a_packet_departs_once_before_its_frame_is_sent_and_the_backlog_is_what_has_not_departed() {
    for (cell, watched) in [(true, 2), (false, 1)] {
        let mut world = World::new(5);
        let (access_point, stations, links) = access_point(&mut world, cell);
        let agent = Storekeeper::default();
        let told = Arc::clone(&agent.told);
        world.attach(access_point, &links[..watched], Box::new(agent)).expect("the link layers tell all");
        for burst in 0..40 {
            for number in 0..20 {
                let station = stations[number as usize % watched];
                let packet = packet(&world, access_point, station, burst * 20 + number);
                world.inject(access_point, packet);
            }
            world.advance_to(ms(u64::from(burst + 1) * 300));
        }
        world.advance_to(ms(60_000));
        let told = told.lock().expect("no panic elsewhere");
        assert_eq!(told.departures, 800);
        assert!(told.longest >= 19, "{}", told.longest);
        assert!(world.counters().frames_sent > 900, "some are repeated");
    }
}

#[test]
fn a_wire_tells_nothing_of_its_queue_and_an_unreliable_hop_nothing_of_fates() {
    let mut world = World::new(1);
    let [a, b, c] = ["a", "b", "c"].map(|name| node(&mut world, name, NodeKind::External));
    let wire = world.add_wired_link(a, b, &wired("wire", &direction(1000), 1));
    let air = world.add_wireless_link(b, c, &wireless("air", &direction(1000), LinkLayer::UNRELIABLE));
    let mut attach = |node, link| world.attach(node, &[link], Box::new(Storekeeper::default()));
    let missing = |result: Result<(), AttachError>| result.expect_err("a sense is missing").to_string();
    assert!(missing(attach(a, wire)).contains("fate of each frame"));
    assert!(missing(attach(b, air)).contains("fate of each frame"));
    assert_eq!(
        LinkSenses::BACKLOG.missing_from(LinkSenses::empty()).map(|sentence| sentence.contains("queue")),
        Some(true)
    );
}

/// Writes down the latest backlog.
struct Watcher(Arc<Mutex<Vec<usize>>>);

impl Agent for Watcher {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, _: &mut Context<'_>) {
        if let LinkEvent::Backlog { packets, .. } = event {
            self.0.lock().expect("no panic elsewhere").push(*packets);
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::BACKLOG
    }
}

impl Stateless for Watcher {}

#[test]
fn a_backlog_is_told_at_each_change_of_a_queue_that_links_share() {
    let mut world = World::new(5);
    let ap = node(&mut world, "ap", NodeKind::External);
    let stations = ["phone", "tablet"].map(|name| node(&mut world, name, NodeKind::External));
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
    let center = world.add_station(wlan, ap, &StationConfig::default());
    let links = stations.map(|node| {
        let station = world.add_station(wlan, node, &StationConfig::default());
        world.add_radio_link("air", wlan, center, station)
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    world.attach(ap, &links[..1], Box::new(Watcher(Arc::clone(&told)))).expect("backlog is told");
    for number in 0..5 {
        world.inject(ap, packet(&world, ap, stations[0], number));
    }
    for number in 5..10 {
        world.inject(ap, packet(&world, ap, stations[1], number));
    }
    world.advance_to(ms(60_000));
    let told = told.lock().expect("no panic elsewhere");
    assert_eq!(told.last(), Some(&0), "the queue has been empty for a minute: {told:?}");
}

/// Sends one further packet when it learns a frame's fate; counts the departures of each.
struct Follower {
    more: u32,
    departures: Arc<Mutex<BTreeMap<u32, u32>>>,
}

impl Agent for Follower {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        match event {
            LinkEvent::Departure { packet } => {
                let number = number(packet);
                *self.departures.lock().expect("no panic elsewhere").entry(number).or_default() += 1;
            }
            LinkEvent::Frame { packet, .. } if self.more > 0 => {
                self.more -= 1;
                let mut next = (*packet).clone();
                next.tcp_mut().expect("a segment").seq = Seq(1000 + self.more);
                cx.send(Side::Radio, next);
            }
            _ => {}
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::FRAME_FATE | LinkSenses::DEPARTURES
    }
}

impl Stateless for Follower {}

#[test]
fn a_packet_that_an_agent_sends_on_hearing_of_a_fate_departs_once() {
    let mut world = World::new(5);
    let [ap, phone] = ["ap", "phone"].map(|name| node(&mut world, name, NodeKind::External));
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
    let stations = [ap, phone].map(|node| world.add_station(wlan, node, &StationConfig::default()));
    let air = world.add_radio_link("air", wlan, stations[0], stations[1]);
    let departures = Arc::default();
    let follower = Follower { more: 3, departures: Arc::clone(&departures) };
    world.attach(ap, &[air], Box::new(follower)).expect("all is told");
    world.inject(ap, packet(&world, ap, phone, 1));
    world.advance_to(ms(10_000));
    let departures = departures.lock().expect("no panic elsewhere");
    assert!(departures.values().all(|times| *times == 1), "by number: {departures:?}");
}

/// What waits by Departure against what waits by Backlog.
struct Auditor {
    more: u32,
    waiting: Vec<u32>,
}

impl Agent for Auditor {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, _: &mut Context<'_>) -> Verdict {
        if from == Side::Core {
            self.waiting.push(number(packet));
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        match event {
            LinkEvent::Departure { packet } => {
                let number = number(packet);
                self.waiting.retain(|other| *other != number);
            }
            LinkEvent::Backlog { packets, .. } => {
                assert_eq!(*packets, self.waiting.len(), "what has not departed waits: {:?}", self.waiting);
            }
            LinkEvent::Frame { packet, .. } if self.more > 0 => {
                self.more -= 1;
                let mut next = (*packet).clone();
                next.tcp_mut().expect("a segment").seq = Seq(1000 + self.more);
                self.waiting.push(1000 + self.more);
                cx.send(Side::Radio, next);
            }
            _ => {}
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::all()
    }
}

impl Stateless for Auditor {}

#[test]
fn a_backlog_told_while_a_fate_is_answered_is_what_has_not_departed() {
    let mut world = World::new(5);
    let [ap, phone] = ["ap", "phone"].map(|name| node(&mut world, name, NodeKind::External));
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
    let stations = [ap, phone].map(|node| world.add_station(wlan, node, &StationConfig::default()));
    let air = world.add_radio_link("air", wlan, stations[0], stations[1]);
    world.attach(ap, &[air], Box::new(Auditor { more: 3, waiting: Vec::new() })).expect("all is told");
    for number in 0..4 {
        world.inject(ap, packet(&world, ap, phone, number));
    }
    world.advance_to(ms(10_000));
}

/// An access point and a station that dozes.
fn dozing_cell(power_save: PowerSaveConfig, errors: ErrorConfig) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(5);
    let nodes = ["ap", "phone"].map(|name| node(&mut world, name, NodeKind::External));
    let wlan = world.add_wlan("cell", WlanConfig { errors, ..WlanConfig::new(Standard::HrDsss) });
    let stations = nodes.map(|node| world.add_station(wlan, node, &StationConfig::default()));
    let air = world.add_radio_link("air", wlan, stations[0], stations[1]);
    world.save_power(wlan, stations[0], &stations[1..], power_save);
    (world, nodes, air)
}

#[test]
fn what_waits_for_a_station_that_dozes_is_backlog_until_it_is_fetched() {
    let (mut world, [ap, phone], air) = dozing_cell(PowerSaveConfig::default(), ErrorConfig::none());
    let told: Arc<Mutex<Told>> = Arc::default();
    let keeper = Storekeeper { told: Arc::clone(&told), ..Storekeeper::default() };
    world.attach(ap, &[air], Box::new(keeper)).expect("all is told");
    for number in 0..4 {
        world.inject(ap, packet(&world, ap, phone, number));
    }
    assert_eq!(told.lock().expect("no panic elsewhere").departures, 0);
    world.advance_to(ms(10_000));
    let told = told.lock().expect("no panic elsewhere");
    assert_eq!((told.departures, told.longest), (4, 4));
    assert_eq!(world.collect(phone).len(), 4);
}

#[test]
fn what_an_agent_sends_to_a_station_that_dozes_is_backlog_too() {
    let (mut world, [ap, phone], air) = dozing_cell(PowerSaveConfig::default(), ErrorConfig::none());
    world.attach(ap, &[air], Box::new(Auditor { more: 3, waiting: Vec::new() })).expect("all is told");
    for number in 0..4 {
        world.inject(ap, packet(&world, ap, phone, number));
    }
    world.advance_to(ms(10_000));
    assert_eq!(world.collect(phone).len(), 7);
}

#[test]
fn a_backlog_is_told_when_what_waits_for_a_station_that_dozes_is_too_old() {
    let power_save = PowerSaveConfig {
        listen_interval: 20,
        first_beacon: Some(Duration::from_millis(1)),
        ..PowerSaveConfig::default()
    };
    // It hears no beacon.
    let errors = ErrorConfig::packets(percent(100.0), false);
    let (mut world, [ap, phone], air) = dozing_cell(power_save, errors);
    let told = Arc::new(Mutex::new(Vec::new()));
    world.attach(ap, &[air], Box::new(Watcher(Arc::clone(&told)))).expect("backlog is told");
    for number in 0..3 {
        world.inject(ap, packet(&world, ap, phone, number));
    }
    world.advance_to(ms(60_000));
    // They are dropped at once, and told of one by one.
    assert_eq!(*told.lock().expect("no panic elsewhere"), [1, 2, 3, 0, 0, 0]);
    assert!(world.accounts().balance() && world.accounts().in_transit == 0);
}

#[test]
fn a_backlog_is_told_when_what_waits_is_withdrawn() {
    let mut world = World::new(3);
    let propagation = Propagation::Ranges { reception: 150.0, carrier_sense: 150.0 };
    let wlan = world.add_wlan("field", WlanConfig { propagation, ..WlanConfig::new(Standard::HrDsss) });
    let nodes = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let stations =
        [0.0, 100.0].map(|x| StationConfig { position: Position::new(x, 0.0), ..StationConfig::default() });
    let stations = [0, 1].map(|n| world.add_station(wlan, nodes[n], &stations[n]));
    let air = world.add_radio_link("air", wlan, stations[0], stations[1]);
    for node in nodes {
        world.set_aodv(wlan, node, AodvConfig::default()).expect("all its links are the cell's");
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    world.attach(nodes[0], &[air], Box::new(Watcher(Arc::clone(&told)))).expect("backlog is told");
    world.advance_to(ms(1000));
    let first = packet(&world, nodes[0], nodes[1], 0);
    world.inject(nodes[0], first);
    world.advance_to(ms(2000));
    told.lock().expect("no panic elsewhere").clear();
    world.move_stations(wlan, &[(stations[1], Position::new(1000.0, 0.0))]);
    for number in 1..8 {
        let next = packet(&world, nodes[0], nodes[1], number);
        world.inject(nodes[0], next);
    }
    world.advance_to(ms(60_000));
    let told = told.lock().expect("no panic elsewhere");
    assert!(!told.is_empty(), "they had a route");
    assert_eq!(told.last(), Some(&0), "nothing waits in the queue: {told:?}, {:?}", world.accounts());
}
