//! Powers at receivers, and the ranges that follow from them.

use super::support::{Cell, us};
use super::topologies::b;
use crate::propagation::Hearing;
use crate::{Capture, LogDistance, Position, Propagation, TwoRayGround, WlanConfig};

fn assert_close(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured / expected - 1.0).abs() < tolerance, "{measured} for {expected}");
}

/// Watts as dBm.
fn dbm(watts: f64) -> f64 {
    10.0 * libm::log10(watts) + 30.0
}

fn line(metres: f64) -> Position {
    Position::new(metres, 0.0)
}

#[test]
fn log_distance_has_the_powers_of_the_test_vectors_of_ns_3() {
    // `propagation-loss-model-test-suite.cc` of ns-3: meters and watts, to the digits given there.
    let model = LogDistance {
        transmit_power: 0.050_357_02,
        reference_loss: 40.045_997,
        exponent: 3.0,
        ..LogDistance::OFDM
    };
    for (metres, watts) in
        [(10.0, 4.982_65e-9), (20.0, 6.228_31e-10), (40.0, 7.785_39e-11), (80.0, 9.731_73e-12)]
    {
        assert_close(model.received_power(metres), watts, 1e-6);
    }
}

#[test]
fn two_ray_ground_has_the_powers_of_the_test_vectors_of_ns_3() {
    // The same file; a wavelength of 12.5 cm.
    let model = TwoRayGround {
        transmit_power: 0.050_357_02,
        frequency: 2_398_339_664.0,
        height: 1.5,
        ..TwoRayGround::WAVELAN
    };
    for (metres, watts) in [
        (100.0, 4.982_65e-10),
        (500.0, 4.078_918_62e-12),
        (1000.0, 2.549_324_137_5e-13),
        (2000.0, 1.593_327_585_938e-14),
    ] {
        assert_close(model.received_power(metres), watts, 1e-6);
    }
}

#[test]
fn the_loss_in_free_space_at_5_15_ghz_is_the_default_of_ns_3() {
    // To a hundredth of a dB: 46.684.
    let loss = LogDistance::free_space_loss(5.15e9);
    assert!((loss - LogDistance::OFDM.reference_loss).abs() < 0.01, "{loss}");
    // Twice the frequency: 6.02 dB more.
    let more = LogDistance::free_space_loss(4.8e9) - LogDistance::free_space_loss(2.4e9);
    assert_close(more, 20.0 * libm::log10(2.0), 1e-9);
    // At an exponent of 2 it is Friis, as two-ray ground reflection is at short distance.
    let two_rays = TwoRayGround { height: 10.0, ..TwoRayGround::WAVELAN };
    let model = LogDistance {
        transmit_power: two_rays.transmit_power,
        reference_loss: LogDistance::free_space_loss(two_rays.frequency),
        exponent: 2.0,
        ..LogDistance::OFDM
    };
    for metres in [1.0, 7.0, 100.0] {
        assert_close(model.received_power(metres), two_rays.received_power(metres), 1e-9);
    }
}

#[test]
fn power_falls_by_ten_exponents_a_decade_from_a_meter_on() {
    for exponent in [1.6, 2.0, 3.0, 4.5] {
        let model = LogDistance { exponent, ..LogDistance::OFDM };
        let at_a_meter = dbm(model.received_power(1.0));
        assert!((at_a_meter - (16.0206 - 46.6777)).abs() < 1e-4, "{at_a_meter}");
        for (metres, decades) in [(0.0, 0.0), (0.3, 0.0), (10.0, 1.0), (100.0, 2.0)] {
            let lost = at_a_meter - dbm(model.received_power(metres));
            assert!((lost - decades * 10.0 * exponent).abs() < 1e-9, "{exponent} {metres}: {lost}");
        }
    }
}

#[test]
fn log_distance_has_the_ranges_of_its_thresholds() {
    // 16.0206 dBm - 46.6777 dB + 82 dBm leave 51.3429 dB, which are 51.455 m at 30 dB a decade.
    let model = Propagation::LogDistance(LogDistance::OFDM);
    assert!(model.reaches(line(0.0), line(51.45)) && !model.reaches(line(0.0), line(51.46)));
    // At a sixteenth of the power, 12.0412 dB: 2.5198 times as far, 129.66 m.
    let model = Propagation::LogDistance(LogDistance {
        carrier_sense_threshold: LogDistance::OFDM.reception_threshold / 16.0,
        ..LogDistance::OFDM
    });
    for (metres, hearing) in [
        (51.4, Hearing::Decodes),
        (51.5, Hearing::Senses),
        (129.6, Hearing::Senses),
        (129.7, Hearing::Nothing),
    ] {
        assert_eq!(model.hearing(line(0.0), line(metres)), hearing, "{metres}");
    }
}

#[test]
fn models_without_powers_have_none_and_the_others_their_own() {
    for model in [Propagation::Everywhere, Propagation::Ranges { reception: 10.0, carrier_sense: 20.0 }] {
        assert_eq!(model.received_power(line(0.0), line(5.0)), None);
    }
    let (two_rays, by_log) = (TwoRayGround::WAVELAN, LogDistance::OFDM);
    for metres in [1.0, 5.0, 200.0] {
        for (model, power) in [
            (Propagation::TwoRayGround(two_rays), two_rays.received_power(metres)),
            (Propagation::LogDistance(by_log), by_log.received_power(metres)),
        ] {
            assert_eq!(model.received_power(line(0.0), line(metres)), Some(power));
            assert_eq!(model.received_power(line(metres), line(0.0)), Some(power), "it is mutual");
        }
    }
    let nearer = Propagation::TwoRayGround(two_rays).received_power(line(0.0), line(0.0));
    assert_eq!(nearer, Some(two_rays.received_power(1.0)));
}

#[test]
fn capture_compares_the_powers_of_log_distance() {
    // At an exponent of 3, twice the distance costs 9.03 dB.
    let failures = |threshold: f64| {
        let config = WlanConfig {
            capture: Some(Capture { threshold, later_frames: false }),
            ..b(Propagation::LogDistance(LogDistance::OFDM))
        };
        let mut cell = Cell::new(config, &[0.0, 10.0, -20.0]);
        cell.saturate(1, 0);
        cell.saturate(2, 0);
        cell.run(us(5_000_000));
        [1, 2]
            .map(|station| cell.fates(station).iter().filter(|fate| fate.1 != crate::Fate::Delivered).count())
    };
    let (captured, destroyed) = (failures(7.9), failures(8.1));
    assert!(captured[0] == 0 && captured[1] > 20, "{captured:?}");
    assert!(destroyed[0] > 20 && destroyed[1] > 20, "{destroyed:?}");
}
