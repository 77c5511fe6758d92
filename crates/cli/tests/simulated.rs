//! `lasthop try --time simulated` and `lasthop emulate --time simulated`, with the kernel that `LASTHOP_KERNEL` names.
#![allow(clippy::print_stdout, reason = "the figures are a result")]

#[path = "simulated/crash.rs"]
mod crash;
#[path = "simulated/kernels.rs"]
mod kernels;
#[path = "simulated/programs.rs"]
mod programs;
#[path = "simulated/roaming.rs"]
mod roaming;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use lasthop_needs::{program, tests, user_mode_kernel};
use serde_json::Value;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [user_mode_kernel, ip]:
            a_run_repeats_to_the_last_digit,
            a_run_does_not_depend_on_where_the_program_is,
            an_ordinary_user_gets_the_same_as_root,
            a_gateway_in_the_guest_gains_what_the_simulator_predicts,
            an_error_of_the_guest_is_the_commands,
            kernels_are_compared_row_by_row,
            kernels::a_server_on_another_kernel_has_the_goodput_of_one_on_the_same,
            kernels::a_file_arrives_whole_at_a_host_on_another_kernel_and_takes_as_long,
            kernels::an_error_says_which_kernel_the_guest_has,
            programs::the_exit_code_is_that_of_the_command,
            programs::the_output_of_a_command_is_neither_mixed_nor_lost,
            programs::standard_input_reaches_the_command_octet_by_octet,
            programs::a_command_whose_reader_has_gone_ends,
            programs::files_are_read_only_but_where_the_user_lets_programs_write,
            programs::programs_at_the_far_end_begin_before_the_command_and_end_after_it,
            programs::a_program_at_the_far_end_that_fails_is_an_error,
            programs::a_program_at_the_far_end_that_fails_during_the_run_is_named,
            programs::a_command_that_takes_too_long_is_ended;
        [user_mode_kernel, ip, unshare]:
            programs::a_program_that_leaves_its_host_ends_with_the_run;
        [user_mode_kernel, ip, python3]:
            programs::a_run_repeats_to_the_last_octet_of_its_packets,
            programs::a_transfer_has_the_rate_of_the_link,
            programs::a_link_changes_at_times_from_the_start_of_the_command;
        [user_mode_kernel, ip, hostapd, wpa_supplicant, iw]:
            the_kernels_wifi_over_the_models_medium_has_the_models_throughput,
            stations_of_one_cell_share_the_air_and_the_run_repeats,
            simulated_stations_share_a_cell_with_the_kernels,
            acks_made_from_the_drivers_reports_gain_what_the_simulator_predicts,
            the_driver_reports_each_frame_as_it_was,
            no_packet_is_left_in_the_kernels_queue,
            kernels::stations_on_several_kernels_share_a_cell,
            crash::a_gateway_that_is_killed_corrupts_nothing_and_what_it_owed_is_counted,
            roaming::a_client_walks_from_one_access_point_to_another_with_its_connection,
            roaming::a_station_that_saves_power_dozes_between_pages;
    })
}

fn ip() -> Result<(), String> {
    program("ip")
}

fn unshare() -> Result<(), String> {
    program("unshare")
}

fn python3() -> Result<(), String> {
    program("python3")
}

fn hostapd() -> Result<(), String> {
    program("hostapd")
}

fn wpa_supplicant() -> Result<(), String> {
    program("wpa_supplicant")
}

fn iw() -> Result<(), String> {
    program("iw")
}

/// The user `nobody`, and its group.
const ORDINARY: u32 = 65_534;

/// The path of the kernel.
fn kernel() -> String {
    let kernels = std::env::var("LASTHOP_KERNEL").expect("the tests need it");
    kernels.split(',').next().unwrap_or_default().to_owned()
}

/// The name in reports of a kernel that is given by its path: that of its folder if lasthop built it.
fn name_in_reports(kernel: &str) -> &str {
    let folder = Path::new(kernel).parent().filter(|folder| folder.join("kernel.json").is_file());
    folder.and_then(|folder| folder.file_name()?.to_str()).unwrap_or(kernel)
}

/// The command in simulated time, on a path with a lossy hop. Its scenarios are those of the repository.
fn try_simulated(arguments: &[&str]) -> Command {
    try_scenario("try.toml", &kernel(), arguments)
}

fn try_scenario(scenario: &str, kernel: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    command.args(arguments_of(scenario, kernel)).args(arguments);
    command
}

