//! Whole traces: the same seed, the same trace; settled exchanges, the same trace as frame by
//! frame.

use std::time::Duration;

use lasthop_packet::{Instant, Probability, Rng};

use super::support::{Cell, Entry, config};
use crate::{BitErrorRates, Capture, ErrorConfig, MacFrame, Receiver, Standard, WlanConfig};

/// A clique with saturated stations and others that send now and then, to each other and to all.
fn trace(mut config: WlanConfig, rts: bool, seed: u64, fading: Option<[Duration; 2]>) -> Vec<Entry> {
    if rts {
        config.mac.rts_threshold = 800;
    }
    config.mac.cts_to_self = config.phy.standard == Standard::Erp;
    let has_errors = config.errors != ErrorConfig::none();
    let mut cell = Cell::seeded(config, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], seed);
    if has_errors {
        let worse = ErrorConfig::packets(Probability::new(0.4).expect("a probability"), false);
        cell.wlan.set_errors(cell.stations[2], cell.stations[0], worse);
    }
    if let Some(times) = fading {
        let model = cell.wlan.error_model_mut();
        model.links = [[0, 1], [2, 0], [3, 4]].map(|link| link.map(|index| cell.stations[index])).into();
        model.times = times;
    }
    cell.saturate(1, 0);
    cell.saturate(2, 0);
    let mut rng = Rng::named(seed, "arrivals");
    let mut at = Instant::ZERO;
    for key in 0..600 {
        at = at.after_nanos(rng.below(3_000_000));
        // Times of a coarse grid, too, which meet slots and ends of frames.
        let now = if key % 2 == 0 { at } else { at.round_up_to(Duration::from_micros(10)) };
        cell.run(now);
        let (from, to) = (3 + rng.below(4) as usize, rng.below(8) as usize);
        let to = match to {
            7 => Receiver::Broadcast,
            to if to == from => continue,
            to => Receiver::Station(cell.stations[to]),
        };
        let frame = MacFrame { to, key, octets: 40 + rng.below(1461) as u32 };
        let station = cell.stations[from];
        cell.wlan.enqueue(now, station, frame);
    }
    cell.run(at);
    cell.log
}

fn check_settling(change: impl Fn(&mut WlanConfig)) {
    check_settling_with(change, None);
}

fn check_settling_with(change: impl Fn(&mut WlanConfig), fading: Option<[Duration; 2]>) {
    for standard in [Standard::Dsss, Standard::HrDsss, Standard::Ofdm, Standard::Erp] {
        for (seed, rts) in [(1, false), (2, true), (3, false), (4, true)] {
            let mut config = config(standard);
            change(&mut config);
            let [settled, by_frame] =
                [true, false].map(|settle| trace(WlanConfig { settle, ..config.clone() }, rts, seed, fading));
            assert!(settled.len() > 50, "{}", settled.len());
            let differ = settled.iter().zip(&by_frame).position(|(one, other)| one != other);
            assert_eq!(
                differ,
                None,
                "{config:?} {seed}: {:?} {:?}",
                &settled[differ.unwrap_or(0)],
                &by_frame[differ.unwrap_or(0)]
            );
            assert_eq!(settled.len(), by_frame.len());
        }
    }
}

#[test]
fn a_settled_exchange_is_the_same_as_frame_by_frame() {
    check_settling(|_| ());
}

#[test]
fn with_errors_too() {
    let probability = |rate| Probability::new(rate).expect("a probability");
    let (ms, us) = (Duration::from_millis, Duration::from_micros);
    check_settling(|config| config.errors = ErrorConfig::packets(probability(0.1), false));
    check_settling(|config| config.errors = ErrorConfig::packets(probability(0.2), true));
    let rates = BitErrorRates { others: 2e-5, ..BitErrorRates::default() };
    let bits = ErrorConfig { bit: Some(rates), control: true, ..ErrorConfig::none() };
    check_settling(|config| config.errors = bits.clone());
    // Bad times longer than a frame, and shorter.
    for fading in [[ms(20), ms(5)], [us(1_900), us(300)]] {
        check_settling_with(|_| (), Some(fading));
        check_settling_with(|config| config.errors = bits.clone(), Some(fading));
    }
}

#[test]
fn with_slots_that_are_longer_than_frames_and_with_carrier_sense_at_once_too() {
    check_settling(|config| config.phy.slot = Duration::from_millis(1));
    check_settling(|config| config.phy.carrier_sense_delay = Some(Duration::ZERO));
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_another() {
    let of = |seed| trace(config(Standard::HrDsss), true, seed, None);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn stations_that_share_a_domain_do_as_each_in_its_own() {
    // With capture, which asks where stations stand, each is a domain of its own; and no frame is
    // ever strong enough.
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
            let frame = MacFrame { octets: 40 + rng.below(1461) as u32, ..cell.frame(key as usize % 3, key) };
            let station = cell.stations[3 + key as usize % 2];
            cell.wlan.enqueue(at, station, frame);
        }
        assert_eq!(cell.wlan.domains(), if alone { 5 } else { 1 });
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
