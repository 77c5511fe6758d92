//! `lasthop try --time simulated`, with the kernel that `LASTHOP_KERNEL` names.
#![allow(clippy::print_stdout, reason = "the figures are a result")]

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Output};

use lasthop_needs::{program, tests, user_mode_kernel};
use serde_json::Value;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [user_mode_kernel, ip]:
            a_run_repeats_to_the_last_digit,
            an_ordinary_user_gets_the_same_as_root,
            a_gateway_in_the_guest_gains_what_the_simulator_predicts,
            an_error_of_the_guest_is_the_commands;
    })
}

fn ip() -> Result<(), String> {
    program("ip")
}

/// The user `nobody`, and its group.
const ORDINARY: u32 = 65_534;

/// The command in simulated time. Its scenarios are those of the repository.
fn try_simulated(arguments: &[&str]) -> Command {
    let kernel = std::env::var("LASTHOP_KERNEL").expect("the tests need it");
    let first = kernel.split(',').next().unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    command
        .args(["try", "try.toml", "--time", "simulated", "--kernel", first, "--seeds", "1"])
        .args(arguments);
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

fn rows(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    document["runs"].as_array().expect("runs").clone()
}

const DOWNLOAD: [&str; 6] = ["--flows", "download", "--congestion", "cubic", "--set", "try.duration=6 s"];

fn a_run_repeats_to_the_last_digit() {
    let run = || output(try_simulated(&DOWNLOAD).arg("--json"));
    let (one, other) = (run(), run());
    assert!(rows(&one).len() > 1);
    assert_eq!(String::from_utf8_lossy(&one.stdout), String::from_utf8_lossy(&other.stdout));
}

fn an_ordinary_user_gets_the_same_as_root() {
    let arguments = [&DOWNLOAD[..], &["--schemes", "snoop", "--json"]].concat();
    let own = output(&mut try_simulated(&arguments));
    let mut command = try_simulated(&arguments);
    if lasthop_linux::is_root() {
        command.uid(ORDINARY).gid(ORDINARY);
    }
    let ordinary = output(command.env("TMPDIR", "/tmp"));
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
