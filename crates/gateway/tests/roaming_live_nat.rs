//! Tests of access points that translate the addresses of their clients, and of a gateway that translates the site,
//! with the kernel's NAT and real TCP.
//!
//! ```text
//!                                           +-- core [hall]   radio --+
//! server --- outside [gate] inside --- lan --+                         +-- air --- client
//!                                           +-- core [stairs] radio --+
//! ```
//!
//! `lan` and `air` are bridges; the client moves when `air` has another access point as its port.
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]
#![allow(clippy::print_stdout, reason = "the interruption is a result")]

mod bridged;
mod transfer;

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lasthop_agent::LinkSenses;
use lasthop_gateway::frame::MacAddress;
use lasthop_gateway::roaming::counters::HandoffCounters;
use lasthop_gateway::roaming::nat::Guard;
use lasthop_gateway::roaming::{
    Channel, Configured, Inbox, Nat, Parts, RegistrySource, Roaming, Site, SiteParts,
};
use lasthop_gateway::{Gateway, Start, config};
use lasthop_linux::clock;
use lasthop_linux::conntrack::{Conntrack, Entry, Tuple};
use lasthop_linux::namespace::Namespace;
use lasthop_needs::{namespaces, tests};
use lasthop_peering::{Identity, Peers};
use lasthop_registry::{AccessPoint, Durability, Embedded, Limits, Registry};

use bridged::{access_point, bridge, host, join, move_client};
use transfer::{PATIENCE, Transfer};

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        keep_a_table();
    }
    lasthop_needs::run(tests! {
        [namespaces, nft]:
            watched_connections_keep_their_outside_ends,
            split_connections_keep_their_outside_ends,
            split_connections_of_cicada_keep_their_outside_ends,
            without_their_translations_connections_end,
            a_client_that_is_not_served_gets_no_translation,
            a_port_whose_connection_moves_is_not_answered_for,
            a_table_of_nftables_ends_with_its_guard,
            a_table_of_nftables_ends_with_a_process_that_is_killed;
    })
}

/// Needs `nft`, for the translations themselves.
fn nft() -> Result<(), String> {
    lasthop_needs::program("nft")
}

/// The access points, and the gateway that translates the site.
const NAMES: [&str; 3] = ["hall", "stairs", "gate"];
const GATE: usize = 2;
const SERVER: &str = "192.0.2.2";
const CLIENT: &str = "10.77.2.2";
const CLIENT_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);
const CLIENTS: &str = "10.77.2.0/24";
const MOVES: usize = 8;
/// TCP connections; half are downloads. There is a flow of datagrams besides.
const CONNECTIONS: usize = 4;

fn watched_connections_keep_their_outside_ends() {
    walk("snoop");
}

fn split_connections_keep_their_outside_ends() {
    walk("i-tcp");
}

fn split_connections_of_cicada_keep_their_outside_ends() {
    walk("cicada");
}

fn walk(scheme: &str) {
    let site = Testbed::new(scheme, true);
    let ends = Arc::new(AtomicBool::new(false));
    let transfers: Vec<Transfer> = (0..CONNECTIONS).map(|index| site.transfer(index, &ends)).collect();
    let datagrams = Datagrams::start(&site, &ends);
    // Another client at the other access point has the outside ports that these connections will ask for first.
    site.take_ports(1);
    let before = site.outside_ends();
    for to in 0..MOVES {
        thread::sleep(Duration::from_millis(300));
        site.move_to((to + 1) % 2);
        site.wait_for((to + 1) % 2);
    }
    thread::sleep(Duration::from_millis(300));
    let after = site.outside_ends();
    assert!(before.len() > CONNECTIONS && before.is_subset(&after), "{before:?} became {after:?}");
    ends.store(true, Relaxed);
    let longest = transfers.into_iter().map(Transfer::finish).max().unwrap_or_default();
    let (sources, answers) = datagrams.finish();
    assert_eq!(sources.len(), 1, "the server sees one sender of datagrams: {sources:?}");
    let counters = site.counters();
    println!(
        "{scheme}: {} hand-offs, {:.1} ms each from the first packet to service; {} translations taken up, {} redirected; longest pause of a connection {} ms; {answers} datagrams answered",
        counters.received,
        counters.interruption_us as f64 / 1e3 / counters.received.max(1) as f64,
        counters.translations_taken,
        counters.redirected,
        longest.as_millis(),
    );
    assert!(counters.received >= MOVES as u64 && counters.redirected > CONNECTIONS as u64, "{counters:?}");
    assert_eq!(
        (counters.lost, counters.unredirected, counters.translations_refused),
        (0, 0, 0),
        "{counters:?}"
    );
}

