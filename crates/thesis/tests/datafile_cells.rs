//! Data files with `shared_links`: 802.11 cells with the MAC of the thesis, exact to the
//! microsecond if no back-off is drawn.

mod bench;

use std::path::Path;
use std::time::Duration;

use bench::{Run, TempDir};
use lasthop_packet::Bitrate;
use lasthop_scenario::{Link, Scenario};
use lasthop_thesis::DataFile;
use lasthop_wifi::{Propagation, Scheduler};

/// The direction of a host's connection.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Down,
    Up,
}

/// A cell: a base station, a host at each wireless link, and for each of these a host on its own
/// wire.
#[derive(Clone)]
struct Cell {
    hosts: Vec<Direction>,
    packets: u32,
    window: u32,
    bandwidth: u64,
    /// The mean stay of each link in the bad state, in seconds.
    bad: Vec<f64>,
    seconds: u32,
    read_from_trace: u32,
    mac: &'static str,
}

impl Cell {
    fn new(hosts: &[Direction]) -> Self {
        Self {
            hosts: hosts.to_vec(),
            packets: 1_000_000,
            window: 16,
            bandwidth: 1_000_000,
            bad: vec![0.0; hosts.len()],
            seconds: 60,
            read_from_trace: 1,
            mac: "",
        }
    }

    fn text(&self) -> String {
        let Self { hosts, packets, window, bandwidth, bad, seconds, read_from_trace, mac } = self;
        let mut text = format!(
            "simulator {{\nsystem_simulation_time = {seconds}000\nprint_interval = 500\nread_from_trace = {read_from_trace}\n}}\n\
             base_station {{\nnode_id = 1\nbuffer_size = 512000\nprocessing_delay = 0\n}}\n"
        );
        let mut cell = format!("shared_links {{\n{mac}\n");
        for (index, way) in hosts.iter().enumerate() {
            let (wired, wireless) = (100 + index, 200 + index);
            let source = |id: usize, to: usize| {
                format!(
                    "node_id = {id}\ndest_id = {to}\nnum_of_pkts_to_send = {packets}\npkt_size = 1024\nrecv_wnd_size = {window}\n"
                )
            };
            let (at_wire, on_air) = match way {
                Direction::Down => (
                    format!("wired_source_node {{\n{}}}\n", source(wired, wireless)),
                    format!("wireless_sink_node {{\nnode_id = {wireless}\n}}\n"),
                ),
                Direction::Up => (
                    format!("wired_sink_node {{\nnode_id = {wired}\n}}\n"),
                    format!("wireless_source_node {{\n{}}}\n", source(wireless, wired)),
                ),
            };
            text += &at_wire;
            text += &on_air;
            let links = format!(
                "wired_link {{\nlink_id = {wired}\nbandwidth = 8000000\nlatency = 10\nnode_id1 = {wired}\nnode_id2 = 1\nloss_probability = 0\nrandom_seed = 2\n}}\n\
                 wireless_link {{\nlink_id = {wireless}\nbandwidth = {bandwidth}\nlatency = 1\nnode_id1 = 1\nnode_id2 = {wireless}\n\
                 mean_exp_distrib_good_state = 5\nmean_exp_distrib_bad_state = {}\nrandom_seed = {}\n}}\n",
                bad[index],
                index + 3
            );
            let shared = format!("link_id = {wireless}\n");
            text += &links;
            cell += &shared;
        }
        text + &cell + "}\n"
    }

    fn file(&self) -> DataFile {
        parse(&self.text())
    }

    fn run(&self, scheme: &str) -> Run {
        Run::from_file(&self.file(), scheme)
    }

    /// The goodput of each connection in kbit/s.
    fn goodputs(&self) -> Vec<u64> {
        let Scenario { duration, .. } = self.file().scenario;
        self.run("none").delivered.iter().map(|octets| octets * 8 / duration.as_millis() as u64).collect()
    }
}

