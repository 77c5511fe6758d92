//! Whole traces: the same seed, the same trace; settled exchanges, the same trace as frame by frame.

use lasthop_packet::{Instant, Probability, Rng};

use super::support::{Cell, Entry, config};
use crate::wifi::{Capture, ErrorConfig, Frame, Receiver, Standard, WlanConfig};

/// A clique with saturated stations and others that send now and then, to each other and to all.
fn trace(standard: Standard, settle: bool, rts: bool, seed: u64) -> Vec<Entry> {
    let mut config = WlanConfig { settle, ..config(standard) };
    if rts {
        config.mac.rts_threshold = 800;
    }
    config.mac.cts_to_self = standard == Standard::Erp;
    let mut cell = Cell::seeded(config, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], seed);
    cell.saturate(1, 0);
    cell.saturate(2, 0);
    let mut rng = Rng::named(seed, "arrivals");
    let mut at = Instant::ZERO;
    for key in 0..600 {
        at = at.after_nanos(rng.below(3_000_000));
        // Times of a coarse grid, too, which meet slots and ends of frames.
        let now = if key % 2 == 0 { at } else { at.round_up_to(std::time::Duration::from_micros(10)) };
        cell.run(now);
        let (from, to) = (3 + rng.below(4) as usize, rng.below(8) as usize);
        let to = match to {
            7 => Receiver::Broadcast,
            to if to == from => continue,
            to => Receiver::Station(cell.stations[to]),
        };
        let frame = Frame { to, key, octets: 40 + rng.below(1461) as u32 };
        let station = cell.stations[from];
        cell.wlan.enqueue(now, station, frame);
    }
    cell.run(at);
    cell.log
}

#[test]
fn a_settled_exchange_is_the_same_as_frame_by_frame() {
    for standard in [Standard::Dsss, Standard::HrDsss, Standard::Ofdm, Standard::Erp] {
        for (seed, rts) in [(1, false), (2, true), (3, false), (4, true)] {
            let (settled, by_frame) = (trace(standard, true, rts, seed), trace(standard, false, rts, seed));
            assert!(settled.len() > 300);
            let differ = settled.iter().zip(&by_frame).position(|(one, other)| one != other);
            assert_eq!(
                differ,
                None,
                "{standard:?} {seed}: {:?} {:?}",
                &settled[differ.unwrap_or(0)],
                &by_frame[differ.unwrap_or(0)]
            );
            assert_eq!(settled.len(), by_frame.len());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_another() {
    let of = |seed| trace(Standard::HrDsss, true, true, seed);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn stations_that_share_a_domain_do_as_each_in_its_own() {
    // With capture, which asks where stations stand, each is a domain of its own; and no frame is ever strong enough.
    let run = |alone: bool, errors: f64, seed: u64| {
        let mut config = WlanConfig { settle: false, ..config(Standard::HrDsss) };
        config.mac.rts_threshold = 1_000;
        config.errors = ErrorConfig::packets(Probability::new(errors).expect("0 to 1"), true);
        config.capture = alone.then_some(Capture { threshold: f64::INFINITY, later_frames: false });
        let mut cell = Cell::seeded(config, &[0.0, 1.0, 2.0, 3.0, 4.0], seed);
        cell.saturate(1, 0);
        cell.saturate(2, 0);
        cell.saturate(0, 1);
        let mut rng = Rng::named(seed, "arrivals");
        let mut at = Instant::ZERO;
        for key in 0..300 {
            at = at.after_nanos(rng.below(6_000_000));
            cell.run(at);
            let frame = Frame { octets: 40 + rng.below(1461) as u32, ..cell.frame(key as usize % 3, key) };
            let station = cell.stations[3 + key as usize % 2];
            cell.wlan.enqueue(at, station, frame);
        }
        assert_eq!(cell.wlan.domains(), if alone { 5 } else { 1 });
        // What happens in one nanosecond happens in the order of domains.
        cell.log.sort_by_cached_key(|(at, output)| (*at, format!("{output:?}")));
        cell.log
    };
    for seed in 0..10 {
        let errors = if seed % 2 == 0 { 0.0 } else { 0.15 };
        let (together, alone) = (run(false, errors, seed), run(true, errors, seed));
        let differ = together.iter().zip(&alone).position(|(one, other)| one != other);
        assert_eq!(differ.map(|at| (together[at], alone[at])), None, "{seed}");
        assert_eq!(together.len(), alone.len());
    }
}
