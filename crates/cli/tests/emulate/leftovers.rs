//! What an emulation leaves behind: nothing.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::{Machine, emulation, text};

fn is_running(pid: &str) -> bool {
    // One that has ended and is not waited for has no links.
    std::fs::read_link(format!("/proc/{}/exe", pid.trim())).is_ok()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn what_a_command_leaves_running_ends_with_it() {
    let machine = Machine::new();
    let leave = "trap '' TERM; sleep 1000 >/dev/null 2>&1 & echo $!";
    let output = machine.emulate(&["--delay", "1ms", "--", "sh", "-c", leave]);
    let pid = text(&output.stdout);
    assert!(output.status.success() && !pid.is_empty(), "{}", text(&output.stderr));
    wait_until("the end of what was left", || !is_running(&pid));
}

pub fn nothing_runs_on_and_nothing_is_left_after_a_kill() {
    let machine = Machine::new();
    machine.0.sysctl("ipv4/ip_forward", "0").expect("it is there");
    let before = machine.traces();
    let start = "setsid sleep 1000 & echo $!; echo $$; exec sleep 1000";
    let arguments = ["--delay", "1ms", "--as-root", "--", "sh", "-c", start];
    let spawn = || emulation(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut lasthop = machine.0.enter(spawn).expect("enter").expect("it is there");
    let mut lines = BufReader::new(lasthop.stdout.take().expect("it is piped")).lines();
    let pids = [lines.next(), lines.next()].map(|line| line.expect("a line").expect("a process ID"));
    let files = ["emulate-PID.sock", "hosts-PID"]
        .map(|file| format!("/run/lasthop-emulate/{}", file.replace("PID", &lasthop.id().to_string())));
    assert!(pids.iter().all(|pid| is_running(pid)) && Path::new(&files[0]).exists());
    assert_ne!(machine.traces(), before);
    lasthop.kill().expect("it runs");
    lasthop.wait().expect("it is ours");
    wait_until("the end of the command", || !pids.iter().any(|pid| is_running(pid)));
    wait_until("nothing is left", || machine.traces() == before);
    wait_until("no files are left", || !files.iter().any(|file| Path::new(file).exists()));
}

pub fn the_process_that_clears_up_holds_the_namespace_whose_processes_it_kills() {
    let machine = Machine::new();
    // The standard outputs that are namespaces, and the command's own namespace.
    let say = "find /proc/[0-9]*/fd/1 -lname 'net:*' -printf '%l\\n' 2>/dev/null; readlink /proc/self/ns/net";
    let output = machine.emulate(&["--delay", "1ms", "--as-root", "--", "sh", "-c", say]);
    let out = text(&output.stdout);
    let (held, own) = out.trim_end().rsplit_once('\n').unwrap_or_else(|| panic!("nothing is held: {out}"));
    assert!(held.lines().any(|namespace| namespace == own), "{own} is not held: {held}");
}

pub fn emulations_that_start_and_end_at_once_do_not_meet() {
    let machine = Machine::new();
    machine.0.sysctl("ipv4/ip_forward", "0").expect("it is there");
    let before = machine.traces();
    let arguments = ["--delay", "1ms", "--as-root", "--", "true"];
    let spawn = || emulation(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let running: Vec<_> =
        (0..4).map(|_| machine.0.enter(spawn).expect("enter").expect("it is there")).collect();
    for lasthop in running {
        let output = lasthop.wait_with_output().expect("it is ours");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(machine.traces(), before);
}

/// An emulation that ends when its input does. It has begun when it has sent back a line.
fn begin(machine: &Machine, command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut lasthop = machine.0.enter(|| command.spawn()).expect("enter").expect("it is there");
    lasthop.stdin.as_mut().expect("it is piped").write_all(b"begun\n").expect("it reads");
    let mut line = String::new();
    BufReader::new(lasthop.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, "begun\n");
    lasthop
}

fn end(lasthop: Child) {
    let output = lasthop.wait_with_output().expect("it is ours");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

pub fn where_the_rules_cannot_be_listed_forwarding_stays_on_for_the_others() {
    let machine = Machine::new();
    machine.0.sysctl("ipv4/ip_forward", "0").expect("it is there");
    let before = machine.traces();
    let directory = tempfile::tempdir().expect("a directory");
    let (nft, fails) = (directory.path().join("nft"), directory.path().join("fails"));
    let real = Command::new("sh").args(["-c", "command -v nft"]).output().expect("a shell");
    let script = format!(
        "#!/bin/sh\nif [ \"$1 $2\" = 'list tables' ] && rm {} 2>/dev/null; then exit 1; fi\nexec {} \"$@\"\n",
        fails.display(),
        text(&real.stdout).trim()
    );
    std::fs::write(&nft, script).expect("there is room");
    std::fs::set_permissions(&nft, Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").expect("it is set"));
    let emulation = || {
        let mut command = emulation(&["--delay", "1ms", "--as-root", "--", "cat"]);
        begin(&machine, command.env("PATH", &path))
    };
    let is_forwarding = || machine.traces()[2].trim() == "1";
    let (first, second) = (emulation(), emulation());
    std::fs::write(&fails, "").expect("there is room");
    end(first);
    assert!(!fails.exists() && is_forwarding(), "the second one needs it");
    end(second);
    end(emulation());
    assert_eq!(machine.traces(), before, "the next one has cleared up");
}

pub fn with_iptables_alone_forwarding_is_on_until_the_last_emulation_ends() {
    let machine = Machine::new();
    machine.0.sysctl("ipv4/ip_forward", "0").expect("it is there");
    // A machine without `nft`, wherever it is looked for.
    let hide = "mount --make-rprivate / && for nft in /usr/sbin/nft /usr/bin/nft; do \
                test ! -e $nft || mount --bind /dev/null $nft; done && exec \"$0\" emulate --delay 1ms --as-root -- cat";
    let emulation = || {
        let mut command = Command::new("unshare");
        begin(&machine, command.args(["--mount", "sh", "-c", hide, env!("CARGO_BIN_EXE_lasthop")]))
    };
    let is_forwarding = || machine.traces()[2].trim() == "1";
    let rules = || {
        let list = || Command::new("iptables").args(["-t", "nat", "-S"]).output();
        text(&machine.0.enter(list).expect("enter").expect("it is installed").stdout)
    };
    let (first, second) = (emulation(), emulation());
    assert!(is_forwarding() && rules().contains("-o lasthop1 "), "{}", rules());
    end(first);
    assert!(is_forwarding(), "the second one needs it");
    end(second);
    assert!(!is_forwarding() && !rules().contains("lasthop"), "{}", rules());
}
