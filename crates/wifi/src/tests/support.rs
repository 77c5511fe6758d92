//! A cell with a log.

use std::cell::RefCell;
use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::Instant;

use crate::output::Fate;
use crate::{
    ErrorModel, MacFrame, Output, Position, Propagation, Rate, Rates, Receiver, Standard, StationConfig,
    StationId, UndisturbedFrame, Wlan, WlanConfig,
};

/// An output with its time in nanoseconds.
pub(super) type Entry = (u64, Output);

/// A frame in the air.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OnAir {
    /// Nanoseconds.
    pub(crate) start: u64,
    /// Nanoseconds.
    pub(crate) duration: u64,
    pub(crate) from: u32,
    pub(crate) to: Option<u32>,
    pub(crate) what: String,
}

thread_local! {
    /// The frames in the air of this thread's cells, where exchanges go frame by frame.
    pub(crate) static AIR: RefCell<Vec<OnAir>> = const { RefCell::new(Vec::new()) };
}

/// Links that are bad at times, in either direction.
#[derive(Debug, Default)]
pub(super) struct Fading {
    pub(super) links: Vec<[StationId; 2]>,
    /// The length of a good and a bad time, which alternate from the start.
    pub(super) times: [Duration; 2],
    /// The frames that it was asked about.
    pub(super) asked: Vec<UndisturbedFrame>,
}

impl ErrorModel for Fading {
    fn is_none(&self) -> bool {
        self.links.is_empty()
    }

    fn loses(&mut self, frame: &UndisturbedFrame) -> bool {
        let (from, to) = frame.link;
        if !self.links.iter().any(|link| *link == [from, to] || *link == [to, from]) {
            return false;
        }
        self.asked.push(*frame);
        let [good, bad] = self.times.map(|time| time.as_nanos() as u64);
        let [start, end] = [frame.start, frame.end].map(Instant::as_nanos);
        let begins_bad = start % (good + bad) >= good;
        begins_bad || start % (good + bad) + (end - start) > good
    }
}

pub(super) struct Cell {
    pub(super) wlan: Wlan<Fading>,
    pub(super) stations: Vec<StationId>,
    pub(super) log: Vec<Entry>,
    /// Stations that get another frame for each that is done with.
    pub(super) saturated: Vec<(StationId, MacFrame)>,
}

/// One rate, or the lowest basic one.
pub(super) fn fixed(rate: Option<Rate>) -> Rates {
    rate.map_or(Rates::LowestBasic, Rates::Fixed)
}

pub(super) fn us(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// Reception over 250 m, carrier sense over 550 m, as ns-2 has it.
pub(super) const RANGES: Propagation = Propagation::Ranges { reception: 250.0, carrier_sense: 550.0 };

pub(super) fn config(standard: Standard) -> WlanConfig {
    WlanConfig::new(standard)
}

impl Cell {
    /// Stations at these metres along a line.
    pub(super) fn new(config: WlanConfig, metres: &[f64]) -> Self {
        Self::seeded(config, metres, 1)
    }

    pub(super) fn seeded(config: WlanConfig, metres: &[f64], seed: u64) -> Self {
        Self::with_queues(QueueLimit::Packets(50), config, metres, seed)
    }

    pub(super) fn with_queues(queue: QueueLimit, config: WlanConfig, metres: &[f64], seed: u64) -> Self {
        let mut wlan = Wlan::with_error_model(config, seed, Fading::default());
        wlan.report_attempts(true);
        let at = |x: &f64| Position::new(*x, 0.0);
        let add = |x| StationConfig { position: at(x), queue, ..StationConfig::default() };
        let stations = metres.iter().map(|x| wlan.add_station(&add(x))).collect();
        Self { wlan, stations, log: Vec::new(), saturated: Vec::new() }
    }

    pub(super) fn frame(&self, to: usize, key: u32) -> MacFrame {
        MacFrame { to: Receiver::Station(self.stations[to]), key, octets: 1500 }
    }

    /// A packet of 1,500 octets from one station to another.
    pub(super) fn send(&mut self, at: Instant, from: usize, to: usize, key: u32) -> bool {
        self.run(at);
        let frame = self.frame(to, key);
        self.wlan.enqueue(at, self.stations[from], frame)
    }

    /// As [`Self::send`], so that there is always another one.
    pub(super) fn saturate(&mut self, from: usize, to: usize) {
        self.saturate_with(2, from, to);
    }

    /// As [`Self::saturate`]; this number of packets wait or are transmitted at any time.
    pub(super) fn saturate_with(&mut self, packets: usize, from: usize, to: usize) {
        let frame = self.frame(to, from as u32);
        self.saturated.push((self.stations[from], frame));
        for _ in 0..packets {
            assert!(self.wlan.enqueue(Instant::ZERO, self.stations[from], frame));
        }
    }

    pub(super) fn run(&mut self, until: Instant) {
        while let Some(now) = self.wlan.next_event_at().filter(|now| *now <= until) {
            self.wlan.on_event(now);
            while let Some(output) = self.wlan.poll() {
                if let Output::Fate { from, fate: Fate::Delivered | Fate::GivenUp, .. } = output
                    && let Some((_, frame)) = self.saturated.iter().find(|(station, _)| *station == from)
                {
                    self.wlan.enqueue(now, from, *frame);
                }
                self.log.push((now.as_nanos(), output));
            }
        }
    }

    /// Frames that have arrived from a station: times and keys.
    pub(super) fn arrivals(&self, from: usize) -> Vec<(u64, u32)> {
        let entries = self.log.iter().filter_map(|(at, output)| match output {
            Output::Delivered { from: sender, frame, .. } if *sender == self.stations[from] => {
                Some((*at, frame.key))
            }
            _ => None,
        });
        entries.collect()
    }

    /// When a station's exchanges began, in nanoseconds.
    pub(super) fn begins(&self, from: usize) -> Vec<u64> {
        let entries = self.log.iter().filter_map(|(_, output)| match output {
            Output::Attempt { from: sender, began, .. } if *sender == self.stations[from] => {
                Some(began.as_nanos())
            }
            _ => None,
        });
        entries.collect()
    }

    /// A station's fates: when it learned them, which, and after how many transmissions.
    pub(super) fn fates(&self, from: usize) -> Vec<(u64, Fate, u32)> {
        let entries = self.log.iter().filter_map(|(at, output)| match output {
            Output::Fate { from: sender, fate, transmissions, .. } if *sender == self.stations[from] => {
                Some((*at, *fate, *transmissions))
            }
            _ => None,
        });
        entries.collect()
    }

    /// Frames that a station's receivers got, a second, between two moments.
    pub(super) fn rate(&self, from: usize, (start, end): (Instant, Instant)) -> f64 {
        let within = |at: &u64| (start.as_nanos()..end.as_nanos()).contains(at);
        let count = self.arrivals(from).iter().filter(|(at, _)| within(at)).count();
        count as f64 / end.since(start).as_secs_f64()
    }
}
