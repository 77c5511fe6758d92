//! Hidden and exposed stations, the NAV. 802.11b at 11 Mbit/s; times as in `access`.

use lasthop_packet::Instant;

use super::support::{Cell, RANGES, config, us};
use crate::output::Fate;
use crate::{Propagation, Standard, TwoRayGround, WlanConfig};

/// Neighbours at 200 m hear each other, those at 400 m do not.
pub(super) const SHORT: Propagation = Propagation::Ranges { reception: 250.0, carrier_sense: 300.0 };

pub(super) fn b(propagation: Propagation) -> WlanConfig {
    WlanConfig { propagation, ..config(Standard::HrDsss) }
}

fn assert_close(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured / expected - 1.0).abs() < tolerance, "{measured} for {expected}");
}

#[test]
fn stations_that_hear_the_same_share_a_domain() {
    let domains = |config: WlanConfig, metres: &[f64]| {
        let mut cell = Cell::new(config, metres);
        cell.send(us(0), 0, 1, 0);
        cell.wlan.domains()
    };
    assert_eq!(domains(b(Propagation::Everywhere), &[0.0, 1e6, 2e6]), 1);
    assert_eq!(domains(b(RANGES), &[0.0, 10.0, 100.0, 250.0]), 1);
    // The outer ones sense, and do not decode, each other.
    assert_eq!(domains(b(RANGES), &[0.0, 10.0, 200.0, 400.0, 410.0]), 3);
    assert_eq!(domains(b(SHORT), &[0.0, 200.0, 400.0, 600.0, 5000.0, 5010.0]), 5);
}

#[test]
fn two_ray_ground_has_the_ranges_of_its_thresholds() {
    let model = TwoRayGround::WAVELAN;
    for (distance, threshold) in [(250.0, model.reception_threshold), (550.0, model.carrier_sense_threshold)]
    {
        assert!(model.received_power(distance - 1.0) > threshold);
        assert!(model.received_power(distance + 1.0) < threshold);
    }
    // Free space up to the crossover distance of 86 m: a sixteenth of the power at four times the
    // distance.
    assert_close(model.received_power(20.0) / model.received_power(80.0), 16.0, 1e-9);
    assert_close(model.received_power(100.0) / model.received_power(400.0), 256.0, 1e-9);
}

/// Attempts and failures of two hidden stations that send to the one between them for a minute, and
/// frames delivered a second.
fn hidden(cw: (u32, u32), rts: bool) -> (f64, f64) {
    let mut config = b(SHORT);
    (config.phy.cw_min, config.phy.cw_max) = cw;
    if rts {
        config.mac.rts_threshold = 0;
    }
    let mut cell = Cell::new(config, &[0.0, 200.0, 400.0]);
    cell.saturate(0, 1);
    cell.saturate(2, 1);
    cell.run(Instant::from_secs(60));
    let counters = cell.wlan.counters();
    (1.0 - counters.failures as f64 / counters.attempts as f64, counters.delivered as f64 / 60.0)
}

#[test]
fn hidden_stations_collide_as_often_as_their_frames_meet() {
    // A window so large that both are idle most of the time. A frame of D = 1,310 us survives if it
    // falls into a pause of the other station with D to spare. A pause is a draw of up to M = 1023
    // slots, and some c = 290 us (a SIFS, an ACK, and DIFS; or the time-out and DIFS): in the mean,
    // (M + c - D)^2 / 2M of a pause are good to begin in, of a cycle of M / 2 + c + D.
    let (d, m, c): (f64, f64, f64) = (1_310.0, 1023.0 * 20.0, 290.0);
    let expected = (m + c - d) * (m + c - d) / (2.0 * m) / (m / 2.0 + c + d);
    let (survive, _) = hidden((1023, 1023), false);
    assert_close(survive, expected, 0.02);
}

#[test]
fn rts_and_cts_protect_hidden_stations() {
    let (survive, without) = hidden((31, 1023), false);
    let (survive_with, with) = hidden((31, 1023), true);
    // Alone, a station delivers 519 frames a second, 405 behind an RTS.
    assert!(survive < 0.55 && survive_with > 0.73, "{survive} {survive_with}");
    assert!((310.0..325.0).contains(&without) && (370.0..385.0).contains(&with), "{without} {with}");
}

#[test]
fn exposed_stations_take_turns_though_they_need_not() {
    let mut cell = Cell::new(b(SHORT), &[0.0, 200.0, 400.0, 600.0]);
    cell.saturate(1, 0);
    cell.saturate(2, 3);
    let (start, end) = (Instant::from_secs(1), Instant::from_secs(101));
    cell.run(end);
    assert_eq!(cell.wlan.counters().failures, 0, "nothing collides where it is received");
    // They share the slots as two stations in a clique do (each transmits in a sixteenth of them,
    // and goes on at once after one draw in 32); in a slot that both have chosen both succeed.
    let tau: f64 = 1.0 / 16.0;
    let (idle, one, both) = ((1.0 - tau) * (1.0 - tau), 2.0 * tau * (1.0 - tau), tau * tau);
    let train = 32.0 / 31.0;
    let time = (idle * 20.0 + (one + both) * (20.0 + train * 1_618.0)) * 1e-6;
    let expected = (one + 2.0 * both) * train / time;
    let (left, right) = (cell.rate(1, (start, end)), cell.rate(2, (start, end)));
    assert_close(left + right, expected, 0.01);
    assert_close(left, right, 0.03);
    // Not twice the 519 of a pair alone.
    assert!(left + right < 600.0);
}

