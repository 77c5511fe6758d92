//! The page of results has every key of the JSON documents and every column of the CSV files.
//!
//! Keys, types and texts are those of the structures that are printed, read from their sources.

#[path = "results/columns.rs"]
mod columns;
#[path = "results/keys.rs"]
mod keys;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use columns::TABLES;
use keys::keys;
use lasthop_lab::sweep::COLUMNS;
use serde_json::Value;
use tempfile::TempDir;

const FILE: &str = "docs/src/results.md";

/// Source files, each with the structures in it that are documented.
type Sources = &'static [(&'static str, &'static [&'static str])];

/// The structures behind each command's JSON document, the outermost first.
const DOCUMENTS: &[(&str, Sources)] = &[
    (
        "`lasthop run --json`, and `summary.json` of `--out`",
        &[
            (
                "lab/src/run/summary.rs",
                &["RunSummary", "FlowSummary", "Datagrams", "StationSummary", "Aggregate"],
            ),
            ("lab/src/run/roaming.rs", &["RoamingSummary", "SteeringSummary"]),
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
            ("lab/src/compare.rs", &["Comparison", "ComparisonRow", "FlowRow", "RoamingEstimates"]),
            ("lab/src/compare/flows.rs", &["SingleFlow", "WorstFlow", "DatagramEstimates"]),
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
            ("trial/src/outcome.rs", &["Outcome", "Crash"]),
            ("trial/src/stations.rs", &["StationUse"]),
            ("cli/src/commands/trial/sessions.rs", &["SessionRow", "Medians", "StreamMedians"]),
            ("trial/src/session.rs", &["SessionRun", "SessionFigures"]),
            ("cli/src/commands/trial/roaming.rs", &["RoamingRow", "HandOffFigures"]),
            ("trial/src/roaming.rs", &["RoamingRun", "HandOff"]),
        ],
    ),
    (
        "`lasthop try --predict --json`",
        &[("cli/src/commands/trial/prediction.rs", &["Report", "Row", "Prediction", "SessionPrediction"])],
    ),
    (
        "`lasthop emulate --json` and `--summary`, and `emulator` of a trial",
        &[
            ("emulator/src/summary.rs", &["Summary", "Delivered"]),
            ("linux/src/lateness.rs", &["LatenessSummary"]),
        ],
    ),
    (
        "`lasthop emulate status --json`: a list; each entry has these keys and those of the Summary above",
        &[("emulator/src/control/message.rs", &["About"])],
    ),
    (
        "`lasthop gateway status --json`; its LoopReport is `gateway` of a trial",
        &[
            ("gateway/src/control.rs", &["Status", "PortStatus"]),
            ("gateway/src/packet_loop.rs", &["LoopReport", "ThreadReport"]),
            ("gateway/src/punctuality.rs", &["PunctualityReport"]),
            ("linux/src/processor.rs", &["KeptWaiting"]),
            ("gateway/src/link.rs", &["LinkReport"]),
            ("gateway/src/engine/report.rs", &["EngineReport", "RuleReport"]),
            (
                "gateway/src/counters.rs",
                &["Counters", "EngineCounters", "Passed", "RuleCounters", "PacketCounters"],
            ),
            ("gateway/src/hop_rtt.rs", &["HopRtts"]),
            ("gateway/src/hop_watch.rs", &["HopCounters"]),
            ("gateway/src/clients.rs", &["ClientsReport", "ClientCounters", "Carried"]),
        ],
    ),
    (
        "`lasthop gateway flows --json`: a list of flows; its HopCounters are above",
        &[("gateway/src/engine/report.rs", &["FlowReport"])],
    ),
    (
        "`lasthop gateway clients --json`: a list of clients; its ClientCounters are above",
        &[("gateway/src/clients.rs", &["ClientReport"])],
    ),
    (
        "`lasthop kernel list --json`: a list of kernels",
        &[("cli/src/commands/kernel/list.rs", &["KernelReport"])],
    ),
    (
        "`lasthop kernel build --json`; the keys of the KernelReport above are its own",
        &[("cli/src/commands/kernel/build.rs", &["BuildReport"])],
    ),
    ("`lasthop kernel remove --json`", &[("cli/src/commands/kernel/remove.rs", &["RemovalReport"])]),
    (
        "`lasthop gateway gain --json`; its Estimate is that of comparisons",
        &[
            ("cli/src/commands/gain/report.rs", &["Report", "Prediction", "Row"]),
            ("cli/src/commands/gain/hop.rs", &["Hop"]),
        ],
    ),
];

