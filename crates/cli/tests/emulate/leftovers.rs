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
    let machine = Machine::with_uplink();
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
    let machine = Machine::with_uplink();
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
    let machine = Machine::with_uplink();
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
    let is_forwarding = || machine.forwarding().contains("eth0=1");
    let (first, second) = (emulation(), emulation());
    std::fs::write(&fails, "").expect("there is room");
    end(first);
    assert!(!fails.exists() && is_forwarding(), "the second one needs it");
    end(second);
    end(emulation());
    assert_eq!(machine.traces(), before, "the next one has cleared up");
}

pub fn with_iptables_alone_forwarding_is_on_until_the_last_emulation_ends() {
    let machine = Machine::with_uplink();
    // A machine without `nft`, wherever it is looked for.
    let hide = "mount --make-rprivate / && for nft in /usr/sbin/nft /usr/bin/nft; do \
                test ! -e $nft || mount --bind /dev/null $nft; done && exec \"$0\" emulate --delay 1ms --as-root -- cat";
    let emulation = || {
        let mut command = Command::new("unshare");
        begin(&machine, command.args(["--mount", "sh", "-c", hide, env!("CARGO_BIN_EXE_lasthop")]))
    };
    let is_forwarding = || machine.forwarding().contains("eth0=1");
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

pub fn an_emulation_takes_no_address_that_this_machine_uses_or_reaches() {
    let get = |machine: &Machine, to: &str| machine.0.ip(&[&format!("route get {to}")]).expect("a route");
    let lasthop = ["--delay", "1ms", "--as-root", "--", "cat"];
    for setting in [
        // An operator's NAT, with its gateway in the first subnet.
        &["address add 100.64.5.17/20 dev eth0", "route add default via 100.64.0.1"][..],
        // A VPN with a table of its own.
        &[
            "address add 192.0.2.2/24 dev eth0",
            "route add 100.64.0.0/10 dev eth0 table 52",
            "rule add to 100.64.0.0/10 lookup 52",
            "rule add to 198.18.0.0/17 lookup 52",
        ],
        // A gateway that no address covers.
        &["address add 192.0.2.2/32 dev eth0", "route add default via 100.64.0.1 dev eth0 onlink"],
    ] {
        let machine = Machine::with_uplink();
        machine.0.ip(&["link set eth1 up"]).expect("it is there");
        machine.0.ip(setting).expect("it is in order");
        let of = |machine: &Machine| {
            ["100.64.0.1", "100.64.0.2", "100.64.5.17", "100.64.99.1"].map(|to| get(machine, to))
        };
        let before = of(&machine);
        let first = begin(&machine, &mut emulation(&lasthop));
        let second = begin(&machine, &mut emulation(&lasthop));
        assert_eq!(of(&machine), before, "{setting:?}");
        end(first);
        end(second);
    }
}

pub fn where_all_subnets_are_in_use_an_emulation_says_so() {
    let machine = Machine::with_uplink();
    let covered = ["route add 100.64.0.0/10 dev eth0", "route add 198.18.0.0/15 dev eth0"];
    machine.0.ip(&covered).expect("it is in order");
    let output = machine.emulate(&["--delay", "1ms", "--", "true"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("are in use on this machine"), "{}", text(&output.stderr));
}

pub fn the_addresses_of_ipv6_are_left_to_who_uses_them() {
    let machine = Machine::with_uplink();
    machine.0.ip(&["address add fd6c:6f70::7/32 dev eth0 nodad"]).expect("it is in order");
    let say = "echo ${LASTHOP_GATEWAY_V6:-none}";
    let output = machine.emulate(&["--delay", "1ms", "--", "sh", "-c", say]);
    assert_eq!(text(&output.stdout), "none\n", "{}", text(&output.stderr));
}

pub fn forwarding_that_others_have_come_to_need_stays_on() {
    let machine = Machine::with_uplink();
    let before = machine.forwarding();
    let lasthop = ["--delay", "1ms", "--as-root", "--", "cat"];
    let running = begin(&machine, &mut emulation(&lasthop));
    assert!(machine.forwarding().starts_with("all=0 ") && machine.forwarding().contains("eth0=1"));
    // As a daemon for containers does.
    machine.0.sysctl("ipv4/ip_forward", "1").expect("it is there");
    end(running);
    let after = machine.forwarding();
    assert!(after.contains("all=1") && after.contains("eth0=1"), "before: {before}; after: {after}");
    end(begin(&machine, &mut emulation(&lasthop)));
    assert_eq!(machine.forwarding(), after);
}

pub fn a_purge_of_the_package_leaves_emulations_alone() {
    let machine = Machine::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian/postrm");
    // In another network namespace than the emulation's.
    let purge = |apart: &[&str], prepare: &str, look: &str| {
        let hide = format!(
            "mount --make-rprivate / && mount -t tmpfs none /etc && {prepare} && sh {script} purge && {look}"
        );
        let run = Command::new("unshare").args(apart).args(["--mount", "sh", "-c", &hide]).output();
        let output = run.expect("it is installed");
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let directory = "/run/lasthop-emulate";
    let running = begin(&machine, &mut emulation(&["--delay", "1ms", "--as-root", "--", "cat"]));
    let socket = format!("{directory}/emulate-{}.sock", running.id());
    purge(&[], "true", &format!("test -S {socket}"));
    end(running);
    let left = format!("mount -t tmpfs none /run && mkdir {directory} && touch {directory}/lock");
    // Without the processes of other tests.
    purge(&["--pid", "--fork", "--mount-proc"], &left, &format!("test ! -e {directory}"));
}
