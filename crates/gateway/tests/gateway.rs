//! Tests of the gateway with real TCP.

mod hosts;

use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;

use lasthop_needs::{namespaces, quiet, tests};

use hosts::{Flow, Hosts, SERVER, SERVER_V6, nft};
use lasthop_agent::LinkSenses;
use lasthop_gateway::io::steering::worker_of;
use lasthop_gateway::{Config, Gateway, Start, config};
use lasthop_linux::device::Interface;
use lasthop_linux::namespace::Namespace;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            snoop_sees_downloads_of_both_families_by_tc,
            snoop_sees_downloads_of_both_families_by_tun,
            snoop_sees_downloads_over_a_bridge,
            each_client_is_served_by_its_own_worker,
            an_upload_that_passes_in_the_kernel_arrives_in_order,
            traffic_bypasses_broken_devices_until_they_are_mended,
            traffic_bypasses_a_broken_tun_device_and_rules_until_they_are_mended,
            a_recreated_radio_interface_is_used_again,
            a_recreated_core_interface_is_used_again_by_tun,
            an_interface_is_claimed_once_and_only_with_net_admin,
            the_error_for_a_missing_interface_names_it;
        [namespaces, nft]:
            snoop_sees_downloads_behind_address_translation;
    })
}

const BULK: usize = 5_000_000;

/// The minimum number of octets of a download that the gateway sees. On a busy machine, the kernel
/// may forward without it.
fn min_seen() -> u64 {
    if quiet().is_ok() { BULK as u64 } else { 0 }
}

/// The minimum number of packets of such a download that the gateway sees: the longest super-packets
/// have 64 KiB.
fn min_packets() -> u64 {
    (min_seen() >> 16).max(1)
}

fn start(hosts: &Hosts, backend: &str) -> Gateway {
    start_with(hosts, backend, "")
}

/// Starts a gateway with additional lines at the end of its file.
fn start_with(hosts: &Hosts, backend: &str, lines: &str) -> Gateway {
    let config = config_of(backend, lines);
    Start { config, file: None, owns_process: false }.inside(&hosts.gateway).expect("it starts")
}

fn config_of(backend: &str, lines: &str) -> Config {
    let text = format!(
        "backend = \"{backend}\"\n[ports]\ncore = [\"core\"]\nradio = [\"radio\"]\n[metrics]\nlisten = \"off\"\n[control]\nsocket = \"off\"\n{lines}"
    );
    config::parse(&text, "test", LinkSenses::empty()).expect("it is right")
}

fn assert_nothing_is_left(gateway: &Namespace) {
    hosts::assert_soon(|| {
        let links = gateway.ip(&["link show"]).expect("ip");
        if links.contains("lasthop") || links.contains("lhop-") { Err(links) } else { Ok(()) }
    });
}

fn snoop_sees_downloads(hosts: &Hosts, backend: &str) {
    let gateway = start(hosts, backend);
    for server in [SERVER, SERVER_V6] {
        hosts.download(server, BULK);
    }
    let flows = gateway.flows(10).expect("it runs");
    assert_eq!(flows.len(), 2, "{flows:?}");
    assert!(flows.iter().all(|flow| flow.rule == "snoop" && flow.octets_from_core > min_seen()), "{flows:?}");
    assert!(flows.iter().all(|flow| flow.core.port() == 5000), "{flows:?}");
    let report = gateway.stop().expect("it ends well");
    let engine = &report.engine;
    assert!(
        engine.agents.packets.seen + engine.agents.packets.shown >= min_packets() && engine.held == 0,
        "{report:?}"
    );
    assert_eq!(
        (report.lost, engine.agents.packets.panics, engine.counters.counts.unaddressed),
        (0, 0, 0),
        "{report:?}"
    );
    assert_nothing_is_left(&hosts.gateway);
    // Downloads work without the gateway.
    hosts.download(SERVER, BULK / 10);
}

fn snoop_sees_downloads_of_both_families_by_tc() {
    snoop_sees_downloads(&Hosts::routed(), "tc-bpf");
}

fn snoop_sees_downloads_of_both_families_by_tun() {
    snoop_sees_downloads(&Hosts::routed(), "tun");
}