const INTRODUCTION: &str = "# Results, exit codes and units

Results go to standard output, everything else to standard error. With `--json`, standard output is
exactly one JSON document, unless the command is interrupted. `lasthop emulate` is the exception:
its standard output belongs to its command, so its own results go to standard error. Later versions
may add keys, but never rename or remove one. Numbers without a unit in their name are counts.

A figure has one name, in JSON, CSV and Parquet, of runs, comparisons, sweeps and trials. In a table, keys
become columns: `a.b` is `a_b`, and an estimate `x` is `x` and `x_ci95`. What no result has, has no column of
`--csv`, or a single empty one; sweeps always have all columns. Read columns by name.

A file of earlier results (`--out`, `--pcap`, `--series`, `--summary`) is replaced only with `--overwrite`;
without it, the command ends with 2 before it begins.

This page is generated by `crates/cli/tests/results.rs`, which also tests that it is current.

## Exit codes

| code | meaning |
|---|---|
| 0 | success, whatever the results are |
| 1 | the run failed, its results could not be written, or `reproduce --check` or `gateway --check` found something |
| 2 | the command line or a file is wrong, or a file of results cannot be begun; the message names the place and what was expected |
| 3 | the run is not to be trusted, and `--require-trust` was given |
| 130, 143, 129 | ended by SIGINT (Ctrl-C), SIGTERM or SIGHUP, as a shell reports it |

These hold for all commands, with these exceptions:

- `lasthop emulate` ends with the exit code of its command; with `--require-trust`, with 3 if that is 0
  and the run is not to be trusted.
- `lasthop gateway` ends with 0 after SIGINT and SIGTERM, and reads its file again on SIGHUP.
- A command whose output is no longer read (`lasthop run ... | head -1`) ends with 0 and says
  nothing.

On Ctrl-C, `sweep` keeps the runs that are done for `--resume`, and `try` prints them. `run`,
`compare`, `reproduce` and `try --predict` print nothing. Only `sweep` leaves
an unfinished file, for `--resume`.

## Units

| suffix of a key | unit |
|---|---|
| `_bps` | bits per second |
| `_s`, `_ms`, `_us` | seconds, milliseconds, microseconds |
| `_s2` | seconds squared |
| `_octets`, `octets`, `bytes` | octets |
| `_percent` | percent |
| `_share` | a share, from 0 to 1 |
| `_cores` | processor time as a share of one core |

Columns of sweeps with the values of varied keys may also end with:

| suffix | unit |
|---|---|
| `_packets`, `_segments` | packets, segments |
| `_m`, `_m_per_s` | meters, meters per second |
| `_w`, `_dbm`, `_db` | watts, decibels above 1 mW, decibels |
| `_hz` | hertz |

In files and in `--set`, quantities have a unit. 1 kB is 1000 octets, 1 KiB is 1024. The error for a wrong unit lists the
accepted ones:
";

/// Quantities whose units are those of another.
const OF_ANOTHER: [&str; 6] =
    ["DataRate", "LinkRate", "Mac", "QueueLimitOrDiscipline", "ReceiveWindow", "StationQueue"];

#[test]
fn every_unit_of_a_column_is_on_the_page() {
    let source = source("scenario/src/file/sweep/column.rs");
    let (_, rest) = source.split_once("const UNITS").expect("units");
    let (table, _) = rest.split_once("];").expect("it ends");
    let of_varied = table.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').nth(2));
    let suffixes: BTreeSet<&str> = of_varied.chain(["s", "bps", "octets"]).collect();
    assert!(suffixes.contains("m_per_s"), "{suffixes:?}");
    for suffix in suffixes {
        assert!(INTRODUCTION.contains(&format!("`_{suffix}`")), "{suffix}");
    }
}

