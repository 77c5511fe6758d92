//! IEEE 802.11 cells in random scenario files: each is read, built and run. The same seed gives the
//! same trace, packets are conserved, and streams arrive as they were sent. With one wrong key, the
//! error has its file, line and key.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lasthop_config::FileError;
use lasthop_packet::Instant;
use lasthop_scenario::model::GivenRoute;
use lasthop_scenario::{Overrides, Scenario, SchemeChoice, file};
use lasthop_sim::observe::TraceHash;
use lasthop_sim::{Interest, Observer, TraceEvent};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

type Entry = (&'static str, String);

/// A scenario file: tables by name, the first without a name, and their keys, one per line.
#[derive(Clone, Debug)]
struct Document(Vec<(String, Vec<Entry>)>);

impl Document {
    fn text(&self) -> String {
        let mut text = String::new();
        for (table, entries) in &self.0 {
            if !table.is_empty() {
                writeln!(text, "[{table}]").expect("room in memory");
            }
            for (key, value) in entries {
                writeln!(text, "{key} = {value}").expect("room in memory");
            }
        }
        text
    }

    /// The text with a key set to a value, and the line of the key, from 1.
    fn spoilt(mut self, table: &str, key: &'static str, value: &str) -> (String, usize) {
        let mut line = 0;
        for (name, entries) in &mut self.0 {
            line += usize::from(!name.is_empty());
            if name == table {
                entries.retain(|(other, _)| *other != key);
                entries.push((key, value.to_owned()));
                line += entries.len();
                return (self.text(), line);
            }
            line += entries.len();
        }
        panic!("no table {table:?}");
    }
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

fn maybe<V: ToString>(
    key: &'static str,
    value: impl Strategy<Value = V> + 'static,
) -> BoxedStrategy<Option<Entry>> {
    option::of(value).prop_map(move |value| value.map(|value| (key, value.to_string()))).boxed()
}

const QUEUES: [&str; 8] = [
    "\"1 packet\"",
    "\"7 packets\"",
    "\"9 kB\"",
    "\"unlimited\"",
    "\"red\"",
    "{ discipline = \"codel\", limit = \"5 packets\", target = \"1 ms\", interval = \"5 ms\" }",
    "{ discipline = \"fq-codel\", flows = 2, target = \"1 ms\", interval = \"5 ms\" }",
    "{ discipline = \"fq-codel\", limit = \"5 packets\", ecn = false }",
];

const SCHEDULERS: [&str; 6] = [
    "\"fifo\"",
    "\"per-flow\"",
    "\"per-receiver\"",
    "\"airtime\"",
    "{ kind = \"airtime\", limits = \"none\" }",
    "{ kind = \"airtime\", limits = { low = \"1 ms\", high = \"2 ms\", threshold = \"3 ms\" } }",
];

/// Leaves out keys of queues that exclude each other, or power save.
fn without_contradictions(access: &mut Vec<Entry>, saves_power: bool) {
    let of = |access: &[Entry], key| {
        let found = access.iter().find(|(other, _)| *other == key);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let has_discipline =
        |access: &[Entry]| of(access, "queue").contains("discipline") || of(access, "queue").contains("red");
    let is_by_airtime = |access: &[Entry]| of(access, "scheduler").contains("airtime");
    if saves_power && has_discipline(access) {
        access.retain(|(key, _)| *key != "queue");
    }
    if saves_power && is_by_airtime(access) {
        access.retain(|(key, _)| *key != "scheduler");
    }
    let is_fq_codel = of(access, "queue").contains("fq-codel");
    if has_discipline(access) && !(is_by_airtime(access) && is_fq_codel) {
        access.retain(|(key, _)| *key != "scheduler");
    }
    let has_aggregates = of(access, "driver-queue").contains("aggregate");
    if !is_by_airtime(access) && (has_aggregates || !has_discipline(access)) {
        access.retain(|(key, _)| *key != "driver-queue");
    }
}

/// The keys of the physical layer and of the medium access control.
fn access() -> impl Strategy<Value = Vec<Entry>> {
    let slow = ["1 Mbit/s", "2 Mbit/s"];
    let standards = vec![
        ("802.11", slow.to_vec()),
        ("802.11b", [&slow[..], &["5.5 Mbit/s", "11 Mbit/s"]].concat()),
        ("802.11a", vec!["6 Mbit/s", "24 Mbit/s", "54 Mbit/s"]),
        ("802.11g", vec!["2 Mbit/s", "11 Mbit/s", "12 Mbit/s", "54 Mbit/s"]),
        ("802.11n", vec!["6 Mbit/s", "MCS 0", "MCS 7"]),
        ("802.11ac", vec!["HT MCS 3, 20 MHz", "MCS 8"]),
        ("802.11ax", vec!["24 Mbit/s", "MCS 2", "MCS 11"]),
    ];
    select(standards).prop_flat_map(|(standard, rates)| {
        let aggregates = rates.contains(&"MCS 7") || rates.contains(&"MCS 8") || rates.contains(&"MCS 11");
        let basic = if aggregates { vec!["6 Mbit/s", "24 Mbit/s"] } else { rates.clone() };
        let mut keys = vec![
            Just(Some(("standard", quoted(standard)))).boxed(),
            maybe("rate", select(rates).prop_map(quoted)),
            maybe("basic-rates", select(basic).prop_map(|rate| format!("[{}]", quoted(rate)))),
            maybe("rts-threshold", (0..2_500_u32).prop_map(|octets| quoted(format!("{octets} B")))),
            maybe("llc-header", (0..=8_u32).prop_map(|octets| quoted(format!("{octets} B")))),
            maybe("queue", select(QUEUES.to_vec())),
            maybe("scheduler", select(SCHEDULERS.to_vec())),
            maybe("driver-queue", select(vec!["1 aggregate", "2 packets", "unlimited"]).prop_map(quoted)),
            maybe("short-retry-limit", 1..=10_u32),
            maybe("long-retry-limit", 1..=10_u32),
            maybe("cw-min", 1..=63_u32),
            maybe("eifs", any::<bool>()),
            maybe("nav-reset", any::<bool>()),
            maybe("carrier-sense-delay", (0..=9_u32).prop_map(|us| quoted(format!("{us} us")))),
            maybe("ack-timeout", (1..1_000_u32).prop_map(|us| quoted(format!("{us} us")))),
            maybe("link-options", any::<bool>()),
            maybe("options-probe-interval", (1..2_000_u32).prop_map(|ms| quoted(format!("{ms} ms")))),
            maybe("errors", errors()),
        ];
        if ["802.11b", "802.11g"].contains(&standard) {
            keys.push(maybe("preamble", select(vec!["long", "short"]).prop_map(quoted)));
        }
        if aggregates {
            let kinds = [
                "\"none\"",
                "\"block-ack\"",
                "{ amsdu = \"3839 B\" }",
                "{ ampdu = \"0 B\", amsdu = \"3839 B\" }",
                "{ ampdu = \"9 kB\", block-ack-window = 4, ppdu-duration = \"2 ms\" }",
            ];
            keys.push(maybe("aggregation", select(kinds.to_vec())));
        }
        if standard == "802.11g" {
            keys.push(maybe("cts-to-self", any::<bool>()));
        }
        keys.prop_map(|keys| keys.into_iter().flatten().collect())
    })
}

fn errors() -> impl Strategy<Value = String> {
    let percent = |key: &'static str, most: f64| {
        maybe(key, (0.0..most).prop_map(|percent| quoted(format!("{percent:.6}%"))))
    };
    let channel = (1..500_u32, 0..200_u32)
        .prop_map(|(good, bad)| format!("{{ good.mean = \"{good} ms\", bad.mean = \"{bad} ms\" }}"));
    let keys = vec![
        percent("packet-error-rate", 40.0),
        percent("bit-error-rate", 0.01),
        maybe("control-frames", any::<bool>()),
        maybe("channel", channel),
    ];
    keys.prop_map(|keys| {
        let keys: Vec<_> =
            keys.into_iter().flatten().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", keys.join(", "))
    })
}

/// Nodes and the wire, if any; the keys of the cell's topology and propagation; the hosts.
#[derive(Clone, Debug)]
struct Network {
    tables: Vec<(String, Vec<Entry>)>,
    cell: Vec<Entry>,
    hosts: Vec<String>,
}

fn node(name: &str, kind: &str, (x, y): (f64, f64)) -> (String, Vec<Entry>) {
    let position = format!("[\"{x:.2} m\", \"{y:.2} m\"]");
    (format!("nodes.{name}"), vec![("kind", quoted(kind)), ("position", position)])
}

/// Stations within 95 m of an access point, some of them hidden from each other, and a server that
/// is wired to it.
fn infrastructure() -> impl Strategy<Value = Network> {
    let place = (0.0..95.0, 0.0..std::f64::consts::TAU)
        .prop_map(|(radius, angle)| (radius * libm::cos(angle), radius * libm::sin(angle)));
    let propagation = prop_oneof![
        Just("\"everywhere\"".to_owned()),
        Just("\"two-ray-ground\"".to_owned()),
        (100..260_u32).prop_map(|sensed| format!(
            "{{ kind = \"ranges\", reception = \"100 m\", carrier-sense = \"{sensed} m\" }}"
        )),
    ];
    let capture = option::of((1..20_u32, any::<bool>()));
    (vec(place, 1..7), propagation, capture, option::of(power_save())).prop_map(
        |(places, propagation, capture, power_save)| {
            let mut tables = vec![node("ap", "router", (0.0, 0.0)), node("server", "host", (0.0, 0.0))];
            let stations: Vec<String> = (0..places.len()).map(|number| format!("station{number}")).collect();
            tables.extend(stations.iter().zip(places).map(|(name, place)| node(name, "host", place)));
            let wire = vec![
                ("between", "[\"server\", \"ap\"]".to_owned()),
                ("rate", quoted("20 Mbit/s")),
                ("delay", quoted("3 ms")),
            ];
            tables.push(("links.wire".to_owned(), wire));
            let mut cell = vec![
                ("access-point", quoted("ap")),
                ("stations", format!("{stations:?}")),
                ("propagation", propagation.clone()),
            ];
            if let Some((threshold, later)) = capture.filter(|_| !propagation.contains("everywhere")) {
                let capture = format!("{{ threshold = \"{threshold} dB\", later-frames = {later} }}");
                cell.push(("capture", capture));
            }
            cell.extend(power_save.map(|table| ("power-save", table)));
            Network { tables, cell, hosts: [vec!["server".to_owned()], stations].concat() }
        },
    )
}

/// Power save of all stations or of the first one.
fn power_save() -> impl Strategy<Value = String> {
    let keys = vec![
        maybe("beacon-interval", (5..300_u32).prop_map(|ms| quoted(format!("{ms} ms")))),
        maybe("dtim-period", 1..=3_u32),
        maybe("listen-interval", 1..=3_u32),
        maybe("receive-dtims", any::<bool>()),
        maybe("stations", Just("[\"station0\"]")),
        maybe("buffer", select(vec!["1 packet", "7 packets", "9 kB", "unlimited"]).prop_map(quoted)),
        maybe("ageing", (0..2_000_u32).prop_map(|ms| quoted(format!("{ms} ms")))),
    ];
    keys.prop_map(|keys| {
        let keys: Vec<_> =
            keys.into_iter().flatten().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", keys.join(", "))
    })
}

/// A string of stations, each in range of its neighbors only; those in the middle relay.
fn string() -> impl Strategy<Value = Network> {
    (2..6_usize, 60.0..100.0, 100..320_u32).prop_map(|(count, spacing, sensed)| {
        let names: Vec<String> = (0..count).map(|number| format!("station{number}")).collect();
        let kind = |number| if number == 0 || number == count - 1 { "host" } else { "router" };
        let place = |number: usize| (number as f64 * spacing, 0.0);
        let tables = names.iter().enumerate();
        let tables = tables.map(|(number, name)| node(name, kind(number), place(number))).collect();
        let propagation =
            format!("{{ kind = \"ranges\", reception = \"100 m\", carrier-sense = \"{sensed} m\" }}");
        let cell = vec![("stations", format!("{names:?}")), ("propagation", propagation)];
        Network { tables, cell, hosts: vec![names[0].clone(), names[count - 1].clone()] }
    })
}

/// The keys of a flow, without its ends.
fn flow() -> impl Strategy<Value = Vec<Entry>> {
    let transfer = (1..300_u32, flavour(), any::<bool>()).prop_map(|(kilobytes, tcp, handshake)| {
        let opening = if handshake { "handshake" } else { "established" };
        vec![("size", quoted(format!("{kilobytes} kB"))), ("tcp", tcp), ("opening", quoted(opening))]
    });
    let beat = (1..60_u32, 1..1_473_u32)
        .prop_map(|(ms, octets)| format!("interval = \"{ms} ms\", message = \"{octets} B\""));
    let application = prop_oneof![
        (100..1_473_u32).prop_map(|octets| format!("{{ kind = \"bulk\", message = \"{octets} B\" }}")),
        beat.clone().prop_map(|beat| format!("{{ kind = \"cbr\", {beat}, jitter = \"1 ms\" }}")),
        (beat, 1..900_u32, 0..900_u32).prop_map(|(beat, on, off)| format!(
            "{{ kind = \"on-off\", {beat}, on = {{ mean = \"{on} ms\" }}, off = {{ mean = \"{off} ms\" }} }}"
        )),
    ];
    let datagrams =
        application.prop_map(|application| vec![("transport", quoted("udp")), ("application", application)]);
    let start = (0..1_000_u32).prop_map(|ms| ("start", quoted(format!("{ms} ms"))));
    (prop_oneof![transfer, datagrams], start).prop_map(|(mut keys, start)| {
        keys.push(start);
        keys
    })
}

fn flavour() -> impl Strategy<Value = String> {
    let congestion = select(vec!["reno", "reno-abc", "vegas", "westwood", "cubic"]);
    let recovery = select(vec!["tahoe", "reno", "newreno", "sack"]);
    let acks = select(vec!["every-segment", "delayed", "dyndelack"]);
    (congestion, recovery, acks, 100..1_461_u32).prop_map(|(congestion, recovery, acks, segment)| {
        format!(
            "{{ congestion = \"{congestion}\", recovery = \"{recovery}\", acks = \"{acks}\", segment = \"{segment} B\" }}"
        )
    })
}

fn document() -> impl Strategy<Value = Document> {
    let network = prop_oneof![2 => infrastructure().boxed(), 1 => string().boxed()];
    let flows = vec((flow(), any::<usize>(), any::<usize>()), 0..6);
    (access(), network, flows, any::<bool>()).prop_map(|(access, network, flows, stops)| {
        let Network { tables, cell, hosts } = network;
        let mut access = access;
        without_contradictions(&mut access, cell.iter().any(|(key, _)| *key == "power-save"));
        if cell.iter().any(|(key, _)| *key == "power-save") {
            access.retain(|(key, _)| *key != "aggregation");
        }
        // Where frames are aggregated they have no options.
        let of = |key| access.iter().find(|(other, _)| *other == key).map(|(_, value)| value.as_str());
        let is_of_today = of("standard").is_some_and(|it| it.len() > "\"802.11b\"".len() || it.contains('n'));
        let aggregates = is_of_today && of("aggregation") != Some("\"none\"");
        let schemes =
            if aggregates { "[\"none\", \"lle-tcp\"]" } else { "[\"none\", \"lle-tcp\", \"c3tcp\"]" };
        let root = vec![
            ("duration", quoted("3 s")),
            ("seeds", "1".to_owned()),
            ("stop-when-done", stops.to_string()),
            ("schemes", schemes.to_owned()),
        ];
        let mut all = vec![(String::new(), root)];
        all.extend(tables);
        all.push(("wlans.cell".to_owned(), [access, cell].concat()));
        // The first is always a transfer with the settings of all.
        let first = (vec![("size", quoted("40 kB"))], 0, 0);
        for (number, (keys, from, shift)) in std::iter::once(first).chain(flows).enumerate() {
            let from = from % hosts.len();
            let to = (from + 1 + shift % (hosts.len() - 1)) % hosts.len();
            let ends = vec![("from", quoted(&hosts[from])), ("to", quoted(&hosts[to]))];
            all.push((format!("flows.flow{number}"), [ends, keys].concat()));
        }
        all.push(("tcp".to_owned(), vec![("window", quoted("32 KiB")), ("segment", quoted("1000 B"))]));
        Document(all)
    })
}

fn read(text: &str) -> Result<Scenario, FileError> {
    file::parse(text, "random.toml", Path::new("."), &Overrides::default())
}

/// What has happened in a run.
#[derive(Debug, PartialEq)]
struct Trace {
    /// The hash of its events in their order.
    ordered: u64,
    /// The sum of the hashes of its events with their times, whatever the order of those at the same time.
    unordered: u64,
    /// The outcomes of its flows.
    outcomes: String,
}

#[derive(Default)]
struct Hashes(Arc<Mutex<(TraceHash, u64)>>);

impl Observer for Hashes {
    fn interest(&self) -> Interest {
        TraceHash::new().interest()
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let mut alone = TraceHash::new();
        alone.on_event(now, event);
        let mut all = self.0.lock().expect("no panic while it was locked");
        all.0.on_event(now, event);
        all.1 = all.1.wrapping_add(alone.value());
    }
}

/// Runs a scenario and checks the invariants.
fn run(scenario: &Scenario, scheme: &SchemeChoice, seed: u64) -> Result<Trace, TestCaseError> {
    prop_assert_eq!(scenario.check(scheme, seed), Ok(()));
    let mut built = scenario.build(scheme, seed).expect("it has been checked");
    let world = &mut built.world;
    let hashes = Hashes::default();
    world.observe(Box::new(Hashes(Arc::clone(&hashes.0))));
    for step in 1..=12 {
        world.run(Instant::from_millis(250 * step), scenario.stop_when_done);
        prop_assert!(world.accounts().balance(), "{:?}", world.accounts());
    }
    let mut outcomes = String::new();
    for flow in built.flows {
        let outcome = world.outcome(flow);
        prop_assert!(outcome.intact, "{outcome:?}");
        prop_assert!(world.flow(flow).size().is_none_or(|size| outcome.octets <= size), "{outcome:?}");
        if let Some(udp) = outcome.udp() {
            prop_assert_eq!(udp.received + udp.lost + udp.in_transit, udp.sent);
        }
        write!(outcomes, "{outcome:?}").expect("room in memory");
    }
    let (ordered, unordered) = &*hashes.0.lock().expect("no panic while it was locked");
    Ok(Trace { ordered: ordered.value(), unordered: *unordered, outcomes })
}

/// Checks that `check` and `build` agree if one of the links is missing, with or without a static
/// route.
fn spoilt_networks(scenario: &Scenario, seed: u64) -> Result<(), TestCaseError> {
    for gone in 0..scenario.links.len() {
        let mut spoilt = scenario.clone();
        let link = spoilt.links.remove(gone);
        let (node, destination) = link.ends;
        for routes in
            [vec![], spoilt.links.iter().position(|other| other.ends.0 == node).into_iter().collect()]
        {
            spoilt.routes = routes.into_iter().map(|link| GivenRoute { node, destination, link }).collect();
            for scheme in &spoilt.schemes {
                prop_assert_eq!(spoilt.check(scheme, seed), spoilt.build(scheme, seed).map(drop));
            }
        }
    }
    Ok(())
}

/// Tables, their keys, and invalid values.
const WRONG: [(&str, &str, &str); 28] = [
    ("", "duration", "\"long\""),
    ("", "seeds", "0"),
    ("", "schemes", "[\"snooop\"]"),
    ("", "stop-when-finished", "true"),
    ("wlans.cell", "standard", "\"802.11be\""),
    ("wlans.cell", "stations", "[\"nobody\", \"none\"]"),
    ("wlans.cell", "rate", "\"7 Mbit/s\""),
    ("wlans.cell", "basic-rates", "[]"),
    ("wlans.cell", "preamble", "\"medium\""),
    ("wlans.cell", "queue", "\"0 packets\""),
    ("wlans.cell", "rts-threshold", "500"),
    ("wlans.cell", "rts-treshold", "\"500 B\""),
    ("wlans.cell", "llc-header", "\"9 B\""),
    ("wlans.cell", "short-retry-limit", "0"),
    ("wlans.cell", "long-retry-limit", "256"),
    ("wlans.cell", "cw-min", "0"),
    ("wlans.cell", "slot-time", "\"0 s\""),
    ("wlans.cell", "ack-timeout", "\"1 s\""),
    ("wlans.cell", "options-probe-interval", "\"0 s\""),
    ("wlans.cell", "propagation", "\"nowhere\""),
    ("wlans.cell", "errors", "{ packet-error-rate = \"101%\" }"),
    ("flows.flow0", "to", "\"nobody\""),
    ("flows.flow0", "start", "\"soon\""),
    ("flows.flow0", "application", "\"film\""),
    ("flows.flow0", "transport", "\"sctp\""),
    ("tcp", "segment", "\"3 kB\""),
    ("tcp", "window", "\"wide\""),
    ("tcp", "congestion", "\"fast\""),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_random_cell_is_read_and_built_and_keeps_the_laws(document in document(), seed in any::<u64>()) {
        let text = document.text();
        let scenario = read(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        spoilt_networks(&scenario, seed)?;
        for scheme in &scenario.schemes {
            let (first, second) = (run(&scenario, scheme, seed)?, run(&scenario, scheme, seed)?);
            prop_assert_eq!(first, second, "{}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_capture_that_never_happens_leaves_a_run_as_it_is(document in document(), seed in any::<u64>()) {
        let text = document.text();
        // No two stations are more than 190 m apart, at which a signal is 91 dB below that at one
        // meter.
        let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("capture =")).collect();
        let with: Vec<String> = without.iter().map(|line| {
            let has_powers = line.starts_with("propagation =") && !line.contains("everywhere");
            format!("{line}\n{}", if has_powers { "capture = { threshold = \"100 dB\" }" } else { "" })
        }).collect();
        let [without, with] = [without.join("\n"), with.join("\n")].map(|text| read(&text));
        let (without, with) = (without.expect("nothing else has changed"), with.expect("a right threshold"));
        for scheme in &without.schemes {
            let (without, with) = (run(&without, scheme, seed)?, run(&with, scheme, seed)?);
            // A packet may reach a node from the wire at the very end of an exchange. Which comes first depends on
            // whether the exchange was settled when it began: with capture it is not.
            prop_assert_eq!((without.unordered, without.outcomes), (with.unordered, with.outcomes), "{}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_spoilt_key_is_named_with_its_line(document in document(), (table, key, value) in select(&WRONG[..])) {
        let (text, line) = document.spoilt(table, key, value);
        let error = read(&text).expect_err(&text);
        let named = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
        prop_assert!(error.key.starts_with(&named), "{named}: {error}\n{text}");
        prop_assert_eq!((error.file.as_str(), error.line), ("random.toml", Some(line)), "{}\n{}", error, text);
        prop_assert!(error.problem.len() > 10, "{}", error);
    }
}