fn each_client_is_served_by_its_own_worker() {
    const WORKERS: usize = 3;
    let hosts = Hosts::routed();
    let gateway = start_with(&hosts, "tc-bpf", &format!("[process]\nthreads = {WORKERS}\n"));
    let mut expected = [0; WORKERS];
    let mut download_as = |address: &str, server: &str| {
        expected[worker_of(address.parse().expect("an address"), WORKERS)] += 1;
        hosts.download(server, BULK / 5);
    };
    download_as("10.77.2.2", SERVER);
    download_as("fd77:2::2", SERVER_V6);
    for last in 3..9 {
        let commands = [
            format!("address del 10.77.2.{}/24 dev eth", last - 1),
            format!("address add 10.77.2.{last}/24 dev eth"),
            "route add default via 10.77.2.1".to_owned(),
        ];
        hosts.client.ip(&commands.each_ref().map(String::as_str)).expect("another address");
        download_as(&format!("10.77.2.{last}"), SERVER);
    }
    assert!(!expected.contains(&0), "the addresses are of all workers: {expected:?}");
    let report = gateway.stop().expect("it ends well");
    // On a busy machine, a connection may bypass the gateway.
    let seen: Vec<usize> = report.threads.iter().map(|thread| thread.connections).collect();
    let is_own = seen.iter().zip(expected).all(|(seen, expected)| (1..=expected).contains(seen));
    assert!(is_own && (quiet().is_err() || seen == expected), "{seen:?}, of {expected:?}");
    let packets = report.engine.agents.packets;
    let connections = report.engine.connections as u64;
    assert!(
        packets.seen >= connections && packets.shown >= connections,
        "each has its own bypasses and ring: {report:?}"
    );
    assert_eq!((report.lost, report.engine.counters.counts.unaddressed), (0, 0), "{report:?}");
    assert_nothing_is_left(&hosts.gateway);
    hosts.download(SERVER, BULK / 10);
}

fn an_upload_that_passes_in_the_kernel_arrives_in_order() {
    // On two processors a veth pair reorders frames.
    let on_one_processor = || {
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        sched_setaffinity(None, &one).expect("a processor that we are on");
        uploads_pass_in_order();
    };
    thread::spawn(on_one_processor).join().unwrap_or_else(|panic| resume_unwind(panic));
}

fn uploads_pass_in_order() {
    let out_of_order = |hosts: &Hosts| {
        let netstat = hosts.server.enter(|| fs::read_to_string("/proc/thread-self/net/netstat"));
        let netstat = netstat.expect("enter").expect("Linux");
        let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let of = |name| names.split(' ').zip(values.split(' ')).find(|(known, _)| *known == name);
        of("TCPOFOQueue").and_then(|(_, value)| value.parse::<u64>().ok()).expect("a number")
    };
    for super_packets in [true, false] {
        let upload = || {
            let hosts = Hosts::routed();
            let hosts = if super_packets { hosts } else { hosts.without_super_packets() };
            let gateway = start(&hosts, "tc-bpf");
            for server in [SERVER, SERVER_V6] {
                let Flow { server, client } = Flow::open(&hosts, server);
                Flow { server: client, client: server }.download(BULK);
            }
            let report = gateway.stop().expect("it ends well");
            assert!(
                report.engine.agents.packets.shown >= min_packets(),
                "it passes in the kernel: {report:?}"
            );
            out_of_order(&hosts)
        };
        // If the loop has too little processor time, frames that bypass it overtake those that wait
        // for it.
        assert!((0..5).any(|_| upload() == 0), "super-packets {super_packets}");
    }
}

fn snoop_sees_downloads_over_a_bridge() {
    let hosts = Hosts::bridged();
    let gateway = start(&hosts, "auto");
    hosts.download(SERVER, BULK);
    let report = gateway.stop().expect("it ends well");
    assert!(
        report.engine.agents.packets.seen + report.engine.agents.packets.shown >= min_packets(),
        "{report:?}"
    );
}