fn without_their_translations_connections_end() {
    let site = Testbed::new("snoop", false);
    let ends = Arc::new(AtomicBool::new(false));
    let upload = site.transfer(1, &ends);
    thread::sleep(Duration::from_millis(300));
    site.move_to(1);
    site.wait_for(1);
    assert_eq!(upload.failure().kind(), io::ErrorKind::ConnectionReset);
}

fn a_table_of_nftables_ends_with_its_guard() {
    let host = host("router");
    let tables = || run(&host, &["nft", "list", "ruleset"]);
    let guard = host
        .enter(|| Guard::open(Some(CLIENTS.parse().expect("a prefix"))))
        .expect("enter")
        .expect("a table");
    let listed = tables();
    for line in [
        "flags owner",
        "ip saddr 10.77.2.0/24 ether saddr != @served ether saddr @held drop",
        "ct state established,related accept",
        "ip saddr 10.77.2.0/24 ether saddr != @served ether saddr @awaited drop",
        "ip saddr 10.77.2.0/24 ether saddr != @served ether saddr != @noticed add @noticed { ether saddr timeout 10m } add @awaited { ether saddr timeout 5s } drop",
        "th dport @moving drop",
    ] {
        assert!(listed.contains(line), "{line} is not in {listed}");
    }
    drop(guard);
    assert_eq!(tables(), "");
}

/// In the environment of a process of this program that only has a table.
const CHILD: &str = "LASTHOP_TEST_KEEPS_A_TABLE";

/// Keeps a table until it is killed, or until its output is closed.
fn keep_a_table() -> ! {
    let guard = Guard::open(None).expect("a table");
    println!("ready");
    let _ = io::stdin().read_line(&mut String::new());
    drop(guard);
    std::process::exit(0)
}

