//! 130 access points on 20 channels and 3,000 stations, on a floor of 300 m x 200 m: `floor SECONDS [PERCENT]`
//! prints what was transmitted, how many seconds were simulated in a second of the clock, and the largest
//! memory. PERCENT of the stations walk and scan, by default 10. A walker makes a step of 1.4 m each second,
//! and keeps its access point; every 100 s it is tuned to each channel for 60 ms. An access point broadcasts
//! 250 octets each 102.4 ms. A station sends its access point five frames of 200 octets a second.

#![expect(clippy::print_stdout, reason = "a program")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use lasthop_packet::{Instant, Rng};
use lasthop_wifi::{
    Channel, MacFrame, Output, Position, Propagation, Receiver, Standard, StationConfig, StationId, Wlan,
    WlanConfig,
};

const ACCESS_POINTS: usize = 130;
const STATIONS: usize = 3_000;
const CHANNELS: u16 = 20;
const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);
const SCAN_INTERVAL: Duration = Duration::from_secs(100);
const DWELL: Duration = Duration::from_millis(60);

/// What the owners of stations do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Walk,
    Beacon(usize),
    Send(usize),
    /// A station is tuned to this channel of its scan, or back.
    Scan(usize, u16),
}

struct Floor {
    wlan: Wlan,
    access_points: Vec<StationId>,
    stations: Vec<Station>,
    /// The number of stations that walk and scan: the first ones.
    walkers: usize,
    actions: BinaryHeap<Reverse<(Instant, Action)>>,
    rng: Rng,
}

struct Station {
    id: StationId,
    access_point: usize,
    channel: Channel,
    position: Position,
    /// Radians.
    direction: f64,
}

fn main() {
    let argument = |index, default: usize| {
        std::env::args().nth(index).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, percent) = (argument(1, 100), argument(2, 10));
    #[expect(clippy::disallowed_methods, reason = "it measures how long it takes")]
    let began = std::time::Instant::now();
    let mut floor = Floor::new(STATIONS * percent.min(100) / 100);
    let counts = floor.run(Instant::from_secs(seconds as u64));
    let rate = seconds as f64 / began.elapsed().as_secs_f64();
    let counters = floor.wlan.counters();
    println!(
        "{seconds} s: {} attempts, {} given up, {} arrivals, {} tunings, {} domains",
        counters.attempts,
        counters.given_up,
        counts.arrivals,
        counts.tunings,
        floor.wlan.domains()
    );
    println!("{rate:.2} simulated seconds a second{}", memory());
}

#[derive(Default)]
struct Counts {
    arrivals: u64,
    tunings: u64,
}

impl Floor {
    fn new(walkers: usize) -> Self {
        let config = WlanConfig {
            propagation: Propagation::Ranges { reception: 40.0, carrier_sense: 60.0 },
            ..WlanConfig::new(Standard::Erp)
        };
        let mut wlan = Wlan::new(config, 1);
        let mut rng = Rng::named(1, "floor");
        // 13 columns and 10 rows; neighbors are on different channels.
        let place = |index: usize| {
            Position::new(
                300.0 * ((index % 13) as f64 + 0.5) / 13.0,
                200.0 * ((index / 13) as f64 + 0.5) / 10.0,
            )
        };
        let channel = |index: usize| Channel(((index % 13 + index / 13 * 7) % usize::from(CHANNELS)) as u16);
        let access_points: Vec<StationId> = (0..ACCESS_POINTS)
            .map(|index| {
                let (position, channel) = (place(index), Some(channel(index)));
                wlan.add_station(&StationConfig { position, channel, ..StationConfig::default() })
            })
            .collect();
        let mut meters = |most: u64| rng.below(most * 1_000) as f64 / 1_000.0;
        let stations: Vec<Station> = (0..STATIONS)
            .map(|_| {
                let position = Position::new(meters(300), meters(200));
                let distance = |index: &usize| (position.distance(place(*index)) * 1e6) as u64;
                let access_point = (0..ACCESS_POINTS).min_by_key(distance).unwrap_or_default();
                let channel = channel(access_point);
                let id = wlan.add_station(&StationConfig {
                    position,
                    channel: Some(channel),
                    ..StationConfig::default()
                });
                Station { id, access_point, channel, position, direction: meters(7) }
            })
            .collect();
        let mut floor = Self { wlan, access_points, stations, walkers, actions: BinaryHeap::new(), rng };
        floor.plan();
        floor
    }

