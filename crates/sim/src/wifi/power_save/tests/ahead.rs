//! Frames that go before others at a station: its own, and answers to PS-Polls.

use super::support::{Cell, by_frame, ms, power_save};
use crate::wifi::{MacFrame, Output, Receiver};

/// What takes frames out of turn would leave the station that polls without an answer.
#[test]
fn an_answer_to_a_ps_poll_does_not_wait_its_turn_among_other_frames() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 1));
    cell.send(ms(50), 0, 1, 7);
    for key in 10..50 {
        assert!(cell.send(ms(99), 0, 2, key));
    }
    let mut answered_after = None;
    for micros in (99_000..160_000).step_by(100) {
        cell.run(ms(0).after_nanos(micros * 1000));
        let waiting: Vec<u32> = cell.wlan.in_turn(cell.stations[0]).map(|frame| frame.key).collect();
        assert!(!waiting.contains(&7), "at {micros} us: {waiting:?}");
        if answered_after.is_none() && !cell.arrivals(1).is_empty() {
            answered_after = Some(waiting.len());
        }
    }
    assert!(answered_after.is_some_and(|others| others > 10), "{answered_after:?}");
}

#[test]
fn options_go_into_the_packets_frame_and_not_into_the_ps_poll_before_it() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    let [access_point, station] = [cell.stations[0], cell.stations[1]];
    cell.wlan.tell_transmissions(true);
    for knows in [access_point, station] {
        cell.wlan.set_knows_options(knows, true);
    }
    cell.send(ms(50), 0, 1, 7);
    let polls_at = (0..20_000).map(|step| ms(100).after_nanos(step * 1_000)).find(|now| {
        cell.run(*now);
        cell.wlan.stations[1].own.is_some()
    });
    let now = polls_at.expect("the station polls");
    let frame = MacFrame { to: Receiver::Station(access_point), key: 9, octets: 1000 };
    assert!(cell.wlan.enqueue(now, station, frame));
    assert!(cell.wlan.attach_options(station, 9, 20, now));
    cell.run(ms(150));
    let told = cell.log.iter().find_map(|(_, output)| match output {
        Output::Transmission { frame, has_options, .. } if frame.key == 9 => Some(*has_options),
        _ => None,
    });
    assert_eq!(told, Some(true));
}
