//! An 802.11 cell, whatever its stations send, refuse and take back, wherever they move and are tuned.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::{Instant, Probability};
use lasthop_wifi::{
    Capture, Channel, ErrorConfig, Fate, MacFrame, Output, Position, PowerSaveConfig, Propagation, Rate,
    Rates, RawFrame, Receiver, RetryChain, Scheduler, Standard, StationConfig, StationId, Wlan, WlanConfig,
};

use crate::octets::Octets;

/// Octets of options in a frame.
const OPTIONS: u16 = 13;
/// How long a cell runs at most. Frames age within 200 ms, and the others end long before.
const LAST: Duration = Duration::from_secs(20);

/// Each frame that found room has one last fate, arrives before its sender knows, and no station has it
/// twice. Time never goes back.
pub fn wlan(data: &[u8]) {
    let mut octets = Octets(data);
    let mut cell = Cell::new(&mut octets);
    let end = Instant::ZERO + LAST;
    while !octets.is_empty() && cell.now < end {
        cell.step(&mut octets);
    }
    cell.finish();
}

struct Cell {
    wlan: Wlan,
    stations: Vec<StationId>,
    /// Whether flows take turns.
    has_flows: bool,
    /// Whether stations aggregate.
    aggregates: bool,
    /// The fastest and the slowest rate of its standard.
    rates: [Rate; 2],
    /// Whether stations may be tuned.
    may_tune: bool,
    now: Instant,
    next_key: u32,
    /// Frames that have no last fate yet, and the stations that have received each.
    waiting: BTreeMap<u32, Vec<StationId>>,
    /// Frames that have arrived, as their senders know, and wait for others at their receivers.
    held: BTreeMap<u32, Vec<StationId>>,
    /// Raw frames that have no fate yet, and the stations that have received each.
    managed: BTreeMap<u32, (Receiver, Vec<StationId>)>,
}

impl Cell {
    fn new(octets: &mut Octets<'_>) -> Self {
        let scheduler = octets.pick(&[Scheduler::Fifo, Scheduler::PerFlow, Scheduler::PerReceiver]);
        let config = config(octets);
        let mut standards_rates = config.phy.standard.non_ht_rates(config.phy.band);
        let slowest = standards_rates.next().expect("each standard has rates");
        let rates = [standards_rates.next_back().unwrap_or(slowest), slowest];
        let mut wlan = Wlan::new(config, u64::from(octets.long()));
        let queue = octets.pick(&[QueueLimit::Packets(3), QueueLimit::Octets(4000), QueueLimit::Unlimited]);
        let stations: Vec<StationId> = (0..2 + octets.below(7))
            .map(|_| {
                let position = position(octets);
                wlan.add_station(&StationConfig { position, queue, scheduler, ..StationConfig::default() })
            })
            .collect();
        let saves_power = octets.flag();
        if saves_power {
            let dozing: Vec<_> = stations.iter().copied().filter(|_| octets.flag()).collect();
            wlan.save_power(stations[0], &dozing, power_save(octets));
        }
        let aggregates = wlan.aggregates();
        wlan.report_attempts(octets.flag());
        wlan.report_transmissions(octets.flag());
        let has_flows = scheduler == Scheduler::PerFlow;
        let (waiting, held, managed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            wlan,
            stations,
            has_flows,
            aggregates,
            rates,
            may_tune: !saves_power,
            now: Instant::ZERO,
            next_key: 0,
            waiting,
            held,
            managed,
        }
    }

    fn step(&mut self, octets: &mut Octets<'_>) {
        let from = octets.pick(&self.stations);
        let action = octets.octet();
        if action % 32 == 31 && self.may_tune {
            let channel = octets.pick(&[None, Some(Channel(0)), Some(Channel(1))]);
            self.wlan.tune(self.now, from, channel);
            return;
        }
        match action % 16 {
            0..=7 => self.send(from, octets),
            8..=10 => self.run(self.now + octets.time()),
            11 => self.wlan.move_stations(self.now, &[(from, position(octets))]),
            12 => self.wlan.refuse_frames(from, octets.flag()),
            13 => self.wlan.set_knows_options(from, octets.flag()),
            14 => {
                let to = octets.pick(&self.stations);
                let gone = self.wlan.withdraw(from, to);
                self.forget(&gone);
            }
            _ if action >= 128 => self.manage(from, octets),
            _ => {
                if let Some(head) = self.wlan.head(from) {
                    self.wlan.attach_options(from, head.key, OPTIONS, self.now);
                }
            }
        }
    }

