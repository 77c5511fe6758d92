//! `lasthop emulate` as its users meet it. Needs root; skipped loudly elsewhere.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs the command in a network namespace of its own, where it can do no harm; `None` where that cannot be.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn emulate(arguments: &[&str]) -> Option<Output> {
    let possible = Command::new("unshare").args(["--net", "true"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: needs root for network namespaces, and `unshare`");
        return None;
    }
    let output = Command::new("unshare")
        .args(["--net", env!("CARGO_BIN_EXE_lasthop"), "emulate"])
        .args(arguments)
        .output()
        .expect("unshare has just worked");
    Some(output)
}

fn link(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/links").join(name);
    path.to_string_lossy().into_owned()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
fn the_command_s_output_and_exit_code_are_its_own_and_a_summary_follows() {
    let lossy = link("lossy-hop.toml");
    let say = "echo $LASTHOP_GATEWAY; grep -c server /etc/hosts; exit 7";
    let Some(output) = emulate(&[&lossy, "--json", "--", "sh", "-c", say]) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{out}{err}");
    assert_eq!(out, "100.64.0.1\n2\n", "{err}");
    let json = err.find("{\n").map_or("", |start| &err[start..]);
    let summary: serde_json::Value = serde_json::from_str(json).expect("one JSON document at the end");
    assert!(summary["trusted"].is_boolean() && summary["lateness"]["count"].is_u64(), "{summary}");
}

#[test]
fn a_command_that_is_told_to_end_ends_and_says_by_which_signal() {
    let lossy = link("lossy-hop.toml");
    let Some(output) = emulate(&[&lossy, "--", "sh", "-c", "kill -TERM $PPID; exec sleep 5"]) else { return };
    assert_eq!(output.status.code(), Some(128 + 15), "{}", text(&output.stderr));
}

#[test]
fn a_link_is_changed_from_behind_it() {
    let cell = link("busy-cell.toml");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let set = format!(
        "{lasthop} emulate set to-near.rate='5 Mbit/s' to-near.loss=2% || exit 8; {lasthop} emulate set moon.rate=1"
    );
    let Some(output) = emulate(&[&cell, "--", "sh", "-c", &set]) else { return };
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("there is no link \"moon\""), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_is_told_with_the_right_exit_code() {
    let lossy = link("lossy-hop.toml");
    let Some(output) = emulate(&[&lossy, "--", "/nonesuch"]) else { return };
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot run /nonesuch"), "{}", text(&output.stderr));
    let Some(output) = emulate(&[&link("../first-look.toml"), "--", "true"]) else { return };
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no node \"far\""), "{}", text(&output.stderr));
    let Some(output) = emulate(&["set", "air.loss=1%", "--socket", "/nonesuch"]) else { return };
    assert_eq!(output.status.code(), Some(1));
}
