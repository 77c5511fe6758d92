//! The page of results has every key of the JSON documents and every column of the CSV files.
//!
//! Keys, types and texts are those of the structures that are printed, read from their sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const FILE: &str = "docs/src/results.md";

/// Source files, each with the structures in it that are documented.
type Sources = &'static [(&'static str, &'static [&'static str])];

/// The structures behind each command's JSON document, the outermost first.
const DOCUMENTS: &[(&str, Sources)] = &[
    (
        "`lasthop run --json`, and `summary.json` of `--out`",
        &[
            ("lab/src/run.rs", &["RunSummary", "FlowSummary", "Datagrams", "StationSummary", "Aggregate"]),
            ("lab/src/agents.rs", &["AgentLoad"]),
            (
                "lab/src/sessions.rs",
                &["SessionSummary", "DialogueSummary", "SessionTotals", "DialogueTotals", "StreamTotals"],
            ),
            ("scenario/src/session_figures.rs", &["Transactions", "StreamFigures", "Packets"]),
        ],
    ),
    (
        "`lasthop compare --json`",
        &[
            ("lab/src/compare.rs", &["Comparison", "ComparisonRow", "FlowRow"]),
            ("lab/src/compare/flows.rs", &["SingleFlow", "WorstFlow"]),
            ("lab/src/compare/datagrams.rs", &["DatagramEstimates"]),
            ("lab/src/agents.rs", &["AgentLoads"]),
            ("lab/src/sessions/estimates.rs", &["SessionEstimates", "DialogueEstimates", "StreamEstimates"]),
            ("lab/src/stats.rs", &["Estimate"]),
        ],
    ),
    ("`lasthop reproduce --json`: a list of rows", &[("lab/src/reproduce.rs", &["ExplainedRow", "Row"])]),
    (
        "`lasthop try --json`",
        &[
            ("cli/src/commands/trial/report.rs", &["Report", "Row"]),
            ("cli/src/commands/trial/doubts.rs", &["Doubt"]),
            ("cli/src/commands/trial/fairness.rs", &["Fairness"]),
            ("live/src/trial/outcome.rs", &["Outcome"]),
            ("live/src/trial/stations.rs", &["StationUse"]),
            ("cli/src/commands/trial/sessions.rs", &["SessionRow", "Medians", "StreamMedians"]),
            ("live/src/trial/session.rs", &["SessionRun", "SessionFigures"]),
        ],
    ),
    (
        "`lasthop try --predict --json`",
        &[("cli/src/commands/trial/prediction.rs", &["Report", "Row", "Prediction", "SessionPrediction"])],
    ),
    (
        "`lasthop emulate --json` and `--summary`, and `emulator` of a trial",
        &[
            ("live/src/emulator/summary.rs", &["Summary", "Delivered"]),
            ("live/src/lateness.rs", &["LatenessSummary"]),
        ],
    ),
];

