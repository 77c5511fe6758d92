//! Raw frames in a cell with power save. At 1 Mbit/s, one of 34 octets takes 464 us and its ACK 304;
//! at 11 Mbit/s 217 and 248.

use std::time::Duration;

use lasthop_packet::Instant;

use super::support::{Cell, by_frame, ms, power_save};
use crate::{Output, Rate, Rates, RawFrame, Receiver};

fn raw(cell: &Cell, to: usize, key: u32, rate: Option<Rate>) -> RawFrame {
    RawFrame {
        to: Receiver::Station(cell.stations[to]),
        key,
        octets: 34,
        rates: rate.map_or(Rates::LowestBasic, Rates::Fixed),
    }
}

fn manage(cell: &mut Cell, at: Instant, (from, to): (usize, usize), key: u32) {
    cell.run(at);
    let frame = raw(cell, to, key, None);
    assert!(cell.wlan.enqueue_raw(at, cell.stations[from], frame));
}

#[test]
fn a_beacon_goes_before_a_raw_frame_that_has_been_transmitted() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    // The receiver dozes. 7 transmissions and backoffs last for longer than 5 ms.
    manage(&mut cell, ms(98), (0, 1), 7);
    manage(&mut cell, ms(98), (0, 1), 8);
    cell.run(ms(500));
    let frames = cell.frames();
    let of = |frames: &[String], what: &str| frames.iter().filter(|frame| *frame == what).count();
    let (first, second) = ("0 raw 7 to 1", "0 raw 8 to 1");
    let beacon = 1 + frames[1..].iter().position(|frame| frame == "0 beacon DTIM").expect("it was sent");
    assert!((1..7).contains(&of(&frames[..beacon], first)), "{frames:?}");
    assert_eq!((of(&frames, first), of(&frames, second)), (7, 7), "they keep their counts: {frames:?}");
    let place = frames.iter().position(|frame| frame == second).expect("it was sent");
    assert_eq!(of(&frames[..place], first), 7, "they keep their order: {frames:?}");
    let fates = cell.log.iter().filter_map(|(_, output)| match output {
        Output::RawFate { key, acknowledged, .. } => Some((*key, *acknowledged)),
        _ => None,
    });
    assert_eq!(fates.collect::<Vec<_>>(), [(7, false), (8, false)]);
}

#[test]
fn a_station_wakes_to_send_a_raw_frame_and_dozes_after_its_acknowledgment() {
    for settle in [true, false] {
        let config = crate::WlanConfig { settle, ..by_frame() };
        let mut cell = Cell::new(config, power_save(), (1, 0));
        manage(&mut cell, ms(50), (1, 0), 1);
        cell.run(ms(90));
        assert_eq!(cell.awake(1, ms(90)), (704 + 464 + 10 + 304) * 1_000);
        assert!(cell.log.iter().any(|(_, it)| matches!(it, Output::RawDelivered { key: 1, .. })));
    }
}

#[test]
fn a_station_that_has_to_acknowledge_a_raw_frame_stays_awake() {
    // Station 3 waits for the NAV of station 1's frame, a SIFS and an ACK, and for DIFS. Station 1 gives its
    // frame up between the end of station 3's, 217 us later, and the ACK for that.
    let mut config = by_frame();
    (config.phy.cw_min, config.phy.cw_max) = (0, 0);
    config.mac.short_retry_limit = 1;
    config.mac.response_timeout = Some(Duration::from_micros(308 + 217 + 5));
    let mut cell = Cell::new(config, power_save(), (2, 1));
    cell.run(ms(50));
    let to_one_that_dozes = raw(&cell, 2, 1, Some(Rate::CCK_11));
    cell.wlan.enqueue_raw(ms(50), cell.stations[1], to_one_that_dozes);
    let soon = ms(50) + Duration::from_micros(100);
    cell.run(soon);
    let back = raw(&cell, 1, 2, Some(Rate::CCK_11));
    cell.wlan.enqueue_raw(soon, cell.stations[3], back);
    cell.run(ms(90));
    assert_eq!(cell.awake(1, ms(90)), (704 + 217 + 308 + 217 + 10 + 248) * 1_000);
    assert!(cell.log.iter().any(|(_, it)| matches!(it, Output::RawFate { key: 2, acknowledged: true, .. })));
}
