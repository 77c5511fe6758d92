//! Tests of gateways between which a client moves, with real TCP.
//!
//! ```text
//!                  +-- core [hall]   radio --+
//! server --- lan --+                         +-- air --- client
//!                  +-- core [stairs] radio --+
//! ```
//!
//! `lan` and `air` are bridges; the client moves when `air` has another access point as its port.
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]
#![allow(clippy::print_stdout, reason = "the interruption is a result")]

mod bridged;
mod transfer;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_agent::LinkSenses;
use lasthop_gateway::frame::MacAddress;
use lasthop_gateway::roaming::{Channel, Configured, Inbox, Parts, RegistrySource, Roaming, Site, SiteParts};
use lasthop_gateway::{Gateway, Start, config};
use lasthop_linux::bridge_table::BridgeTable;
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_needs::{namespaces, tests};
use lasthop_peering::{Identity, Peers};
use lasthop_registry::{AccessPoint, Durability, Embedded, Limits, Registry};

use bridged::{access_point, bridge, host, join, move_client};
use transfer::{PATIENCE, Transfer};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            watched_connections_follow_their_client,
            split_connections_follow_their_client,
            a_client_is_noticed_by_the_bridge_before_its_connections_send;
    })
}

const NAMES: [&str; 2] = ["hall", "stairs"];
const SERVER: &str = "10.77.1.2";
/// The client's MAC address.
const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);
const MOVES: usize = 10;
/// Connections in each direction.
const CONNECTIONS: usize = 10;

fn watched_connections_follow_their_client() {
    walk("snoop", 0);
}

fn split_connections_follow_their_client() {
    walk("i-tcp", 2 * CONNECTIONS as u64);
}

fn a_client_is_noticed_by_the_bridge_before_its_connections_send() {
    let site = Testbed::new("snoop");
    for to in [0, 1, 0] {
        // A client that returns sooner is noticed by its packets: what the bridge learns may be from before it moved.
        thread::sleep(Duration::from_millis(150));
        site.move_to(to);
        site.wait_for(to);
    }
    let received =
        site.access_points[0].gateway.report().expect("it runs").engine.counters.counts.connections;
    assert_eq!(received, 0, "no rule selects the frames that the client has sent");
}

/// Lets the client move while `owed` of its connections need their agent.
fn walk(scheme: &str, owed: u64) {
    let site = Testbed::new(scheme);
    let ends = Arc::new(AtomicBool::new(false));
    let transfers: Vec<Transfer> = (0..2 * CONNECTIONS).map(|index| site.transfer(index, &ends)).collect();
    for to in 0..MOVES {
        thread::sleep(Duration::from_millis(300));
        site.move_to((to + 1) % 2);
        site.wait_for((to + 1) % 2);
    }
    thread::sleep(Duration::from_millis(300));
    let at_risk = site.access_points.each_ref().map(|it| it.gateway.report().expect("it runs").engine);
    assert_eq!(at_risk.iter().map(|engine| engine.owed_connections).sum::<u64>(), owed);
    ends.store(true, Relaxed);
    let mut longest = Duration::ZERO;
    for transfer in transfers {
        longest = longest.max(transfer.finish());
    }
    let reports = site.access_points.each_ref().map(|it| it.roaming.report().expect("it answers"));
    let counters = reports[0].counters.plus(reports[1].counters);
    let engines = site.access_points.each_ref().map(|it| it.gateway.report().expect("it runs").engine);
    let broken: u64 = engines.iter().map(|engine| engine.counters.counts.obligations_broken).sum();
    let handoffs = counters.received.max(1);
    println!(
        "{scheme}: {} hand-offs, {:.1} ms each from the first packet to service; longest pause of a connection {} ms",
        counters.received,
        counters.interruption_us as f64 / 1e3 / handoffs as f64,
        longest.as_millis(),
    );
    // On a busy machine, a late packet may call a client back for a moment.
    assert!(counters.received >= MOVES as u64, "{counters:?}");
    assert_eq!((counters.lost, broken), (0, 0), "{counters:?}");
}

struct Testbed {
    server: Namespace,
    client: Namespace,
    _lan: Namespace,
    air: Namespace,
    access_points: [AccessPointHost; 2],
    _folder: tempfile::TempDir,
}

struct AccessPointHost {
    roaming: Roaming,
    gateway: Gateway,
    _host: Namespace,
}

