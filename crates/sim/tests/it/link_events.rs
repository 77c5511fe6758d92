//! What link layers tell agents of their queues.

use std::sync::{Arc, Mutex};

use lasthop_agent::{Agent, Context, LinkEvent, LinkSenses, Side, Verdict};
use lasthop_packet::Packet;
use lasthop_sim::wifi::{ErrorConfig, Standard, StationConfig, WlanConfig};
use lasthop_sim::world::AttachError;
use lasthop_sim::{LinkId, LinkLayer, NodeId, NodeKind, World};

use crate::radio::STOP_AND_WAIT;
use crate::support::{direction, ms, node, packet, percent, wired, wireless};

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

fn number(packet: &Packet) -> u32 {
    packet.tcp().expect("a segment").seq.0
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
            LinkEvent::Frame { packet, .. } | LinkEvent::Attempt { packet, .. } => {
                assert_eq!(self.departed, Some(number(packet)), "what is on the air has departed");
            }
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::all()
    }
}

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
            config.forward.loss = percent(30.0);
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
