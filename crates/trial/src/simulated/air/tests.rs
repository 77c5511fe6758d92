use lasthop_packet::Instant;
use lasthop_sim::{NodeConfig, NodeKind, World};
use lasthop_uml::hwsim::radio_address;
use lasthop_wifi::{Standard, StationConfig, WlanConfig};

use super::*;

/// Octets of a message before its attributes.
const HEADERS: usize = 20;

/// A cell of 802.11b with a radio at each of its two stations.
struct Fixture {
    world: World,
    air: Air,
    places: Vec<(WlanId, StationId)>,
    /// Messages to the driver, with their times in nanoseconds.
    said: Vec<(u64, Vec<u8>)>,
}

/// The address of a simulated station.
const SIMULATED: [u8; 6] = [2, 0x6c, 0x68, 0x73, 0, 1];

fn address(radio: u8) -> [u8; 6] {
    [2, 0, 0, 0, radio, 0]
}

fn world() -> (World, Vec<(WlanId, StationId)>) {
    let mut world = World::new(1);
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
    let stations = ["ap", "client"].map(|name| {
        let node = world.add_node(NodeConfig::new(name, NodeKind::Router));
        world.add_station(wlan, node, &StationConfig::default())
    });
    (world, stations.map(|station| (wlan, station)).to_vec())
}

impl Fixture {
    fn new() -> Self {
        Self::with(&[])
    }

    /// The second station is a simulated one.
    fn with_simulated() -> Self {
        Self::with(&[1])
    }

    fn with(simulated: &[usize]) -> Self {
        let (mut world, places) = world();
        let of_radio = |(cell, station): &(WlanId, StationId)| Place {
            cell: *cell,
            station: *station,
            standard: Standard::HrDsss,
            guest: 0,
            is_tuned: false,
            dozes: false,
        };
        let mut kernels: Vec<Place> = places.iter().map(of_radio).collect();
        let of_station = |index: &usize| Simulated {
            place: kernels[*index],
            address: SIMULATED,
            network: "lasthop-0".to_owned(),
            rate: Rate::CCK_11,
            queue: QueueLimit::Packets(2),
        };
        let stations = simulated.iter().map(of_station).collect();
        kernels.truncate(2 - simulated.len());
        let air = Air::new(&mut world, &kernels, stations);
        let mut fixture = Self { world, air, places, said: Vec::new() };
        for radio in 0..kernels.len() as u16 {
            fixture.say(7, &[(2, &radio_address(radio)), (1, &address(radio as u8))]);
        }
        fixture
    }

    /// The driver says something.
    fn say(&mut self, command: u8, attributes: &[(u16, &[u8])]) {
        let mut message = vec![0; 16];
        message.extend([command, 1, 0, 0]);
        for (kind, value) in attributes {
            message.extend((4 + value.len() as u16).to_le_bytes());
            message.extend(kind.to_le_bytes());
            message.extend_from_slice(value);
            message.resize(message.len().next_multiple_of(4), 0);
        }
        let Self { world, air, said, .. } = self;
        let now = world.now().as_nanos();
        air.take(0, &message, world, |_, message| said.push((now, message.to_vec()))).expect("it is right");
    }

    /// A radio transmits a frame of 100 octets, with FCS, at 11 Mbit/s, then at 1 Mbit/s.
    fn transmit(&mut self, radio: u16, control: u8, to: [u8; 6], cookie: u64) {
        let frame = [&[control, 0, 0, 0][..], &to, &[cookie as u8; 86]].concat();
        self.transmit_frame(radio, &frame, cookie);
    }

    fn transmit_frame(&mut self, radio: u16, frame: &[u8], cookie: u64) {
        let tries = [3, 2, 0, 5, 0xff, 0, 0, 0];
        self.say(
            2,
            &[
                (2, &radio_address(radio)),
                (3, frame),
                (4, &1u32.to_le_bytes()),
                (19, &2412u32.to_le_bytes()),
                (7, &tries),
                (8, &cookie.to_le_bytes()),
            ],
        );
    }

    fn run(&mut self) {
        self.run_until(1_000_000);
    }

    fn run_until(&mut self, micros: u64) {
        let Self { world, air, said, .. } = self;
        let until = Instant::from_nanos(micros * 1000);
        while let Some(at) = world.next_event_at().filter(|at| *at < until) {
            world.advance_to(at);
            air.hand_out(world, |_, message| said.push((at.as_nanos(), message.to_vec())));
        }
    }

    fn move_to(&mut self, mut other: World) {
        let Self { air, said, .. } = self;
        air.move_to(&mut other, |_, message| said.push((0, message.to_vec())));
        self.world = other;
    }

