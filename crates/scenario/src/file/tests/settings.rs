//! Keys that are set while a scenario runs, and files with external nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::world::{Change, LinkDirection};
use lasthop_sim::{Delay, Distribution, Loss, NodeKind, Order};

use super::{GOOD, check, error, read};
use crate::file::{FurtherFiles, Overrides, Settings};
use crate::model::Link;

fn settings() -> Settings {
    Settings::parse(GOOD.to_owned(), "x.toml".to_owned(), PathBuf::new(), &Overrides::default())
        .expect("a good file")
}

#[test]
fn settings_become_changes_of_links() {
    let mut settings = settings();
    let before = settings
        .set(&[("air.rate", "5 Mbit/s"), ("air.forward.loss", "2%")], FurtherFiles::None)
        .expect("good values");
    let changes = before.changes_of_links(settings.scenario());
    let [
        (1, LinkDirection::Forward, Change::Capacity(_)),
        (1, LinkDirection::Forward, Change::Loss(loss)),
        (1, LinkDirection::Backward, Change::Capacity(_)),
    ] = changes.as_slice()
    else {
        panic!("{changes:?}")
    };
    assert_eq!(*loss, Loss::from(Probability::new(0.02).expect("a probability")));

    let before = settings
        .set(&[("wire.delay", "\"7 ms\""), ("wire.jitter", "1 ms")], FurtherFiles::None)
        .expect("good values");
    let changes = before.changes_of_links(settings.scenario());
    let [
        (0, LinkDirection::Forward, Change::Delay(forward)),
        (0, LinkDirection::Backward, Change::Delay(backward)),
    ] = changes.as_slice()
    else {
        panic!("{changes:?}")
    };
    let [min, max] = [6, 8].map(Duration::from_millis);
    assert_eq!((forward, forward), (backward, &Distribution::Uniform { min, max }.into()));
    let channel = "{ good = { mean = \"1 s\" }, bad = { mean = \"0 s\" } }";
    let before = settings
        .set(&[("air.channel", channel), ("air.queue", "7 packets")], FurtherFiles::None)
        .expect("good values");
    assert_eq!(before.changes_of_links(settings.scenario()).len(), 3, "what was set before stays");
}

const CHANGES: &str = r#"
[[changes]]
at = "5 s"
set = { "links.air.loss" = "100%", "links.wire.delay" = { distribution = "exponential", mean = "3 ms" } }
[[changes]]
at = "1 s"
set = { "links.air.rate" = "1 Mbit/s" }
[[changes]]
at = "9 s"
set = { "links.air.loss" = "100%", "links.wire.jitter" = "1 ms", "links.wire.delay" = "4 ms" }
"#;

