//! `lasthop emulate` as its users meet it.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use lasthop_live::namespace::Namespace;
use lasthop_needs::{namespaces, tests};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces, unshare]:
            the_command_s_output_and_exit_code_are_its_own_and_a_summary_follows,
            a_command_that_is_told_to_end_ends_and_says_by_which_signal,
            a_signal_after_the_end_of_the_command_changes_nothing,
            a_capture_that_cannot_be_written_leaves_the_summary_and_the_exit_code,
            a_link_is_changed_from_behind_it,
            a_user_who_is_not_root_cannot_have_root_open_files,
            a_pipe_is_a_trace_at_the_start_and_refused_later,
            what_cannot_be_is_told_with_the_right_exit_code,
            a_command_runs_as_the_user_who_called_sudo,
            what_a_command_leaves_running_ends_with_it,
            nothing_runs_on_and_nothing_is_left_after_a_kill,
            the_process_that_clears_up_holds_the_namespace_whose_processes_it_kills,
            emulations_that_start_and_end_at_once_do_not_meet,
            the_emulations_of_this_machine_are_listed;
        [namespaces, unshare, getent]:
            a_resolver_on_the_loopback_device_is_asked_through_the_hop;
        [namespaces, iptables]:
            with_iptables_alone_forwarding_is_on_until_the_last_emulation_ends;
        [namespaces, unshare, fish]:
            fish_shows_the_link_in_its_prompt;
        [namespaces, unshare, bash]:
            a_service_of_this_machine_is_reached_by_its_name_through_the_link_of_the_flags,
            a_service_on_the_loopback_device_is_reached_on_request,
            a_change_of_the_flags_happens_at_its_time,
            a_capture_has_each_packet_at_both_ends;
    })
}

fn getent() -> Result<(), String> {
    lasthop_needs::program("getent")
}

fn bash() -> Result<(), String> {
    lasthop_needs::program("bash")
}

fn iptables() -> Result<(), String> {
    lasthop_needs::program("iptables")
}

