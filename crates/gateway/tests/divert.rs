//! Tests of the tc backend with real TCP.

mod hosts;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use lasthop_needs::{namespaces, tests};

use hosts::{Flow, Hosts, Loop, SERVER, SERVER_V6, Seen, nft, radio, without_sack};
use lasthop_agent::Side;
use lasthop_gateway::io::claim::ClaimError;
use lasthop_gateway::io::divert::{Attachment, Divert, DivertError};
use lasthop_gateway::io::{LONGEST_WAIT, PacketIo, PortId, Selection};
use lasthop_linux::clock;
use lasthop_linux::namespace::Namespace;
use lasthop_packet::FlowKey;

fn main() -> ExitCode {
    if let Some(how) = hosts::task_of_child() {
        run_killed_process(&how);
    }
    lasthop_needs::run(tests! {
        [namespaces]:
            bulk_tcp_arrives_in_super_packets_of_both_families,
            frames_of_one_segment_and_edited_ones_arrive,
            both_directions_pair_up_on_a_bridge,
            traffic_that_is_not_selected_is_not_diverted,
            possible_rtp_is_diverted_if_datagrams_are_selected,
            datagrams_that_are_set_aside_pass,
            a_flow_that_is_set_aside_passes_until_a_new_one_uses_its_ports,
            a_connection_survives_a_loop_that_hangs,
            a_connection_survives_a_process_that_is_killed_and_another_may_start,
            the_test_of_the_backend_succeeds_and_leaves_nothing,
            a_device_with_a_full_queue_is_not_treated_as_broken,
            a_port_is_read_although_another_port_has_more_than_a_batch,
            programs_that_are_removed_are_attached_again,
            frames_with_vlan_tags_are_diverted_complete_and_forwarded,
            frames_of_pppoe_are_not_diverted,
            errors_name_what_is_missing;
        [namespaces, nft]:
            both_directions_pair_up_behind_address_translation;
    })
}

/// The client, at a port without a listener.
const CLOSED_PORT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(10, 77, 2, 2), 9));

const BULK: usize = 5_000_000;

/// The maximum time without arrivals around a kill or a hang. Frames are lost for 60 ms at most;
/// then the sender has to retransmit, and it doubles its time-outs.
const LONGEST_GAP: Duration = Duration::from_millis(200);

fn open() -> Divert {
    Divert::open(&radio(), &Selection::default()).expect("it opens")
}

fn bulk_tcp_arrives_in_super_packets_of_both_families() {
    let hosts = Hosts::routed();
    let running = Loop::start(&hosts.gateway, None, open);
    for server in [SERVER, SERVER_V6] {
        hosts.download(server, BULK);
    }
    let seen = &running.seen;
    assert!(Seen::count(&seen.super_packets) > 50, "GSO survives");
    assert_eq!(Seen::count(&seen.lost) + Seen::count(&seen.not_tcp) + Seen::count(&seen.untouched), 0);
    running.end();
    assert_nothing_is_left(&hosts.gateway);
}

fn assert_nothing_is_left(gateway: &Namespace) {
    hosts::assert_soon(|| {
        let links = gateway.ip(&["link show"]).expect("ip");
        let bpf = gateway.enter(|| Command::new("bpftool").arg("net").output()).expect("enter");
        // Without bpftool, only the devices are checked.
        let bpf = bpf.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
        let disciplines = gateway.enter(|| Command::new("tc").arg("qdisc").output()).expect("enter");
        let disciplines =
            disciplines.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
        let all = links + &bpf + &disciplines;
        if all.contains("lasthop") || all.contains("clsact") { Err(all) } else { Ok(()) }
    });
}

fn frames_of_one_segment_and_edited_ones_arrive() {
    let hosts = Hosts::routed().without_super_packets();
    let running = Loop::start(&hosts.gateway, Some(without_sack), open);
    for server in [SERVER, SERVER_V6] {
        hosts.download(server, BULK / 4);
    }
    assert!(Seen::count(&running.seen.frames) > 1000);
    assert!(Seen::count(&running.seen.edited) > 100);
    running.end();
}

/// Downloads, and asserts that both directions of each connection were diverted, each from its side
/// and with the client's own address.
fn assert_pairs_up(hosts: &Hosts, server: (&Namespace, &str), client: &str) {
    let running = Loop::start(&hosts.gateway, None, open);
    Flow::between(server.0, &hosts.client, server.1).download(BULK);
    assert!(Seen::count(&running.seen.super_packets) > 50);
    assert_eq!(Seen::count(&running.seen.lost) + Seen::count(&running.seen.untouched), 0);
    assert_eq!(running.seen.two_way(client), [server.1.parse().expect("an address")]);
    running.end();
}

