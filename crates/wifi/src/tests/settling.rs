//! Exchanges settled when they begin and exchanges simulated frame by frame have the same results.

use std::time::Duration;

use lasthop_packet::{Instant, Probability, Rng};

use super::support::{Cell, Entry, config, fixed};
use crate::{ErrorConfig, MacFrame, Output, RawFrame, Standard, WlanConfig, WlanCounters};

/// Stations that send packets and raw frames at random to each other and to all.
fn trace(config: WlanConfig, seed: u64) -> (Vec<Entry>, WlanCounters) {
    let mut rng = Rng::named(seed, "arrivals");
    let fast = Some(config.phy.rate);
    let mut cell = Cell::seeded(config, &[0.0, 1.0, 2.0, 3.0, 4.0], seed);
    let mut at = Instant::ZERO;
    for key in 0..600 {
        at = at.after_nanos(rng.below(if key % 100 < 50 { 400_000 } else { 4_000_000 }));
        cell.run(at);
        let [from, to] = [5, 6].map(|bound| rng.below(bound) as usize);
        let to = if to < 5 && to != from { Some(to) } else { None };
        let octets = 20 + rng.below(1000) as u32;
        let frame = RawFrame { octets, ..cell.raw(to, key) };
        if rng.below(2) == 0 {
            let rate = [None, fast][rng.below(2) as usize];
            cell.put(at, from, RawFrame { rates: fixed(rate), ..frame });
        } else {
            cell.wlan.enqueue(at, cell.stations[from], MacFrame { to: frame.to, key, octets });
        }
    }
    cell.run(Instant::MAX);
    (cell.log, *cell.wlan.counters())
}

#[test]
fn settled_exchanges_and_those_frame_by_frame_have_the_same_raw_frames() {
    for standard in [Standard::HrDsss, Standard::Ofdm, Standard::Erp, Standard::Ht, Standard::He] {
        for seed in 0..12 {
            let mut config = config(standard);
            config.mac.rts_threshold = if seed % 2 == 0 { 500 } else { 65_535 };
            config.mac.cts_to_self = seed % 3 == 0;
            config.mac.txop_limit = Duration::from_micros([0, 0, 1_500, 4_096][seed as usize % 4]);
            let loss = Probability::new([0.0, 0.1, 0.3][seed as usize % 3]).expect("a probability");
            config.errors = ErrorConfig::packets(loss, seed % 4 > 1);
            let [settled, frames] =
                [true, false].map(|settle| trace(WlanConfig { settle, ..config.clone() }, seed));
            let differ = settled.0.iter().zip(&frames.0).position(|(one, other)| one != other);
            assert_eq!(differ.map(|at| (settled.0[at], frames.0[at])), None, "{standard:?} {seed}");
            assert_eq!(settled, frames);
            let fates = |of: bool| {
                let is = |output: &Output| matches!(output, Output::RawFate { acknowledged, .. } if *acknowledged == of);
                settled.0.iter().filter(|(_, output)| is(output)).count()
            };
            assert!(fates(true) > 150, "{}", fates(true));
        }
    }
}