fn fish() -> Result<(), String> {
    lasthop_needs::program("fish")
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

/// A machine of one's own, with `lasthop emulate` on it.
struct Machine(Namespace);

impl Machine {
    fn new() -> Self {
        Self(Namespace::new("machine").expect("root"))
    }

    fn listen(&self, address: &'static str) -> TcpListener {
        self.0.enter(|| TcpListener::bind(address)).expect("enter").expect("a free port")
    }

    fn emulate(&self, arguments: &[&str]) -> Output {
        self.0.enter(|| emulation(arguments).output()).expect("enter").expect("it is there")
    }

    /// Devices, rules for addresses, forwarding.
    fn traces(&self) -> [String; 3] {
        let links = self.0.ip(&["link show"]).expect("it can be asked");
        let rules = || Command::new("nft").args(["list", "ruleset"]).output();
        let rules = self.0.enter(rules).expect("enter").map(|output| output.stdout).unwrap_or_default();
        let forwarding = || std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").expect("Linux has it");
        [links, text(&rules), self.0.enter(forwarding).expect("enter")]
    }
}

fn emulation(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("emulate").args(arguments);
    command
}

/// Has bash read what a service says.
fn read_from(port: u16) -> String {
    format!("exec 3<>/dev/tcp/host.lasthop/{port} && cat <&3")
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

/// Says hello to the next client; how long the last word took there and its end back.
fn say_hello(listener: &TcpListener) -> Duration {
    let (mut stream, _) = listener.accept().expect("a client");
    let start = Instant::now();
    stream.write_all(b"hello\n").expect("a reader");
    stream.shutdown(Shutdown::Write).expect("a connection");
    stream.read_to_end(&mut Vec::new()).expect("its end");
    start.elapsed()
}

fn a_service_of_this_machine_is_reached_by_its_name_through_the_link_of_the_flags() {
    let machine = Machine::new();
    let listener = machine.listen("0.0.0.0:0");
    let client = format!("echo $LASTHOP_LINK; {}", read_from(port_of(&listener)));
    let server = std::thread::spawn(move || say_hello(&listener));
    let output = machine.emulate(&["--rate", "10mbit", "--delay", "100ms", "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "rate 10mbit, delay 100ms\nhello\n", "{}", text(&output.stderr));
    let took = server.join().expect("it has served");
    assert!(took >= Duration::from_millis(200), "{took:?} for a round trip");
}

fn a_service_on_the_loopback_device_is_reached_on_request() {
    let machine = Machine::new();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = machine.listen(address);
        let client = read_from(port_of(&listener));
        let output = machine.emulate(&["--delay", "1ms", "--", "bash", "-c", &client]);
        assert_eq!(output.status.code(), Some(1), "{address}: {}", text(&output.stdout));
        let server = std::thread::spawn(move || say_hello(&listener));
        let output = machine.emulate(&["--delay", "1ms", "--localhost", "--", "bash", "-c", &client]);
        assert_eq!(text(&output.stdout), "hello\n", "{address}: {}", text(&output.stderr));
        server.join().expect("it has served");
    }
}

fn fish_shows_the_link_in_its_prompt() {
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

fn a_change_of_the_flags_happens_at_its_time() {
    let machine = Machine::new();
    let listener = machine.listen("0.0.0.0:0");
    let client = format!("sleep 0.5; timeout 1 bash -c '{}'", read_from(port_of(&listener)));
    let output =
        machine.emulate(&["--delay", "1ms", "--at", "200ms", "loss=100%", "--", "bash", "-c", &client]);
    assert_eq!(output.status.code(), Some(124), "{}", text(&output.stderr));
    let server = std::thread::spawn(move || say_hello(&listener));
    let output =
        machine.emulate(&["--loss", "100%", "--at", "200ms", "loss=0%", "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "hello\n", "{}", text(&output.stderr));
    server.join().expect("it has served");
}

fn a_capture_has_each_packet_at_both_ends() {
    let machine = Machine::new();
    let listener = machine.listen("0.0.0.0:0");
    let client = read_from(port_of(&listener));
    let server = std::thread::spawn(move || say_hello(&listener));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("run.pcapng");
    let name = file.to_str().expect("UTF-8");
    let output = machine.emulate(&["--delay", "1ms", "--pcap", name, "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "hello\n", "{}", text(&output.stderr));
    server.join().expect("it has served");
    let octets = std::fs::read(&file).expect("it was written");
    assert!(octets.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let count = |text: &[u8]| octets.windows(text.len()).filter(|window| *window == text).count();
    assert_eq!([&b"near:hop"[..], b"far:hop", b"hello\n"].map(count), [1, 1, 2]);
}

fn the_emulations_of_this_machine_are_listed() {
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

/// Answers a question for an address with 192.0.2.7 (RFC 1035, section 4).
fn answer(question: &[u8]) -> Vec<u8> {
    // The question ends with its name's last label, a type and a class.
    let name = question[12..].iter().position(|octet| *octet == 0).expect("the root");
    let mut answer = question[..12 + name + 5].to_vec();
    answer[2..4].copy_from_slice(&[0x81, 0x80]);
    answer[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
    answer.extend_from_slice(&[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    answer
}

fn a_resolver_on_the_loopback_device_is_asked_through_the_hop() {
    let machine = Machine::new();
    let resolver = machine.0.enter(|| UdpSocket::bind("127.0.0.53:53")).expect("enter").expect("a free port");
    let server = std::thread::spawn(move || {
        let mut question = [0; 512];
        let (len, from) = resolver.recv_from(&mut question).expect("a question");
        resolver.send_to(&answer(&question[..len]), from).expect("somebody waits");
    });
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("resolv.conf");
    std::fs::write(&file, "nameserver 127.0.0.53\n").expect("a writable directory");
    let run = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let ask = ["emulate", "--delay", "1ms", "--as-root", "--", "getent", "ahostsv4", "name.example"];
    let start = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", run]).arg(&file).arg(env!("CARGO_BIN_EXE_lasthop"));
        command.args(ask).output()
    };
    let output = machine.0.enter(start).expect("enter").expect("it is there");
    assert!(text(&output.stdout).starts_with("192.0.2.7 "), "{}", text(&output.stderr));
    server.join().expect("it has answered");
}

fn a_command_runs_as_the_user_who_called_sudo() {
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

fn is_running(pid: &str) -> bool {
    // One that has ended and is not waited for has no links.
    std::fs::read_link(format!("/proc/{}/exe", pid.trim())).is_ok()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn what_a_command_leaves_running_ends_with_it() {
    let machine = Machine::new();
    let leave = "trap '' TERM; sleep 1000 >/dev/null 2>&1 & echo $!";
    let output = machine.emulate(&["--delay", "1ms", "--", "sh", "-c", leave]);
    let pid = text(&output.stdout);
    assert!(output.status.success() && !pid.is_empty(), "{}", text(&output.stderr));
    wait_until("the end of what was left", || !is_running(&pid));
}

fn nothing_runs_on_and_nothing_is_left_after_a_kill() {
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

fn the_process_that_clears_up_holds_the_namespace_whose_processes_it_kills() {
    let machine = Machine::new();
    // The standard outputs that are namespaces, and the command's own namespace.
    let say = "find /proc/[0-9]*/fd/1 -lname 'net:*' -printf '%l\\n' 2>/dev/null; readlink /proc/self/ns/net";
    let output = machine.emulate(&["--delay", "1ms", "--as-root", "--", "sh", "-c", say]);
    let out = text(&output.stdout);
    let (held, own) = out.trim_end().rsplit_once('\n').unwrap_or_else(|| panic!("nothing is held: {out}"));
    assert!(held.lines().any(|namespace| namespace == own), "{own} is not held: {held}");
}

fn emulations_that_start_and_end_at_once_do_not_meet() {
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

fn with_iptables_alone_forwarding_is_on_until_the_last_emulation_ends() {
    let machine = Machine::new();
    machine.0.sysctl("ipv4/ip_forward", "0").expect("it is there");
    // All that an emulation runs, without `nft`.
    let directory = tempfile::tempdir().expect("a directory");
    let path = std::env::var_os("PATH").expect("it is set");
    for program in ["ip", "iptables", "cat"] {
        let there = std::env::split_paths(&path).map(|directory| directory.join(program));
        let there = there.into_iter().find(|file| file.is_file()).expect("it is installed");
        std::os::unix::fs::symlink(there, directory.path().join(program)).expect("there is room");
    }
    // Ends when its input does; it has begun when it has sent back a line.
    let begin = || {
        let mut command = emulation(&["--delay", "1ms", "--as-root", "--", "cat"]);
        command.env("PATH", directory.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut lasthop = machine.0.enter(|| command.spawn()).expect("enter").expect("it is there");
        lasthop.stdin.as_mut().expect("it is piped").write_all(b"begun\n").expect("it reads");
        let mut line = String::new();
        BufReader::new(lasthop.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("a line");
        assert_eq!(line, "begun\n");
        lasthop
    };
    let end = |lasthop: std::process::Child| {
        let output = lasthop.wait_with_output().expect("it is ours");
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let is_forwarding = || machine.traces()[2].trim() == "1";
    let rules = || {
        let list = || Command::new("iptables").args(["-t", "nat", "-S"]).output();
        text(&machine.0.enter(list).expect("enter").expect("it is installed").stdout)
    };
    let (first, second) = (begin(), begin());
    assert!(is_forwarding() && rules().contains("-o lasthop1 "), "{}", rules());
    end(first);
    assert!(is_forwarding(), "the second one needs it");
    end(second);
    assert!(!is_forwarding() && !rules().contains("lasthop"), "{}", rules());
}

fn a_command_that_is_told_to_end_ends_and_says_by_which_signal() {
    let lossy = link("lossy-hop.toml");
    let output = emulate(&[&lossy, "--", "sh", "-c", "kill -TERM $PPID; exec sleep 5"]);
    assert_eq!(output.status.code(), Some(128 + 15), "{}", text(&output.stderr));
}

fn a_signal_after_the_end_of_the_command_changes_nothing() {
    let late = "trap '' TERM; (sleep 0.1; kill -TERM $PPID) & exit 7";
    let output = emulate(&["--delay", "1ms", "--json", "--", "sh", "-c", late]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("\"packets_taken\""), "{}", text(&output.stderr));
}

fn a_capture_that_cannot_be_written_leaves_the_summary_and_the_exit_code() {
    for (exit, code) in [("exit 7", 7), ("exit 0", 1)] {
        let output = emulate(&["--delay", "1ms", "--json", "--pcap", "/dev/full", "--", "sh", "-c", exit]);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains("\"packets_taken\"") && err.contains("cannot write /dev/full"), "{err}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("run.pcapng");
    std::fs::write(&file, "an earlier one").expect("there is room");
    let output = emulate(&["--delay", "1ms", "--pcap", file.to_str().expect("UTF-8"), "--", "/nonesuch"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "an earlier one");
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

fn a_user_who_is_not_root_cannot_have_root_open_files() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("it is ours");
    // Where any user can run it.
    let lasthop = directory.path().join("lasthop");
    std::fs::copy(env!("CARGO_BIN_EXE_lasthop"), &lasthop).expect("there is room");
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "the-secret\n").expect("there is room");
    std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("it is ours");
    let trace = directory.path().join("down.trace");
    std::fs::write(&trace, "1\n2\n").expect("there is room");
    // What the user makes of it while it is in use.
    let replace = format!("rm -f {0}; ln -s {1} {0}", trace.display(), secret.display());
    let set = |assignment: &str| {
        std::fs::remove_file(&trace).expect("it is there");
        std::fs::write(&trace, "1\n2\n").expect("there is room");
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("it is ours");
        let script = format!("{replace}; exec {} emulate set '{assignment}'", lasthop.display());
        let trace = trace.to_str().expect("UTF-8");
        emulate(&["--trace", trace, "--user", "nobody", "--", "sh", "-c", &script])
    };
    let output = set("hop.loss=2%");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let name = secret.display();
    for assignment in [format!("hop.trace={name}"), format!("hop.delay={{ table = \"{name}\" }}")] {
        let output = set(&assignment);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{out}{err}");
        assert!(err.contains("only root may name files"), "{err}");
        assert!(!out.contains("the-secret") && !err.contains("the-secret"), "{out}{err}");
    }
}

fn a_pipe_is_a_trace_at_the_start_and_refused_later() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let pipe = pipe.to_str().expect("UTF-8");
    assert!(Command::new("mkfifo").arg(pipe).status().expect("it is installed").success());
    let mut writer = Command::new("sh").args(["-c", "echo 1 > $0", pipe]).spawn().expect("it is installed");
    let lasthop = env!("CARGO_BIN_EXE_lasthop");
    let set = format!("{lasthop} emulate set hop.loss=2% || exit 8; {lasthop} emulate set hop.trace={pipe}");
    let output = emulate(&["--trace", pipe, "--as-root", "--", "sh", "-c", &set]);
    writer.wait().expect("it is ours");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("not a regular file"), "{}", text(&output.stderr));
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
