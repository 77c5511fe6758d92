//! Stations that are tuned to other channels and taken off the air. Times as in `access`.

use std::time::Duration;

use lasthop_packet::Instant;

use super::support::{Cell, Entry, RANGES, config, us};
use super::topologies::{SHORT, b};
use crate::output::Fate;
use crate::{Channel, MacFrame, Output, PowerSaveConfig, Receiver, Standard, WlanConfig};

const AWAY: Option<Channel> = None;
const ZERO: Option<Channel> = Some(Channel(0));
const ONE: Option<Channel> = Some(Channel(1));

fn tune(cell: &mut Cell, at: Instant, station: usize, channel: Option<Channel>) {
    cell.run(at);
    cell.wlan.tune(at, cell.stations[station], channel);
    cell.log.extend(std::iter::from_fn(|| cell.wlan.poll()).map(|output| (at.as_nanos(), output)));
}

/// When a station was tuned, in microseconds, and to what.
fn tuned(cell: &Cell, station: usize) -> Vec<(u64, Option<Channel>)> {
    let entries = cell.log.iter().filter_map(|(at, output)| match output {
        Output::Tuned { station: tuned, channel } if *tuned == cell.stations[station] => {
            Some((at / 1_000, *channel))
        }
        _ => None,
    });
    entries.collect()
}

fn by_frame(config: WlanConfig) -> WlanConfig {
    WlanConfig { settle: false, ..config }
}

#[test]
fn stations_of_different_channels_do_not_hear_each_other() {
    let run = |config: WlanConfig, channel, with_others: bool| {
        let mut cell = Cell::new(config, &[0.0, 1.0, 2.0, 3.0]);
        for station in [2, 3] {
            tune(&mut cell, Instant::ZERO, station, channel);
            assert_eq!(
                (tuned(&cell, station), cell.wlan.channel(cell.stations[station])),
                (vec![(0, channel)], channel)
            );
        }
        cell.saturate(0, 1);
        if with_others {
            cell.saturate(2, 3);
        }
        cell.run(Instant::from_secs(2));
        let domains = cell.wlan.domains();
        let [own, other] = [[0, 1], [2, 3]].map(|of| of.map(|it| cell.stations[it]));
        let is_of = |pair: [_; 2]| move |(_, output): &&Entry| matches!(output, Output::Fate { from, .. } | Output::Attempt { from, .. } if pair.contains(from));
        let log = |pair| cell.log.iter().filter(is_of(pair)).copied().collect::<Vec<Entry>>();
        (log(own), log(other), domains)
    };
    let config = config(Standard::HrDsss);
    let (alone, _, domains) = run(config.clone(), ONE, false);
    assert!(alone.len() > 2_000 && domains == 2, "{domains}");
    let (beside, others, _) = run(config.clone(), ONE, true);
    assert_eq!(alone, beside);
    assert!(others.len() > 2_000);
    assert_eq!(run(by_frame(config.clone()), ONE, true), (beside, others, 2), "it is settled, too");
    assert!(run(config, ZERO, true).0.len() < alone.len() * 2 / 3);
}

#[test]
fn a_frame_for_a_station_that_is_not_on_the_channel_is_given_up() {
    for channel in [AWAY, ONE] {
        let mut cell = Cell::new(b(RANGES), &[0.0, 100.0]);
        tune(&mut cell, us(500), 1, channel);
        cell.send(us(1_000), 0, 1, 0);
        cell.run(us(1_000_000));
        assert_eq!(cell.fates(0).last().map(|(_, fate, times)| (*fate, *times)), Some((Fate::GivenUp, 7)));
        assert_eq!(cell.arrivals(0), []);
    }
}

#[test]
fn frames_of_a_station_that_is_off_the_air_wait_and_keep_their_retry_counts() {
    let mut cell = Cell::new(b(RANGES), &[0.0, 100.0]);
    tune(&mut cell, us(500), 1, AWAY);
    cell.send(us(1_000), 0, 1, 0);
    let first = 1_000 + 1_310 + 222;
    tune(&mut cell, us(first), 0, AWAY);
    tune(&mut cell, us(first + 10), 1, ZERO);
    assert_eq!(cell.fates(0), [(first * 1_000, Fate::FirstTransmissionFailed, 1)]);
    for key in 1..=51 {
        assert_eq!(cell.send(us(10_000), 0, 1, key), key <= 50, "{key}: the queue's limit holds");
    }
    cell.run(us(5_000_000));
    assert_eq!((cell.fates(0).len(), cell.begins(0).len()), (1, 1), "nothing is sent");
    tune(&mut cell, us(5_000_000), 0, ZERO);
    cell.run(us(6_000_000));
    let keys: Vec<u32> = cell.arrivals(0).iter().map(|(_, key)| *key).collect();
    assert_eq!(keys, (0..=50).collect::<Vec<_>>());
    assert_eq!((cell.fates(0)[1].1, cell.fates(0)[1].2), (Fate::Delivered, 2));
}

