//! Saturation throughput of 802.11 against Bianchi's model: packets of 1,500 octets, 1 to 50
//! stations. `cargo run --release -p lasthop-lab --example bianchi` prints all of it.

use std::time::Duration;

use lasthop_lab::bianchi::{Freezing, Saturation, measure};
use lasthop_wifi::{Rate, Standard, WlanConfig};

const STATIONS: [u32; 6] = [1, 2, 5, 10, 20, 50];

fn cell(standard: Standard, rts: bool) -> WlanConfig {
    let mut config = WlanConfig::new(standard);
    if rts {
        config.mac.rts_threshold = 0;
    }
    config
}

/// The fraction by which the simulator is above the model, for this number of stations.
fn excess(config: &WlanConfig, stations: u32, freezing: Freezing) -> f64 {
    let seconds = match config.phy.rate {
        Rate::CCK_11 => 400,
        rate if rate.mcs().is_some() => 200,
        _ => 120,
    };
    let measured = measure(config, stations, 1500, Duration::from_secs(seconds), 1);
    measured / Saturation::new(config, stations, 1500).throughput(freezing) - 1.0
}

fn check(config: &WlanConfig, freezing: Freezing, stations: &[u32], bounds: (f64, f64)) {
    for &stations in stations {
        let excess = excess(config, stations, freezing);
        assert!((bounds.0..bounds.1).contains(&excess), "{:?}, {stations}: {excess}", config.phy.standard);
    }
}

#[test]
fn with_time_outs_as_the_model_has_them_the_simulator_is_within_1_percent() {
    // All stations count from EIFS after a collision.
    for standard in [Standard::Dsss, Standard::HrDsss, Standard::Ofdm, Standard::Erp] {
        for rts in [false, true] {
            let mut config = cell(standard, rts);
            config.mac.response_timeout = Some(config.phy.eifs().saturating_sub(config.phy.difs()));
            check(&config, Freezing::Stops, &STATIONS, (-0.01, 0.01));
        }
    }
}

#[test]
fn with_the_standards_time_outs_802_11b_and_a_are_within_1_percent_of_the_model() {
    for standard in [Standard::HrDsss, Standard::Ofdm] {
        for rts in [false, true] {
            check(&cell(standard, rts), Freezing::Stops, &STATIONS, (-0.01, 0.01));
        }
    }
}

#[test]
fn with_the_standards_time_outs_802_11b_is_within_1_percent_and_a_half_of_bianchi_2000() {
    for rts in [false, true] {
        check(&cell(Standard::HrDsss, rts), Freezing::Counts, &STATIONS, (-0.015, 0.015));
    }
}

#[test]
fn carrier_sense_without_delay_avoids_collisions_between_slots_in_802_11a() {
    // `ACKTimeout` and DIFS are 15 us shorter than EIFS: one slot and two thirds. For this time
    // stations that have collided count slots of their own, between those of the others.
    let mut config = cell(Standard::Ofdm, false);
    config.phy.carrier_sense_delay = Some(Duration::ZERO);
    check(&config, Freezing::Stops, &[50], (0.012, 0.022));
}

#[test]
fn a_head_start_of_whole_slots_is_as_the_model_has_it() {
    for standard in [Standard::HrDsss, Standard::Ofdm] {
        for ahead in [1, 2] {
            let mut config = cell(standard, false);
            let equal = config.phy.eifs().saturating_sub(config.phy.difs());
            config.mac.response_timeout = Some(equal.saturating_sub(config.phy.slot * ahead));
            check(&config, Freezing::Stops, &STATIONS, (-0.01, 0.01));
        }
    }
}

#[test]
fn ns_2_is_within_half_a_percent_of_the_model_with_its_own_rules() {
    // ns-2.35, `ns benches/ns2/wifi-saturated.tcl 100 STATIONS`, in Mbit/s: 34 octets around a
    // datagram; backoffs from 0 to CW - 1; EIFS as a NAV that DIFS follows, also for stations that
    // have collided.
    let measured = [6.0835, 6.317, 6.138, 5.794, 5.343, 4.622];
    let mut config = cell(Standard::HrDsss, false);
    config.mac.overhead.llc = 6;
    config.phy.basic_rates = vec![Rate::DSSS_1];
    for (stations, measured) in STATIONS.into_iter().zip(measured) {
        let standard = Saturation::new(&config, stations, 1500);
        let difs = config.phy.difs().as_secs_f64();
        let collision = standard.collision + difs;
        let ns_2 = Saturation { collision, head_start: 0.0, short_of_cw: 1, ..standard };
        let ratio = measured * 1e6 / ns_2.throughput(Freezing::Stops);
        assert!((0.995..1.005).contains(&ratio), "{stations}: {ratio}");
    }
}

#[test]
fn in_802_11g_colliding_stations_contend_alone_before_the_others() {
    // EIFS includes an ACK at 1 Mbit/s: the others wait for 30 slots longer than the colliders. A
    // model of equal stations does not hold; throughput is a third higher with 50 stations. With
    // EIFS for 6 Mbit/s, 802.11g is like 802.11a.
    check(&cell(Standard::Erp, false), Freezing::Counts, &[50], (0.30, 0.45));
    let mut config = cell(Standard::Erp, false);
    config.phy.eifs_rate = Rate::OFDM_6;
    check(&config, Freezing::Stops, &STATIONS, (-0.01, 0.01));
}

/// A cell of 802.11n or ax with A-MPDUs of this many packets; 1: each packet alone.
fn aggregating(standard: Standard, packets: u16) -> WlanConfig {
    let mut config = WlanConfig::new(standard);
    match &mut config.mac.aggregation {
        Some(aggregation) if packets > 1 => aggregation.window = packets,
        aggregation => *aggregation = None,
    }
    config
}

#[test]
fn with_ampdus_802_11n_and_ax_are_within_1_percent_of_the_model() {
    for standard in [Standard::Ht, Standard::He] {
        for packets in [1, 2, 8, 24] {
            let mut config = aggregating(standard, packets);
            check(&config, Freezing::Stops, &STATIONS, (-0.01, 0.01));
            // All stations count from EIFS after a collision.
            config.mac.response_timeout = Some(config.phy.eifs().saturating_sub(config.phy.difs()));
            check(&config, Freezing::Stops, &[2, 50], (-0.01, 0.01));
        }
    }
}

#[test]
fn with_50_stations_block_ack_requests_take_a_few_percent() {
    // Of 100 frames, about 3 are given up after 7 collisions, and a request follows each.
    let config = aggregating(Standard::He, 2);
    let with = Saturation::new(&config, 50, 1500);
    let without = Saturation { request: None, ..with };
    let ratio = with.throughput(Freezing::Stops) / without.throughput(Freezing::Stops);
    assert!((0.95..0.98).contains(&ratio), "{ratio}");
}