fn a_table_of_nftables_ends_with_a_process_that_is_killed() {
    let host = host("router");
    let start = || {
        Command::new(std::env::current_exe().expect("we run"))
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    };
    let mut child = host.enter(start).expect("enter").expect("it starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("it talks");
    let table = format!("table ip lasthop-{}", child.id());
    assert!(run(&host, &["nft", "list", "ruleset"]).contains(&table), "{line}");
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert_eq!(run(&host, &["nft", "list", "ruleset"]), "");
}

fn a_client_that_is_not_served_gets_no_translation() {
    let ([server, client], [lan, air]) = (["server", "client"].map(host), ["lan", "air"].map(bridge));
    for (bridge, end, address) in [(&lan, &server, "10.77.1.1/24"), (&air, &client, "10.77.2.2/24")] {
        join(bridge, end);
        let address = format!("address add {address} dev eth");
        end.ip(&["link set eth address 02:00:00:00:00:07 up", &address]).expect("an address");
    }
    client.ip(&["route add default via 10.77.2.1"]).expect("a route");
    let router = router(0, &lan, &air);
    air.ip(&[&format!("link set {} master lan0", NAMES[0])]).expect("a port");
    let mac = MacAddress([2, 0, 0, 0, 0, 7]);
    let mut guard = router
        .enter(|| Guard::open(Some(CLIENTS.parse().expect("a prefix"))))
        .expect("enter")
        .expect("a table");
    let bind = |host: &Namespace, address: &str| {
        let socket = host.enter(|| UdpSocket::bind(address)).expect("enter").expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        socket
    };
    let to = bind(&server, "10.77.1.1:7000");
    let received = || {
        let mut octets = [0; 20];
        let (len, from) = to.recv_from(&mut octets).expect("a datagram");
        (String::from_utf8_lossy(&octets[..len]).into_owned(), from)
    };
    let send =
        |from: &UdpSocket, text: &str| from.send_to(text.as_bytes(), "10.77.1.1:7000").expect("it is sent");
    let first = bind(&client, "10.77.2.2:7001");
    send(&first, "it is unknown");
    guard.admit(mac);
    send(&first, "it is served");
    let (text, outside) = received();
    assert_eq!((&*text, outside.ip()), ("it is served", IpAddr::from(address_of(0))));
    guard.hold(mac);
    send(&first, "it has gone");
    send(&bind(&client, "10.77.2.2:7002"), "it has gone");
    guard.admit(mac);
    send(&first, "it is back");
    assert_eq!(received(), ("it is back".to_owned(), outside));
    // What is not a client's is not held.
    guard.forget(mac);
    send(&bind(&router, "10.77.1.11:7003"), "it is the router's");
    assert_eq!(received().0, "it is the router's");
}

fn a_port_whose_connection_moves_is_not_answered_for() {
    let (near, far) = (host("near"), host("far"));
    near.ip(&[
        &format!("link add eth type veth peer name eth netns {}", far.path()),
        "link set eth up",
        "address add 10.77.0.1/24 dev eth",
    ])
    .expect("veth");
    far.ip(&["link set eth up", "address add 10.77.0.2/24 dev eth"]).expect("an address");
    let mut guard = far.enter(|| Guard::open(None)).expect("enter").expect("a table");
    let ask = |port: u16| {
        let socket = near.enter(|| UdpSocket::bind("10.77.0.1:0")).expect("enter").expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        socket.connect(("10.77.0.2", port)).expect("it has an address");
        socket.send(b"?").expect("it is sent");
        socket
    };
    let refused = |socket: &UdpSocket| socket.recv(&mut [0]).expect_err("no socket is there").kind();
    assert_eq!(refused(&ask(4009)), io::ErrorKind::ConnectionRefused);
    // The former is a service's.
    guard.shield(&[9, 4009]);
    guard.shield(&[4009]);
    let (shielded, open) = (ask(4009), [9, 4011].map(ask));
    assert!(open.iter().all(|socket| refused(socket) == io::ErrorKind::ConnectionRefused));
    shielded.set_nonblocking(true).expect("a setting");
    assert_eq!(refused(&shielded), io::ErrorKind::WouldBlock, "the earlier datagram was not answered");
}

struct Testbed {
    server: Namespace,
    client: Namespace,
    _lan: Namespace,
    air: Namespace,
    gateways: [GatewayHost; 3],
    _folder: tempfile::TempDir,
}

struct GatewayHost {
    roaming: Roaming,
    _gateway: Gateway,
    host: Namespace,
}

impl Testbed {
    /// `follow`: whether translations follow the client.
    fn new(scheme: &str, follow: bool) -> Self {
        let ([server, client], [lan, air]) = (["server", "client"].map(host), ["lan", "air"].map(bridge));
        join(&air, &client);
        client
            .ip(&[
                &format!("link set eth address {CLIENT_MAC} up"),
                &format!("address add {CLIENT}/24 dev eth"),
                "route add default via 10.77.2.1",
            ])
            .expect("an address");
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Embedded::open(
            &folder.path().join("registry"),
            Limits::default(),
            Durability::ProcessEnd,
            clock::now(),
        );
        let registry: Arc<dyn Registry> = Arc::new(registry.expect("a registry"));
        let registry = Arc::new(RegistrySource::of(registry));
        let identities = [(); 3].map(|()| Identity::ephemeral().expect("random numbers"));
        let gateways = [0, 1, GATE].map(|index| {
            let host = if index == GATE { gate(&server, &lan) } else { router(index, &lan, &air) };
            GatewayHost::start(index, host, scheme, follow, &registry, &identities)
        });
        let site = Self { server, client, _lan: lan, air, gateways, _folder: folder };
        site.move_to(0);
        site
    }

    /// Even ones are downloads, odd ones uploads.
    fn transfer(&self, index: usize, ends: &Arc<AtomicBool>) -> Transfer {
        let address = format!("{SERVER}:{}", 5000 + index);
        Transfer::start(&self.server, &self.client, &address, index.is_multiple_of(2), ends)
    }

    fn move_to(&self, to: usize) {
        move_client(&self.air, NAMES[1 - to], NAMES[to]);
    }

    /// Waits until an access point serves the client.
    fn wait_for(&self, at: usize) {
        let began = Instant::now();
        loop {
            let report = self.gateways[at].roaming.report().expect("it answers");
            // The bridges may be noticed, too.
            if report.clients.iter().any(|row| row.place.client == CLIENT_MAC && row.place.is_here) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{report:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// How the connections of the access points are known outside of the site: the tuples of the replies.
    fn outside_ends(&self) -> BTreeSet<Tuple> {
        let gate = &self.gateways[GATE].host;
        let mut table = gate.enter(Conntrack::open).expect("enter").expect("a socket");
        let of = |index| table.opened_by(address_of(index)).expect("a list");
        let entries = [0, 1].map(of).concat();
        // Messages between gateways are not translated.
        entries.iter().filter(|entry| entry.outside().is_some()).map(|entry| entry.reply).collect()
    }

    /// Connections of another client at an access point get the outside ports that the client's have at the other one.
    fn take_ports(&self, at: usize) {
        let open = |index: usize| {
            self.gateways[index].host.enter(Conntrack::open).expect("enter").expect("a socket")
        };
        let client: Ipv4Addr = CLIENT.parse().expect("an address");
        let other = SocketAddrV4::new(Ipv4Addr::new(10, 77, 2, 99), 9);
        let mut table = open(at);
        let theirs = open(1 - at).opened_by(client).expect("a list");
        assert!(theirs.len() > CONNECTIONS, "{theirs:?}");
        for entry in theirs {
            let outside = SocketAddrV4::new(address_of(at), entry.outside().expect("it has one").port());
            let original = Tuple { source: other, ..entry.original };
            let reply = Tuple { destination: outside, ..entry.reply };
            table.create(&Entry { original, reply, ..entry }).expect("it is free");
        }
    }

    fn counters(&self) -> HandoffCounters {
        let reports = self.gateways.each_ref().map(|it| it.roaming.report().expect("it answers").counters);
        reports.into_iter().reduce(HandoffCounters::plus).unwrap_or_default()
    }
}

impl GatewayHost {
    fn start(
        index: usize,
        host: Namespace,
        scheme: &str,
        follow: bool,
        registry: &Arc<RegistrySource>,
        identities: &[Identity; 3],
    ) -> Self {
        let (name, address) = (NAMES[index], SocketAddr::from((address_of(index), 9479)));
        let (core, radio, scheme) =
            if index == GATE { ("outside", "inside", "none") } else { ("core", "radio", scheme) };
        let text = format!(
            "backend = \"tc-bpf\"\n[ports]\ncore = [\"{core}\"]\nradio = [\"{radio}\"]\n[metrics]\nlisten = \"off\"\n[control]\nsocket = \"off\"\n[[rule]]\nscheme = \"{scheme}\"\n"
        );
        let config = config::parse(&text, "test", LinkSenses::empty()).expect("it is right");
        let gateway = Start { config, file: None, owns_process: false }.inside(&host).expect("it starts");
        let others = [0, 1, GATE].into_iter().filter(|other| *other != index);
        let configured = others.map(|other| Configured {
            name: NAMES[other].to_owned(),
            address: SocketAddr::from((address_of(other), 9479)),
            key: Some(identities[other].fingerprint()),
        });
        let site = SiteParts {
            access_point: AccessPoint::new(name, address),
            listen: address,
            identity: identities[index].clone(),
            peers: Arc::new(Peers::new(10)),
            configured: configured.collect(),
            site_key: None,
            serves: None,
            source: Arc::clone(registry),
        };
        let nat = || match index {
            GATE => Nat::central(16),
            _ => Nat::access_point(
                address_of(index),
                CLIENTS.parse().expect("a prefix"),
                NAMES[GATE].to_owned(),
            ),
        };
        let nat = follow.then(|| host.enter(nat).expect("enter").expect("it is possible"));
        let namespace = host.try_clone().expect("a handle");
        let open = move |inbox: Inbox| -> io::Result<Box<dyn Channel>> {
            Ok(Box::new(namespace.enter(|| Site::open(site, inbox))??))
        };
        let parts = Parts {
            access_point: AccessPoint::new(name, address),
            max_clients: 16,
            config: lasthop_handoff::Config::default(),
            registry: Arc::clone(registry),
            bridge: None,
            hostapd: Vec::new(),
            nat,
            channel: Box::new(open),
        };
        let roaming = gateway.roam(parts).expect("it starts").clone();
        Self { roaming, _gateway: gateway, host }
    }
}

/// The gateway between the site and the server.
fn gate(server: &Namespace, lan: &Namespace) -> Namespace {
    let gate = host(NAMES[GATE]);
    gate.ip(&[
        &format!("link add outside type veth peer name eth netns {}", server.path()),
        &format!("link add inside type veth peer name gate netns {}", lan.path()),
        "link set outside up",
        "link set inside up",
        "address add 192.0.2.1/24 dev outside",
        &format!("address add {}/24 dev inside", address_of(GATE)),
    ])
    .expect("links");
    lan.ip(&["link set gate up master lan0"]).expect("a port");
    server.ip(&["link set eth up", &format!("address add {SERVER}/24 dev eth")]).expect("an address");
    translate(&gate, "outside");
    gate
}

/// An access point that translates. Clients know all of them by the same addresses.
fn router(index: usize, lan: &Namespace, air: &Namespace) -> Namespace {
    let host = access_point(NAMES[index], lan, air);
    host.ip(&[
        "link set core up",
        "link set radio address 02:00:00:00:00:01 up",
        &format!("address add {}/24 dev core", address_of(index)),
        "address add 10.77.2.1/24 dev radio",
        &format!("route add default via {}", address_of(GATE)),
    ])
    .expect("addresses");
    translate(&host, "core");
    host
}

/// Has a host translate what leaves it through this interface.
fn translate(host: &Namespace, outside: &str) {
    host.sysctl("ipv4/ip_forward", "1").expect("a setting");
    let rules = format!(
        "add table ip nat; add chain ip nat out {{ type nat hook postrouting priority 100; }}; \
         add rule ip nat out oifname {outside} masquerade"
    );
    run(host, &["nft", &rules]);
}

fn run(host: &Namespace, command: &[&str]) -> String {
    let output = host.enter(|| Command::new(command[0]).args(&command[1..]).output()).expect("enter");
    let output = output.expect("it is installed");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Where a gateway is reached; access points translate to it.
fn address_of(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 1, if index == GATE { 1 } else { 11 + index as u8 })
}

/// A client that sends a datagram every few milliseconds, and a server that answers each.
struct Datagrams {
    server: JoinHandle<BTreeSet<IpAddrAndPort>>,
    client: JoinHandle<usize>,
}

type IpAddrAndPort = (IpAddr, u16);

impl Datagrams {
    fn start(site: &Testbed, ends: &Arc<AtomicBool>) -> Self {
        let bind = |host: &Namespace, address: String| {
            let socket = host.enter(|| UdpSocket::bind(address)).expect("enter").expect("a socket");
            socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time-out");
            socket
        };
        let server = bind(&site.server, format!("{SERVER}:7000"));
        let client = bind(&site.client, format!("{CLIENT}:7001"));
        client.connect((SERVER, 7000)).expect("it has an address");
        // The first one makes the translation.
        let mut buffer = [0; 10];
        let first = loop {
            let _ = client.send(b"first");
            if let Ok((_, from)) = server.recv_from(&mut buffer) {
                break from;
            }
        };
        let (theirs, ours) = (Arc::clone(ends), Arc::clone(ends));
        let serve = move || {
            let mut sources = BTreeSet::from([(first.ip(), first.port())]);
            while !theirs.load(Relaxed) {
                if let Ok((len, from)) = server.recv_from(&mut buffer) {
                    sources.insert((from.ip(), from.port()));
                    let _ = server.send_to(&buffer[..len], from);
                }
            }
            sources
        };
        let ask = move || {
            let mut answers = 0;
            while !ours.load(Relaxed) {
                let _ = client.send(b"question");
                answers += usize::from(client.recv(&mut buffer).is_ok());
                thread::sleep(Duration::from_millis(5));
            }
            answers
        };
        Self { server: thread::spawn(serve), client: thread::spawn(ask) }
    }

    /// Returns the ends from which the server got datagrams, and how many it has answered.
    fn finish(self) -> (BTreeSet<IpAddrAndPort>, usize) {
        (self.server.join().expect("it runs"), self.client.join().expect("it runs"))
    }
}