#[test]
fn pairs_out_of_each_others_range_do_not_disturb_each_other() {
    let mut cell = Cell::new(b(SHORT), &[0.0, 10.0, 5_000.0, 5_010.0]);
    cell.saturate(0, 1);
    cell.saturate(2, 3);
    let (start, end) = (Instant::from_secs(1), Instant::from_secs(61));
    cell.run(end);
    for from in [0, 2] {
        // 1,310 + 10 + 248 + 50 us, and 15.5 slots.
        assert_close(cell.rate(from, (start, end)), 1e6 / 1_928.0, 0.005);
    }
}

#[test]
fn a_station_defers_to_a_nav_that_only_a_cts_has_told_it_of() {
    for seed in 0..50 {
        let mut config = b(SHORT);
        config.mac.rts_threshold = 0;
        let mut cell = Cell::seeded(config, &[0.0, 200.0, 400.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        // During the data frame, which it cannot hear.
        cell.send(us(2_000), 2, 1, 1);
        cell.run(us(100_000));
        let after = cell.begins(2)[0] - (1_000 + 2_108 + 50) * 1000;
        assert!(after.is_multiple_of(20_000) && after <= 31 * 20_000, "{after}");
        assert_eq!(cell.wlan.counters().failures, 0);
    }
}

#[test]
fn a_nav_of_an_rts_that_nobody_answers_is_reset() {
    for (reset, from) in [(true, 1_000 + 272 + 500 + 50), (false, 1_000 + 2_108 + 50)] {
        let mut config = b(RANGES);
        config.mac.rts_threshold = 0;
        config.mac.nav_reset = reset;
        // The initiator's own next attempt is to be later: its window is large.
        (config.phy.cw_min, config.phy.cw_max) = (1023, 1023);
        let mut earliest = u64::MAX;
        for seed in 0..300 {
            let mut cell = Cell::seeded(config.clone(), &[0.0, 100.0, 2_000.0], seed);
            cell.send(us(1_000), 0, 2, 0);
            cell.send(us(1_280), 1, 0, 1);
            cell.run(us(100_000));
            let (retry, began) = (cell.begins(0)[1], cell.begins(1)[0]);
            if began < retry {
                assert!((began - from * 1000).is_multiple_of(20_000));
                earliest = earliest.min(began);
            }
        }
        assert!((from * 1000..from * 1000 + 500_000).contains(&earliest), "{earliest} after {from}");
    }
}

#[test]
fn an_rts_to_a_station_whose_nav_is_set_is_not_answered() {
    let mut config = b(SHORT);
    config.mac.rts_threshold = 0;
    let mut cell = Cell::new(config, &[0.0, 200.0, 400.0, 600.0]);
    cell.send(us(1_000), 0, 1, 0);
    // 400 m away, station 2 has heard the CTS; 3 has not.
    cell.send(us(2_000), 3, 2, 1);
    cell.run(us(2_000 + 272 + 222));
    assert_eq!(cell.wlan.counters().refused, 1);
    assert_eq!(cell.fates(3), [((2_000 + 272 + 222) * 1000, Fate::FirstTransmissionFailed, 1)]);
    cell.run(us(100_000));
    assert_eq!(cell.fates(3).last().map(|fate| fate.1), Some(Fate::Delivered));
}

#[test]
fn what_is_sensed_and_not_decoded_is_followed_by_eifs() {
    for seed in 0..50 {
        // Station 2 senses 0 (500 m) and 1 (300 m), and decodes neither.
        let mut cell = Cell::seeded(b(RANGES), &[0.0, 200.0, 500.0, 700.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        cell.send(us(1_500), 2, 3, 1);
        cell.run(us(100_000));
        let after = cell.begins(2)[0] - (1_000 + 1_568 + 364) * 1000;
        assert!(after.is_multiple_of(20_000) && after <= 31 * 20_000, "{after}");
    }
}

#[test]
fn a_frame_that_comes_after_a_nav_was_reset_goes_at_once() {
    let mut config = b(RANGES);
    config.mac.rts_threshold = 0;
    (config.phy.cw_min, config.phy.cw_max) = (1023, 1023);
    let mut cell = Cell::new(config, &[0.0, 100.0, 2_000.0]);
    cell.send(us(1_000), 0, 2, 0);
    let now = 1_000 + 272 + 500 + 50 + 7;
    cell.send(us(now), 1, 0, 1);
    cell.run(us(100_000));
    assert_eq!(cell.begins(1)[0], now * 1000);
}

#[test]
fn a_nav_does_not_bind_the_station_that_has_set_it() {
    // Station 0's RTS is not answered. Station 1 senses it only, and transmits within the 500 us in
    // which others would reset their NAV; it would hold until the end of a data frame at 1 Mbit/s.
    let mut config = b(RANGES);
    config.mac.rts_threshold = 500;
    config.phy.rate = crate::Rate::DSSS_1;
    (config.phy.cw_min, config.phy.cw_max) = (1023, 1023);
    let rts_end = 1_000 + 352;
    let mut retries = Vec::new();
    for seed in 0..3_000 {
        let mut cell = Cell::seeded(config.clone(), &[0.0, 300.0, 500.0, 2_000.0], seed);
        cell.send(us(1_000), 0, 3, 0);
        let short = crate::MacFrame { octets: 40, ..cell.frame(2, 1) };
        cell.run(us(1_100));
        let station = cell.stations[1];
        cell.wlan.enqueue(us(1_100), station, short);
        cell.run(us(40_000));
        let (retry, began) = (cell.begins(0)[1], cell.begins(1)[0]);
        if began < retry && began < (rts_end + 500) * 1000 {
            retries.push(retry / 1000);
        }
    }
    let nav_end = rts_end + 10 + 304 + 10 + 12_480 + 10 + 304;
    assert!(retries.len() > 5 && retries.iter().min() < Some(&(nav_end - 3_000)), "{retries:?}, {nav_end}");
}
