//! Laws that hold whatever the topology.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::{Instant, Probability};
use proptest::prelude::*;

use super::support::{AIR, Entry, OnAir, fixed};
use crate::output::Fate;
use crate::{
    Aggregation, Capture, Channel, ErrorConfig, MacFrame, Output, Position, PowerSaveConfig, Propagation,
    RawFrame, Receiver, Scheduler, Standard, StationConfig, StationId, Wlan, WlanConfig,
};

#[derive(Clone, Debug)]
struct Case {
    standard: Standard,
    positions: Vec<(f64, f64)>,
    rts: bool,
    /// Microseconds.
    carrier_sense_delay: Option<u64>,
    capture: Option<Capture>,
    loss: f64,
    /// Whether errors hit control frames, too.
    control: bool,
    /// Stations jump by up to 100 m now and then.
    moves: bool,
    /// Stations are tuned now and then, unless some doze.
    tunes: bool,
    /// The largest A-MSDU and A-MPDU, where stations aggregate.
    aggregation: Option<(u32, u32)>,
    /// Which stations doze, by their bits; the first is the access point. None without power save.
    dozing: u16,
    /// Where flows or receivers take turns, what waits for a station is taken back now and then.
    scheduler: Scheduler,
    /// Microseconds since the last one, from, to (anything beyond the stations: all), octets, whether it is a
    /// raw frame.
    frames: Vec<(u64, usize, usize, u32, bool)>,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let standard = prop_oneof![
        Just(Standard::Dsss),
        Just(Standard::HrDsss),
        Just(Standard::Ofdm),
        Just(Standard::Erp),
        Just(Standard::Ht),
        Just(Standard::He),
    ];
    let scheduler =
        prop_oneof![Just(Scheduler::Fifo), Just(Scheduler::PerFlow), Just(Scheduler::PerReceiver)];
    let frame = (0_u64..3_000, 0_usize..12, 0_usize..14, 1_u32..2_000, proptest::bool::weighted(0.25));
    let aggregation = proptest::option::weighted(
        0.8,
        (prop_oneof![Just(0), 100_u32..4_000], prop_oneof![Just(0), Just(65_535), 2_000_u32..20_000]),
    );
    // Hidden from each other, exposed to each other, or all within range of all.
    let scale = prop_oneof![Just(1.0), Just(0.3), Just(0.1)];
    let capture = any::<bool>().prop_map(|later_frames| Capture { threshold: 10.0, later_frames });
    let air = (
        proptest::option::of(0_u64..=9),
        proptest::option::of(capture),
        prop_oneof![Just(0.0), 0.0..0.5],
        any::<bool>(),
    );
    (
        standard,
        proptest::collection::vec((0.0..800.0, 0.0..400.0), 2..12),
        scale,
        any::<bool>(),
        air,
        (any::<bool>(), any::<bool>(), prop_oneof![Just(0), any::<u16>()], scheduler, aggregation),
        proptest::collection::vec(frame, 1..150),
        any::<u64>(),
    )
        .prop_map(|(standard, positions, scale, rts, air, more, frames, seed)| {
            let (moves, tunes, dozing, scheduler, aggregation) = more;
            let (carrier_sense_delay, capture, loss, control) = air;
            let positions = positions.into_iter().map(|(x, y)| (x * scale, y * scale)).collect();
            Case {
                standard,
                positions,
                rts,
                carrier_sense_delay,
                capture,
                loss,
                control,
                moves,
                tunes: tunes && dozing == 0,
                aggregation: aggregation.filter(|_| standard.format().is_some()),
                dozing,
                scheduler,
                frames,
                seed,
            }
        })
}

fn power_save(seed: u64) -> PowerSaveConfig {
    PowerSaveConfig {
        beacon_interval: Duration::from_millis(20),
        dtim_period: 1 + seed as u32 % 3,
        listen_interval: 1 + seed as u32 / 3 % 3,
        receive_dtims: seed.is_multiple_of(5),
        buffer: QueueLimit::Packets(5),
        ageing: Duration::from_millis(200),
        first_beacon: None,
    }
}