/// What each kind of quantity is to look like.
fn quantities() -> String {
    let schema = fs::read_to_string(repository().join("scenarios/scenario.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let kinds = schema["$defs"].as_object().expect("definitions").iter();
    let expected = kinds.filter(|(name, _)| !OF_ANOTHER.contains(&name.as_str())).filter_map(|(_, kind)| {
        kind["description"].as_str()?.strip_prefix("Expected: ").map(|text| format!("- {text}\n"))
    });
    expected.collect::<Vec<_>>().concat()
}

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
fn every_type_has_a_table() {
    let all = || DOCUMENTS.iter().flat_map(|(_, sources)| *sources);
    let tables: BTreeSet<&str> = all().flat_map(|(_, structures)| *structures).copied().collect();
    for (file, structures) in all() {
        for key in structures.iter().flat_map(|name| keys(&source(file), name)) {
            let kind = key.kind.trim_start_matches("list of ").trim_end_matches(" or null");
            let is_plain = kind.starts_with(char::is_lowercase);
            assert!(is_plain || tables.contains(kind), "{file}: {}: there is no table of {kind}", key.name);
        }
    }
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
    let measure = "measure=[\"window\",\"rtt\",\"sequence\",\"queue\",\"channel\",\"frames\",\"drops\"]";
    lasthop(&["run", scenario, "--set", measure, "--out", "series"]);
    let sweep = format!("scenario = \"{scenario}\"\n[vary]\n\"links.wire.delay\" = [\"1 ms\"]\n");
    fs::write(folder.path().join("one.sweep.toml"), sweep).expect("a file");
    let swept = lasthop(&["sweep", "one.sweep.toml"]);
    let trial = repository().join("scenarios/try.toml");
    let trial = trial.to_str().expect("UTF-8");
    let choice = ["--seeds", "1", "--schemes", "none", "--congestion", "cubic", "--series", "try.csv"];
    lasthop(&[&["try", trial, "--predict"], &choice[..]].concat());
    let of_sweep: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    assert_eq!(swept.lines().next().expect("a header"), format!("links.wire.delay_s,{}", of_sweep.join(",")));
    for (file, columns) in TABLES {
        let text = match *file {
            "try" => fs::read_to_string(folder.path().join("try.csv")).expect("a series"),
            series => fs::read_to_string(folder.path().join("series").join(series)).expect("a series"),
        };
        let is: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
        let shown: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(is, shown, "{file}");
    }
}

fn page() -> String {
    let mut page = format!("{INTRODUCTION}\n{}", quantities());
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
                    let shown = match key.is_flat {
                        true if key.kind == "number" => "*a key for each*".to_owned(),
                        true => "*the keys of*".to_owned(),
                        false => format!("`{}`", key.name),
                    };
                    let _ = writeln!(page, "| {shown} | {} | {about} |", key.kind);
                }
            }
        }
    }
    page += "\n## Series\n\n`lasthop run --out DIR` writes one file for each series in the scenario's `measure`.\n";
    for (file, columns) in TABLES {
        match *file {
            "try" => {
                page += "\n## Series of trials\n\n`lasthop try --series FILE` writes a line every 10 ms for each sender of each run.\n";
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
    page += "\n## Sweeps\n\n`lasthop sweep` writes one line for each flow and each session of each run, and one for each direction of a call or a video. The first columns are the varied keys. If all values of a key have the same dimension, its column ends with their unit: `links.air.loss_percent`. The columns behind them, in CSV, JSON and Parquet; what a line does not have is empty, and null in JSON and Parquet:\n";
    page += "\n| column | meaning |\n|---|---|\n";
    for (name, _) in COLUMNS {
        let _ = writeln!(page, "| `{name}` | {} |", about_column(name));
    }
    page
}

/// What is said of a column of sweeps where the key of `lasthop run --json` that it is comes from.
fn about_column(name: &str) -> String {
    let of_tables = [
        ("datagrams_", "lab/src/run/summary.rs", "Datagrams"),
        ("transactions_", "scenario/src/session_figures.rs", "Transactions"),
        ("transactions_", "lab/src/sessions.rs", "DialogueSummary"),
        ("roaming_", "lab/src/run/roaming.rs", "RoamingSummary"),
        ("", "lab/src/run/summary.rs", "FlowSummary"),
        ("", "lab/src/sessions.rs", "SessionSummary"),
        ("", "scenario/src/session_figures.rs", "Packets"),
        ("", "scenario/src/session_figures.rs", "StreamFigures"),
        ("", "lab/src/compare.rs", "ComparisonRow"),
        ("", "lab/src/run/summary.rs", "RunSummary"),
    ];
    match name {
        "scope" => return "`flow`, `session` or `direction`: of what this line is.".to_owned(),
        "frames_sent" => return "Transmissions of frames in the whole run.".to_owned(),
        "frames_given_up" => return "Frames that link layers gave up, in the whole run.".to_owned(),
        _ => {}
    }
    let mut found = of_tables.iter().filter_map(|(prefix, file, structure)| {
        let key = name.strip_prefix(prefix)?;
        keys(&source(file), structure).into_iter().find(|found| found.name == key)
    });
    found.next().unwrap_or_else(|| panic!("{name} is no key of a run")).about
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

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
