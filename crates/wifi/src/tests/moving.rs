//! Stations that move.

use lasthop_packet::{Instant, Rng};

use super::support::{Cell, Entry, RANGES, config, us};
use crate::output::Fate;
use crate::{Capture, Position, Propagation, Standard, WlanConfig};

fn b(propagation: Propagation) -> WlanConfig {
    WlanConfig { propagation, ..config(Standard::HrDsss) }
}

fn walk(cell: &mut Cell, at: Instant, station: usize, x: f64) {
    cell.run(at);
    let id = cell.stations[station];
    cell.wlan.move_stations(at, &[(id, Position::new(x, 0.0))]);
}

#[test]
fn a_station_that_walks_out_of_range_is_lost_and_found_again_when_it_comes_back() {
    let mut cell = Cell::new(b(RANGES), &[0.0, 100.0]);
    cell.saturate(0, 1);
    walk(&mut cell, us(1_000_000), 1, 1_000.0);
    walk(&mut cell, us(2_000_000), 1, 100.0);
    cell.run(us(3_000_000));
    let arrivals = |from: u64, to: u64| {
        cell.arrivals(0).iter().filter(|(at, _)| (from..to).contains(&(at / 1_000_000))).count()
    };
    // Half the settled exchange that was under way may still arrive.
    assert!(arrivals(0, 1_000) > 500 && arrivals(1_002, 2_000) == 0 && arrivals(2_000, 3_000) > 450);
    assert!(cell.fates(0).iter().any(|fate| fate.1 == Fate::GivenUp));
}

#[test]
fn a_frame_that_is_in_the_air_when_its_receiver_leaves_is_lost() {
    let config = WlanConfig { settle: false, ..b(RANGES) };
    let mut cell = Cell::new(config, &[0.0, 100.0]);
    cell.send(us(1_000), 0, 1, 0);
    walk(&mut cell, us(1_500), 1, 1_000.0);
    walk(&mut cell, us(1_600), 1, 100.0);
    cell.run(us(2_400));
    assert_eq!(cell.arrivals(0), [], "it was away for a part of it");
    cell.run(us(100_000));
    assert_eq!(cell.arrivals(0).len(), 1);
}

#[test]
fn a_sender_whose_receiver_leaves_during_its_cts_backs_off_from_then_on() {
    for seed in 0..20 {
        let mut config = WlanConfig { settle: false, ..b(RANGES) };
        (config.mac.rts_threshold, config.mac.eifs) = (0, false);
        let mut cell = Cell::seeded(config, &[0.0, 100.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        // The RTS lasts until 1,272 us, and the CTS from 1,282 to 1,530 us.
        walk(&mut cell, us(1_400), 1, 1_000.0);
        cell.run(us(1_000_000));
        let begins = cell.begins(0);
        assert!(begins[1] >= 1_530_000 && begins.is_sorted(), "{begins:?}");
        assert_eq!(cell.fates(0).last().map(|(_, fate, times)| (*fate, *times)), Some((Fate::GivenUp, 7)));
    }
}

#[test]
fn stations_that_come_together_defer_to_each_other() {
    let mut cell = Cell::new(b(RANGES), &[0.0, 10.0, 5_000.0, 5_010.0]);
    cell.saturate(0, 1);
    cell.saturate(2, 3);
    cell.run(us(999_000));
    let stations =
        [(cell.stations[2], Position::new(20.0, 0.0)), (cell.stations[3], Position::new(30.0, 0.0))];
    cell.wlan.move_stations(us(999_000), &stations);
    cell.run(us(21_000_000));
    let rate = |from| cell.rate(from, (us(1_000_000), us(21_000_000)));
    // 542 frames a second of two saturated stations together (6.51 Mbit/s), where each had 519
    // before.
    assert!((rate(0) + rate(2) - 542.0).abs() < 6.0, "{} {}", rate(0), rate(2));
}

/// Stations over half a kilometre, some saturated; again and again they are told to be where they
/// are.
fn trace(moves: bool, capture: Option<Capture>, seed: u64) -> Vec<Entry> {
    let config = WlanConfig {
        settle: false,
        capture,
        ..b(Propagation::Ranges { reception: 250.0, carrier_sense: 300.0 })
    };
    let metres = [0.0, 0.0, 120.0, 240.0, 400.0, 410.0, 600.0];
    let mut cell = Cell::seeded(config, &metres, seed);
    for (from, to) in [(0, 2), (4, 3), (6, 5)] {
        cell.saturate(from, to);
    }
    let mut rng = Rng::named(seed, "arrivals");
    let mut at = Instant::ZERO;
    for key in 0..400 {
        at = at.after_nanos(rng.below(1_000_000));
        cell.send(at, 1 + 2 * (key as usize % 3), 2, key);
        at = at.after_nanos(rng.below(1_000_000));
        cell.run(at);
        if moves {
            let id = cell.stations[key as usize % 7];
            cell.wlan.move_stations(at, &[(id, Position::new(metres[key as usize % 7], 0.0))]);
        }
    }
    cell.log
}

#[test]
fn who_moves_nowhere_changes_nothing() {
    for seed in 0..6 {
        let capture = (seed % 2 == 0).then_some(Capture { threshold: 10.0, later_frames: false });
        let (still, moving) = (trace(false, capture, seed), trace(true, capture, seed));
        assert!(still.len() > 500);
        let differ = still.iter().zip(&moving).position(|(one, other)| one != other);
        assert_eq!(differ.map(|at| (at, still[at], moving[at])), None, "{seed}");
        assert_eq!(still.len(), moving.len());
    }
}
