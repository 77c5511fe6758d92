//! Tests of flags and of the links that they describe.

use std::time::Duration;

use clap::Parser;
use lasthop_scenario::{FurtherFiles, Settings};
use lasthop_sim::Cut;
use lasthop_sim::world::Change;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    flags: LinkFlags,
    #[arg(long)]
    trace: Option<PathBuf>,
}

fn line(words: &str) -> Line {
    let words = std::iter::once("emulate").chain(words.split_whitespace());
    Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"))
}

fn settings(words: &str) -> Result<Settings, String> {
    let line = line(words);
    line.flags.settings(line.trace.as_deref(), Vec::new())
}

#[test]
fn flags_describe_the_same_model_as_a_file() {
    let file = r#"
        [nodes.far]
        kind = "external"
        [nodes.near]
        kind = "external"
        [links.hop]
        between = ["far", "near"]
        delay = "20 ms"
        jitter = "5 ms"
        loss = "1%"
        duplicate = "2%"
        queue = "50 packets"
        [links.hop.forward]
        rate = "10 Mbit/s"
        [links.hop.backward]
        rate = "2 Mbit/s"
        corrupt = "3%"
        [[changes]]
        at = "2 s"
        set = { "links.hop.loss" = "100%" }
        [[changes]]
        at = "10 s"
        set = { "links.hop.loss" = "0%", "links.hop.backward.rate" = "1 Mbit/s" }
    "#;
    let of_file = Settings::parse(file.to_owned(), "file".to_owned(), PathBuf::new(), &Overrides::default());
    let of_file = of_file.expect("a good file");
    let of_flags = settings(
        "--rate 10mbit:2mbit --delay 20ms --jitter 5ms --loss 1% --duplicate 2% --corrupt 0%:3% --queue 50 \
         --at 10s loss=0% --at 2s loss=100% --at 10s rate=10mbit:1mbit",
    );
    let of_flags = of_flags.expect("good flags");
    let [of_flags, of_file] = [&of_flags, &of_file].map(Settings::scenario);
    assert!(of_file.changes_of_links(of_flags).is_empty());
    let changes = |scenario: &lasthop_scenario::Scenario| {
        let last = scenario.changes.last().expect("there are some").model.clone();
        (scenario.changes.iter().map(|change| change.at).collect::<Vec<_>>(), format!("{last:?}"))
    };
    let (times, last) = changes(of_flags);
    assert_eq!(times, [2, 10, 10].map(Duration::from_secs));
    assert_eq!(last, changes(of_file).1);
}

#[test]
fn a_value_of_both_directions_can_be_set_while_the_link_is_in_use() {
    let mut settings = settings("--rate 10mbit:2mbit --loss 1%").expect("good flags");
    let before = settings.set(&[("hop.loss", "2%")], FurtherFiles::None).expect("a good value");
    assert_eq!(before.changes_of_links(settings.scenario()).len(), 2, "both directions");
}

#[test]
fn a_value_of_the_link_replaces_those_of_its_directions() {
    let mut settings = settings("--rate 20mbit:2mbit --loss 0%:1%").expect("good flags");
    for (set, directions) in [
        (("hop.rate", "5mbit"), 2),
        (("hop.forward.rate", "3mbit"), 1),
        (("hop.rate", "3mbit"), 1),
        (("hop.loss", "0%"), 1),
    ] {
        let before = settings.set(&[set], FurtherFiles::None).expect("a good value");
        assert_eq!(before.changes_of_links(settings.scenario()).len(), directions, "{set:?}");
    }
    let error = settings.set(&[("hop.up.rate", "3mbit")], FurtherFiles::None).expect_err("no direction");
    assert_eq!(
        error.to_string(),
        "hop.up.rate: unknown direction \"up\"; expected forward or backward; `emulate set` also takes down and up"
    );
}

