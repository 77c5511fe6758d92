//! Links that reset or refuse TCP connections.

use std::path::PathBuf;
use std::time::Duration;

use lasthop_sim::Cut;
use lasthop_sim::world::{Change, LinkDirection};

use super::{error, read};
use crate::file::{FurtherFiles, Overrides, Settings};

const CUTS: &str = r#"
duration = "60 s"
nodes.a.kind = "external"
nodes.b.kind = "external"
[links.hop]
between = ["a", "b"]
rate = "1 Mbit/s"
connections = "reset after 5 s"
[[changes]]
at = "2 s"
set = { "links.hop.connections" = "reset" }
[[changes]]
at = "3 s"
set = { "links.hop.loss" = "1%" }
[[changes]]
at = "4 s"
set = { "links.hop.connections" = "reset" }
[[changes]]
at = "6 s"
set = { "links.hop.connections" = "refused" }
[[changes]]
at = "7 s"
set = { "links.hop.connections" = "reset after 1 MB" }
"#;

#[test]
fn a_link_cuts_connections_from_the_start_or_by_changes_and_each_reset_is_separate() {
    let scenario = read(CUTS).expect("a good file");
    assert_eq!(scenario.links[0].cut, Cut::AfterTime(Duration::from_secs(5)));
    let links = scenario.build(&scenario.schemes[0], 1).expect("it can run").links;
    // A row without loss also has resets, because they are not loss.
    let planned = scenario.planned_changes(&links, true);
    let planned: Vec<_> = planned.iter().map(|of| (of.at.as_millis(), of.way, of.change.clone())).collect();
    let cut = |at, cut| (at, LinkDirection::Both, Change::Cut(cut));
    let expected = [
        cut(2000, Cut::Standing),
        cut(4000, Cut::Standing),
        cut(6000, Cut::Opening),
        cut(7000, Cut::AfterOctets(1_000_000)),
    ];
    assert_eq!(planned, expected);

    let repeated = CUTS.replacen("at = \"2 s\"", "at = \"every 10 s for 1 s\"", 1);
    let scenario = read(&repeated).expect("a good file");
    let planned = scenario.planned_intervals(&links, true);
    let [planned] = planned.as_slice() else { panic!("{planned:?}") };
    assert_eq!(planned.within, Change::Cut(Cut::Standing));
    assert_eq!(planned.outside, Change::Cut(Cut::AfterTime(Duration::from_secs(5))));

    for (from, to, says) in [
        ("\"reset after 5 s\"", "\"cut\"", "is not \"kept\", \"reset\" (those that stand now)"),
        ("\"reset after 5 s\"", "5", "expected \"kept\", \"reset\""),
        ("\"reset after 5 s\"", "\"reset after 0 s\"", "expected above 0"),
        ("\"links.hop.connections\"", "\"links.hop.forward.connections\"", "unknown"),
    ] {
        let message = error(&CUTS.replacen(from, to, 1));
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn setting_reset_again_resets_again_and_other_keys_do_not() {
    let text = CUTS[..CUTS.find("[[changes]]").expect("it has some")].to_owned();
    let mut settings = Settings::parse(text, "x.toml".to_owned(), PathBuf::new(), &Overrides::default())
        .expect("a good file");
    let mut changes = |key: &str, value: &str| {
        let before = settings.set(&[(key, value)], FurtherFiles::None).expect("good values");
        before
            .changes_of_links(settings.scenario())
            .into_iter()
            .map(|(.., change)| change)
            .collect::<Vec<_>>()
    };
    for (value, cut) in [
        ("reset", Cut::Standing),
        ("reset", Cut::Standing),
        ("refused", Cut::Opening),
        ("kept", Cut::None),
        ("reset", Cut::Standing),
    ] {
        assert_eq!(changes("hop.connections", value), [Change::Cut(cut)]);
        assert_eq!(changes("hop.connections", value).len(), usize::from(cut == Cut::Standing));
        assert_eq!(changes("hop.delay", "1 ms").len() + changes("hop.delay", "2 ms").len(), 4);
    }
}
