//! Tests that an emulation leaves nothing behind.

use std::process::Command;

use lasthop_emulator::client_side::ClientSide;
use lasthop_emulator::directory::Directory;
use lasthop_emulator::machine::Machine;
use lasthop_emulator::masquerade::Masquerade;
use lasthop_emulator::{Device, Emulator, End, Options, Peer};
use lasthop_linux::namespace::Namespace;
use std::time::Duration;

use crate::hosts::{direction, world};

/// The devices, the rules of address translation and the forwarding of a machine.
fn traces(machine: &Namespace) -> [String; 3] {
    let links = machine.ip(&["link show"]).expect("it can be asked");
    let rules = || Command::new("nft").args(["list", "ruleset"]).output();
    let rules = machine.enter(rules).expect("enter").map(|output| output.stdout).unwrap_or_default();
    let read = |device: &str| {
        std::fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{device}/forwarding")).expect("Linux has it")
    };
    let forwarding = || ["all", "eth0"].map(read).concat();
    let forwarding = machine.enter(forwarding).expect("enter");
    [links, String::from_utf8_lossy(&rules).into_owned(), forwarding]
}

/// A machine with a network device, on which forwarding is disabled.
fn machine() -> Namespace {
    let machine = Namespace::new("machine").expect("root");
    machine.ip(&["link add eth0 type veth peer name eth1", "link set eth0 up"]).expect("a pair of devices");
    machine.sysctl("ipv4/ip_forward", "0").expect("it is there");
    machine
}

pub fn dropping_the_client_side_removes_all_its_traces() {
    let machine = machine();
    let before = traces(&machine);
    let (hop, near, far) = machine
        .enter(|| ClientSide::new(Directory::for_root(), &Machine::Here))
        .expect("enter")
        .expect("root");
    // Without nft and iptables there is nothing to undo.
    let masquerade = Masquerade::start(&hop);
    assert_eq!(masquerade.is_ok(), traces(&machine)[2] == "0\n1\n", "{masquerade:?}");
    let (_, second, _) = machine
        .enter(|| ClientSide::new(Directory::for_root(), &Machine::Here))
        .expect("enter")
        .expect("a second one has its own subnet");
    drop(second);

    let (world, [near_node, far_node], _) = world(1, &direction(50, 0.0), Duration::from_millis(1));
    let ends = vec![
        End { node: near_node, peer: Peer::Node(far_node), device: near },
        End { node: far_node, peer: Peer::Node(near_node), device: far },
    ];
    let running = Emulator::new(world, ends).spawn(Options::default()).expect("a thread");
    assert_ne!(traces(&machine)[0], before[0]);
    drop((running, masquerade));
    assert_eq!(traces(&machine), before);
}

/// The rules of `iptables` that translate addresses; `None` without `iptables`.
fn translations(machine: &Namespace) -> Option<String> {
    let list = || Command::new("iptables").args(["-t", "nat", "-S"]).output();
    let output = machine.enter(list).expect("enter").ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn the_next_start_removes_iptables_rules_of_killed_emulations() {
    let machine = machine();
    let add = |subnet: &str, device: &str| {
        let rule = ["-t", "nat", "-A", "POSTROUTING", "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"];
        let done = machine.enter(|| Command::new("iptables").args(rule).status()).expect("enter");
        assert!(done.expect("it has just been there").success());
    };
    let (hop, _near, _far) = machine
        .enter(|| ClientSide::new(Directory::for_root(), &Machine::Here))
        .expect("enter")
        .expect("root");
    machine.ip(&["tuntap add lasthop77 mode tap"]).expect("an ordinary device");
    let own = hop.subnet();
    for (subnet, device) in [
        ("100.64.88.0/30", "lasthop88"),
        (own.as_str(), hop.device.as_str()),
        ("100.64.77.0/30", "lasthop77"),
        ("10.9.0.0/16", "eth0"),
    ] {
        add(subnet, device);
    }
    // The record that forwarding was disabled on device 7 before the emulation at lasthop88.
    let record = || Command::new("iptables").args(["-t", "nat", "-N", "lasthop88_was_off_7"]).status();
    assert!(machine.enter(record).expect("enter").expect("it has just been there").success());
    machine.sysctl("ipv4/conf/eth0/forwarding", "1").expect("it is there");
    let masquerade = Masquerade::start(&hop).expect("nft or iptables");
    drop(masquerade);
    // The emulation at lasthop77 disables forwarding at its end.
    assert_eq!(traces(&machine)[2], "0\n1\n");
    let left = translations(&machine).expect("it is there");
    assert!(left.contains("-N lasthop77_was_off_7"), "{left}");
    assert!(!left.contains("lasthop88"), "its device is gone: {left}");
    assert!(!left.contains(&hop.device), "it had our device's name before: {left}");
    assert!(left.contains("lasthop77"), "somebody is at work there: {left}");
    assert!(left.contains("eth0"), "that is not ours: {left}");
}

pub fn a_device_that_is_down_or_gone_loses_packets_and_nothing_else() {
    let host = Namespace::new("host").expect("root");
    let device = Device::tap_in(&host, "hop").expect("TAP devices are to be had");
    let (world, [node, peer], _) = world(1, &direction(50, 0.0), Duration::from_millis(1));
    let running =
        Emulator::new(world, vec![End { node, peer: Peer::Node(peer), device }]).spawn(Options::default());
    let running = running.expect("a thread");
    host.ip(&["link delete hop"]).expect("it is there");
    std::thread::park_timeout(Duration::from_millis(50));
    assert!(running.is_alive());
    assert_eq!(running.stop().expect("it ran").packets_handed_out, 0);
}