    /// What the driver was told: times in microseconds, and receptions as ("to", radio, cookie), statuses as
    /// ("acknowledged" or "lost", radio, cookie).
    fn told(&self) -> Vec<(u64, &'static str, u8, u8)> {
        let value = |message: &[u8], wanted: u16| {
            let mut rest = &message[HEADERS..];
            loop {
                let (len, kind) =
                    (u16::from_le_bytes([rest[0], rest[1]]), u16::from_le_bytes([rest[2], rest[3]]));
                if kind == wanted {
                    return rest[4..usize::from(len)].to_vec();
                }
                rest = &rest[usize::from(len).next_multiple_of(4)..];
            }
        };
        let of = |(time, message): &(u64, Vec<u8>)| {
            if message[16] == 2 {
                return (time / 1000, "to", value(message, 1)[4], *value(message, 3).last().expect("octets"));
            }
            let what = if value(message, 4)[0] & 4 == 4 { "acknowledged" } else { "lost" };
            (time / 1000, what, value(message, 2)[4], value(message, 8)[0])
        };
        self.said.iter().map(of).collect()
    }
}

/// 100 octets at 11 Mbit/s take 73 us behind a preamble of 192, and an ACK at 2 Mbit/s 248 after 10.
#[test]
fn a_frame_arrives_at_its_end_and_its_status_comes_at_the_end_of_its_ack() {
    let mut fixture = Fixture::new();
    fixture.transmit(0, 0x08, address(1), 7);
    fixture.run();
    assert_eq!(fixture.told(), [(265, "to", 1, 7), (265 + 258, "acknowledged", 0, 7)]);
    let mut used = StationUse {
        wlan: String::new(),
        name: String::new(),
        frames: 0,
        transmissions: 0,
        given_up: 0,
        air_time_s: 0.0,
        awake_s: None,
        awake_share: None,
    };
    fixture.air.report_use(0, fixture.world.now(), &mut used);
    assert_eq!((used.frames, used.transmissions, used.given_up), (1, 1, 0));
    assert!((used.air_time_s - 265e-6).abs() < 1e-6, "{}", used.air_time_s);
}

#[test]
fn a_frame_for_an_address_that_no_radio_answers_is_tried_to_the_end_of_its_chain() {
    let mut fixture = Fixture::new();
    fixture.transmit(0, 0x08, address(9), 7);
    fixture.say(8, &[(2, &radio_address(1)), (1, &address(1))]);
    fixture.transmit(0, 0x08, address(1), 8);
    fixture.run();
    let told = fixture.told();
    assert_eq!(told.iter().map(|it| (it.1, it.3)).collect::<Vec<_>>(), [("lost", 7), ("lost", 8)]);
    // 2 transmissions at 11 Mbit/s, 5 at 1 Mbit/s.
    assert!(told[0].0 > 2 * 265 + 5 * (192 + 800), "{told:?}");
}

#[test]
fn a_frame_for_a_group_reaches_all_and_a_beacon_goes_before_data_that_waits() {
    let mut fixture = Fixture::new();
    fixture.transmit(0, 0x08, address(1), 1);
    fixture.transmit(0, 0x08, address(1), 2);
    fixture.transmit(0, 0x80, [0xff; 6], 3);
    fixture.run();
    let order: Vec<_> = fixture.told().iter().map(|it| (it.1, it.3)).collect();
    let expected = [("to", 1), ("acknowledged", 1), ("to", 3), ("lost", 3), ("to", 2), ("acknowledged", 2)];
    assert_eq!(order, expected, "no station acknowledges a beacon");
}

#[test]
fn what_was_on_its_way_when_the_run_begins_is_transmitted_again() {
    let mut fixture = Fixture::new();
    fixture.transmit(1, 0x08, address(0), 1);
    fixture.transmit(1, 0x08, address(0), 2);
    let (other, places) = world();
    assert_eq!(places, fixture.places);
    fixture.move_to(other);
    fixture.run();
    let order: Vec<_> = fixture.told().iter().map(|it| (it.1, it.3)).collect();
    assert_eq!(order, [("to", 1), ("acknowledged", 1), ("to", 2), ("acknowledged", 2)]);
}

#[test]
fn what_has_arrived_when_the_run_begins_is_not_transmitted_again() {
    let mut fixture = Fixture::new();
    fixture.transmit(1, 0x08, address(0), 1);
    fixture.run_until(300);
    assert_eq!(fixture.told(), [(265, "to", 0, 1)], "its ACK is on the air");
    fixture.move_to(world().0);
    fixture.run();
    let order: Vec<_> = fixture.told().iter().map(|it| (it.1, it.3)).collect();
    assert_eq!(order, [("to", 1), ("acknowledged", 1)]);
}