#[test]
fn a_probability_has_the_same_forms_in_flags_changes_assignments_and_files() {
    let percent = settings("--loss 5%").expect("good flags");
    for key in ["loss", "duplicate", "corrupt"] {
        let percent = settings(&format!("--{key} 5%")).expect("good flags");
        for form in ["0.05", ".05", "5e-2", "5 %"] {
            let of_flag = Line::try_parse_from(["emulate", &format!("--{key}"), form]).expect("a value");
            let of_flag = of_flag.flags.settings(None, Vec::new()).expect("a good flag");
            let mut assigned = settings("--loss 0").expect("good flags");
            assigned.set(&[(&format!("hop.{key}"), form)], FurtherFiles::None).expect("a good value");
            let of_set = line_with_set(&format!("links.hop.{key}={form}"));
            for settings in [of_flag, assigned, of_set] {
                assert!(percent.scenario().changes_of_links(settings.scenario()).is_empty(), "{key} {form}");
            }
        }
    }
    for form in ["1", "5", "1.5"] {
        let mut assigned = percent.clone();
        for problem in [
            settings(&format!("--loss {form}")).map(drop).expect_err(form),
            assigned.set(&[("hop.loss", form)], FurtherFiles::None).map(drop).expect_err(form).to_string(),
        ] {
            assert!(problem.contains(&format!("(did you mean \"{form}%\"")), "{problem}");
        }
    }
}

#[test]
fn losses_have_the_same_forms_in_flags_changes_and_assignments() {
    let forms = ["1% 25%", "1% in bursts of 4", "gemodel 1% 10% 70% 0.1%", "every 10", "packets 3, 7, 9-12"];
    for form in forms {
        let line = Line::try_parse_from(["emulate", "--loss", &format!("0%:{form}")]).expect("a value");
        let of_flag = line.flags.settings(None, Vec::new()).unwrap_or_else(|error| panic!("{form}: {error}"));
        let line =
            Line::try_parse_from(["emulate", "--rate", "1mbit", "--at", "1s", &format!("loss=0%:{form}")]);
        let of_change = line.expect("a value").flags.settings(None, Vec::new()).expect("a good change");
        let mut assigned = settings("--loss 0%").expect("good flags");
        assigned.set(&[("hop.backward.loss", form)], FurtherFiles::None).expect("a good value");
        let of_set = line_with_set(&format!("links.hop.backward.loss={form}"));
        assert!(of_flag.scenario().changes_of_links(assigned.scenario()).is_empty(), "{form}");
        assert!(of_flag.scenario().changes_of_links(of_set.scenario()).is_empty(), "{form}");
        let lossy = of_change.scenario();
        assert_eq!(lossy.changes.len(), 1, "{form}");
    }
}

fn line_with_set(setting: &str) -> Settings {
    line("--loss 0%").flags.settings(None, vec![setting.to_owned()]).expect("a good setting")
}

#[test]
fn a_correlation_of_delays_has_the_same_forms_in_flags_and_assignments() {
    for form in ["25%", "500ms", "1 h"] {
        let flags = Line::try_parse_from([
            "emulate",
            "--delay",
            "20ms",
            "--jitter",
            "5ms",
            "--delay-correlation",
            &format!("0%:{form}"),
        ]);
        let of_flags = flags.expect("values").flags.settings(None, Vec::new()).expect("good flags");
        let mut assigned = settings("--delay 20ms --jitter 5ms").expect("good flags");
        let before = assigned.set(&[("hop.backward.delay-correlation", form)], FurtherFiles::None);
        let before = before.expect("a good value");
        assert!(of_flags.scenario().changes_of_links(assigned.scenario()).is_empty(), "{form}");
        assert_eq!(before.changes_of_links(assigned.scenario()).len(), 1, "{form}");
    }
    let text = line("--delay 20ms --jitter 5ms").flags.scenario(None).expect("good flags");
    assert!(!text.contains("delay-correlation"), "{text}");
}

fn at(changes: &[[&str; 2]]) -> Result<Settings, String> {
    let given = changes.iter().flat_map(|[at, change]| ["--at", at, change]);
    let line =
        Line::try_parse_from(["emulate", "--rate", "10mbit", "--delay", "20ms"].into_iter().chain(given));
    line.unwrap_or_else(|error| panic!("{error}")).flags.settings(None, Vec::new())
}

