//! An emulation, and a trial, by a user who is not root.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use lasthop_live::namespace::Namespace;

use crate::machine::{Machine, port_of, read_from, say_hello, text};

/// Runs a program as the user `nobody`, where /dev/net/tun has the mode that is asked for.
const AS_NOBODY: &str = "mount --make-rprivate / && mount -t tmpfs none \"$0\" && mknod \"$0/tun\" c 10 200 && \
                         chmod \"$1\" \"$0/tun\" && mount --bind \"$0/tun\" /dev/net/tun && shift && \
                         exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";

/// The user `nobody`, and a copy of the program that this user can run.
struct Nobody {
    _directory: tempfile::TempDir,
    program: PathBuf,
    runtime: PathBuf,
    mounts: PathBuf,
    /// The mode of `/dev/net/tun`.
    mode: &'static str,
}

impl Nobody {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let all = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(directory.path(), all(0o755)).expect("it is ours");
        let [program, runtime, mounts] =
            ["lasthop", "runtime", "mounts"].map(|name| directory.path().join(name));
        std::fs::copy(env!("CARGO_BIN_EXE_lasthop"), &program).expect("there is room");
        for place in [&runtime, &mounts] {
            std::fs::create_dir(place).expect("there is room");
        }
        std::os::unix::fs::chown(&runtime, Some(65534), Some(65534)).expect("root");
        Self { _directory: directory, program, runtime, mounts, mode: "0666" }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", AS_NOBODY]).arg(&self.mounts).arg(self.mode);
        command.arg(&self.program).args(arguments);
        command.env("XDG_RUNTIME_DIR", &self.runtime).env("SHELL", "/bin/sh").current_dir("/");
        command
    }

    fn run(&self, machine: &Namespace, arguments: &[&str]) -> Output {
        machine.enter(|| self.command(arguments).output()).expect("enter").expect("it is installed")
    }
}

pub fn a_user_who_is_not_root_reaches_services_of_this_machine_through_a_relay() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    for (address, asked) in [("0.0.0.0:0", None), ("127.0.0.1:0", Some("--localhost"))] {
        let listener = machine.listen(address);
        let client = format!("id -u; {}", read_from(port_of(&listener)));
        let server = std::thread::spawn(move || say_hello(&listener));
        let arguments =
            ["emulate", "--delay", "50ms"].into_iter().chain(asked).chain(["--", "bash", "-c", &client]);
        let output = nobody.run(&machine.0, &arguments.collect::<Vec<_>>());
        assert_eq!(text(&output.stdout), "65534\nhello\n", "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("without root, only TCP"), "{}", text(&output.stderr));
        server.join().expect("it has served");
    }
}

pub fn what_listens_on_the_loopback_device_stays_out_of_a_user_s_reach_without_being_asked_for() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let listener = machine.listen("127.0.0.1:0");
    let client = read_from(port_of(&listener));
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "bash", "-c", &client]);
    assert!(text(&output.stderr).contains("Connection refused"), "{}", text(&output.stderr));
}

pub fn what_the_command_has_sent_reaches_a_slow_service_after_its_end() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let listener = machine.listen("0.0.0.0:0");
    let client = format!("head -c 5000000 /dev/zero > /dev/tcp/host.lasthop/{}", port_of(&listener));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        std::thread::sleep(Duration::from_millis(600));
        std::io::copy(&mut stream, &mut std::io::sink()).expect("no reset")
    });
    let output = nobody.run(&machine.0, &["emulate", "--rate", "1gbit", "--", "bash", "-c", &client]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(server.join().expect("it has read"), 5_000_000, "{}", text(&output.stderr));
}

pub fn an_emulation_behind_another_has_a_subnet_of_its_own() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let inner = format!("{} emulate --delay 1ms --", nobody.program.display());
    for choice in [&[][..], &["--as-root"]] {
        let say = format!(
            "echo $LASTHOP_GATEWAY; {inner} sh -c 'echo $LASTHOP_GATEWAY; grep -c server /etc/hosts'"
        );
        let arguments = [&["emulate", "--delay", "1ms"], choice, &["--", "sh", "-c", &say]].concat();
        let output = nobody.run(&machine.0, &arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(out.starts_with("100.64.0.1\n100.64.1.1\n"), "{out}{err}");
        assert!(!err.contains("do not resolve"), "{err}");
    }
}

/// A host that this machine reaches at 198.51.100.1, where somebody listens for TCP.
fn neighbour(machine: &Namespace) -> (Namespace, TcpListener) {
    let neighbour = Namespace::new("neighbour").expect("root");
    let peer = format!("link add eth0 type veth peer name eth0 netns {}", neighbour.path());
    let own = ["address add 198.51.100.2/24 dev eth0", "link set eth0 up"];
    machine.ip(&[&[peer.as_str()][..], &own].concat()).expect("a pair of devices");
    neighbour.ip(&["address add 198.51.100.1/24 dev eth0", "link set eth0 up"]).expect("its end");
    let listener =
        neighbour.enter(|| TcpListener::bind("198.51.100.1:0")).expect("enter").expect("a free port");
    (neighbour, listener)
}