fn both_directions_pair_up_on_a_bridge() {
    let hosts = Hosts::bridged();
    assert_pairs_up(&hosts, (&hosts.server, SERVER), "10.77.1.3");
}

fn both_directions_pair_up_behind_address_translation() {
    let hosts = Hosts::routed();
    hosts.server.ip(&["route del default"]).expect("no way back to the client's own address");
    hosts.masquerade();
    assert_pairs_up(&hosts, (&hosts.server, SERVER), "10.77.2.2");
}

fn traffic_that_is_not_selected_is_not_diverted() {
    let hosts = Hosts::routed();
    let excluded = |port, prefix: &str| Selection {
        excluded_ports: port,
        excluded_prefixes: prefix.parse().into_iter().collect(),
        ..Selection::default()
    };
    let only = |port, prefix: &str| Selection {
        ports: port,
        prefixes: prefix.parse().into_iter().collect(),
        ..Selection::default()
    };
    for (selection, is_seen) in [
        (Selection::default(), true),
        (excluded(vec![22, 5000], ""), false),
        (excluded(vec![22], ""), true),
        (excluded(vec![], "10.77.1.0/24"), false),
        (excluded(vec![], "10.78.0.0/16"), true),
        (excluded(vec![], "fd77::/16"), true),
        (only(vec![5000], ""), true),
        (only(vec![80, 443], ""), false),
        (only(vec![], "10.77.2.2"), true),
        (only(vec![5000], "10.99.0.0/16"), false),
    ] {
        let what = format!("{selection:?}");
        let running =
            Loop::start(&hosts.gateway, None, move || Divert::open(&radio(), &selection).expect("open"));
        hosts.ping_and_datagram();
        // The end of the previous connection may arrive only now, but it is TCP.
        let others = Seen::count(&running.seen.not_tcp) + Seen::count(&running.seen.untouched);
        assert_eq!(others, 0, "UDP and ICMP are not for us");
        let before = Seen::count(&running.seen.frames);
        drop(Flow::open(&hosts, SERVER));
        assert_eq!(Seen::count(&running.seen.frames) > before, is_seen, "{what}");
        running.end();
    }
}

fn possible_rtp_is_diverted_if_datagrams_are_selected() {
    let hosts = Hosts::routed();
    for (datagrams, excluded_ports, are_seen) in
        [(true, vec![], true), (true, vec![7000], false), (false, vec![], false)]
    {
        let selection = Selection { datagrams, excluded_ports, ..Selection::default() };
        let running =
            Loop::start(&hosts.gateway, None, move || Divert::open(&radio(), &selection).expect("open"));
        hosts.ping_and_datagram();
        assert_eq!(Seen::count(&running.seen.not_tcp), 0, "they begin as QUIC does, or text");
        hosts.exchange_datagrams(&[0x80; 172]);
        let expected = if are_seen { 2 } else { 0 };
        assert_eq!(Seen::count(&running.seen.not_tcp), expected, "one of each direction");
        assert_eq!(running.seen.two_way("10.77.2.2").len(), expected as usize / 2);
        running.end();
    }
}

fn datagrams_that_are_set_aside_pass() {
    let hosts = Hosts::routed();
    let mut gateway = hosts
        .gateway
        .enter(|| {
            let selection = Selection { datagrams: true, ..Selection::default() };
            Divert::open(&radio(), &selection).expect("it opens")
        })
        .expect("enter");
    let count = |gateway: &Divert| gateway.counters().expect("they can be read");
    hosts.exchange_datagrams(&[0x80; 172]);
    assert_eq!(count(&gateway).stale, 2, "without a heartbeat they pass");
    let end = |address: &str| (address.parse().expect("an address"), 7000);
    gateway.set_aside(FlowKey::tcp(end("10.77.1.2"), end("10.77.2.2")));
    hosts.exchange_datagrams(&[0x80; 172]);
    assert_eq!(count(&gateway).stale, 4, "TCP on the same ports is something else");
    gateway.set_aside(FlowKey::udp(end("10.77.1.2"), end("10.77.2.2")));
    hosts.exchange_datagrams(&[0x80; 172]);
    let counters = count(&gateway);
    assert_eq!((counters.stale, counters.aside), (4, 2));
    for _ in 0..2 {
        gateway.divert_again(FlowKey::udp(end("10.77.2.2"), end("10.77.1.2")));
        hosts.exchange_datagrams(&[0x80; 172]);
    }
    let counters = count(&gateway);
    assert_eq!((counters.stale, counters.aside), (8, 2), "taken back, and no error a second time");
    hosts.gateway.enter(|| drop(gateway)).expect("enter");
}