#[test]
fn a_change_may_be_temporary_and_repeat() {
    let good = at(&[
        ["every 15s for 1s", "loss=100%"],
        ["5s every 1min for 200ms", "rate=0"],
        ["2s for 1s", "delay=20ms:300ms"],
        ["10s", "loss=1%"],
    ]);
    let good = good.expect("good flags");
    let scenario = good.scenario();
    let seconds = |of: &lasthop_scenario::LinkInterval| [of.first, of.length, of.period.unwrap_or_default()];
    let times: Vec<_> = scenario.intervals.iter().map(seconds).collect();
    let ms = Duration::from_millis;
    assert_eq!(
        times,
        [
            [ms(2_000), ms(1_000), ms(0)],
            [ms(5_000), ms(200), ms(60_000)],
            [ms(15_000), ms(1_000), ms(15_000)]
        ]
    );
    assert_eq!(scenario.changes.len(), 1);
    for (changes, expected) in [
        (
            ["every 15s", "loss=100%"],
            "--at: \"every 15s\": how long does it last? expected a length, such as",
        ),
        (["every 15s for 20s", "loss=100%"], "--at: \"every 15s for 20s\": the length is out of range"),
        (["every 15s for 1s", "loss=all"], "--at: with this change: \"all\" is not"),
        (
            ["every 15s for 1s", "jitter=1s"],
            "--at: with this change: 1 s is out of range; expected at most the delay, 20 ms",
        ),
    ] {
        let problem = at(&[changes]).map(drop).expect_err(changes[0]);
        assert!(problem.starts_with(expected), "{changes:?}: {problem}");
    }
    let mixed = at(&[["every 15s for 1s", "jitter=5ms"], ["3s", "delay=50ms"]]).map(drop);
    let problem = mixed.expect_err("they depend on each other");
    assert!(
        problem.contains("jitter of link \"hop\" is changed for a time, and delay by another"),
        "{problem}"
    );
}

#[test]
fn an_error_about_a_flag_of_another_tool_suggests_ours() {
    let message = |words: &str| {
        let words = std::iter::once("emulate").chain(words.split_whitespace());
        let mut error = Line::try_parse_from(words).err().expect("no such flag");
        hint(&mut error);
        error.render().to_string()
    };
    for (flag, meant) in [
        ("latency", "delay"),
        ("lag", "delay"),
        ("limit", "queue"),
        ("buffer", "queue"),
        ("speed", "rate"),
        ("throughput", "rate"),
        ("port", "only"),
        ("protocol", "only"),
        ("reset", "connections"),
    ] {
        assert!(message(&format!("--{flag} 5")).contains(&format!("'--{meant}'")), "{flag}");
        assert!(message(&format!("--{flag}=5")).contains(&format!("'--{meant}'")), "{flag}");
    }
    assert!(!message("--tint red").contains("similar"), "{}", message("--tint red"));
    for (flag, instead) in [
        ("up", "DOWN:UP, such as the rate 10mbit:2mbit"),
        ("upload", "DOWN:UP"),
        ("down", "DOWN:UP"),
        ("rtt", "half of the round-trip time"),
        ("burst", "\"1% in bursts of 4\""),
        ("mtu", "no MTU of its own"),
    ] {
        let message = message(&format!("--{flag} 5"));
        assert!(message.contains(instead) && !message.contains("similar"), "{message}");
    }
    for (words, tip) in
        [("--at -1s loss=1%", "no value here is negative"), ("loss=1%", "lasthop emulate set LINK.KEY=VALUE")]
    {
        assert!(message(words).contains(tip), "{words}: {}", message(words));
    }
    for words in ["--at 5s --", "--at 5s", "--at"] {
        assert!(message(words).contains("--at 5s loss=100%"), "{words}: {}", message(words));
    }
}

#[test]
fn a_value_of_connections_needs_no_key() {
    for value in ["refused", "reset after 5s", " kept "] {
        let with = |change: &str| {
            let at = ["5s", change].map(str::to_owned).to_vec();
            LinkFlags { at, ..line("--rate 1mbit").flags }.scenario(None)
        };
        let key = format!("connections={}", value.trim());
        assert_eq!(with(value), with(&key), "{value}");
    }
}