fn snoop_sees_downloads_behind_address_translation() {
    let hosts = Hosts::routed();
    hosts.masquerade();
    let gateway = start(&hosts, "tc-bpf");
    hosts.download(SERVER, BULK);
    let flows = gateway.flows(10).expect("it runs");
    assert!(matches!(&flows[..], [flow] if flow.octets_from_core > min_seen()), "{flows:?}");
    let report = gateway.stop().expect("it ends well");
    let seen = report.engine.agents.packets.seen + report.engine.agents.packets.shown;
    assert!(seen >= min_packets(), "{report:?}");
    assert_eq!(report.engine.connections, 1, "{report:?}");
    // Ports are read in turn: on a busy machine, the client's first segments may be read before the
    // server's SYN.
    assert!(report.engine.counters.passed.one_way * 10 < seen, "{report:?}");
}

/// Asserts that new connections are diverted to the gateway. A gateway that was out, or had to wait
/// for a processor, stays out for some time.
fn assert_it_is_in_the_path(hosts: &Hosts, gateway: &Gateway) {
    let seen = || {
        let packets = gateway.report().expect("it runs").engine.agents.packets;
        packets.seen + packets.shown
    };
    let before = seen();
    hosts::assert_soon(|| {
        hosts.download(SERVER, BULK / 20);
        if seen() > before { Ok(()) } else { Err(format!("{:?}", gateway.report().expect("it runs"))) }
    });
}

/// Runs each of these commands, which break the gateway, has the client download, and waits until
/// the gateway has mended the fault and is in the path again. `DEVICE0` in a command is the current
/// name of the gateway's first device, and so on: a replaced device has another name.
fn assert_it_is_mended(hosts: &Hosts, gateway: &Gateway, breaks: &[&str]) {
    for command in breaks {
        let before = gateway.report().expect("it runs").punctuality.steps_out;
        hosts::assert_soon(|| {
            let links = hosts.gateway.ip(&["link show"]).map_err(|error| error.to_string())?;
            let names = links.split_whitespace().filter_map(|word| word.strip_suffix(':'));
            let names = names.filter(|name| name.starts_with("lasthop"));
            let named = names.enumerate().fold((*command).to_owned(), |command, (number, name)| {
                command.replace(&format!("DEVICE{number}"), name)
            });
            hosts.gateway.ip(&[&named]).map(drop).map_err(|error| error.to_string())
        });
        hosts.download(SERVER, BULK / 20);
        hosts::assert_soon(|| {
            let report = gateway.report().expect("it runs");
            let was_out = report.punctuality.steps_out > before;
            let is_well = report.faults.is_empty() && !report.punctuality.is_out;
            if was_out && is_well {
                Ok(())
            } else {
                Err(format!("{command}: {:?}, {:?}", report.faults, report.punctuality))
            }
        });
        assert_it_is_in_the_path(hosts, gateway);
    }
}

fn traffic_bypasses_broken_devices_until_they_are_mended() {
    for lines in ["", "[process]\nthreads = 2\n"] {
        let hosts = Hosts::routed();
        let gateway = start_with(&hosts, "tc-bpf", lines);
        hosts.download(SERVER, BULK / 20);
        assert_it_is_mended(
            &hosts,
            &gateway,
            &[
                "link set DEVICE0 down",
                "link set DEVICE1 down",
                "link set DEVICE2 down",
                "link set DEVICE1 carrier off",
                "link delete DEVICE0",
            ],
        );
        gateway.stop().expect("it ends well");
        assert_nothing_is_left(&hosts.gateway);
        hosts.download(SERVER, BULK / 20);
    }
}

fn traffic_bypasses_a_broken_tun_device_and_rules_until_they_are_mended() {
    let hosts = Hosts::routed();
    let gateway = start(&hosts, "tun");
    hosts.download(SERVER, BULK / 20);
    let table = 26_000
        + hosts.gateway.enter(|| Interface::named("radio").expect("it is there").index()).expect("enter");
    assert_it_is_mended(
        &hosts,
        &gateway,
        &[
            "link set lasthop0 down",
            "link delete lasthop1",
            "rule delete priority 26001",
            &format!("route flush table {table}"),
        ],
    );
    gateway.stop().expect("it ends well");
    assert_nothing_is_left(&hosts.gateway);
}