impl Testbed {
    fn new(scheme: &str) -> Self {
        let ([server, client], [lan, air]) = (["server", "client"].map(host), ["lan", "air"].map(bridge));
        for (bridge, end, address) in [(&lan, &server, "10.77.1.2/24"), (&air, &client, "10.77.1.3/24")] {
            join(bridge, end);
            end.ip(&["link set eth up", &format!("address add {address} dev eth")]).expect("an address");
        }
        client.ip(&[&format!("link set eth address {CLIENT}")]).expect("a MAC address");
        let folder = tempfile::tempdir().expect("a folder");
        let registry = Embedded::open(
            &folder.path().join("registry"),
            Limits::default(),
            Durability::ProcessEnd,
            clock::now(),
        );
        let registry: Arc<dyn Registry> = Arc::new(registry.expect("a registry"));
        let registry = Arc::new(RegistrySource::of(registry));
        let identities = [(); 2].map(|()| Identity::ephemeral().expect("random numbers"));
        let access_points =
            [0, 1].map(|index| AccessPointHost::new(index, scheme, [&lan, &air], &registry, &identities));
        let site = Self { server, client, _lan: lan, air, access_points, _folder: folder };
        site.move_to(0);
        site
    }

    /// The client moves, and the bridges learn that: an access point sends a frame to all in the name of a station
    /// that has associated.
    fn move_to(&self, to: usize) {
        move_client(&self.air, NAMES[1 - to], NAMES[to]);
        let socket = self.client.enter(|| UdpSocket::bind("10.77.1.3:0")).expect("enter").expect("a socket");
        socket.set_broadcast(true).expect("a setting");
        socket.send_to(b"here", "10.77.1.255:9").expect("it is sent");
    }

    /// Even ones are downloads, odd ones uploads.
    fn transfer(&self, index: usize, ends: &Arc<AtomicBool>) -> Transfer {
        let address = format!("{SERVER}:{}", 5000 + index);
        Transfer::start(&self.server, &self.client, &address, index.is_multiple_of(2), ends)
    }

    /// Waits until an access point serves the client.
    fn wait_for(&self, at: usize) {
        let began = Instant::now();
        loop {
            let report = self.access_points[at].roaming.report().expect("it answers");
            // The bridges may be noticed, too.
            if report.clients.iter().any(|row| row.place.client == CLIENT && row.place.is_here) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{report:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl AccessPointHost {
    fn new(
        index: usize,
        scheme: &str,
        [lan, air]: [&Namespace; 2],
        registry: &Arc<RegistrySource>,
        identities: &[Identity; 2],
    ) -> Self {
        let name = NAMES[index];
        let host = access_point(name, lan, air);
        let address = address_of(index);
        host.ip(&[
            "link add lan0 type bridge",
            "link set lan0 up",
            "link set core up master lan0",
            "link set radio up master lan0",
            &format!("address add {}/24 dev lan0", address.ip()),
        ])
        .expect("a bridge");
        let text = format!(
            "backend = \"tc-bpf\"\n[ports]\ncore = [\"core\"]\nradio = [\"radio\"]\n[metrics]\nlisten = \"off\"\n[control]\nsocket = \"off\"\n[[rule]]\nscheme = \"{scheme}\"\n"
        );
        let config = config::parse(&text, "test", LinkSenses::empty()).expect("it is right");
        let gateway = Start { config, file: None, owns_process: false }.inside(&host).expect("it starts");
        let table = host.enter(BridgeTable::open).expect("enter").expect("a socket");
        let namespace = host.try_clone().expect("a handle");
        let other = 1 - index;
        let key = Some(identities[other].fingerprint());
        let site = SiteParts {
            access_point: AccessPoint::new(name, address),
            listen: address,
            identity: identities[index].clone(),
            peers: Arc::new(Peers::new(10)),
            configured: vec![Configured { name: NAMES[other].to_owned(), address: address_of(other), key }],
            site_key: None,
            serves: None,
            source: Arc::clone(registry),
        };
        let open = move |inbox: Inbox| -> io::Result<Box<dyn Channel>> {
            Ok(Box::new(namespace.enter(|| Site::open(site, inbox))??))
        };
        let parts = Parts {
            access_point: AccessPoint::new(name, address),
            max_clients: 16,
            config: lasthop_handoff::Config::default(),
            registry: Arc::clone(registry),
            bridge: Some((table, vec!["radio".to_owned()])),
            hostapd: Vec::new(),
            nat: None,
            channel: Box::new(open),
        };
        let roaming = gateway.roam(parts).expect("it starts").clone();
        Self { roaming, gateway, _host: host }
    }
}

/// Where the gateway of an access point is reached.
fn address_of(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 77, 1, 11 + index as u8], 9479))
}
