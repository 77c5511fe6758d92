//! Access, backoff and retries, step by step. Times are those of 802.11b at 11 Mbit/s with long
//! preambles: a frame of 1,500 octets takes 1,310 us, its exchange 1,568, DIFS is 50, EIFS 364,
//! `ACKTimeout` 222, a slot 20.

use lasthop_packet::Instant;

use super::support::{Cell, RANGES, config, us};
use crate::output::Fate;
use crate::{MacFrame, Output, Receiver, Standard, WlanConfig};

const SLOT: u64 = 20_000;

/// Slots between `from` and a beginning, which must be whole.
fn slots(from_us: u64, began: u64) -> u64 {
    let from = from_us * 1000;
    assert!(began >= from && (began - from).is_multiple_of(SLOT), "{began} after {from}");
    (began - from) / SLOT
}

#[test]
fn a_frame_that_finds_the_medium_busy_backs_off_after_difs() {
    let mut seen = Vec::new();
    for seed in 0..400 {
        let mut cell = Cell::seeded(config(Standard::HrDsss), &[0.0, 1.0, 2.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        cell.send(us(1_500), 2, 1, 1);
        cell.run(us(100_000));
        assert_eq!(cell.begins(0), [1_000_000]);
        seen.push(slots(1_000 + 1_568 + 50, cell.begins(2)[0]));
    }
    assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&0), Some(&31)), "0 to CWmin");
    let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
    assert!((mean - 15.5).abs() < 1.5, "{mean}");
}

#[test]
fn a_frame_that_finds_the_medium_just_idle_waits_for_the_rest_of_difs() {
    // The station has never sent, and owes no backoff.
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0, 2.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.send(us(1_000 + 1_568 + 30), 2, 1, 1);
    cell.run(us(100_000));
    assert_eq!(cell.begins(2), [(1_000 + 1_568 + 50) * 1000]);
}

#[test]
fn a_station_that_has_sent_backs_off_before_its_next_frame() {
    let mut seen = Vec::new();
    for seed in 0..400 {
        let mut cell = Cell::seeded(config(Standard::HrDsss), &[0.0, 1.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        cell.send(us(1_000 + 1_568), 0, 1, 1);
        cell.run(us(100_000));
        seen.push(slots(1_000 + 1_568 + 50, cell.begins(0)[1]));
    }
    assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&0), Some(&31)));
}

