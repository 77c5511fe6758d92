//! Stations that go out of range, and what is buffered for them.

use std::time::Duration;

use super::support::{Cell, by_frame, ms, power_save};
use crate::output::Fate;
use crate::{Output, Position, PowerSaveConfig, Propagation, WlanConfig};

const OUT_OF_RANGE: Position = Position::new(1_000.0, 0.0);

/// An access point and stations that doze, all at one place, where frames go 250 m far.
fn cell(ageing: Duration, dozing: usize) -> Cell {
    let propagation = Propagation::Ranges { reception: 250.0, carrier_sense: 550.0 };
    let config = PowerSaveConfig { ageing, ..power_save() };
    Cell::new(WlanConfig { propagation, ..by_frame() }, config, (dozing, 0))
}

fn walk(cell: &mut Cell, at: u64, station: usize, to: Position) {
    cell.run(ms(at));
    let id = cell.stations[station];
    cell.wlan.move_stations(ms(at), &[(id, to)]);
}

/// Keys of frames, and what became of each at last, in the order in which that was known.
fn fates(cell: &Cell) -> Vec<(u32, &'static str)> {
    let fates = cell.log.iter().filter_map(|(_, output)| match output {
        Output::Fate { frame, fate: Fate::Delivered, .. } => Some((frame.key, "delivered")),
        Output::Fate { frame, fate: Fate::GivenUp, .. } => Some((frame.key, "given up")),
        Output::TooOld { frame, .. } => Some((frame.key, "too old")),
        _ => None,
    });
    fates.collect()
}

#[test]
fn frames_for_a_station_that_leaves_while_it_dozes_are_dropped_when_they_are_too_old() {
    let mut cell = cell(Duration::from_millis(250), 2);
    for key in 0..3 {
        cell.send(ms(10), 0, 1, key);
    }
    cell.send(ms(10), 0, 2, 10);
    walk(&mut cell, 50, 1, OUT_OF_RANGE);
    cell.run(ms(390));
    assert_eq!(fates(&cell), [(10, "delivered"), (0, "too old"), (1, "too old"), (2, "too old")]);
    assert_eq!(cell.wlan.waiting(cell.stations[0]), (0, 0));
    // It has waited for a beacon since the first TBTT at which it heard none.
    assert_eq!(cell.awake(1, ms(390)), 704_000 + 290_000_000);
}

#[test]
fn a_station_that_comes_back_fetches_what_is_not_too_old() {
    let mut cell = cell(Duration::from_millis(250), 1);
    cell.send(ms(10), 0, 1, 0);
    walk(&mut cell, 50, 1, OUT_OF_RANGE);
    cell.send(ms(250), 0, 1, 1);
    walk(&mut cell, 350, 1, Position::new(0.0, 0.0));
    cell.run(ms(490));
    assert_eq!(fates(&cell), [(0, "too old"), (1, "delivered")]);
    let awake = cell.awake(1, ms(490));
    assert_eq!(awake, cell.awake(1, ms(480)), "it dozes again");
}

#[test]
fn a_station_that_leaves_between_its_ps_poll_and_the_frame_loses_that_frame_alone() {
    let mut cell = cell(Duration::from_millis(250), 2);
    cell.send(ms(10), 0, 1, 0);
    cell.send(ms(10), 0, 1, 1);
    cell.send(ms(10), 0, 2, 10);
    while !cell.frames().iter().any(|frame| frame == "0 ACK to 1") {
        let next = cell.wlan.next_event_at().expect("beacons have no end");
        cell.run(next);
    }
    let now = cell.wlan.next_event_at().expect("beacons have no end");
    let id = cell.stations[1];
    cell.run(now);
    cell.wlan.move_stations(now, &[(id, OUT_OF_RANGE)]);
    cell.run(ms(490));
    let mut fates = fates(&cell);
    fates.sort_unstable();
    assert_eq!(fates, [(0, "given up"), (1, "too old"), (10, "delivered")]);
    assert_eq!(cell.wlan.waiting(cell.stations[0]), (0, 0));
}
