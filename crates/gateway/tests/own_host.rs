//! TCP of the gateway's own host, to and from clients behind its radio interface: the tc backend
//! leaves it as it is.
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
            its_connections_never_come_to_us_in_either_direction,
            its_address_on_a_bridge_is_its_own_and_others_are_not,
            each_segment_is_stamped_once_at_each_stage,
            what_waits_at_the_radio_interface_is_charged_to_its_socket,
            its_pace_is_kept;
        [namespaces, nft]:
            a_connection_that_is_redirected_to_it_is_its_own;
    })
}

fn start(hosts: &Hosts) -> Loop {
    Loop::start(&hosts.gateway, None, || Divert::open(&radio(), &Selection::default()).expect("it opens"))
}

/// A connection from the client to a server, and one the other way, each with data in both
/// directions: so many frames come to us.
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

/// A client's SYN may be for anybody; on a busy machine it comes twice.
const SYNS: u64 = 2;

fn its_connections_never_come_to_us_in_either_direction() {
    let hosts = Hosts::routed();
    for [own, client] in [["10.77.2.1:5000", "10.77.2.2:5001"], ["[fd77:2::1]:5000", "[fd77:2::2]:5001"]] {
        let frames = frames_of(&hosts, [(&hosts.gateway, own), (&hosts.client, client)]);
        assert!(frames[0] <= SYNS && frames[1] == 0, "{own}: {frames:?}");
    }
}

fn its_address_on_a_bridge_is_its_own_and_others_are_not() {
    let hosts = Hosts::bridged();
    hosts.gateway.ip(&["address add 10.77.1.1/24 dev lan"]).expect("an address");
    let client = (&hosts.client, "10.77.1.3:5001");
    let own = frames_of(&hosts, [(&hosts.gateway, "10.77.1.1:5000"), client]);
    assert!(own[0] <= SYNS && own[1] == 0, "{own:?}");
    // Frames of another namespace cross the bridge with their socket.
    let others = frames_of(&hosts, [(&hosts.server, SERVER), client]);
    assert!(others.iter().all(|frames| *frames > 20), "{others:?}");
}

/// A local proxy: the client means the server, and the gateway answers in its name.
fn a_connection_that_is_redirected_to_it_is_its_own() {
    let hosts = Hosts::routed();
    let rule = "add table ip nat; add chain ip nat in { type nat hook prerouting priority -100; }; \
                add rule ip nat in iifname radio tcp dport 5000 redirect to :5002";
    let nft = hosts.gateway.enter(|| Command::new("nft").arg(rule).output()).expect("enter");
    assert!(nft.expect("it is installed").status.success());
    let running = start(&hosts);
    let flow = Flow::by_way_of((&hosts.gateway, "10.77.2.1:5002"), &hosts.client, SERVER);
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
    // One too many would come at the same time, not later.
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    running.end();
}

/// TCP's small-queue limit goes by it.
fn what_waits_at_the_radio_interface_is_charged_to_its_socket() {
    let hosts = Hosts::routed();
    let shape = "qdisc add dev radio root tbf rate 100kbit burst 3000 limit 1000000";
    let shaped = hosts.gateway.enter(|| Command::new("tc").args(shape.split(' ')).output()).expect("enter");
    assert!(shaped.as_ref().is_ok_and(|output| output.status.success()), "{shaped:?}");
    let running = start(&hosts);
    let Flow { mut server, client } = Flow::between(&hosts.gateway, &hosts.client, "10.77.2.1:5000");
    server.write_all(&[7; 14_000]).expect("there is room");
    // That takes 1.1 s at 100 kbit/s.
    assert!(charged(&server) > 5_000, "{} octets", charged(&server));
    drop(client);
    running.end();
}

fn its_pace_is_kept() {
    const RATE: u32 = 1_000_000;
    const OCTETS: usize = 300_000;
    let hosts = Hosts::routed();
    let running = start(&hosts);
    let Flow { mut server, mut client } = Flow::between(&hosts.gateway, &hosts.client, "10.77.2.1:5000");
    limit_pace(&server, RATE);
    let began = Instant::now();
    let sender = thread::spawn(move || server.write_all(&vec![7; OCTETS]).expect("it is read"));
    client.read_exact(&mut vec![0; OCTETS]).expect("it arrives");
    // Never much earlier, but for what a sender may send at first without a pause, its initial window.
    // The kernel makes up for timers that were late, by up to half of each pause
    // (`tcp_update_skb_after_send`). Without a pace it takes some milliseconds.
    let least = Duration::from_secs_f64((OCTETS - 20_000) as f64 / f64::from(RATE)) / 2;
    assert!(began.elapsed() > least, "{:?}", began.elapsed());
    sender.join().expect("it is well");
    running.end();
}
