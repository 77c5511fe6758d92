//! A-MPDUs of which some MPDUs are lost, and what becomes of these.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::{Instant, Probability};

use super::support::{AIR, OnAir};
use crate::output::Fate;
use crate::{
    Aggregation, Channel, ErrorConfig, ErrorModel, Format, GuardInterval, MacFrame, Mcs, Output, Position,
    Propagation, Receiver, Scheduler, Standard, StationConfig, StationId, UndisturbedFrame, Wlan, WlanConfig,
};

/// Loses what a test has chosen.
#[derive(Debug, Default)]
struct Script {
    /// By key: how many transmissions of a packet.
    packets: BTreeMap<u32, u32>,
    /// Control frames of station 0 (block ack requests), and of all others (ACKs and block acks).
    control: [u32; 2],
}

impl ErrorModel for Script {
    fn is_none(&self) -> bool {
        false
    }

    fn loses(&mut self, frame: &UndisturbedFrame) -> bool {
        let left = match frame.key {
            Some(key) => self.packets.entry(key).or_default(),
            None => &mut self.control[usize::from(frame.link.0.index() > 0)],
        };
        let is_lost = *left > 0;
        *left = left.saturating_sub(1);
        is_lost
    }
}

struct Cell {
    wlan: Wlan<Script>,
    stations: Vec<StationId>,
    log: Vec<(u64, Output)>,
}

impl Cell {
    fn new(config: WlanConfig, count: usize, scheduler: Scheduler, script: Script) -> Self {
        AIR.take();
        let mut wlan = Wlan::with_error_model(config, 1, script);
        wlan.report_attempts(true);
        let queue = QueueLimit::Unlimited;
        let station = StationConfig { queue, scheduler, ..StationConfig::default() };
        let stations = (0..count).map(|_| wlan.add_station(&station)).collect();
        Self { wlan, stations, log: Vec::new() }
    }

    /// Two stations; this number of packets from the first to the second.
    fn with_packets(packets: u32, script: Script) -> Self {
        let config = WlanConfig { settle: false, ..WlanConfig::new(Standard::Ht) };
        let mut cell = Self::new(config, 2, Scheduler::Fifo, script);
        (0..packets).for_each(|key| cell.send(1, key));
        cell
    }

    fn send(&mut self, to: usize, key: u32) {
        let frame = MacFrame { to: Receiver::Station(self.stations[to]), key, octets: 1_000 };
        assert!(self.wlan.enqueue(Instant::ZERO, self.stations[0], frame));
    }

    fn run(&mut self) -> &mut Self {
        while let Some(now) = self.wlan.next_event_at() {
            self.wlan.on_event(now);
            while let Some(output) = self.wlan.poll() {
                self.log.push((now.as_nanos(), output));
            }
        }
        self
    }

    /// The keys of the packets that have arrived, in their order.
    fn arrivals(&self) -> Vec<u32> {
        let key = |(_, output): &(u64, Output)| match output {
            Output::Delivered { frame, .. } => Some(frame.key),
            _ => None,
        };
        self.log.iter().filter_map(key).collect()
    }

    fn arrived_at(&self, key: u32) -> u64 {
        let is_it = |output: &Output| matches!(output, Output::Delivered { frame, .. } if frame.key == key);
        self.log.iter().find(|(_, output)| is_it(output)).expect("it has arrived").0
    }

    /// The last fate of a packet, whether it has arrived, and its transmissions.
    fn fate(&self, key: u32) -> (Fate, bool, u32) {
        let fate = |(_, output): &(u64, Output)| match *output {
            Output::Fate { frame, fate, arrived, transmissions, .. } if frame.key == key => {
                Some((fate, arrived, transmissions))
            }
            _ => None,
        };
        self.log.iter().rev().find_map(fate).expect("it has a fate")
    }
}

/// What was in the air.
fn air() -> Vec<String> {
    AIR.take().into_iter().map(|OnAir { what, .. }| what).collect()
}

/// This transmission of a packet is lost, and those before it.
fn lost(packets: &[(u32, u32)]) -> Script {
    Script { packets: packets.iter().copied().collect(), ..Script::default() }
}

