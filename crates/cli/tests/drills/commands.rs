//! `lasthop try` and `lasthop emulate` when they are interrupted, killed, or started without the
//! rights that they need.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_linux::namespace::Namespace;
use rustix::process::{Pid, Signal, kill_process};

use crate::alone;
use crate::hosts::{PATIENCE, Site, soon, translation};

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

/// A machine of our own, so that what is left there is of no harm.
fn machine() -> Namespace {
    let site = Site::hosts();
    site.gateway.sysctl("ipv4/ip_forward", "0").expect("a setting");
    site.gateway
}

fn lasthop(machine: &Namespace, arguments: &[&str]) -> Child {
    start(machine, arguments, Stdio::null())
}

fn start(machine: &Namespace, arguments: &[&str], output: Stdio) -> Child {
    // In the background of a script everybody ignores SIGINT: what we start shall not.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_lasthop")]);
    command.args(arguments).stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
    machine.enter(|| command.spawn()).expect("enter").expect("it starts")
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it is ours");
}

/// Waits until a program has installed its handler of SIGINT.
fn catches_interrupts(child: &Child) {
    soon(|| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).map_err(|e| e.to_string())?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).ok_or("no signals")?;
        let caught = u64::from_str_radix(caught.trim(), 16).map_err(|error| error.to_string())?;
        let interrupts = 1 << (Signal::INT.as_raw() - 1);
        if caught & interrupts == 0 { Err(format!("it catches {caught:x}")) } else { Ok(()) }
    });
}

fn end(mut child: Child) -> (Option<i32>, String) {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("it is ours").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("it is ours");
            panic!("it hangs: {:?}", child.wait_with_output());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("it has ended");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Interfaces, rules, tables, forwarding, and our sockets.
fn traces(machine: &Namespace) -> [String; 5] {
    let run = |program: &str, arguments: &[&str]| {
        let output = machine.enter(|| Command::new(program).args(arguments).output()).expect("enter");
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    };
    let sockets = fs::read_dir("/run/lasthop-emulate").into_iter().flatten().flatten();
    // The lock between emulations stays: an empty file.
    let of_emulations = sockets.map(|entry| entry.file_name()).filter(|name| name != "lock");
    let mut sockets: Vec<_> = of_emulations.collect();
    sockets.sort();
    [
        run("ip", &["-brief", "link"]),
        run("ip", &["rule"]),
        run("nft", &["list", "ruleset"]),
        forwarding(machine),
        format!("{sockets:?}"),
    ]
}

/// The devices that forward, with a space behind each.
fn forwarding(machine: &Namespace) -> String {
    let devices = || {
        let forwards = |device: &String| {
            let setting = fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{device}/forwarding"));
            setting.is_ok_and(|setting| setting.trim() == "1")
        };
        let all = fs::read_dir("/proc/sys/net/ipv4/conf").expect("Linux has it").flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(forwards).map(|name| name + " ").collect();
        names.sort();
        names.concat()
    };
    machine.enter(devices).expect("enter")
}

fn assert_traces(machine: &Namespace, before: &[String; 5]) {
    soon(|| {
        let now = traces(machine);
        if now == *before { Ok(()) } else { Err(format!("{before:?}, and now {now:?}")) }
    });
}

pub fn a_trial_that_is_interrupted_or_killed_leaves_nothing() {
    let _alone = alone();
    let machine = machine();
    let before = traces(&machine);
    let file = scenario("try.toml").display().to_string();
    let interrupted_by = |kind| {
        let child = lasthop(&machine, &["try", &file, "--flows", "download", "--congestion", "cubic"]);
        catches_interrupts(&child);
        thread::sleep(Duration::from_secs(1));
        signal(&child, kind);
        let began = Instant::now();
        let (code, said) = end(child);
        let took = began.elapsed();
        assert_traces(&machine, &before);
        (code, said, took)
    };
    for kind in [Signal::INT, Signal::TERM] {
        lasthop_needs::assert_in_time("a trial that is interrupted", Duration::from_secs(3), || {
            let (code, said, took) = interrupted_by(kind);
            assert_eq!(code, None, "it ends by the signal: {said}");
            assert!(said.contains("interrupted: none of 2 runs"), "{said}");
            took
        });
    }
    assert_eq!(interrupted_by(Signal::KILL).0, None);
}

pub fn a_trial_that_is_interrupted_prints_the_runs_that_are_done() {
    let _alone = alone();
    let machine = machine();
    let file = scenario("try.toml").display().to_string();
    let short = ["--set", "try.duration=1 s", "--set", "try.settle=0 s", "--seeds", "100"];
    let one = ["try", &file, "--flows", "download", "--congestion", "cubic", "--schemes", "none", "--json"];
    let child = start(&machine, &[&one[..], &short].concat(), Stdio::piped());
    catches_interrupts(&child);
    thread::sleep(Duration::from_secs(6));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), None, "it ends by the signal: {said}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let runs = document["rows"][0]["runs"].as_u64().expect("a number");
    assert!((1..100).contains(&runs), "{document}");
    assert!(said.contains(&format!("interrupted: {runs} of 100 runs")), "{said}");
}

