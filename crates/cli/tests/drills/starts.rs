//! Starts that fail, and starts beside a gateway that runs already.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_linux::namespace::Namespace;
use rustix::process::Signal;

use crate::alone;
use crate::checks::check;
use crate::hosts::{Daemon, Kind, PATIENCE, Site};

/// A start that is expected to fail.
struct Attempt {
    code: Option<i32>,
    /// What it wrote to standard error.
    said: String,
    /// What it told the service manager.
    told: Vec<String>,
}

/// A configuration file with these ports; the control socket is `socket` in the directory.
pub fn file(directory: &Path, top: &str, ports: &str, rest: &str) -> String {
    let socket = directory.join("gateway.sock").display().to_string();
    format!("{top}\n[ports]\n{ports}\n[control]\nsocket = \"{socket}\"\n{rest}")
}

pub const PORTS: &str = "core = [\"core\"]\nradio = [\"radio\"]";
pub const NO_METRICS: &str = "[metrics]\nlisten = \"off\"\n";

/// Starts a gateway in a directory that has this file, with at most `descriptors` open files, and
/// waits for its end. One that starts is told to end.
fn attempt(host: &Namespace, directory: &Path, text: &str, descriptors: u32) -> Attempt {
    attempt_then(host, directory, text, descriptors, |child| {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), Signal::TERM);
    })
}