const fn arguments_of<'a>(scenario: &'a str, kernel: &'a str) -> [&'a str; 8] {
    ["try", scenario, "--time", "simulated", "--kernel", kernel, "--seeds", "1"]
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

/// The output of a scenario with this text, as JSON.
fn of_text(scenario: &str) -> Output {
    let folder = tempfile::TempDir::new().expect("a temporary directory");
    let file = folder.path().join("scenario.toml");
    fs::write(&file, scenario).expect("a writable directory");
    output(&mut try_scenario(file.to_str().expect("a path in UTF-8"), &kernel(), &["--json"]))
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn rows(output: &Output) -> Vec<Value> {
    document(output)["runs"].as_array().expect("runs").clone()
}

const DOWNLOAD: [&str; 6] = ["--flows", "download", "--congestion", "cubic", "--set", "try.duration=6 s"];

fn a_run_repeats_to_the_last_digit() {
    let run = || output(try_simulated(&DOWNLOAD).arg("--json"));
    let (one, other) = (run(), run());
    assert!(rows(&one).len() > 1);
    assert_eq!(String::from_utf8_lossy(&one.stdout), String::from_utf8_lossy(&other.stdout));
}

fn a_run_does_not_depend_on_where_the_program_is() {
    let folder = tempfile::TempDir::new().expect("a temporary directory");
    let elsewhere = folder.path().join("lasthop of another name");
    fs::copy(env!("CARGO_BIN_EXE_lasthop"), &elsewhere).expect("a writable directory");
    let here = output(try_simulated(&DOWNLOAD).arg("--json"));
    let mut command = Command::new(&elsewhere);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    command.args(arguments_of("try.toml", &kernel())).args(DOWNLOAD).arg("--json");
    let there = output(&mut command);
    assert!(rows(&here).len() > 1);
    assert_eq!(String::from_utf8_lossy(&here.stdout), String::from_utf8_lossy(&there.stdout));
}

fn an_ordinary_user_gets_the_same_as_root() {
    // Kernel, program and scenario may be where others have no access.
    let folder = tempfile::TempDir::new_in("/tmp").expect("a temporary directory");
    let open_to_all = Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open_to_all.clone()).expect("it is ours");
    let copy = |from: &str, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).expect("room in /tmp");
        fs::set_permissions(&to, open_to_all.clone()).expect("it is ours");
        to.to_str().expect("a path in UTF-8").to_owned()
    };
    let scenario = copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/try.toml"), "try.toml");
    let program = copy(env!("CARGO_BIN_EXE_lasthop"), "lasthop");
    let kernel = copy(&kernel(), "linux");
    let command = || {
        let mut command = Command::new(&program);
        command.current_dir(folder.path()).args(arguments_of(&scenario, &kernel));
        command.args(DOWNLOAD).args(["--schemes", "snoop", "--json"]);
        command
    };
    let own = output(&mut command());
    let mut ordinary = command();
    if lasthop_linux::is_root() {
        ordinary.uid(ORDINARY).gid(ORDINARY);
    }
    let ordinary = output(ordinary.env("TMPDIR", "/tmp"));
    assert_eq!(rows(&own), rows(&ordinary));
}

fn a_gateway_in_the_guest_gains_what_the_simulator_predicts() {
    let rows = rows(&output(try_simulated(&DOWNLOAD).args(["--schemes", "snoop", "--json"])));
    let snoop = &rows[0];
    let figure = |name: &str| snoop[name].as_f64().expect("a number");
    let (real, predicted) = (figure("goodput_bps"), figure("predicted_goodput_bps"));
    println!("snoop: {:.2} Mbit/s, predicted {:.2}", real / 1e6, predicted / 1e6);
    assert!((real / predicted - 1.0).abs() < 0.05, "{real} is not {predicted}");
    assert_eq!(snoop["intact"], true);
    assert_eq!(snoop["trusted"], true, "{}", snoop["because"]);
}

fn an_error_of_the_guest_is_the_commands() {
    let output = output(try_simulated(&DOWNLOAD).args(["--set", "try.sysctl={\"ipv4.tcp_no_such\"=\"1\"}"]));
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("tcp_no_such"), "{message}");
}

