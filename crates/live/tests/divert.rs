//! The tc backend with real TCP through it. Needs root; skipped loudly elsewhere.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod hosts;

use std::time::Duration;

use hosts::{Flow, Hosts, Loop, SERVER, SERVER_V6, Seen, is_skipped, ports};
use lasthop_live::io::Selection;
use lasthop_live::io::divert::{Attachment, Divert};

fn open() -> Divert {
    Divert::open(ports(), &Selection::default()).expect("it opens")
}

#[test]
fn bulk_tcp_arrives_in_super_packets() {
    if is_skipped() {
        return;
    }
    let hosts = Hosts::routed();
    let running = Loop::start(&hosts.gateway, None, open);
    for server in [SERVER, SERVER_V6] {
        hosts.download(server, 20_000_000);
    }
    let seen = &running.seen;
    assert!(Seen::count(&seen.super_packets) > 100, "GSO survives");
    assert_eq!(Seen::count(&seen.lost) + Seen::count(&seen.not_tcp) + Seen::count(&seen.untouched), 0);
    running.end();
}
