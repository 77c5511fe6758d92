//! server -- core [gateway] radio -- client

use std::path::Path;
use std::process::Command;

use lasthop_emulator::{Device, Emulator, End, Options, Peer, running::Running};
use lasthop_linux::namespace::Namespace;
use lasthop_scenario::{Overrides, SchemeChoice, Settings};

/// Where the server listens, in every kind of site.
pub const SERVER: &str = "10.77.1.2:5000";

/// What the gateway is to the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A router between two networks.
    Routed,
    /// A bridge with both interfaces in it.
    Bridged,
    /// A router that gives what comes from the client its own address.
    Masqueraded,
}

impl Kind {
    /// Those that need nothing but iproute2.
    pub const PLAIN: [Self; 2] = [Self::Routed, Self::Bridged];
}

/// Needs what [`Kind::Masqueraded`] is made with.
pub fn translation() -> Result<(), String> {
    lasthop_needs::any_program(&["nft", "iptables"])
}

/// Three hosts. They vanish with this value.
pub struct Site {
    pub server: Namespace,
    pub gateway: Namespace,
    pub client: Namespace,
}

impl Site {
    /// Hosts with veth pairs between them.
    pub fn new(kind: Kind) -> Self {
        let site = Self::hosts();
        for (name, peer) in [("core", &site.server), ("radio", &site.client)] {
            site.join(name, peer);
        }
        site.configure(kind);
        site
    }

    /// Hosts without anything between them.
    pub fn hosts() -> Self {
        let host = |name| Namespace::new(name).expect("root may make namespaces");
        Self { server: host("server"), gateway: host("gateway"), client: host("client") }
    }

    /// Hosts with an emulated hop between the gateway and the client, which loses packets: routed. The
    /// hop lasts as long as the second value.
    pub fn lossy(seed: u64) -> (Self, Running) {
        let site = Self::hosts();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/links/lossy-hop.toml");
        let hop = ["links.air.rate=100 Mbit/s", "links.air.delay=3 ms", "links.air.queue=2000 packets"];
        let overrides = Overrides { settings: hop.map(str::to_owned).into(), trace: None };
        let settings = Settings::read(&file, &overrides).expect("it is right");
        let scheme = SchemeChoice::new("none", toml::Table::new()).expect("there is none");
        let built = settings.scenario().build(&scheme, seed).expect("it can be built");
        let node = |name: &str| {
            let nodes = &settings.scenario().nodes;
            built.nodes[nodes.iter().position(|node| node.name == name).expect("it is there")]
        };
        let (far, near) = (node("far"), node("near"));
        let device = |host, name| Device::tap_in(host, name).expect("TAP devices are to be had");
        let ends = vec![
            End { node: near, peer: Peer::Node(far), device: device(&site.client, "eth") },
            End { node: far, peer: Peer::Node(near), device: device(&site.gateway, "radio") },
        ];
        site.join("core", &site.server);
        site.gateway.ip(&["link set radio up"]).expect("it is there");
        site.client.ip(&["link set eth up"]).expect("it is there");
        site.configure(Kind::Routed);
        let running = Emulator::new(built.world, ends).spawn(Options::default()).expect("a thread");
        (site, running)
    }

    /// A veth pair between the gateway's interface of this name and a host's `eth`.
    pub fn join(&self, name: &str, peer: &Namespace) {
        let add = format!("link add {name} type veth peer name eth netns {}", peer.path());
        self.gateway.ip(&[&add, &format!("link set {name} up")]).expect("veth");
        peer.ip(&["link set eth up"]).expect("the other end");
    }

    /// Addresses, once the interfaces are there.
    pub fn configure(&self, kind: Kind) {
        self.server.ip(&["address add 10.77.1.2/24 dev eth"]).expect("an address");
        if kind == Kind::Bridged {
            let bridge = ["link add lan type bridge", "link set lan up"];
            self.gateway.ip(&bridge).expect("a bridge");
            self.gateway.ip(&["link set core master lan", "link set radio master lan"]).expect("members");
            self.client.ip(&["address add 10.77.1.3/24 dev eth"]).expect("an address");
            return;
        }
        let addresses = ["address add 10.77.1.1/24 dev core", "address add 10.77.2.1/24 dev radio"];
        self.gateway.ip(&addresses).expect("addresses");
        self.gateway.sysctl("ipv4/ip_forward", "1").expect("forwarding");
        self.client.ip(&["address add 10.77.2.2/24 dev eth"]).expect("an address");
        self.client.ip(&["route add default via 10.77.2.1"]).expect("a route");
        if kind == Kind::Routed {
            self.server.ip(&["route add default via 10.77.1.1"]).expect("a route");
            return;
        }
        // The server knows no way to the client's own address.
        let rule = "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; \
                    add rule ip nat out oifname core masquerade";
        let works = self.run("nft", &[rule]).is_some()
            || self
                .run("iptables", &["-w", "-t", "nat", "-A", "POSTROUTING", "-o", "core", "-j", "MASQUERADE"])
                .is_some();
        assert!(works, "nft or iptables is installed");
    }

    /// The server's TCP waits for 5 ms at least before it sends again, not for Linux's 200 ms: what
    /// is left of a gap is the gateway's.
    pub fn quicken_timers(&self) {
        let routes = self.server.ip(&["route show"]).expect("iproute2");
        for route in routes.lines() {
            let route = format!("route change {} rto_min 5ms", route.trim());
            self.server.ip(&[&route]).expect("a route");
        }
    }

    /// What a command in the gateway prints; `None` where it is missing or fails.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let output = self.gateway.enter(|| Command::new(program).args(arguments).output()).expect("enter");
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The gateway's interfaces, filters and programs.
    pub fn traces(&self) -> String {
        let mut traces = self.run("ip", &["-brief", "link"]).expect("iproute2");
        for (program, arguments) in [
            ("tc", &["qdisc"][..]),
            ("tc", &["filter", "show", "dev", "core", "ingress"]),
            ("tc", &["filter", "show", "dev", "core", "egress"]),
            ("tc", &["filter", "show", "dev", "radio", "ingress"]),
            ("tc", &["filter", "show", "dev", "radio", "egress"]),
            ("bpftool", &["net"]),
            ("ip", &["rule"]),
            ("ip", &["-6", "rule"]),
        ] {
            // Where there is no bpftool, the devices being gone has to do.
            traces += &self.run(program, arguments).unwrap_or_default();
        }
        traces
    }

    /// Asserts that nothing of a gateway is in the gateway's namespace.
    pub fn assert_no_traces(&self) {
        super::soon(|| {
            let traces = self.traces();
            let is_left = ["lasthop", "clsact", "26000:"].into_iter().any(|trace| traces.contains(trace));
            if is_left { Err(traces) } else { Ok(()) }
        });
    }
}
