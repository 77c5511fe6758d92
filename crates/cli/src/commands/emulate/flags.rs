//! A link that is described by flags instead of a file. The flags are converted to the text of a
//! scenario, so that both have the same model and the same rules.

mod file;
mod state;
mod values;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lasthop_config::FileError;
use lasthop_scenario::file::When;
use lasthop_scenario::{Overrides, Settings};

use super::value::{self, Meant};
use state::{State, remove_unused_keys};
use values::Values;

/// The properties of the link.
#[derive(Args)]
#[command(next_help_heading = "A link without a file (VALUE for both ways, or DOWN:UP)")]
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
    /// Impair only these packets, in both directions: protocols, addresses, ports or several of these with
    /// colons between, of either end, such as tcp:9999, 203.0.113.0/24, or `[2001:db8::1]:443`; a list with
    /// commas, or several times. All others cross the link at once, without rate, delay and loss
    /// [default: all]
    #[arg(long, value_name = "TRAFFIC", allow_hyphen_values = true)]
    only: Vec<String>,
    /// Do not impair these packets, such as udp:53: a list as that of --only [default: none]
    #[arg(long, value_name = "TRAFFIC", allow_hyphen_values = true)]
    except: Vec<String>,
    /// TCP connections that the link resets at both ends, or refuses: "reset after 5s" or "reset after 1MB",
    /// each after this time or this much data; refused: those that open; kept: none. To reset all that stand at
    /// a time: --at 5s reset [default: kept]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    connections: Option<String>,
    /// The trace of the upload, if it differs from the one of --trace
    #[arg(long, value_name = "FILE", requires = "trace", conflicts_with = "rate")]
    trace_up: Option<PathBuf>,
    /// Change a property at a time after the start: --at 10s loss=100%; for a time: --at "10s for 1s"
    /// rate=0; or time after time: --at "every 15s for 1s" loss=100%; or reset the TCP connections that stand
    /// at a time: --at 5s reset; may be given several times
    #[arg(long, num_args = 2, value_names = ["TIME", "KEY=VALUE"])]
    at: Vec<String>,
}