fn a_flow_that_is_set_aside_passes_until_a_new_one_uses_its_ports() {
    let hosts = Hosts::routed();
    let mut gateway = hosts.gateway.enter(open).expect("enter");
    let count = |gateway: &Divert| gateway.counters().expect("they can be read");
    let flow = FlowKey::tcp(
        ("10.77.1.2".parse().expect("an address"), 5000),
        ("10.77.2.2".parse().expect("an address"), 6000),
    );
    // Without a heartbeat, all frames pass, and those that would be diverted are counted as stale.
    let mut connection = Flow::open(&hosts, SERVER);
    let before = count(&gateway);
    assert!(before.stale > 0 && before.diverted == 0, "{before:?}");
    let port = connection.client.local_addr().expect("it is bound").port();
    gateway.set_aside(FlowKey { destination: (flow.destination.0, port), ..flow });
    connection.exchange();
    let after = count(&gateway);
    assert!(after.aside > 0 && after.stale == before.stale, "{after:?}");
    drop(connection);
    drop(Flow::open(&hosts, SERVER));
    assert!(count(&gateway).stale > after.stale, "another connection is seen");
    hosts.gateway.enter(|| drop(gateway)).expect("enter");
}

fn a_connection_survives_a_loop_that_hangs() {
    for how in [Attachment::Newest, Attachment::Filters] {
        let hosts = Hosts::routed().with_hasty_server();
        lasthop_needs::assert_in_time("longest gap around a hang", LONGEST_GAP, || {
            let running = Loop::start(&hosts.gateway, None, move || {
                Divert::open_with(&radio(), &Selection::default(), how).expect("it opens")
            });
            let seen = &running.seen;
            let (gap, octets) =
                Flow::open(&hosts, SERVER).longest_gap(Duration::from_millis(600), || seen.hang());
            assert!(octets > 1_000_000, "{octets}");
            running.end();
            assert_nothing_is_left(&hosts.gateway);
            gap
        });
    }
}

fn a_connection_survives_a_process_that_is_killed_and_another_may_start() {
    for how in ["tcx", "filters"] {
        let hosts = Hosts::routed().with_hasty_server();
        lasthop_needs::assert_in_time("longest gap around a kill", LONGEST_GAP, || {
            let mut child = hosts.child(how);
            let (gap, _) =
                Flow::open(&hosts, SERVER).longest_gap(Duration::from_millis(500), || child.kill());
            assert!(child.has_seen() > 0, "it was in the path");
            gap
        });
        let running = Loop::start(&hosts.gateway, None, open);
        hosts.download(SERVER, 100_000);
        assert!(Seen::count(&running.seen.frames) > 0, "{how}");
        running.end();
        assert_nothing_is_left(&hosts.gateway);
    }
}

fn run_killed_process(how: &str) -> ! {
    let how = if how == "filters" { Attachment::Filters } else { Attachment::Newest };
    let mut gateway = Divert::open_with(&radio(), &Selection::default(), how).expect("it opens");
    hosts::be_child(&mut gateway)
}

fn the_test_of_the_backend_succeeds_and_leaves_nothing() {
    let hosts = Hosts::wired();
    hosts.gateway.enter(Divert::try_out).expect("enter").expect("the tests of this file run, too");
    assert_nothing_is_left(&hosts.gateway);
}

#[expect(clippy::disallowed_methods, reason = "a device takes real time")]
fn a_device_with_a_full_queue_is_not_treated_as_broken() {
    let hosts = Hosts::routed();
    let segment_up = hosts.segments_up();
    let overloaded = || {
        let mut divert = open();
        let (mut frames, mut came) = (Vec::new(), 0);
        for turn in 0..12 {
            for _ in 0..30 {
                divert.heartbeat(clock::now());
                (0..100).for_each(|_| segment_up());
            }
            let faults = divert.faults(clock::now());
            assert!(faults.iter().all(|fault| !fault.loses_frames), "turn {turn}: {faults:?}");
            divert.receive(&mut frames).expect("the devices are there");
            came += frames.drain(..).count();
            thread::sleep(LONGEST_WAIT);
        }
        came
    };
    let came = hosts.gateway.enter(overloaded).expect("enter");
    assert!(came > 5000, "{came}: too few to pile up");
}

