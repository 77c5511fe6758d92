//! Options in frames: their air time, who knows them, who falls back.

use lasthop_packet::Instant;

use super::support::{Cell, Entry, RANGES, config, us};
use crate::output::{Fate, FrameTimes};
use crate::{ErrorConfig, MacConfig, Output, Standard, WlanConfig};

const OPTIONS: u16 = 13;

/// Two stations and a bystander far enough away not to matter; `knows` of the first two.
fn pair(config: WlanConfig, knows: [bool; 2]) -> Cell {
    let mut cell = Cell::new(config, &[0.0, 100.0]);
    cell.wlan.report_transmissions(true);
    for (station, knows) in knows.into_iter().enumerate() {
        cell.wlan.set_knows_options(cell.stations[station], knows);
    }
    cell
}

/// Sends a frame with options; whether the MAC took them.
fn send_with_options(cell: &mut Cell, at: Instant, key: u32) -> bool {
    assert!(cell.send(at, 0, 1, key));
    cell.wlan.attach_options(cell.stations[0], key, OPTIONS, at)
}

/// What arrived, and whether with options.
fn transmissions(cell: &Cell) -> Vec<(u64, u32, bool, FrameTimes)> {
    let told = cell.log.iter().filter_map(|(at, output)| match output {
        Output::Transmission { frame, has_options, times, .. } => {
            Some((*at, frame.key, *has_options, *times))
        }
        _ => None,
    });
    told.collect()
}

fn with_and_without_settling() -> [WlanConfig; 2] {
    let standard = config(Standard::HrDsss);
    [standard.clone(), WlanConfig { settle: false, ..standard }]
}

#[test]
fn options_take_air_time_at_the_data_rate_and_nothing_else_changes() {
    for config in with_and_without_settling() {
        let arrival = |options: bool| {
            let mut cell = pair(config.clone(), [true, true]);
            if options {
                assert!(send_with_options(&mut cell, us(1000), 1));
            } else {
                assert!(cell.send(us(1000), 0, 1, 1));
            }
            cell.run(us(20_000));
            let [(at, 1, has_options, _)] = transmissions(&cell)[..] else { panic!("{:?}", cell.log) };
            assert_eq!(has_options, options);
            at
        };
        let air_time = config.phy.air_nanos(config.phy.rate, 1536 + u32::from(OPTIONS))
            - config.phy.air_nanos(config.phy.rate, 1536);
        assert_eq!(arrival(true) - arrival(false), air_time);
    }
}

#[test]
fn a_frame_that_arrives_is_told_with_its_exact_times() {
    for config in with_and_without_settling() {
        let config =
            WlanConfig { mac: MacConfig { rts_threshold: 0, ..MacConfig::new(Standard::HrDsss) }, ..config };
        let mut cell = pair(config.clone(), [true, true]);
        assert!(cell.send(us(1000), 0, 1, 1) && cell.send(us(1100), 0, 1, 2));
        cell.run(us(20_000));
        let told = transmissions(&cell);
        let (phy, ends) = (&config.phy, cell.fates(0));
        for ((at, key, _, times), queued) in told.iter().zip([us(1000), us(1100)]) {
            assert_eq!(times.queued, queued, "{key}");
            assert_eq!(times.began.as_nanos() + phy.air_nanos(phy.rate, 1536), *at);
            let end = times.over.as_nanos() - phy.difs().as_nanos() as u64;
            assert!(ends.contains(&(end, Fate::Delivered, 1)), "{end} {ends:?}");
        }
        assert_eq!(told[0].3.departed, us(1000), "it found an empty queue");
        assert_eq!(told[1].3.departed.as_nanos(), ends[0].0, "it waited for the first");
        let guard = told[0].3.began.since(cell_begin(&cell.log));
        let rts = phy.air_time(phy.response_rate(phy.initial_control_rate(phy.rate, false)), 20);
        assert!(guard > rts, "RTS and CTS come before the data frame");
    }
}

fn cell_begin(log: &[Entry]) -> Instant {
    let began = log.iter().find_map(|(_, output)| match output {
        Output::Attempt { began, .. } => Some(*began),
        _ => None,
    });
    began.expect("an attempt is told")
}

#[test]
fn a_station_that_knows_no_options_gets_the_frame_again_without_and_is_tried_anew_later() {
    for config in with_and_without_settling() {
        let mut cell = pair(config, [true, false]);
        let took: Vec<bool> = [0, 100, 900, 1200, 1300]
            .into_iter()
            .zip(0..)
            .map(|(ms, key)| send_with_options(&mut cell, us(1000 + ms * 1000), key))
            .collect();
        cell.run(us(2_000_000));
        assert_eq!(took, [true, false, false, true, false], "one frame a second tries");
        assert!(transmissions(&cell).iter().all(|(_, _, has_options, _)| !has_options));
        let sent: Vec<u32> =
            cell.fates(0).iter().filter(|fate| fate.1 == Fate::Delivered).map(|fate| fate.2).collect();
        assert_eq!(sent, [2, 1, 1, 2, 1], "the second transmission is a standard frame");
        assert_eq!(cell.wlan.counters().options_refused, 2);
    }
}

#[test]
fn a_sender_that_knows_no_options_sends_none() {
    let mut cell = pair(config(Standard::HrDsss), [false, true]);
    assert!(!send_with_options(&mut cell, us(1000), 1));
}

#[test]
fn a_neighbor_that_has_acknowledged_options_gets_them_again_after_a_loss() {
    for config in with_and_without_settling() {
        let mut cell = pair(WlanConfig { propagation: RANGES, ..config }, [true, true]);
        assert!(send_with_options(&mut cell, us(1000), 1));
        cell.run(us(50_000));
        let (from, to) = (cell.stations[0], cell.stations[1]);
        let lossy = lasthop_packet::Probability::new(0.8).expect("one");
        cell.wlan.set_errors(from, to, ErrorConfig::packets(lossy, false));
        for key in 2..20 {
            assert!(send_with_options(&mut cell, us(u64::from(key) * 100_000), key));
        }
        cell.run(us(3_000_000));
        let told = transmissions(&cell);
        assert!(told.len() > 5 && cell.wlan.counters().failures > 10, "{}", told.len());
        // Only a frame that was given up makes a neighbor doubtful.
        let given_up = cell.wlan.counters().given_up;
        assert!(cell.wlan.counters().options_refused <= given_up);
    }
}

#[test]
fn with_options_exchanges_that_are_settled_at_once_are_as_those_frame_by_frame() {
    let [settled, stepped] = with_and_without_settling().map(|config| {
        let mut cell = pair(config, [true, true]);
        for key in 0..200 {
            let at = us(u64::from(key) * 5000);
            send_with_options(&mut cell, at, key);
            cell.send(at, 1, 0, 1000 + key);
        }
        cell.run(us(2_000_000));
        cell.log
    });
    assert!(settled == stepped, "the same log");
}

#[test]
fn a_sender_that_transmits_each_frame_once_falls_back_too() {
    for config in with_and_without_settling() {
        let mac = MacConfig { short_retry_limit: 1, ..MacConfig::new(Standard::HrDsss) };
        let mut cell = pair(WlanConfig { mac, ..config }, [true, false]);
        let took: Vec<bool> =
            (0..5).map(|key| send_with_options(&mut cell, us(1000 + u64::from(key) * 10_000), key)).collect();
        cell.run(us(100_000));
        let delivered = cell.fates(0).iter().filter(|fate| fate.1 == Fate::Delivered).count();
        assert_eq!((took, delivered), (vec![true, false, false, false, false], 4));
    }
}
