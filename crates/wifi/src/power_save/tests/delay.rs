//! The delay of a packet to a station that dozes: uniform over the beacon interval, but for the
//! time that fetching takes.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use super::support::{Cell, INTERVAL, by_frame, power_save};
use crate::PowerSaveConfig;

/// Delays in seconds of packets that come one at a time, at random.
fn delays(count: u32, listen_interval: u32) -> Vec<f64> {
    let config = PowerSaveConfig { listen_interval, ..power_save() };
    let mut cell = Cell::new(by_frame(), config, (1, 0));
    let mut rng = Rng::named(7, "arrivals");
    let mut at = Instant::ZERO;
    let mut sent = Vec::new();
    for key in 0..count {
        // Two to seven intervals after the last one.
        let interval = INTERVAL.as_nanos() as u64 * u64::from(listen_interval);
        at = at.after_nanos(2 * interval + rng.below(5 * interval));
        sent.push(at.as_nanos());
        cell.send(at, 0, 1, key);
    }
    cell.run(at + 10 * INTERVAL * listen_interval);
    let arrivals = cell.arrivals(1);
    assert!(arrivals.iter().map(|(_, key)| *key).eq(0..count), "each, once, in order");
    arrivals.iter().zip(sent).map(|((at, _), sent)| (at - sent) as f64 / 1e9).collect()
}

#[test]
fn is_uniform_by_kolmogorov_and_smirnov() {
    for listen_interval in [1, 3] {
        let mut delays = delays(2_000, listen_interval);
        delays.sort_by(f64::total_cmp);
        let interval = INTERVAL.as_secs_f64() * f64::from(listen_interval);
        // After the beacon (704 us): DIFS, 0 to 31 slots, the PS-Poll (272 us), a SIFS, its ACK
        // (248 us); DIFS, 0 to 31 slots, the data frame (192 us and 1,036 octets at 11 Mbit/s:
        // 754 us).
        let fixed = (704.0 + 50.0 + 272.0 + 10.0 + 248.0 + 50.0 + 946.0) * 1e-6;
        let back_offs = 2.0 * 31.0 * 20e-6;
        assert!(delays[0] >= fixed && delays[1_999] <= interval + fixed + back_offs);
        // Uniform, plus two backoffs whose mean is half of their range.
        let middle = fixed + back_offs / 2.0;
        let distance = delays.iter().enumerate().map(|(rank, delay)| {
            let expected = ((delay - middle) / interval).clamp(0.0, 1.0);
            let (below, above) = (rank as f64 / 2_000.0, (rank + 1) as f64 / 2_000.0);
            (expected - below).abs().max((expected - above).abs())
        });
        // 1% of samples of a uniform distribution exceed 1.63 over the root of their number, 0.036;
        // the backoffs move it by at most half their range over the interval, 0.006.
        let bound = 1.63 / 2_000_f64.sqrt() + back_offs / 2.0 / interval;
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < bound, "{distance} {bound}");
        // The mean, within three of its standard errors.
        let mean = delays.iter().sum::<f64>() / 2_000.0;
        let error = interval / 12_f64.sqrt() / 2_000_f64.sqrt();
        assert!((mean - interval / 2.0 - middle).abs() < 3.0 * error, "{mean}");
    }
}

#[test]
fn without_power_save_it_is_that_of_the_frame() {
    let mut cell = Cell::new(by_frame(), power_save(), (0, 1));
    cell.send(Instant::ZERO + Duration::from_millis(33), 0, 1, 1);
    cell.run(Instant::ZERO + INTERVAL);
    assert_eq!(cell.arrivals(1), [(33_000_000 + 946_000, 1)]);
}
