//! Queues of links: limits, disciplines and their settings.

use std::path::PathBuf;
use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::queue::{CoDelConfig, FqCoDelConfig, RedConfig, Thresholds};
use lasthop_sim::world::{Change, LinkDirection};
use lasthop_sim::{Direction, Discipline, QueueConfig, QueueLimit};

use super::{GOOD, check, read};
use crate::file::{FurtherFiles, Overrides, Settings};
use crate::model::{Link, Scenario};

/// The first link's two directions with these lines in its table.
fn directions(lines: &str) -> [Direction; 2] {
    let text = GOOD.replacen("rate = \"10 Mbit/s\"", &format!("rate = \"10 Mbit/s\"\n{lines}"), 1);
    let scenario: Scenario = read(&text).unwrap_or_else(|error| panic!("{lines}: {error}"));
    match &scenario.links[0].link {
        Link::Wired(config) => [config.forward.clone(), config.backward.clone()],
        _ => panic!("the first one is wired"),
    }
}

fn queue(value: &str) -> QueueConfig {
    directions(&format!("queue = {value}"))[0].queue
}

#[test]
fn a_discipline_alone_has_the_defaults_of_its_source() {
    let packets = QueueLimit::Packets;
    for (value, limit, discipline) in [
        ("\"7 packets\"", packets(7), Discipline::DropTail),
        ("\"drop-tail\"", packets(100), Discipline::DropTail),
        ("{ discipline = \"drop-tail\", limit = \"9 kB\" }", QueueLimit::Octets(9000), Discipline::DropTail),
        ("\"red\"", packets(100), Discipline::Red(RedConfig::default())),
        ("\"codel\"", packets(1000), Discipline::CoDel(CoDelConfig::default())),
        ("\"fq-codel\"", packets(10_240), Discipline::FqCoDel(FqCoDelConfig::default())),
        (
            "{ discipline = \"codel\", limit = \"unlimited\" }",
            QueueLimit::Unlimited,
            Discipline::CoDel(CoDelConfig::default()),
        ),
    ] {
        assert_eq!(queue(value), QueueConfig { limit, discipline }, "{value}");
    }
}

#[test]
fn a_limit_needs_no_space_and_may_have_an_exponent_as_all_quantities() {
    let (packets, octets) = (QueueLimit::Packets, QueueLimit::Octets);
    for (value, limit) in [
        ("50packets", packets(50)),
        ("1 packet", packets(1)),
        (" 7  packets ", packets(7)),
        ("1e3 kB", octets(1_000_000)),
        ("1.5e1KiB", octets(15_360)),
    ] {
        assert_eq!(queue(&format!("\"{value}\"")).limit, limit, "{value}");
    }
}

#[test]
fn every_setting_reaches_the_model() {
    let codel = queue("{ discipline = \"codel\", target = \"10 ms\", interval = \"200 ms\", ecn = true }");
    let expected =
        CoDelConfig { target: Duration::from_millis(10), interval: Duration::from_millis(200), ecn: true };
    assert_eq!(codel.discipline, Discipline::CoDel(expected));

    let fq_codel = queue(
        "{ discipline = \"fq-codel\", flows = 8, quantum = \"300 B\", memory-limit = \"1 MiB\", ecn = false, target = \"1 ms\" }",
    );
    let codel = CoDelConfig { target: Duration::from_millis(1), ..CoDelConfig::default() };
    let expected = FqCoDelConfig { codel, flows: 8, quantum: 300, memory_limit: 1 << 20 };
    assert_eq!(fq_codel.discipline, Discipline::FqCoDel(expected));

    let red = queue(
        "{ discipline = \"red\", min = \"30 kB\", max = \"90 kB\", max-probability = \"2%\", weight = 0.01, gentle = false, mean-packet = \"1000 B\", ecn = true }",
    );
    let expected = RedConfig {
        thresholds: Thresholds::Octets(30_000, 90_000),
        max_probability: Probability::new(0.02).expect("a probability"),
        weight: 0.01,
        gentle: false,
        mean_packet: 1000,
        ecn: true,
    };
    assert_eq!(red.discipline, Discipline::Red(expected));
}

#[test]
fn a_direction_may_have_its_own_queue() {
    let [forward, backward] = directions("queue = \"9 packets\"\nbackward = { queue = \"codel\" }");
    assert_eq!(forward.queue, QueueLimit::Packets(9).into());
    assert_eq!(backward.queue.discipline, Discipline::CoDel(CoDelConfig::default()));
}