#[test]
fn an_address_is_answered_until_it_was_removed_as_often_as_it_was_added() {
    let mut fixture = Fixture::new();
    fixture.say(7, &[(2, &radio_address(1)), (1, &address(1))]);
    for (cookie, outcome) in [(1, "acknowledged"), (2, "lost")] {
        fixture.say(8, &[(2, &radio_address(1)), (1, &address(1))]);
        fixture.transmit(0, 0x08, address(1), cookie);
        fixture.run();
        assert_eq!(fixture.told().last().map(|it| (it.1, it.3)), Some((outcome, cookie as u8)));
    }
}

#[test]
fn frames_beyond_the_room_of_a_radio_are_lost_at_once_and_take_no_air() {
    let mut fixture = Fixture::new();
    for _ in 0..MAX_WAITING + 3 {
        fixture.transmit(0, 0x08, address(1), 9);
    }
    // One is on the air.
    assert_eq!(fixture.told(), [(0, "lost", 0, 9); 2]);
    fixture.run();
    assert_eq!(fixture.told().iter().filter(|it| it.1 == "acknowledged").count(), MAX_WAITING + 1);
    assert_eq!(fixture.air.radios[0].used.given_up, 0);
    assert_eq!(fixture.air.radios[0].used.frames, MAX_WAITING as u64 + 1);
}

#[test]
fn what_no_cell_can_carry_is_an_error() {
    let mut fixture = Fixture::new();
    let Fixture { world, air, .. } = &mut fixture;
    assert!(air.take(0, &[0; 7], world, |_, _| ()).is_err(), "a stump");
    let mut stages = [None; 4];
    stages[0] = Some(Stage { index: 7, tries: 1, flags: 8 });
    let sent = SentFrame {
        radio: radio_address(0),
        octets: &[8; 30],
        wants_status: true,
        no_ack: false,
        mhz: 2412,
        stages,
        cookie: 1,
    };
    assert!(air.add(0, &sent, world, |_, _| ()).is_err(), "HT");
    for number in 0..=MAX_ADDRESSES as u8 {
        let answered = air.answer(Some(0), [2, 1, 0, 0, 0, number]);
        assert_eq!(answered.is_ok(), usize::from(number) < MAX_ADDRESSES - 1, "it has one already");
    }
    let of_nobody = SentFrame { radio: radio_address(9), stages: [None; 4], ..sent };
    assert!(air.add(0, &of_nobody, world, |_, _| ()).is_err());
    let of_another_guest = SentFrame { radio: radio_address(0), stages: [None; 4], ..sent };
    assert!(air.add(1, &of_another_guest, world, |_, _| ()).is_err());
}

/// The kernel's access point, by hand: what it hears is the third attribute of a message to its driver.
#[test]
fn a_simulated_station_associates_with_a_radio_and_carries_packets_both_ways() {
    let mut fixture = Fixture::with_simulated();
    let from_ap = |control: [u8; 2], to: [u8; 6], body: &[u8]| {
        [&control[..], &[0; 2], &to, &address(0), &address(0), &[0; 2], body].concat()
    };
    let packet = [0x45; 40];
    fixture.air.send_packet(0, &packet, &mut fixture.world);
    assert_eq!(fixture.told(), [], "it is not associated");
    let beacon = [&[0; 12][..], &[0, 9], b"lasthop-0"].concat();
    let of_ap = [
        from_ap([0x80, 0], [0xff; 6], &beacon),
        from_ap([0xb0, 0], SIMULATED, &[0, 0, 2, 0, 0, 0]),
        from_ap([0x10, 0], SIMULATED, &[0, 0, 0, 0, 1, 0xc0]),
        from_ap([0x08, 2], SIMULATED, &[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &packet].concat()),
    ];
    for (step, frame) in of_ap.iter().enumerate() {
        fixture.transmit_frame(0, frame, step as u64);
        fixture.run_until(10_000 * (step as u64 + 1));
    }
    assert_eq!(fixture.air.take_received(), [(0, packet.to_vec())]);
    for _ in 0..5 {
        fixture.air.send_packet(0, &packet, &mut fixture.world);
    }
    fixture.run_until(100_000);
    let heard = fixture.told().into_iter().filter(|(_, what, ..)| *what == "to").count();
    assert_eq!(heard, 2 + 3, "an authentication, an association, a packet on the air and two in the queue");
    let statuses = fixture.told().into_iter().filter(|(_, what, ..)| *what == "acknowledged").count();
    assert_eq!(statuses, 3, "of the radio's frames to it alone; none has a status of a simulated station's");
}

#[test]
fn a_driver_has_no_say_over_simulated_stations() {
    let mut fixture = Fixture::with_simulated();
    let Fixture { air, world, .. } = &mut fixture;
    let sent = SentFrame {
        radio: radio_address(1),
        octets: &[0; 40],
        wants_status: true,
        no_ack: false,
        mhz: 2412,
        stages: [None; 4],
        cookie: 1,
    };
    assert!(air.add(0, &sent, world, |_, _| ()).is_err());
}