fn parse(text: &str, overrides: &Overrides) -> Settings {
    Settings::parse(text.to_owned(), "x.toml".to_owned(), PathBuf::new(), overrides)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn past_changes_are_part_of_the_links() {
    let mut settings = parse(&format!("{GOOD}{CHANGES}"), &Overrides::default());
    let planned = settings.scenario().changes.clone();

    assert!(settings.pass(Duration::from_millis(999)).is_empty());
    let passed = settings.pass(Duration::from_secs(5));
    let keys: Vec<&str> = passed.iter().map(|(key, _)| key.as_str()).collect();
    let in_order = ["links.air.rate", "links.air.loss", "links.wire.delay"];
    assert_eq!(keys, in_order, "in order of time, then of names");
    assert!(settings.pass(Duration::from_secs(6)).is_empty(), "once");

    // The file has no loss at the start. Setting none is now a change, and so is the next change,
    // which has the value of the previous one.
    let before = settings.set(&[("air.loss", "0%")], FurtherFiles::None).expect("a good value");
    for (index, link) in before.links.iter().enumerate() {
        let last = planned.iter().rfind(|change| change.link == index && change.at.as_secs() <= 5);
        assert_eq!(format!("{link:?}"), format!("{:?}", last.expect("it was changed").model));
    }
    let changes = before.changes_of_links(settings.scenario());
    assert!(matches!(changes[..], [(1, _, Change::Loss(_)), (1, _, Change::Loss(_))]), "{changes:?}");
    let links = settings.scenario().build(&settings.scenario().schemes[0], 1).expect("it can run").links;
    let planned = settings.scenario().planned_changes(&links, false);
    let losses = planned.iter().filter(|planned| matches!(planned.change, Change::Loss(_)));
    assert_eq!(losses.count(), 2, "both directions, in {planned:?}");

    // A part of a property that was set stays if a change sets another part.
    let set = [("wire.delay", "50 ms"), ("wire.order", "overtake")];
    settings.set(&set, FurtherFiles::None).expect("good values");
    assert_eq!(settings.pass(Duration::from_secs(9)).len(), 3);
    settings.set(&[("air.queue", "7 packets")], FurtherFiles::None).expect("a good value");
    assert!(settings.scenario().changes.is_empty());
    let Link::Wired(config) = &settings.scenario().links[0].link else { panic!("it is wired") };
    let [min, max] = [3, 5].map(Duration::from_millis);
    let expected = Delay { order: Order::Overtake, ..Delay::from(Distribution::Uniform { min, max }) };
    assert_eq!(config.forward.delay, expected);
}

#[test]
fn a_refused_setting_has_no_effect_on_later_ones() {
    let mut settings = parse(&format!("{GOOD}{CHANGES}"), &Overrides::default());
    settings.pass(Duration::from_secs(5));
    settings.set(&[("air.loss", "200%")], FurtherFiles::None).map(drop).expect_err("no share");
    let before = settings.set(&[("air.loss", "100%")], FurtherFiles::None).expect("a good value");
    assert!(before.changes_of_links(settings.scenario()).is_empty(), "the change had set it");
}

/// The delays of a wired link's directions, in milliseconds, after its queue has been set, so that
/// past changes are part of them.
fn delays(settings: &mut Settings, link: &str) -> [u128; 2] {
    let key = format!("{link}.queue");
    settings.set(&[(&key, "9 packets")], FurtherFiles::None).unwrap_or_else(|error| panic!("{error}"));
    let link = settings.scenario().links.iter().find(|other| other.name() == link).expect("it is there");
    let Link::Wired(config) = &link.link else { panic!("it is wired") };
    [&config.forward, &config.backward].map(|way| way.delay.constant().expect("constant").as_millis())
}

#[test]
fn changes_pass_with_all_forms_of_files_and_command_lines() {
    let change = |at: u32, set: &str| format!("[[changes]]\nat = \"{at} s\"\nset = {{ {set} }}\n");
    // A link of a group.
    let grouped = GOOD.replace("[nodes.phone]", "[nodes.far]\nkind = \"router\"\ncount = 2\n[nodes.phone]")
        + "[links.hop]\nbetween = [\"ap\", \"far\"]\nrate = \"1 Mbit/s\"\n"
        + &change(1, "\"links.hop-1.delay\" = \"5 ms\"");
    let mut settings = parse(&grouped, &Overrides::default());
    settings.pass(Duration::from_secs(1));
    assert_eq!(delays(&mut settings, "hop-1"), [5, 5]);
    settings.set(&[("hop-1.forward.delay", "7 ms")], FurtherFiles::None).expect("a good value");
    assert_eq!(delays(&mut settings, "hop-1"), [7, 5]);

    // A part of a value, and then the whole value.
    let uniform = "{ distribution = \"uniform\", min = \"1 ms\", max = \"9 ms\" }";
    let parts = GOOD.to_owned()
        + &change(1, &format!("\"links.wire.delay\" = {uniform}"))
        + &change(2, "\"links.wire.delay.min\" = \"2 ms\"")
        + &change(3, "\"links.wire.delay\" = \"7 ms\"");
    let mut settings = parse(&parts, &Overrides::default());
    settings.pass(Duration::from_secs(3));
    assert_eq!(delays(&mut settings, "wire"), [7, 7]);

    // A direction's value from the command line, with spaces.
    let text = GOOD.to_owned() + &change(1, "\"links.wire.delay\" = \"7 ms\"");
    let given = vec!["links.wire.forward.delay = 50ms".to_owned()];
    let mut settings = parse(&text, &Overrides { trace: None, settings: given });
    assert_eq!(delays(&mut settings, "wire"), [50, 0]);
    settings.pass(Duration::from_secs(1));
    assert_eq!(delays(&mut settings, "wire"), [7, 7]);
}

#[test]
fn ten_thousand_changes_pass_at_once() {
    let change = |at: u32| {
        format!("[[changes]]\nat = \"{at} ms\"\nset = {{ \"links.wire.delay\" = \"{} ms\" }}\n", at % 7)
    };
    let changes = (0..10_000).map(change).collect::<Vec<_>>().concat();
    let mut settings = parse(&format!("{GOOD}{changes}"), &Overrides::default());
    assert_eq!(settings.pass(Duration::from_secs(9)).len(), 9_001);
    assert_eq!(delays(&mut settings, "wire"), [9_000 % 7; 2]);
    assert_eq!(settings.scenario().changes.len(), 999);
}

#[test]
fn a_wrong_setting_changes_nothing_and_has_an_error() {
    let mut settings = settings();
    for (key, value, says) in [
        ("moon.rate", "1 Mbit/s", "expected one of: wire, air"),
        ("air", "1 Mbit/s", "expected LINK.KEY"),
        ("air.link-layer", "none", "cannot be changed"),
        ("air.between", "[]", "cannot be changed"),
        ("air.rate", "fast", "air.rate=fast: links.air.rate: "),
        ("wire.jitter", "1 ms", "out of range"),
        ("wire.channel.good.mean", "1 s", "wired"),
    ] {
        let error = settings
            .set(&[("air.loss", "9%"), (key, value)], FurtherFiles::None)
            .map(drop)
            .expect_err("wrong");
        assert!(error.to_string().contains(says), "{key}={value}: {error}");
    }
    let before = settings.set(&[("air.queue", "9 packets")], FurtherFiles::None).expect("a good value");
    assert_eq!(before.changes_of_links(settings.scenario()).len(), 2, "no loss was set");
}

/// A link that follows `down.trace`.
fn with_a_trace(base: &Path) -> Settings {
    fs::write(base.join("down.trace"), "1\n2\n").expect("there is room");
    let text = GOOD.replacen("rate = \"2 Mbit/s\"", "trace = \"down.trace\"", 1);
    let text = text.replacen("link-layer = { kind = \"stop-and-wait\" }\n", "", 1);
    Settings::parse(text, "x.toml".to_owned(), base.to_owned(), &Overrides::default()).expect("a good file")
}

#[test]
fn a_file_that_was_read_is_not_read_again_unless_a_value_names_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = directory.path().to_owned();
    let mut settings = with_a_trace(&base);
    fs::write(base.join("down.trace"), "a secret\n").expect("there is room");
    for further in [FurtherFiles::None, FurtherFiles::Regular] {
        settings.set(&[("air.loss", "2%")], further).unwrap_or_else(|error| panic!("{error}"));
    }
    settings.set(&[("air.trace", "down.trace")], FurtherFiles::None).expect("it has been read");
    let error = settings.set(&[("air.trace", "down.trace")], FurtherFiles::Regular).map(drop);
    assert!(error.expect_err("it is read anew").to_string().contains("down.trace:1: "));
    settings.set(&[("air.loss", "3%")], FurtherFiles::Regular).expect("what was refused is forgotten");
}