#[test]
fn the_error_about_a_queue_has_its_place_and_the_expected_value() {
    let with = |queue: &str| format!("rate = \"2 Mbit/s\"\nqueue = {queue}");
    let wrong = [
        ("\"pie\"", "queue", "a discipline (\"drop-tail\", \"red\", \"codel\", \"fq-codel\")"),
        ("{ discipline = \"pie\" }", "queue.discipline", "\"drop-tail\", \"red\", \"codel\", \"fq-codel\""),
        ("{ limit = \"5 packets\" }", "queue.discipline", "missing"),
        ("{ discipline = \"codel\", limit = \"5\" }", "queue.limit", "50 packets"),
        ("{ discipline = \"codel\", flows = 5 }", "queue.flows", "has no effect"),
        ("{ discipline = \"fq-codel\", min = \"5 packets\" }", "queue.min", "has no effect"),
        ("{ discipline = \"drop-tail\", ecn = true }", "queue.ecn", "has no effect"),
        ("{ discipline = \"codel\", target = \"0 s\" }", "queue.target", "1 us to 10 s"),
        ("{ discipline = \"codel\", interval = \"1 ms\" }", "queue.interval", "5 ms to 100 s"),
        ("{ discipline = \"fq-codel\", flows = 0 }", "queue.flows", "1 to 65536"),
        ("{ discipline = \"fq-codel\", quantum = \"100 B\" }", "queue.quantum", "256 B to"),
        ("{ discipline = \"fq-codel\", memory-limit = \"1 B\" }", "queue.memory-limit", "expected"),
        ("{ discipline = \"red\", min = \"20 packets\" }", "queue.min", "above `min`"),
        ("{ discipline = \"red\", max = \"3 packets\" }", "queue.max", "above `min`"),
        ("{ discipline = \"red\", min = \"unlimited\" }", "queue.min", "both in packets"),
        ("{ discipline = \"red\", max = \"20 kB\" }", "queue.max", "both in packets"),
        ("{ discipline = \"red\", max-probability = \"0%\" }", "queue.max-probability", "more than"),
        ("{ discipline = \"red\", weight = 0.0 }", "queue.weight", "above 0, at most 1"),
        ("{ discipline = \"red\", weight = nan }", "queue.weight", "above 0, at most 1"),
        ("{ discipline = \"red\", mean-packet = \"1 MB\" }", "queue.mean-packet", "expected"),
    ];
    for (queue, key, expected) in wrong {
        let place = format!("16: links.air.{key}");
        check(&[("rate = \"2 Mbit/s\"", &with(queue), &place, expected)]);
    }
}

#[test]
fn settings_of_a_discipline_change_while_the_link_is_in_use() {
    let text = GOOD.replacen("rate = \"10 Mbit/s\"", "rate = \"10 Mbit/s\"\nqueue = \"codel\"", 1);
    let mut settings =
        Settings::parse(text, "x.toml".to_owned(), PathBuf::new(), &Overrides::default()).expect("good");
    let value = "{ discipline = \"codel\", target = \"15 ms\" }";
    let before = settings.set(&[("wire.forward.queue", value)], FurtherFiles::None).expect("a good value");
    let changes = before.changes_of_links(settings.scenario());
    let [(0, LinkDirection::Forward, Change::Queue(queue))] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    let codel = CoDelConfig { target: Duration::from_millis(15), ..CoDelConfig::default() };
    assert_eq!(queue.discipline, Discipline::CoDel(codel));
    settings.set(&[("wire.forward.queue.target", "20 ms")], FurtherFiles::None).expect("a key of its table");
    let wrong = settings.set(&[("wire.queue", "{ discipline = \"codel\", flows = 3 }")], FurtherFiles::None);
    assert!(wrong.map(drop).expect_err("no flows").to_string().contains("has no effect"));
}

#[test]
fn the_queue_keys_of_a_link_change_its_queues() {
    const CELL: &str = r#"
[nodes.server]
kind = "host"
[nodes.ap]
kind = "router"
[nodes.phone]
kind = "host"
count = 2
[nodes.tablet]
kind = "host"
count = 2
[links.wire]
between = ["server", "ap"]
rate = "10 Mbit/s"
[links.air]
between = ["ap", "phone"]
rate = "1 Mbit/s"
forward.queue = "unlimited"
[wlans.cell]
standard = "802.11b"
access-point = "ap"
stations = ["tablet"]
except.tablet = { queue = "9 packets" }
[flows.down]
from = "server"
to = "phone"
"#;
    let scenario = read(CELL).expect("a right scenario");
    let keys: Vec<_> =
        scenario.links.iter().flat_map(|link| link.queue_keys.clone().expect("a file")).collect();
    assert_eq!(keys[..2], ["links.wire.queue", "links.wire.queue"]);
    for member in 1..=2 {
        assert_eq!(keys[2 * member..][..2], ["links.air.forward.queue", "links.air.queue"]);
        assert_eq!(keys[4 + 2 * member..][..2], ["wlans.cell.queue", "wlans.cell.except.tablet.queue"]);
    }
    for key in keys {
        let settings = vec![format!("{key}=3 packets")];
        let overrides = Overrides { settings, ..Overrides::default() };
        let read = crate::file::parse(CELL, "x.toml", std::path::Path::new("."), &overrides);
        assert!(read.is_ok(), "{key}: {}", read.err().map(|error| error.to_string()).unwrap_or_default());
    }
}
