//! A station does not hear what it sends. 802.11b at 11 Mbit/s; times as in `access`.

use lasthop_packet::Probability;

use super::support::{Cell, RANGES, config, us};
use super::topologies::{SHORT, b};
use crate::output::Fate;
use crate::{Capture, ErrorConfig, MacFrame, Standard};

#[test]
fn after_two_rts_have_collided_the_next_one_is_answered() {
    let mut checked = 0;
    for seed in 0..100 {
        let mut config = b(RANGES);
        config.mac.rts_threshold = 0;
        config.capture = Some(Capture { threshold: 1e6, later_frames: false });
        let mut cell = Cell::seeded(config, &[0.0, 10.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        let frame = cell.frame(0, 1);
        cell.wlan.enqueue(us(1_000), cell.stations[1], frame);
        cell.run(us(100_000));
        let (one, other) = (cell.begins(0), cell.begins(1));
        assert_eq!((one[0], other[0]), (1_000_000, 1_000_000));
        if one[1] == other[1] {
            continue;
        }
        checked += 1;
        let fates = [cell.fates(0), cell.fates(1)].concat();
        let fates: Vec<_> = fates.iter().map(|(_, fate, transmissions)| (*fate, *transmissions)).collect();
        let each = [(Fate::FirstTransmissionFailed, 1), (Fate::Delivered, 2)];
        assert_eq!((fates, cell.wlan.counters().refused), ([each, each].concat(), 0), "{seed}");
    }
    assert!(checked > 80);
}

#[test]
fn a_station_whose_rts_was_lost_answers_anothers() {
    // Station 0's RTS is in error at 1 and intact at 2; then one or the other sends an RTS to 0,
    // before the NAV would have ended.
    for from in [1, 2] {
        let mut checked = 0;
        for seed in 0..100 {
            let mut config = config(Standard::HrDsss);
            config.mac.rts_threshold = 0;
            // Station 0's next attempt is to be later: its window is large.
            (config.phy.cw_min, config.phy.cw_max) = (1023, 1023);
            let mut cell = Cell::seeded(config, &[0.0, 1.0, 2.0], seed);
            let always = ErrorConfig::packets(Probability::ONE, true);
            cell.wlan.set_errors(cell.stations[0], cell.stations[1], always);
            cell.send(us(1_000), 0, 1, 0);
            // After EIFS, and after the time in which a NAV is not reset yet.
            cell.send(us(1_000 + 272 + 700), from, 0, 1);
            cell.run(us(5_000));
            let began = cell.begins(from);
            if began != [(1_000 + 272 + 700) * 1000] || cell.begins(0).len() > 1 {
                continue;
            }
            checked += 1;
            assert_eq!(cell.wlan.counters().refused, 0, "{from} {seed}");
            // Of 1's frames the CTS is lost on its way back.
            assert!(from == 1 || !cell.arrivals(from).is_empty());
        }
        assert!(checked > 20, "{checked}");
    }
}

#[test]
fn after_an_acknowledgment_of_its_own_that_was_overlapped_a_station_keeps_difs() {
    // Station 2 does not hear 0, and begins a short frame between 0's to 1 and 1's ACK, which
    // outlasts it.
    let (data_end, mut checked) = (1_000 + 1_310, 0);
    for seed in 0..50 {
        for capture in [None, Some(Capture { threshold: 1e6, later_frames: false })] {
            let mut config = b(SHORT);
            config.capture = capture;
            let mut cell = Cell::seeded(config, &[0.0, 200.0, 400.0, 600.0], seed);
            cell.send(us(1_000), 0, 1, 0);
            cell.send(us(1_500), 1, 0, 1);
            cell.run(us(data_end + 5));
            let short = MacFrame { octets: 1, ..cell.frame(3, 2) };
            cell.wlan.enqueue(us(data_end + 5), cell.stations[2], short);
            cell.run(us(100_000));
            assert_eq!(cell.begins(2)[0], (data_end + 5) * 1000);
            let began = cell.begins(1)[0];
            // 3's ACK meets 1's at 2, which tries again.
            if began > cell.begins(2)[1] {
                continue;
            }
            checked += 1;
            let after_difs = began - (data_end + 10 + 248 + 50) * 1000;
            // Whoever heard an overlap would begin 314 us later.
            assert!(after_difs.is_multiple_of(20_000) && after_difs <= 31 * 20_000, "{after_difs}");
        }
    }
    assert!(checked > 50, "{checked}");
}
