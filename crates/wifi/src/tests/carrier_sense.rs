//! What a station senses that is about to transmit. 802.11b at 11 Mbit/s: an exchange of 1,500
//! octets takes 1,568 us, a slot 20.

use std::time::Duration;

use lasthop_packet::Instant;

use super::support::{Cell, config, us};
use crate::{Standard, WlanConfig};

/// Station 2 counts down after an exchange of its own; `first` before its backoff ends a frame
/// comes to station 3, which finds the medium idle. When the two begin, and how many frames fail.
fn cross(config: &WlanConfig, seed: u64, first: Duration) -> Option<(Instant, Vec<u64>, Vec<u64>, u64)> {
    let counting = || {
        let mut cell = Cell::seeded(config.clone(), &[0.0, 1.0, 2.0, 3.0], seed);
        cell.send(us(1_000), 2, 1, 0);
        cell.send(us(1_100), 2, 1, 1);
        cell
    };
    let mut undisturbed = counting();
    undisturbed.run(us(100_000));
    let end = Instant::from_nanos(undisturbed.begins(2)[1]);
    let at = Instant::from_nanos(end.as_nanos().checked_sub(first.as_nanos() as u64)?);
    // Station 3 needs no backoff after DIFS.
    if at < us(1_000 + 1_568 + 50) {
        return None;
    }
    let mut cell = counting();
    cell.send(at, 3, 0, 2);
    cell.run(us(100_000));
    Some((end, cell.begins(2), cell.begins(3), cell.wlan.counters().failures))
}

#[test]
fn a_station_misses_what_began_within_a_slot_before_its_own_transmission() {
    let config = config(Standard::HrDsss);
    let mut checked = 0;
    for seed in 0..50 {
        for first in [1, 7, 19] {
            let Some((end, two, three, failures)) = cross(&config, seed, Duration::from_micros(first)) else {
                continue;
            };
            assert_eq!((two[1], three[0]), (end.as_nanos(), end.as_nanos() - first * 1000));
            assert!(failures >= 2, "both frames are lost");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_station_senses_what_began_a_slot_before_and_with_sense_at_once_all_that_began_before() {
    let slot = config(Standard::HrDsss);
    let mut at_once = slot.clone();
    at_once.phy.carrier_sense_delay = Some(Duration::ZERO);
    let mut four = slot.clone();
    four.phy.carrier_sense_delay = Some(Duration::from_micros(4));
    let mut checked = 0;
    for seed in 0..50 {
        for (config, first) in
            [(&slot, 20), (&slot, 21), (&at_once, 1), (&at_once, 19), (&four, 4), (&four, 5)]
        {
            let Some((end, two, three, failures)) = cross(config, seed, Duration::from_micros(first)) else {
                continue;
            };
            assert_eq!(three, [end.as_nanos() - first * 1000]);
            // The slot that had begun counts once more.
            let rest = if first < 20 { 20 } else { first.next_multiple_of(20) };
            assert_eq!(two[1], three[0] + (1_568 + 50 + rest) * 1000, "{first}");
            assert_eq!(failures, 0);
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn stations_whose_slots_do_not_lie_on_each_other_overlap_within_a_slot_and_not_with_sense_at_once() {
    // Those that have collided count from another moment than the others, so that slots lie between
    // slots.
    let overlaps = |delay: Option<Duration>| {
        let mut config = config(Standard::HrDsss);
        config.phy.carrier_sense_delay = delay;
        let mut cell = Cell::seeded(config, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1);
        for station in 1..7 {
            cell.saturate(station, 0);
        }
        cell.run(Instant::from_secs(20));
        let mut begins: Vec<u64> = (1..7).flat_map(|station| cell.begins(station)).collect();
        begins.sort_unstable();
        let apart = |pair: &&[u64]| (1..20_000).contains(&(pair[1] - pair[0]));
        begins.windows(2).filter(apart).count()
    };
    assert_eq!(overlaps(Some(Duration::ZERO)), 0);
    assert!(overlaps(None) > 20, "{}", overlaps(None));
}
