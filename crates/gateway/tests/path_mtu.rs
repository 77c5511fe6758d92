//! Tests of paths with a smaller MTU than both endpoints have agreed on, or without a route, with
//! each scheme that a gateway runs.

mod hosts;

use std::net::TcpStream;
use std::process::{Command, ExitCode};
use std::thread;
use std::{fs, io};

use lasthop_needs::{namespaces, tests};

use hosts::{Flow, Hosts, Loop, SERVER, SERVER_V6, Seen, radio};
use lasthop_agent::LinkSenses;
use lasthop_gateway::io::Selection;
use lasthop_gateway::io::divert::Divert;
use lasthop_gateway::{Gateway, Start, config};
use lasthop_linux::namespace::Namespace;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            transfers_complete_if_routers_on_both_sides_report_the_mtu,
            transfers_complete_over_a_link_that_silently_drops_large_packets,
            a_connection_to_an_unreachable_network_fails_at_once,
            icmp_errors_from_both_sides_are_diverted_and_forwarded;
    })
}

/// The size of a transfer: more than the initial windows.
const OCTETS: usize = 500_000;
/// The MTU of the narrow link: a little more than the minimum of IPv6.
const MTU: u32 = 1300;

fn start(hosts: &Hosts, scheme: &str) -> Option<Gateway> {
    let text = format!(
        "backend = \"tc-bpf\"\n[ports]\ncore = [\"core\"]\nradio = [\"radio\"]\n[metrics]\nlisten = \"off\"\n[control]\nsocket = \"off\"\n\
         [process]\nthreads = 2\n[[rule]]\nscheme = \"{scheme}\"\n"
    );
    // Other schemes need events that no real link layer reports.
    let config = config::parse(&text, "test", LinkSenses::empty()).ok()?;
    Some(Start { config, file: None, owns_process: false }.inside(&hosts.gateway).expect("it starts"))
}

/// Runs a test for each scheme that a gateway runs, each on hosts of its own, so that no path MTU
/// is cached. All run in parallel, because most of the time is waiting.
fn with_each_scheme(test: impl Fn(&Hosts, &Namespace) + Sync) {
    let with = |scheme| {
        let hosts = Hosts::routed();
        let gateway = start(&hosts, scheme)?;
        let far = hosts.beyond_client(MTU);
        test(&hosts, &far);
        let report = gateway.stop().expect("it ends well");
        assert_eq!(report.engine.agents.packets.panics, 0, "{scheme}");
        Some(scheme)
    };
    let schemes = lasthop_schemes::catalog::CATALOG.iter().map(|scheme| scheme.name);
    let run = in_parallel(schemes, with);
    for scheme in ["none", "snoop", "wtcp", "i-tcp", "cicada"] {
        assert!(run.contains(&Some(scheme)), "{run:?}");
    }
}

/// Calls `call` with each item, in a thread of its own.
fn in_parallel<T: Send, R: Send>(each: impl Iterator<Item = T>, call: impl Fn(T) -> R + Sync) -> Vec<R> {
    let call = &call;
    thread::scope(|scope| {
        let running: Vec<_> = each.map(|one| scope.spawn(move || call(one))).collect();
        running.into_iter().map(|one| one.join().expect("it ends well")).collect()
    })
}

/// Makes the gateway's host a router with a narrow link.
fn narrow_the_wire(hosts: &Hosts) {
    let commands = [
        format!("route replace 10.77.1.0/24 dev core mtu {MTU}"),
        format!("route replace fd77:1::/64 dev core metric 256 mtu {MTU}"),
    ];
    hosts.gateway.ip(&commands.each_ref().map(String::as_str)).expect("routes");
}