    fn send(&mut self, from: StationId, octets: &mut Octets<'_>) {
        let to = octets.pick(&self.stations);
        let to = if to == from { Receiver::Broadcast } else { Receiver::Station(to) };
        let frame = MacFrame { to, key: self.next_key, octets: u32::from(octets.short() % 2305) };
        self.next_key += 1;
        let mut displaced = Vec::new();
        let is_queued = if self.has_flows {
            let flow = u64::from(octets.octet() % 4);
            self.wlan.enqueue_in_turn(self.now, from, (flow, frame), |lost| displaced.push(lost))
        } else {
            self.wlan.enqueue(self.now, from, frame)
        };
        if is_queued {
            self.waiting.insert(frame.key, Vec::new());
        }
        self.forget(&displaced);
    }

    fn manage(&mut self, from: StationId, octets: &mut Octets<'_>) {
        let to = octets.pick(&self.stations);
        let to = if to == from { Receiver::Broadcast } else { Receiver::Station(to) };
        let key = self.next_key;
        self.next_key += 1;
        let length = octets.short();
        let [fast, slow] = self.rates;
        let chain = [(fast, 1 + (length >> 14) as u8), (slow, (length >> 12) as u8 & 3)];
        let chain = RetryChain::new(&chain).filter(|_| length & 1 == 1);
        let rates = chain.map_or(Rates::LowestBasic, Rates::Chain);
        let frame = RawFrame { to, key, octets: u32::from(length % 2305), rates };
        if self.wlan.enqueue_raw(self.now, from, frame) {
            self.managed.insert(key, (to, Vec::new()));
        }
    }

    fn forget(&mut self, gone: &[MacFrame]) {
        for frame in gone {
            let receivers = self.waiting.remove(&frame.key);
            assert_eq!(receivers.map(|all| all.len()), Some(0), "it waited, and was not transmitted");
        }
    }

    fn run(&mut self, until: Instant) {
        while let Some(at) = self.wlan.next_event_at().filter(|at| *at <= until) {
            assert!(at >= self.now, "time goes back");
            self.now = at;
            self.wlan.on_event(at);
            while let Some(output) = self.wlan.poll() {
                self.check(&output);
            }
        }
        self.now = self.now.max(until);
    }

    fn check(&mut self, output: &Output) {
        match output {
            Output::Delivered { at, from, frame } => {
                let waiting = self.waiting.get_mut(&frame.key).or_else(|| self.held.get_mut(&frame.key));
                let receivers = waiting.expect("it was sent");
                assert!(!receivers.contains(at), "a copy passes the filter");
                assert!(
                    at != from && (frame.to == Receiver::Broadcast || frame.to == Receiver::Station(*at))
                );
                receivers.push(*at);
            }
            Output::Fate { frame, fate: Fate::FirstTransmissionFailed, .. } => {
                assert!(self.waiting.contains_key(&frame.key));
            }
            Output::Fate { frame, fate, arrived, .. } => {
                let receivers = self.waiting.remove(&frame.key).expect("no frame has two last fates");
                if frame.to != Receiver::Broadcast && self.aggregates && *arrived && receivers.is_empty() {
                    self.held.insert(frame.key, receivers);
                } else if frame.to != Receiver::Broadcast {
                    let is_delivered = *fate == Fate::Delivered && !self.aggregates;
                    assert!(!is_delivered || receivers.len() == 1, "it was acknowledged");
                    assert_eq!(*arrived, !receivers.is_empty());
                }
            }
            Output::TooOld { frame, .. } => {
                assert_eq!(self.waiting.remove(&frame.key), Some(Vec::new()), "it was never transmitted");
            }
            Output::Attempt { began, .. } => assert!(*began <= self.now),
            Output::Transmission { times, .. } => {
                assert!(times.queued <= times.departed && times.departed <= times.began);
                assert!(times.began <= self.now && self.now <= times.over);
            }
            Output::Departs { .. } | Output::Tuned { .. } => {}
            Output::RawDelivered { at, from, key, .. } => {
                let (to, receivers) =
                    self.managed.get_mut(key).expect("its sender does not know its fate yet");
                assert!(!receivers.contains(at), "a copy passes the filter");
                assert!(at != from && (*to == Receiver::Broadcast || *to == Receiver::Station(*at)));
                receivers.push(*at);
            }
            Output::RawFate { key, acknowledged, .. } => {
                let (to, receivers) = self.managed.remove(key).expect("no frame has two fates");
                assert!(!acknowledged || to == Receiver::Broadcast || receivers.len() == 1);
            }
        }
    }

