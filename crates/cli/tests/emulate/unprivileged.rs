//! An emulation, and a trial, by a user who is not root.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use lasthop_linux::namespace::Namespace;

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

pub fn root_behind_a_hop_cannot_send_to_the_loopback_device_of_this_machine() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let listener = machine.listen("127.0.0.1:0");
    let port = port_of(&listener);
    // Has loopback addresses leave by the link.
    let client = format!(
        "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet && ip rule add pref 10 lookup local && ip rule del pref 0 && \
         ip route add 127.0.0.0/8 via $LASTHOP_GATEWAY dev hop src $(hostname -I | cut -d' ' -f1) table 5 && \
         ip rule add pref 5 to 127.0.0.0/8 lookup 5 && echo sent && exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"
    );
    let arguments = ["emulate", "--delay", "1ms", "--as-root", "--", "timeout", "5", "bash", "-c", &client];
    let server = std::thread::spawn(move || {
        listener.set_nonblocking(true).expect("it is a socket");
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        while std::time::Instant::now() < deadline {
            if listener.accept().is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    });
    let output = nobody.run(&machine.0, &arguments);
    assert_eq!(text(&output.stdout), "sent\n", "{}", text(&output.stderr));
    assert!(!server.join().expect("no panic"), "somebody has come in");
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

pub fn a_user_who_is_not_root_reaches_other_hosts_by_tcp() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let (neighbour, listener) = neighbour(&machine.0);
    let client = format!("exec 3<>/dev/tcp/198.51.100.1/{} && cat <&3", port_of(&listener));
    let server = std::thread::spawn(move || say_hello(&listener));
    let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "bash", "-c", &client]);
    assert_eq!(text(&output.stdout), "hello\n", "{}", text(&output.stderr));
    server.join().expect("it has served");
    drop(neighbour);
}

/// Has bash send a datagram, and print the answer.
fn ask(host: &str, port: u16) -> String {
    format!("exec 3<>/dev/udp/{host}/{port}; echo question >&3; timeout 20 head -n 1 <&3")
}

/// Answers the next datagram; who asked.
fn answer(socket: &UdpSocket) -> std::net::SocketAddr {
    let mut question = [0; 64];
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
    let (len, from) = socket.recv_from(&mut question).expect("a question");
    assert_eq!(&question[..len], b"question\n");
    socket.send_to(b"answer\n", from).expect("somebody waits");
    from
}

pub fn datagrams_reach_this_machine_and_beyond_as_connections_do() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let (neighbour, _) = neighbour(&machine.0);
    let bind = |host: &Namespace, address: &'static str| {
        host.enter(|| UdpSocket::bind(address)).expect("enter").expect("a free port")
    };
    for (socket, host, asked) in [
        (bind(&machine.0, "0.0.0.0:0"), "host.lasthop", None),
        (bind(&machine.0, "[::]:0"), "$LASTHOP_GATEWAY", None),
        (bind(&machine.0, "127.0.0.1:0"), "$LASTHOP_GATEWAY_V6", Some("--localhost")),
        (bind(&neighbour, "198.51.100.1:0"), "198.51.100.1", None),
    ] {
        let client = ask(host, socket.local_addr().expect("it is bound").port());
        let server = std::thread::spawn(move || answer(&socket));
        let arguments =
            ["emulate", "--delay", "5ms"].into_iter().chain(asked).chain(["--", "bash", "-c", &client]);
        let output = nobody.run(&machine.0, &arguments.collect::<Vec<_>>());
        assert_eq!(text(&output.stdout), "answer\n", "{host}: {}", text(&output.stderr));
        server.join().expect("it has answered");
    }
}

pub fn datagrams_that_nobody_takes_are_refused() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let (_neighbour, listener) = neighbour(&machine.0);
    let private = machine.0.enter(|| UdpSocket::bind("127.0.0.1:0")).expect("enter").expect("a free port");
    let private = private.local_addr().expect("it is bound").port();
    let closed = port_of(&listener);
    // The second one is refused with what came back of the first.
    let send = |host: &str, port: u16| {
        let client = format!(
            "exec 3>/dev/udp/{host}/{port}; for i in 1 2 3 4 5; do echo >&3 || exit 7; sleep 0.2; done"
        );
        let output = nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "bash", "-c", &client]);
        assert_eq!(output.status.code(), Some(7), "{host}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("Connection refused"), "{host}: {}", text(&output.stderr));
    };
    send("198.51.100.1", closed);
    send("$LASTHOP_GATEWAY", private);
    send("$LASTHOP_GATEWAY_V6", private);
}

pub fn a_guest_has_the_same_port_towards_all_its_peers() {
    let (machine, nobody) = (Machine::new(), Nobody::new());
    let (neighbour, _) = neighbour(&machine.0);
    let [first, second] = ["198.51.100.1:0", "198.51.100.1:0"]
        .map(|address| neighbour.enter(|| UdpSocket::bind(address)).expect("enter").expect("a free port"));
    let ports = [&first, &second].map(|socket| socket.local_addr().expect("it is bound").port());
    let client = format!(
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)\n\
         for port in {ports:?}:\n s.sendto(b'question\\n', ('198.51.100.1', port)); print(s.recvfrom(64)[1][1])"
    );
    let server = std::thread::spawn(move || [answer(&first), answer(&second)]);
    let output =
        nobody.run(&machine.0, &["emulate", "--delay", "1ms", "--", "/usr/bin/python3", "-c", &client]);
    assert_eq!(text(&output.stdout), format!("{}\n{}\n", ports[0], ports[1]), "{}", text(&output.stderr));
    let [one, other] = server.join().expect("it has answered");
    assert_eq!(one, other);
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
