//! Paths that take smaller packets than both ends have agreed on, or none, with each scheme that a gateway runs.

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
            routers_that_say_so_behind_the_hop_and_before_it,
            a_link_that_drops_larger_packets_in_silence,
            a_network_that_cannot_be_reached_is_refused_at_once,
            the_messages_of_either_side_come_to_user_space_and_go_on;
    })
}

/// More than the windows that connections begin with.
const OCTETS: usize = 500_000;
/// What IPv6 requires, and a little more.
const MTU: u32 = 1300;

fn start(hosts: &Hosts, scheme: &str) -> Option<Gateway> {
    let text = format!(
        "backend = \"tc-bpf\"\n[ports]\ncore = [\"core\"]\nradio = [\"radio\"]\n[metrics]\nlisten = \"off\"\n[control]\nsocket = \"off\"\n\
         [process]\nthreads = 2\n[[rule]]\nscheme = \"{scheme}\"\n"
    );
    // Others need to see what no real link layer tells.
    let config = config::parse(&text, "test", LinkSenses::empty()).ok()?;
    Some(Start { config, file: None, owns_process: false }.inside(&hosts.gateway).expect("it starts"))
}

/// Runs a test for each scheme that a gateway runs, on hosts that have no memory of another's; all at the same
/// time, because most of it is waiting.
fn with_each_scheme(test: impl Fn(&Hosts, &Namespace) + Sync) {
    let with = |scheme| {
        let hosts = Hosts::routed();
        let gateway = start(&hosts, scheme)?;
        let far = hosts.behind_client(MTU);
        test(&hosts, &far);
        let report = gateway.stop().expect("it ends well");
        assert_eq!(report.engine.agents.packets.panics, 0, "{scheme}");
        Some(scheme)
    };
    let schemes = lasthop_schemes::catalogue::CATALOGUE.iter().map(|scheme| scheme.name);
    let run = at_the_same_time(schemes, with);
    for scheme in ["none", "snoop", "wtcp", "i-tcp", "cicada"] {
        assert!(run.contains(&Some(scheme)), "{run:?}");
    }
}

/// Calls with each of these, in a thread of its own.
fn at_the_same_time<T: Send, R: Send>(each: impl Iterator<Item = T>, call: impl Fn(T) -> R + Sync) -> Vec<R> {
    let call = &call;
    thread::scope(|scope| {
        let running: Vec<_> = each.map(|one| scope.spawn(move || call(one))).collect();
        running.into_iter().map(|one| one.join().expect("it ends well")).collect()
    })
}

/// The gateway's machine is a router with a narrow link itself.
fn narrow_the_wire(hosts: &Hosts) {
    let commands = [
        format!("route replace 10.77.1.0/24 dev core mtu {MTU}"),
        format!("route replace fd77:1::/64 dev core metric 256 mtu {MTU}"),
    ];
    hosts.gateway.ip(&commands.each_ref().map(String::as_str)).expect("routes");
}

/// ICMP errors that this thread's namespace has received: destinations unreachable of IPv4, packets too big of
/// IPv6.
fn errors_heard() -> io::Result<[u64; 2]> {
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

/// One transfer: who has heard of the path's MTU asks for no larger segments the next time.
fn transfer(hosts: &Hosts, far: &Namespace, address: &str, is_upload: bool) {
    let Flow { server, client } = Flow::between(&hosts.server, far, address);
    let flow = if is_upload { Flow { server: client, client: server } } else { Flow { server, client } };
    flow.download(OCTETS);
}

const TRANSFERS: [(&str, bool); 4] = [(SERVER, false), (SERVER, true), (SERVER_V6, false), (SERVER_V6, true)];

fn routers_that_say_so_behind_the_hop_and_before_it() {
    for (server, is_upload) in TRANSFERS {
        with_each_scheme(|hosts, far| {
            narrow_the_wire(hosts);
            transfer(hosts, far, server, is_upload);
        });
    }
}

fn a_link_that_drops_larger_packets_in_silence() {
    with_each_scheme(|hosts, far| {
        // What is left to the ends, they find out by themselves.
        hosts.server.sysctl("ipv4/tcp_mtu_probing", "1").expect("a setting");
        // The router in front of the link does not say that packets are too big.
        for (family, network) in [("-4", "10.77.1.0/24"), ("-6", "fd77:1::/64")] {
            let rule = [family, "rule", "add", "iif", "lo", "to", network, "blackhole"];
            let status = hosts.client.enter(|| Command::new("ip").args(rule).status()).expect("enter");
            assert!(status.is_ok_and(|status| status.success()), "{rule:?}");
        }
        let servers = [SERVER, SERVER_V6].into_iter();
        at_the_same_time(servers, |server| transfer(hosts, far, server, false));
        let heard = hosts.server.enter(errors_heard).expect("enter").expect("counters");
        assert_eq!(heard, [0, 0], "the server has heard of the link");
    });
}

fn a_network_that_cannot_be_reached_is_refused_at_once() {
    with_each_scheme(|hosts, _| {
        hosts
            .gateway
            .ip(&["route add unreachable 10.77.9.0/24", "route add prohibit 10.77.10.0/24"])
            .expect("routes");
        // 15 seconds: who is told nothing fails with another error.
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

fn the_messages_of_either_side_come_to_user_space_and_go_on() {
    for (server, is_upload) in TRANSFERS {
        let hosts = Hosts::routed();
        let far = hosts.behind_client(MTU);
        narrow_the_wire(&hosts);
        let open = || Divert::open(&radio(), &Selection::default()).expect("it opens");
        let running = Loop::start(&hosts.gateway, None, open);
        transfer(&hosts, &far, server, is_upload);
        assert!(Seen::count(&running.seen.not_tcp) > 0, "{server}, an upload: {is_upload}");
        running.end();
    }
}