fn config(case: &Case) -> WlanConfig {
    let mut config = WlanConfig::new(case.standard);
    config.phy.carrier_sense_delay = case.carrier_sense_delay.map(Duration::from_micros);
    config.propagation = Propagation::Ranges { reception: 250.0, carrier_sense: 400.0 };
    config.capture = case.capture;
    config.errors = ErrorConfig::packets(Probability::new(case.loss).expect("0 to 1"), case.control);
    config.mac.cts_to_self = case.seed.is_multiple_of(2);
    config.mac.txop_limit = Duration::from_micros([0, 700, 4_096][case.seed as usize % 3]);
    config.mac.aggregation = config
        .mac
        .aggregation
        .zip(case.aggregation)
        .map(|(default, (amsdu, ampdu))| Aggregation { amsdu, ampdu, ..default });
    if case.rts {
        config.mac.rts_threshold = 700;
    }
    config
}

/// What happened, and the frames that found room. Raw frames always do.
fn run(case: &Case) -> (Vec<Entry>, Vec<u32>, Wlan) {
    let mut wlan = Wlan::new(config(case), case.seed);
    wlan.report_attempts(true);
    if case.moves || case.tunes {
        wlan.expect_moves();
    }
    let stations: Vec<_> = case
        .positions
        .iter()
        .map(|&(x, y)| {
            let position = Position::new(x, y);
            let queue = QueueLimit::Packets(5);
            let scheduler = case.scheduler;
            wlan.add_station(&StationConfig { position, queue, scheduler, ..StationConfig::default() })
        })
        .collect();
    if case.dozing > 0 {
        let dozing: Vec<_> =
            stations.iter().copied().filter(|station| case.dozing >> station.index() & 1 == 1).collect();
        wlan.save_power(stations[0], &dozing, power_save(case.seed));
    }
    let mut log = Vec::new();
    let mut accepted = Vec::new();
    let take = |wlan: &mut Wlan, now: Instant, log: &mut Vec<Entry>| {
        log.extend(std::iter::from_fn(|| wlan.poll()).map(|output| (now.as_nanos(), output)));
    };
    let drive = |wlan: &mut Wlan, until: Instant, log: &mut Vec<Entry>| {
        while let Some(now) = wlan.next_event_at().filter(|now| *now <= until) {
            wlan.on_event(now);
            take(wlan, now, log);
        }
    };
    let mut now = Instant::ZERO;
    for (key, &(pause, from, to, octets, is_raw)) in case.frames.iter().enumerate() {
        now = now.after_nanos(pause * 1000);
        drive(&mut wlan, now, &mut log);
        let from = from % stations.len();
        if case.moves && key % 3 == 0 {
            let Position { x, y } = wlan.position(stations[from]);
            let step = || -100.0 + 200.0 * f64::from(octets % 101) / 100.0;
            wlan.move_stations(now, &[(stations[from], Position::new(x + step(), y - step()))]);
        }
        if case.tunes && key % 4 == 1 {
            let channel = [None, Some(Channel(0)), Some(Channel(0)), Some(Channel(1))][octets as usize % 4];
            wlan.tune(now, stations[to % stations.len()], channel);
            take(&mut wlan, now, &mut log);
        }
        let to = if to < stations.len() && to != from {
            Receiver::Station(stations[to])
        } else {
            Receiver::Broadcast
        };
        if is_raw {
            let fastest = WlanConfig::new(case.standard).phy.non_ht_rates().next_back();
            let rates = fixed(fastest.filter(|_| octets % 2 == 1));
            let frame = RawFrame { to, key: key as u32, octets, rates };
            assert!(wlan.enqueue_raw(now, stations[from], frame));
            accepted.push(key as u32);
            continue;
        }
        let frame = MacFrame { to, key: key as u32, octets };
        let mut gone = Vec::new();
        let is_queued = if case.scheduler == Scheduler::PerFlow {
            let flow = u64::from(octets % 4);
            wlan.enqueue_in_turn(now, stations[from], (flow, frame), |lost| gone.push(lost))
        } else {
            wlan.enqueue(now, stations[from], frame)
        };
        if is_queued {
            accepted.push(key as u32);
        }
        if case.scheduler != Scheduler::Fifo
            && key % 7 == 6
            && let Receiver::Station(to) = to
        {
            gone.extend(wlan.withdraw(stations[from], to));
        }
        for lost in gone {
            let place = accepted.iter().position(|key| *key == lost.key).expect("it was queued once");
            accepted.remove(place);
        }
    }
    if case.tunes {
        // The frames of a station that stays off the air have no fate.
        drive(&mut wlan, now, &mut log);
        for station in &stations {
            wlan.tune(now, *station, Some(Channel(0)));
        }
        take(&mut wlan, now, &mut log);
    }
    // Beacons have no end; all else has ended by then.
    let end = if case.dozing > 0 { now + Duration::from_secs(10) } else { Instant::MAX };
    drive(&mut wlan, end, &mut log);
    (log, accepted, wlan)
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn every_frame_has_one_last_fate_and_a_confirmed_one_has_arrived_once(case in case()) {
        let (log, accepted, wlan) = run(&case);
        let mut last: BTreeMap<u32, (Fate, u32)> = BTreeMap::new();
        let mut arrivals: BTreeMap<(u32, usize), u32> = BTreeMap::new();
        let mut attempts: BTreeMap<u32, u32> = BTreeMap::new();
        // The last raw frame of each station.
        let mut managed: BTreeMap<StationId, u32> = BTreeMap::new();
        let aggregates = case.aggregation.is_some() && case.dozing == 0;
        // Frames that their senders know to have arrived.
        let mut confirmed = Vec::new();
        // The last frame that arrived, by its sender and receiver.
        let mut arrived_last: BTreeMap<(StationId, StationId), u32> = BTreeMap::new();
        for (_, output) in &log {
            match output {
                Output::Delivered { at, from, frame } => {
                    // It has arrived before its sender knows, unless it has waited for others.
                    prop_assert!(aggregates || !last.contains_key(&frame.key));
                    if frame.to != Receiver::Broadcast && case.scheduler == Scheduler::Fifo {
                        let previous = arrived_last.insert((*from, *at), frame.key);
                        prop_assert!(previous.is_none_or(|previous| previous < frame.key), "they go in order");
                    }
                    if let Receiver::Station(to) = frame.to {
                        prop_assert_eq!(to, *at);
                    }
                    *arrivals.entry((frame.key, at.index())).or_default() += 1;
                }
                Output::RawDelivered { at, from, key, .. } => {
                    prop_assert!(!last.contains_key(key) && at != from);
                    *arrivals.entry((*key, at.index())).or_default() += 1;
                    let to = case.frames[*key as usize].2;
                    let is_unicast = to < case.positions.len() && to != from.index();
                    prop_assert!(!is_unicast || to == at.index());
                }
                Output::RawFate { from, key, acknowledged, .. } => {
                    prop_assert!(last.insert(*key, (Fate::Delivered, 1)).is_none());
                    let to = case.frames[*key as usize].2;
                    if to >= case.positions.len() || to == from.index() {
                        prop_assert!(*acknowledged);
                    } else if *acknowledged {
                        prop_assert_eq!(arrivals.get(&(*key, to)), Some(&1));
                    }
                    let previous = managed.insert(*from, *key);
                    prop_assert!(previous.is_none_or(|previous| previous < *key), "they go in order");
                }
                Output::Transmission { .. } => unreachable!("nobody asked"),
                Output::Tuned { .. } => prop_assert!(case.tunes),
                Output::Attempt { frame, transmission, .. } => {
                    let count = attempts.entry(frame.key).or_default();
                    *count += 1;
                    prop_assert_eq!(*count, *transmission);
                    prop_assert!(*transmission <= 10, "7 short and 4 long ones at most");
                }
                Output::Departs { .. } => {
                    prop_assert!(aggregates || case.dozing > 0 || case.scheduler == Scheduler::PerReceiver);
                }
                Output::TooOld { frame, .. } => {
                    prop_assert!(case.dozing > 0);
                    prop_assert!(last.insert(frame.key, (Fate::GivenUp, 0)).is_none());
                    prop_assert!(!attempts.contains_key(&frame.key));
                }
                Output::Fate { frame, fate: Fate::FirstTransmissionFailed, transmissions, .. } => {
                    prop_assert!(*transmissions == 1 && !last.contains_key(&frame.key));
                }
                Output::Fate { frame, fate, transmissions, arrived, .. } => {
                    prop_assert!(last.insert(frame.key, (*fate, *transmissions)).is_none());
                    if let (Receiver::Station(to), Fate::Delivered) = (frame.to, fate) {
                        prop_assert!(*arrived || aggregates);
                        confirmed.extend(arrived.then_some((frame.key, to.index())));
                        prop_assert!(aggregates || arrivals.contains_key(&(frame.key, to.index())));
                    }
                    prop_assert_eq!(attempts[&frame.key], *transmissions);
                }
            }
        }
        prop_assert!(arrivals.values().all(|count| *count == 1), "no duplicate passes the filter");
        prop_assert!(confirmed.iter().all(|it| arrivals.contains_key(it)), "what is confirmed has arrived");
        prop_assert_eq!(last.keys().copied().collect::<Vec<_>>(), accepted);
        for station in 0..case.positions.len() {
            prop_assert_eq!(wlan.waiting(StationId::from_index(station)), (0, 0));
        }
    }

    #[test]
    fn a_frame_is_decoded_only_by_those_who_are_on_its_channel_from_its_beginning(case in case()) {
        let case = Case { tunes: true, dozing: 0, aggregation: None, ..case };
        AIR.take();
        let (log, ..) = run(&case);
        let sent = AIR.take();
        let mut tuned: BTreeMap<usize, (u64, Option<Channel>)> = BTreeMap::new();
        for (now, output) in &log {
            match output {
                Output::Tuned { station, channel } => {
                    let (_, before) = tuned.get(&station.index()).copied().unwrap_or((0, Some(Channel(0))));
                    if before != *channel {
                        tuned.insert(station.index(), (*now, *channel));
                    }
                }
                Output::Delivered { at, from, frame } => {
                    let what = format!("data {}", frame.key);
                    let is_it = |it: &&OnAir| it.from == from.0 && it.start + it.duration == *now && it.what == what;
                    let start = sent.iter().find(is_it).expect("it was in the air").start;
                    let [(since, channel), (_, other)] =
                        [at, from].map(|it| tuned.get(&it.index()).copied().unwrap_or((0, Some(Channel(0)))));
                    prop_assert!(channel.is_some() && channel == other && since <= start, "{output:?}");
                }
                _ => {}
            }
        }
        for frame in sent {
            let station = frame.from as usize;
            let mut channels = log.iter().filter_map(|(at, output)| match output {
                Output::Tuned { station: it, channel } if it.index() == station && *at <= frame.start => Some(*channel),
                _ => None,
            });
            let (first, last) = (Some(Channel(0)), channels.next_back());
            prop_assert!(last.unwrap_or(first).is_some(), "{frame:?}: its station is off the air");
        }
    }

    #[test]
    fn a_case_has_one_trace(case in case()) {
        let (first, second) = (run(&case).0, run(&case).0);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn a_capture_that_never_happens_leaves_the_trace_as_it_is(case in case(), later_frames in any::<bool>()) {
        let (plain, _, without) = run(&Case { capture: None, ..case.clone() });
        // 300 dB: the nearest station's power over the farthest one's is less than 110 dB.
        let never = Capture { threshold: 1e30, later_frames };
        let (captured, _, with) = run(&Case { capture: Some(never), ..case.clone() });
        let differ = plain.iter().zip(&captured).position(|(one, other)| one != other);
        prop_assert_eq!(differ.map(|at| (at, plain[at], captured[at])), None);
        prop_assert_eq!(plain.len(), captured.len());
        prop_assert_eq!(without.counters(), with.counters());
    }
}
