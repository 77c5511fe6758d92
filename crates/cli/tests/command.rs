//! The command as its users meet it: output, files, exit codes.

mod answer;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A bursty hop with little traffic: a run takes milliseconds.
const SMALL: &str = include_str!("small.toml");

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), text).expect("a file in it");
        self
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("COLUMNS")
            .output()
            .expect("the command starts")
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        answer::succeeded(arguments, &self.run(arguments))
    }

    fn refuse(&self, arguments: &[&str]) -> String {
        answer::refused(arguments, &self.run(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.succeed(arguments)).expect("one JSON document")
    }
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn a_connection_that_is_none_is_refused_before_a_gateway_is_asked() {
    for flow in ["foo", "10.0.0.1:80", "192.0.2.1:443-10.0.0.7:99999", "2001:db8::1:80-[::1]:5"] {
        let message = Folder::new().refuse(&["gateway", "aside", flow]);
        assert!(message.contains(flow) && message.contains("expected two endpoints"), "{message}");
    }
}

#[test]
fn compare_prints_a_row_a_scheme() {
    let folder = Folder::new().with("small.toml", SMALL);
    let table = folder.succeed(&["compare", "small.toml"]);
    for scheme in
        ["no-loss", "none", "snoop", "refined-icmp", "completion s", "improvement %", "control packets"]
    {
        assert!(table.contains(scheme), "{table}");
    }
    let picked = folder.succeed(&["compare", "small.toml", "--schemes", "snoop, none", "--seeds", "1"]);
    assert!(!picked.contains("refined"), "{picked}");
}

#[test]
fn compare_as_json_has_the_keys_of_the_design() {
    let folder = Folder::new().with("small.toml", SMALL);
    let comparison = folder.json(&["compare", "small.toml", "--json"]);
    assert_eq!(comparison["scenario"], "small");
    assert_eq!(comparison["baseline"], "none");
    assert_eq!(comparison["seeds"], serde_json::json!([1, 2, 3]));
    let rows = comparison["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert!(row["goodput_bps"]["mean"].as_f64().expect("a mean") > 0.0);
        assert!(row["completion_s"]["ci95"].is_number());
        assert_eq!(row["runs"], 3);
    }
    assert!(rows[1]["improvement_percent"].is_null(), "the baseline is not compared with itself");
    assert!(rows[0]["improvement_percent"]["mean"].as_f64() > Some(0.0));
}

#[test]
fn csv_is_one_rectangular_table() {
    let folder = Folder::new().with("small.toml", SMALL);
    for (arguments, header, lines) in [
        // A line for all flows of a scheme, and one for each.
        (
            &["compare", "small.toml", "--schemes", "none,snoop", "--csv"][..],
            "scheme,scope,flow,transport,",
            5,
        ),
        (&["reproduce", "packet-control", "--seeds", "2", "--csv"], "paper,item,scheme,metric,unit,", 13),
        (&["schemes", "c3tcp", "--csv"], "setting,kind,default,least,most,values,description", 4),
    ] {
        let text = folder.succeed(arguments);
        assert!(text.starts_with(header), "{text}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        // The reader refuses lines of different lengths.
        let records: Vec<csv::StringRecord> =
            reader.records().collect::<Result<_, _>>().expect("a rectangle");
        assert_eq!(records.len() + 1, lines, "{text}");
        let both = [arguments, &["--json"]].concat();
        assert!(folder.refuse(&both).contains("cannot be used with"), "{both:?}");
    }
}

#[test]
fn comparison_as_json_has_each_flow_and_the_worst() {
    let other = "\n[flows.upload]\nfrom = \"phone\"\nto = \"server\"\nsize = \"50 kB\"\n";
    let udp = "\n[flows.call]\ntransport = \"udp\"\nfrom = \"server\"\nto = \"phone\"\n\
               application = { kind = \"cbr\", interval = \"20 ms\", message = \"172 B\" }\n";
    let folder = Folder::new().with("three.toml", format!("{SMALL}{other}{udp}"));
    let comparison =
        folder.json(&["compare", "three.toml", "--schemes", "none,snoop", "--seeds", "2", "--json"]);
    let [none, snoop] = [0, 1].map(|row| &comparison["rows"][row]);
    assert!(none["worst_flow"].is_null() && snoop["worst_flow"]["change_percent"]["mean"].is_number());
    let flows = snoop["single_flows"].as_array().expect("an array");
    assert_eq!(flows.iter().map(|flow| &flow["flow"]).collect::<Vec<_>>(), ["download", "upload", "call"]);
    assert!(flows[0]["datagrams"].is_null() && flows[2]["datagrams"]["delay_mean_s"]["mean"].is_number());
}

#[test]
fn a_check_accepts_exactly_the_disagreements_on_the_list() {
    let folder = Folder::new();
    let text = folder.succeed(&["reproduce", "packet-control", "--check"]);
    assert!(text.contains("NO [1]") && text.contains("[1] Without packet control, "), "{text}");
    let rows = folder.json(&["reproduce", "packet-control", "--seeds", "2", "--json"]);
    let rows = rows.as_array().expect("an array");
    assert!(rows.iter().all(|row| row["explained"].is_string() <= (row["agrees"] == false)));
    let message = folder.refuse(&["reproduce", "packet-control", "--check", "--seeds", "2"]);
    assert!(message.contains("cannot be used with"), "the list is for the usual number of runs: {message}");
}

/// A call beside the download, with these keys.
fn with_a_call(keys: &str) -> String {
    format!("{SMALL}\n[sessions.call]\nkind = \"voice\"\nbetween = [\"phone\", \"server\"]\n{keys}\n")
}

#[test]
fn a_call_of_which_nothing_is_decided_has_no_losses_in_per_cent() {
    // Everything is on its way when the run ends.
    let far = with_a_call("start = \"59 s\"").replace("delay = \"20 ms\"", "delay = \"2 s\"");
    let folder = Folder::new().with("far.toml", far);
    let run = folder.json(&["run", "far.toml", "--json"]);
    let stream = &run["sessions"][0]["streams"][0];
    assert!(stream["sent"].as_u64().is_some_and(|sent| sent > 0), "{stream}");
    assert!(stream["lost_percent"].is_null() && stream["late_percent"].is_null(), "{stream}");
    let comparison = folder.json(&["compare", "far.toml", "--json"]);
    assert!(comparison["rows"][0]["sessions"]["voice"]["lost_percent"].is_null(), "{comparison}");
    for command in ["run", "compare"] {
        let tables = folder.succeed(&[command, "far.toml"]);
        let calls = tables.split_once("jitter ms").expect("a table of calls").1;
        assert!(!calls.contains("0.00"), "{tables}");
    }
}

#[test]
fn compare_tells_the_mean_opinion_score_and_the_worst() {
    let folder = Folder::new().with("call.toml", with_a_call(""));
    let tables = folder.succeed(&["compare", "call.toml"]);
    // One direction shares its queue with the download.
    assert!(tables.contains("┆ MOS worst"), "{tables}");
    assert!(
        tables.contains("mean of both directions of all calls; MOS worst: of the worst direction"),
        "{tables}"
    );
    let text = with_a_call("");
    let (network, call) = (text.split("[flows").next(), text.split("[sessions").nth(1));
    let alone = format!("{}[sessions{}", network.expect("nodes and links"), call.expect("a call"));
    let folder = Folder::new().with("alone.toml", alone);
    let tables = folder.succeed(&["compare", "alone.toml", "--schemes", "no-loss"]);
    assert!(tables.contains("MOS: opinion score") && !tables.contains("worst"), "{tables}");
}

#[test]
fn run_as_json_has_the_keys_of_the_design_and_a_seed_gives_one_result() {
    let folder = Folder::new().with("small.toml", SMALL);
    let arguments = ["run", "small.toml", "--scheme", "snoop", "--seed", "7", "--json"];
    let summary = folder.json(&arguments);
    assert_eq!((&summary["scheme"], &summary["seed"]), (&"snoop".into(), &7.into()));
    let flow = &summary["flows"][0];
    for key in
        ["goodput_bps", "bytes", "completion_s", "retransmits", "timeouts", "fast_retransmits", "rtt_mean_s"]
    {
        assert!(flow[key].is_number(), "{key}");
    }
    assert_eq!(
        (&flow["from"], &flow["to"], &flow["bytes"]),
        (&"server".into(), &"phone".into(), &200_000.into())
    );
    assert!(summary["aggregate"]["jain_fairness"].is_number() && summary["counters"].is_object());
    assert_eq!(summary, folder.json(&arguments));
}

#[test]
fn run_writes_every_series_that_the_scenario_measures() {
    let folder = Folder::new().with("small.toml", SMALL);
    folder.succeed(&["run", "small.toml", "--out", "series"]);
    for file in ["window", "rtt", "sequence", "queue", "channel", "frames"] {
        let text = fs::read_to_string(folder.path("series").join(format!("{file}.csv"))).expect(file);
        let mut lines = text.lines();
        let columns = lines.next().expect("a header").split(',').count();
        assert!(lines.clone().count() > 3, "{file}: {text}");
        assert!(lines.all(|line| line.split(',').count() == columns), "{file}");
    }
    assert!(folder.path("series/summary.json").exists());
}

#[test]
fn drops_have_their_time_place_cause_and_packet_in_a_series() {
    let folder = Folder::new().with("small.toml", SMALL);
    let settings = [
        "schemes=[\"none\"]",
        "links.air.link-layer=none",
        "links.wire.loss=every 20",
        "links.air.queue=2 packets",
    ];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let arguments = [
        "run",
        "small.toml",
        "--scheme",
        "none",
        "--json",
        "--set",
        "measure=[\"drops\"]",
        "--out",
        "series",
    ];
    let summary = folder.json(&arguments.into_iter().chain(settings).collect::<Vec<_>>());
    let text = fs::read_to_string(folder.path("series/drops.csv")).expect("a series");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0],
        ["time_s", "link", "node", "cause", "protocol", "source", "destination", "seq", "octets"]
    );
    let count = |link: &str, cause: &str| rows.iter().filter(|row| row[1] == link && row[3] == cause).count();
    assert!(count("wire", "wired loss") > 5 && count("air", "wireless loss") > 5, "{text}");
    // The counters have all drops, too.
    let counters = summary["counters"].as_object().expect("a table");
    let counted = counters.iter().filter(|(name, _)| name.starts_with("dropped"));
    let counted: u64 = counted.filter_map(|(_, count)| count.as_u64()).sum();
    assert_eq!(counted, rows.len() as u64 - 1, "{counters:?}");
    assert!(rows[1..].iter().all(|row| row.len() == 9 && row[4] == "tcp" && row[5].contains(':')), "{text}");
}

