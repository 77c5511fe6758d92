//! IEEE 802.11 cells.

use std::time::Duration;

use lasthop_sim::QueueLimit;
use lasthop_sim::StationId;
use lasthop_sim::queue::{
    AirtimeConfig, AirtimeLimits, CoDelConfig, DriverQueue, FqCoDelConfig, StationQueue,
};
use lasthop_wifi::{Preamble, Propagation, Rate, Scheduler};

use super::{error, read};
use crate::model::Link;

/// An access point, two stations and a server; tests replace a line of it.
const CELL: &str = r#"seeds = 2
[nodes.server]
kind = "host"
[nodes.ap]
kind = "router"
[nodes.phone]
kind = "host"
position = ["0 m", "10 m"]
[nodes.laptop]
kind = "host"
[links.wire]
between = ["server", "ap"]
rate = "10 Mbit/s"
[wlans.cell]
standard = "802.11b"
access-point = "ap"
stations = ["phone", "laptop"]
[flows.download]
from = "server"
to = "phone"
[tcp]
segment = "1460 B"
"#;

fn spoilt(right: &str, wrong: &str) -> String {
    assert!(CELL.contains(right), "{right}");
    CELL.replacen(right, wrong, 1)
}

/// Checks the place and a part of the message of each replacement's error.
#[track_caller]
fn check(cases: &[(&str, &str, &str, &str)]) {
    for (right, wrong, place, says) in cases {
        let error = error(&spoilt(right, wrong));
        assert!(error.starts_with(&format!("x.toml:{place}: ")), "{wrong}: expected {place} in: {error}");
        assert!(error.contains(says), "{wrong}: expected {says:?} in: {error}");
    }
}

#[test]
fn a_cell_has_the_defaults_of_its_standard_and_a_link_a_station() {
    let scenario = read(CELL).expect("a right scenario");
    let cell = &scenario.wlans[0];
    assert_eq!((cell.config.phy.rate, cell.config.phy.slot), (Rate::CCK_11, Duration::from_micros(20)));
    assert_eq!((cell.config.mac.rts_threshold, cell.config.mac.short_retry_limit), (65_535, 7));
    assert_eq!(cell.config.mac.overhead.octets(), 24 + 8 + 4);
    assert_eq!(cell.stations[0].node, 1, "the access point comes first");
    assert_eq!(cell.stations[1].config.queue, QueueLimit::Packets(50));
    assert_eq!(cell.stations[1].config.position.y.to_bits(), 10f64.to_bits());
    let names: Vec<&str> = scenario.links.iter().map(crate::model::LinkModel::name).collect();
    assert_eq!(names, ["wire", "cell.phone", "cell.laptop"]);
    assert!(matches!(scenario.links[1].link, Link::Radio { wlan: 0, .. }));
}

