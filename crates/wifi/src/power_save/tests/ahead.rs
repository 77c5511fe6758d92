//! Frames that go before others at a station: its own, and answers to PS-Polls.

use lasthop_link::QueueLimit;
use lasthop_packet::Instant;

use super::support::{Cell, by_frame, ms, power_save};
use crate::{MacFrame, Output, PowerSaveConfig, Receiver, Scheduler, StationConfig};

const FIRST: u64 = 1;
const SECOND: u64 = 2;

/// The access point's queue, in which flows take turns.
fn taking_turns(power_save: PowerSaveConfig, limit: QueueLimit) -> Cell {
    let access_point =
        StationConfig { queue: limit, scheduler: Scheduler::PerFlow, ..StationConfig::default() };
    Cell::with_access_point(&access_point, by_frame(), power_save, (1, 1))
}

impl Cell {
    /// Sends a packet of a flow from the access point to the station that is awake; the frames that
    /// it displaces, and whether it found room.
    fn send_of(&mut self, at: Instant, flow: u64, key: u32, octets: u32) -> (Vec<u32>, bool) {
        self.run(at);
        let mut displaced = Vec::new();
        let frame = MacFrame { to: Receiver::Station(self.stations[2]), key, octets };
        let is_queued =
            self.wlan.enqueue_in_turn(at, self.stations[0], (flow, frame), |lost| displaced.push(lost.key));
        (displaced, is_queued)
    }
}

#[test]
fn an_answer_to_a_ps_poll_is_before_flows_that_take_turns_and_is_not_displaced() {
    let mut cell = taking_turns(power_save(), QueueLimit::Packets(40));
    cell.send(ms(50), 0, 1, 7);
    for key in 10..51 {
        assert_eq!(cell.send_of(ms(99), FIRST, key, 1000), (vec![], true));
    }
    let mut displaced = Vec::new();
    let answered_after = (0..600).find_map(|step| {
        let now = ms(99).after_nanos(step * 100_000);
        displaced.extend(cell.send_of(now, SECOND, 100 + step as u32, 50).0);
        (!cell.arrivals(1).is_empty()).then(|| cell.wlan.waiting(cell.stations[0]).0)
    });
    assert_eq!(answered_after, Some(40));
    assert!(displaced.len() > 10 && displaced.iter().all(|key| (10..51).contains(key)), "{displaced:?}");
}

#[test]
fn nothing_is_displaced_for_a_frame_that_finds_no_room_beside_those_that_go_before_others() {
    let config = PowerSaveConfig { receive_dtims: true, ..power_save() };
    let mut cell = taking_turns(config, QueueLimit::Packets(2));
    for key in 1..5 {
        assert!(cell.send_to_all(ms(50), key));
    }
    for key in 10..13 {
        assert_eq!(cell.send_of(ms(99).after_nanos(900_000), FIRST, key, 1000), (vec![], true));
    }
    let released = (0..10_000).map(|step| ms(100).after_nanos(step * 1_000)).find(|now| {
        cell.run(*now);
        cell.wlan.contender(cell.stations[0]).queue.ahead() >= 2
    });
    let now = released.expect("group frames follow the beacon");
    assert_eq!(cell.send_of(now, SECOND, 20, 50), (vec![], false));
    cell.run(ms(200));
    assert_eq!(
        cell.arrivals(2).into_iter().map(|(_, key)| key).collect::<Vec<_>>(),
        [10, 11, 1, 2, 3, 4, 12]
    );
}

#[test]
fn options_go_into_the_packets_frame_and_not_into_the_ps_poll_before_it() {
    let mut cell = Cell::new(by_frame(), power_save(), (1, 0));
    let [access_point, station] = [cell.stations[0], cell.stations[1]];
    cell.wlan.report_transmissions(true);
    for knows in [access_point, station] {
        cell.wlan.set_knows_options(knows, true);
    }
    cell.send(ms(50), 0, 1, 7);
    let polls_at = (0..20_000).map(|step| ms(100).after_nanos(step * 1_000)).find(|now| {
        cell.run(*now);
        cell.wlan.contender(cell.stations[1]).own().is_some()
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
