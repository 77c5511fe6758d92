//! Tests that UDP streams between real sockets have the model's delay, rate, order and losses.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::{Fate, LinkEvent};
use lasthop_emulator::{Options, Summary};
use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_sim::delay::{Band, Bands};
use lasthop_sim::{
    ChannelConfig, Delay, Distribution, Feedback, LinkLayer, NodeConfig, NodeKind, Order, WirelessConfig,
    World,
};
use rustix::time::Timespec;

use crate::hosts::{Hosts, direction, world};

/// The payload of a datagram in octets: 1,000 with the headers of UDP and IP.
const PAYLOAD: usize = 972;

/// A datagram's number, and the times at which it was sent and received.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub number: u64,
    pub sent: Instant,
    pub at: Instant,
}

impl Arrival {
    fn delay(&self) -> Duration {
        self.at.since(self.sent)
    }
}

/// Sends `count` datagrams at intervals of `apart`, and returns those received.
pub fn stream(near: &UdpSocket, far: &UdpSocket, count: u64, apart: Duration) -> Vec<Arrival> {
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut arrivals = Vec::new();
            let mut datagram = [0; 2000];
            while let Ok(len) = far.recv(&mut datagram) {
                let at = clock::now();
                assert_eq!(len, PAYLOAD);
                let word = |from: usize| {
                    u64::from_be_bytes(datagram[from..from + 8].try_into().expect("eight octets"))
                };
                arrivals.push(Arrival { number: word(0), sent: Instant::from_nanos(word(8)), at });
                if arrivals.len() as u64 == count {
                    break;
                }
            }
            arrivals
        });
        let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(apart.subsec_nanos()) };
        for number in 0..count {
            let mut datagram = [0; PAYLOAD];
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            datagram[8..16].copy_from_slice(&clock::now().as_nanos().to_be_bytes());
            near.send(&datagram).expect("a route");
            if !apart.is_zero() {
                let _ = rustix::thread::nanosleep(&pause);
            }
        }
        receiver.join().expect("it does not panic")
    })
}

fn in_order(arrivals: &[Arrival]) -> bool {
    arrivals.windows(2).all(|pair| pair[0].number < pair[1].number)
}

pub fn delay_and_rate_are_those_asked_for_and_packets_stay_in_order() {
    let (propagation, transmission) = (Duration::from_millis(15), Duration::from_micros(400));
    let (world, ends, _) = world(1, &direction(20, 0.0), propagation);
    let (hosts, emulator) = Hosts::around(world, ends, false);
    let running = emulator.spawn(Options::default()).expect("a thread");
    let (near, far) = hosts.udp();

    let mut packets = 0;
    // The delay in excess of the model's is that of this machine and its sockets.
    for (what, rank, most) in [("least", 0, 15_500), ("median", 250, 18_000)] {
        lasthop_needs::assert_in_time(&format!("{what} delay"), Duration::from_micros(most), || {
            let arrivals = stream(&near, &far, 500, Duration::from_millis(1));
            packets += 500;
            assert!(arrivals.len() == 500 && in_order(&arrivals));
            let mut delays: Vec<Duration> = arrivals.iter().map(Arrival::delay).collect();
            delays.sort_unstable();
            assert!(delays[0] >= propagation + transmission, "{:?}", delays[0]);
            delays[rank]
        });
    }
    // As fast as they can be sent: the link is busy from the first to the last, for 72 ms.
    lasthop_needs::assert_in_time("180 packets", Duration::from_millis(92), || {
        let arrivals = stream(&near, &far, 180, Duration::ZERO);
        packets += 180;
        assert!(arrivals.len() == 180 && in_order(&arrivals), "{}", arrivals.len());
        let since_first = |arrival: &Arrival| arrival.at.since(arrivals[0].sent);
        for (before, arrival) in (1..).zip(&arrivals) {
            assert!(since_first(arrival) >= propagation + transmission * before, "{arrival:?}");
        }
        since_first(&arrivals[179])
    });
    let summary = running.stop().expect("it ran");
    assert_eq!((summary.packets_taken, summary.packets_handed_out), (packets, packets));
    assert!(summary.lateness.median_us <= summary.lateness.p99_us);
    assert!(summary.lateness.p99_us <= summary.lateness.max_us && summary.duration_s > 0.5);
}