#[test]
fn every_parameter_of_the_standard_is_a_key() {
    let keys = r#"standard = "802.11g"
rate = "54 Mbit/s"
basic-rates = ["1 Mbit/s", "6 Mbit/s"]
preamble = "short"
queue = "20 packets"
scheduler = "per-flow"
rts-threshold = "500 B"
llc-header = "3 B"
short-retry-limit = 5
long-retry-limit = 3
cts-to-self = true
slot-time = "20 us"
carrier-sense-delay = "15 us"
sifs-time = "12 us"
cw-min = 31
cw-max = 255
eifs = false
eifs-rate = "6 Mbit/s"
ack-timeout = "60 us"
nav-reset = false
propagation = { kind = "ranges", reception = "100 m", carrier-sense = "200 m" }
capture = { threshold = "6 dB", later-frames = true }
errors = { packet-error-rate = "1%", bit-error-rate = "0.0001%", bit-error-rates = { "54 Mbit/s" = "0.001%" }, control-frames = true }
link-errors.up = { from = "phone", to = "ap", errors = { packet-error-rate = "5%" } }
except.phone = { rate = "1 Mbit/s", queue = "5 packets", scheduler = "fifo" }"#;
    let scenario = read(&spoilt("standard = \"802.11b\"", keys)).expect("a right scenario");
    let cell = &scenario.wlans[0];
    let (phy, mac) = (&cell.config.phy, &cell.config.mac);
    assert_eq!((phy.rate, phy.preamble, phy.cw_min, phy.cw_max), (Rate::OFDM_54, Preamble::Short, 31, 255));
    assert_eq!((phy.slot, phy.sifs), (Duration::from_micros(20), Duration::from_micros(12)));
    assert_eq!(phy.carrier_sense_delay, Some(Duration::from_micros(15)));
    assert_eq!(phy.basic_rates, [Rate::DSSS_1, Rate::OFDM_6]);
    assert_eq!((mac.rts_threshold, mac.short_retry_limit, mac.long_retry_limit), (500, 5, 3));
    assert_eq!(mac.overhead.octets(), 24 + 3 + 4);
    assert!(mac.cts_to_self && !mac.eifs && !mac.nav_reset);
    assert_eq!(mac.response_timeout, Some(Duration::from_micros(60)));
    assert!(matches!(cell.config.propagation, Propagation::Ranges { .. }));
    assert!(cell.config.capture.is_some_and(|capture| capture.later_frames && capture.threshold > 3.9));
    let bit = cell.config.errors.bit.as_ref().expect("bit errors");
    assert_eq!(bit.by_rate.keys().collect::<Vec<_>>(), [&Rate::OFDM_54]);
    assert!(bit.by_rate[&Rate::OFDM_54] > 9e-6 && bit.others < 2e-6);
    assert_eq!((cell.errors[0].0, cell.errors[0].1), (1, 0));
    assert_eq!(cell.stations[1].config.rate, Some(Rate::DSSS_1));
    assert_eq!(cell.stations[1].config.queue, QueueLimit::Packets(5));
    let schedulers: Vec<Scheduler> = cell.stations.iter().map(|station| station.config.scheduler).collect();
    assert_eq!(schedulers, [Scheduler::PerFlow, Scheduler::Fifo, Scheduler::PerFlow]);
}

#[test]
fn a_scheduler_by_air_time_has_the_parameters_of_mac80211() {
    let airtime = |lines: &str| {
        let text = spoilt("standard = \"802.11b\"", lines);
        let scenario = read(&text).unwrap_or_else(|error| panic!("{lines}: {error}"));
        match &scenario.wlans[0].stations[0].queue {
            StationQueue::Airtime(config) => config.clone(),
            other => panic!("{other:?}"),
        }
    };
    let default = AirtimeConfig::default();
    assert_eq!(airtime("standard = \"802.11ac\"\nscheduler = \"airtime\""), default);
    let config = airtime("standard = \"802.11b\"\nscheduler = \"airtime\"\nqueue = \"50 packets\"");
    assert_eq!((config.limit, config.flows.memory_limit), (QueueLimit::Packets(50), 4 << 20));
    let config = airtime(
        r#"standard = "802.11ax"
scheduler = { kind = "airtime", limits = { low = "1 ms" } }
queue = { discipline = "fq-codel", target = "5 ms", flows = 64 }
driver-queue = "unlimited"
except.laptop = { airtime-weight = 512 }"#,
    );
    let codel = CoDelConfig { target: Duration::from_millis(5), ..default.flows.codel };
    let low = Duration::from_millis(1);
    assert_eq!(
        config,
        AirtimeConfig {
            flows: FqCoDelConfig { codel, flows: 64, ..default.flows },
            limits: Some(AirtimeLimits { low, ..AirtimeLimits::default() }),
            driver: DriverQueue::Unlimited,
            weights: [(StationId::from_index(2), 512)].into(),
            ..default
        }
    );
}

#[test]
fn a_cell_with_power_save_does_not_aggregate() {
    let aggregation = |lines: &str| {
        let scenario = read(&spoilt("standard = \"802.11b\"", lines)).expect("a right scenario");
        scenario.wlans[0].config.mac.aggregation.clone()
    };
    assert!(aggregation("standard = \"802.11n\"").is_some());
    assert_eq!(aggregation("standard = \"802.11n\"\npower-save = {}"), None);
}

