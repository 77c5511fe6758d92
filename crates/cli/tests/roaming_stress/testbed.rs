//! The hosts, the bridges between them, and a daemon in each access point.

use std::fs::{self, File};
use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_gateway::control::{self, AskError};
use lasthop_gateway::roaming::RoamingReport;
use lasthop_linux::device::{Device, Kind};
use lasthop_linux::namespace::Namespace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use tempfile::TempDir;

pub const SERVER: &str = "10.77.1.2";
const NAMES: [&str; 2] = ["hall", "stairs"];

/// Where the members of etcd are.
const ETCD: &str = "10.77.1.20";

/// Longer than anything here takes on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client without connections is noticed when it opens one.
const SILENCE: Duration = Duration::from_secs(1);

/// The share of frames that the cable to the client loses in each direction: one in so many.
const LOSES_ONE_IN: u64 = 100;

/// Where the registry is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// In a file of the first gateway.
    File,
    /// In three members of etcd.
    Etcd,
}

/// The hosts and the daemons. They end with it.
pub struct Testbed {
    pub server: Namespace,
    pub client: Namespace,
    lan: Namespace,
    air: Namespace,
    members: [Option<Child>; 3],
    access_points: [AccessPoint; 2],
    folder: TempDir,
    is_over: Arc<AtomicBool>,
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        (0..3).for_each(|member| self.kill_member(member));
    }
}

struct AccessPoint {
    host: Namespace,
    daemon: Child,
}

impl Drop for AccessPoint {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Testbed {
    /// Two gateways that know each other by the key of their site: the hall has the registry, unless etcd does.
    pub fn new(scheme: &str, registry: Registry) -> Self {
        let [server, client, lan, air] = ["server", "client", "lan", "air"].map(host);
        for bridge in [&lan, &air] {
            bridge.ip(&["link add lan0 type bridge", "link set lan0 up"]).expect("a bridge");
        }
        lan.ip(&[
            &format!("link add end type veth peer name eth netns {}", server.path()),
            "link set end up master lan0",
        ])
        .expect("veth");
        server.ip(&["link set eth up", &format!("address add {SERVER}/24 dev eth")]).expect("an address");
        let tap = |host: &Namespace, name: &'static str| {
            host.enter(move || Device::new(name, Kind::Tap)).expect("enter").expect("a device")
        };
        let cable = [tap(&client, "eth"), tap(&air, "end")];
        client.ip(&["link set eth up", "address add 10.77.1.3/24 dev eth"]).expect("an address");
        air.ip(&["link set end up master lan0"]).expect("a port");
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        thread::spawn(move || lose_some(&cable, &ends));
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("site-key");
        let status = Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .args(["gateway", "site-key"])
            .arg(&key)
            .stdout(Stdio::null())
            .status();
        assert!(status.expect("it starts").success());
        let access_points = [0, 1].map(|index| {
            let host = access_point(index, &lan, &air);
            write_file(folder.path(), index, scheme, registry);
            AccessPoint { daemon: spawn(&host, folder.path(), index), host }
        });
        let mut site =
            Self { server, client, lan, air, members: [None, None, None], access_points, folder, is_over };
        for index in [0, 1] {
            site.wait_until_ready(index);
        }
        if registry == Registry::Etcd {
            site.lan.ip(&[&format!("address add {ETCD}/24 dev lan0")]).expect("an address");
            (0..3).for_each(|member| site.start_member(member));
            site.wait_for_members();
        }
        site.move_to(0);
        site
    }

    /// The client moves, and the bridges learn that: an access point sends a frame to all in the name of a station
    /// that has associated.
    pub fn move_to(&self, to: usize) {
        let from = NAMES[1 - to];
        self.air
            .ip(&[&format!("link set {from} nomaster"), &format!("link set {} master lan0", NAMES[to])])
            .expect("a port");
        self.announce();
    }