/// The same; when one has started, `then` has it end.
fn attempt_then(
    host: &Namespace,
    directory: &Path,
    text: &str,
    descriptors: u32,
    mut then: impl FnMut(&Child),
) -> Attempt {
    let (file, notify) = (directory.join("attempt.toml"), directory.join("notify"));
    fs::write(&file, text).expect("a file");
    let _ = fs::remove_file(&notify);
    let manager = UnixDatagram::bind(&notify).expect("a socket");
    manager.set_nonblocking(true).expect("a socket");
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {descriptors}; exec \"$0\" gateway \"$1\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_lasthop")]).arg(&file).env("NOTIFY_SOCKET", &notify);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = host.enter(|| command.spawn()).expect("enter").expect("it starts");
    let mut told = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("it is ours").is_none() {
        assert!(Instant::now() < deadline, "it neither starts nor ends");
        let mut message = [0; 200];
        while let Ok(len) = manager.recv(&mut message) {
            told.push(String::from_utf8_lossy(&message[..len]).into_owned());
        }
        if told.iter().any(|message| message.contains("READY=1")) {
            then(&child);
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("it has ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Attempt { code: output.status.code(), said, told }
}

const PLENTY: u32 = 1024;

pub fn a_second_gateway_on_a_port_is_refused_with_the_holder_and_the_first_sees_on() {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a directory");
    for (first, second) in [("tc-bpf", "auto"), ("tc-bpf", "tun"), ("tun", "tc-bpf"), ("tun", "tun")] {
        let site = Site::new(Kind::Routed);
        let backend = |name: &str| format!("backend = \"{name}\"");
        let mut daemon = Daemon::start_with(&site.gateway, &backend(first), "");
        let before = site.traces();
        for own_socket in [true, false] {
            let socket = daemon.socket();
            let at = if own_socket { directory.path() } else { socket.parent().expect("it has one") };
            let text = file(at, &backend(second), PORTS, NO_METRICS);
            let refused = attempt(&site.gateway, directory.path(), &text, PLENTY);
            assert_eq!(refused.code, Some(1), "{}", refused.said);
            let holder = format!("process {} (lasthop)", daemon.pid());
            assert!(refused.said.contains(&holder), "{}", refused.said);
            // The port that was asked for first, whichever of them it is.
            assert!(refused.said.contains("radio") || refused.said.contains("core"), "{}", refused.said);
            assert!(refused.told.is_empty(), "{:?}", refused.told);
            assert_eq!(site.traces(), before, "{first}, {second}: nothing has changed");
            assert!(daemon.socket().exists(), "its socket is left alone");
        }
        daemon.is_in_the_path(&site);
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
        site.assert_no_traces();
    }
}

pub fn gateways_on_different_ports_of_one_machine_leave_each_other_alone() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    site.gateway.ip(&["link add core2 type veth peer name radio2"]).expect("interfaces");
    let directory = tempfile::tempdir().expect("a directory");
    for backend in ["tc-bpf", "tun"] {
        let top = format!("backend = \"{backend}\"");
        let mut daemon = Daemon::start_with(&site.gateway, &top, "");
        let before = site.traces();
        let other = "core = [\"core2\"]\nradio = [\"radio2\"]";
        let beside = attempt(
            &site.gateway,
            directory.path(),
            &file(directory.path(), &top, other, NO_METRICS),
            PLENTY,
        );
        assert_eq!(beside.code, Some(0), "{}", beside.said);
        assert!(beside.told.iter().any(|message| message.contains("READY=1")), "{:?}", beside.told);
        assert_eq!(site.traces(), before, "it takes its own away, and no more");
        daemon.is_in_the_path(&site);
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
        site.assert_no_traces();
    }
}

/// Asserts that a start fails, is not announced, and leaves nothing.
fn assert_leaves_nothing(site: &Site, directory: &Path, text: &str, says: &str) {
    let failed = attempt(&site.gateway, directory, text, PLENTY);
    assert_eq!(failed.code, Some(1), "{text}: {}", failed.said);
    assert!(failed.said.contains(says), "{says}: {}", failed.said);
    assert_nothing_is_left(site, directory, &failed);
}

fn assert_nothing_is_left(site: &Site, directory: &Path, failed: &Attempt) {
    assert!(failed.told.is_empty(), "it was announced: {:?}", failed.told);
    assert!(!is_socket(&directory.join("gateway.sock")), "the socket is left: {}", failed.said);
    site.assert_no_traces();
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

pub fn a_start_that_fails_at_any_step_is_not_announced_and_leaves_nothing() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    site.gateway.ip(&["tuntap add tunnel mode tun"]).expect("a device");
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let listener = site.gateway.enter(|| TcpListener::bind("127.0.0.1:0")).expect("enter").expect("a port");
    let taken = format!("[metrics]\nlisten = \"{}\"\n", listener.local_addr().expect("it is bound"));
    for backend in ["tc-bpf", "tun"] {
        let top = format!("backend = \"{backend}\"");
        assert_leaves_nothing(&site, at, &file(at, &top, PORTS, &taken), "metrics");
        for (ports, says) in [
            ("core = [\"core\"]\nradio = [\"nonesuch\"]", "nonesuch"),
            ("core = [\"core\"]\nradio = [\"radio\", \"nonesuch\"]", "nonesuch"),
        ] {
            assert_leaves_nothing(&site, at, &file(at, &top, ports, NO_METRICS), says);
        }
        // What is no socket is not removed.
        fs::write(at.join("gateway.sock"), "a file").expect("a file");
        assert_leaves_nothing(&site, at, &file(at, &top, PORTS, NO_METRICS), "gateway.sock");
        assert_eq!(fs::read(at.join("gateway.sock")).expect("it is still there"), b"a file");
        let below = file(&at.join("gateway.sock"), &top, PORTS, NO_METRICS);
        assert_leaves_nothing(&site, at, &below, "gateway.sock/gateway.sock");
        fs::remove_file(at.join("gateway.sock")).expect("it is ours");
    }
    let second = "core = [\"core\", \"nonesuch\"]\nradio = [\"radio\"]";
    assert_leaves_nothing(&site, at, &file(at, "backend = \"tun\"", second, NO_METRICS), "nonesuch");
    let tunnel = "core = [\"core\"]\nradio = [\"radio\", \"tunnel\"]";
    assert_leaves_nothing(&site, at, &file(at, "backend = \"tc-bpf\"", tunnel, NO_METRICS), "tunnel");
}

pub fn a_start_that_runs_out_of_descriptors_at_any_step_leaves_nothing() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    for backend in ["tc-bpf", "tun"] {
        let text = file(at, &format!("backend = \"{backend}\""), PORTS, NO_METRICS);
        let mut failures = 0;
        for descriptors in 4..100 {
            let tried = attempt(&site.gateway, at, &text, descriptors);
            match tried.code {
                Some(0) => break,
                // Its libraries cannot be loaded.
                Some(127) => continue,
                code => assert_eq!(code, Some(1), "{descriptors} descriptors: {}", tried.said),
            }
            assert_nothing_is_left(&site, at, &tried);
            failures += 1;
        }
        assert!((5..90).contains(&failures), "{backend}: {failures} starts failed");
        site.assert_no_traces();
    }
}