#[test]
fn a_row_of_the_comparison_may_have_other_queues() {
    let rows = r#"schemes = [
    "none",
    { label = "by air time", wlans.cell.scheduler = "airtime" },
    { label = "flow queues", wlans.cell = { queue = "fq-codel", driver-queue = "9 packets" } },
]"#;
    let text = spoilt("seeds = 2", rows).replace(
        "standard = \"802.11b\"",
        "standard = \"802.11b\"\nexcept.phone = { queue = \"7 packets\", airtime-weight = 3 }",
    );
    let scenario = read(&text).expect("a right scenario");
    let above = |row: usize, station| scenario.schemes[row].waiting(0, station).map(|waiting| &waiting.above);
    assert_eq!(above(0, 0), None);
    assert!(matches!(above(1, 0), Some(StationQueue::Airtime(config)) if config.weights.len() == 1));
    let driver = DriverQueue::Packets(9);
    assert!(matches!(above(2, 2), Some(StationQueue::Discipline { driver: its, .. }) if *its == driver));
    // A station's own keys come before those of the row.
    assert_eq!(above(2, 1), Some(&StationQueue::Mac));
    for (wrong, place, says) in [
        ("wlans.cel.scheduler = \"airtime\"", "schemes[1].wlans.cel", "did you mean \"cell\""),
        ("wlans.cell.driver-queue = \"2 packets\"", "schemes[1].wlans.cell.driver-queue", "has no effect"),
        ("wlans.cell.rate = \"1 Mbit/s\"", "schemes[1].wlans.cell.rate", "unknown key"),
    ] {
        let row = format!("schemes = [\"none\", {{ label = \"wrong\", {wrong} }}]");
        let error = error(&spoilt("seeds = 2", &row));
        assert!(error.contains(place) && error.contains(says), "{wrong}: {error}");
    }
}

#[test]
fn without_an_access_point_stations_in_range_have_links() {
    let ad_hoc = spoilt(
        "access-point = \"ap\"\nstations = [",
        "propagation = \"two-ray-ground\"\nstations = [\"ap\", ",
    );
    let scenario = read(&ad_hoc).expect("a right scenario");
    assert_eq!(scenario.links.len(), 1 + 3);
    // The laptop, 240 m from each of the others, is in range of both; they are not in range of each
    // other.
    let chain = ad_hoc.replace("\"10 m\"", "\"480 m\"").replace(
        "[nodes.laptop]\nkind = \"host\"",
        "[nodes.laptop]\nkind = \"host\"\nposition = [\"0 m\", \"240 m\"]",
    );
    let scenario = read(&chain).expect("a right scenario");
    let names: Vec<&str> = scenario.links.iter().map(crate::model::LinkModel::name).collect();
    assert_eq!(names, ["wire", "cell.ap.laptop", "cell.phone.laptop"]);
}

#[test]
fn a_rate_of_802_11n_ac_or_ax_has_from_the_cell_what_it_does_not_give() {
    let rate_of = |keys: &str| {
        let scenario = read(&spoilt("standard = \"802.11b\"", keys)).expect("a right scenario");
        let cell = &scenario.wlans[0];
        let rate = cell.stations[1].config.rate.unwrap_or(cell.config.phy.rate);
        let mcs = rate.mcs().expect("an MCS");
        let (width, guard) = (mcs.width().mhz(), mcs.guard_interval().nanos());
        (format!("{:?}", mcs.format()), mcs.index(), mcs.streams(), width, guard)
    };
    for (keys, format, index, streams, width, guard) in [
        ("standard = \"802.11n\"", "Ht", 7, 1, 20, 800),
        ("standard = \"802.11ac\"", "Vht", 9, 1, 80, 800),
        ("standard = \"802.11ac\"\nwidth = \"20 MHz\"", "Vht", 8, 1, 20, 800),
        ("standard = \"802.11ax\"\nstreams = 2\nguard-interval = \"1600 ns\"", "He", 11, 2, 80, 1600),
        ("standard = \"802.11n\"\nrate = \"MCS 15\"", "Ht", 7, 2, 20, 800),
        ("standard = \"802.11n\"\nwidth = \"40 MHz\"\nrate = \"MCS 3, 20 MHz, 400 ns\"", "Ht", 3, 1, 20, 400),
        ("standard = \"802.11ax\"\nexcept.phone.rate = \"HT MCS 7\"", "Ht", 7, 1, 40, 800),
        ("standard = \"802.11ax\"\nexcept.phone.rate = \"VHT MCS 8, 2 streams\"", "Vht", 8, 2, 80, 800),
    ] {
        assert_eq!(rate_of(keys), (format.to_owned(), index, streams, width, guard), "{keys}");
    }
}