fn kernels_are_compared_row_by_row() {
    let kernel = kernel();
    let folder = tempfile::TempDir::new().expect("a temporary directory");
    let other = folder.path().join("other").display().to_string();
    fs::copy(&kernel, &other).expect("a writable directory");
    let arguments = [&DOWNLOAD[..], &["--schemes", "none"]].concat();
    let twice = output(&mut try_scenario("try.toml", &format!("{kernel},{kernel}"), &arguments));
    assert_eq!(twice.status.code(), Some(2), "{}", String::from_utf8_lossy(&twice.stderr));
    let both = format!("{kernel},{other}");
    let shown = output(&mut try_scenario("try.toml", &both, &arguments));
    let table = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(table.contains("kernel") && !table.contains("CPU"), "programs take no time: {table}");
    let json = output(try_scenario("try.toml", &both, &arguments).arg("--json"));
    let document: Value = serde_json::from_slice(&json.stdout).expect("a document");
    for rows in ["rows", "runs"].map(|key| document[key].as_array().expect("rows")) {
        let names: Vec<&str> = rows.iter().map(|row| row["kernel"].as_str().expect("a name")).collect();
        assert_eq!(names, [name_in_reports(&kernel), &other]);
        assert_eq!(rows[0]["goodput_bps"], rows[1]["goodput_bps"], "the same kernel gives the same");
    }
}

const WIFI: [&str; 6] = ["--set", "schemes=['none']", "--congestion", "cubic", "--set", "try.duration=4 s"];

fn goodput(run: &Value) -> f64 {
    run["goodput_bps"].as_f64().expect("a number")
}

fn the_kernels_wifi_over_the_models_medium_has_the_models_throughput() {
    let run = |standard: &str, wifi: &str| {
        let standard = format!("wlans.cell.standard={standard}");
        let options = ["--set", &standard, "--wifi", wifi, "--flows", "download", "--json"];
        let mut command = try_scenario("try-wifi.toml", &kernel(), &[&WIFI[..], &options].concat());
        rows(&output(&mut command)).remove(0)
    };
    for standard in ["802.11b", "802.11g"] {
        let (linux, model) = (run(standard, "kernel"), run(standard, "model"));
        println!("{standard}: {:.2} Mbit/s, model {:.2}", goodput(&linux) / 1e6, goodput(&model) / 1e6);
        assert!((goodput(&linux) / goodput(&model) - 1.0).abs() < 0.08, "{standard}");
        assert_eq!(linux["intact"], true);
        let of = |index: usize, key: &str| linux["stations"][index][key].as_u64().expect("a count");
        // The access point sends data, the client its acknowledgments; some collide.
        assert!(of(0, "frames") > of(1, "frames") && of(1, "frames") > 100, "{linux}");
        assert!(of(0, "transmissions") > of(0, "frames"), "{linux}");
    }
}

/// Downloads over the kernel's Wi-Fi with these schemes.
fn wifi_downloads(schemes: &str, options: &[&str]) -> Vec<Value> {
    let schemes = format!("schemes={schemes}");
    let always = [
        "--flows",
        "download",
        "--congestion",
        "cubic",
        "--set",
        "try.duration=6 s",
        "--set",
        &schemes,
        "--json",
    ];
    rows(&output(&mut try_scenario("try-wifi.toml", &kernel(), &[&always[..], options].concat())))
}

fn acks_made_from_the_drivers_reports_gain_what_the_simulator_predicts() {
    let runs = wifi_downloads("['none', 'lle-tcp']", &[]);
    let [none, lle] = &runs[..] else { panic!("two rows: {runs:?}") };
    let predicted = |run: &Value| run["predicted_goodput_bps"].as_f64().expect("a number");
    let (real, model) = (goodput(lle) / goodput(none), predicted(lle) / predicted(none));
    println!("LLE-TCP gains {real:.3}, predicted {model:.3}");
    assert!(real > 1.1 && (real / model - 1.0).abs() < 0.05);
    let count = |run: &Value, key: &str| run[key].as_u64().expect("a count");
    assert!(count(lle, "acks_suppressed") > 500, "the client's agent keeps ACKs off the air: {lle}");
    assert_eq!((count(none, "acks_suppressed"), &none["gateway"]), (0, &Value::Null));
    assert_eq!((&lle["intact"], &lle["trusted"]), (&true.into(), &true.into()), "{}", lle["because"]);
}

fn the_driver_reports_each_frame_as_it_was() {
    let errors = ["--set", "wlans.cell.errors={packet-error-rate='60%'}"];
    let run = wifi_downloads("['lle-tcp']", &errors).remove(0);
    let of_driver = |key: &str| run["gateway"]["link"][key].as_u64().expect("a count");
    let on_air = |key: &str| run["stations"][0][key].as_u64().expect("a count");
    let (delivered, given_up) = (of_driver("delivered"), of_driver("given_up"));
    println!("{delivered} frames delivered, {given_up} given up; on the air {} in all", on_air("frames"));
    assert!(delivered > 500 && given_up > 2, "{run}");
    assert_eq!(delivered + given_up, of_driver("heard"));
    // The latency probe does not pass the agent: some 5 frames in a second.
    let others = on_air("frames") - (delivered + given_up);
    assert!(others < 100, "{others} frames without a report");
    assert!((given_up..=given_up + others).contains(&on_air("given_up")), "{run}");
    assert_eq!(run["intact"], true);
}