#[test]
fn packets_that_are_reordered_skip_the_delay() {
    let bands = r#"
        [nodes.far]
        kind = "external"
        [nodes.near]
        kind = "external"
        [links.hop]
        between = ["far", "near"]
        rate = "1000 Gbit/s"
        order = "overtake"
        delay = { distribution = "bands", bands = [
            { share = "25%", min = "0 s", max = "0 s" },
            { share = "75%", min = "15 ms", max = "25 ms" },
        ] }"#;
    let bands = Settings::parse(bands.to_owned(), "file".to_owned(), PathBuf::new(), &Overrides::default());
    let bands = bands.expect("a good file");
    let given = settings("--delay 20ms --jitter 5ms --reorder 25%").expect("good flags");
    assert!(bands.scenario().changes_of_links(given.scenario()).is_empty());
    let mut assigned = settings("--delay 20ms --jitter 5ms").expect("good flags");
    assigned.set(&[("hop.reorder", "25%")], FurtherFiles::None).expect("a good value");
    assert!(bands.scenario().changes_of_links(assigned.scenario()).is_empty());
    assigned.set(&[("hop.delay", "50 ms")], FurtherFiles::None).expect("a good value");
    let longer = settings("--delay 50ms --jitter 5ms --reorder 25%").expect("good flags");
    assert!(longer.scenario().changes_of_links(assigned.scenario()).is_empty());
    assert!(settings("--delay 20ms --jitter 5ms --reorder 25%").is_ok());
    assert!(settings("--delay 20ms --reorder 100%").is_ok());
}

#[test]
fn a_wrong_value_is_reported_with_its_flag() {
    let meant = |words: &str, meant: &str| {
        let problem = settings(words).map(drop).expect_err(words);
        assert!(problem.ends_with(&format!("(did you mean {meant:?}?)")), "{words}: {problem}");
    };
    meant("--queue fq_codel", "fq-codel");
    meant("--queue pfifo", "drop-tail");
    meant("--queue 64k", "64 kB");
    meant("--rate 1mb", "1 Mbit/s");
    meant("--corrupt 2.5", "2.5%");
    for (words, expected) in [
        ("--rate 10parsec", "--rate: \"10parsec\" is not"),
        ("--rate 10mbit:", "--rate: a value is missing"),
        ("--loss 1", "--loss: \"1\" is not a probability"),
        ("--loss 101%", "--loss: \"101%\" is not"),
        ("--at 1s loss=every", "--at: with the changes up to 1 s: \"every\" is not"),
        ("--corrupt 1", "--corrupt: \"1\" is not a probability"),
        ("--duplicate 101%", "--duplicate: \"101%\" is not"),
        (
            "--delay 20ms --jitter 30ms",
            "--jitter: 30 ms is out of range; expected at most the delay, 20 ms: no packet arrives before it is sent",
        ),
        ("--delay 20ms --jitter 30ms --reorder 1%", "--jitter: 30 ms is out of range"),
        ("--reorder 1%", "--reorder: requires a delay"),
        ("--delay 20ms --delay-correlation 25%", "--delay-correlation: requires delays that vary: --jitter"),
        ("--delay 20ms --jitter 5ms --delay-correlation 100%", "--delay-correlation: \"100%\" is not"),
        (
            "--delay 20ms --jitter 5ms --delay-correlation 1",
            "--delay-correlation: \"1\" is not a correlation",
        ),
        (
            "--delay 20ms --jitter 5ms --delay-correlation 9ms",
            "--delay-correlation: 9 ms is out of range; expected at least 10 ms, the difference",
        ),
        (
            "--delay 20ms --jitter 5ms --reorder 1% --delay-correlation 1s",
            "--reorder: not together with delay-correlation",
        ),
        ("--queue 5apples", "--queue: \"5apples\" is not"),
        ("--at soon loss=1%", "--at: \"soon\" is not a duration"),
        ("--at 1s loss", "--at 1s loss: expected KEY=VALUE"),
        ("--rate fast", "--rate: \"fast\" is not"),
        (
            "--at 1s los=1%",
            "--at 1s los=1%: unknown key \"los\" (did you mean \"loss\"?); expected one of: connections, corrupt,",
        ),
        ("--at 1s rate=fast", "--at: with the changes up to 1 s: \"fast\" is not"),
        ("--rate trace", "--rate: \"trace\" requires --trace FILE"),
        ("--rate 1mbit --trace x", "--trace: --rate is given for both directions"),
        ("--trace /nonesuch", "--trace: "),
    ] {
        let Err(problem) = settings(words) else { panic!("{words}: no problem") };
        assert!(problem.starts_with(expected), "{words}: {problem}");
    }
}