#[test]
fn a_physical_layer_has_its_rates_and_no_others() {
    let standard = "standard = \"802.11b\"";
    check(&[
        (standard, "standard = \"802.11be\"", "15: wlans.cell.standard", "802.11ax"),
        (standard, "standard = \"802.11b\"\nrate = \"MCS 7\"", "16: wlans.cell.rate", "802.11b has no MCS"),
        (standard, "standard = \"802.11b\"\nstreams = 2", "16: wlans.cell.streams", "802.11n, ac and ax"),
        (standard, "standard = \"802.11n\"\nband = \"6 GHz\"", "16: wlans.cell.band", "not at 6 GHz"),
        (
            standard,
            "standard = \"802.11n\"\nwidth = \"80 MHz\"",
            "16: wlans.cell.width",
            "no channels of 80 MHz",
        ),
        (standard, "standard = \"802.11n\"\nrate = \"MCS 32\"", "16: wlans.cell.rate", "no MCS 32"),
        (
            standard,
            "standard = \"802.11n\"\nrate = \"MCS 15, 1 stream\"",
            "16: wlans.cell.rate",
            "has 2 streams",
        ),
        (standard, "standard = \"802.11n\"\nrate = \"VHT MCS 7\"", "16: wlans.cell.rate", "no VHT frames"),
        (standard, "standard = \"802.11n\"\nrate = \"MCS 7, 40 MHz\"", "16: wlans.cell.rate", "20 MHz"),
        (standard, "standard = \"802.11n\"\nrate = \"MCS 7, 7 MHz\"", "16: wlans.cell.rate", "such as"),
        (standard, "standard = \"802.11ac\"\nrate = \"MCS 9, 20 MHz\"", "16: wlans.cell.rate", "no MCS 9"),
        (standard, "standard = \"802.11n\"\nstreams = 5", "16: wlans.cell.streams", "at most 4 streams"),
        (
            standard,
            "standard = \"802.11n\"\nguard-interval = \"1600 ns\"",
            "16: wlans.cell.guard-interval",
            "400 ns",
        ),
        (
            standard,
            "standard = \"802.11ax\"\nbasic-rates = [\"MCS 0\"]",
            "16: wlans.cell.basic-rates[0]",
            "24 Mbit/s",
        ),
        (
            standard,
            "standard = \"802.11b\"\nrate = \"54 Mbit/s\"",
            "16: wlans.cell.rate",
            "54 Mbit/s is not a rate of 802.11b; expected one of 1, 2, 5.5, 11 Mbit/s",
        ),
        (standard, "standard = \"802.11a\"\nrate = \"11 Mbit/s\"", "16: wlans.cell.rate", "one of 6, 9, 12"),
        (
            standard,
            "standard = \"802.11b\"\nrate = \"7 Mbit/s\"",
            "16: wlans.cell.rate",
            "a rate of IEEE 802.11",
        ),
        (
            standard,
            "standard = \"802.11\"\nbasic-rates = [\"1 Mbit/s\", \"11 Mbit/s\"]",
            "16: wlans.cell.basic-rates[1]",
            "1, 2 Mbit/s",
        ),
        (standard, "standard = \"802.11b\"\nbasic-rates = []", "16: wlans.cell.basic-rates", "one or more"),
        (standard, "standard = \"802.11a\"\npreamble = \"short\"", "16: wlans.cell.preamble", "802.11g"),
        (
            standard,
            "standard = \"802.11b\"\ncarrier-sense-delay = \"21 us\"",
            "16: wlans.cell.carrier-sense-delay",
            "20 us",
        ),
        (
            standard,
            "standard = \"802.11b\"\ncts-to-self = true",
            "16: wlans.cell.cts-to-self",
            "only with 802.11g",
        ),
        (
            standard,
            "standard = \"802.11b\"\nexcept.phone.rate = \"54 Mbit/s\"",
            "16: wlans.cell.except.phone.rate",
            "not a rate of 802.11b",
        ),
        (
            standard,
            "standard = \"802.11b\"\nerrors.bit-error-rates = { \"7 Mbit/s\" = \"1%\" }",
            "16: wlans.cell.errors.bit-error-rates.\"7 Mbit/s\"",
            "a rate of IEEE 802.11",
        ),
    ]);
}