#[test]
fn what_a_command_reads_it_does_not_overwrite() {
    let grid = "scenario = \"small.toml\"\nseeds = 1\n[vary]\n\"links.wire.delay\" = [\"5 ms\"]\n";
    let steady = "1\n2\n3\n";
    let traced = SMALL
        .replacen("rate = \"2 Mbit/s\"", "rate = \"trace\"\ntrace = \"window.csv\"", 1)
        .replacen("kind = \"stop-and-wait\"", "kind = \"stop-and-wait\"\nack-timeout = \"20 ms\"", 1);
    let folder = Folder::new().with("small.toml", SMALL).with("grid.csv", grid).with("window.csv", steady);
    let folder = folder.with("traced.toml", traced);
    std::os::unix::fs::symlink("small.toml", folder.path("link.pcapng")).expect("a link");
    for (command, lost) in [
        (&["run", "small.toml", "--pcap", "small.toml"][..], "small.toml"),
        (&["run", "small.toml", "--pcap", "link.pcapng"], "link.pcapng"),
        (&["run", "traced.toml", "--pcap", "window.csv"], "window.csv"),
        (&["run", "traced.toml", "--out", "."], "window.csv"),
        (&["sweep", "grid.csv", "--out", "grid.csv"], "grid.csv"),
    ] {
        let message = folder.refuse(command);
        assert!(
            message.contains(&format!("{lost}: this file is an input of the run")),
            "{command:?}: {message}"
        );
    }
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect(name);
    assert_eq!((read("small.toml").as_str(), read("grid.csv").as_str()), (SMALL, grid));
    assert_eq!(read("window.csv"), steady);
}

#[test]
fn a_data_file_of_the_name_that_its_run_produces_is_not_overwritten() {
    let data = fs::read(repository().join("scenarios/goel/figure-5.1/datafile.dat")).expect("a data file");
    let folder = Folder::new().with("trace.dat", &data);
    let message = folder.refuse(&["run", "trace.dat", "--json"]);
    assert!(message.contains("trace.dat: this file is an input of the run"), "{message}");
    assert_eq!(fs::read(folder.path("trace.dat")).expect("a file"), data);
}

