//! What `lasthop gateway --check` finds on a machine.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use lasthop_linux::namespace::Namespace;
use rustix::process::Signal;
use serde_json::Value;

use crate::alone;
use crate::hosts::{Daemon, Kind, Site};
use crate::starts::{NO_METRICS, PORTS, file};

/// What `--check` printed, and its exit code.
pub struct Checked {
    code: Option<i32>,
    said: String,
}

impl Checked {
    /// The findings of a check after which a gateway could start.
    pub fn passes(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.said);
        self.said
    }

    /// The findings of a check after which it could not.
    pub fn fails(self) -> String {
        assert_eq!(self.code, Some(1), "{}", self.said);
        self.said
    }
}

/// Checks a file, by this command in front of `lasthop`, if there is one.
pub fn check(host: &Namespace, directory: &Path, text: &str, by: &[&str]) -> Checked {
    run(host, directory, text, by, &["--check"])
}

fn run(host: &Namespace, directory: &Path, text: &str, by: &[&str], options: &[&str]) -> Checked {
    let file = directory.join("checked.toml");
    fs::write(&file, text).expect("a file");
    let words: Vec<&str> = by.iter().copied().chain([env!("CARGO_BIN_EXE_lasthop"), "gateway"]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(options).arg(&file);
    let output = host.enter(|| command.output()).expect("enter").expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    Checked { code: output.status.code(), said: String::from_utf8_lossy(&said).into_owned() }
}

/// The line of a check, which has this grade.
fn assert_line<'a>(said: &'a str, grade: &str, check: &str) -> &'a str {
    let is_line = |line: &&str| line.starts_with(grade) && line[8..].trim_start().starts_with(check);
    said.lines().find(is_line).unwrap_or_else(|| panic!("no line {grade} {check} in:\n{said}"))
}

pub fn a_check_finds_a_machine_ready_and_changes_nothing() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let before = site.traces();
    let text = file(directory.path(), "", PORTS, NO_METRICS);
    let said = check(&site.gateway, directory.path(), &text, &[]).passes();
    for name in ["file", "privileges", "radio", "tc-bpf", "tun", "backend", "translation", "control socket"] {
        assert_line(&said, "ok", name);
    }
    assert!(said.ends_with("a gateway can start here, with tc-bpf on radio\n"), "{said}");
    assert_eq!(site.traces(), before);
    assert!(!directory.path().join("gateway.sock").exists());
}

pub fn a_check_as_json_has_a_grade_and_a_finding_for_each_check() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let text = file(directory.path(), "", PORTS, NO_METRICS);
    let said = run(&site.gateway, directory.path(), &text, &[], &["--check", "--json"]).passes();
    let document: Value = serde_json::from_str(&said).expect("one document");
    assert_eq!(
        (&document["could_start"], &document["backend"]),
        (&Value::from(true), &Value::from("tc-bpf"))
    );
    let checks = document["checks"].as_array().expect("checks");
    assert!(checks.len() > 5 && checks.iter().all(|check| check["grade"].is_string()), "{document}");
}

pub fn a_check_names_interfaces_that_are_missing_or_down() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    site.gateway.ip(&["link set radio down"]).expect("it is there");
    let directory = tempfile::tempdir().expect("a directory");
    let text = file(directory.path(), "", PORTS, NO_METRICS);
    let said = check(&site.gateway, directory.path(), &text, &[]).passes();
    assert!(assert_line(&said, "warning", "radio").contains("`ip link set radio up`"), "{said}");
    let missing = "core = [\"core\"]\nradio = [\"nonesuch\"]";
    let text = file(directory.path(), "", missing, NO_METRICS);
    let said = check(&site.gateway, directory.path(), &text, &[]).fails();
    assert!(assert_line(&said, "problem", "nonesuch").contains("no such interface"), "{said}");
}