/// Adds advice to an error: the flag that corresponds to one of another tool, the values that are
/// missing after `--at`, or another use of a word.
pub fn hint(error: &mut clap::Error) {
    let at = ContextValue::String("--at <TIME> <KEY=VALUE>".to_owned());
    // Any text is a valid value; the error means that one is missing.
    let lacks_values = matches!(error.kind(), ErrorKind::WrongNumberOfValues | ErrorKind::InvalidValue);
    if lacks_values && error.get(ContextKind::InvalidArg) == Some(&at) {
        let tip = "a change has a time, and a key with its value: --at 5s loss=100%";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    match flag.strip_prefix("--").and_then(value::meant_by) {
        Some(Meant::Key(meant)) => {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{meant}")));
            return;
        }
        Some(Meant::Instead(advice)) => {
            // A flag with a similar name is not what was meant.
            error.remove(ContextKind::SuggestedArg);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
            return;
        }
        None => {}
    }
    let is_number = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    let tip = if flag.strip_prefix('-').is_some_and(is_number) {
        "no value here is negative"
    } else if !flag.starts_with('-') && flag.contains('=') {
        "`lasthop emulate set LINK.KEY=VALUE` changes a running emulation; a new one takes flags, such as --loss 1%"
    } else if !flag.starts_with('-') {
        "each property of the link is a flag, with quotes around a value that has spaces: --delay 10ms --loss \"1% 25%\"; a \
         command follows --: -- ping host.lasthop"
    } else {
        return;
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Adds advice to an error of a command that reads a scenario: how to change a key of the
/// scenario's links.
pub fn hint_of_a_scenario(error: &mut clap::Error) {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    let key = flag.strip_prefix("--").and_then(value::key_of);
    if let Some(key) = key.filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        let tip = format!("the links of the scenario have it: --set links.NAME.{key}=VALUE");
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

impl LinkFlags {
    /// Whether the command line has any flag of a link.
    pub fn are_given(&self) -> bool {
        self.given().next().is_some()
            || self.selected().next().is_some()
            || self.trace_up.is_some()
            || !self.at.is_empty()
    }

    /// A short description of the link, such as `rate 10mbit, loss 1%`.
    pub fn label(&self, trace: Option<&Path>) -> String {
        let trace = trace.map(|path| format!("trace {}", path.display()));
        let given = self.given().map(|(flag, value)| format!("{flag} {value}"));
        let selected = self.selected().map(|(flag, list)| format!("{flag} {list}"));
        trace.into_iter().chain(given).chain(selected).collect::<Vec<_>>().join(", ")
    }

    /// The settings of this link's scenario. The download follows `trace`, if given.
    pub fn settings(&self, trace: Option<&Path>, overrides: Vec<String>) -> Result<Settings, String> {
        let text = self.scenario(trace)?;
        let overrides = Overrides { trace: None, settings: overrides };
        Settings::parse(text, "the link".to_owned(), PathBuf::new(), &overrides).map_err(in_terms_of_flags)
    }

    /// The link as a scenario file.
    pub fn scenario(&self, trace: Option<&Path>) -> Result<String, String> {
        file::of(&self.states(trace)?, trace, self.trace_up.as_deref())
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
            ("connections", &self.connections),
        ];
        flags.into_iter().filter_map(|(flag, value)| Some((flag, value.as_deref()?)))
    }

    /// The union of the values of each flag that selects traffic.
    fn selected(&self) -> impl Iterator<Item = (&'static str, String)> {
        let flags = [("only", &self.only), ("except", &self.except)];
        flags.into_iter().filter(|(_, list)| !list.is_empty()).map(|(flag, list)| (flag, list.join(",")))
    }

    /// The states of the link: at the start, and after each change.
    fn states(&self, trace: Option<&Path>) -> Result<Vec<State>, String> {
        let mut values = Values::unimpaired(trace.is_some());
        for (flag, value) in self.given() {
            values.set(flag, value).map_err(|problem| format!("--{flag}: {problem}"))?;
        }
        if self.connections.as_deref().is_some_and(|value| value.trim() == "reset") {
            return Err("--connections: \"reset\" is for connections that stand, and none does at the start; expected a time, \
                        as in --at 5s reset, or \"reset after 1B\" for each with its first octet"
                .to_owned());
        }
        for (flag, list) in self.selected() {
            values.set(flag, &list).map_err(|problem| format!("--{flag}: {problem}"))?;
        }
        let mut changes = self.at.chunks_exact(2).map(|pair| pair[1].trim_start());
        let may_vary = self.jitter.is_some() || changes.any(|change| change.starts_with("jitter"));
        if self.delay_correlation.is_some() && !may_vary {
            return Err("--delay-correlation: requires delays that vary: --jitter".to_owned());
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
        let mut states = vec![State::first(values.ways())];
        let mut changes: Vec<(When, Cow<'_, str>, Cow<'_, str>)> = Vec::new();
        for pair in self.at.chunks_exact(2) {
            let (at, change) = in_full(&pair[0], &pair[1]);
            let when = at.parse().map_err(|error| format!("--at: {error}"))?;
            changes.push((when, at, change));
        }
        changes.sort_by_key(|(when, ..)| when.first);
        let at_first = values.clone();
        for (when, at, change) in changes {
            let described = |problem: String| format!("--at {} {change}: {problem}", quoted(&at));
            let (flag, value) = change
                .split_once('=')
                .ok_or_else(|| described("expected KEY=VALUE, such as loss=100%, or reset".to_owned()))?;
            let flag = flag.trim();
            let ends = when.length.is_some();
            let mut for_a_time = at_first.clone();
            let changed = if ends { &mut for_a_time } else { &mut values };
            let key = changed.set(flag, value.trim()).map_err(&described)?;
            // A reset is an instantaneous event: an equal value later is another reset.
            let is_over = key == "connections" && value.trim() == "reset";
            let always = (ends || is_over).then_some(key);
            states.push(State { at: at.into_owned(), ways: changed.ways(), ends, always });
        }
        remove_unused_keys(&mut states);
        Ok(states)
    }
}

/// Completes a change that is only a value of `connections`. A reset is instantaneous, so a
/// repeated one needs no length on the command line.
fn in_full<'a>(at: &'a str, change: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    let words = change.trim();
    if !(words == "refused" || words == "kept" || words.starts_with("reset")) || words.contains('=') {
        return (at.into(), change.into());
    }
    let repeats = words == "reset" && at.contains("every ") && !at.contains(" for ");
    let at = if repeats { format!("{at} for 1ms").into() } else { at.into() };
    (at, format!("connections={words}").into())
}

/// A word in the form in which it is typed.
fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("{word:?}") } else { word.to_owned() }
}

/// The message of an error of the link, with the flag instead of the key of the file.
fn in_terms_of_flags(error: FileError) -> String {
    const FLAGS: [&str; 14] = [
        "rate",
        "delay",
        "jitter",
        "delay-correlation",
        "loss",
        "duplicate",
        "corrupt",
        "reorder",
        "queue",
        "only",
        "except",
        "connections",
        "trace",
        "changes",
    ];
    let known = |step: &&str| FLAGS.contains(step);
    let of_a_change = error.key.starts_with("changes") || error.problem.starts_with("with th");
    match error.key.split(['.', '[']).rfind(known) {
        _ if error.file == "--set" => error.to_string(),
        _ if of_a_change => format!("--at: {}", error.problem),
        Some(flag) => format!("--{flag}: {}", error.problem),
        None => error.problem,
    }
}

#[cfg(test)]
mod tests;
