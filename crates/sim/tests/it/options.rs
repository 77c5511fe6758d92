//! Options in frames, from agent to agent: over several radio hops, and no further.

use std::sync::{Arc, Mutex};

use lasthop_agent::{Agent, Context, LinkEvent, LinkSenses, Side, Stateless, Verdict};
use lasthop_packet::{LinkOptions, Packet};
use lasthop_sim::{LinkId, NodeId, NodeKind, World};
use lasthop_wifi::{Position, Propagation, Standard, StationConfig, WlanConfig};

use crate::support::{direction, ms, node, packet, wired};

const COUNT: u8 = 7;

fn count(packet: &Packet) -> Option<u8> {
    packet.link_options()?.find(COUNT)?.first().copied()
}

fn counted(hops: u8) -> LinkOptions {
    LinkOptions::NONE.with(COUNT, &[hops]).expect("it fits")
}

/// Counts the radio hops that packets have come over, in an option of their frames.
struct HopCounter {
    /// What packets said that came from the radio side.
    came: Arc<Mutex<Vec<Option<u8>>>>,
    /// Whether it makes the option longer on its way, which it must not.
    cheats: bool,
}

impl Agent for HopCounter {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        match from {
            Side::Radio => self.came.lock().expect("no panic elsewhere").push(count(packet)),
            Side::Core if packet.link_options().is_none() => cx.attach(counted(0)),
            Side::Core => {}
        }
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        match *event {
            LinkEvent::Departure { packet } => {
                if let Some(options) = packet.link_options() {
                    cx.attach(*options);
                }
            }
            LinkEvent::Transmission { packet, .. } => {
                let Some(hops) = count(packet) else { return };
                let options = counted(hops + 1);
                cx.attach(if self.cheats { options.with(1, &[1]).expect("it fits") } else { options });
            }
            _ => unreachable!("it did not ask"),
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::DEPARTURES | LinkSenses::TRANSMISSIONS | LinkSenses::LINK_OPTIONS
    }
}

impl Stateless for HopCounter {}

type Came = Arc<Mutex<Vec<Option<u8>>>>;

/// Four stations in a row, and a wire behind the last one to a host.
struct Row {
    world: World,
    nodes: [NodeId; 4],
    host: NodeId,
    came: [Came; 4],
}

impl Row {
    fn new(settle: bool, agents: [bool; 4], cheats: bool) -> Self {
        let mut world = World::new(3);
        let propagation = Propagation::Ranges { reception: 22.5, carrier_sense: 22.5 };
        let config = WlanConfig { propagation, settle, ..WlanConfig::new(Standard::HrDsss) };
        let wlan = world.add_wlan("row", config);
        let nodes = ["n1", "n2", "n3", "n4"].map(|name| node(&mut world, name, NodeKind::External));
        let host = node(&mut world, "host", NodeKind::External);
        let stations = [0, 1, 2, 3].map(|index: usize| {
            let position = Position::new(20.0 * index as f64, 0.0);
            world.add_station(wlan, nodes[index], &StationConfig { position, ..StationConfig::default() })
        });
        let links: Vec<LinkId> =
            stations.windows(2).map(|pair| world.add_radio_link("air", wlan, pair[0], pair[1])).collect();
        world.add_wired_link(nodes[3], host, &wired("wire", &direction(10_000), 1));
        let came: [Came; 4] = Default::default();
        for index in 0..4 {
            let watched: Vec<LinkId> = links
                .iter()
                .copied()
                .filter(|link| <[NodeId; 2]>::from(world.link_ends(*link)).contains(&nodes[index]))
                .collect();
            if agents[index] {
                let agent = HopCounter { came: Arc::clone(&came[index]), cheats };
                world.attach(nodes[index], &watched, Box::new(agent)).expect("a cell tells all");
            }
        }
        Self { world, nodes, host, came }
    }

    fn send(&mut self, to: NodeId) -> Packet {
        let sent = packet(&self.world, self.nodes[0], to, 1);
        self.world.inject(self.nodes[0], sent);
        let end = self.world.now().as_millis() + 500;
        self.world.advance_to(ms(end));
        let [(_, arrived)] = &self.world.collect(to)[..] else { panic!("one arrives") };
        assert!(self.world.accounts().balance());
        arrived.clone()
    }

    fn came(&self, index: usize) -> Vec<Option<u8>> {
        self.came[index].lock().expect("no panic elsewhere").clone()
    }
}

#[test]
fn options_are_updated_hop_by_hop_and_end_where_the_packet_leaves_the_radio_network() {
    for settle in [true, false] {
        let mut row = Row::new(settle, [true; 4], false);
        let last = row.nodes[3];
        assert_eq!(row.send(last).link_options(), None, "a host's own packets have none");
        let host = row.host;
        assert_eq!(row.send(host).link_options(), None, "a wire carries none");
        for (index, hops) in [(1, 1), (2, 2), (3, 3)] {
            assert_eq!(row.came(index), [Some(hops); 2], "at station {index}");
        }
    }
}

#[test]
fn where_a_station_on_the_way_knows_no_options_the_packet_goes_on_without() {
    let mut row = Row::new(true, [true, true, false, true], false);
    let last = row.nodes[3];
    row.send(last);
    assert_eq!((row.came(1), row.came(3)), (vec![Some(1)], vec![None]));
}

#[test]
fn options_that_would_be_longer_than_what_was_on_the_air_are_not_put_in() {
    let mut row = Row::new(true, [true; 4], true);
    let last = row.nodes[3];
    row.send(last);
    assert_eq!(row.came(3), [Some(0)]);
}
