//! A station that withholds its acknowledgments.

use lasthop_packet::Instant;

use super::support::{Cell, RANGES, config, us};
use crate::output::Fate;
use crate::{Output, Standard, WlanConfig};

#[test]
fn a_refused_frame_is_transmitted_to_its_retry_limit_and_does_not_arrive() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0, 2.0]);
    cell.wlan.refuse_frames(cell.stations[1], true);
    cell.send(us(1_000), 0, 1, 0);
    // One that refuses still sends, and takes the answer.
    cell.send(us(1_500), 1, 2, 1);
    cell.run(Instant::from_secs(1));
    let fates: Vec<_> =
        cell.fates(0).iter().map(|(_, fate, transmissions)| (*fate, *transmissions)).collect();
    assert_eq!(fates, [(Fate::FirstTransmissionFailed, 1), (Fate::GivenUp, 7)]);
    assert!(cell.arrivals(0).is_empty());
    assert_eq!(cell.arrivals(1).len(), 1);
    assert_eq!(cell.wlan.counters().withheld, 7);
}

#[test]
fn a_frame_is_taken_once_it_is_no_longer_refused_and_is_no_duplicate() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    cell.wlan.refuse_frames(cell.stations[1], true);
    cell.send(us(1_000), 0, 1, 0);
    cell.run(us(3_500));
    cell.wlan.refuse_frames(cell.stations[1], false);
    cell.run(Instant::from_secs(1));
    let Some((_, Fate::Delivered, transmissions)) = cell.fates(0).last().copied() else {
        panic!("{:?}", cell.fates(0))
    };
    assert_eq!(u64::from(transmissions), 1 + cell.wlan.counters().withheld);
    assert_eq!((cell.arrivals(0).len(), cell.wlan.counters().duplicates), (1, 0));
}

#[test]
fn an_exchange_that_has_begun_ends_as_it_would_have_ended() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.run(us(1_100));
    cell.wlan.refuse_frames(cell.stations[1], true);
    cell.run(Instant::from_secs(1));
    assert_eq!((cell.arrivals(0).len(), cell.wlan.counters().withheld), (1, 0));
}

#[test]
fn settled_exchanges_and_those_frame_by_frame_are_refused_alike() {
    for seed in 0..20 {
        for metres in [&[0.0, 1.0, 2.0, 3.0][..], &[0.0, 200.0, 400.0]] {
            let [settled, by_frame] = [true, false].map(|settle| {
                let mut config = WlanConfig { settle, ..config(Standard::HrDsss) };
                config.propagation = RANGES;
                config.mac.rts_threshold = if seed % 2 == 0 { 500 } else { u32::MAX };
                let mut cell = Cell::seeded(config, metres, seed);
                for from in 1..metres.len() {
                    cell.saturate(from, from - 1);
                }
                for step in 0..100 {
                    cell.run(us(step * 7_013));
                    cell.wlan.refuse_frames(cell.stations[0], step % 3 == 0);
                }
                (cell.log, *cell.wlan.counters())
            });
            assert!(settled.1.withheld > 10, "{:?}", settled.1);
            let arrived = |log: &[(u64, Output)]| {
                log.iter().filter(|(_, output)| matches!(output, Output::Delivered { .. })).count()
            };
            assert!(arrived(&settled.0) > 50);
            assert_eq!(settled, by_frame);
        }
    }
}