#[test]
fn only_permitted_further_files_are_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = directory.path().to_owned();
    fs::write(base.join("other.trace"), "1\n3\n").expect("there is room");
    let mut settings = with_a_trace(&base);
    for (key, value) in [
        ("air.trace", "other.trace"),
        ("air.forward.trace", "\"other.trace\""),
        ("air.delay", "{ table = \"other.trace\" }"),
        ("air.channel", "{ states = \"other.trace\" }"),
        ("air.trace", "/nonesuch"),
    ] {
        let error = settings.set(&[(key, value)], FurtherFiles::None).map(drop).expect_err(key);
        assert!(error.to_string().ends_with("only root may name files; use sudo"), "{key}={value}: {error}");
    }
    for (value, says) in
        [("/dev/zero", "not a regular file"), (".", "not a regular file"), ("-", "No such file")]
    {
        let error = settings.set(&[("air.trace", value)], FurtherFiles::Regular).map(drop);
        let error = error.expect_err("nothing to read").to_string();
        assert!(error.contains(says), "{value}: {error}");
    }
    settings.set(&[("air.trace", "other.trace")], FurtherFiles::Regular).expect("a trace");
}

#[test]
fn a_file_with_external_nodes_needs_no_flows() {
    let (network, _) = GOOD.split_once("[flows.download]").expect("it has one");
    let external = network.replace("kind = \"host\"", "kind = \"external\"");
    let scenario = read(&external).unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.flows.is_empty() && scenario.nodes[0].kind == NodeKind::External);
    assert!(error(network).contains("no flows"));
    let with_flow = GOOD.replacen("kind = \"host\"", "kind = \"external\"", 1);
    assert!(error(&with_flow).contains("\"server\" is an external node; expected a host"));
}

#[test]
fn jitter_is_at_most_the_delay_and_not_for_a_link_layer_that_waits() {
    let jitter = |text: &str| {
        let link = format!("rate = \"10 Mbit/s\"\n{text}");
        read(&GOOD.replacen("rate = \"10 Mbit/s\"", &link, 1)).map(|scenario| match &scenario.links[0].link {
            Link::Wired(config) => config.forward.delay.distribution.clone(),
            Link::Wireless { config, .. } => config.forward.delay.distribution.clone(),
            Link::Radio { .. } => panic!("it is no cell"),
        })
    };
    let [two, three, five, seven] = [2, 3, 5, 7].map(Duration::from_millis);
    assert_eq!(
        jitter("delay = \"5 ms\"\njitter = \"2 ms\""),
        Ok(Distribution::Uniform { min: three, max: seven })
    );
    let normal = "delay = \"5 ms\"\njitter = \"2 ms\"\njitter-distribution = \"normal\"";
    assert_eq!(jitter(normal), Ok(Distribution::Normal { mean: five, deviation: two }));
    check(&[
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"2 Mbit/s\"\njitter = \"1 ms\"",
            "16: links.air.jitter",
            "expected at most the delay, 0 s: no packet arrives before it is sent",
        ),
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"2 Mbit/s\"\ndelay = \"1 ms\"\njitter = \"1 ms\"",
            "17: links.air.jitter",
            "with acknowledgments",
        ),
        (
            "rate = \"2 Mbit/s\"",
            "rate = \"2 Mbit/s\"\njitter-distribution = \"normal\"",
            "16: links.air.jitter-distribution",
            "requires jitter",
        ),
    ]);
}
