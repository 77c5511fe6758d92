//! A link that the command line describes instead of a file. It becomes the text of a scenario, so
//! that both have the same model and the same rules.

mod state;
mod values;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lasthop_scenario::file::When;
use lasthop_scenario::{Overrides, ScenarioError, Settings};
use toml::{Table, Value};

use super::value;
use state::{State, insert, keys, leave_out_what_never_happens, split_keys};
use values::Values;

/// The name of the link, as in `lasthop emulate set hop.loss=2%`.
const LINK: &str = "hop";

/// The properties of the link.
#[derive(Args)]
#[command(next_help_heading = "A link without a file (a VALUE for both directions, or DOWN:UP)")]
pub struct LinkFlags {
    /// Rate, such as 10mbit or 10mbit:2mbit; 0: packets wait; "trace" is the rate of --trace [default:
    /// unlimited]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    rate: Option<String>,
    /// One-way delay, such as 20ms: a round trip takes twice as long [default: 0s]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    delay: Option<String>,
    /// The delay of each packet differs from --delay by at most this. In order, the faster packets
    /// follow each other, the nearer is their mean delay to the longest: see --delay-correlation and
    /// --reorder [default: 0s]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    jitter: Option<String>,
    /// How the delays of successive packets are related: by the time in which the delay moves from its
    /// shortest to its longest, such as 1s, so that no packet overtakes another and the mean is --delay
    /// at any rate of packets; or by their correlation, such as 25% [default: 0%: not at all]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    delay_correlation: Option<String>,
    /// Packets that are lost: a share (1%); one with the correlation of successive losses ("1% 25%"), or
    /// with the mean length of a burst in packets ("1% in bursts of 4"); "gemodel P R 1-H 1-K" as in
    /// netem; "every 10"; or "packets 3, 7, 9-12", counted from 1 [default: 0%]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    loss: Option<String>,
    /// Share of packets that arrive twice, such as 1% [default: 0%]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    duplicate: Option<String>,
    /// Share of packets that arrive with one bit wrong, such as 0.1%; the receiver's checksum fails
    /// [default: 0%]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    corrupt: Option<String>,
    /// Share of packets that skip the delay and so overtake those before them; also lets jitter
    /// change the order of packets [default: 0%, and the order is kept]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    reorder: Option<String>,
    /// Packets (100) or data (64KiB) that can wait for transmission; the rest is dropped [default:
    /// 100]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    queue: Option<String>,
    /// The trace of the upload, if it differs from the one of --trace
    #[arg(long, value_name = "FILE", requires = "trace", conflicts_with = "rate")]
    trace_up: Option<PathBuf>,
    /// Change a property at a time after the start: --at 10s loss=100%; for a time: --at "10s for 1s"
    /// rate=0; or time after time: --at "every 15s for 1s" loss=100%; may be given several times
    #[arg(long, num_args = 2, value_names = ["TIME", "KEY=VALUE"])]
    at: Vec<String>,
}

/// Adds what is meant to an error about a flag that other tools have.
pub fn hint(error: &mut clap::Error) {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    let meant = flag.strip_prefix("--").and_then(value::meant_by);
    if let Some(meant) = meant.filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{meant}")));
    }
}

impl LinkFlags {
    /// Whether the command line describes a link, or a part of one.
    pub fn are_given(&self) -> bool {
        self.given().next().is_some() || self.trace_up.is_some() || !self.at.is_empty()
    }

    /// The link in a few words, such as `rate 10mbit, loss 1%`.
    pub fn label(&self, trace: Option<&Path>) -> String {
        let trace = trace.map(|path| format!("trace {}", path.display()));
        let given = self.given().map(|(flag, value)| format!("{flag} {value}"));
        trace.into_iter().chain(given).collect::<Vec<_>>().join(", ")
    }

    /// The scenario of this link; the download follows `trace`, if there is one.
    pub fn settings(&self, trace: Option<&Path>, overrides: Vec<String>) -> Result<Settings, String> {
        let text = self.scenario(trace)?;
        let overrides = Overrides { trace: None, settings: overrides };
        Settings::parse(text, "the link".to_owned(), PathBuf::new(), &overrides).map_err(in_terms_of_flags)
    }