/// The ICMP errors that this thread's namespace has received: Destination Unreachable of IPv4, and
/// Packet Too Big of IPv6.
fn errors_received() -> io::Result<[u64; 2]> {
    let read = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let v4 = read("snmp")?;
    let mut icmp = v4.lines().filter(|line| line.starts_with("Icmp:")).map(str::split_whitespace);
    let (names, values) = (icmp.next().into_iter().flatten(), icmp.next().into_iter().flatten());
    let unreachable = names.zip(values).find(|(name, _)| *name == "InDestUnreachs");
    let v6 = read("snmp6")?;
    let too_big = v6.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let too_big = too_big.into_iter().find(|(name, _)| *name == "Icmp6InPktTooBigs");
    let count = |found: Option<(&str, &str)>| {
        found.and_then(|(_, value)| value.trim().parse().ok()).ok_or(io::ErrorKind::InvalidData)
    };
    Ok([count(unreachable)?, count(too_big)?])
}

/// Runs a single transfer: a host that knows the path's MTU would announce a smaller segment size
/// for the next one.
fn transfer(hosts: &Hosts, far: &Namespace, address: &str, is_upload: bool) {
    let Flow { server, client } = Flow::between(&hosts.server, far, address);
    let flow = if is_upload { Flow { server: client, client: server } } else { Flow { server, client } };
    flow.download(OCTETS);
}

const TRANSFERS: [(&str, bool); 4] = [(SERVER, false), (SERVER, true), (SERVER_V6, false), (SERVER_V6, true)];

fn transfers_complete_if_routers_on_both_sides_report_the_mtu() {
    for (server, is_upload) in TRANSFERS {
        with_each_scheme(|hosts, far| {
            narrow_the_wire(hosts);
            transfer(hosts, far, server, is_upload);
        });
    }
}

fn transfers_complete_over_a_link_that_silently_drops_large_packets() {
    with_each_scheme(|hosts, far| {
        // The endpoints have to probe the path MTU.
        hosts.server.sysctl("ipv4/tcp_mtu_probing", "1").expect("a setting");
        // The router before the link does not report packets that are too big.
        for (family, network) in [("-4", "10.77.1.0/24"), ("-6", "fd77:1::/64")] {
            let rule = [family, "rule", "add", "iif", "lo", "to", network, "blackhole"];
            let status = hosts.client.enter(|| Command::new("ip").args(rule).status()).expect("enter");
            assert!(status.is_ok_and(|status| status.success()), "{rule:?}");
        }
        let servers = [SERVER, SERVER_V6].into_iter();
        in_parallel(servers, |server| transfer(hosts, far, server, false));
        let received = hosts.server.enter(errors_received).expect("enter").expect("counters");
        assert_eq!(received, [0, 0], "the server has heard of the link");
    });
}

fn a_connection_to_an_unreachable_network_fails_at_once() {
    with_each_scheme(|hosts, _| {
        hosts
            .gateway
            .ip(&["route add unreachable 10.77.9.0/24", "route add prohibit 10.77.10.0/24"])
            .expect("routes");
        // 15 seconds: without an ICMP error, the connect fails with another error.
        hosts.client.sysctl("ipv4/tcp_syn_retries", "3").expect("a setting");
        for address in ["10.77.9.1:80", "10.77.10.1:80"] {
            // Not `connect_timeout`: on an ICMP error Linux wakes a poll before the socket has the error,
            // and one in some thousand such connects finds none.
            let connect = || TcpStream::connect(address);
            let error = hosts.client.enter(connect).expect("enter").expect_err("there is no route");
            assert_eq!(error.kind(), io::ErrorKind::HostUnreachable, "{address}: {error}");
        }
    });
}

fn icmp_errors_from_both_sides_are_diverted_and_forwarded() {
    for (server, is_upload) in TRANSFERS {
        let hosts = Hosts::routed();
        let far = hosts.beyond_client(MTU);
        narrow_the_wire(&hosts);
        let open = || Divert::open(&radio(), &Selection::default()).expect("it opens");
        let running = Loop::start(&hosts.gateway, None, open);
        transfer(&hosts, &far, server, is_upload);
        assert!(Seen::count(&running.seen.not_tcp) > 0, "{server}, an upload: {is_upload}");
        running.end();
    }
}
