//! How many frames the access point keeps, and for how long.

use std::time::Duration;

use lasthop_link::QueueLimit;

use super::support::{Cell, INTERVAL, by_frame, ms, power_save};
use crate::output::Fate;
use crate::{ErrorConfig, Output, PowerSaveConfig};

#[test]
fn each_station_has_room_of_its_own_and_so_have_group_frames() {
    for limit in [QueueLimit::Packets(3), QueueLimit::Octets(3_999)] {
        let mut cell = Cell::new(by_frame(), PowerSaveConfig { buffer: limit, ..power_save() }, (2, 0));
        let mut room = Vec::new();
        for station in [1, 2] {
            room.extend((0..4).map(|key| cell.send(ms(10), 0, station, key)));
        }
        room.extend((0..4).map(|key| cell.send_to_all(ms(10), key)));
        assert_eq!(room, [true, true, true, false].repeat(3), "{limit:?}");
        assert_eq!(cell.wlan.waiting(cell.stations[0]), (9, 9_000));
        assert_eq!(cell.wlan.waiting(cell.stations[1]), (0, 0));
        assert_eq!(cell.wlan.head(cell.stations[0]), None);
        // All are fetched, and there is room again.
        cell.run(ms(190));
        assert_eq!(cell.wlan.waiting(cell.stations[0]), (0, 0));
        assert!(cell.send(ms(190), 0, 1, 9));
    }
}

#[test]
fn a_frame_that_is_too_old_is_dropped_at_the_next_tbtt() {
    // A station whose beacons are all lost: it never polls.
    let config = PowerSaveConfig { ageing: Duration::from_millis(250), ..power_save() };
    let mut cell = Cell::new(by_frame(), config, (1, 0));
    cell.wlan.set_errors(
        cell.stations[0],
        cell.stations[1],
        ErrorConfig::packets(lasthop_packet::Probability::ONE, false),
    );
    cell.send(ms(50), 0, 1, 1);
    // Exactly as old as is allowed at the TBTT at 500 ms.
    cell.send(ms(250), 0, 1, 2);
    cell.run(ms(750));
    let drops: Vec<_> = cell
        .log
        .iter()
        .filter(|(_, output)| matches!(output, Output::TooOld { .. }))
        .map(|(at, _)| *at)
        .collect();
    assert_eq!((cell.too_old(), drops), (vec![1, 2], vec![400_000_000, 600_000_000]));
    assert_eq!(cell.wlan.counters().aged, 2);
    assert_eq!(cell.wlan.counters().ps_polls, 0);
    // It has been awake since its first TBTT, as it hears no beacon.
    assert_eq!(cell.awake(1, ms(750)), 750_000_000);
}

#[test]
fn a_frame_is_kept_for_a_listen_interval_at_least() {
    let config = PowerSaveConfig { ageing: Duration::ZERO, listen_interval: 5, ..power_save() };
    let mut cell = Cell::new(by_frame(), config, (1, 0));
    cell.send(ms(1), 0, 1, 1);
    cell.run(ms(550));
    assert_eq!((cell.too_old(), cell.arrivals(1).len()), (vec![], 1));
}

#[test]
fn all_frames_can_be_withdrawn_but_the_one_that_the_mac_is_sending() {
    let mut cell = Cell::new(by_frame(), power_save(), (2, 1));
    for key in 0..3 {
        cell.send(ms(90), 0, 1, key);
    }
    cell.send(ms(90), 0, 2, 7);
    // The access point has other frames to send when the first PS-Poll comes.
    for key in 10..13 {
        cell.send(ms(99), 0, 3, key);
    }
    while cell.wlan.counters().ps_polls < 1 || !cell.frames().iter().any(|frame| frame == "0 ACK to 1") {
        let next = cell.wlan.next_event_at().expect("beacons have no end");
        cell.run(next);
    }
    let (access_point, first) = (cell.stations[0], cell.stations[1]);
    let head = cell.wlan.head(access_point).map(|frame| frame.key);
    let gone: Vec<u32> = cell.wlan.withdraw(access_point, first).iter().map(|frame| frame.key).collect();
    let expected: Vec<u32> = (0..3).filter(|key| Some(*key) != head).collect();
    assert_eq!(gone, expected);
    cell.run(ms(390));
    assert_eq!(cell.wlan.waiting(access_point), (0, 0));
    assert_eq!((cell.arrivals(2).len(), cell.arrivals(3).len()), (1, 3));
    // The station's next frame is fetched like any other.
    cell.send(ms(390), 0, 1, 20);
    cell.run(ms(490));
    assert!(cell.arrivals(1).iter().any(|(_, key)| *key == 20), "{:?}", cell.frames());
}

#[test]
fn a_station_that_is_not_served_by_the_next_beacon_starts_over() {
    // The station's bit is still set, and it polls again. Until its frame is delivered or given up,
    // the access point acknowledges further PS-Polls and ignores them (11.2.3.6).
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    let lost = ErrorConfig::packets(lasthop_packet::Probability::ONE, true);
    cell.send(ms(50), 0, 1, 1);
    cell.wlan.set_errors(cell.stations[1], cell.stations[0], lost);
    cell.run(ms(190));
    // No PS-Poll arrives; seven transmissions.
    assert_eq!((cell.wlan.counters().ps_polls, cell.arrivals(1).len()), (7, 0));
    // It has been awake since the first beacon that named it.
    assert_eq!(cell.awake(1, ms(190)), 704_000 + 90_000_000);
    cell.wlan.set_errors(cell.stations[1], cell.stations[0], ErrorConfig::none());
    cell.run(ms(290));
    assert_eq!(cell.arrivals(1).len(), 1);
    assert_eq!(cell.wlan.counters().ps_polls, 8);
    // Beacons and PS-Polls are not counted among packets.
    assert_eq!((cell.wlan.counters().attempts, cell.wlan.counters().failures), (1, 0));
    assert_eq!(cell.wlan.counters().given_up, 0);
}

#[test]
fn a_response_that_is_given_up_is_lost_and_the_next_one_can_be_fetched() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    cell.send(ms(50), 0, 1, 1);
    cell.send(ms(50), 0, 1, 2);
    // The PS-Poll is sent at 100.704 ms or later, the data frame after it; all data frames are lost from then on.
    cell.run(ms(100) + Duration::from_micros(750));
    let lost = ErrorConfig::packets(lasthop_packet::Probability::ONE, false);
    cell.wlan.set_errors(cell.stations[0], cell.stations[1], lost);
    cell.run(ms(190));
    cell.wlan.set_errors(cell.stations[0], cell.stations[1], ErrorConfig::none());
    cell.run(ms(190) + INTERVAL);
    let fates = cell.log.iter().filter_map(|(_, output)| match output {
        Output::Fate { frame, fate: fate @ (Fate::GivenUp | Fate::Delivered), .. } => {
            Some((frame.key, *fate))
        }
        _ => None,
    });
    let fates: Vec<_> = fates.collect();
    assert_eq!(fates, [(1, Fate::GivenUp), (2, Fate::Delivered)]);
}