fn parse(text: &str) -> DataFile {
    lasthop_thesis::parse(text, "datafile.dat", Path::new("/nowhere"))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn file(run: &Run, name: &str) -> String {
    std::fs::read_to_string(run.out.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Kinds of events by which two runs are compared.
const KINDS: &str = "corrupted,given-up,retransmitted,timeout,fast-retransmit,icmp,transmitted,received";

const DOWN: Direction = Direction::Down;
const UP: Direction = Direction::Up;

#[test]
fn shared_links_are_a_cell_with_the_thesiss_parameters() {
    let scenario = Cell::new(&[DOWN, UP]).file().scenario;
    let [cell] = &scenario.wlans[..] else { panic!("one cell") };
    let (phy, mac) = (&cell.config.phy, &cell.config.mac);
    let us = Duration::from_micros;
    assert_eq!((phy.slot, phy.sifs, phy.difs()), (us(20), us(10), us(50)));
    assert_eq!((phy.cw_min, phy.cw_max, phy.bandwidth), (31, 1023, Bitrate::from_bps(1_000_000)));
    assert_eq!((mac.rts_threshold, &cell.config.propagation), (65_535, &Propagation::Everywhere));
    let stations = cell.stations.iter().map(|station| {
        let name = scenario.nodes[station.node].name.as_str();
        (name, station.config.scheduler, station.config.short_retry_limit)
    });
    let stations: Vec<_> = stations.collect();
    assert_eq!(
        stations,
        [
            ("1", Scheduler::PerReceiver, Some(9)),
            ("200", Scheduler::Fifo, Some(9)),
            ("201", Scheduler::PerReceiver, Some(9)),
        ]
    );
    for (link, seed) in [(1, 3), (3, 4)] {
        let Link::Radio { config, wlan: 0 } = &scenario.links[link].link else { panic!("of the cell") };
        assert_eq!((config.delay, config.seed), (Duration::from_millis(1), Some(seed)));
        assert_eq!(config.channel.as_ref().map(|channel| channel.good.mean), Some(Duration::from_secs(5)));
    }
    assert!(matches!(&scenario.links[0].link, Link::Wired(_)));
}

#[test]
fn between_unreliable_nodes_a_frame_is_sent_once() {
    let text = Cell::new(&[DOWN]).text();
    let text =
        text.replace("base_station", "normal_router_node").replace("wireless_sink_node", "wired_sink_node");
    let scenario = parse(&text).scenario;
    for station in &scenario.wlans[0].stations {
        assert_eq!((station.config.short_retry_limit, station.config.scheduler), (Some(1), Scheduler::Fifo));
    }
}

#[test]
fn a_frame_without_back_off_takes_the_time_of_the_mac() {
    // A packet is at the base station after 1 ms, rounded down from 1.064 ms, and 10 ms. Frames of
    // 1,100 and 76 octets take 192 us for the preamble, then their bits at the link's bandwidth in
    // whole microseconds; 1 ms follows each. The sink responds when DIFS after the exchange is
    // over.
    for (bandwidth, data, ack) in
        [(1_000_000, 8_800, 608), (2_000_000, 4_400, 304), (800_000, 11_000, 760), (11_000_000, 800, 56)]
    {
        let run = Cell { packets: 1, bandwidth, ..Cell::new(&[DOWN]) }.run("none");
        let there = 11_000 + 192 + data + 1_000;
        let back = there + 192 + ack + 1_000;
        let received = [there, back + 10_000].map(|us| f64::from(us) / 1000.0);
        let expected = [
            format!("{} received at 200 packet <100, 200> segment <0, -1, 1024, DATA>", received[0]),
            format!("{} received at 100 packet <200, 100> segment <-1, 1024, 0, ACK>", received[1]),
        ];
        assert_eq!(run.events("received"), expected, "{bandwidth} bit/s");
        assert_eq!(file(&run, "100-ackno"), format!("{} 1024\n", received[1]));
    }
}

#[test]
fn a_single_station_sends_at_the_rate_of_its_exchanges() {
    // One connection with its ACKs: each pair of exchanges has DIFS, a data frame or an ACK, SIFS
    // and the MAC's acknowledgment twice, and back-offs. If both stations always have a frame, the
    // lower of two back-offs of 0 to 31 slots precedes each, on average 10.2 slots. If only one has
    // a frame, its own back-off precedes it: 15.5 slots.
    let exchange = |octets: f64| 50.0 + 192.0 + octets * 8.0 + 10.0 + 192.0 + 112.0;
    let both = exchange(1_100.0) + exchange(76.0);
    let [most, least] = [10.2, 15.5].map(|slots| 1024.0 * 8.0 / (both + 2.0 * slots * 20.0) * 1000.0);
    let found = Cell::new(&[DOWN]).goodputs()[0] as f64;
    // A collision in 32 pairs costs a data frame.
    assert!(found < most && found > least * 0.95, "{least:.0} to {most:.0} kbit/s: {found}");
}

#[test]
fn stations_of_a_cell_share_it_equally() {
    for hosts in [&[DOWN, DOWN, DOWN][..], &[UP, UP, UP], &[UP, UP, UP, UP, UP]] {
        let cell = Cell { seconds: 120, window: 8, ..Cell::new(hosts) };
        let goodputs = cell.goodputs();
        let (least, most) = (goodputs.iter().min().expect("some"), goodputs.iter().max().expect("some"));
        assert!(*least * 100 >= *most * 90, "{goodputs:?}");
        let all: u64 = goodputs.iter().sum();
        assert!((600..900).contains(&all), "{goodputs:?}");
    }
}

#[test]
fn contention_costs_goodput_compared_with_an_ideal_medium() {
    let cell = Cell { window: 4, ..Cell::new(&[UP, UP, UP, UP]) };
    let run = cell.run("none");
    assert!(run.events("corrupted").len() > 100, "stations collide");
    let ideal = Cell { mac: "mac = ideal", ..cell }.run("none");
    assert_eq!(ideal.events("corrupted").len(), 0);
}

#[test]
fn a_host_with_a_bad_channel_does_not_block_the_others() {
    // The second host has its turns between retransmissions to the first: the thesis has queues per
    // host to avoid head-of-line blocking (section 4.2, item 8).
    let cell = Cell { bad: vec![2.0, 0.0], window: 8, ..Cell::new(&[DOWN, DOWN]) };
    let goodput_of_second = |scheduler: Scheduler| {
        let mut file = cell.file();
        for station in &mut file.scenario.wlans[0].stations {
            station.config.scheduler = scheduler;
        }
        Run::from_file(&file, "none").delivered[1]
    };
    let (in_turn, fifo) = (goodput_of_second(Scheduler::PerReceiver), goodput_of_second(Scheduler::Fifo));
    assert!(in_turn > fifo, "{in_turn} and {fifo} octets");
    let alone = Cell { hosts: vec![DOWN], bad: vec![0.0], ..cell.clone() }.run("none").delivered[0];
    assert!(in_turn * 100 > alone * 45, "{in_turn} of {alone} octets");
}

#[test]
fn the_states_of_a_link_depend_on_its_seed_and_not_on_the_mac() {
    let cell = Cell { bad: vec![0.5, 0.1], ..Cell::new(&[DOWN, UP]) };
    let ideal = Cell { mac: "mac = ideal", ..cell.clone() }.run("none");
    let run = cell.run("none");
    for name in ["wless_state-1-200", "wless_state-1-201"] {
        assert!(file(&run, name).lines().count() > 5, "it changes");
        assert_eq!(file(&run, name), file(&ideal, name));
    }
    assert_ne!(file(&run, "wless_state-1-200"), file(&run, "wless_state-1-201"));
}

#[test]
fn frames_and_acknowledgments_are_lost_in_the_bad_state() {
    let run = Cell { bad: vec![1.0], ..Cell::new(&[DOWN]) }.run("none");
    assert!(run.events("corrupted").len() > 20 && !run.events("given-up").is_empty());
    assert!(run.sender().timeouts > 0);
    // A frame has nine transmissions, each with its own number.
    let given_up = run.events("given-up");
    let lost = run.events("corrupted");
    let of_frame = |line: &str| line.split("packet").nth(1).map(str::to_owned);
    let first = of_frame(&given_up[0]);
    let time = |line: &str| line.split(' ').next().and_then(|ms| ms.parse::<f64>().ok()).expect("a time");
    let attempts = lost.iter().filter(|line| of_frame(line) == first && time(line) <= time(&given_up[0]));
    assert_eq!(attempts.count(), 9);
}

#[test]
fn a_recorded_trace_of_states_reproduces_the_run() {
    let record = Cell { bad: vec![0.5], ..Cell::new(&[DOWN]) };
    let first = record.run("refined-icmp");
    let trace = file(&first, "trace.dat");
    let replay = Cell { read_from_trace: 0, ..record }.text();
    let directory = TempDir::new().with("datafile.dat", replay).with("trace.dat", trace);
    let second = Run::from_path(&directory.path().join("datafile.dat"), "refined-icmp");
    assert!(first.events(KINDS).len() > 1000);
    assert_eq!(first.events(KINDS), second.events(KINDS));
}

#[test]
fn chosen_packets_are_lost_in_all_transmissions_and_the_trace_reproduces_it() {
    let cell = Cell { read_from_trace: 2, ..Cell::new(&[DOWN]) };
    let directory = TempDir::new().with("datafile.dat", cell.text()).with("drops.dat", "51200\n102400 1\n");
    let run = Run::from_path(&directory.path().join("datafile.dat"), "none");
    // ACKs of the host at the same time are lost with them.
    let is_data = |line: &String| line.contains("given-up frame <1, 200,");
    let given_up: Vec<_> = run.events("given-up").into_iter().filter(is_data).collect();
    assert_eq!(given_up.len(), 2, "{given_up:?}");
    for (line, seq) in given_up.iter().zip(["<51200,", "<102400,"]) {
        assert!(line.contains(seq), "{line}");
    }
    let trace = file(&run, "trace.dat");
    assert_eq!(trace.lines().filter(|line| line.ends_with(" 0")).count(), 2, "{trace}");
    assert_eq!(trace.lines().filter(|line| line.ends_with(" 1")).count(), 2, "{trace}");
    let replay = Cell { read_from_trace: 0, ..cell }.text();
    let directory = TempDir::new().with("datafile.dat", replay).with("trace.dat", trace);
    let again = Run::from_path(&directory.path().join("datafile.dat"), "none");
    assert_eq!(run.events(KINDS), again.events(KINDS));
}

#[test]
fn the_base_station_informs_the_source_of_failed_frames() {
    let cell = Cell { bad: vec![0.3], packets: 2_000, window: 32, seconds: 300, ..Cell::new(&[DOWN]) };
    let plain = cell.run("none");
    assert!(plain.events("icmp").is_empty());
    for scheme in ["simple-icmp", "refined-icmp"] {
        let run = cell.run(scheme);
        assert!(run.events("icmp").iter().any(|line| line.contains("at 1 sent")), "{scheme}");
        assert!(run.events("icmp").iter().any(|line| line.contains("at 100 received")), "{scheme}");
    }
}

#[test]
fn without_loss_no_channel_of_a_cell_loses_anything() {
    let run = Cell { bad: vec![1.0], ..Cell::new(&[DOWN]) }.run("no-loss");
    assert!(run.events("link-state").is_empty());
}

#[test]
fn a_base_station_drops_packets_when_its_buffer_is_full() {
    let text = Cell::new(&[DOWN, DOWN]).text().replace("buffer_size = 512000", "buffer_size = 5000");
    let dropped = Run::from_file(&parse(&text), "none").events("dropped");
    assert!(!dropped.is_empty() && dropped.iter().all(|line| line.contains("at 1 ")), "{dropped:?}");
}

#[test]
fn the_example_shows_a_cell_in_which_the_bad_channel_costs_only_its_own_host() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/goel/shared-links/datafile.dat");
    let run = Run::from_path(&path, "refined-icmp");
    let completed: Vec<_> =
        run.events("transfer").into_iter().filter(|line| line.ends_with("complete")).collect();
    let order: Vec<&str> = completed.iter().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(order.last(), Some(&"223"), "{completed:?}");
    assert_eq!(run.delivered, [2_000 * 1024; 3]);
    assert!(run.events("icmp").iter().any(|line| line.contains("at 221 received")));
}
