//! Machines with `lasthop emulate` on them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use lasthop_linux::namespace::Namespace;

/// Runs the command in a network namespace of its own, where it can do no harm.
pub fn emulate(arguments: &[&str]) -> Output {
    Command::new("unshare")
        .args(["--net", env!("CARGO_BIN_EXE_lasthop"), "emulate"])
        .args(arguments)
        .output()
        .expect("it is installed")
}

/// A machine of one's own, with `lasthop emulate` on it.
pub struct Machine(pub Namespace);

impl Machine {
    pub fn new() -> Self {
        Self(Namespace::new("machine").expect("root"))
    }

    pub fn listen(&self, address: &'static str) -> TcpListener {
        self.0.enter(|| TcpListener::bind(address)).expect("enter").expect("a free port")
    }

    pub fn emulate(&self, arguments: &[&str]) -> Output {
        self.0.enter(|| emulation(arguments).output()).expect("enter").expect("it is there")
    }

    /// Devices, rules for addresses, forwarding.
    pub fn traces(&self) -> [String; 3] {
        let links = self.0.ip(&["link show"]).expect("it can be asked");
        let rules = || Command::new("nft").args(["list", "ruleset"]).output();
        let rules = self.0.enter(rules).expect("enter").map(|output| output.stdout).unwrap_or_default();
        [links, text(&rules), self.forwarding()]
    }

    /// Which devices forward, those of emulations aside: `all=0 default=0 eth0=1`.
    pub fn forwarding(&self) -> String {
        let list = || {
            let devices = std::fs::read_dir("/proc/sys/net/ipv4/conf").expect("Linux has it");
            let names =
                devices.map(|device| device.expect("it is there").file_name().into_string().expect("UTF-8"));
            let mut states: Vec<String> = names
                .filter(|name| name != "lo" && !name.starts_with("lasthop"))
                .map(|name| {
                    let path = format!("/proc/sys/net/ipv4/conf/{name}/forwarding");
                    format!("{name}={}", std::fs::read_to_string(path).expect("Linux has it").trim())
                })
                .collect();
            states.sort();
            states.join(" ")
        };
        self.0.enter(list).expect("enter")
    }

    /// One with a way to others, which does not forward yet.
    pub fn with_uplink() -> Self {
        let machine = Self::new();
        machine.0.ip(&["link add eth0 type veth peer name eth1", "link set eth0 up"]).expect("a device");
        machine.0.sysctl("ipv4/ip_forward", "0").expect("it is there");
        machine
    }
}

pub fn emulation(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("emulate").args(arguments);
    command
}

pub fn link(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/links").join(name);
    path.to_string_lossy().into_owned()
}

pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Has bash read what a service says.
pub fn read_from(port: u16) -> String {
    format!("exec 3<>/dev/tcp/host.lasthop/{port} && cat <&3")
}

pub fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

/// Says hello to the next client; how long the last word took there and its end back.
pub fn say_hello(listener: &TcpListener) -> Duration {
    let (mut stream, _) = listener.accept().expect("a client");
    let start = Instant::now();
    stream.write_all(b"hello\n").expect("a reader");
    stream.shutdown(Shutdown::Write).expect("a connection");
    stream.read_to_end(&mut Vec::new()).expect("its end");
    start.elapsed()
}