/// The columns of each CSV file.
const TABLES: &[(&str, &[(&str, &str)])] = &[
    (
        "window.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("flow", "the flow's name"),
            ("cwnd_octets", "congestion window, in octets"),
            ("ssthresh_octets", "slow start threshold, in octets"),
            ("in_flight_octets", "sequence space that the sender considers in flight, in octets"),
        ],
    ),
    (
        "rtt.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("flow", "the flow's name"),
            ("rtt_s", "a measured round-trip time, in seconds"),
            ("srtt_s", "the smoothed round-trip time, in seconds"),
            ("rto_s", "the retransmission time-out, in seconds"),
        ],
    ),
    (
        "sequence.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("flow", "the flow's name"),
            ("end", "`sender` or `receiver`"),
            ("event", "`sent` or `received`"),
            ("seq", "sequence number of the data, in octets from the first one; empty if there is none"),
            ("ack", "acknowledgment number, in octets from the first one; empty if there is none"),
            ("octets", "octets of data"),
        ],
    ),
    (
        "queue.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link or cell"),
            ("node", "the node whose queue it is"),
            ("packets", "packets in the queue"),
            ("octets", "octets in the queue"),
        ],
    ),
    (
        "channel.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link"),
            ("good", "1 if the channel enters the good state at this time, 0 if it enters the bad one"),
        ],
    ),
    (
        "frames.csv",
        &[
            ("time_s", "seconds since the start of the run"),
            ("link", "the link or cell"),
            ("from", "the node that transmits"),
            ("to", "the node that receives"),
            ("frame", "the frame's number"),
            ("transmission", "1 for the first transmission of the frame, 2 for the next, and so on"),
            ("event", "what happened to this transmission"),
            ("octets", "octets of the frame"),
        ],
    ),
    (
        "sweep",
        &[
            ("scheme", "the scheme's label"),
            ("seed", "the seed"),
            ("flow", "the flow's name"),
            ("from", "the sending node"),
            ("to", "the receiving node"),
            ("goodput_bps", "goodput of the flow, in bits per second"),
            ("bytes", "octets delivered to the application"),
            ("completion_s", "seconds from the flow's start to its last octet; empty if there is none"),
            ("retransmits", "retransmitted segments; empty over UDP"),
            ("timeouts", "expiries of the retransmission timer; empty over UDP"),
            ("fast_retransmits", "fast retransmits; empty over UDP"),
            ("duplicate_acks", "duplicate ACKs that the sender received; empty over UDP"),
            ("rtt_mean_s", "mean measured round-trip time, in seconds; empty over UDP"),
            ("frames_sent", "transmissions of frames, in the whole run"),
            ("frames_given_up", "frames that link layers gave up, in the whole run"),
            ("control_messages", "control messages of agents, in the whole run"),
            ("local_retransmits", "segments that agents retransmitted, in the whole run"),
            ("transport", "`tcp` or `udp`"),
            ("datagrams_sent", "datagrams sent; empty over TCP, like all columns up to `jitter_s`"),
            ("datagrams_received", "datagrams that arrived, each counted once"),
            ("datagrams_lost", "datagrams that were lost"),
            ("datagrams_out_of_order", "datagrams that arrived after one sent later"),
            ("delay_mean_s", "mean one-way delay, in seconds"),
            ("delay_p95_s", "95th percentile of the one-way delay, in seconds"),
            ("jitter_s", "interarrival jitter (RFC 3550), in seconds"),
            ("jain_fairness", "Jain's fairness index, as `aggregate.jain_fairness` of `run --json`"),
            (
                "air_time_share",
                "share of the run for which stations of 802.11 cells transmitted; empty without a cell",
            ),
            (
                "awake_share",
                "share of the run for which a station in power-save mode was awake, as the mean over all such stations; empty without one",
            ),
        ],
    ),
];

const INTRODUCTION: &str = "# Results, exit codes and units

Results go to standard output, everything else to standard error. With `--json`, standard output is
exactly one JSON document. `lasthop emulate` is the exception: its standard output belongs to its
command, so its own results go to standard error. Later versions may add keys, but never rename or
remove one. Numbers without a unit in their name are counts.

This page is generated by `crates/cli/tests/results.rs`, which also tests that it is current.

## Exit codes

| code | meaning |
|---|---|
| 0 | success, whatever the results are |
| 1 | the run failed, or `reproduce --check` or `gateway --check` found something |
| 2 | the command line or a file is wrong; the message names the place and what was expected |

`lasthop emulate` ends with the exit code of its command.

## Units

| suffix of a key | unit |
|---|---|
| `_bps` | bits per second |
| `_s`, `_ms`, `_us` | seconds, milliseconds, microseconds |
| `_s2` | seconds squared |
| `_octets`, `octets`, `bytes` | octets |
| `_percent` | percent |
| `_share` | a share, from 0 to 1 |

In files and in `--set`, quantities have a unit: \"11 Mbit/s\", \"5 ms\", \"1%\", \"10 MB\" (10^7
octets), \"64 KiB\" (2^16 octets). The error for a wrong unit lists the accepted ones.
";

#[test]
fn the_page_of_results_is_what_the_code_says() {
    let path = repository().join(FILE);
    let page = page();
    if std::env::var_os("LASTHOP_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("a writable repository");
    }
    let advice = "LASTHOP_WRITE_DOCS=1 cargo test -p lasthop-cli --test results";
    assert!(
        fs::read_to_string(&path).expect(FILE) == page,
        "{FILE} is not what the code says; {advice} writes it"
    );
}

