//! The frames that are sent, and their order: scripts against the clauses of IEEE 802.11-2020.

use super::support::{Cell, INTERVAL, by_frame, ms, power_save};
use crate::PowerSaveConfig;

/// The frames of a cell, one per line.
fn check(cell: &Cell, script: &str) {
    let expected: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(cell.frames(), expected);
}

#[test]
fn a_buffered_frame_is_announced_polled_for_and_sent_after_the_acknowledgment() {
    // 11.2.3.6, and the receive operation of stations in power-save mode.
    let mut cell = Cell::new(by_frame(), power_save(), (2, 0));
    cell.send(ms(150), 0, 2, 7);
    cell.run(ms(350));
    check(
        &cell,
        "0 beacon DTIM
         0 beacon DTIM
         0 beacon DTIM for 2
         2 PS-Poll to 0
         0 ACK to 2
         0 data 7 to 2
         2 ACK to 0
         0 beacon DTIM",
    );
    // The beacon is sent at its TBTT. The ACK follows the PS-Poll after a SIFS, the data frame
    // follows that ACK after at least a DIFS, and the data frame's ACK after a SIFS.
    let beacon = cell.times("beacon")[2];
    assert_eq!(beacon, (200_000_000, 200_704_000));
    let (poll, acks, data) = (cell.times("PS-Poll")[0], cell.times("ACK"), cell.times("data")[0]);
    assert!(poll.0 >= beacon.1 + 50_000 && (poll.0 - beacon.1 - 50_000).is_multiple_of(20_000));
    assert_eq!(acks[0].0, poll.1 + 10_000);
    assert!(data.0 >= acks[0].1 + 50_000 && (data.0 - acks[0].1 - 50_000).is_multiple_of(20_000));
    assert_eq!(acks[1].0, data.1 + 10_000);
    assert_eq!(cell.arrivals(2), [(data.1, 7)]);
}

#[test]
fn more_data_leads_to_the_next_ps_poll() {
    // 11.2.3.6: one frame for each PS-Poll.
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    for key in 0..3 {
        cell.send(ms(10), 0, 1, key);
    }
    cell.run(ms(250));
    check(
        &cell,
        "0 beacon DTIM
         0 beacon DTIM for 1
         1 PS-Poll to 0
         0 ACK to 1
         0 data 0 more to 1
         1 ACK to 0
         1 PS-Poll to 0
         0 ACK to 1
         0 data 1 more to 1
         1 ACK to 0
         1 PS-Poll to 0
         0 ACK to 1
         0 data 2 to 1
         1 ACK to 0
         0 beacon DTIM",
    );
}

#[test]
fn a_frame_that_comes_while_its_receiver_is_awake_waits_for_a_poll_too() {
    // 11.2.3.6: the station's mode matters, not whether it dozes at this moment.
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    cell.send(ms(10), 1, 0, 5);
    cell.send(ms(10), 0, 1, 6);
    cell.run(ms(50));
    check(
        &cell,
        "0 beacon DTIM
         1 data 5 to 0
         0 ACK to 1",
    );
    cell.run(ms(150));
    assert_eq!(cell.arrivals(1).len(), 1);
}

#[test]
fn stations_that_are_awake_get_their_frames_at_once() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 1));
    cell.send(ms(10), 0, 1, 1);
    cell.send(ms(10), 0, 2, 2);
    cell.run(ms(50));
    check(
        &cell,
        "0 beacon DTIM
         0 data 2 to 2
         2 ACK to 0",
    );
    assert_eq!(cell.wlan.waiting(cell.stations[0]), (1, 1000));
}

#[test]
fn group_frames_follow_the_dtim_all_but_the_last_with_more_data() {
    // 11.2.3.6; More Data: 9.2.4.1.8.
    let config = PowerSaveConfig { dtim_period: 3, ..power_save() };
    let mut cell = Cell::new(by_frame(), config, (2, 1));
    cell.run(ms(50));
    for key in 1..=3 {
        cell.send_to_all(ms(50), key);
    }
    cell.run(ms(450));
    check(
        &cell,
        "0 beacon DTIM
         0 beacon
         0 beacon
         0 beacon DTIM group
         0 data 1 more
         0 data 2 more
         0 data 3
         0 beacon",
    );
    let last = cell.times("data 3")[0].1;
    for station in 1..=3 {
        let keys: Vec<u32> = cell.arrivals(station).iter().map(|(_, key)| *key).collect();
        assert_eq!(keys, [1, 2, 3], "station {station}");
    }
    // Awake for five beacons, and from the DTIM to the last group frame.
    let dtim = cell.times("beacon")[3].1;
    assert_eq!(cell.awake(1, ms(450)), 5 * 704_000 + (last - dtim));
}

#[test]
fn group_frames_that_take_longer_than_a_beacon_interval_are_announced_until_the_last_is_sent() {
    // 11.2.3.6.
    let config = PowerSaveConfig { dtim_period: 3, ..power_save() };
    let mut cell = Cell::new(by_frame(), config, (2, 0));
    for key in 1..=40 {
        assert!(cell.send_to_all(ms(50), key));
    }
    cell.run(ms(900));
    for station in 1..=2 {
        let keys: Vec<u32> = cell.arrivals(station).iter().map(|(_, key)| *key).collect();
        assert_eq!(keys, (1..=40).collect::<Vec<_>>(), "station {station}");
    }
}