#[test]
fn a_number_out_of_range_is_refused() {
    let standard = "standard = \"802.11b\"";
    let with = |line: &str| format!("{standard}\n{line}");
    for (line, key, says) in [
        ("cw-min = 0", "cw-min", "1 to 32767"),
        ("cw-min = 31\ncw-max = 15", "cw-max", "31 to 32767"),
        ("short-retry-limit = 0", "short-retry-limit", "1 to 255"),
        ("long-retry-limit = 256", "long-retry-limit", "1 to 255"),
        ("llc-header = \"9 B\"", "llc-header", "0 B to 8 B"),
        ("llc-header = \"8\"", "llc-header", "16 KiB"),
        ("slot-time = \"0 s\"", "slot-time", "1 us to 1 ms"),
        ("sifs-time = \"1 s\"", "sifs-time", "1 us to 1 ms"),
        ("ack-timeout = \"1 s\"", "ack-timeout", "1 us to 10 ms"),
        ("queue = \"0 packets\"", "queue", "a packet or more"),
        ("queue = \"codle\"", "queue", "a discipline"),
        ("queue = \"codel\"\nscheduler = \"per-flow\"", "queue", "has an order of its own"),
        ("scheduler = \"airtime\"\nqueue = \"codel\"", "queue", "flow queues of its own"),
        ("scheduler = \"airtime\"\nqueue = \"0 packets\"", "queue", "room for a packet"),
        ("driver-queue = \"2 packets\"", "driver-queue", "has no effect"),
        ("scheduler = \"airtime\"\ndriver-queue = \"0 aggregates\"", "driver-queue", "one or more"),
        ("scheduler = \"airtime\"\ndriver-queue = \"2 kB\"", "driver-queue", "2 aggregates"),
        ("queue = \"codel\"\ndriver-queue = \"2 aggregates\"", "driver-queue", "requires `scheduler"),
        ("scheduler = { kind = \"fifo\", limits = \"none\" }", "scheduler.limits", "has no effect"),
        ("scheduler = { kind = \"airtime\", limits = { low = \"20 s\" } }", "scheduler.limits.low", "10 s"),
        (
            "scheduler = { kind = \"airtime\", limits = { kind = \"none\", low = \"1 ms\" } }",
            "scheduler.limits.low",
            "leave one of the two out",
        ),
        ("except.phone = { airtime-weight = 3 }", "except.phone.airtime-weight", "has no effect"),
        ("capture = {}", "capture", "distance"),
        ("errors.packet-error-rate = \"2\"", "errors.packet-error-rate", "0%"),
        ("errors.channel.good.mean = \"1 s\"", "errors.channel.bad.mean", "missing; expected the mean"),
        ("errors.channel.states = \"absent\"", "errors.channel.states", "cannot read the file"),
        ("propagation = { kind = \"ranges\" }", "propagation.reception", "missing"),
        ("propagation = { kind = \"ranges\", reception = \"0 m\" }", "propagation.reception", "above zero"),
        (
            "propagation = { kind = \"ranges\", reception = \"9 m\", carrier-sense = \"8 m\" }",
            "propagation.carrier-sense",
            "at least",
        ),
        (
            "propagation = { kind = \"everywhere\", reception = \"9 m\" }",
            "propagation.reception",
            "leave it out",
        ),
        (
            "propagation = { kind = \"two-ray-ground\", carrier-sense-threshold = \"0 dBm\" }",
            "propagation.carrier-sense-threshold",
            "at most",
        ),
        (
            "propagation = { kind = \"two-ray-ground\", antenna-height = \"0 m\" }",
            "propagation.antenna-height",
            "1 cm",
        ),
        (
            "propagation = { kind = \"two-ray-ground\", transmit-power = \"1\" }",
            "propagation.transmit-power",
            "dBm",
        ),
        ("propagation = \"nowhere\"", "propagation", "everywhere"),
    ] {
        let error = error(&spoilt(standard, &with(line)));
        assert!(error.contains(&format!(": wlans.cell.{key}: ")), "{line}: {error}");
        assert!(error.starts_with("x.toml:1"), "{line}: {error}");
        assert!(error.contains(says), "{line}: expected {says:?} in: {error}");
    }
}

