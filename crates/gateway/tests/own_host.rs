//! Tests that the tc backend does not divert TCP of the gateway's own host, to and from clients at
//! its radio interface.
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

mod hosts;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_gateway::io::Selection;
use lasthop_gateway::io::divert::Divert;
use lasthop_linux::namespace::Namespace;
use lasthop_needs::{namespaces, tests};

use hosts::sockets::{Stamp, charged, limit_pace, stamp_what_is_sent, stamps};
use hosts::{Flow, Hosts, Loop, SERVER, Seen, nft, radio};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            its_connections_are_not_diverted_in_either_direction,
            only_its_own_address_on_a_bridge_is_not_diverted,
            each_segment_is_stamped_once_at_each_stage,
            octets_queued_at_the_radio_interface_are_charged_to_their_socket,
            the_pacing_of_its_sockets_is_preserved;
        [namespaces, nft]:
            a_connection_redirected_to_a_local_proxy_is_not_diverted;
    })
}

fn start(hosts: &Hosts) -> Loop {
    Loop::start(&hosts.gateway, None, || Divert::open(&radio(), &Selection::default()).expect("it opens"))
}

/// The number of diverted frames of a connection from the client to a server, and of one in the
/// opposite direction, each with data both ways.
fn frames_of(hosts: &Hosts, ends: [(&Namespace, &str); 2]) -> [u64; 2] {
    let running = start(hosts);
    let counts = [[ends[0], ends[1]], [ends[1], ends[0]]].map(|[(server, address), (client, _)]| {
        let before = Seen::count(&running.seen.frames);
        let mut flow = Flow::between(server, client, address);
        for _ in 0..20 {
            flow.exchange();
        }
        flow.download(200_000);
        Seen::count(&running.seen.frames) - before
    });
    running.end();
    counts
}

/// The maximum number of a client's SYNs, which are diverted because their destination is not known
/// yet; on a busy machine the SYN is sent twice.
const SYNS: u64 = 2;

fn its_connections_are_not_diverted_in_either_direction() {
    let hosts = Hosts::routed();
    for [own, client] in [["10.77.2.1:5000", "10.77.2.2:5001"], ["[fd77:2::1]:5000", "[fd77:2::2]:5001"]] {
        let frames = frames_of(&hosts, [(&hosts.gateway, own), (&hosts.client, client)]);
        assert!(frames[0] <= SYNS && frames[1] == 0, "{own}: {frames:?}");
    }
}

fn only_its_own_address_on_a_bridge_is_not_diverted() {
    let hosts = Hosts::bridged();
    hosts.gateway.ip(&["address add 10.77.1.1/24 dev lan"]).expect("an address");
    let client = (&hosts.client, "10.77.1.3:5001");
    let own = frames_of(&hosts, [(&hosts.gateway, "10.77.1.1:5000"), client]);
    assert!(own[0] <= SYNS && own[1] == 0, "{own:?}");
    // Frames of another namespace cross the bridge with their socket.
    let others = frames_of(&hosts, [(&hosts.server, SERVER), client]);
    assert!(others.iter().all(|frames| *frames > 20), "{others:?}");
}

/// A local proxy: the client connects to the server, and the gateway's host answers in its name.
fn a_connection_redirected_to_a_local_proxy_is_not_diverted() {
    let hosts = Hosts::routed();
    let rule = "add table ip nat; add chain ip nat in { type nat hook prerouting priority -100; }; \
                add rule ip nat in iifname radio tcp dport 5000 redirect to :5002";
    let nft = hosts.gateway.enter(|| Command::new("nft").arg(rule).output()).expect("enter");
    assert!(nft.expect("it is installed").status.success());
    let running = start(&hosts);
    let flow = Flow::through((&hosts.gateway, "10.77.2.1:5002"), &hosts.client, SERVER);
    flow.download(1_000_000);
    assert!(Seen::count(&running.seen.frames) <= SYNS);
    running.end();
}

fn each_segment_is_stamped_once_at_each_stage() {
    const SEGMENTS: u32 = 50;
    let hosts = Hosts::routed();
    let running = start(&hosts);
    let Flow { mut server, mut client } = Flow::between(&hosts.gateway, &hosts.client, "10.77.2.1:5000");
    stamp_what_is_sent(&server);
    for _ in 0..SEGMENTS {
        server.write_all(&[7; 1000]).expect("it is sent");
        client.read_exact(&mut [0; 1000]).expect("it arrives");
    }
    let mut counts = BTreeMap::<Stamp, u32>::new();
    hosts::assert_soon(|| {
        for stamp in stamps(&server) {
            *counts.entry(stamp).or_default() += 1;
        }
        if counts.len() >= 2 * SEGMENTS as usize { Ok(()) } else { Err(format!("{counts:?}")) }
    });
    // A duplicate stamp would arrive at the same time, not later.
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    running.end();
}

/// TCP's small-queue limit depends on it.
fn octets_queued_at_the_radio_interface_are_charged_to_their_socket() {
    let hosts = Hosts::routed();
    let shape = "qdisc add dev radio root tbf rate 100kbit burst 3000 limit 1000000";
    let shaped = hosts.gateway.enter(|| Command::new("tc").args(shape.split(' ')).output()).expect("enter");
    assert!(shaped.as_ref().is_ok_and(|output| output.status.success()), "{shaped:?}");
    let running = start(&hosts);
    let Flow { mut server, client } = Flow::between(&hosts.gateway, &hosts.client, "10.77.2.1:5000");
    server.write_all(&[7; 14_000]).expect("there is room");
    // The transmission takes 1.1 s at 100 kbit/s.
    assert!(charged(&server) > 5_000, "{} octets", charged(&server));
    drop(client);
    running.end();
}

fn the_pacing_of_its_sockets_is_preserved() {
    const RATE: u32 = 1_000_000;
    const OCTETS: usize = 300_000;
    let hosts = Hosts::routed();
    let running = start(&hosts);
    let Flow { mut server, mut client } = Flow::between(&hosts.gateway, &hosts.client, "10.77.2.1:5000");
    limit_pace(&server, RATE);
    let began = Instant::now();
    let sender = thread::spawn(move || server.write_all(&vec![7; OCTETS]).expect("it is read"));
    client.read_exact(&mut vec![0; OCTETS]).expect("it arrives");
    // The minimum time, without the initial window, which is sent without a pause. The kernel
    // compensates for late timers by up to half of each pause (`tcp_update_skb_after_send`).
    // Without pacing, the transfer takes some milliseconds.
    let minimum = Duration::from_secs_f64((OCTETS - 20_000) as f64 / f64::from(RATE)) / 2;
    assert!(began.elapsed() > minimum, "{:?}", began.elapsed());
    sender.join().expect("it is well");
    running.end();
}