/// Removes a wire of the gateway, and replaces it by another one.
fn rewire(hosts: &Hosts, name: &str, peer: &Namespace, network: u8, meanwhile: impl FnOnce()) {
    hosts.gateway.ip(&[&format!("link delete {name}")]).expect("it is there");
    meanwhile();
    let add = format!("link add {name} type veth peer name eth netns {}", peer.path());
    let address = format!("address add 10.77.{network}.1/24 dev {name}");
    hosts.gateway.ip(&[&add, &address, &format!("link set {name} up")]).expect("veth");
    let address = format!("address add 10.77.{network}.2/24 dev eth");
    let route = format!("route add default via 10.77.{network}.1");
    peer.ip(&[&address, "link set eth up", &route]).expect("the other end");
}

fn assert_it_comes_back(hosts: &Hosts, gateway: &Gateway, name: &str, peer: &Namespace, network: u8) {
    hosts.download(SERVER, BULK / 20);
    let report = || gateway.report().expect("it goes on");
    let fault = format!("the interface {name} has disappeared");
    rewire(hosts, name, peer, network, || {
        hosts::assert_soon(|| {
            if report().faults.contains(&fault) { Ok(()) } else { Err(format!("{:?}", report().faults)) }
        });
    });
    hosts::assert_soon(|| {
        if report().faults.is_empty() { Ok(()) } else { Err(format!("{:?}", report().faults)) }
    });
    assert_it_is_in_the_path(hosts, gateway);
}

fn a_recreated_radio_interface_is_used_again() {
    for lines in ["", "[process]\nthreads = 2\n"] {
        let hosts = Hosts::routed();
        let gateway = start_with(&hosts, "tc-bpf", lines);
        assert_it_comes_back(&hosts, &gateway, "radio", &hosts.client, 2);
        let second =
            Start { config: config_of("tc-bpf", ""), file: None, owns_process: false }.inside(&hosts.gateway);
        assert!(second.expect_err("it is claimed").to_string().contains("is using the interface radio"));
        gateway.stop().expect("it ends well");
        assert_nothing_is_left(&hosts.gateway);
    }
}

fn a_recreated_core_interface_is_used_again_by_tun() {
    let hosts = Hosts::routed();
    let gateway = start(&hosts, "tun");
    assert_it_comes_back(&hosts, &gateway, "core", &hosts.server, 1);
    gateway.stop().expect("it ends well");
    assert_nothing_is_left(&hosts.gateway);
}

fn an_interface_is_claimed_once_and_only_with_net_admin() {
    let hosts = Hosts::routed();
    // Any user may bind abstract socket names; that must not prevent a claim.
    let index = hosts.gateway.enter(|| Interface::named("radio").expect("it is there").index());
    let name = format!("lasthop/gateway/{}", index.expect("enter"));
    let squat = || UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).expect("a name"));
    let _squatter = hosts.gateway.enter(squat).expect("enter").expect("it is free");
    let gateway = start(&hosts, "tc-bpf");
    let config = config_of("tc-bpf", "");
    let second = || Start { config, file: None, owns_process: false }.inside(&hosts.gateway).map(drop);
    let refused = second().expect_err("two are one too many").to_string();
    let ours = format!("is using the interface radio: process {} (", std::process::id());
    assert!(refused.contains(&ours), "{refused}");
    gateway.stop().expect("it ends well");
    assert_nothing_is_left(&hosts.gateway);
    start(&hosts, "tc-bpf").stop().expect("it is free again");
}

fn the_error_for_a_missing_interface_names_it() {
    let hosts = Hosts::wired();
    let text = "[ports]\nradio = [\"wlan7\"]\n[metrics]\nlisten = \"off\"\n[control]\nsocket = \"off\"\n";
    let config = config::parse(text, "test", LinkSenses::empty()).expect("it is right");
    let refused = Start { config, file: None, owns_process: false }.inside(&hosts.gateway);
    assert!(refused.expect_err("it is not there").to_string().contains("unknown interface wlan7"));
    assert_nothing_is_left(&hosts.gateway);
}