    /// The link as a scenario file.
    pub fn scenario(&self, trace: Option<&Path>) -> Result<String, String> {
        let states = self.states(trace)?;
        let node = Value::Table([("kind".to_owned(), Value::from("external"))].into_iter().collect());
        let nodes = ["far", "near"].map(|name| (name.to_owned(), node.clone()));
        let mut link = Table::new();
        link.insert("between".to_owned(), Value::from(vec!["far", "near"]));
        if let Some(trace) = trace {
            link.insert("kind".to_owned(), Value::from("wireless"));
            link.insert("trace".to_owned(), in_a_file(trace)?);
        }
        let split = split_keys(&states);
        let first = &states[0];
        for (key, value) in keys(&split, None, &first.ways) {
            insert(&mut link, &key, value);
        }
        if let Some(trace) = &self.trace_up {
            insert(&mut link, "backward.trace", in_a_file(trace)?);
        }
        // Changes that stay follow each other; one that ends again is made on top of the first state.
        let (of_a_time, that_stay): (Vec<&State>, Vec<&State>) = states.iter().partition(|state| state.ends);
        let pairs = that_stay.windows(2).map(|pair| (pair[0], pair[1]));
        let changes: Vec<Value> = pairs
            .chain(of_a_time.into_iter().map(|state| (first, state)))
            .filter_map(|(before, state)| {
                let set = keys(&split, Some(&before.without(state.always)), &state.ways);
                let set: Table =
                    set.into_iter().map(|(key, value)| (format!("links.{LINK}.{key}"), value)).collect();
                let at = ("at".to_owned(), Value::from(state.at.as_str()));
                (!set.is_empty())
                    .then(|| Value::Table([at, ("set".to_owned(), Value::Table(set))].into_iter().collect()))
            })
            .collect();
        let mut file = Table::new();
        file.insert("nodes".to_owned(), Value::Table(nodes.into_iter().collect()));
        file.insert(
            "links".to_owned(),
            Value::Table([(LINK.to_owned(), Value::Table(link))].into_iter().collect()),
        );
        if !changes.is_empty() {
            file.insert("changes".to_owned(), Value::Array(changes));
        }
        toml::to_string(&file).map_err(|error| error.to_string())
    }

    fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let flags = [
            ("rate", &self.rate),
            ("delay", &self.delay),
            ("jitter", &self.jitter),
            ("delay-correlation", &self.delay_correlation),
            ("loss", &self.loss),
            ("duplicate", &self.duplicate),
            ("corrupt", &self.corrupt),
            ("reorder", &self.reorder),
            ("queue", &self.queue),
        ];
        flags.into_iter().filter_map(|(flag, value)| Some((flag, value.as_deref()?)))
    }

    /// What the link is like from the start on, and after each change.
    fn states(&self, trace: Option<&Path>) -> Result<Vec<State>, String> {
        let mut values = Values::unimpaired(trace.is_some());
        for (flag, value) in self.given() {
            values.set(flag, value).map_err(|problem| format!("--{flag}: {problem}"))?;
        }
        if trace.is_none() && values.of_rate().iter().any(|rate| rate == "trace") {
            return Err("--rate: \"trace\" requires --trace FILE".to_owned());
        }
        let in_the_way = trace.is_some() && values.of_rate().iter().all(|rate| rate != "trace");
        if in_the_way {
            return Err("--trace: --rate is given for both directions; expected one of the two, or the \
                        direction of the trace: --rate trace:2mbit"
                .to_owned());
        }
        let mut states = vec![State::first(values.ways()?)];
        let mut changes: Vec<(When, &str, &str)> = Vec::new();
        for pair in self.at.chunks_exact(2) {
            let when = pair[0].parse().map_err(|error| format!("--at: {error}"))?;
            changes.push((when, &pair[0], &pair[1]));
        }
        changes.sort_by_key(|(when, ..)| when.first);
        let at_first = values.clone();
        for (when, at, change) in changes {
            let told = |problem: String| format!("--at {} {change}: {problem}", quoted(at));
            let (flag, value) = change
                .split_once('=')
                .ok_or_else(|| told("expected KEY=VALUE, such as loss=100%".to_owned()))?;
            let flag = flag.trim();
            let ends = when.length.is_some();
            let mut for_a_time = at_first.clone();
            let changed = if ends { &mut for_a_time } else { &mut values };
            let always = changed.set(flag, value.trim()).map_err(&told)?.filter(|_| ends);
            let ways = changed.ways().map_err(&told)?;
            states.push(State { at: at.to_owned(), ways, ends, always });
        }
        leave_out_what_never_happens(&mut states);
        Ok(states)
    }
}