#[test]
fn what_was_lost_is_sent_again_with_what_comes_next() {
    let mut cell = Cell::with_packets(4, lost(&[(1, 1), (3, 1)]));
    cell.send(1, 4);
    cell.run();
    assert_eq!(air(), ["data 0+1+2+3+4", "block ACK", "data 1+3", "block ACK"]);
    assert_eq!(cell.arrivals(), [0, 1, 2, 3, 4]);
    assert_eq!([0, 1, 4].map(|key| cell.fate(key)), [1, 2, 1].map(|count| (Fate::Delivered, true, count)));
    // 0 arrives with the first A-MPDU; 2 waits for 1.
    assert!(cell.arrived_at(0) < cell.arrived_at(1));
    assert_eq!(cell.arrived_at(2), cell.arrived_at(1));
}

#[test]
fn the_window_begins_with_the_first_that_is_not_acknowledged() {
    let mut config = WlanConfig { settle: false, ..WlanConfig::new(Standard::Ht) };
    config.mac.aggregation = Some(Aggregation { window: 4, ..Aggregation::new(Format::Ht) });
    let mut cell = Cell::new(config, 2, Scheduler::Fifo, lost(&[(1, 2)]));
    (0..8).for_each(|key| cell.send(1, key));
    cell.run();
    let expected = [
        "data 0+1+2+3",
        "block ACK",
        // From 1 on, no farther than 4.
        "data 1+4",
        "block ACK",
        "data 1",
        "ACK",
        "data 5+6+7",
        "block ACK",
    ];
    assert_eq!(air(), expected);
    assert_eq!(cell.arrivals(), (0..8).collect::<Vec<_>>());
}

#[test]
fn a_block_ack_that_is_lost_has_all_sent_again_and_none_delivered_twice() {
    let mut cell = Cell::with_packets(3, Script { control: [0, 1], ..Script::default() });
    cell.run();
    assert_eq!(air(), ["data 0+1+2", "block ACK", "data 0+1+2", "block ACK"]);
    assert_eq!(cell.arrivals(), [0, 1, 2]);
    assert_eq!(cell.wlan.counters().duplicates, 3);
    assert_eq!(cell.wlan.counters().acks_lost, 3);
}

#[test]
fn the_bitmap_has_what_arrived_in_an_earlier_transmission() {
    // 1 arrives at first; then its block ack is lost, and so is its second transmission.
    let mut cell = Cell::with_packets(2, Script { control: [0, 1], ..Script::default() });
    while cell.arrivals().len() < 2 {
        let now = cell.wlan.next_event_at().expect("there is more to come");
        cell.wlan.on_event(now);
        cell.log.extend(std::iter::from_fn(|| cell.wlan.poll()).map(|output| (now.as_nanos(), output)));
    }
    cell.wlan.error_model_mut().packets.insert(1, 1);
    cell.run();
    assert_eq!(air(), ["data 0+1", "block ACK", "data 0+1", "block ACK"]);
    assert_eq!(cell.fate(1), (Fate::Delivered, true, 2));
}

#[test]
fn a_packet_that_is_given_up_is_followed_by_a_block_ack_request() {
    let mut cell = Cell::with_packets(3, lost(&[(1, 7)]));
    cell.run();
    let air = air();
    assert_eq!(air.iter().filter(|what| *what == "data 1").count(), 6);
    assert_eq!(air[air.len() - 2..], ["block ack request", "block ACK"]);
    assert_eq!(cell.fate(1), (Fate::GivenUp, false, 7));
    assert_eq!(cell.arrivals(), [0, 2]);
    let request = cell.log.last().expect("2 arrives with the request").0;
    assert_eq!(cell.arrived_at(2), request);
}

#[test]
fn without_the_request_the_receiver_waits_for_100_ms() {
    let mut cell = Cell::with_packets(3, Script { control: [7, 0], ..lost(&[(1, 7)]) });
    cell.run();
    assert_eq!(air().iter().filter(|what| *what == "block ack request").count(), 7);
    assert_eq!(cell.arrived_at(2) - cell.arrived_at(0), 100_000_000);
}