pub fn a_user_who_is_not_root_reaches_other_hosts_by_tcp_and_is_told_that_the_rest_is_prohibited() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let (neighbour, listener) = neighbour(&machine.0);
    let client = format!("exec 3<>/dev/tcp/198.51.100.1/{} && cat <&3", port_of(&listener));
    let server = std::thread::spawn(move || say_hello(&listener));
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "hello\n", "{}", text(&output.stderr));
    server.join().expect("it has served");
    // The second datagram is refused with what came back of the first.
    let datagrams = "exec 3>/dev/udp/198.51.100.1/9; echo >&3; sleep 0.2; echo >&3";
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "bash", "-c", datagrams]);
    assert!(text(&output.stderr).contains("No route to host"), "{}", text(&output.stderr));
    drop(neighbour);
}

pub fn a_connection_that_the_other_host_refuses_is_reset() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let (neighbour, listener) = neighbour(&machine.0);
    let client = format!("exec 3<>/dev/tcp/198.51.100.1/{} && cat <&3", port_of(&listener));
    drop(listener);
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "bash", "-c", &client]);
    assert!(text(&output.stderr).contains("Connection reset by peer"), "{}", text(&output.stderr));
    drop(neighbour);
}

pub fn any_resolver_of_this_machine_is_asked_for_a_user_who_is_not_root() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let resolver = machine.0.enter(|| UdpSocket::bind("127.0.0.53:53")).expect("enter").expect("a free port");
    let server = std::thread::spawn(move || {
        let mut question = [0; 512];
        let (len, from) = resolver.recv_from(&mut question).expect("a question");
        resolver.send_to(&crate::services::answer(&question[..len]), from).expect("somebody waits");
    });
    let file = nobody.mounts.with_file_name("resolv.conf");
    std::fs::write(&file, "nameserver 127.0.0.53\n").expect("there is room");
    let run = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let ask = nobody.command(&["emulate", "--delay", "1ms", "--", "getent", "ahostsv4", "name.example"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", run]).arg(&file).arg(ask.get_program()).args(ask.get_args());
    command.env("XDG_RUNTIME_DIR", &nobody.runtime).current_dir("/");
    let output = machine.0.enter(|| command.output()).expect("enter").expect("it is installed");
    assert!(text(&output.stdout).starts_with("192.0.2.7 "), "{}", text(&output.stderr));
    server.join().expect("it has answered");
}

pub fn an_emulation_of_a_user_is_listed_changed_and_cleared_up() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let program = nobody.program.display();
    let ask = format!(
        "{program} emulate status --json && {program} emulate set hop.loss=1%; ls $XDG_RUNTIME_DIR/*"
    );
    for choice in [&[][..], &["--as-root"]] {
        let arguments = [&["emulate", "--loss", "0.125%"], choice, &["--", "sh", "-c", &ask]].concat();
        let output = nobody.run(&machine.0, &arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{out}{err}");
        assert!(out.contains("\"link\": \"loss 0.125%\"") && out.contains(".sock\n"), "{out}{err}");
    }
    let left = std::fs::read_dir(nobody.runtime.join("lasthop-emulate")).expect("it is there");
    let left: Vec<_> = left.map(|entry| entry.expect("it is there").file_name()).collect();
    assert_eq!(left, ["lock"]);
}

pub fn root_of_an_emulation_has_rights_behind_its_hop_and_nowhere_else() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let say = "id -u; ip link set hop mtu 1400 && echo may; ip -o link show hop | grep -o 'mtu 1400'; \
               cat /etc/shadow 2>/dev/null || echo may not";
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--as-root", "--", "sh", "-c", say]);
    assert_eq!(text(&output.stdout), "0\nmay\nmtu 1400\nmay not\n", "{}", text(&output.stderr));
}

pub fn what_keeps_a_user_from_an_emulation_is_told_with_its_remedy() {
    let (machine, mut nobody) = (Machine::new(), Nobody::new());
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--user", "root", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("only root can run the command as another user"));
    nobody.mode = "0600";
    for arguments in [&["emulate", "--delay", "1ms", "--", "true"][..], &["try", &trial()]] {
        let output = nobody.run(&machine.0, arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        assert!(said.contains("sudo chmod 0666 /dev/net/tun") && said.contains("or use sudo"), "{said}");
    }
}

/// The smallest trial of the repository.
fn trial() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/try.toml");
    path.to_string_lossy().into_owned()
}

pub fn a_trial_needs_no_root() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let scenario = nobody.mounts.with_file_name("try.toml");
    std::fs::copy(trial(), &scenario).expect("there is room");
    let settings = ["--set", "duration=2 s", "--set", "schemes=[\"snoop\"]", "--congestion", "cubic"];
    let name = scenario.to_str().expect("UTF-8");
    let output = nobody.run(&machine.0, &[&["try", name, "--json"], &settings[..]].concat());
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let rows = report["rows"].as_array().unwrap_or_else(|| panic!("{report}"));
    assert!(!rows.is_empty(), "{report}");
}
