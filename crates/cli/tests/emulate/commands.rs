//! The command behind the hop: whose it is, what it prints and ends with, what is told of it.

use std::io::Write;
use std::process::Stdio;

use crate::machine::{Machine, emulate, emulation, link, text};

pub fn the_command_s_output_and_exit_code_are_its_own_and_a_summary_follows() {
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

pub fn a_command_that_is_told_to_end_ends_and_says_by_which_signal() {
    let lossy = link("lossy-hop.toml");
    let output = emulate(&[&lossy, "--", "sh", "-c", "kill -TERM $PPID; exec sleep 5"]);
    assert_eq!(output.status.code(), Some(128 + 15), "{}", text(&output.stderr));
}

pub fn a_signal_after_the_end_of_the_command_changes_nothing() {
    let late = "trap '' TERM; (sleep 0.1; kill -TERM $PPID) & exit 7";
    let output = emulate(&["--delay", "1ms", "--json", "--", "sh", "-c", late]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("\"packets_taken\""), "{}", text(&output.stderr));
}

pub fn a_capture_that_cannot_be_written_leaves_the_summary_and_the_exit_code() {
    for (exit, code) in [("exit 7", 7), ("exit 0", 1)] {
        let output = emulate(&["--delay", "1ms", "--json", "--pcap", "/dev/full", "--", "sh", "-c", exit]);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains("\"packets_taken\"") && err.contains("cannot write /dev/full"), "{err}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("run.pcapng");
    std::fs::write(&file, "an earlier one").expect("there is room");
    let capture = ["--overwrite", "--pcap", file.to_str().expect("UTF-8")];
    let output = emulate(&[&["--delay", "1ms"], &capture[..], &["--", "/nonesuch"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "an earlier one");
}

pub fn a_command_runs_as_the_user_who_called_sudo() {
    let machine = Machine::new();
    let say =
        "id -u; id -G; echo $USER ${SUDO_UID-none}; test -w $LASTHOP_EMULATE_SOCKET && echo may change it";
    let ask = |choice: &[&str]| {
        let arguments = [&["--delay", "1ms"], choice, &["--", "sh", "-c", say]].concat();
        let run = || emulation(&arguments).env("SUDO_UID", "65534").env("SUDO_GID", "65534").output();
        text(&machine.0.enter(run).expect("enter").expect("it is there").stdout)
    };
    let nobody = "65534\n65534\nnobody none\nmay change it\n";
    assert_eq!(ask(&[]), nobody);
    assert_eq!(ask(&["--user", "nobody"]), nobody);
    assert!(ask(&["--as-root"]).starts_with("0\n"));
    let output = machine.emulate(&["--delay", "1ms", "--user", "nonesuch", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no user \"nonesuch\""), "{}", text(&output.stderr));
}

pub fn the_emulations_of_this_machine_are_listed() {
    let machine = Machine::new();
    let ask = format!("{} emulate status --json; exit", env!("CARGO_BIN_EXE_lasthop"));
    let output = machine.emulate(&["--loss", "0.125%", "--", "sh", "-c", &ask]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    // Others may be at work on this machine.
    let mut ours = listed.as_array().expect("a list").iter().filter(|one| one["link"] == "loss 0.125%");
    let ours = ours.next().unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(ours["command"], format!("sh -c {ask}"));
    assert!(ours["pid"].is_u64() && ours["delivered"][0]["octets"].is_u64(), "{ours}");
}

pub fn fish_shows_the_link_in_its_prompt() {
    let machine = Machine::new();
    let home = tempfile::tempdir().expect("a directory");
    let settings = home.path().join("fish");
    std::fs::create_dir(&settings).expect("there is room");
    std::fs::write(settings.join("config.fish"), "function fish_prompt; echo after $status; end\n")
        .expect("there is room");
    let start = || {
        let mut fish = emulation(&["--delay", "1ms", "--as-root", "--", "fish"]);
        fish.env("XDG_CONFIG_HOME", home.path()).env("HOME", home.path());
        let mut fish = fish.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        fish.stdin.take().expect("it is piped").write_all(b"false; fish_prompt\n")?;
        fish.wait_with_output()
    };
    let output = machine.0.enter(start).expect("enter").expect("it is there");
    assert_eq!(text(&output.stdout), "[delay 1ms] after 1\n", "{}", text(&output.stderr));
}

pub fn what_cannot_be_is_told_with_the_right_exit_code() {
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
    for (arguments, told) in [
        (&["--", "true"][..], "no link: expected a LINK file or flags"),
        (&[&lossy, "--rate", "1mbit", "--", "true"], "expected a file or flags"),
        (&["--rate", "fast", "--", "true"], "lasthop: --rate: \"fast\" is not"),
        (&["--rate", "1mbit", "--meter"], "--meter requires a command"),
        (&["--rate", "1mbit", "--set", "links.hop.loss=1%", "--print-link"], "without --set"),
    ] {
        let output = emulate(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(told), "{}", text(&output.stderr));
    }
    let output = emulate(&["set", "air.loss=1%", "--socket", "/nonesuch"]);
    assert_eq!(output.status.code(), Some(1));
}

pub fn a_quiet_emulation_says_nothing_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let summary = directory.path().join("summary.json");
    let name = summary.to_str().expect("UTF-8");
    let output = emulate(&[
        "--delay",
        "1ms",
        "--quiet",
        "--summary",
        name,
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2",
    ]);
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("out\n", "err\n"));
    let summary = std::fs::read_to_string(&summary).expect("it was written");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    for flag in ["--summary", "--pcap"] {
        let output = emulate(&["--delay", "1ms", flag, name, "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("this file exists; expected another name, or --overwrite"));
    }
    let output = emulate(&["--delay", "1ms", "--summary", name, "--overwrite", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Which code depends on the machine; the two agree.
    let output = emulate(&["--delay", "1ms", "--require-trust", "--json", "--", "true"]);
    let of_run: serde_json::Value = serde_json::from_str(&text(&output.stderr)).expect("JSON");
    let expected = if of_run["trusted"] == true { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(expected), "{of_run} {summary}");
    let output = emulate(&["--delay", "1ms", "--require-trust", "--", "sh", "-c", "exit 7"]);
    assert_eq!(output.status.code(), Some(7), "the command's own code comes first");
}