    /// The access point that has the client sends a frame to all in its name.
    fn announce(&self) {
        let socket = self.client.enter(|| UdpSocket::bind("10.77.1.3:0")).expect("enter").expect("a socket");
        socket.set_broadcast(true).expect("a setting");
        socket.send_to(b"here", "10.77.1.255:9").expect("it is sent");
    }

    /// Waits until an access point serves the client, which opens a connection now and then.
    pub fn wait_for(&self, at: usize) {
        let began = Instant::now();
        loop {
            let report = self.report(at);
            if report.clients.iter().any(|client| client.place.is_here) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{report:?}\n{}", self.log());
            thread::sleep(Duration::from_millis(5));
            if began.elapsed() > SILENCE {
                self.connect_in_vain();
            }
        }
    }

    /// The client opens a connection that the server refuses. A gateway that starts while the bridge has the client in
    /// its table notices it by its next connection: the kernel reports changes of the table only.
    fn connect_in_vain(&self) {
        let address = SocketAddr::new(SERVER.parse().expect("an address"), 4999);
        let attempt = || TcpStream::connect_timeout(&address, SILENCE / 2);
        let _ = self.client.enter(attempt).expect("enter");
    }

    /// `kill -9`, and a start as by a service manager.
    pub fn kill_and_start_again(&mut self, index: usize) {
        let access_point = &mut self.access_points[index];
        access_point.daemon.kill().expect("it is ours");
        access_point.daemon.wait().expect("it is ours");
        access_point.daemon = spawn(&access_point.host, self.folder.path(), index);
        self.wait_until_ready(index);
    }