#[test]
fn what_comes_after_the_receiver_has_waited_is_acknowledged_and_dropped() {
    let mut cell = Cell::with_packets(3, lost(&[(1, 1)]));
    // The sender is off the air meanwhile.
    let off_air =
        |cell: &mut Cell, channel| cell.wlan.tune(Instant::from_millis(2), cell.stations[0], channel);
    while cell.arrivals().is_empty() || cell.log.iter().all(|(_, it)| !matches!(it, Output::Fate { .. })) {
        let now = cell.wlan.next_event_at().expect("there is more to come");
        cell.wlan.on_event(now);
        cell.log.extend(std::iter::from_fn(|| cell.wlan.poll()).map(|output| (now.as_nanos(), output)));
    }
    off_air(&mut cell, None);
    cell.run();
    assert_eq!(cell.arrivals(), [0, 2]);
    let now = cell.log.last().expect("2 has arrived").0;
    cell.wlan.tune(Instant::from_nanos(now), cell.stations[0], Some(Channel(0)));
    cell.run();
    assert_eq!(cell.arrivals(), [0, 2]);
    assert_eq!(cell.fate(1), (Fate::Delivered, false, 2));
}

#[test]
fn an_amsdu_is_lost_and_sent_again_as_a_whole() {
    let mut config = WlanConfig { settle: false, ..WlanConfig::new(Standard::Ht) };
    config.mac.aggregation = Some(Aggregation { amsdu: 2_100, ..Aggregation::new(Format::Ht) });
    // The error model sees the first packet of an MPDU.
    let mut cell = Cell::new(config, 2, Scheduler::Fifo, lost(&[(2, 1)]));
    (0..6).for_each(|key| cell.send(1, key));
    cell.run();
    assert_eq!(air(), ["data 0+1+2+3+4+5", "block ACK", "data 2+3", "ACK"]);
    assert_eq!(cell.arrivals(), [0, 1, 2, 3, 4, 5]);
    assert_eq!([1, 2, 3, 5].map(|key| cell.fate(key).2), [1, 2, 2, 1]);
}

#[test]
fn packets_to_one_receiver_go_together_whatever_waits_between_them() {
    for scheduler in [Scheduler::Fifo, Scheduler::PerReceiver] {
        let config = WlanConfig { settle: false, ..WlanConfig::new(Standard::Ht) };
        let mut cell = Cell::new(config, 3, scheduler, lost(&[(2, 1)]));
        (0..6).for_each(|key| cell.send(1 + key as usize % 2, key));
        cell.run();
        let expected = match scheduler {
            // The receiver whose turn it is keeps it until all has arrived.
            Scheduler::Fifo => ["data 0+2+4", "block ACK", "data 2", "ACK", "data 1+3+5", "block ACK"],
            _ => ["data 0+2+4", "block ACK", "data 1+3+5", "block ACK", "data 2", "ACK"],
        };
        assert_eq!(air(), expected);
    }
}

#[test]
fn stations_without_an_agreement_get_one_packet_at_a_time() {
    let config = WlanConfig { settle: false, ..WlanConfig::new(Standard::Ht) };
    let mut wlan = Wlan::with_error_model(config, 1, Script::default());
    AIR.take();
    let sender = wlan.add_station(&StationConfig::default());
    let rate = Some(crate::Rate::OFDM_54);
    let old = wlan.add_station(&StationConfig {
        rate,
        position: Position::new(1.0, 0.0),
        ..StationConfig::default()
    });
    for key in 0..3 {
        wlan.enqueue(Instant::ZERO, sender, MacFrame { to: Receiver::Station(old), key, octets: 1_000 });
    }
    let broadcast = MacFrame { to: Receiver::Broadcast, key: 3, octets: 1_000 };
    wlan.enqueue(Instant::ZERO, sender, broadcast);
    while let Some(now) = wlan.next_event_at() {
        wlan.on_event(now);
    }
    assert_eq!(air(), ["data 0", "ACK", "data 1", "ACK", "data 2", "ACK", "data 3"]);
}

#[test]
fn goodput_falls_with_the_share_of_mpdus_that_are_lost() {
    let rate = |loss: f64| {
        let mut config = WlanConfig::new(Standard::Ht);
        config.errors = ErrorConfig::packets(Probability::new(loss).expect("a probability"), false);
        config.propagation = Propagation::Everywhere;
        let mut cell = super::support::Cell::with_queues(QueueLimit::Unlimited, config, &[0.0, 1.0], 1);
        cell.saturate_with(300, 0, 1);
        cell.run(Instant::from_secs(10));
        cell.rate(0, (Instant::from_secs(1), Instant::from_secs(10)))
    };
    let intact = rate(0.0);
    for loss in [0.05, 0.1, 0.2] {
        // 28 MPDUs in an A-MPDU and a window of 64: now and then the window ends before the A-MPDU is full.
        let share = rate(loss) / intact / (1.0 - loss);
        assert!((0.93..1.001).contains(&share), "{loss}: {share}");
    }
}

