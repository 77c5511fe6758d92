//! Several exchanges in a TXOP.

use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::{Instant, Probability};

use super::support::{AIR, Cell, OnAir, config, us};
use crate::{Aggregation, ErrorConfig, Format, Standard, WlanConfig};

/// A cell of 802.11a, frame by frame, with this TXOP limit.
fn cell(micros: u64, stations: &[f64]) -> Cell {
    AIR.take();
    let mut config = WlanConfig { settle: false, ..config(Standard::Ofdm) };
    config.mac.txop_limit = Duration::from_micros(micros);
    Cell::new(config, stations)
}

/// What was in the air, and the idle time before each frame in nanoseconds.
fn air() -> Vec<(String, u64)> {
    let mut end = 0;
    let mut with_gap = |OnAir { start, duration, what, .. }| {
        let gap = start - end;
        end = start + duration;
        (what, gap)
    };
    AIR.take().into_iter().map(&mut with_gap).collect()
}

const SIFS: u64 = 16_000;

#[test]
fn exchanges_follow_a_sifs_apart_and_a_cf_end_is_the_last() {
    let mut cell = cell(4_096, &[0.0, 1.0]);
    (0..3).for_each(|key| assert!(cell.send(us(0), 0, 1, key)));
    cell.run(Instant::from_secs(1));
    let air = air();
    let what: Vec<&str> = air.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(what, ["data 0", "ACK", "data 1", "ACK", "data 2", "ACK", "CF-End"]);
    assert!(air[1..].iter().all(|(_, gap)| *gap == SIFS), "{air:?}");
}

#[test]
fn an_exchange_that_does_not_fit_waits_for_the_next_txop() {
    // Data lasts 248 us and an ACK 28 us: with SIFS, two exchanges take 600 us, and a CF-End 68 us.
    let what = |micros: u64| {
        let mut cell = cell(micros, &[0.0, 1.0]);
        (0..3).for_each(|key| assert!(cell.send(us(0), 0, 1, key)));
        cell.run(Instant::from_secs(1));
        air()
    };
    for (micros, after_two) in [(600, "data 2"), (667, "data 2"), (668, "CF-End")] {
        let air = what(micros);
        let (next, gap) = &air[4];
        assert_eq!(next, after_two, "{micros}");
        assert_eq!(*gap == SIFS, after_two == "CF-End", "{micros}: {gap}");
    }
    // An exchange that is longer than the limit goes alone.
    assert_eq!(what(100)[2].0, "data 1");
}

#[test]
fn others_wait_until_the_txop_is_over() {
    let mut cell = cell(2_000, &[0.0, 1.0, 2.0]);
    for key in 0..4 {
        assert!(cell.send(us(0), 0, 2, key));
    }
    assert!(cell.send(us(100), 1, 2, 10));
    cell.run(Instant::from_secs(1));
    let what: Vec<_> = air().into_iter().map(|(what, _)| what).filter(|what| what != "ACK").collect();
    assert_eq!(what, ["data 0", "data 1", "data 2", "data 3", "CF-End", "data 10", "CF-End"]);
}

#[test]
fn a_backoff_follows_a_failure_within_a_txop() {
    let mut cell = cell(4_096, &[0.0, 1.0]);
    (0..2).for_each(|key| assert!(cell.send(us(0), 0, 1, key)));
    // The second exchange begins 308 us after the first.
    cell.run(us(250));
    cell.wlan.refuse_frames(cell.stations[1], true);
    cell.run(us(700));
    cell.wlan.refuse_frames(cell.stations[1], false);
    cell.run(Instant::from_secs(1));
    let air = air();
    let what: Vec<&str> = air.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(what, ["data 0", "ACK", "data 1", "data 1", "ACK", "CF-End"]);
    assert!(air[3].1 > SIFS + 34_000, "{air:?}");
}

#[test]
fn only_the_first_exchange_of_a_txop_may_be_longer_than_the_limit() {
    exchanges_end_in_time((3_839, 65_535), u32::MAX, 0.3);
}

// The A-MSDU alone is long enough for an RTS; an A-MPDU would not be, as there is none.
#[test]
fn an_rts_before_an_a_msdu_has_room_in_the_txop() {
    exchanges_end_in_time((3_839, 0), 2_000, 0.1);
    exchanges_end_in_time((3_839, 1_000), 2_000, 0.1);
}

/// A-MPDUs of A-MSDUs of these lengths at most, of which a share of the MPDUs is lost: some are given up and requested, some
/// are sent again.
fn exchanges_end_in_time((amsdu, ampdu): (u32, u32), rts_threshold: u32, share: f64) {
    let mut longest = 0;
    for micros in (400..3_000).step_by(20) {
        AIR.take();
        let mut config = WlanConfig { settle: false, ..config(Standard::Ht) };
        config.mac.txop_limit = Duration::from_micros(micros);
        config.mac.short_retry_limit = 2;
        config.mac.rts_threshold = rts_threshold;
        config.mac.aggregation = Some(Aggregation { amsdu, ampdu, ..Aggregation::new(Format::Ht) });
        config.errors = ErrorConfig::packets(Probability::new(share).expect("a probability"), false);
        let mut cell = Cell::with_queues(QueueLimit::Unlimited, config, &[0.0, 1.0], micros);
        cell.saturate_with(60, 0, 1);
        cell.run(Instant::from_millis(100));
        // From its beginning: the exchanges of a TXOP, and the end of the last frame.
        let (mut began, mut end, mut exchanges) = (0, 0, 0);
        for OnAir { start, duration, from, what, .. } in AIR.take() {
            if start != end + SIFS {
                (began, exchanges) = (start, 0);
            }
            end = start + duration;
            exchanges += u32::from(from == 0 && what != "RTS");
            longest = longest.max(exchanges);
            assert!(exchanges < 2 || end <= began + micros * 1_000, "{micros}: {exchanges} {what}");
        }
    }
    assert!(longest > 3, "{longest}");
}