#[test]
fn a_station_exists_once_and_in_range() {
    let stations = "stations = [\"phone\", \"laptop\"]";
    check(&[
        (stations, "stations = [\"phone\", \"moon\"]", "17: wlans.cell.stations[1]", "unknown node \"moon\""),
        (stations, "stations = [\"phone\", \"phone\"]", "17: wlans.cell.stations[1]", "twice"),
        (stations, "stations = [\"phone\", \"ap\"]", "17: wlans.cell.stations[1]", "twice"),
        (stations, "stations = []", "17: wlans.cell.stations", "1 to 5000"),
        (
            "access-point = \"ap\"",
            "access-point = \"pa\"",
            "16: wlans.cell.access-point",
            "unknown node \"pa\"",
        ),
        (
            "access-point = \"ap\"\nstations = [\"phone\", \"laptop\"]",
            "stations = [\"phone\"]",
            "16: wlans.cell.stations",
            "2 to 5000 without an access point",
        ),
        (
            stations,
            "stations = [\"phone\", \"laptop\"]\npropagation = { kind = \"ranges\", reception = \"9 m\" }",
            "17: wlans.cell.stations[0]",
            "\"phone\" is 10 m from the access point, out of its range",
        ),
        (
            "access-point = \"ap\"\nstations = [\"phone\", \"laptop\"]",
            "stations = [\"ap\", \"phone\", \"laptop\"]\npropagation = { kind = \"ranges\", reception = \"9 m\" }",
            "16: wlans.cell.stations[1]",
            "\"phone\" is out of range of all other stations",
        ),
        (
            stations,
            "stations = [\"phone\"]\nexcept.laptop = {}",
            "18: wlans.cell.except.laptop",
            "not a station",
        ),
        (
            stations,
            "stations = [\"phone\", \"laptop\"]\nlink-errors.x = { from = \"phone\", to = \"laptop\", errors = {} }",
            "18: wlans.cell.link-errors.x.to",
            "do not talk to each other",
        ),
        (
            stations,
            "stations = [\"phone\", \"laptop\"]\nlink-errors.x = { from = \"phone\", to = \"server\", errors = {} }",
            "18: wlans.cell.link-errors.x.to",
            "not a station of this cell",
        ),
        (
            "[wlans.cell]",
            "[wlans.first]\nstandard = \"802.11a\"\nstations = [\"ap\", \"phone\"]\n[wlans.cell]",
            "20: wlans.cell.stations",
            "joins these two",
        ),
    ]);
}

#[test]
fn a_position_is_two_numbers_with_a_unit() {
    let position = "position = [\"0 m\", \"10 m\"]";
    check(&[
        (position, "position = [\"0 m\", \"ten\"]", "8: nodes.phone.position[1]", "such as \"10 m\""),
        (position, "position = [\"0 m\", \"nan m\"]", "8: nodes.phone.position[1]", "such as \"10 m\""),
        (position, "position = [\"0 m\", \"99999 km\"]", "8: nodes.phone.position[1]", "1000 km"),
        (position, "position = [\"0 m\", 10]", "8: nodes.phone.position[1]", "such as \"10 m\""),
        (position, "position = [\"0 m\"]", "8: nodes.phone.position", "2"),
    ]);
}

#[test]
fn a_datagram_fits_into_a_frame() {
    let segment = "segment = \"1460 B\"";
    check(&[
        (segment, "segment = \"2265 B\"", "22: tcp.segment", "datagrams of 2305 octets"),
        (
            "seeds = 2",
            "schemes = [\"none\", { tcp.segment = \"4 kB\", label = \"big\" }]",
            "1: schemes[1].tcp.segment",
            "at most \"2264 B\"",
        ),
    ]);
    read(&spoilt(segment, "segment = \"2264 B\"")).expect("just small enough");
    // Paths over wires have no such limit.
    let wired = spoilt(
        "to = \"phone\"",
        "to = \"phone\"\n[flows.wired]\nfrom = \"server\"\nto = \"other\"\ntcp.segment = \"9 kB\"",
    );
    let wired = wired
        + "[nodes.other]\nkind = \"host\"\n[links.other]\nbetween = [\"ap\", \"other\"]\nrate = \"1 Mbit/s\"\n";
    read(&wired).expect("no cell on its way");
}