#[test]
fn a_station_that_gives_up_its_queue_says_which_packets_have_arrived() {
    // 0 is lost, and so is the block ack: 1 and 2 wait for 0.
    let mut cell = Cell::with_packets(3, Script { control: [0, 1], ..lost(&[(0, 1)]) });
    while cell.wlan.counters().failures == 0 {
        let now = cell.wlan.next_event_at().expect("there is more to come");
        cell.wlan.on_event(now);
    }
    let now = Instant::from_millis(1);
    cell.wlan.tune(now, cell.stations[0], None);
    let flushed = cell.wlan.flush(now, cell.stations[0]);
    let flushed: Vec<_> = flushed.into_iter().map(|(frame, arrived)| (frame.key, arrived)).collect();
    assert_eq!(flushed, [(0, false), (1, true), (2, true)]);
    assert_eq!(cell.run().arrivals(), [1, 2]);
}

// The thesis of 1997, section 4.2, item 8: a frame that was not acknowledged waits for its receiver's next turn, no longer.
#[test]
fn a_packet_that_was_lost_has_its_receivers_next_turn() {
    let script = Script { packets: [(1_000, 1)].into(), ..Script::default() };
    let aggregation = Aggregation { window: 2, ..Aggregation::new(Format::Ht) };
    let mut config = WlanConfig { settle: false, ..WlanConfig::new(Standard::Ht) };
    config.mac.aggregation = Some(aggregation);
    let mut cell = Cell::new(config, 3, Scheduler::PerReceiver, script);
    (0..12).for_each(|key| cell.send(1, key));
    (1_000..1_002).for_each(|key| cell.send(2, key));
    cell.run();
    // 0 and 1; 1000, which is lost, and 1001; 2 and 3; 1000 again.
    assert_eq!(cell.arrivals(), [0, 1, 2, 3, 1_000, 1_001, 4, 5, 6, 7, 8, 9, 10, 11]);
}

/// A station is out of reach until this time in nanoseconds.
#[derive(Debug)]
struct Outage(u64);

impl ErrorModel for Outage {
    fn is_none(&self) -> bool {
        false
    }

    fn loses(&mut self, frame: &UndisturbedFrame) -> bool {
        frame.start.as_nanos() < self.0
    }
}

/// The first station of two, with packets to the other one, which is out of reach until a time in nanoseconds.
fn after_an_outage(until: u64) -> (Wlan<Outage>, [StationId; 2]) {
    let mut wlan = Wlan::with_error_model(WlanConfig::new(Standard::Ht), 1, Outage(until));
    let station = StationConfig { queue: QueueLimit::Unlimited, ..StationConfig::default() };
    let ids = std::array::from_fn(|_| wlan.add_station(&station));
    (wlan, ids)
}

fn run_until(wlan: &mut Wlan<Outage>, until: u64) -> Vec<(u64, Output)> {
    let mut log = Vec::new();
    while let Some(at) = wlan.next_event_at().filter(|at| at.as_nanos() <= until) {
        wlan.on_event(at);
        log.extend(std::iter::from_fn(|| wlan.poll()).map(|output| (at.as_nanos(), output)));
    }
    log
}

// Linux (`ieee80211_check_pending_bar`): a request that was not answered is repeated when the receiver answers again.
#[test]
fn a_request_that_was_given_up_is_repeated_when_the_receiver_answers() {
    let over = Instant::from_millis(200);
    let (mut wlan, [from, to]) = after_an_outage(over.as_nanos());
    let frame = |key| MacFrame { to: Receiver::Station(to), key, octets: 1_000 };
    (0..4).for_each(|key| assert!(wlan.enqueue(Instant::ZERO, from, frame(key))));
    let log = run_until(&mut wlan, over.as_nanos());
    let is_given_up = |output: &Output| matches!(output, Output::Fate { fate: Fate::GivenUp, .. });
    assert_eq!(log.iter().filter(|(_, output)| is_given_up(output)).count(), 4);
    assert_eq!(wlan.next_event_at(), None, "the request was given up, too");
    assert!(wlan.enqueue(over, from, frame(9)));
    let log = run_until(&mut wlan, over.as_nanos() + 1_000_000_000);
    let arrived =
        log.iter().find(|(_, output)| matches!(output, Output::Delivered { .. })).expect("it arrives");
    assert!(arrived.0 < over.as_nanos() + 10_000_000, "{}", arrived.0);
}