#[test]
fn connections_are_cut_by_a_flag_by_a_change_and_by_a_reset_without_a_key() {
    let scenario = |words: &str| settings(words).map(|settings| settings.scenario().clone());
    let of = |words: &str| scenario(words).map(|scenario| scenario.links[0].cut).expect("good flags");
    assert_eq!(of("--loss 1%"), Cut::None);
    assert_eq!(of("--connections refused"), Cut::Opening);
    let flags = LinkFlags { connections: Some("reset after 5s".to_owned()), ..line("--delay 1ms").flags };
    let text = flags.scenario(None).expect("good flags");
    assert!(text.contains("connections = \"reset after 5s\""), "{text}");
    assert!(!line("--delay 1ms").flags.scenario(None).expect("good flags").contains("connections"));

    let resets = scenario("--rate 1mbit --at 5s reset --at 6s loss=1% --at 9s connections=reset");
    let resets = resets.expect("good flags");
    let links = resets.build(&resets.schemes[0], 1).expect("it can run").links;
    let planned = resets.planned_changes(&links, false).into_iter();
    let planned: Vec<u64> = planned
        .filter(|planned| planned.change == Change::Cut(Cut::Standing))
        .map(|planned| planned.at.as_millis())
        .collect();
    assert_eq!(planned, [5000, 9000]);
    let at = vec![
        "every 15s".to_owned(),
        "reset".to_owned(),
        "1s every 5s for 1s".to_owned(),
        " reset ".to_owned(),
    ];
    let repeated =
        LinkFlags { at, ..line("--rate 1mbit").flags }.settings(None, Vec::new()).expect("good flags");
    let repeated = repeated.scenario().intervals.iter();
    let repeated: Vec<_> =
        repeated.map(|of| (of.first.as_secs(), of.length.as_millis(), of.within.cut)).collect();
    assert_eq!(repeated, [(1, 1000, Cut::Standing), (15, 1, Cut::Standing)]);
    for (words, expected) in [
        (
            "--connections reset",
            "--connections: \"reset\" is for connections that stand, and none does at the start",
        ),
        ("--connections cut", "--connections: \"cut\" is not \"kept\""),
        ("--loss 1% --at 1s connections=5s", "--at: with the changes up to 1 s: \"5s\" is not \"kept\""),
        ("--at 1s restart", "--at 1s restart: expected KEY=VALUE"),
        ("--at 1s reset=all", "--at 1s reset=all: unknown key \"reset\" (did you mean \"connections\"?)"),
    ] {
        let problem = settings(words).map(drop).expect_err(words);
        assert!(problem.starts_with(expected), "{words}: {problem}");
    }
}

#[test]
fn a_flag_that_selects_traffic_is_a_union_of_its_values() {
    let selection =
        |words: &str| settings(words).map(|settings| settings.scenario().links[0].selection.clone());
    let expected = selection("--only tcp:443,[2001:db8::1]:53,udp --except 22").expect("good flags");
    let several = selection("--only tcp:443 --only [2001:db8::1]:53,udp --except 22").expect("good flags");
    assert_eq!(expected, several);
    assert!(!expected.is_everything());
    assert!(selection("--loss 1%").expect("good flags").is_everything());

    let changed = settings("--rate 1mbit --at 5s only=tcp:443,[2001:db8::1]:53,udp --at 5s except=22");
    let changed = changed.expect("good flags");
    assert!(changed.scenario().links[0].selection.is_everything());
    assert_eq!(changed.scenario().changes.last().expect("there is one").model.selection, expected);

    let mut assigned = settings("--loss 1%").expect("good flags");
    let set = [("hop.only", "tcp:443,[2001:db8::1]:53,udp"), ("hop.except", "22")];
    assigned.set(&set, FurtherFiles::None).expect("good values");
    assert_eq!(assigned.scenario().links[0].selection, expected);
    let text = line("--only tcp:9999").flags.scenario(None).expect("good flags");
    assert!(text.contains("only = \"tcp:9999\"") && !text.contains("except"), "{text}");
    assert_eq!(line("--loss 1% --only udp --only icmp").flags.label(None), "loss 1%, only udp,icmp");
    for (words, expected) in [
        ("--only tcp:99999", "--only: port 99999 is out of range"),
        ("--except host.lasthop", "--except: \"host.lasthop\" is a name"),
        ("--loss 1% --at 1s only=tcp:x", "--at: with the changes up to 1 s: \"tcp:x\" is not"),
    ] {
        let problem = settings(words).map(drop).expect_err(words);
        assert!(problem.starts_with(expected), "{words}: {problem}");
    }
}