/// A file for a port that is nothing for tc-bpf: it has no Ethernet header.
fn tunnel_only(directory: &Path) -> String {
    file(directory, "", "core = [\"core\"]\nradio = [\"tunnel\"]", NO_METRICS)
}

fn with_tunnel() -> Site {
    let site = Site::new(Kind::Routed);
    site.gateway.ip(&["tuntap add tunnel mode tun"]).expect("a device");
    site
}

pub fn auto_falls_back_to_tun_and_says_so_where_no_address_is_translated() {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a directory");
    let (site, text) = (with_tunnel(), tunnel_only(directory.path()));
    let checked = check(&site.gateway, directory.path(), &text, &[]).passes();
    assert!(checked.contains("a start uses tun") && checked.contains("tc-bpf does not work"), "{checked}");
    let started = attempt(&site.gateway, directory.path(), &text, PLENTY);
    assert_eq!(started.code, Some(0), "{}", started.said);
    assert!(started.said.contains("tc-bpf does not work here"), "{}", started.said);
}

pub fn auto_does_not_fall_back_beside_nftables() {
    let chain = "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }";
    does_not_fall_back("nft", &[chain]);
}

pub fn auto_does_not_fall_back_beside_iptables_over_nftables() {
    does_not_fall_back("iptables-nft", &MASQUERADE);
}

pub fn auto_does_not_fall_back_beside_iptables() {
    does_not_fall_back("iptables-legacy", &MASQUERADE);
}

pub fn a_gateway_that_fell_back_to_tun_ends_when_addresses_are_translated_later() {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a directory");
    let (site, text) = (with_tunnel(), tunnel_only(directory.path()));
    let mut is_translated = false;
    let ended = attempt_then(&site.gateway, directory.path(), &text, PLENTY, |_| {
        if !std::mem::replace(&mut is_translated, true) {
            let chain = "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }";
            assert!(site.run("nft", &[chain]).is_some(), "nft translates addresses");
        }
    });
    assert!(is_translated && ended.said.contains("now translates addresses"), "{}", ended.said);
}

pub fn what_a_killed_gateway_with_tun_left_is_removed_by_a_start_with_tc() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut killed = Daemon::start_with(&site.gateway, "backend = \"tun\"", "");
    killed.end(Signal::KILL);
    let directory = tempfile::tempdir().expect("a directory");
    let text = file(directory.path(), "backend = \"tc-bpf\"", PORTS, NO_METRICS);
    let next = attempt(&site.gateway, directory.path(), &text, PLENTY);
    assert_eq!(next.code, Some(0), "{}", next.said);
    site.assert_no_traces();
}

const MASQUERADE: [&str; 8] = ["-t", "nat", "-A", "POSTROUTING", "-o", "core", "-j", "MASQUERADE"];

fn does_not_fall_back(program: &str, arguments: &[&str]) {
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let (site, text) = (with_tunnel(), tunnel_only(at));
    assert!(site.run(program, arguments).is_some(), "{program} translates addresses");
    let checked = check(&site.gateway, at, &text, &[]).fails();
    assert!(checked.contains("would break the address translation"), "{checked}");
    let refused = attempt(&site.gateway, at, &text, PLENTY);
    assert_eq!(refused.code, Some(1), "{}", refused.said);
    assert!(refused.said.contains("would break the address translation"), "{}", refused.said);
    assert_nothing_is_left(&site, at, &refused);
    // tc-bpf has no such trouble.
    let by_tc = check(&site.gateway, at, &file(at, "", PORTS, NO_METRICS), &[]).passes();
    assert!(by_tc.contains("a start uses tc-bpf") && by_tc.contains("tc-bpf works with it"), "{by_tc}");
}