pub fn a_check_tells_which_doors_cannot_be_opened() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let listener = site.gateway.enter(|| TcpListener::bind("127.0.0.1:0")).expect("enter").expect("a port");
    let taken = format!("[metrics]\nlisten = \"{}\"\n", listener.local_addr().expect("it is bound"));
    fs::write(at.join("gateway.sock"), "a file").expect("a file");
    let said = check(&site.gateway, at, &file(at, "", PORTS, &taken), &[]).fails();
    assert!(assert_line(&said, "problem", "control socket").contains("is not a socket"), "{said}");
    assert!(assert_line(&said, "problem", "metrics").contains("cannot listen"), "{said}");
    assert!(said.contains("would fail: 2 problems"), "{said}");
}

pub fn a_check_tells_the_gateway_that_would_be_restarted_from_another_one() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut daemon = Daemon::start_with(&site.gateway, "", "");
    let directory = tempfile::tempdir().expect("a directory");
    let other = file(directory.path(), "", PORTS, NO_METRICS);
    let said = check(&site.gateway, directory.path(), &other, &[]).fails();
    let line = assert_line(&said, "problem", "other gateway");
    assert!(
        line.contains(&format!("process {} (lasthop)", daemon.pid())) && line.contains("radio"),
        "{said}"
    );
    let own = fs::read_to_string(daemon.file()).expect("it is there");
    let said = check(&site.gateway, directory.path(), &own, &[]).passes();
    assert!(assert_line(&said, "ok", "other gateway").contains("a restart"), "{said}");
    assert_line(&said, "ok", "control socket");
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
}

pub fn a_check_tells_the_metrics_address_of_the_running_gateway_from_one_that_is_taken() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let listener = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let port_of = |listener: &TcpListener| listener.local_addr().expect("it is bound");
    let free = site.gateway.enter(|| port_of(&listener())).expect("enter");
    let mut daemon = Daemon::start(&site.gateway, "");
    let directory = tempfile::tempdir().expect("a directory");
    let own = fs::read_to_string(daemon.file()).expect("it is there");
    let with_metrics = |at: &str| own.replace("listen = \"off\"", &format!("listen = \"{at}\""));
    let taken = site.gateway.enter(listener).expect("enter");
    let at = port_of(&taken).to_string();
    let said = check(&site.gateway, directory.path(), &with_metrics(&at), &[]).fails();
    let holder = format!("process {} (", std::process::id());
    assert!(assert_line(&said, "problem", "metrics").contains(&holder), "{said}");
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
    fs::write(daemon.file(), with_metrics(&free.to_string())).expect("a file");
    daemon.start_again(&site.gateway);
    let said = check(&site.gateway, directory.path(), &with_metrics(&free.to_string()), &[]).passes();
    assert!(assert_line(&said, "ok", "metrics").contains("of the gateway that is running"), "{said}");
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
}

pub fn a_check_finds_gateways_on_interfaces_that_the_file_does_not_name() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    site.gateway.ip(&["link add core2 type veth peer name radio2"]).expect("interfaces");
    let daemon = Daemon::start(&site.gateway, "");
    let directory = tempfile::tempdir().expect("a directory");
    let (own, other) = ("radio = [\"radio\"]", "radio = [\"radio2\"]");
    let moved = fs::read_to_string(daemon.file()).expect("it is there").replace(own, other);
    let said = check(&site.gateway, directory.path(), &moved, &[]).passes();
    let line = assert_line(&said, "ok", "other gateway");
    let holder = format!("process {} (lasthop), on radio;", daemon.pid());
    assert!(line.contains(&holder) && line.contains("a restart"), "{said}");
    assert_line(&said, "ok", "control socket");
    let beside = file(directory.path(), "", other, NO_METRICS);
    let said = check(&site.gateway, directory.path(), &beside, &[]).passes();
    let line = assert_line(&said, "ok", "other gateway");
    assert!(line.contains(&format!("process {} (lasthop)", daemon.pid())), "{said}");
    assert!(line.contains("on other interfaces: radio"), "{said}");
}