#[test]
fn a_backoff_is_suspended_while_its_station_is_off_the_air() {
    let began = |away: Option<(u64, u64)>, seed| {
        let mut cell = Cell::seeded(b(RANGES), &[0.0, 100.0, 200.0], seed);
        cell.send(us(1_000), 1, 2, 0);
        cell.send(us(1_500), 0, 1, 1);
        if let Some((from, until)) = away {
            tune(&mut cell, us(from), 0, AWAY);
            tune(&mut cell, us(until), 0, ZERO);
        }
        cell.run(us(1_000_000));
        cell.begins(0)[0] / 1_000
    };
    let idle = 1_000 + 1_568 + 50;
    let mut seen = 0;
    for seed in 0..20 {
        let slots = (began(None, seed) - idle) / 20;
        for passed in [0, slots / 2, slots.saturating_sub(1)] {
            // It leaves in a slot of its backoff, and comes back to an idle medium.
            if passed < slots {
                let away = (idle + passed * 20 + 13, 100_000);
                assert_eq!(began(Some(away), seed), 100_000 + 50 + (slots - passed) * 20, "{seed} {passed}");
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn a_station_that_takes_part_in_an_exchange_is_tuned_at_its_end() {
    // With RTS: RTS until 1,272, CTS from 1,282 to 1,530, data from 1,540 to 2,850, ACK from 2,860.
    for (rts, times, end) in [
        (65_535, vec![1_000, 1_500, 2_309, 2_315, 2_320, 2_567], 2_568),
        (0, vec![1_000, 1_100, 1_275, 1_400, 1_535, 2_000, 2_855, 3_000], 3_108),
    ] {
        for at in times {
            for (station, channel) in [(0, AWAY), (0, ONE), (1, AWAY), (1, ONE), (2, ONE)] {
                let mut config = by_frame(b(RANGES));
                config.mac.rts_threshold = rts;
                let mut cell = Cell::new(config, &[0.0, 100.0, 200.0]);
                cell.send(us(1_000), 0, 1, 0);
                tune(&mut cell, us(at), station, channel);
                let expected = if station == 2 { at } else { end };
                cell.run(us(10_000));
                assert_eq!(tuned(&cell, station), [(expected, channel)], "{rts} {at} {station}");
                assert_eq!(cell.fates(0), [(end * 1_000, Fate::Delivered, 1)]);
                assert_eq!(cell.wlan.channel(cell.stations[station]), channel);
            }
        }
    }
}

#[test]
fn a_settled_exchange_is_over_first_too() {
    for station in 0..3 {
        let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 100.0, 200.0]);
        cell.send(us(1_000), 0, 1, 0);
        tune(&mut cell, us(1_500), station, ONE);
        cell.run(us(10_000));
        assert_eq!(tuned(&cell, station), [(2_568, ONE)]);
        assert_eq!(cell.fates(0), [(2_568_000, Fate::Delivered, 1)]);
        // A third station takes no part: later it leaves at once, even from the exchange of others.
        let from = usize::from(station == 0) * 2;
        tune(&mut cell, us(20_000), station, ZERO);
        cell.send(us(30_000), from, 1, 1);
        tune(&mut cell, us(30_500), 2 - from, AWAY);
        cell.run(us(40_000));
        assert_eq!(tuned(&cell, 2 - from).last(), Some(&(30_500, AWAY)));
    }
}

#[test]
fn a_sender_is_tuned_when_it_knows_that_nobody_answers() {
    let mut cell = Cell::new(b(RANGES), &[0.0, 1_000.0]);
    cell.send(us(1_000), 0, 1, 0);
    tune(&mut cell, us(1_500), 0, AWAY);
    // The addressee does not hear the frame.
    tune(&mut cell, us(1_600), 1, ONE);
    cell.run(us(100_000));
    assert_eq!((tuned(&cell, 0), tuned(&cell, 1)), (vec![(1_000 + 1_310 + 222, AWAY)], vec![(1_600, ONE)]));
    assert_eq!(cell.fates(0).len(), 1);
}

#[test]
fn a_receiver_of_frames_that_overlap_is_tuned_at_once() {
    let mut cell = Cell::new(b(SHORT), &[0.0, 200.0, 400.0]);
    cell.send(us(1_000), 0, 1, 0);
    cell.send(us(1_200), 2, 1, 1);
    tune(&mut cell, us(1_500), 1, AWAY);
    assert_eq!(tuned(&cell, 1), [(1_500, AWAY)]);
}

#[test]
fn only_the_last_channel_counts_if_a_station_is_tuned_again_before_it_can_be() {
    let mut cell = Cell::new(by_frame(b(RANGES)), &[0.0, 100.0]);
    cell.send(us(1_000), 0, 1, 0);
    for (at, channel) in [(1_100, AWAY), (1_200, ONE), (1_300, Some(Channel(7)))] {
        tune(&mut cell, us(at), 0, channel);
        tune(&mut cell, us(at), 1, channel);
    }
    // It is tuned to this one already.
    tune(&mut cell, us(1_400), 1, ZERO);
    cell.run(us(10_000));
    assert_eq!((tuned(&cell, 0), tuned(&cell, 1)), (vec![(2_568, Some(Channel(7)))], vec![(1_400, ZERO)]));
}

#[test]
fn a_station_that_returns_to_an_idle_medium_contends_after_difs() {
    let mut seen = Vec::new();
    for seed in 0..400 {
        let mut cell = Cell::seeded(b(RANGES), &[0.0, 100.0], seed);
        tune(&mut cell, us(500), 0, AWAY);
        cell.send(us(1_000), 0, 1, 0);
        tune(&mut cell, us(5_000), 0, ZERO);
        cell.run(us(100_000));
        let after = cell.begins(0)[0] - (5_000 + 50) * 1_000;
        assert!(after.is_multiple_of(20_000), "{after}");
        seen.push(after / 20_000);
    }
    assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&0), Some(&31)), "0 to CWmin");
}