#[test]
fn post_back_off_goes_on_without_a_frame_and_costs_no_events() {
    for seed in 0..100 {
        let mut cell = Cell::seeded(config(Standard::HrDsss), &[0.0, 1.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        cell.run(us(1_000 + 1_568));
        assert_eq!(cell.wlan.next_event_at(), None);
        // Ten slots and a half later: what is left of it is on the same slots; if nothing is left,
        // the frame goes at once.
        let arrival = 1_000 + 1_568 + 50 + 210;
        cell.send(us(arrival), 0, 1, 1);
        cell.run(us(100_000));
        let began = cell.begins(0)[1];
        if began != arrival * 1000 {
            assert!(slots(1_000 + 1_568 + 50, began) > 10);
        }
    }
    // 31 slots later none is left.
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.send(us(1_000 + 1_568 + 50 + 31 * 20), 0, 1, 1);
    cell.run(us(100_000));
    assert_eq!(cell.begins(0)[1], (1_000 + 1_568 + 50 + 31 * 20) * 1000);
}

#[test]
fn a_back_off_is_frozen_while_others_transmit_and_goes_on_after_difs() {
    let (mut frozen, mut seeds) = (0, 0);
    for seed in 0..200 {
        // Station 0's exchange; then 2 and 3 count down together, and whoever is first freezes the
        // other.
        let mut cell = Cell::seeded(config(Standard::HrDsss), &[0.0, 1.0, 2.0, 3.0], seed);
        cell.send(us(1_000), 0, 1, 0);
        cell.send(us(1_100), 2, 1, 1);
        cell.send(us(1_200), 3, 1, 2);
        cell.run(us(100_000));
        let (two, three) = (cell.begins(2)[0], cell.begins(3)[0]);
        if two == three {
            continue;
        }
        seeds += 1;
        let (first, second) = (two.min(three), two.max(three));
        let before = slots(1_000 + 1_568 + 50, first);
        let after = slots(first / 1000 + 1_568 + 50, second);
        assert!(after >= 1, "a frozen back-off has a slot left");
        assert!(before + after <= 31, "and both parts are one draw");
        frozen += 1;
    }
    assert!(frozen == seeds && frozen > 150);
}

#[test]
fn after_a_failure_the_window_doubles_up_to_cwmax_and_after_the_last_it_is_reset() {
    // The receiver is out of range: seven transmissions each.
    let config = WlanConfig { propagation: RANGES, ..config(Standard::HrDsss) };
    let mut cell = Cell::new(config, &[0.0, 1_000.0]);
    cell.saturate(0, 1);
    cell.run(Instant::from_secs(60));
    let begins = cell.begins(0);
    let mut most = [0; 7];
    for (number, pair) in begins.windows(2).enumerate() {
        // The frame's end, `ACKTimeout`, DIFS.
        let draw = slots(pair[0] / 1000 + 1_310 + 222 + 50, pair[1]);
        most[number % 7] = most[number % 7].max(draw);
    }
    for (most, cw) in most.into_iter().zip([63, 127, 255, 511, 1023, 1023, 31]) {
        assert!(most <= cw && most * 10 >= cw * 9, "{most} of {cw}");
    }
    let fates = cell.fates(0);
    assert!(fates.chunks_exact(2).all(|pair| {
        pair[0].1 == Fate::FirstTransmissionFailed
            && pair[0].2 == 1
            && pair[1].1 == Fate::GivenUp
            && pair[1].2 == 7
    }));
    // The sender learns it when `ACKTimeout` is over.
    assert_eq!(fates[0].0, begins[0] + (1_310 + 222) * 1000);
    assert_eq!(fates[1].0, begins[6] + (1_310 + 222) * 1000);
    assert_eq!(cell.wlan.counters().given_up as usize, fates.len() / 2);
}

#[test]
fn an_rts_is_tried_seven_times_by_the_short_limit() {
    let mut config = WlanConfig { propagation: RANGES, ..config(Standard::HrDsss) };
    config.mac.rts_threshold = 500;
    let mut cell = Cell::new(config, &[0.0, 1_000.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.run(Instant::from_secs(1));
    let fates = cell.fates(0);
    // An RTS of 272 us and `CTSTimeout`.
    assert_eq!(fates[0], ((1_000 + 272 + 222) * 1000, Fate::FirstTransmissionFailed, 1));
    assert_eq!((fates[1].1, fates[1].2), (Fate::GivenUp, 7));
}

#[test]
fn the_window_is_reset_after_a_success() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0, 2.0, 3.0, 4.0]);
    for station in 1..5 {
        cell.saturate(station, 0);
    }
    cell.run(Instant::from_secs(20));
    // Between a success and the same station's next exchange lie at most 31 slots of its own,
    // besides others' exchanges: in the periods that nobody else interrupts that can be seen.
    let mut ends: Vec<(u64, bool)> = Vec::new();
    for (at, output) in &cell.log {
        if let Output::Fate { fate: Fate::Delivered, .. } = output {
            ends.push((*at, true));
        }
    }
    let mut begins: Vec<u64> = (1..5).flat_map(|station| cell.begins(station)).collect();
    begins.sort_unstable();
    for (end, _) in ends {
        let next = begins.partition_point(|began| *began < end);
        let Some(began) = begins.get(next) else { continue };
        assert!(slots(end / 1000 + 50, *began) <= 31);
    }
}

#[test]
fn after_a_collision_bystanders_wait_for_eifs_and_the_colliders_for_their_time_out() {
    let mut checked = 0;
    for seed in 0..3_000 {
        // 1 and 2 draw after 0's exchange; where they collide, 3's frame comes during the
        // collision.
        let mut cell = Cell::seeded(config(Standard::HrDsss), &[0.0, 1.0, 2.0, 3.0], seed);
        cell.send(us(1_000), 0, 3, 0);
        cell.send(us(1_100), 1, 0, 1);
        cell.send(us(1_200), 2, 0, 2);
        cell.run(us(1_000 + 1_568 + 50 + 31 * 20 + 5));
        let Some(end) = cell.wlan.next_event_at() else { continue };
        cell.send(us(end.as_nanos() / 1000 - 100), 3, 0, 3);
        cell.run(us(200_000));
        let (one, two) = (cell.begins(1), cell.begins(2));
        if one[0] != two[0] {
            continue;
        }
        let collision_end = one[0] / 1000 + 1_310;
        let first = [one[1], two[1], cell.begins(3)[0]].into_iter().min();
        // Whoever is first was not interrupted.
        if first == Some(cell.begins(3)[0]) {
            slots(collision_end + 364, cell.begins(3)[0]);
            checked += 1;
        } else {
            slots(collision_end + 222 + 50, first.expect("three"));
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn a_broadcast_reaches_everybody_once_at_a_basic_rate_and_is_not_acknowledged() {
    for settle in [true, false] {
        let mut cell = Cell::new(WlanConfig { settle, ..config(Standard::HrDsss) }, &[0.0, 1.0, 2.0, 3.0]);
        let frame = MacFrame { to: Receiver::Broadcast, key: 9, octets: 100 };
        cell.wlan.enqueue(us(1_000), cell.stations[1], frame);
        cell.run(us(100_000));
        // 136 octets at 1 Mbit/s.
        let end = (1_000 + 192 + 1_088) * 1000;
        assert_eq!(cell.arrivals(1), [(end, 9); 3]);
        assert_eq!(cell.fates(1), [(end, Fate::Delivered, 1)]);
    }
}

#[test]
fn a_full_queue_refuses_the_frame_that_does_not_fit() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    // One that the MAC is transmitting, and fifty that wait.
    let accepted = (0..60).filter(|key| cell.send(us(1_000), 0, 1, *key)).count();
    assert_eq!((accepted, cell.wlan.waiting(cell.stations[0])), (51, (50, 75_000)));
    cell.run(Instant::from_secs(1));
    let keys: Vec<u32> = cell.arrivals(0).iter().map(|(_, key)| *key).collect();
    assert_eq!(keys, (0..51).collect::<Vec<_>>(), "in order, and each once");
}

#[test]
fn queueing_is_told_and_the_part_of_it_that_went_to_get_the_medium() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    for key in 0..2 {
        cell.send(us(1_000), 0, 1, key);
    }
    cell.run(us(100_000));
    let second = cell.begins(0)[1];
    let told = cell.log.iter().filter_map(|(_, output)| match output {
        Output::Fate { queueing, access, .. } => Some((*queueing, *access)),
        _ => None,
    });
    let expected = [(0, 0), (second - 1_000_000, second - (1_000 + 1_568) * 1000)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