/// A word as one types it.
fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("{word:?}") } else { word.to_owned() }
}

fn in_a_file(path: &Path) -> Result<Value, String> {
    path.to_str()
        .map(Value::from)
        .ok_or_else(|| format!("--trace: {}: the path is not UTF-8", path.display()))
}

/// What is wrong with the link, by the flag that said it.
fn in_terms_of_flags(error: ScenarioError) -> String {
    const FLAGS: [&str; 11] = [
        "rate",
        "delay",
        "jitter",
        "delay-correlation",
        "loss",
        "duplicate",
        "corrupt",
        "order",
        "queue",
        "trace",
        "changes",
    ];
    let known = |step: &&str| FLAGS.contains(step);
    let of_a_change = error.key.starts_with("changes") || error.problem.starts_with("with th");
    match error.key.split(['.', '[']).rfind(known) {
        _ if error.file == "--set" => error.to_string(),
        _ if of_a_change => format!("--at: {}", error.problem),
        Some("order") => format!("--reorder: {}", error.problem),
        Some(flag) => format!("--{flag}: {}", error.problem),
        None => error.problem,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use lasthop_scenario::{FurtherFiles, Settings};

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
    fn flags_make_the_model_that_a_file_would() {
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
        let of_file =
            Settings::parse(file.to_owned(), "file".to_owned(), PathBuf::new(), &Overrides::default());
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
    fn a_value_of_the_link_takes_the_place_of_those_of_its_directions() {
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
        assert_eq!(error.to_string(), "hop.up.rate: unknown direction \"up\"; expected forward or backward");
    }

    #[test]
    fn losses_have_the_same_forms_in_flags_changes_and_assignments() {
        let forms =
            ["1% 25%", "1% in bursts of 4", "gemodel 1% 10% 70% 0.1%", "every 10", "packets 3, 7, 9-12"];
        for form in forms {
            let line = Line::try_parse_from(["emulate", "--loss", &format!("0%:{form}")]).expect("a value");
            let of_flag =
                line.flags.settings(None, Vec::new()).unwrap_or_else(|error| panic!("{form}: {error}"));
            let line = Line::try_parse_from([
                "emulate",
                "--rate",
                "1mbit",
                "--at",
                "1s",
                &format!("loss=0%:{form}"),
            ]);
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
    fn a_change_may_end_again_and_repeat() {
        let good = at(&[
            ["every 15s for 1s", "loss=100%"],
            ["5s every 1min for 200ms", "rate=0"],
            ["2s for 1s", "delay=20ms:300ms"],
            ["10s", "loss=1%"],
        ]);
        let good = good.expect("good flags");
        let scenario = good.scenario();
        let seconds =
            |of: &lasthop_scenario::LinkInterval| [of.first, of.length, of.period.unwrap_or_default()];
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
        for (changes, told) in [
            (
                ["every 15s", "loss=100%"],
                "--at: \"every 15s\": how long does it last? expected a length, such as",
            ),
            (["every 15s for 20s", "loss=100%"], "--at: \"every 15s for 20s\": the length is out of range"),
            (["every 15s for 1s", "loss=all"], "--at: with this change: \"all\" is not"),
            (
                ["every 15s for 1s", "jitter=1s"],
                "--at \"every 15s for 1s\" jitter=1s: --jitter: 1s is out of range",
            ),
        ] {
            let problem = at(&[changes]).map(drop).expect_err(changes[0]);
            assert!(problem.starts_with(told), "{changes:?}: {problem}");
        }
        let mixed = at(&[["every 15s for 1s", "jitter=5ms"], ["3s", "delay=50ms"]]).map(drop);
        let problem = mixed.expect_err("they depend on each other");
        assert!(
            problem.contains("jitter of link \"hop\" is changed for a time, and delay by another"),
            "{problem}"
        );
    }

    #[test]
    fn a_flag_of_another_tool_is_answered_with_the_one_that_is_meant() {
        let told = |words: &str| {
            let words = std::iter::once("emulate").chain(words.split_whitespace());
            let mut error = Line::try_parse_from(words).err().expect("no such flag");
            hint(&mut error);
            error.render().to_string()
        };
        for (flag, meant) in [("latency", "delay"), ("limit", "queue"), ("bandwidth", "rate")] {
            assert!(told(&format!("--{flag} 5")).contains(&format!("'--{meant}'")), "{flag}");
            assert!(told(&format!("--{flag}=5")).contains(&format!("'--{meant}'")), "{flag}");
        }
        assert!(!told("--tint red").contains("similar"), "{}", told("--tint red"));
        assert!(told("--at 5s --").contains("2 values required"), "{}", told("--at 5s --"));
    }

    #[test]
    fn packets_that_are_reordered_skip_the_delay() {
        let text = line("--delay 20ms --jitter 5ms --reorder 25%").flags.scenario(None).expect("good flags");
        let file: Table = text.parse().expect("TOML");
        let hop = &file["links"]["hop"];
        let expected: Table = r#"
            distribution = "bands"
            bands = [
                { share = "25%", min = "0 s", max = "0 s" },
                { share = "75%", min = "15 ms", max = "25 ms" },
            ]"#
        .parse()
        .expect("TOML");
        assert_eq!(hop["delay"], Value::Table(expected));
        assert_eq!(hop["order"].as_str(), Some("overtake"));
        let text = line("--delay 20ms --reorder 7%").flags.scenario(None).expect("good flags");
        assert!(text.contains("\"7%\"") && text.contains("\"93%\""), "{text}");
        assert!(settings("--delay 20ms --jitter 5ms --reorder 25%").is_ok());
        assert!(settings("--delay 20ms --reorder 100%").is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_of_the_flag() {
        for (words, told) in [
            ("--rate 10parsec", "--rate: \"10parsec\" is not"),
            ("--rate 10mbit:", "--rate: a value is missing"),
            ("--loss 1", "--loss: \"1\" has no unit; expected a percentage"),
            ("--loss 101%", "--loss: \"101%\" is not"),
            ("--at 1s loss=every", "--at: with the changes up to 1 s: \"every\" is not"),
            ("--corrupt 0.1", "--corrupt: \"0.1\" has no unit; expected a percentage"),
            ("--duplicate 101%", "--duplicate: \"101%\" is not"),
            (
                "--delay 20ms --jitter 30ms",
                "--jitter: 30ms is out of range; expected at most the delay, 20ms",
            ),
            ("--delay 20ms --jitter 30ms --reorder 1%", "--jitter: 30ms is out of range"),
            ("--reorder 1%", "--reorder: requires a delay"),
            ("--delay 20ms --jitter 5ms --delay-correlation 100%", "--delay-correlation: \"100%\" is not"),
            ("--delay 20ms --jitter 5ms --delay-correlation 1", "--delay-correlation: \"1\" has no unit"),
            (
                "--delay 20ms --jitter 5ms --delay-correlation 9ms",
                "--delay-correlation: 9 ms is out of range; expected at least 10 ms, the difference",
            ),
            (
                "--delay 20ms --jitter 5ms --reorder 1% --delay-correlation 1s",
                "--delay-correlation: not together with --reorder",
            ),
            ("--queue 5apples", "--queue: \"5apples\" is not"),
            ("--at soon loss=1%", "--at: \"soon\" is not a duration"),
            ("--at 1s loss", "--at 1s loss: expected KEY=VALUE"),
            ("--rate fast", "--rate: \"fast\" is not"),
            (
                "--at 1s los=1%",
                "--at 1s los=1%: unknown key \"los\" (did you mean \"loss\"?); expected one of: corrupt,",
            ),
            ("--at 1s rate=fast", "--at: with the changes up to 1 s: \"fast\" is not"),
            ("--rate trace", "--rate: \"trace\" requires --trace FILE"),
            ("--rate 1mbit --trace x", "--trace: --rate is given for both directions"),
            ("--trace /nonesuch", "--trace: "),
        ] {
            let Err(problem) = settings(words) else { panic!("{words}: no problem") };
            assert!(problem.starts_with(told), "{words}: {problem}");
        }
    }
}
