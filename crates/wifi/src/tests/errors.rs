//! Frames lost without a collision.

use std::time::Duration;

use lasthop_packet::{Instant, Probability};

use super::support::{Cell, config, us};
use crate::output::Fate;
use crate::{BitErrorRates, ErrorConfig, MacFrame, Rate, Standard, UndisturbedFrame, WlanConfig};

fn probability(value: f64) -> Probability {
    Probability::new(value).expect("0 to 1")
}

fn with_errors(errors: ErrorConfig) -> WlanConfig {
    WlanConfig { errors, ..config(Standard::HrDsss) }
}

fn assert_close(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured / expected - 1.0).abs() < tolerance, "{measured} for {expected}");
}

#[test]
fn a_packet_error_rate_without_control_frames_is_that_of_data_frames() {
    let mut cell = Cell::new(with_errors(ErrorConfig::packets(probability(0.1), false)), &[0.0, 1.0]);
    cell.saturate(0, 1);
    cell.run(Instant::from_secs(60));
    let counters = *cell.wlan.counters();
    assert_close(counters.failures as f64 / counters.attempts as f64, 0.1, 0.05);
    assert_eq!((counters.duplicates, counters.acks_lost), (0, 0));
}

#[test]
fn with_control_frames_lost_acknowledgments_make_duplicates_which_the_filter_removes() {
    let mut cell = Cell::new(with_errors(ErrorConfig::packets(probability(0.2), true)), &[0.0, 1.0]);
    for key in 0..2_000 {
        cell.send(Instant::from_millis(u64::from(key) * 20), 0, 1, key);
    }
    cell.run(Instant::from_secs(100));
    let counters = *cell.wlan.counters();
    // A data frame arrives and its ACK does not.
    assert_close(counters.acks_lost as f64 / counters.attempts as f64, 0.8 * 0.2, 0.1);
    assert_close(counters.failures as f64 / counters.attempts as f64, 1.0 - 0.8 * 0.8, 0.05);
    // What has arrived comes again, but for a frame's last attempt.
    assert_close(counters.duplicates as f64, counters.acks_lost as f64, 0.02);
    let keys: Vec<u32> = cell.arrivals(0).iter().map(|(_, key)| *key).collect();
    assert!(keys.is_sorted_by(|one, other| one < other), "in order, and each once");
    // Given up after seven attempts, of which some arrived: 0.36^7 is one in 1,300.
    assert!(keys.len() >= 1_990);
}

#[test]
fn one_direction_of_a_link_can_have_errors_of_its_own() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0, 2.0]);
    let (a, b) = (cell.stations[0], cell.stations[1]);
    cell.wlan.set_errors(a, b, ErrorConfig::packets(Probability::ONE, false));
    cell.send(us(1_000), 0, 1, 0);
    cell.send(us(200_000), 0, 2, 1);
    cell.send(us(300_000), 1, 0, 2);
    cell.run(Instant::from_secs(1));
    let fates: Vec<Fate> = [cell.fates(0), cell.fates(1)].concat().iter().map(|fate| fate.1).collect();
    assert_eq!(fates, [Fate::FirstTransmissionFailed, Fate::GivenUp, Fate::Delivered, Fate::Delivered]);
}

#[test]
fn bit_errors_lose_frames_by_their_length_at_the_rate_of_the_frame() {
    let rates = BitErrorRates { by_rate: [(Rate::CCK_11, 1e-5)].into(), others: 0.0 };
    for octets in [100, 1500] {
        let errors = ErrorConfig { bit: Some(rates.clone()), ..ErrorConfig::none() };
        let mut cell = Cell::new(with_errors(errors), &[0.0, 1.0]);
        let frame = MacFrame { octets, ..cell.frame(1, 0) };
        cell.saturated.push((cell.stations[0], frame));
        cell.wlan.enqueue(us(0), cell.stations[0], frame);
        cell.run(Instant::from_secs(200));
        let counters = *cell.wlan.counters();
        let expected = 1.0 - libm::pow(1.0 - 1e-5, 8.0 * (f64::from(octets) + 36.0));
        assert_close(counters.failures as f64 / counters.attempts as f64, expected, 0.05);
    }
}

