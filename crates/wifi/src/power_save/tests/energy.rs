//! How long stations are awake, to the nanosecond.

use super::support::{Cell, by_frame, ms, power_save};
use crate::{PowerSaveConfig, Standard, WlanConfig};

#[test]
fn an_idle_station_is_awake_for_its_beacons_and_no_longer() {
    for settle in [true, false] {
        for (standard, beacon) in
            [(Standard::Dsss, 688), (Standard::HrDsss, 704), (Standard::Ofdm, 112), (Standard::Erp, 808)]
        {
            let config = WlanConfig { settle, ..WlanConfig::new(standard) };
            let mut cell = Cell::new(config.clone(), power_save(), (3, 1));
            cell.run(ms(9_950));
            for station in 1..=3 {
                assert_eq!(cell.awake(station, ms(9_950)), 100 * beacon * 1_000, "{standard:?}");
            }
            assert_eq!(cell.wlan.awake_time(cell.stations[0], ms(9_950)), None);
            assert_eq!(cell.wlan.awake_time(cell.stations[4], ms(9_950)), None);
            let listens = PowerSaveConfig { listen_interval: 10, ..power_save() };
            let mut cell = Cell::new(config, listens, (1, 0));
            cell.run(ms(9_950));
            assert_eq!(cell.awake(1, ms(9_950)), 10 * beacon * 1_000);
        }
    }
}

#[test]
fn a_station_that_fetches_a_frame_is_awake_until_its_acknowledgment_is_out() {
    for settle in [true, false] {
        let config = WlanConfig { settle, ..by_frame() };
        let mut cell = Cell::new(config, power_save(), (2, 0));
        cell.send(ms(50), 0, 1, 1);
        cell.run(ms(190));
        let (arrived, _) = cell.arrivals(1)[0];
        assert_eq!(cell.awake(1, ms(190)), 704_000 + (arrived + 10_000 + 248_000 - 100_000_000));
        assert_eq!(cell.awake(2, ms(190)), 2 * 704_000);
        // The time awake can be asked for at any moment.
        let (begin, end) = (ms(100), lasthop_packet::Instant::from_nanos(arrived));
        let mut again = Cell::new(WlanConfig { settle, ..by_frame() }, power_save(), (2, 0));
        again.send(ms(50), 0, 1, 1);
        again.run(begin);
        assert_eq!(again.awake(1, begin), 704_000);
        again.run(end);
        assert_eq!(again.awake(1, end), 704_000 + (arrived - 100_000_000));
    }
}

#[test]
fn stations_are_awake_while_they_wait_for_a_late_beacon() {
    // At the TBTT a frame to a station that is awake is being sent.
    let mut cell = Cell::new(by_frame(), power_save(), (1, 1));
    cell.send(ms(99) + std::time::Duration::from_micros(500), 0, 2, 1);
    cell.run(ms(190));
    let (start, end) = cell.times("beacon")[1];
    assert!(start > 100_000_000);
    assert_eq!(cell.awake(1, ms(190)), 704_000 + (end - 100_000_000));
}