#[test]
fn the_columns_of_csv_files_are_those_on_the_page() {
    let folder = TempDir::new().expect("a temporary directory");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/small.toml");
    let lasthop = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_lasthop")).args(arguments).current_dir(folder.path()).output();
        let output = output.expect("the command starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let measure = "measure=[\"window\",\"rtt\",\"sequence\",\"queue\",\"channel\",\"frames\"]";
    lasthop(&["run", scenario, "--set", measure, "--out", "series"]);
    let sweep = format!("scenario = \"{scenario}\"\n[vary]\n\"links.wire.delay\" = [\"1 ms\"]\n");
    fs::write(folder.path().join("one.sweep.toml"), sweep).expect("a file");
    let swept = lasthop(&["sweep", "one.sweep.toml"]);
    for (file, columns) in TABLES {
        let text = match *file {
            "sweep" => swept.replacen("links.wire.delay_s,", "", 1),
            series => fs::read_to_string(folder.path().join("series").join(series)).expect("a series"),
        };
        let is: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
        let shown: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(is, shown, "{file}");
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let known = meanings();
    page += "\n## JSON\n\nA type with a capital letter is a table: see the heading of that name, first in the same section.\n";
    for (document, sources) in DOCUMENTS {
        let _ = write!(page, "\n### {document}\n");
        for (file, structures) in *sources {
            let source = source(file);
            for name in *structures {
                let _ = write!(page, "\n#### {name}\n\n| key | type | meaning |\n|---|---|---|\n");
                for key in keys(&source, name) {
                    let about = if key.about.is_empty() { known.get(&key.name) } else { Some(&key.about) };
                    let about =
                        about.unwrap_or_else(|| panic!("{file}: {name}.{} is not documented", key.name));
                    let shown =
                        if key.is_flat { "*the keys of*".to_owned() } else { format!("`{}`", key.name) };
                    let _ = writeln!(page, "| {shown} | {} | {about} |", key.kind);
                }
            }
        }
    }
    page += "\n## Series\n\n`lasthop run --out DIR` writes one file for each series in the scenario's `measure`.\n";
    for (file, columns) in TABLES {
        match *file {
            "sweep" => {
                page += "\n## Sweeps\n\n`lasthop sweep` writes one line for each flow of each run. The first columns are the varied keys. If all values of a key have the same dimension, its column ends with their unit: `links.air.loss_percent`.\n";
            }
            series => {
                let _ = write!(page, "\n### {series}\n");
            }
        }
        page += "\n| column | meaning |\n|---|---|\n";
        for (name, about) in *columns {
            let _ = writeln!(page, "| `{name}` | {about} |");
        }
    }
    page
}

/// What a key means where its own structure does not say: a name means the same everywhere.
fn meanings() -> BTreeMap<String, String> {
    let mut meanings = BTreeMap::new();
    for (file, structures) in DOCUMENTS.iter().flat_map(|(_, sources)| *sources) {
        let source = source(file);
        let documented =
            structures.iter().flat_map(|name| keys(&source, name)).filter(|key| !key.about.is_empty());
        for key in documented {
            meanings.entry(key.name).or_insert(key.about);
        }
    }
    meanings
}

fn source(file: &str) -> String {
    fs::read_to_string(repository().join("crates").join(file))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

struct Key {
    name: String,
    kind: String,
    about: String,
    is_flat: bool,
}

/// The fields of a structure as they are printed.
fn keys(source: &str, structure: &str) -> Vec<Key> {
    let opening = format!("struct {structure} {{");
    let (_, rest) = source.split_once(&opening).unwrap_or_else(|| panic!("there is no {structure}"));
    let (body, _) = rest.split_once("\n}").expect("it ends");
    let mut keys = Vec::new();
    let (mut about, mut attributes) = (String::new(), String::new());
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            format!("{about} {}", text.trim()).trim().clone_into(&mut about);
        } else if line.starts_with("#[") {
            attributes += line;
        } else if let Some((name, kind)) = line.trim_end_matches(',').split_once(": ") {
            let name = name.rsplit(' ').next().expect("a name");
            if !attributes.contains("serde(skip)") {
                keys.push(Key {
                    name: name.to_owned(),
                    kind: kind_of(kind),
                    about: in_json(&about),
                    is_flat: attributes.contains("flatten"),
                });
            }
            about.clear();
            attributes.clear();
        }
    }
    keys
}

/// A type of Rust, as JSON has it.
fn kind_of(kind: &str) -> String {
    let inner = |prefix: &str| kind.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inner("Option<") {
        return format!("{} or null", kind_of(inner));
    }
    if let Some(inner) = inner("Vec<") {
        return format!("list of {}", kind_of(inner));
    }
    match kind {
        "String" | "&'static str" => "text".to_owned(),
        "u64" | "usize" | "f64" => "number".to_owned(),
        "bool" => "true or false".to_owned(),
        "Reference" => "number, pair of numbers, or null".to_owned(),
        _ if kind.contains("Map<") => "table".to_owned(),
        structure => structure.rsplit("::").next().expect("a name").to_owned(),
    }
}

/// A text without links to code, and with JSON's word for nothing.
fn in_json(text: &str) -> String {
    text.replace("`None`", "null").replace(" ([`crate::run::Aggregate::air_time_share`])", "")
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
