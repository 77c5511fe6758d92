//! Tests of the TUN backend with real TCP.

mod hosts;

use std::process::{Command, ExitCode};
use std::time::Duration;

use lasthop_needs::{namespaces, tests};

use hosts::{Flow, Hosts, Loop, SERVER, SERVER_V6, Seen, ports, without_sack};
use lasthop_gateway::io::Selection;
use lasthop_gateway::io::claim::ClaimError;
use lasthop_gateway::io::policy::{Policy, PolicyError};
use lasthop_linux::namespace::Namespace;

fn main() -> ExitCode {
    if hosts::task_of_child().is_some() {
        hosts::be_child(&mut open());
    }
    lasthop_needs::run(tests! {
        [namespaces]:
            bulk_tcp_arrives_in_super_packets_of_both_families,
            frames_of_one_segment_and_edited_ones_arrive,
            traffic_that_is_not_selected_is_not_diverted,
            a_connection_survives_a_process_that_is_killed_and_another_cleans_up,
            rules_of_others_for_the_port_are_kept,
            errors_name_what_is_missing;
    })
}

const BULK: usize = 5_000_000;

fn open() -> Policy {
    Policy::open(ports(), &Selection::default()).expect("it opens")
}

/// The rules of both families.
fn rules(gateway: &Namespace) -> String {
    let show = |family| {
        let output = gateway.enter(|| Command::new("ip").args([family, "rule"]).output()).expect("enter");
        String::from_utf8_lossy(&output.expect("ip").stdout).into_owned()
    };
    show("-4") + &show("-6")
}

fn assert_nothing_is_left(gateway: &Namespace) {
    hosts::assert_soon(|| {
        let all = gateway.ip(&["link show"]).expect("ip") + &rules(gateway);
        if all.contains("lasthop") || all.contains("lookup 2600") { Err(all) } else { Ok(()) }
    });
}

fn bulk_tcp_arrives_in_super_packets_of_both_families() {
    let hosts = Hosts::routed();
    // The strict reverse path check, which some distributions set.
    for interface in ["all", "default", "core", "radio"] {
        hosts.gateway.sysctl(&format!("ipv4/conf/{interface}/rp_filter"), "1").expect("a setting");
    }
    let running = Loop::start(&hosts.gateway, None, open);
    for server in [SERVER, SERVER_V6] {
        let before = Seen::count(&running.seen.super_packets);
        hosts.download(server, BULK);
        assert!(Seen::count(&running.seen.super_packets) > before + 50, "GSO survives");
    }
    let seen = &running.seen;
    assert_eq!(Seen::count(&seen.lost) + Seen::count(&seen.not_tcp) + Seen::count(&seen.untouched), 0);
    running.end();
    assert_nothing_is_left(&hosts.gateway);
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

fn traffic_that_is_not_selected_is_not_diverted() {
    let hosts = Hosts::routed();
    let prefixes = |text: &str| text.parse().into_iter().collect();
    let ports_only = |ports| Selection { ports, ..Selection::default() };
    for (selection, is_seen) in [
        (Selection::default(), true),
        (Selection { excluded_ports: vec![5000], ..Selection::default() }, false),
        (Selection { excluded_prefixes: prefixes("10.77.1.0/24"), ..Selection::default() }, false),
        (Selection { excluded_prefixes: prefixes("10.78.0.0/16"), ..Selection::default() }, true),
        (ports_only(vec![22, 5000]), true),
        (ports_only(vec![22]), false),
        (Selection { prefixes: prefixes("10.77.2.2"), ..ports_only(vec![5000]) }, true),
        (Selection { prefixes: prefixes("10.99.0.0/16"), ..ports_only(vec![5000]) }, false),
    ] {
        let what = format!("{selection:?}");
        let running =
            Loop::start(&hosts.gateway, None, move || Policy::open(ports(), &selection).expect("open"));
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

fn a_connection_survives_a_process_that_is_killed_and_another_cleans_up() {
    let hosts = Hosts::routed();
    lasthop_needs::assert_in_time("longest gap around a kill", Duration::from_millis(300), || {
        let mut child = hosts.child("policy");
        let (gap, _) = Flow::open(&hosts, SERVER).longest_gap(Duration::from_millis(500), || child.kill());
        assert!(child.has_seen() > 0, "it was in the path");
        assert!(rules(&hosts.gateway).contains("lookup 2600"), "its rules are there still, and lead nowhere");
        gap
    });
    let running = Loop::start(&hosts.gateway, None, open);
    hosts.download(SERVER, 100_000);
    assert!(Seen::count(&running.seen.frames) > 0);
    running.end();
    assert_nothing_is_left(&hosts.gateway);
}

fn rules_of_others_for_the_port_are_kept() {
    let hosts = Hosts::routed();
    // With priorities in our range, before and after our own rules.
    let others = ["26000", "26900"]
        .map(|priority| format!("rule add iif radio ipproto tcp priority {priority} lookup main"));
    hosts.gateway.ip(&others.each_ref().map(String::as_str)).expect("rules");
    let before = rules(&hosts.gateway);
    hosts.child("policy").kill();
    let running = Loop::start(&hosts.gateway, None, open);
    hosts.download(SERVER, 100_000);
    running.end();
    assert_nothing_is_left(&hosts.gateway);
    assert_eq!(rules(&hosts.gateway), before);
}

fn errors_name_what_is_missing() {
    let hosts = Hosts::routed();
    let mut wrong = ports();
    wrong[1].name = "nonesuch".into();
    let error = hosts.gateway.enter(|| Policy::open(wrong, &Selection::default())).expect("enter");
    assert!(
        matches!(error, Err(PolicyError::Claim(ClaimError::NoInterface { name, .. })) if name == "nonesuch")
    );
    let many = Selection { ports: (1..2000).collect(), ..Selection::default() };
    let error = hosts.gateway.enter(|| Policy::open(ports(), &many)).expect("enter").expect_err("too many");
    assert!(matches!(error, PolicyError::TooMany(7996)), "{error}");
    assert_nothing_is_left(&hosts.gateway);
}
