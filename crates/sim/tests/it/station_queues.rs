//! Queues above the MAC of an access point: a discipline of its interface, and mac80211's turns by air time.

use std::time::Duration;

use lasthop_apps::traffic::{Beat, Constant};
use lasthop_packet::{Bitrate, Instant};
use lasthop_sim::queue::{
    AirtimeConfig, AirtimeLimits, CoDelConfig, DriverQueue, FqCoDelConfig, StationQueue,
};
use lasthop_sim::{
    Application, Discipline, DropCause, FlowConfig, FlowId, NodeId, NodeKind, QueueConfig, QueueLimit,
    StationId, TransportOutcome, WlanId, World,
};
use lasthop_wifi::{Format, GuardInterval, Mcs, Scheduler, Standard, StationConfig, Width, WlanConfig};

use crate::support::{direction, node, udp_flow, wired};

/// A server, a wire of 1 Gbit/s, an access point of 802.11n; stations at these indices of one stream or two.
struct Site {
    world: World,
    server: NodeId,
    wlan: WlanId,
    hosts: Vec<NodeId>,
    stations: Vec<StationId>,
}

const RATES: [(u8, u8); 3] = [(7, 2), (7, 1), (0, 1)];

fn site(queue: &StationQueue, scheduler: Scheduler) -> Site {
    let mut world = World::new(1);
    let server = node(&mut world, "server", NodeKind::Host);
    let ap = node(&mut world, "ap", NodeKind::Router);
    world.add_wired_link(server, ap, &wired("wire", &direction(1_000_000), 1));
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::Ht));
    let rate = |(index, streams)| {
        let mcs = Mcs::new(Format::Ht, index, streams, Width::Mhz20, GuardInterval::Ns400);
        Some(mcs.expect("the standard has it").into())
    };
    let radio = StationConfig {
        rate: rate(RATES[0]),
        queue: QueueLimit::Packets(1_000),
        scheduler,
        ..StationConfig::default()
    };
    let center = world.add_station_with(wlan, ap, &radio, queue);
    let (mut hosts, mut stations) = (Vec::new(), Vec::new());
    for (number, its) in RATES.into_iter().enumerate() {
        let host = node(&mut world, &format!("host {number}"), NodeKind::Host);
        let station =
            world.add_station(wlan, host, &StationConfig { rate: rate(its), ..StationConfig::default() });
        world.add_radio_link(&format!("air {number}"), wlan, center, station);
        hosts.push(host);
        stations.push(station);
    }
    Site { world, server, wlan, hosts, stations }
}

impl Site {
    /// For each station the same number of datagrams, more than its share of the air is enough for, and a few others beside
    /// them. Returns the latter.
    fn load(&mut self) -> Vec<FlowId> {
        let mut sparse = Vec::new();
        for host in self.hosts.clone() {
            for (kbps, message) in [(100_000, 1_472), (64, 160)] {
                let beat = Beat::Rate(Bitrate::from_bps(kbps * 1_000).expect("above zero"));
                let constant = Application::Constant(Constant { message, beat, jitter: Duration::ZERO });
                let flow = self.world.add_flow(udp_flow(&self.world, (self.server, host), constant));
                sparse.extend((message == 160).then_some(flow));
            }
        }
        sparse
    }

    fn run(&mut self) {
        self.world.run(Instant::from_secs(5), false);
        assert!(self.world.accounts().balance());
    }

    /// The share of the air time for each station.
    fn shares(&self) -> Vec<f64> {
        let to = |station: &StationId| self.world.radio_use(self.wlan, *station).air_time_to.as_secs_f64();
        let all: f64 = self.stations.iter().map(to).sum();
        self.stations.iter().map(|station| to(station) / all).collect()
    }

    /// The longest of the median delays of flows, in milliseconds.
    fn delay(&self, flows: &[FlowId]) -> f64 {
        let median = |flow: &FlowId| match self.world.outcome(*flow).transport {
            TransportOutcome::Udp(udp) => udp.delay.map_or(f64::INFINITY, |delay| delay.median_s),
            TransportOutcome::Tcp(_) | TransportOutcome::Other => f64::INFINITY,
        };
        flows.iter().map(median).fold(0.0, f64::max) * 1e3
    }
}

fn airtime() -> AirtimeConfig {
    AirtimeConfig::default()
}

#[test]
fn stations_have_the_same_air_time_whatever_their_rates() {
    let mut site = site(&StationQueue::Airtime(airtime()), Scheduler::Fifo);
    site.load();
    site.run();
    let shares = site.shares();
    assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.01), "{shares:?}");
}

#[test]
fn in_one_queue_the_slowest_station_has_most_of_the_air() {
    let mut site = site(&StationQueue::Mac, Scheduler::Fifo);
    site.load();
    site.run();
    let shares = site.shares();
    assert!(shares[2] > 0.7 && shares[0] < 0.15, "{shares:?}");
}

