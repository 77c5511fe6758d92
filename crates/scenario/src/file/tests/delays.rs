//! Delays with a distribution, in each direction; tables of delays.

use std::path::Path;
use std::time::Duration;

use lasthop_sim::{Delay, Distribution, Order};

use super::{GOOD, check, error, read};
use crate::file::{FileError, Overrides, Sweep, parse};
use crate::model::{Link, Scenario};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// `GOOD` with more lines in the table of its wired link.
fn with(lines: &str) -> String {
    GOOD.replacen("rate = \"10 Mbit/s\"", &format!("rate = \"10 Mbit/s\"\n{lines}"), 1)
}

fn wire(scenario: &Scenario) -> [Delay; 2] {
    match &scenario.links[0].link {
        Link::Wired(config) => [&config.forward, &config.backward].map(|way| way.delay.clone()),
        _ => panic!("it is wired"),
    }
}

/// The delays of the wired link, with more lines in its table.
fn delays(lines: &str) -> [Delay; 2] {
    wire(&read(&with(lines)).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn a_delay_is_one_duration_or_has_a_distribution() {
    for (value, expected) in [
        ("\"40 ms\"", Distribution::Constant(ms(40))),
        (
            "{ distribution = \"uniform\", min = \"150 ms\", max = \"190 ms\" }",
            Distribution::Uniform { min: ms(150), max: ms(190) },
        ),
        (
            "{ distribution = \"normal\", mean = \"50 ms\", deviation = \"5 ms\" }",
            Distribution::Normal { mean: ms(50), deviation: ms(5) },
        ),
        (
            "{ distribution = \"exponential\", min = \"20 ms\", mean = \"50 ms\" }",
            Distribution::Exponential { min: ms(20), mean: ms(50) },
        ),
        (
            "{ distribution = \"exponential\", mean = \"50 ms\" }",
            Distribution::Exponential { min: ms(0), mean: ms(50) },
        ),
    ] {
        let [forward, backward] = delays(&format!("delay = {value}"));
        assert_eq!((&forward, &forward), (&backward, &expected.into()), "{value}");
    }
    let bands = "delay = { distribution = \"bands\", bands = [{ share = \"80%\", min = \"153 ms\", max = \"195 ms\" }, \
                 { share = \"20%\", min = \"195 ms\", max = \"225 ms\" }] }";
    let Distribution::Bands(bands) = &delays(bands)[0].distribution else { panic!("they are bands") };
    assert_eq!((bands.bands().len(), bands.bands()[1].max), (2, ms(225)));
}

#[test]
fn a_direction_has_its_own_delay_or_else_that_of_the_link() {
    let order = |delay: &Delay| delay.order;
    let [forward, backward] =
        delays("delay = \"40 ms\"\norder = \"overtake\"\nbackward = { delay = \"5 ms\", order = \"kept\" }");
    assert_eq!((forward.constant(), order(&forward)), (Some(ms(40)), Order::Overtake));
    assert_eq!((backward.constant(), order(&backward)), (Some(ms(5)), Order::Kept));
    let uniform = |min, max| Distribution::Uniform { min: ms(min), max: ms(max) };
    let [forward, backward] = delays("delay = \"40 ms\"\njitter = \"2 ms\"\nforward = { jitter = \"3 ms\" }");
    assert_eq!([forward.distribution, backward.distribution], [uniform(37, 43), uniform(38, 42)]);
    let own = "forward = { delay = { distribution = \"uniform\", min = \"1 ms\", max = \"9 ms\" } }";
    let [forward, backward] = delays(&format!("delay = \"40 ms\"\njitter = \"2 ms\"\n{own}"));
    assert_eq!([forward.distribution, backward.distribution], [uniform(1, 9), uniform(38, 42)]);
}

#[test]
fn the_error_about_a_delay_has_the_expected_value() {
    let wire = "rate = \"10 Mbit/s\"";
    let table = |table: &str| format!("{wire}\ndelay = {{ {table} }}");
    for (lines, place, says) in [
        (table("distribution = \"warp\""), "12: links.wire.delay.distribution", "\"exponential\""),
        (table("min = \"5 ms\""), "12: links.wire.delay", "expected a `distribution`"),
        (table("table = \"x.csv\", min = \"5 ms\""), "12: links.wire.delay.min", "with this `table`"),
        (table("distribution = \"uniform\", min = \"5 ms\""), "12: links.wire.delay.max", "missing"),
        (
            table("distribution = \"uniform\", min = \"5 ms\", max = \"4 ms\""),
            "12: links.wire.delay.max",
            "expected 5 ms to 1 h",
        ),
        (
            table("distribution = \"uniform\", min = \"5 ms\", max = \"9 ms\", mean = \"7 ms\""),
            "12: links.wire.delay.mean",
            "has no effect with this `distribution`",
        ),
        (
            table("distribution = \"exponential\", min = \"5 ms\", mean = \"4 ms\""),
            "12: links.wire.delay.mean",
            "expected 5 ms to 1 h",
        ),
        (
            format!(
                "{}\njitter-distribution = \"normal\"",
                table("distribution = \"uniform\", min = \"1 ms\", max = \"2 ms\"")
            ),
            "13: links.wire.jitter-distribution",
            "its own distribution",
        ),
        (table("distribution = \"bands\""), "12: links.wire.delay.bands", "0 bands; expected 1 to 1000"),
        (
            table("distribution = \"bands\", bands = [{ share = \"90%\", min = \"1 ms\", max = \"2 ms\" }]"),
            "12: links.wire.delay.bands",
            "sum to 90.00%; expected 100%",
        ),
        (
            table("distribution = \"bands\", bands = [{ share = \"100%\", min = \"3 ms\", max = \"2 ms\" }]"),
            "12: links.wire.delay.bands[0].max",
            "expected 3 ms to 1 h",
        ),
        (
            table("distribution = \"bands\", bands = [{ share = \"0%\", min = \"1 ms\", max = \"2 ms\" }]"),
            "12: links.wire.delay.bands[0].share",
            "above 0%",
        ),
        (
            format!(
                "{}\njitter = \"1 ms\"",
                table("distribution = \"uniform\", min = \"5 ms\", max = \"9 ms\"")
            ),
            "13: links.wire.jitter",
            "has its own distribution",
        ),
        (
            table("table = \"nonesuch.csv\""),
            "12: links.wire.delay.table",
            "nonesuch.csv: cannot read the file",
        ),
        (format!("{wire}\norder = \"lost\""), "12: links.wire.order", "\"overtake\""),
        (
            format!("{wire}\nclock = \"1 ms\"\nforward = {{ delay = \"1 ms\" }}"),
            "12: links.wire.clock",
            "a delay above zero",
        ),
    ] {
        check(&[(wire, &lines, place, says)]);
    }
    let air = "rate = \"2 Mbit/s\"";
    for (lines, place) in [
        (format!("{air}\norder = \"overtake\""), "16: links.air.order"),
        (format!("{air}\nbackward = {{ delay = \"5 ms\" }}"), "16: links.air.backward.delay"),
        (
            format!("{air}\ndelay = {{ distribution = \"uniform\", min = \"5 ms\", max = \"9 ms\" }}"),
            "16: links.air.delay",
        ),
    ] {
        check(&[(air, &lines, place, "with acknowledgments")]);
    }
}

#[test]
fn the_error_about_reorder_names_the_conflicting_key() {
    let wire = "rate = \"10 Mbit/s\"";
    for (lines, place, says) in [
        (format!("{wire}\nreorder = \"5%\""), "12: links.wire.reorder", "requires a delay"),
        (
            format!("{wire}\ndelay = \"9 ms\"\norder = \"kept\"\nreorder = \"5%\""),
            "14: links.wire.reorder",
            "not together with order",
        ),
        (
            format!(
                "{wire}\ndelay = \"9 ms\"\njitter = \"1 ms\"\ndelay-correlation = \"1 s\"\nreorder = \"5%\""
            ),
            "15: links.wire.reorder",
            "not together with delay-correlation",
        ),
        (
            format!(
                "{wire}\ndelay = \"9 ms\"\njitter = \"1 ms\"\njitter-distribution = \"normal\"\nreorder = \"5%\""
            ),
            "15: links.wire.reorder",
            "expected a uniform jitter",
        ),
        (
            format!(
                "{wire}\ndelay = {{ distribution = \"uniform\", min = \"1 ms\", max = \"2 ms\" }}\nreorder = \"5%\""
            ),
            "13: links.wire.reorder",
            "its own distribution",
        ),
    ] {
        check(&[(wire, &lines, place, says)]);
    }
}

#[test]
fn single_values_of_a_distribution_can_be_set_and_swept() {
    let text = with("delay = { distribution = \"uniform\", min = \"5 ms\", max = \"9 ms\" }");
    let set = |settings: &[&str]| -> Result<Scenario, FileError> {
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        parse(&text, "x.toml", Path::new("."), &Overrides { settings, ..Overrides::default() })
    };
    let set_both = set(&["links.wire.delay.min=7 ms", "links.wire.order=overtake"]).expect("good values");
    let expected =
        Delay { order: Order::Overtake, ..Delay::from(Distribution::Uniform { min: ms(7), max: ms(9) }) };
    assert_eq!(wire(&set_both)[0], expected);
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("x.toml"), &text).expect("it can be written");
    let sweep = "scenario = \"x.toml\"\n[vary]\n\"links.wire.delay.max\" = [\"10 ms\", \"20 ms\"]\n";
    let sweep = Sweep::parse(sweep, "y.toml", directory.path(), &Overrides::default()).expect("a good sweep");
    let longest = sweep.points().map(|point| match wire(&point.expect("a good point")) {
        [Delay { distribution: Distribution::Uniform { max, .. }, .. }, _] => max,
        other => panic!("{other:?}"),
    });
    assert_eq!(longest.collect::<Vec<_>>(), [ms(10), ms(20)]);
}

#[test]
fn the_table_of_the_packet_control_paper_is_read_unchanged() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = with("delay = { table = \"packet-control-delays.csv\" }");
    let scenario = parse(&text, "x.toml", &scenarios, &Overrides::default()).expect("a good table");
    assert!(scenario.files.contains(&scenarios.join("packet-control-delays.csv")));
    let Distribution::Bands(bands) = &wire(&scenario)[0].distribution else { panic!("they are bands") };
    let of_bands = bands.bands().iter().map(|band| {
        ((band.share * 100.0).round() as u64, band.min.as_millis() as u64, band.max.as_millis() as u64)
    });
    let expected = [(80, 153, 195), (10, 195, 225), (8, 225, 297), (2, 297, 621)];
    assert_eq!(of_bands.collect::<Vec<_>>(), expected);
}

#[test]
fn the_error_about_a_table_has_its_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("delays.csv");
    std::fs::write(&file, "share_percent,delay_ms_low,delay_ms_high\n100,5,x\n").expect("it can be written");
    let text = with("delay = { table = \"delays.csv\" }");
    let error = parse(&text, "x.toml", directory.path(), &Overrides::default()).expect_err("no number");
    let error = error.to_string();
    assert!(error.starts_with("x.toml:12: links.wire.delay.table: ") && error.contains("delays.csv:2: "));
    assert!(!super::error(&text).contains("line 2"), "the file is looked for beside the scenario");
    assert!(self::error("").contains("empty"));
}