/// mac80211 limits the frames of a station by their air time. Those behind the limit go when a frame is done with, also if TCP
/// waits for its own queue and sends nothing more.
fn no_packet_is_left_in_the_kernels_queue() {
    let scenario = r#"
duration = "12 s"
seeds = 1
schemes = ["none"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.near = { kind = "host", count = 2 }
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "20 ms" }
wlans.cell = { standard = "802.11g", rate = "6 Mbit/s", access-point = "gateway", stations = ["near"], errors = { bit-error-rate = "0.001%" } }
flows.download = { from = "server", to = "near-1" }
flows.upload = { from = "near-2", to = "server" }
try = { flows = "together", congestion = ["cubic"], duration = "10 s" }
tcp = { preset = "linux" }
"#;
    let runs = rows(&of_text(scenario));
    for run in runs.iter().filter(|run| run["flow"] == "upload") {
        let (real, predicted) = (goodput(run), run["predicted_goodput_bps"].as_f64().expect("a number"));
        println!("upload {:.2} Mbit/s, predicted {:.2}", real / 1e6, predicted / 1e6);
        assert!(real > 0.75 * predicted, "{run}");
    }
}

fn stations_of_one_cell_share_the_air_and_the_run_repeats() {
    let scenario = r#"
duration = "10 s"
seeds = 1
schemes = ["none"]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.near = { kind = "host", count = 3 }
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "5 ms" }
wlans.cell = { standard = "802.11g", access-point = "gateway", stations = ["near"] }
flows.upload = { from = "near", to = "server" }
try = { flows = "together", congestion = ["cubic"], duration = "4 s" }
tcp = { preset = "linux" }
"#;
    let (one, other) = (of_text(scenario), of_text(scenario));
    let flows = rows(&one);
    assert_eq!(flows.len(), 3);
    let sum: f64 = flows.iter().map(goodput).sum();
    println!("three uploads: {:.2} Mbit/s", sum / 1e6);
    assert!((20e6..27e6).contains(&sum), "{sum}");
    assert!(flows.iter().all(|flow| goodput(flow) > sum / 6.0), "{flows:?}");
    assert_eq!(String::from_utf8_lossy(&one.stdout), String::from_utf8_lossy(&other.stdout));
}

/// The uploads of simulated stations take as much from one of the kernel's as those of real ones: half of the air.
fn simulated_stations_share_a_cell_with_the_kernels() {
    let scenario = r#"
duration = "10 s"
seeds = 1
schemes = ["none"]
nodes.server.kind = "host"
nodes.elsewhere.kind = "host"
nodes.hop.kind = "router"
nodes.gateway.kind = "router"
nodes.near = { kind = "host", count = 1 }
nodes.other = { kind = "host", count = 2 }
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "5 ms" }
links.elsewhere = { between = ["elsewhere", "hop"], rate = "100 Mbit/s", delay = "4 ms" }
links.hop = { between = ["hop", "gateway"], rate = "100 Mbit/s", delay = "1 ms" }
wlans.cell = { standard = "802.11g", access-point = "gateway", stations = ["near", "other-2", "other-1"] }
flows.mine = { from = "near", to = "server" }
flows.down = { from = "elsewhere", to = "other-1" }
flows.up = { from = "other-2", to = "elsewhere" }
try = { congestion = ["cubic"], duration = "8 s", simulated = ["elsewhere", "hop", "other"] }
tcp = { preset = "linux" }
"#;
    let (one, other) = (of_text(scenario), of_text(scenario));
    assert_eq!(String::from_utf8_lossy(&one.stdout), String::from_utf8_lossy(&other.stdout));
    let run = rows(&one).remove(0);
    println!("one upload beside two flows: {:.2} Mbit/s", goodput(&run) / 1e6);
    assert!((6e6..16e6).contains(&goodput(&run)), "{run}");
    let of = |station: usize, key: &str| run["stations"][station][key].as_f64().expect("a number");
    for (station, name) in [(0, "gateway"), (2, "other-2"), (3, "other-1")] {
        assert_eq!(run["stations"][station]["name"], name);
        assert!(of(station, "frames") > 500.0, "it sends: {run}");
    }
    assert!(of(2, "air_time_s") > 0.5 * of(1, "air_time_s"), "the uploads have like shares: {run}");
}