#[test]
fn air_time_is_in_proportion_to_the_weights() {
    let mut config = airtime();
    config.weights = [(StationId::from_index(1), 512), (StationId::from_index(3), 128)].into();
    let mut site = site(&StationQueue::Airtime(config), Scheduler::Fifo);
    site.load();
    site.run();
    let (shares, of_all) = (site.shares(), 512.0 + 256.0 + 128.0);
    for (share, weight) in shares.iter().zip([512.0, 256.0, 128.0]) {
        assert!((share - weight / of_all).abs() < 0.02, "{shares:?}");
    }
}

// Where the driver takes what it can, the device has the queue, and neither turns nor CoDel have an effect. Airtime queue
// limits leave it 24 ms, or 5 ms for each station.
#[test]
fn airtime_queue_limits_keep_the_queue_of_the_device_short() {
    let driver = DriverQueue::Unlimited;
    let delay = |limits| {
        let mut site =
            site(&StationQueue::Airtime(AirtimeConfig { limits, driver, ..airtime() }), Scheduler::Fifo);
        let sparse = site.load();
        site.run();
        site.delay(&sparse)
    };
    let (with, without) = (delay(Some(AirtimeLimits::default())), delay(None));
    assert!(with < 50.0 && without > 10.0 * with, "{with} ms with limits, {without} ms without");
}

#[test]
fn with_two_aggregates_in_the_driver_a_sparse_flow_waits_for_a_few_transmissions() {
    let mut site = site(&StationQueue::Airtime(airtime()), Scheduler::Fifo);
    let sparse = site.load();
    site.run();
    let delay = site.delay(&sparse);
    assert!(delay < 20.0, "{delay} ms");
}

#[test]
fn a_discipline_has_no_effect_below_it() {
    let queue = |driver| {
        let discipline = Discipline::FqCoDel(FqCoDelConfig::default());
        let queue = QueueConfig { limit: QueueLimit::Packets(10_240), discipline };
        let mut site = site(&StationQueue::Discipline { queue, driver }, Scheduler::Fifo);
        let sparse = site.load();
        site.run();
        site.delay(&sparse)
    };
    let (short, long) = (queue(DriverQueue::Packets(20)), queue(DriverQueue::Packets(1_000)));
    assert!(short < 60.0 && long > 5.0 * short, "{short} and {long} ms");
}

#[test]
fn codel_drops_what_waits_too_long_and_the_limit_what_is_too_much() {
    let drops = |target, limit| {
        let codel = CoDelConfig { target, ..airtime().flows.codel };
        let flows = FqCoDelConfig { codel, ..airtime().flows };
        let limit = QueueLimit::Packets(limit);
        let mut site =
            site(&StationQueue::Airtime(AirtimeConfig { limit, flows, ..airtime() }), Scheduler::Fifo);
        site.load();
        site.run();
        let accounts = site.world.accounts();
        let of = |cause| accounts.dropped.get(&cause).copied().unwrap_or_default();
        (of(DropCause::QueueFull), of(DropCause::QueueManagement))
    };
    let patient = Duration::from_secs(1_000);
    let (full, managed) = drops(patient, 500);
    assert!(full > 0 && managed == 0, "{full} and {managed}");
    let (_, managed) = drops(Duration::from_millis(20), 8_192);
    assert!(managed > 0);
}

// Drops of one station are reported even if another one drops something before.
#[test]
fn no_packet_stays_behind_when_all_stations_drop_some() {
    let codel = CoDelConfig {
        target: Duration::from_millis(1),
        interval: Duration::from_millis(2),
        ..airtime().flows.codel
    };
    let queue = StationQueue::Airtime(AirtimeConfig {
        flows: FqCoDelConfig { codel, ..airtime().flows },
        limit: QueueLimit::Packets(2_000),
        ..airtime()
    });
    let mut world = World::new(1);
    let wlan = world.add_wlan("cell", WlanConfig::new(Standard::Ht));
    let hosts: Vec<NodeId> =
        (0..4).map(|number| node(&mut world, &format!("host {number}"), NodeKind::Host)).collect();
    let radio = StationConfig::default();
    let stations: Vec<StationId> =
        hosts.iter().map(|host| world.add_station_with(wlan, *host, &radio, &queue)).collect();
    for (first, one) in stations.iter().enumerate() {
        for (second, other) in stations.iter().enumerate().skip(first + 1) {
            world.add_radio_link(&format!("air {first} {second}"), wlan, *one, *other);
        }
    }
    for from in &hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            let beat = Beat::Rate(Bitrate::mbps(8));
            let constant = Application::Constant(Constant { message: 1_000, beat, jitter: Duration::ZERO });
            let flow = udp_flow(&world, (*from, *to), constant);
            world.add_flow(FlowConfig { stop: Some(Instant::from_secs(2)), ..flow });
        }
    }
    world.run(Instant::from_secs(10), false);
    let accounts = world.accounts();
    assert!(accounts.dropped[&DropCause::QueueManagement] > 100 && accounts.balance());
    assert_eq!(accounts.in_transit, 0);
}
