//! A cell with power save: station 0 is the access point, of 802.11b with long preambles.
//!
//! Beacons go at 1 Mbit/s and PS-Polls at 2. A beacon with a bitmap of one octet takes 704 us, a
//! PS-Poll 272, an ACK at 2 Mbit/s 248.

use std::fmt::Write as _;
use std::time::Duration;

use lasthop_packet::Instant;

use crate::power_save::PowerSave;
use crate::tests::AIR;
use crate::{
    MacFrame, Output, PowerSaveConfig, Receiver, Standard, StationConfig, StationId, Wlan, WlanConfig,
};

pub(super) struct Cell {
    pub(super) wlan: Wlan,
    pub(super) stations: Vec<StationId>,
    /// Times in nanoseconds.
    pub(super) log: Vec<(u64, Output)>,
}

pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// Beacons at 0, 100 ms and so on.
pub(super) fn power_save() -> PowerSaveConfig {
    PowerSaveConfig {
        beacon_interval: INTERVAL,
        first_beacon: Some(Duration::ZERO),
        ..PowerSaveConfig::default()
    }
}

pub(super) fn by_frame() -> WlanConfig {
    WlanConfig { settle: false, ..WlanConfig::new(Standard::HrDsss) }
}

pub(super) fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

impl Cell {
    /// An access point, `dozing` stations in power-save mode, and `awake` stations that are always awake.
    pub(super) fn new(
        config: WlanConfig,
        power_save: PowerSaveConfig,
        (dozing, awake): (usize, usize),
    ) -> Self {
        Self::with_access_point(&StationConfig::default(), config, power_save, (dozing, awake))
    }

    pub(super) fn with_access_point(
        access_point: &StationConfig,
        config: WlanConfig,
        power_save: PowerSaveConfig,
        (dozing, awake): (usize, usize),
    ) -> Self {
        AIR.with_borrow_mut(Vec::clear);
        let mut wlan = Wlan::new(config, 1);
        let mut stations = vec![wlan.add_station(access_point)];
        stations.extend((0..dozing + awake).map(|_| wlan.add_station(&StationConfig::default())));
        wlan.save_power(stations[0], &stations[1..=dozing], power_save);
        Self { wlan, stations, log: Vec::new() }
    }

    /// Sends a packet of 1,000 octets; whether there was room for it.
    pub(super) fn send(&mut self, at: Instant, from: usize, to: usize, key: u32) -> bool {
        self.put(at, from, Receiver::Station(self.stations[to]), key)
    }

    /// Sends a packet of 1,000 octets from the access point to all stations.
    pub(super) fn send_to_all(&mut self, at: Instant, key: u32) -> bool {
        self.put(at, 0, Receiver::Broadcast, key)
    }

    fn put(&mut self, at: Instant, from: usize, to: Receiver, key: u32) -> bool {
        self.run(at);
        self.wlan.enqueue(at, self.stations[from], MacFrame { to, key, octets: 1000 })
    }

    pub(super) fn run(&mut self, until: Instant) {
        while let Some(now) = self.wlan.next_event_at().filter(|now| *now <= until) {
            self.wlan.on_event(now);
            while let Some(output) = self.wlan.poll() {
                self.log.push((now.as_nanos(), output));
            }
        }
    }

    /// The frames sent in the latest cell, in order: sender, frame, and receiver unless it is a broadcast.
    #[expect(clippy::unused_self, reason = "the log is its thread's")]
    pub(super) fn frames(&self) -> Vec<String> {
        let frames = AIR.with_borrow(Clone::clone).into_iter().map(|frame| {
            let mut line = format!("{} {}", frame.from, frame.what);
            if let Some(to) = frame.to {
                write!(line, " to {to}").expect("room in memory");
            }
            line
        });
        frames.collect()
    }

    /// Start and end, in nanoseconds, of the frames in the latest cell whose name begins with `what`.
    #[expect(clippy::unused_self, reason = "the log is its thread's")]
    pub(super) fn times(&self, what: &str) -> Vec<(u64, u64)> {
        let frames = AIR.with_borrow(Clone::clone).into_iter().filter(|frame| frame.what.starts_with(what));
        frames.map(|frame| (frame.start, frame.start + frame.duration)).collect()
    }

    /// Times and keys of what has arrived at a station.
    pub(super) fn arrivals(&self, at: usize) -> Vec<(u64, u32)> {
        let entries = self.log.iter().filter_map(|(time, output)| match output {
            Output::Delivered { at: receiver, frame, .. } if *receiver == self.stations[at] => {
                Some((*time, frame.key))
            }
            _ => None,
        });
        entries.collect()
    }

    /// Keys of the frames that were too old.
    pub(super) fn too_old(&self) -> Vec<u32> {
        let entries = self.log.iter().filter_map(|(_, output)| match output {
            Output::TooOld { frame, .. } => Some(frame.key),
            _ => None,
        });
        entries.collect()
    }

    /// Nanoseconds.
    pub(super) fn awake(&self, station: usize, now: Instant) -> u64 {
        self.wlan.awake_time(self.stations[station], now).expect("it is in power-save mode")
    }
}

impl PowerSave {
    /// The TIM of the beacon that begins, in words.
    pub(crate) fn tim_in_words(&self) -> String {
        let mut words = if self.announced.is_dtim { " DTIM".to_owned() } else { String::new() };
        if self.announced.group {
            words.push_str(" group");
        }
        for (index, _) in self.buffers.iter().enumerate().filter(|(_, buffer)| buffer.is_announced()) {
            write!(words, " for {index}").expect("room in memory");
        }
        words
    }

    pub(crate) fn has_more_data(&self, from: u32) -> bool {
        self.access_point == from && self.more_data
    }
}