#[test]
fn what_goes_to_our_own_output_is_not_replaced() {
    let folder = Folder::new().with("small.toml", SMALL).with("both.out", "before\n");
    let both = fs::OpenOptions::new().append(true).open(folder.path("both.out")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.args(["run", "small.toml", "--pcap", "/dev/stderr"]).current_dir(folder.0.path()).stderr(both);
    assert!(command.output().expect("the command starts").status.success());
    let octets = fs::read(folder.path("both.out")).expect("a file");
    assert!(octets.starts_with(b"before\n") && octets.len() > 10_000, "{} octets", octets.len());
}

#[test]
fn every_measured_round_trip_time_has_a_row() {
    let folder = Folder::new().with("small.toml", SMALL);
    let settings = ["--set", "measure=[\"rtt\"]", "--set", "tcp.timestamps=true"];
    let summary =
        folder.succeed(&[&["run", "small.toml", "--json", "--out", "series"], &settings[..]].concat());
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let mean = summary["flows"][0]["rtt_mean_s"].as_f64().expect("a number");
    let series = fs::read_to_string(folder.path("series/rtt.csv")).expect("a file");
    let rtts: Vec<f64> = series
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).and_then(|rtt| rtt.parse().ok()).expect("a number"))
        .collect();
    let of_rows = rtts.iter().sum::<f64>() / rtts.len() as f64;
    assert!(
        rtts.len() > 20 && (of_rows - mean).abs() < 1e-6,
        "{} rows: {of_rows} and not {mean}",
        rtts.len()
    );
}

#[test]
fn a_capture_is_not_mixed_with_the_tables() {
    let folder = Folder::new().with("small.toml", SMALL).with("both.out", "before\n");
    for name in ["/dev/stdout", "both.out", "-"] {
        let both = fs::OpenOptions::new().append(true).open(folder.path("both.out")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.args(["run", "small.toml", "--pcap", name]).current_dir(folder.0.path()).stdout(both);
        let run = command.output().expect("the command starts");
        let message = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.code() == Some(2) && message.contains("standard output has"), "{name}: {message}");
        assert_eq!(fs::read(folder.path("both.out")).expect("a file"), b"before\n");
    }
    folder.succeed(&["run", "small.toml", "--pcap", "/dev/null"]);
}

#[test]
fn a_run_that_is_interrupted_leaves_nothing() {
    let folder = Folder::new().with("small.toml", SMALL.replace("size = \"200 kB\"", ""));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.args([
        "run",
        "small.toml",
        "--pcap",
        "run.pcapng",
        "--set",
        "duration=\"600 s\"",
        "--out",
        "results/series",
    ]);
    let mut child = command.current_dir(folder.0.path()).spawn().expect("the command starts");
    let files = |at: PathBuf| fs::read_dir(at).map_or(0, Iterator::count);
    while files(folder.path("results/series")) < 6 {
        assert!(child.try_wait().expect("our child").is_none(), "it takes minutes");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    assert_eq!(child.wait().expect("our child").code(), None, "it ends by the signal");
    assert_eq!(files(folder.0.path().to_owned()), 1, "the scenario");
}

#[test]
fn a_sweep_to_standard_output_that_is_interrupted_says_so() {
    let folder = Folder::new().with("small.toml", SMALL).with(
        "grid.toml",
        "scenario = \"small.toml\"\nseeds = 10000\n[vary]\n\"links.wire.delay\" = [\"5 ms\", \"50 ms\"]\n",
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.args(["sweep", "grid.toml", "--json"]).current_dir(folder.0.path());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut first = [0; 100];
    child.stdout.as_mut().expect("it is piped").read_exact(&mut first).expect("it writes as results come");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    let output = child.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), None, "it ends by the signal");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "lasthop: interrupted: the results on standard output are not complete\n");
}

#[test]
fn a_prediction_that_is_interrupted_leaves_nothing() {
    let scenario = repository().join("scenarios/try.toml");
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("try").arg(scenario).args(["--predict", "--seeds", "1000", "--series", "series.csv"]);
    let mut child = command.current_dir(folder.0.path()).spawn().expect("the command starts");
    let files = || fs::read_dir(folder.0.path()).map_or(0, Iterator::count);
    while files() < 1 {
        assert!(child.try_wait().expect("our child").is_none(), "it takes minutes");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    assert_eq!(child.wait().expect("our child").code(), None, "it ends by the signal");
    assert_eq!(files(), 0);
}

#[test]
fn a_congestion_control_that_cannot_be_predicted_is_refused() {
    let scenario = repository().join("scenarios/try.toml");
    let scenario = scenario.to_str().expect("UTF-8");
    for names in ["bbr2", "cubic,bbr2", ""] {
        let complaint = Folder::new().refuse(&["try", scenario, "--predict", "--congestion", names]);
        let name = names.split(',').next_back().unwrap_or_default();
        assert!(complaint.contains(&format!("no congestion control {name:?}")), "{complaint}");
        assert!(complaint.contains("bbr, bbr3, cubic, reno, vegas, westwood"), "{complaint}");
    }
}

#[test]
fn files_of_an_earlier_run_are_replaced_only_if_that_is_asked_for() {
    let folder = Folder::new().with("small.toml", SMALL).with("less.toml", SMALL.replace("\"queue\", ", ""));
    folder.succeed(&["run", "small.toml", "--out", "series"]);
    let trial = repository().join("scenarios/try.toml");
    let trial = trial.to_str().expect("UTF-8");
    folder.succeed(&["run", "small.toml", "--pcap", "run.pcapng"]);
    folder.succeed(&["try", trial, "--predict", "--seeds", "1", "--series", "series.csv"]);
    for command in [
        &["run", "small.toml", "--out", "series"][..],
        &["run", "small.toml", "--pcap", "run.pcapng"],
        &["try", trial, "--predict", "--seeds", "1", "--series", "series.csv"],
    ] {
        let message = folder.refuse(command);
        assert!(message.contains("this file exists; expected another name, or --overwrite"), "{message}");
    }
    let again = folder.run(&["run", "small.toml", "--out", "series", "--overwrite"]);
    assert_eq!(String::from_utf8_lossy(&again.stderr), "");
    let less = folder.run(&["run", "less.toml", "--out", "series", "--overwrite"]);
    assert_eq!(
        String::from_utf8_lossy(&less.stderr),
        "note: series also contains files that this run did not write: queue.csv\n"
    );
}

/// The size of a file is limited in blocks of 1024 octets, and to write more is an error, as on a full
/// disk.
fn with_files_up_to(blocks: u32, folder: &Folder, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ && ulimit -f {blocks} && exec \"$0\" \"$@\"");
    Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_lasthop")])
        .args(arguments)
        .current_dir(folder.0.path())
        .output()
        .expect("bash starts")
}

#[test]
fn a_run_that_cannot_write_all_its_files_leaves_all_those_of_the_run_before() {
    let folder = Folder::new().with("small.toml", SMALL);
    folder.succeed(&["run", "small.toml", "--out", "series", "--seed", "1"]);
    let files = || {
        let entries = fs::read_dir(folder.path("series")).expect("a directory");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect::<BTreeMap<_, _>>()
    };
    let before = files();
    let sizes = before.values().map(|file| file.len() as u32 / 1024);
    let (least, most) = (sizes.clone().min().expect("files"), sizes.max().expect("files"));
    assert!(least < most / 2, "one of them is too large: {least} and {most} KiB");
    let again = ["run", "small.toml", "--out", "series", "--seed", "2", "--overwrite"];
    let failed = with_files_up_to(most / 2, &folder, &again);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(String::from_utf8_lossy(&failed.stderr).contains("cannot write"), "{failed:?}");
    assert!(files() == before, "some files are of the run that failed");
}