#[test]
fn frames_that_were_taken_back_leave_no_gap_that_the_receiver_waits_for() {
    let (mut wlan, [from, to]) = after_an_outage(1_500_000);
    let frame = |key| MacFrame { to: Receiver::Station(to), key, octets: 1_000 };
    (0..4).for_each(|key| assert!(wlan.enqueue(Instant::ZERO, from, frame(key))));
    run_until(&mut wlan, 1_000_000);
    wlan.tune(Instant::from_millis(1), from, None);
    run_until(&mut wlan, 5_000_000);
    let now = Instant::from_millis(5);
    let taken_back = wlan.flush(now, from);
    assert_eq!(taken_back.len(), 4);
    wlan.tune(now, from, Some(Channel(0)));
    for (frame, _) in taken_back {
        assert!(wlan.enqueue(now, from, frame));
    }
    let log = run_until(&mut wlan, 1_000_000_000);
    let arrivals: Vec<u64> = log
        .iter()
        .filter(|(_, output)| matches!(output, Output::Delivered { .. }))
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(arrivals.len(), 4);
    assert!(arrivals.iter().all(|at| *at < 10_000_000), "{arrivals:?}");
}

// A receiver takes half of the sequence numbers for old (10.25.6.6.2). An agreement whose recipient has not answered for long
// is over, and another one begins with the next frame that arrives.
#[test]
fn after_a_long_outage_frames_are_not_taken_for_old() {
    // A packet each 20 ms, of which each one, with its request, is given up before the next.
    for seconds in [20, 50, 81, 100] {
        let over = seconds * 1_000_000_000;
        let (mut wlan, [from, to]) = after_an_outage(over);
        let (mut key, mut lost, mut first, mut dropped) = (0, 0, None, 0);
        for now in (0..over + 1_000_000_000).step_by(20_000_000) {
            let frame = MacFrame { to: Receiver::Station(to), key, octets: 1_000 };
            assert!(wlan.enqueue(Instant::from_nanos(now), from, frame));
            key += 1;
            for (at, output) in run_until(&mut wlan, now + 20_000_000) {
                match output {
                    Output::Fate { fate: Fate::GivenUp, .. } => lost += 1,
                    Output::Fate { fate: Fate::Delivered, arrived, .. } => dropped += u32::from(!arrived),
                    Output::Delivered { .. } => first = first.or(Some(at)),
                    _ => {}
                }
            }
        }
        assert!((50 * seconds - 2..=50 * seconds).contains(&lost), "{lost} in {seconds} s");
        assert_eq!(dropped, 0, "after {seconds} s");
        assert!(first.is_some_and(|first| first < over + 10_000_000), "{first:?}");
    }
}

// In VHT and HE the one MPDU of a PPDU has a delimiter, too (10.12.6).
#[test]
fn an_a_msdu_alone_lasts_no_longer_than_a_ppdu_may() {
    for standard in [Standard::Ht, Standard::Vht, Standard::He] {
        let format = standard.format().expect("it is one of these");
        let mut longest = 0;
        for micros in (1_000..5_400).step_by(110) {
            AIR.take();
            let mut config = WlanConfig { settle: false, ..WlanConfig::new(standard) };
            let mcs = Mcs::new(format, 0, 1, config.phy.width, GuardInterval::Ns800);
            config.phy.rate = mcs.expect("the standard has it").into();
            let alone = Aggregation { ampdu: 0, ..Aggregation::new(format) };
            let (amsdu, duration) = (alone.largest_amsdu(standard), Duration::from_micros(micros));
            config.mac.aggregation = Some(Aggregation { amsdu, duration, ..alone });
            let mut cell = Cell::new(config, 2, Scheduler::Fifo, Script::default());
            for key in 0..200 {
                let octets = 120 + (key * 7) % 50;
                let frame = MacFrame { to: Receiver::Station(cell.stations[1]), key, octets };
                assert!(cell.wlan.enqueue(Instant::ZERO, cell.stations[0], frame));
            }
            cell.run();
            for OnAir { duration, what, .. } in AIR.take().into_iter().filter(|it| it.what.contains('+')) {
                assert!(
                    duration <= micros * 1_000,
                    "{standard:?}: {what} lasts {duration} ns of {micros} us"
                );
                longest = longest.max(duration);
            }
        }
        assert!(longest > 2_000_000, "{longest}");
    }
}