    fn plan(&mut self) {
        self.wlan.expect_moves();
        self.at(Instant::from_secs(1), Action::Walk);
        for access_point in 0..ACCESS_POINTS {
            let at = self.within(BEACON_INTERVAL);
            self.at(at, Action::Beacon(access_point));
        }
        for station in 0..STATIONS {
            let at = self.within(Duration::from_millis(400));
            self.at(at, Action::Send(station));
        }
        for station in 0..self.walkers {
            let at = self.within(SCAN_INTERVAL);
            self.at(at, Action::Scan(station, 0));
        }
    }

    fn at(&mut self, at: Instant, action: Action) {
        self.actions.push(Reverse((at, action)));
    }

    fn within(&mut self, interval: Duration) -> Instant {
        Instant::from_nanos(self.rng.below(interval.as_nanos() as u64))
    }

    fn run(&mut self, end: Instant) -> Counts {
        let mut counts = Counts::default();
        while let Some(Reverse((at, action))) = self.actions.pop().filter(|next| next.0.0 <= end) {
            while let Some(now) = self.wlan.next_event_at().filter(|now| *now <= at) {
                self.wlan.on_event(now);
                self.count(&mut counts);
            }
            self.act(at, action);
            self.count(&mut counts);
        }
        counts
    }

    fn count(&mut self, counts: &mut Counts) {
        while let Some(output) = self.wlan.poll() {
            match output {
                Output::Delivered { .. } => counts.arrivals += 1,
                Output::Tuned { .. } => counts.tunings += 1,
                _ => {}
            }
        }
    }

    fn act(&mut self, now: Instant, action: Action) {
        match action {
            Action::Walk => {
                for station in &mut self.stations[..self.walkers] {
                    let Position { x, y } = station.position;
                    let (x, y) =
                        (x + 1.4 * libm::cos(station.direction), y + 1.4 * libm::sin(station.direction));
                    if (0.0..300.0).contains(&x) && (0.0..200.0).contains(&y) {
                        station.position = Position::new(x, y);
                    } else {
                        station.direction += 2.0;
                    }
                }
                let walkers = &self.stations[..self.walkers];
                let positions: Vec<_> =
                    walkers.iter().map(|station| (station.id, station.position)).collect();
                self.wlan.move_stations(now, &positions);
                self.at(now + Duration::from_secs(1), action);
            }
            Action::Beacon(index) => {
                let frame = MacFrame { to: Receiver::Broadcast, key: 0, octets: 250 };
                self.wlan.enqueue(now, self.access_points[index], frame);
                self.at(now + BEACON_INTERVAL, action);
            }
            Action::Send(index) => {
                let station = &self.stations[index];
                let to = Receiver::Station(self.access_points[station.access_point]);
                self.wlan.enqueue(now, station.id, MacFrame { to, key: 0, octets: 200 });
                let next = now.after_nanos(self.rng.below(400_000_000));
                self.at(next, action);
            }
            Action::Scan(index, channel) => {
                let station = &self.stations[index];
                let is_over = channel == CHANNELS;
                let to = if is_over { station.channel } else { Channel(channel) };
                self.wlan.tune(now, station.id, Some(to));
                let next = if is_over { (SCAN_INTERVAL, 0) } else { (DWELL, channel + 1) };
                self.at(now + next.0, Action::Scan(index, next.1));
            }
        }
    }
}

/// The largest memory of this process so far, where the kernel knows it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map(|size| format!("; memory: {}", size.trim())).unwrap_or_default()
}