#[test]
fn group_frames_go_before_what_stations_poll_for() {
    // 11.2.3.6.
    let mut cell = Cell::new(by_frame(), power_save(), (2, 0));
    for key in 0..6 {
        cell.send(ms(50), 0, 1 + key as usize % 2, key);
    }
    for key in 10..16 {
        cell.send_to_all(ms(50), key);
    }
    cell.run(ms(190));
    for station in 1..=2 {
        let keys: Vec<u32> = cell.arrivals(station).iter().map(|(_, key)| *key).collect();
        let first = station as u32 - 1;
        assert_eq!(keys, [10, 11, 12, 13, 14, 15, first, first + 2, first + 4]);
    }
}

#[test]
fn group_frames_are_sent_at_once_where_all_stations_are_awake() {
    let mut cell = Cell::new(by_frame(), power_save(), (0, 2));
    cell.send_to_all(ms(50), 1);
    cell.run(ms(90));
    check(
        &cell,
        "0 beacon DTIM
         0 data 1",
    );
}

#[test]
fn a_station_wakes_for_each_beacon_of_its_listen_interval_and_for_dtims_if_it_is_told_to() {
    // The receive operation of stations in power-save mode: `ListenInterval` and `ReceiveDTIMs`.
    let of = |listen_interval, receive_dtims| {
        let config = PowerSaveConfig { listen_interval, receive_dtims, dtim_period: 2, ..power_save() };
        let mut cell = Cell::new(by_frame(), config, (1, 0));
        let mut woken = Vec::new();
        for beacon in 0..8 {
            let before = cell.awake(1, ms(beacon * 100));
            cell.run(ms(beacon * 100 + 50));
            if cell.awake(1, ms(beacon * 100 + 50)) > before {
                woken.push(beacon);
            }
        }
        woken
    };
    assert_eq!(of(1, false), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(of(3, false), [0, 3, 6]);
    assert_eq!(of(3, true), [0, 2, 3, 4, 6]);
}

#[test]
fn a_beacon_goes_before_the_queue_and_once_however_late() {
    // 11.1.3: beacon generation.
    let mut cell = Cell::new(by_frame(), power_save(), (1, 1));
    cell.run(ms(99));
    // 40 frames to a station that is awake take 50 ms and more, so that the queue is never empty.
    for key in 0..40 {
        cell.send(ms(99), 0, 2, key);
    }
    cell.run(ms(140));
    assert!(cell.times("data").len() < 40);
    let frames = cell.frames();
    let second = frames.iter().rposition(|frame| frame.contains("beacon")).expect("a beacon");
    // The exchange that was under way at the TBTT ends first: one data frame, then the beacon.
    assert_eq!(frames[..second].iter().filter(|frame| frame.contains("data")).count(), 1);
    let (start, _) = cell.times("beacon")[1];
    assert!((100_000_000..102_500_000).contains(&start), "{start}");
}

#[test]
fn a_station_that_has_something_to_send_sends_at_once_and_dozes_again() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    cell.send(ms(40), 1, 0, 1);
    cell.run(ms(90));
    // The medium is idle: no backoff.
    let data = cell.times("data")[0];
    assert_eq!(data.0, 40_000_000);
    let ack = cell.times("ACK")[0];
    // Awake for the beacon at 0, and from the packet's arrival to the end of the ACK.
    assert_eq!(cell.awake(1, ms(90)), 704_000 + (ack.1 - data.0));
}

#[test]
fn polls_of_several_stations_are_spread_by_their_back_offs() {
    // The receive operation of stations in power-save mode: a random delay if more than one bit is
    // set.
    let mut cell = Cell::new(by_frame(), power_save(), (4, 0));
    for station in 1..=4 {
        cell.send(ms(10), 0, station, station as u32);
    }
    cell.run(ms(199));
    let frames = cell.frames();
    assert_eq!(frames[1], "0 beacon DTIM for 1 for 2 for 3 for 4");
    for station in 1..=4 {
        assert_eq!(cell.arrivals(station).len(), 1, "{frames:?}");
    }
    assert!(cell.wlan.counters().ps_polls < 8, "{frames:?}");
}

#[test]
fn a_station_out_of_range_fetches_nothing_and_holds_up_no_other() {
    let config = crate::WlanConfig {
        propagation: crate::Propagation::Ranges { reception: 100.0, carrier_sense: 100.0 },
        ..by_frame()
    };
    let mut cell = Cell::new(config, PowerSaveConfig { ageing: 3 * INTERVAL, ..power_save() }, (2, 0));
    cell.send(ms(10), 0, 1, 1);
    cell.send(ms(10), 0, 2, 2);
    cell.send_to_all(ms(10), 3);
    cell.run(ms(50));
    let gone = crate::Position::new(500.0, 0.0);
    cell.wlan.move_stations(ms(50), &[(cell.stations[1], gone)]);
    cell.run(ms(900));
    assert_eq!(cell.arrivals(1), []);
    assert_eq!(cell.arrivals(2).len(), 2);
    assert_eq!(cell.too_old(), [1]);
    assert_eq!(cell.wlan.waiting(cell.stations[0]), (0, 0));
    assert_eq!(cell.frames().last().map(String::as_str), Some("0 beacon DTIM"));
}