    /// Starts a member of etcd, with what it has on its disk.
    pub fn start_member(&mut self, member: usize) {
        let all = [0, 1, 2].map(|member| format!("m{member}={}", url(member, 1)));
        let mut command = Command::new("etcd");
        command.args(["--name", &format!("m{member}"), "--data-dir"]);
        command.arg(self.folder.path().join(format!("m{member}")));
        let urls = [("client", 0), ("peer", 1)].map(|(kind, port)| (kind, url(member, port)));
        for (kind, url) in &urls {
            command.arg(format!("--listen-{kind}-urls")).arg(url);
        }
        command.args(["--advertise-client-urls", &urls[0].1, "--initial-advertise-peer-urls", &urls[1].1]);
        command.args(["--initial-cluster", &all.join(","), "--initial-cluster-state", "new"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.members[member] = Some(self.lan.enter(|| command.spawn()).expect("enter").expect("it starts"));
    }

    /// `kill -9`.
    pub fn kill_member(&mut self, member: usize) {
        if let Some(mut process) = self.members[member].take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Waits until each gateway has joined: it then has the key of the other one.
    fn wait_for_members(&self) {
        let began = Instant::now();
        let has_joined = |index: usize| {
            let text = fs::read_to_string(log(self.folder.path(), index)).unwrap_or_default();
            text.contains("has joined the registry")
        };
        while ![0, 1].into_iter().all(has_joined) {
            assert!(began.elapsed() < PATIENCE, "{}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What a gateway knows of roaming.
    pub fn report(&self, index: usize) -> RoamingReport {
        self.ask(index, &control::Command::Roaming).unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
    }

    /// Obligations that a gateway has counted as broken.
    pub fn broken(&self, index: usize) -> u64 {
        let status: Value = self.ask(index, &control::Command::Status).expect("it runs");
        let broken = status.pointer("/report/engine/counters/obligations_broken").and_then(Value::as_u64);
        broken.unwrap_or_else(|| panic!("{status}"))
    }

    fn ask<T: serde::de::DeserializeOwned>(
        &self,
        index: usize,
        command: &control::Command,
    ) -> Result<T, AskError> {
        control::ask(&socket(self.folder.path(), index), command)
    }

    fn wait_until_ready(&mut self, index: usize) {
        let began = Instant::now();
        while self.ask::<Value>(index, &control::Command::Roaming).is_err() {
            let ended = self.access_points[index].daemon.try_wait().expect("it is ours");
            assert!(ended.is_none() && began.elapsed() < PATIENCE, "{ended:?}: {}", self.log());
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn log(&self) -> String {
        let logs = [0, 1].map(|index| log(self.folder.path(), index));
        logs.map(|path| fs::read_to_string(path).unwrap_or_default()).join("\n")
    }
}

fn host(name: &str) -> Namespace {
    let host = Namespace::new(name).expect("root may make namespaces");
    host.sysctl("ipv6/conf/default/disable_ipv6", "1").expect("a setting");
    host
}

fn access_point(index: usize, lan: &Namespace, air: &Namespace) -> Namespace {
    let (name, host) = (NAMES[index], host(NAMES[index]));
    for (bridge, port) in [(lan, "core"), (air, "radio")] {
        let add = format!("link add {name} type veth peer name {port} netns {}", host.path());
        bridge.ip(&[&add, &format!("link set {name} up")]).expect("veth");
    }
    lan.ip(&[&format!("link set {name} master lan0")]).expect("a port");
    host.ip(&[
        "link add lan0 type bridge",
        "link set lan0 up",
        "link set core up master lan0",
        "link set radio up master lan0",
        &format!("address add 10.77.1.{}/24 dev lan0", 11 + index),
    ])
    .expect("a bridge");
    host
}

/// Where a member of etcd has clients (port 0) or other members (port 1).
fn url(member: usize, port: usize) -> String {
    format!("http://{ETCD}:{}", 2379 + 2 * member + port)
}

fn socket(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{}.sock", NAMES[index]))
}

fn log(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{}.log", NAMES[index]))
}

fn write_file(folder: &Path, index: usize, scheme: &str, registry: Registry) {
    let (name, shown) = (NAMES[index], folder.display());
    let registry = if registry == Registry::Etcd {
        let urls = [0, 1, 2].map(|member| format!("\"{}\"", url(member, 0)));
        format!("[roaming.registry]\netcd = [{}]", urls.join(", "))
    } else if index == 0 {
        format!("[roaming.registry]\nfile = \"{shown}/registry/clients\"")
    } else {
        "[roaming.registry]\npeer = \"hall\"\n[[roaming.peer]]\nname = \"hall\"\naddress = \"10.77.1.11:9479\"".to_owned()
    };
    let text = format!(
        "backend = \"tc-bpf\"\n[ports]\nradio = [\"radio\"]\n[metrics]\nlisten = \"off\"\n\
         [control]\nsocket = \"{}\"\n[[rule]]\nscheme = \"{scheme}\"\n\
         [roaming]\naccess-point = \"{name}\"\naddress = \"10.77.1.{}:9479\"\nidentity = \"{shown}/{name}.key\"\n\
         known-keys = \"{shown}/{name}.known\"\nsite-key = \"{shown}/site-key\"\n{registry}\n",
        socket(folder, index).display(),
        11 + index,
    );
    fs::write(folder.join(format!("{name}.toml")), text).expect("a file");
}

fn spawn(host: &Namespace, folder: &Path, index: usize) -> Child {
    let log = File::options().create(true).append(true).open(log(folder, index)).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("gateway").arg(folder.join(format!("{}.toml", NAMES[index])));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    host.enter(|| command.spawn()).expect("enter").expect("it starts")
}

/// Carries frames between two devices, but for some.
fn lose_some(cable: &[Device; 2], is_over: &AtomicBool) {
    let (mut random, mut buffer) = (1_u64, vec![0; 65536]);
    let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    while !is_over.load(Relaxed) {
        let mut watched = cable.each_ref().map(|device| PollFd::new(device, PollFlags::IN));
        if poll(&mut watched, Some(&wait)).is_err() {
            continue;
        }
        let is_ready = watched.map(|watched| watched.revents());
        for (from, ready) in is_ready.into_iter().enumerate() {
            if ready.is_empty() {
                continue;
            }
            while let Ok(len) = cable[from].read(&mut [IoSliceMut::new(&mut buffer)]) {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if (random >> 33) % LOSES_ONE_IN != 0 {
                    let _ = cable[1 - from].write(&[IoSlice::new(&buffer[..len])]);
                }
            }
        }
    }
}