#[test]
fn a_station_that_returns_during_a_frame_senses_it_and_does_not_decode_it() {
    // A broadcast at 1 Mbit/s, from 1,000 to 13,480 us.
    for (back, decodes) in [(500, true), (999, true), (1_001, false), (5_000, false), (13_479, false)] {
        let mut cell = Cell::new(by_frame(b(RANGES)), &[0.0, 100.0, 200.0]);
        tune(&mut cell, us(100), 1, AWAY);
        if decodes {
            tune(&mut cell, us(back), 1, ZERO);
        }
        cell.run(us(1_000));
        let broadcast = MacFrame { to: Receiver::Broadcast, ..cell.frame(0, 9) };
        cell.wlan.enqueue(us(1_000), cell.stations[0], broadcast);
        cell.send(us(1_001), 1, 2, 1);
        if !decodes {
            tune(&mut cell, us(back), 1, ZERO);
        }
        cell.run(us(200_000));
        let arrivals = cell.log.iter().filter_map(|(_, output)| match output {
            Output::Delivered { at, frame, .. } if frame.key == 9 => Some(at.index()),
            _ => None,
        });
        assert_eq!(arrivals.collect::<Vec<_>>(), if decodes { vec![1, 2] } else { vec![2] });
        let after = cell.begins(1)[0] - (13_480 + if decodes { 50 } else { 364 }) * 1_000;
        assert!(after.is_multiple_of(20_000) && after <= 31 * 20_000, "{back}: {after}");
    }
}

#[test]
fn a_station_that_returns_after_a_cts_does_not_know_its_nav() {
    // The third station hears the second, and not the first, which sends from 1,540 to 2,850 us.
    for back in [500, 1_535] {
        let mut config = by_frame(b(SHORT));
        config.mac.rts_threshold = 1_000;
        let mut cell = Cell::new(config, &[0.0, 200.0, 400.0, 600.0]);
        tune(&mut cell, us(100), 2, AWAY);
        if back < 1_000 {
            tune(&mut cell, us(back), 2, ZERO);
        }
        cell.send(us(1_000), 0, 1, 0);
        let short = MacFrame { octets: 1, ..cell.frame(3, 2) };
        cell.run(us(1_510));
        cell.wlan.enqueue(us(1_510), cell.stations[2], short);
        if back > 1_000 {
            tune(&mut cell, us(back), 2, ZERO);
        }
        cell.run(us(100_000));
        let began = cell.begins(2)[0] / 1_000;
        assert_eq!(began < 2_850, back > 1_000, "{began}");
        assert!(began >= if back > 1_000 { back + 50 } else { 3_108 + 50 }, "{began}");
    }
}

#[test]
fn a_nav_is_not_valid_on_another_channel() {
    // The third station hears the second's CTS, which reserves the medium until 3,108 us.
    for goes in [false, true] {
        let mut config = by_frame(b(SHORT));
        config.mac.rts_threshold = 1_000;
        let mut cell = Cell::new(config, &[0.0, 200.0, 400.0, 600.0]);
        cell.send(us(1_000), 0, 1, 0);
        let short = MacFrame { octets: 1, ..cell.frame(3, 2) };
        cell.run(us(1_532));
        if goes {
            tune(&mut cell, us(1_532), 2, ONE);
        }
        cell.wlan.enqueue(us(1_532), cell.stations[2], short);
        cell.run(us(100_000));
        let began = cell.begins(2)[0] / 1_000;
        assert!(if goes { began == 1_532 + 50 } else { began >= 3_108 + 50 }, "{began}");
    }
}

#[test]
#[should_panic(expected = "stations in power-save mode stay on their channel")]
fn stations_of_a_cell_with_power_save_are_not_tuned() {
    let mut cell = Cell::new(config(Standard::HrDsss), &[0.0, 1.0]);
    let config = PowerSaveConfig { beacon_interval: Duration::from_millis(20), ..PowerSaveConfig::default() };
    cell.wlan.save_power(cell.stations[0], &[cell.stations[1]], config);
    cell.wlan.tune(Instant::ZERO, cell.stations[1], ONE);
}