fn emulation(machine: &Namespace, command: &[&str]) -> Child {
    let link = scenario("links/lossy-hop.toml").display().to_string();
    let child = lasthop(machine, &[&["emulate", &link, "--"], command].concat());
    soon(|| {
        let traces = traces(machine);
        // Where nothing translates addresses it does not forward either.
        let forwards = !traces[3].is_empty() || translation().is_err();
        if forwards && traces[4].contains(&child.id().to_string()) {
            Ok(())
        } else {
            Err(format!("{traces:?}"))
        }
    });
    child
}

pub fn an_emulation_that_is_interrupted_leaves_nothing() {
    let _alone = alone();
    let machine = machine();
    let before = traces(&machine);
    for kind in [Signal::INT, Signal::TERM] {
        let child = emulation(&machine, &["sleep", "60"]);
        signal(&child, kind);
        let (code, said) = end(child);
        assert_eq!(code, Some(128 + kind.as_raw()), "{said}");
        assert_traces(&machine, &before);
    }
}

pub fn what_an_emulation_that_was_killed_leaves_is_cleared_away_by_the_next() {
    let _alone = alone();
    let machine = machine();
    let before = traces(&machine);
    let child = emulation(&machine, &["sleep", "3"]);
    signal(&child, Signal::KILL);
    end(child);
    // Its devices and its hosts are gone with it; the kernel keeps rules and settings.
    soon(|| {
        let links = traces(&machine)[0].clone();
        if links == before[0] { Ok(()) } else { Err(links) }
    });
    eprintln!("after SIGKILL: {:?}", traces(&machine));
    let child = emulation(&machine, &["true"]);
    end(child);
    assert_traces(&machine, &before);
}

pub fn forwarding_that_a_killed_emulation_has_just_switched_on_is_off_after_the_next() {
    let _alone = alone();
    let machine = machine();
    let before = traces(&machine);
    let link = scenario("links/lossy-hop.toml").display().to_string();
    for _ in 0..5 {
        let child = lasthop(&machine, &["emulate", &link, "--", "sleep", "3"]);
        let deadline = Instant::now() + PATIENCE;
        while forwarding(&machine).is_empty() {
            assert!(Instant::now() < deadline, "it does not forward");
        }
        signal(&child, Signal::KILL);
        end(child);
        end(lasthop(&machine, &["emulate", &link, "--", "true"]));
        assert_traces(&machine, &before);
    }
}

pub fn without_root_each_command_says_what_it_needs() {
    let _alone = alone();
    let machine = machine();
    machine.ip(&["link add core type veth peer name radio"]).expect("interfaces");
    let directory = tempfile::tempdir().expect("a directory");
    let open =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    open(directory.path(), 0o755);
    let file = directory.path().join("gateway.toml");
    fs::write(&file, "[ports]\ncore = [\"core\"]\nradio = [\"radio\"]\n[control]\nsocket = \"off\"\n")
        .expect("a file");
    let (try_file, link) = (scenario("try.toml"), scenario("links/lossy-hop.toml"));
    for arguments in [
        &["gateway", &file.display().to_string()][..],
        &["try", &try_file.display().to_string()],
        &["emulate", &link.display().to_string(), "--", "true"],
        &["gateway", "status"],
    ] {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
        command.arg(env!("CARGO_BIN_EXE_lasthop")).args(arguments);
        let output = machine.enter(|| command.output()).expect("enter").expect("it is installed");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        eprintln!("{arguments:?} by nobody: {said}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 1, "one sentence: {said}");
        let is_clear =
            ["root", "CAP_NET_ADMIN", "a gateway is running"].iter().any(|word| said.contains(word));
        assert!(is_clear, "{said}");
    }
}