#[test]
fn a_long_frame_after_an_rts_is_tried_four_times() {
    let mut config = with_errors(ErrorConfig::packets(Probability::ONE, false));
    config.mac.rts_threshold = 0;
    let mut cell = Cell::new(config, &[0.0, 1.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.run(Instant::from_secs(1));
    let fates = cell.fates(0);
    // RTS, CTS and data, and `ACKTimeout`.
    assert_eq!(
        fates[0],
        ((1_000 + 272 + 10 + 248 + 10 + 1_310 + 222) * 1000, Fate::FirstTransmissionFailed, 1)
    );
    assert_eq!((fates[1].1, fates[1].2), (Fate::GivenUp, 4));
}

#[test]
fn an_addressee_that_a_frame_did_not_reach_intact_waits_for_eifs_and_bystanders_for_the_nav() {
    for (listener, from) in [(1, 1_000 + 1_310 + 364), (2, 1_000 + 1_310 + 10 + 248 + 50)] {
        for seed in 0..50 {
            let mut cell = Cell::seeded(config(Standard::HrDsss), &[0.0, 1.0, 2.0, 3.0], seed);
            let (a, b) = (cell.stations[0], cell.stations[1]);
            cell.wlan.set_errors(a, b, ErrorConfig::packets(Probability::ONE, false));
            cell.send(us(1_000), 0, 1, 0);
            cell.send(us(1_500), listener, 3, 1);
            cell.run(us(100_000));
            let (retry, began) = (cell.begins(0)[1], cell.begins(listener)[0]);
            if began < retry {
                assert!(began >= from * 1000 && (began - from * 1000).is_multiple_of(20_000));
            }
        }
    }
}

#[test]
fn an_error_model_loses_frames_and_acknowledgments_of_both_directions_and_no_others() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0, 2.0]);
    let model = cell.wlan.error_model_mut();
    model.links = vec![[cell.stations[1], cell.stations[0]]];
    model.times = [Duration::from_millis(100), Duration::from_millis(200)];
    cell.saturate(0, 1);
    cell.saturate(1, 0);
    cell.saturate(2, 0);
    cell.run(Instant::from_millis(300));
    for (from, is_spared) in [(0, false), (1, false), (2, true)] {
        let within = |from_ms: u64, to_ms: u64| {
            let arrivals = cell.arrivals(from);
            arrivals.iter().filter(|(at, _)| (from_ms..to_ms).contains(&(at / 1_000_000))).count()
        };
        assert!(within(0, 100) > 5, "{from}");
        assert_eq!(within(100, 300) > 0, is_spared, "{from}");
    }
}

#[test]
fn an_error_model_is_asked_about_each_frame_once_with_its_times() {
    for settle in [true, false] {
        let mut cell = Cell::new(WlanConfig { settle, ..config(Standard::HrDsss) }, &[0.0, 1.0]);
        let link = [cell.stations[0], cell.stations[1]];
        let model = cell.wlan.error_model_mut();
        model.links = vec![link];
        model.times = [Duration::from_secs(1), Duration::ZERO];
        cell.send(us(1_000), 0, 1, 7);
        cell.run(us(100_000));
        let data = UndisturbedFrame {
            link: (link[0], link[1]),
            key: Some(7),
            is_control: false,
            rate: Rate::CCK_11,
            octets: 1536,
            start: us(1_000),
            end: us(1_000 + 1_310),
        };
        let ack = UndisturbedFrame {
            link: (link[1], link[0]),
            key: None,
            is_control: true,
            rate: Rate::DSSS_2,
            octets: 14,
            start: us(1_000 + 1_310 + 10),
            end: us(1_000 + 1_310 + 10 + 248),
        };
        assert_eq!(cell.wlan.error_model().asked, [data, ack], "{settle}");
    }
}
