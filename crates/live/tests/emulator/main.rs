//! The emulator between real hosts. Needs root; skipped loudly elsewhere.

mod control;
mod hosts;
mod leftovers;
mod stream;
#[path = "../hosts/tries.rs"]
mod tries;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use lasthop_live::emulator::Options;

use hosts::{Hosts, direction, skipped, world};

/// Sends `octets` over a TCP connection from the far host to the near one, and returns what came.
fn download(hosts: &Hosts, address: &'static str, octets: &[u8]) -> Vec<u8> {
    let listener = hosts.far.enter(|| TcpListener::bind(address).expect("a free port")).expect("enter");
    std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().expect("a connection").0.write_all(octets).expect("a reader"));
        let mut stream = hosts.near.enter(|| TcpStream::connect(address).expect("reachable")).expect("enter");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("a whole stream");
        received
    })
}

#[test]
fn tcp_through_a_lossy_hop_arrives_intact_over_ipv4_and_ipv6() {
    if skipped() {
        return;
    }
    let (world, ends, _) = world(1, &direction(50, 1.0), Duration::from_millis(2));
    let (hosts, emulator) = Hosts::around(world, ends, true);
    let running = emulator.spawn(Options::default()).expect("a thread");
    let octets: Vec<u8> = (0..500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for address in ["192.0.2.2:5000", "[2001:db8::2]:5000"] {
        assert!(download(&hosts, address, &octets) == octets, "{address}");
    }
    let summary = running.stop().expect("it ran");
    assert!(summary.dropped["wired loss"] > 0 && summary.packets_refused == 0, "{summary:?}");
    assert_eq!(summary.lateness.count, summary.packets_handed_out);
}