#[test]
fn a_disk_without_room_is_no_wrong_argument_and_gets_no_half_page_of_the_manual() {
    let sweep = "scenario = \"small.toml\"\n[vary]\n\"links.wire.delay\" = [\"5 ms\"]\n";
    let folder = Folder::new().with("small.toml", SMALL).with("grid.toml", sweep);
    let failed = with_files_up_to(0, &folder, &["sweep", "grid.toml", "--out", "grid.csv"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(!folder.path("grid.csv.part").exists());

    folder.succeed(&["man", "whole"]);
    let failed = with_files_up_to(2, &folder, &["man", "cut"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    for page in fs::read_dir(folder.path("cut/man1")).into_iter().flatten() {
        let (page, whole) = (page.expect("an entry").path(), folder.path("whole/man1"));
        let whole = whole.join(page.file_name().expect("a name"));
        assert_eq!(fs::read(&page).expect("a page"), fs::read(whole).expect("the same page"), "{page:?}");
    }
}

#[test]
fn a_sweep_with_a_run_that_always_fails_does_not_advise_to_resume_it() {
    let sweep = "scenario = \"small.toml\"\nseeds = 1\nschemes = [\"none\"]\n\
                 [vary]\n\"warm-up\" = [\"100 ms\", \"59 s\"]\n";
    let folder = Folder::new().with("small.toml", SMALL).with("grid.toml", sweep);
    let failed = folder.run(&["sweep", "grid.toml", "--out", "grid.csv", "--jobs", "1"]);
    let message = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{message}");
    for part in [
        "1 of 2 runs is in grid.csv.part; ",
        "the run that failed will fail again",
        "at warm-up_s = 59: in the run",
    ] {
        assert!(message.contains(part), "{part:?} in {message}");
    }
    assert!(!message.contains("--resume"), "{message}");
}

#[test]
fn a_place_where_nothing_can_be_written_is_told_before_the_work() {
    let folder = Folder::new().with("small.toml", SMALL).with(
        "grid.toml",
        "scenario = \"small.toml\"\nseeds = 10000\n[vary]\n\"links.wire.delay\" = [\"5 ms\", \"50 ms\"]\n",
    );
    let message = folder.refuse(&["sweep", "grid.toml", "--out", "no/grid.csv"]);
    assert!(message.contains("cannot write no/grid.csv: No such file or directory"), "{message}");
    let message = folder.refuse(&["run", "small.toml", "--pcap", "no/run.pcapng"]);
    assert!(message.contains("cannot write no/run.pcapng"), "{message}");
    let full = folder.run(&["run", "small.toml", "--pcap", "/dev/full"]);
    assert_eq!(full.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&full.stderr).contains("cannot write /dev/full: No space left"),
        "{full:?}"
    );
}

#[test]
fn sweep_writes_a_line_a_flow_of_a_run() {
    let folder = Folder::new().with("small.toml", SMALL).with(
        "grid.toml",
        "scenario = \"small.toml\"\nseeds = 2\nschemes = [\"none\"]\n[vary]\n\"links.wire.delay\" = [\"5 ms\", \"50 ms\"]\n",
    );
    folder.succeed(&["sweep", "grid.toml", "--out", "grid.csv"]);
    let text = fs::read_to_string(folder.path("grid.csv")).expect("the result");
    assert!(text.starts_with("links.wire.delay_s,scheme,seed,scope,flow,"), "{text}");
    assert_eq!(text.lines().count(), 1 + 2 * 2);
    assert!(text.lines().nth(3).is_some_and(|line| line.starts_with("0.05,none,1,flow,download,")), "{text}");
    assert_eq!(text, folder.succeed(&["sweep", "grid.toml"]));
    assert_eq!(text, folder.succeed(&["sweep", "grid.toml", "--out", "-", "--jobs", "1"]));
    folder.succeed(&["sweep", "grid.toml", "--out", "grid.parquet"]);
    assert_eq!(&fs::read(folder.path("grid.parquet")).expect("the result")[..4], b"PAR1");
    let printed = folder.json(&["sweep", "grid.toml", "--json"]);
    folder.succeed(&["sweep", "grid.toml", "--out", "grid.json"]);
    let written = fs::read(folder.path("grid.json")).expect("the result");
    assert_eq!(printed, serde_json::from_slice::<Value>(&written).expect("one JSON document"));
    let rows = printed.as_array().expect("an array");
    assert_eq!(rows.len(), 4);
    assert_eq!((&rows[3]["links.wire.delay_s"], &rows[3]["seed"]), (&0.05.into(), &2.into()));
    assert!(rows[3]["goodput_bps"].is_number() && rows[3]["datagrams_sent"].is_null(), "{}", rows[3]);
    assert!(folder.refuse(&["sweep", "grid.toml", "--out", "grid.xlsx"]).contains(".parquet"));
    assert!(folder.refuse(&["sweep", "grid.toml", "--out", "grid.csv"]).contains("or --overwrite"));
    folder.succeed(&["sweep", "grid.toml", "--out", "grid.csv", "--overwrite"]);
    assert!(fs::read_dir(folder.0.path()).expect("the folder").count() == 5, "nothing else is left behind");
}

#[test]
fn a_sweep_has_lines_of_sessions_and_of_the_directions_of_calls() {
    let session = "[sessions.call]\nkind = \"voice\"\nbetween = [\"server\", \"phone\"]\n";
    let flow = SMALL.find("[flows.").expect("a flow");
    let alone = format!("{}\n{session}", &SMALL[..flow]);
    let grid = |scenario: &str| {
        format!(
            "scenario = \"{scenario}\"\nseeds = 1\nschemes = [\"none\"]\nduration = \"5 s\"\n[vary]\n\"links.wire.delay\" = [\"5 ms\"]\n"
        )
    };
    let folder = Folder::new().with("alone.toml", alone).with("both.toml", format!("{SMALL}\n{session}"));
    let folder =
        folder.with("alone.sweep.toml", grid("alone.toml")).with("both.sweep.toml", grid("both.toml"));
    for (sweep, scopes) in [
        ("alone.sweep.toml", &["session", "direction", "direction"][..]),
        ("both.sweep.toml", &["flow", "session", "direction", "direction"]),
    ] {
        let rows = folder.json(&["sweep", sweep, "--json"]);
        let rows = rows.as_array().expect("an array");
        assert_eq!(rows.iter().map(|row| &row["scope"]).collect::<Vec<_>>(), scopes, "{rows:?}");
        let last = rows.last().expect("a direction");
        assert_eq!((&last["session"], &last["kind"]), (&"call".into(), &"voice".into()), "{last}");
        assert!(last["mos"].is_number() && last["lost_percent"].is_number(), "{last}");
        folder.succeed(&["sweep", sweep, "--out", &format!("{sweep}.parquet")]);
    }
}

#[test]
fn a_sweep_runs_the_schemes_and_seeds_of_the_command_line() {
    let sweep = "scenario = \"small.toml\"\nseeds = 2\n[vary]\n\"links.wire.delay\" = [\"5 ms\"]\n";
    let vary = |what: &str| format!("scenario = \"small.toml\"\n[vary]\n{what}\n");
    let folder = Folder::new()
        .with("small.toml", SMALL)
        .with("grid.toml", sweep)
        .with("seeds.toml", vary("seeds = [1, 2]"))
        .with("schemes.toml", vary("schemes = [[\"none\"], [\"none\", \"snoop\"]]"))
        .with(
            "setting.toml",
            format!(
                "schemes = [\"none\", {{ scheme = \"snoop\" }}]\n{}",
                vary("\"schemes.1.local-retransmissions\" = [1, 10]")
            ),
        );
    let text = folder.succeed(&["sweep", "grid.toml", "--schemes", "snoop,none", "--seeds", "3"]);
    let runs: Vec<String> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(runs, ["snoop 1", "snoop 2", "snoop 3", "none 1", "none 2", "none 3"]);
    for (arguments, expected) in [
        (&["grid.toml", "--schemes", "snop"][..], "unknown scheme \"snop\""),
        (&["grid.toml", "--schemes", "none,none"], "\"none\" is listed twice"),
        (&["grid.toml", "--seeds", "0"], "from 1 to 10000"),
        (&["grid.toml", "--jobs", "0"], "from 1 to 1024"),
        (&["seeds.toml", "--seeds", "3"], "--seeds is not allowed here: this sweep varies seeds"),
        (&["schemes.toml", "--schemes", "none"], "--schemes is not allowed here: this sweep varies schemes"),
        (&["setting.toml", "--schemes", "none"], "--schemes leaves out \"snoop\""),
        (&["grid.toml", "--resume"], "--resume needs the file to continue"),
        (&["grid.toml", "--json", "--out", "grid.csv"], "--out FILE.json"),
    ] {
        let message = folder.refuse(&[&["sweep"], arguments].concat());
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// What a sweep of 2000 runs has in its part when it is stopped by a signal after `more` runs.
fn stop_a_sweep(folder: &Folder, arguments: &[&str], signal: &str, more: usize) -> (String, Output) {
    let lines = || fs::read_to_string(folder.path("grid.csv.part")).unwrap_or_default().lines().count();
    let before = lines().max(2);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.args(arguments).current_dir(folder.0.path()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    while lines() < before + more {
        assert!(child.try_wait().expect("our child").is_none(), "it has more to do");
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill").success());
    let output = child.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), None, "it ends by the signal");
    (fs::read_to_string(folder.path("grid.csv.part")).expect("its runs are kept"), output)
}

#[test]
fn a_sweep_that_was_stopped_is_resumed_to_the_same_result() {
    let folder = Folder::new().with("small.toml", SMALL).with(
        "grid.toml",
        "scenario = \"small.toml\"\nseeds = 500\nschemes = [\"none\", \"snoop\"]\n[vary]\n\"links.wire.delay\" = [\"5 ms\", \"50 ms\"]\n",
    );
    let expected = folder.succeed(&["sweep", "grid.toml", "--jobs", "1"]);
    let begin = ["sweep", "grid.toml", "--out", "grid.csv"];
    let resume = ["sweep", "grid.toml", "--out", "grid.csv", "--resume"];

    let (part, output) = stop_a_sweep(&folder, &begin, "-INT", 5);
    let done = part.lines().count() - 2;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        said,
        format!(
            "lasthop: interrupted: {done} of 2000 runs are in grid.csv.part; the same command with --resume continues\n"
        )
    );
    assert!(expected.starts_with(part.split_once('\n').expect("lines").1), "{part}");
    assert!(!folder.path("grid.csv").exists());

    assert!(folder.refuse(&begin).contains("grid.csv.part has the results of a sweep that did not end"));
    let message = folder.refuse(&[&resume[..], &["--seeds", "500"]].concat());
    assert!(message.contains("differ from this sweep in --seeds"), "{message}");
    fs::write(folder.path("small.toml"), SMALL.replace("2 Mbit/s", "3 Mbit/s")).expect("a file");
    assert!(folder.refuse(&resume).contains("differ from this sweep in the scenario"));
    fs::write(folder.path("small.toml"), SMALL).expect("a file");
    assert_eq!(fs::read_to_string(folder.path("grid.csv.part")).expect("a part"), part, "it is not touched");

    let (killed, _) = stop_a_sweep(&folder, &resume, "-KILL", 5);
    assert!(killed.starts_with(&part), "what was there is not run again");
    fs::write(folder.path("grid.csv.part"), format!("{killed}0.05,sno")).expect("a file");
    folder.succeed(&resume);
    assert_eq!(fs::read_to_string(folder.path("grid.csv")).expect("the result"), expected);
    assert_eq!(fs::read_dir(folder.0.path()).expect("the folder").count(), 3, "nothing else is left behind");

    let message = folder.refuse(&resume);
    assert!(message.contains("nothing to resume") && message.contains("replaces grid.csv"), "{message}");
    assert!(
        folder.refuse(&begin).contains("grid.csv: this file exists; expected another name, or --overwrite")
    );
    // A sweep that began with --overwrite is resumed without it.
    stop_a_sweep(&folder, &[&begin[..], &["--overwrite"]].concat(), "-INT", 5);
    folder.succeed(&resume);
    assert_eq!(fs::read_to_string(folder.path("grid.csv")).expect("the result"), expected);
}

#[test]
fn a_sweep_that_is_interrupted_while_it_writes_its_file_keeps_all_runs() {
    let folder = Folder::new().with("small.toml", SMALL).with(
        "grid.toml",
        "scenario = \"small.toml\"\nseeds = 2\nschemes = [\"none\"]\n[vary]\n\"links.wire.delay\" = [\"5 ms\"]\n",
    );
    // Opening a pipe without a reader blocks: the conversion never ends by itself.
    assert!(Command::new("mkfifo").arg(folder.path("grid.csv")).status().expect("mkfifo").success());
    let part = || fs::read_to_string(folder.path("grid.csv.part")).unwrap_or_default();
    let mut child = Command::new("timeout")
        .args(["-s", "KILL", "120", env!("CARGO_BIN_EXE_lasthop"), "sweep", "grid.toml", "--out", "grid.csv"])
        .current_dir(folder.0.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    while part().lines().count() < 4 {
        assert!(child.try_wait().expect("our child").is_none(), "it waits for a reader");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    let output = child.wait_with_output().expect("our child");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(2), "it ends by the signal: {message}");
    assert!(message.contains("interrupted: 2 of 2 runs are in grid.csv.part"), "{message}");
    assert_eq!(part().lines().count(), 4);
}

#[test]
fn a_sweep_says_how_long_stations_in_power_save_were_awake() {
    let scenario = repository().join("scenarios/uploads.toml");
    let sweep = format!(
        "scenario = \"{}\"\nseeds = 1\nschemes = [\"none\"]\n[vary]\n\"nodes.station.count\" = [2]\n",
        scenario.display()
    );
    let folder = Folder::new().with("grid.toml", sweep);
    let awake = |settings: &[&str]| {
        let all = [&["sweep", "grid.toml", "--json", "--set", "duration=2 s"], settings].concat();
        folder.json(&all)[0]["awake_share"].clone()
    };
    assert!(awake(&[]).is_null());
    let share = awake(&["--set", "wlans.cell.power-save={}"]).as_f64().expect("a number");
    let compare = |all: &Value| all["rows"][0]["awake_share"]["mean"].as_f64().expect("a number");
    let scenario = scenario.to_str().expect("UTF-8");
    let arguments =
        ["compare", scenario, "--json", "--schemes", "none", "--seeds", "1", "--set", "duration=2 s"];
    let settings = ["--set", "nodes.station.count=2", "--set", "wlans.cell.power-save={}"];
    let compared = compare(&folder.json(&[&arguments[..], &settings].concat()));
    assert!((share - compared).abs() < 1e-9 && share > 0.0, "{share} and {compared}");
}

#[test]
fn schemes_lists_the_catalog_and_tells_all_about_one() {
    let folder = Folder::new();
    let all = folder.succeed(&["schemes"]);
    for scheme in ["none", "snoop", "simple-icmp", "refined-icmp"] {
        assert!(all.contains(scheme), "{all}");
    }
    assert!(all.contains("\"no-loss\" is not a scheme but a reference"), "{all}");
    assert!(folder.refuse(&["schemes", "no-loss"]).contains("is not a scheme but a reference"));
    let snoop = folder.succeed(&["schemes", "snoop"]);
    assert!(snoop.contains("minimum-timeout") && snoop.contains("100 ms"), "{snoop}");
    assert!(folder.json(&["schemes", "--json"]).as_array().expect("an array").len() >= 4);
    assert!(folder.refuse(&["schemes", "slurp"]).contains("expected one of:"));
}

#[test]
fn a_file_that_is_given_to_the_wrong_command_is_recognized() {
    let sweep = "scenario = \"small.toml\"\n[vary]\nseeds = [1, 2]\n";
    let gateway = "[[rule]]\nscheme = \"snoop\"\n";
    let folder =
        Folder::new().with("small.toml", SMALL).with("small.sweep.toml", sweep).with("gateway.toml", gateway);
    for (command, expected) in [
        (["run", "small.sweep.toml"], "small.sweep.toml:2: vary: this file is a sweep, for `lasthop sweep`"),
        (["compare", "gateway.toml"], "gateway.toml:1: rule: this file is a configuration of the gateway"),
        (["sweep", "small.toml"], "nodes: this file is a scenario, for `lasthop compare`"),
        (["gateway", "small.toml"], "nodes: this file is a scenario, for `lasthop compare`"),
        (["emulate", "small.sweep.toml"], "vary: this file is a sweep"),
    ] {
        let message = folder.refuse(&command);
        assert!(message.contains(expected), "{command:?}: {message}");
    }
}

#[test]
fn every_template_is_a_file_that_its_command_takes() {
    let folder = Folder::new();
    let table = folder.succeed(&["init", "--list"]);
    for (template, check) in [
        ("hop", ["compare", "FILE", "--seeds", "1"].as_slice()),
        ("wifi", &["compare", "FILE", "--seeds", "1", "--set", "duration=1 s"]),
        ("upload", &["compare", "FILE", "--seeds", "1"]),
        ("gateway", &["gateway", "--check", "FILE"]),
    ] {
        assert!(table.contains(template), "{table}");
        let file = format!("{template}.toml");
        // A word that names a template is not the name of a file.
        assert!(folder.succeed(&["init", template]).starts_with(&format!("wrote {file}; next: ")));
        let check: Vec<&str> = check.iter().map(|word| if *word == "FILE" { &file } else { *word }).collect();
        if template == "gateway" {
            // The file is right; whether a gateway can start is a question of the machine.
            assert_ne!(folder.run(&check).status.code(), Some(2));
        } else {
            folder.succeed(&check);
        }
        let text = fs::read_to_string(folder.path(&file)).expect("a file");
        assert!(!text.contains(" FILE"), "{text}");
        for word in [template, &file] {
            assert!(folder.refuse(&["init", word]).contains(&format!("{file}: this file exists")));
        }
        assert_eq!(fs::read_to_string(folder.path(&file)).expect("a file"), text);
    }
    folder.succeed(&["init", "my-link.toml"]);
    folder.succeed(&["init", "grid.sweep.toml", "--template", "sweep"]);
    folder.succeed(&["sweep", "grid.sweep.toml", "--seeds", "1"]);
    // It takes root to run; that it is a link shows in what `run` says of it.
    folder.succeed(&["init", "link.toml", "--template", "link"]);
    assert!(folder.succeed(&["init", "link", "--template", "hop"]).starts_with("wrote link; "));
    assert!(folder.refuse(&["run", "link.toml"]).contains("`lasthop emulate`"));
    // What is printed can be pasted into a shell.
    let said = folder.succeed(&["init", "it's mine.toml"]);
    assert!(said.ends_with("; next: lasthop compare 'it'\\''s mine.toml'\n"), "{said}");
    assert!(folder.refuse(&["init", "a\nb.toml"]).contains("without control characters"));
    assert_eq!(folder.succeed(&["init", "-"]).trim_end(), include_str!("../templates/hop.toml").trim_end());
}

#[test]
fn in_the_template_of_an_upload_a_scheme_is_faster_than_none_where_it_is_of_use() {
    let folder = Folder::new();
    folder.succeed(&["init", "upload.toml", "--template", "upload"]);
    let goodput = |set: &[&str]| -> BTreeMap<String, f64> {
        let document = folder.json(&[&["compare", "upload.toml", "--seeds", "2", "--json"], set].concat());
        let rows = document["rows"].as_array().expect("a list of schemes").clone();
        let of = |row: &Value| {
            let goodput = row["goodput_bps"]["mean"].as_f64().expect("a number");
            (row["scheme"].as_str().expect("a name").to_owned(), goodput)
        };
        rows.iter().map(of).collect()
    };
    let on_the_router = ["--set", "nodes.base.role=router"];
    let at_the_base = ["--set", "nodes.cpe.role=router"];
    for (set, faster, idle) in [
        (&[][..], &["snoop", "eln", "cicada"][..], None),
        (&on_the_router, &["snoop", "cicada"], Some("eln")),
        (&at_the_base, &["eln", "cicada"], Some("snoop")),
    ] {
        let goodput = goodput(set);
        for scheme in faster {
            assert!(goodput[*scheme] > 2.0 * goodput["none"], "{set:?} {scheme}: {goodput:?}");
        }
        assert!(idle.is_none_or(|scheme| goodput[scheme] <= goodput["none"]), "{set:?}: {goodput:?}");
    }
}

#[test]
fn the_schemas_are_those_of_the_repository() {
    let folder = Folder::new();
    for (kind, file) in
        [("scenario", "scenarios/scenario.schema.json"), ("gateway", "packaging/gateway.schema.json")]
    {
        let committed = fs::read_to_string(repository().join(file)).expect(file);
        let committed: Value = serde_json::from_str(&committed).expect("JSON");
        assert_eq!(folder.json(&["schema", kind]), committed, "{file}");
    }
}

#[test]
fn the_version_says_what_is_built_in_if_it_is_asked() {
    let folder = Folder::new();
    let version = folder.succeed(&["--version"]);
    assert_eq!(version, concat!("lasthop ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(folder.succeed(&["-V"]), version);
    let verbose = folder.succeed(&["--version", "--verbose"]);
    for part in ["tc-bpf", "snoop", "Parquet"] {
        assert!(verbose.contains(part), "{verbose}");
    }
    assert!(folder.refuse(&["--verbose"]).contains("--version"));
    assert!(folder.refuse(&[]).contains("Usage"));
}

#[test]
fn a_comparison_says_what_its_figures_leave_out() {
    let endless = SMALL.replace("size = \"200 kB\"", "").replace("\"60 s\"", "\"2 s\"");
    let folder = Folder::new().with("small.toml", endless);
    let warm_up = |command: &str, setting: &str| {
        folder.json(&[command, "small.toml", "--json", "--set", setting])["warm_up_s"].as_f64()
    };
    for command in ["run", "compare"] {
        assert_eq!(warm_up(command, "warm-up=500 ms"), Some(0.5));
        assert_eq!(warm_up(command, "warm-up=0 s"), Some(0.0));
    }
}

#[test]
fn a_scenario_is_read_from_standard_input() {
    let folder = Folder::new().with("small.toml", SMALL);
    let from_a_file = folder.succeed(&["run", "small.toml", "--json"]);
    let scenario = fs::File::open(folder.path("small.toml")).expect("a file");
    let run = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["run", "-", "--json"])
        .stdin(scenario)
        .output()
        .expect("the command starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(String::from_utf8(run.stdout).expect("UTF-8"), from_a_file);
}

#[test]
fn what_is_wrong_in_a_scenario_is_told_with_file_line_and_key() {
    let bad_rate = SMALL.replace("\"2 Mbit/s\"", "\"2 MB/s\"");
    let cases = [
        ("rate.toml", bad_rate.as_str(), "rate.toml:23: links.air.rate"),
        ("key.toml", "nonsense = 1\n", "key.toml:1: nonsense"),
        ("empty.toml", "", "empty.toml"),
    ];
    for (name, text, expected) in cases {
        let folder = Folder::new().with(name, text);
        for command in ["compare", "run"] {
            let message = folder.refuse(&[command, name]);
            assert!(message.contains(expected), "{command} {name}: {message}");
        }
    }
}

#[test]
fn ten_megabytes_of_noise_are_refused_whatever_they_are_called() {
    let mut state = 1u64;
    let noise: Vec<u8> = (0..10_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let folder = Folder::new().with("noise.toml", &noise).with("noise.dat", &noise).with(
        "link.toml",
        fs::read(repository().join("scenarios/measured-link.toml")).expect("in the repository"),
    );
    folder.refuse(&["compare", "noise.toml"]);
    folder.refuse(&["run", "noise.dat"]);
    folder.refuse(&["sweep", "noise.toml"]);
    folder.refuse(&["compare", "link.toml", "--trace", "noise.dat"]);
    folder.refuse(&["compare", "link.toml", "--trace", "nowhere"]);
    assert!(folder.refuse(&["compare", "link.toml"]).contains("--trace"));
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let folder = Folder::new().with("small.toml", SMALL);
    for arguments in [
        &["compare"][..],
        &["compare", "nowhere.toml"],
        &["compare", "small.toml", "--seeds", "0"],
        &["compare", "small.toml", "--schemes", "slurp"],
        &["compare", "small.toml", "--schemes", "none,none"],
        &["run", "small.toml", "--seed", "minus one"],
        &["run", "small.toml", "--events", "all"],
        &["run", "small.toml", "--pcap", "no/such/folder/x.pcapng"],
        &["reproduce", "nobody"],
        &["emulsify"],
    ] {
        folder.refuse(arguments);
    }
}

#[test]
fn help_that_cannot_be_printed_fails_and_one_that_is_no_longer_read_is_quiet() {
    let help = |to: &str| {
        let command = format!("\"$0\" --help {to}");
        let mut bash = Command::new("bash");
        bash.args(["-o", "pipefail", "-c", &command, env!("CARGO_BIN_EXE_lasthop")]);
        bash.output().expect("bash starts")
    };
    let full = help("> /dev/full");
    assert_eq!(full.status.code(), Some(1));
    let message = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(message, "lasthop: cannot write standard output: No space left on device\n");
    let gone = help("| true");
    assert_eq!((gone.status.code(), gone.stderr.as_slice()), (Some(0), &[][..]));
}

#[test]
fn help_of_help_is_help() {
    let folder = Folder::new();
    let help = folder.succeed(&["--help"]);
    assert_eq!(folder.succeed(&["help", "--help"]), help);
    assert_eq!(folder.succeed(&["help", "run", "-h"]), folder.succeed(&["help", "run"]));
}

#[test]
fn what_the_command_line_has_changed_is_told_beside_the_title() {
    let folder = Folder::new().with("small.toml", SMALL);
    let table = folder.succeed(&["compare", "small.toml", "--seeds", "1", "--set", "links.air.delay=3 ms"]);
    assert!(table.contains("\nwith links.air.delay = 3 ms\n"), "{table}");
    assert!(!folder.succeed(&["compare", "small.toml", "--seeds", "1"]).contains("\nwith "));
    let twice = ["--set", "links.air.delay=3 ms", "--set", " links.air.delay = 4 ms"];
    let table = folder.succeed(&[&["compare", "small.toml", "--seeds", "1"], &twice[..]].concat());
    assert!(table.contains("\nwith links.air.delay = 4 ms\n"), "the last one counts: {table}");
}

#[test]
fn the_baseline_is_named_where_a_column_compares_with_it() {
    let folder = Folder::new().with("small.toml", SMALL);
    let compare = ["compare", "small.toml", "--seeds", "1"];
    assert!(
        folder.succeed(&compare).contains("; improvement: completion time saved, compared with \"none\"")
    );
    let short = [&compare[..], &["--set", "duration=0.5 s"]].concat();
    let table = folder.succeed(&short);
    assert!(
        table.contains("0 of 1 done") && table.contains("; improvement: goodput gained over \"none\""),
        "{table}"
    );
    let nothing = [&compare[..], &["--set", "links.air.loss=100%"]].concat();
    let table = folder.succeed(&nothing);
    assert!(!table.contains("improvement"), "nothing arrives: {table}");
}

#[test]
fn a_list_for_a_pipe_has_the_width_of_a_usual_terminal() {
    let list = Folder::new().succeed(&["schemes"]);
    let widest = list.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|columns| columns <= 80), "{widest:?}");
}

#[test]
fn a_scheme_that_cannot_work_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    let scenario = repository().join("scenarios/snoop-uniform-loss.toml");
    let scenario = scenario.to_str().expect("UTF-8");
    let message = folder.refuse(&["run", scenario, "--scheme", "refined-icmp", "--out", "series"]);
    assert!(message.contains("does not report the fate"), "{message}");
    assert!(!folder.path("series").exists());
}

#[test]
fn what_has_no_effect_on_a_data_file_is_refused() {
    let folder = Folder::new();
    let data = repository().join("scenarios/goel/appendix-b4/datafile.dat");
    let data = data.to_str().expect("UTF-8");
    assert!(folder.refuse(&["run", data, "--trace", "x"]).contains("--trace"));
    assert!(folder.refuse(&["compare", data, "--seeds", "3"]).contains("random_seed"));
}

#[test]
fn a_data_file_gives_the_thesis_s_trace_files_and_events() {
    let folder = Folder::new();
    let data = repository().join("scenarios/goel/appendix-b4/datafile.dat");
    let data = data.to_str().expect("UTF-8");
    let printed = folder.succeed(&["run", data, "--out", "traces"]);
    let corrupted: Vec<&str> = printed.lines().filter(|line| line.contains("corrupted")).collect();
    assert!(corrupted.iter().any(|line| line.starts_with("945 ")), "{printed}");
    for file in [
        "211-seqno",
        "211-ackno",
        "211-congestion",
        "211-threshold",
        "211-swnd_size",
        "212-router_pkt_arrival",
    ] {
        let text = fs::read_to_string(folder.path("traces").join(file)).expect(file);
        assert!(text.lines().all(|line| line.split_whitespace().count() == 2), "{file}");
        assert!(!text.is_empty(), "{file}");
    }
    let json = folder.json(&["run", data, "--json"]);
    assert!(json["flows"][0]["goodput_bps"].as_f64() > Some(0.0));
}

#[test]
fn a_trial_with_more_links_than_there_are_addresses_is_refused() {
    let head = r#"
duration = "1 s"
schemes = ["none"]
nodes.edge.kind = "router"
nodes.client.kind = "host"
flows.down = { from = "n0", to = "client" }
links.air = { kind = "wireless", between = ["edge", "client"], rate = "1 Mbit/s" }
links.up = { between = ["n0", "edge"], rate = "1 Mbit/s", delay = "1 ms" }
"#;
    // Each of 24 nodes joined to each: 276 links.
    let nodes = (0..24).map(|node| format!("nodes.n{node}.kind = \"host\""));
    let pairs = (0..24).flat_map(|node| (0..node).map(move |other| (node, other)));
    let wires = pairs.map(|(node, other)| {
        format!(
            "links.w{node}-{other} = {{ between = [\"n{node}\", \"n{other}\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }}"
        )
    });
    let lines: Vec<String> = std::iter::once(head.to_owned()).chain(nodes).chain(wires).collect();
    let complaint = Folder::new().with("many.toml", lines.join("\n")).refuse(&["try", "many.toml"]);
    assert!(complaint.contains("278 links; expected at most 256"), "{complaint}");
}

#[test]
fn a_queue_that_grows_beyond_the_memory_limit_is_named_and_the_run_fails() {
    let growing = r#"
duration = "600 s"
[nodes.a]
kind = "host"
[nodes.b]
kind = "host"
[links.hop]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "1 ms"
queue = "unlimited"
[flows.f]
from = "a"
to = "b"
transport = "udp"
application = { kind = "cbr", rate = "100 Mbit/s" }
"#;
    let folder = Folder::new().with("growing.toml", growing);
    // One run at a time: of several, one may have grown little when all of them together exceed the limit.
    for command in [&["run"][..], &["compare", "--seeds", "1"]] {
        let output = folder.run(&[command, &["growing.toml", "--memory-limit", "100 MB"]].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(output.stdout.is_empty(), "{command:?} printed a result");
        for part in
            ["memory limit of 100 MB", "link \"hop\" at \"a\" holds", "links.hop.queue", "--memory-limit"]
        {
            assert!(message.contains(part), "{part:?} in {message}");
        }
    }
    assert!(folder.refuse(&["run", "growing.toml", "--memory-limit", "much"]).contains("amount of data"));
}

#[test]
fn a_sweep_and_a_prediction_that_exceed_the_memory_limit_name_the_run() {
    let growing = r#"
duration = "600 s"
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "1 Gbit/s", delay = "1 ms" }
links.air = { kind = "wireless", between = ["gateway", "client"], rate = "100 Mbit/s", delay = "1 ms", queue = "unlimited" }
flows.download = { from = "server", to = "client" }
tcp = { window = "unlimited", initial-ssthresh = "unlimited", congestion = "reno" }
try = { congestion = ["reno"], duration = "600 s" }
"#;
    let sweep = "scenario = \"growing.toml\"\nseeds = 1\nschemes = [\"none\"]\n\
                 [vary]\n\"links.wire.delay\" = [\"1 ms\", \"2 ms\"]\n";
    let folder = Folder::new().with("growing.toml", growing).with("growing.sweep.toml", sweep);
    let limit = ["--memory-limit", "60 MB"];
    for (command, run) in [
        (&["sweep", "growing.sweep.toml", "--jobs", "1"][..], "at links.wire.delay_s = 0.001: the run"),
        (&["try", "growing.toml", "--predict"], "the prediction for download (reno): the run"),
    ] {
        let output = folder.run(&[command, &limit].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        for part in [run, "scheme \"none\" and seed 1", "memory limit of 60 MB", "links.air.queue"] {
            assert!(message.contains(part), "{part:?} in {message}");
        }
    }
}
