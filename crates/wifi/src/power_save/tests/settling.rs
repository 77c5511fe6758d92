//! Exchanges settled when they begin and exchanges simulated frame by frame have the same results,
//! counts and times awake included.

use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::{Instant, Probability, Rng};

use crate::{
    Capture, ErrorConfig, MacFrame, Output, PowerSaveConfig, Rates, RawFrame, Receiver, Standard,
    StationConfig, WlanConfig, WlanCounters,
};

const STATIONS: usize = 7;

#[derive(Debug, PartialEq)]
struct Trace {
    outputs: Vec<(u64, Output)>,
    counters: WlanCounters,
    awake: Vec<Option<u64>>,
}

/// An access point, four stations that doze and two that do not. Each sends to each and to all, in
/// bursts, and half of the frames on a grid of 10 us, so that some coincide with TBTTs and ends of
/// frames. Each fifth is followed by a raw frame.
fn trace(config: WlanConfig, seed: u64) -> Trace {
    let mut rng = Rng::named(seed, "arrivals");
    let mut wlan = crate::Wlan::new(config, seed);
    wlan.report_attempts(true);
    let stations: Vec<_> = (0..STATIONS).map(|_| wlan.add_station(&StationConfig::default())).collect();
    let power_save = PowerSaveConfig {
        beacon_interval: Duration::from_millis(10 + seed % 3 * 15),
        dtim_period: 1 + (seed % 2) as u32,
        listen_interval: 1 + (seed % 4) as u32 / 2,
        receive_dtims: seed.is_multiple_of(3),
        buffer: QueueLimit::Packets(6),
        ageing: Duration::from_millis(60),
        first_beacon: Some(Duration::from_micros(seed % 5 * 40)),
    };
    wlan.save_power(stations[0], &stations[1..5], power_save);
    let mut outputs = Vec::new();
    let mut at = Instant::ZERO;
    for key in 0..900 {
        at = at.after_nanos(rng.below(if key % 100 < 50 { 600_000 } else { 6_000_000 }));
        let now = if key % 2 == 0 { at } else { at.round_up_to(Duration::from_micros(10)) };
        while let Some(due) = wlan.next_event_at().filter(|due| *due <= now) {
            wlan.on_event(due);
            outputs.extend(std::iter::from_fn(|| wlan.poll()).map(|output| (due.as_nanos(), output)));
        }
        let from = if key % 3 > 0 { 0 } else { rng.below(STATIONS as u64) as usize };
        let to = match rng.below(STATIONS as u64 + 1) as usize {
            STATIONS => Receiver::Broadcast,
            to if to == from => continue,
            to => Receiver::Station(stations[to]),
        };
        let octets = 40 + rng.below(1461) as u32;
        wlan.enqueue(now, stations[from], MacFrame { to, key, octets });
        if key % 5 == 4 {
            let frame = RawFrame { to, key, octets: octets / 8, rates: Rates::LowestBasic };
            wlan.enqueue_raw(now, stations[from], frame);
        }
    }
    let awake = stations.iter().map(|station| wlan.awake_time(*station, at)).collect();
    // Errors are drawn at the beginning of a settled exchange, but otherwise at the end of its frame;
    // the run may end between the two.
    Trace { outputs, counters: WlanCounters { errors: 0, ..*wlan.counters() }, awake }
}

fn check(seeds: std::ops::Range<u64>, change: impl Fn(&mut WlanConfig)) {
    for standard in [Standard::Dsss, Standard::HrDsss, Standard::Ofdm, Standard::Erp] {
        for seed in seeds.clone() {
            let mut config = WlanConfig::new(standard);
            config.mac.rts_threshold = if seed % 2 == 0 { 800 } else { 65_535 };
            config.mac.cts_to_self = standard == Standard::Erp && seed.is_multiple_of(3);
            change(&mut config);
            let [settled, by_frame] =
                [true, false].map(|settle| trace(WlanConfig { settle, ..config.clone() }, seed));
            let differ = settled.outputs.iter().zip(&by_frame.outputs).position(|(one, other)| one != other);
            let at = differ.map(|at| (at, settled.outputs[at], by_frame.outputs[at]));
            assert_eq!(at, None, "{standard:?} {seed}");
            assert_eq!(settled.outputs.len(), by_frame.outputs.len());
            assert_eq!(settled.counters, by_frame.counters, "{standard:?} {seed}");
            assert_eq!(settled.awake, by_frame.awake, "{standard:?} {seed}");
            let WlanCounters { beacons, ps_polls, delivered, .. } = settled.counters;
            let is_managed = |it: &&(u64, Output)| matches!(it.1, Output::RawDelivered { .. });
            let managed = settled.outputs.iter().filter(is_managed).count() as u64;
            assert!(managed > 20 && delivered + managed > 100, "{managed} {:?}", settled.counters);
            assert!(beacons > 20 && ps_polls > 20, "{:?}", settled.counters);
        }
    }
}

fn probability(rate: f64) -> Probability {
    Probability::new(rate).expect("a probability")
}

#[test]
fn without_errors() {
    check(0..8, |_| ());
}

#[test]
fn with_errors_of_data_and_of_control_frames() {
    check(10..14, |config| config.errors = ErrorConfig::packets(probability(0.1), false));
    check(20..26, |config| config.errors = ErrorConfig::packets(probability(0.2), true));
}

#[test]
fn with_carrier_sense_at_once_and_slots_longer_than_frames() {
    check(30..33, |config| config.phy.carrier_sense_delay = Some(Duration::ZERO));
    check(40..43, |config| config.phy.slot = Duration::from_millis(1));
}

#[test]
fn one_domain_for_all_stations_has_the_same_results_as_one_for_each() {
    for seed in 50..54 {
        let mut config = WlanConfig { settle: false, ..WlanConfig::new(Standard::HrDsss) };
        config.errors = ErrorConfig::packets(probability(0.1), true);
        let together = trace(config.clone(), seed);
        // With capture each station has a domain of its own; no frame is strong enough to be captured.
        config.capture = Some(Capture { threshold: f64::INFINITY, later_frames: false });
        let alone = trace(config, seed);
        let differ = together.outputs.iter().zip(&alone.outputs).position(|(one, other)| one != other);
        assert_eq!(differ.map(|at| (together.outputs[at], alone.outputs[at])), None, "{seed}");
        assert_eq!(together, alone, "{seed}");
    }
}