pub fn a_check_counts_the_rules_that_tun_needs() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let text = |ports: &str| {
        let traffic = format!("{NO_METRICS}[traffic]\nports = [\"{ports}\"]\nexclude-ports = []\n");
        file(directory.path(), "backend = \"tun\"", PORTS, &traffic)
    };
    // A port is either end's, and there are two interfaces: four rules for each.
    let said = check(&site.gateway, directory.path(), &text("8000-8249"), &[]).passes();
    assert!(assert_line(&said, "ok", "rules").contains("1000 of its 1000"), "{said}");
    let said = check(&site.gateway, directory.path(), &text("8000-8250"), &[]).fails();
    assert!(assert_line(&said, "problem", "rules").contains("requires 1004 rules"), "{said}");
}

pub fn a_check_bounds_the_files_that_a_gateway_opens() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    for threads in [1, 3] {
        let threads = format!("[process]\nthreads = {threads}\n");
        let rest = format!("{NO_METRICS}{threads}");
        let text = file(directory.path(), "", PORTS, &rest);
        let said = check(&site.gateway, directory.path(), &text, &[]).passes();
        let line = assert_line(&said, "ok", "open files");
        let needed = line.rsplit(' ').next().and_then(|count| count.parse::<usize>().ok()).expect("a number");
        let daemon = Daemon::start_with(&site.gateway, "", &threads);
        let open = daemon.descriptors();
        assert!((needed / 3..=needed).contains(&open), "{open} open files, {needed} needed at most");
        let few = ["sh", "-c", "ulimit -n 90; exec \"$0\" \"$@\""];
        drop(daemon);
        let said = check(&site.gateway, directory.path(), &text, &few).passes();
        assert_line(&said, "warning", "open files");
    }
}

pub fn a_check_without_root_says_which_checks_it_could_not_make() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory.path(), open).expect("it is ours");
    let text = file(directory.path(), "", PORTS, NO_METRICS);
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let said = check(&site.gateway, directory.path(), &text, &nobody).passes();
    for name in ["privileges", "tc-bpf", "tun", "translation", "flow offload", "control socket"] {
        assert_line(&said, "skipped", name);
    }
    assert_line(&said, "ok", "radio");
    assert!(said.contains("no problem: a gateway may be able to start here, on radio;"), "{said}");
    assert!(said.ends_with("6 checks could not be made\n"), "{said}");
    let options = ["--check", "--json"];
    let said = run(&site.gateway, directory.path(), &text, &nobody, &options).passes();
    let document: Value = serde_json::from_str(&said).expect("one document");
    assert_eq!((&document["could_start"], &document["backend"]), (&Value::Null, &Value::Null));
}

pub fn a_check_without_root_does_not_take_the_running_gateway_for_another_one() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let daemon = Daemon::start(&site.gateway, "");
    let directory = tempfile::tempdir().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let own = fs::read_to_string(daemon.file()).expect("it is there");
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let said = check(&site.gateway, directory.path(), &own, &nobody).passes();
    let line = assert_line(&said, "skipped", "other gateway");
    assert!(line.contains(&format!("process {} (lasthop)", daemon.pid())), "{said}");
}

pub fn a_check_tells_a_missing_privilege_from_a_missing_feature_of_the_kernel() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let directory = tempfile::tempdir().expect("a directory");
    let text = |backend: &str| file(directory.path(), &format!("backend = \"{backend}\""), PORTS, NO_METRICS);
    let no_bpf = ["setpriv", "--bounding-set=-bpf,-sys_admin", "--"];
    let said = check(&site.gateway, directory.path(), &text("tc-bpf"), &no_bpf).fails();
    let line = assert_line(&said, "problem", "tc-bpf");
    assert!(line.contains("CAP_BPF") && !line.contains("CONFIG_"), "{said}");
    check(&site.gateway, directory.path(), &text("tun"), &no_bpf).passes();
    let no_network = ["setpriv", "--bounding-set=-net_admin", "--"];
    let said = check(&site.gateway, directory.path(), &text("tun"), &no_network).fails();
    assert!(assert_line(&said, "problem", "privileges").contains("CAP_NET_ADMIN"), "{said}");
}