fn a_port_is_read_although_another_port_has_more_than_a_batch() {
    let hosts = Hosts::routed();
    let segment_up = hosts.segments_up();
    let segment_down = || {
        // The port has no listener. The first time, the hosts resolve each other's addresses.
        let connect = || TcpStream::connect_timeout(&CLOSED_PORT, Duration::from_millis(50)).map(drop);
        let _ = hosts.server.enter(connect).expect("enter");
    };
    let look = || {
        let mut divert = open();
        let mut frames = Vec::new();
        segment_down();
        divert.receive(&mut frames).expect("the devices are there");
        for _ in 0..30 {
            divert.heartbeat(clock::now());
            (0..100).for_each(|_| segment_up());
        }
        frames.clear();
        divert.receive(&mut frames).expect("the devices are there");
        let is_more_left = frames.len() > 1000;
        frames.clear();
        divert.heartbeat(clock::now());
        segment_down();
        divert.receive(&mut frames).expect("the devices are there");
        let is_down = |port: &PortId| divert.ports()[usize::from(port.0)].side == Side::Core;
        is_more_left && frames.iter().any(|(port, _)| is_down(port))
    };
    // If this thread has to wait between a heartbeat and a segment, the segment bypasses the
    // gateway.
    let is_read = (0..5).any(|_| hosts.gateway.enter(look).expect("enter"));
    assert!(is_read, "the other port was left waiting");
}

#[expect(clippy::disallowed_methods, reason = "a device takes real time")]
fn programs_that_are_removed_are_attached_again() {
    let hosts = Hosts::routed();
    let segment_up = hosts.segments_up();
    let look = || {
        let mut divert =
            Divert::open_with(&radio(), &Selection::default(), Attachment::Filters).expect("it opens");
        let mut comes = || {
            let now = clock::now();
            divert.heartbeat(now);
            let _ = divert.faults(now);
            segment_up();
            let mut frames = Vec::new();
            divert.receive(&mut frames).expect("the devices are there");
            thread::sleep(LONGEST_WAIT);
            !frames.is_empty()
        };
        hosts::assert_soon(|| if comes() { Ok(()) } else { Err("nothing comes".to_owned()) });
        let removed = Command::new("tc").args(["qdisc", "delete", "dev", "radio", "clsact"]).status();
        assert!(removed.expect("tc").success());
        comes();
        assert!(!comes(), "nothing is taken there");
        hosts::assert_soon(|| if comes() { Ok(()) } else { Err("nothing comes".to_owned()) });
    };
    hosts.gateway.enter(look).expect("enter");
    assert_nothing_is_left(&hosts.gateway);
}

fn frames_with_vlan_tags_are_diverted_complete_and_forwarded() {
    let hosts = Hosts::bridged();
    let running = Loop::start(&hosts.gateway, None, open);
    for tags in [&[0x81, 0, 0, 5][..], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5]] {
        let before = Seen::count(&running.seen.frames);
        hosts.send_tagged(tags);
        assert_eq!(Seen::count(&running.seen.frames), before + 1, "{tags:?}");
    }
    assert_eq!(Seen::count(&running.seen.untouched), 0);
    running.end();
}

fn frames_of_pppoe_are_not_diverted() {
    let hosts = Hosts::bridged();
    let running = Loop::start(&hosts.gateway, None, open);
    let before = Seen::count(&running.seen.frames);
    hosts.send_in_pppoe();
    assert_eq!(Seen::count(&running.seen.frames), before);
    running.end();
}

fn errors_name_what_is_missing() {
    let hosts = Hosts::routed();
    let open_on = |name: &str| {
        let radio = ["radio".to_owned(), name.to_owned()];
        hosts.gateway.enter(|| Divert::open(&radio, &Selection::default()).map(drop)).expect("enter")
    };
    let error = open_on("nonesuch").expect_err("there is none");
    assert!(matches!(error, DivertError::Claim(ClaimError::NoInterface { .. })), "{error}");
    let error = hosts.gateway.enter(|| {
        let first = open();
        let second = Divert::open(&radio(), &Selection::default()).expect_err("two are one too many");
        drop(first);
        second.to_string()
    });
    assert!(error.expect("enter").contains("another gateway is using the interface radio: process "));
    let waker_ends_a_wait = hosts.gateway.enter(|| {
        let mut gateway = open();
        let waker = gateway.waker();
        thread::scope(|scope| {
            scope.spawn(waker);
            gateway.wait(None)
        })
    });
    waker_ends_a_wait.expect("enter").expect("it waits");
}