    /// Beacons never end. All else does, once all stations are on the air.
    fn finish(&mut self) {
        for station in self.stations.iter().filter(|_| self.may_tune) {
            self.wlan.tune(self.now, *station, Some(Channel(0)));
        }
        for _ in 0..40 {
            if self.waiting.is_empty() && self.managed.is_empty() {
                break;
            }
            self.run(self.now + LAST / 40);
        }
        assert!(self.waiting.is_empty(), "frames without a fate: {:?}", self.waiting);
        self.run(self.now + LAST / 40);
        assert!(self.held.values().all(|it| it.len() == 1), "frames that have not arrived: {:?}", self.held);
        assert!(self.managed.is_empty(), "raw frames without a fate: {:?}", self.managed);
        for station in &self.stations {
            assert_eq!(self.wlan.waiting(*station), (0, 0));
        }
    }
}

fn config(octets: &mut Octets<'_>) -> WlanConfig {
    let standard = octets.pick(&Standard::ALL);
    let mut config = WlanConfig::new(standard);
    config.mac.rts_threshold = octets.pick(&[65_535, 700, 0]);
    config.mac.cts_to_self = octets.flag();
    config.mac.eifs = octets.flag();
    config.mac.nav_reset = octets.flag();
    config.settle = octets.flag();
    config.phy.carrier_sense_delay = octets.pick(&[None, Some(Duration::ZERO), Some(config.phy.slot / 2)]);
    config.propagation = octets.pick(&[
        Propagation::Everywhere,
        Propagation::Ranges { reception: 100.0, carrier_sense: 100.0 },
        Propagation::Ranges { reception: 100.0, carrier_sense: 220.0 },
    ]);
    let later_frames = octets.flag();
    config.capture = octets.flag().then_some(Capture { threshold: 10.0, later_frames });
    let loss = Probability::new(octets.pick(&[0.0, 0.1, 0.5, 1.0])).unwrap_or(Probability::ZERO);
    config.errors = ErrorConfig::packets(loss, octets.flag());
    if let Some(aggregation) = &mut config.mac.aggregation {
        config.mac.txop_limit = octets.pick(&[Duration::ZERO, Duration::from_micros(2_528)]);
        (aggregation.amsdu, aggregation.ampdu, aggregation.window) =
            octets.pick(&[(0, 65_535, 64), (4_000, 65_535, 64), (4_000, 8_000, 4), (0, 0, 1)]);
    }
    assert_eq!(config.problem(), None);
    config
}

/// Within 255 m of each other.
fn position(octets: &mut Octets<'_>) -> Position {
    Position::new(f64::from(octets.octet()), 0.0)
}

fn power_save(octets: &mut Octets<'_>) -> PowerSaveConfig {
    PowerSaveConfig {
        beacon_interval: Duration::from_millis(20),
        dtim_period: octets.pick(&[1, 2, 3]),
        listen_interval: octets.pick(&[1, 2, 3]),
        receive_dtims: octets.flag(),
        buffer: QueueLimit::Packets(5),
        ageing: Duration::from_millis(200),
        first_beacon: None,
    }
}