pub fn packets_overtake_each_other_and_their_delays_are_those_of_the_distribution() {
    let band = |share, min, max| {
        let [min, max] = [min, max].map(Duration::from_millis);
        Band { share, min, max }
    };
    let bands = Bands::new(vec![band(0.8, 20, 40), band(0.2, 60, 100)]).expect("good bands");
    let delay = Delay { order: Order::Overtake, ..Delay::from(Distribution::Bands(Arc::new(bands))) };
    let (world, ends, _) = world(7, &direction(100, 0.0), delay);
    let (hosts, emulator) = Hosts::around(world, ends, false);
    let running = emulator.spawn(Options::default()).expect("a thread");
    let (near, far) = hosts.udp();
    // Four standard deviations of a quantile of 1,000 samples are 1.6 ms here; the rest is due to
    // this machine.
    lasthop_needs::assert_in_time("the farthest quantile", Duration::from_millis(4), || {
        let arrivals = stream(&near, &far, 1000, Duration::from_millis(1));
        let mut numbers: Vec<u64> = arrivals.iter().map(|arrival| arrival.number).collect();
        let overtaken = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(overtaken > 200, "{overtaken}");
        numbers.sort_unstable();
        assert!(numbers == (0..1000).collect::<Vec<_>>(), "each arrives once");
        let mut delays: Vec<Duration> = arrivals.iter().map(Arrival::delay).collect();
        delays.sort_unstable();
        assert!(delays[0] >= Duration::from_millis(20), "{:?}", delays[0]);
        let short = delays.iter().filter(|delay| **delay < Duration::from_millis(50)).count();
        assert!(lasthop_needs::quiet().is_err() || (750..=850).contains(&short), "{short}");
        let expected = [(100, 22_500), (250, 26_250), (400, 30_000), (600, 35_000), (700, 37_500)];
        let off = expected.map(|(rank, micros)| delays[rank].abs_diff(Duration::from_micros(micros)));
        off.into_iter().max().unwrap_or_default()
    });
    let summary = running.stop().expect("it ran");
    assert_eq!(summary.packets_taken, summary.packets_handed_out);
}

fn lossy_run(seed: u64) -> (Vec<u64>, Summary) {
    let (world, ends, _) = world(seed, &direction(100, 5.0), Duration::from_millis(1));
    let (hosts, emulator) = Hosts::around(world, ends, false);
    let running = emulator.spawn(Options::default()).expect("a thread");
    let (near, far) = hosts.udp();
    let arrivals = stream(&near, &far, 2000, Duration::from_micros(150));
    (arrivals.iter().map(|arrival| arrival.number).collect(), running.stop().expect("it ran"))
}

pub fn the_model_s_losses_are_the_only_ones_and_a_seed_repeats_them() {
    let (arrived, summary) = lossy_run(4);
    let lost = 2000 - arrived.len();
    assert_eq!((summary.packets_taken, summary.dropped["wired loss"]), (2000, lost as u64), "{summary:?}");
    // Four standard deviations of a binomial distribution.
    assert!((61..139).contains(&lost), "{lost}");
    assert!(lossy_run(4).0 == arrived, "the same seed and the same packets");
    assert!(lossy_run(5).0 != arrived, "another seed");
}

pub fn fates_of_frames_are_reported_to_agents_outside_the_world() {
    let mut world = World::new(1);
    let ends = ["near", "far"].map(|name| world.add_node(NodeConfig::new(name, NodeKind::External)));
    let link = world.add_wireless_link(
        ends[0],
        ends[1],
        &WirelessConfig {
            name: "air".to_owned(),
            forward: direction(50, 20.0).delayed(Duration::from_millis(1)),
            backward: direction(50, 20.0).delayed(Duration::from_millis(1)),
            clock: Duration::ZERO,
            channel: ChannelConfig::PERFECT,
            link_layer: LinkLayer { feedback: Feedback::Immediate, retransmission_attempts: 1 },
            medium: None,
            seed: None,
        },
    );
    let (hosts, mut emulator) = Hosts::around(world, ends, false);
    let (reporter, fates) = std::sync::mpsc::channel();
    emulator.on_fates(move |report| {
        let LinkEvent::Frame { packet, fate, .. } = report.event else { return };
        reporter.send((report.link, report.from, fate, packet.len())).expect("somebody listens");
    });
    let running = emulator.spawn(Options::default()).expect("a thread");
    let (near, far) = hosts.udp();
    let arrived = stream(&near, &far, 500, Duration::from_micros(200)).len();
    let summary = running.stop().expect("it ran");
    let fates: Vec<_> = fates.iter().collect();
    let count = |fate| fates.iter().filter(|report| report.2 == fate).count();
    assert_eq!((count(Fate::Delivered), count(Fate::GivenUp)), (arrived, 500 - arrived));
    assert_eq!(summary.dropped["wireless loss"], count(Fate::GivenUp) as u64);
    assert!(count(Fate::FirstTransmissionFailed) > count(Fate::GivenUp));
    assert!(fates.iter().all(|report| (report.0, report.1, report.3) == (link, ends[0], 1000)));
}
