//! `lasthop emulate` as its users meet it.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};

use lasthop_needs::{namespaces, tests};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces, unshare]:
            the_command_s_output_and_exit_code_are_its_own_and_a_summary_follows,
            a_command_that_is_told_to_end_ends_and_says_by_which_signal,
            a_link_is_changed_from_behind_it,
            what_cannot_be_is_told_with_the_right_exit_code;
    })
}

fn unshare() -> Result<(), String> {
    lasthop_needs::program("unshare")
}

/// Runs the command in a network namespace of its own, where it can do no harm.
fn emulate(arguments: &[&str]) -> Output {
    Command::new("unshare")
        .args(["--net", env!("CARGO_BIN_EXE_lasthop"), "emulate"])
        .args(arguments)
        .output()
        .expect("it is installed")
}

fn link(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/links").join(name);
    path.to_string_lossy().into_owned()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn the_command_s_output_and_exit_code_are_its_own_and_a_summary_follows() {
    let lossy = link("lossy-hop.toml");
    let say = "echo $LASTHOP_GATEWAY; grep -c server /etc/hosts; exit 7";
    let output = emulate(&[&lossy, "--json", "--", "sh", "-c", say]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{out}{err}");
    assert_eq!(out, "100.64.0.1\n2\n", "{err}");
    let json = err.find("{\n").map_or("", |start| &err[start..]);
    let summary: serde_json::Value = serde_json::from_str(json).expect("one JSON document at the end");
    assert!(summary["trusted"].is_boolean() && summary["lateness"]["count"].is_u64(), "{summary}");
}

fn a_command_that_is_told_to_end_ends_and_says_by_which_signal() {
    let lossy = link("lossy-hop.toml");
    let output = emulate(&[&lossy, "--", "sh", "-c", "kill -TERM $PPID; exec sleep 5"]);
    assert_eq!(output.status.code(), Some(128 + 15), "{}", text(&output.stderr));
}

fn a_link_is_changed_from_behind_it() {
    let cell = link("busy-cell.toml");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let set = format!(
        "{lasthop} emulate set to-near.rate='5 Mbit/s' to-near.loss=2% || exit 8; {lasthop} emulate set moon.rate=1"
    );
    let output = emulate(&[&cell, "--", "sh", "-c", &set]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("unknown link \"moon\""), "{}", text(&output.stderr));
}

fn what_cannot_be_is_told_with_the_right_exit_code() {
    let lossy = link("lossy-hop.toml");
    let output = emulate(&[&lossy, "--", "/nonesuch"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot run /nonesuch"), "{}", text(&output.stderr));
    let output = emulate(&[&link("../first-look.toml"), "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no node \"far\""), "{}", text(&output.stderr));
    let output = emulate(&[&lossy, "--set", "schemes=[\"none\", \"snoop\"]", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("runs the link without \"snoop\""), "{}", text(&output.stderr));
    let output = emulate(&["set", "air.loss=1%", "--socket", "/nonesuch"]);
    assert_eq!(output.status.code(), Some(1));
}
