//! Interfaces that go down, and that vanish.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, echo, soon};

pub fn a_port_that_goes_down_and_up_again_costs_that_time() {
    let _alone = alone();
    for kind in [Kind::Routed, Kind::Bridged] {
        let site = Site::new(kind);
        let mut daemon = Daemon::start(&site.gateway, "");
        let pulse = Pulse::start(&site);
        for port in ["radio", "core"] {
            thread::sleep(Duration::from_millis(200));
            let down = format!("link set {port} down");
            site.gateway.ip(&[&down]).expect("it is there");
            thread::sleep(Duration::from_millis(200));
            assert!(daemon.is_running(), "{}", daemon.log());
            let up = format!("link set {port} up");
            site.gateway.ip(&[&up]).expect("it is there");
            pulse.assert_it_goes_on();
        }
        daemon.is_in_the_path(&site);
        let beats = pulse.end();
        eprintln!("down for 200 ms, {kind:?}: longest gap {:?}", beats.longest_gap);
    }
}

pub fn a_radio_interface_that_vanishes_is_waited_for_and_taken_up_again() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut daemon = Daemon::start(&site.gateway, "");
    echo(&site, 1, 10_000);
    site.gateway.ip(&["link delete radio"]).expect("it is there");
    let fault = "the interface radio has disappeared";
    let faults = || daemon.status()["report"]["faults"].clone();
    soon(|| if faults()[0] == fault { Ok(()) } else { Err(faults().to_string()) });
    assert!(daemon.log().contains(fault), "{}", daemon.log());

    site.join("radio", &site.client);
    site.gateway.ip(&["address add 10.77.2.1/24 dev radio"]).expect("an address");
    site.client.ip(&["address add 10.77.2.2/24 dev eth"]).expect("an address");
    site.client.ip(&["route add default via 10.77.2.1"]).expect("a route");
    soon(|| if faults()[0].is_null() { Ok(()) } else { Err(faults().to_string()) });
    daemon.is_in_the_path(&site);
    let log = daemon.log();
    let warnings: Vec<&str> = log.lines().skip_while(|line| !line.contains(fault)).skip(1).collect();
    // On a busy machine the packet loop may pause, and say so.
    let is_of_load =
        |line: &&str| line.contains("the packet loop did not run") || line.contains("stepped in again");
    let warnings: Vec<&str> =
        warnings.into_iter().filter(|line| line.contains("WARN") && !is_of_load(line)).collect();
    assert!(matches!(warnings[..], [only] if only.contains("the ports are whole again")), "{warnings:?}");
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
    site.assert_no_traces();
}

pub fn a_core_interface_that_vanishes_does_not_end_the_daemon() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut daemon = Daemon::start(&site.gateway, "");
    echo(&site, 1, 10_000);
    site.gateway.ip(&["link delete core"]).expect("it is there");
    thread::sleep(Duration::from_millis(1_300));
    assert!(daemon.is_running(), "{}", daemon.log());
    daemon.status();
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
    site.assert_no_traces();
}

pub fn a_device_that_is_set_down_costs_that_time_and_is_told() {
    let _alone = alone();
    for kind in [Kind::Routed, Kind::Bridged] {
        let site = Site::new(kind);
        let daemon = Daemon::start(&site.gateway, "");
        let pulse = Pulse::start(&site);
        pulse.assert_it_goes_on();
        for device in ["lasthop0", "lasthop1"] {
            let steps_out = || daemon.count("/punctuality/steps_out_by_ports");
            let before = steps_out();
            site.gateway.ip(&[&format!("link set {device} down")]).expect("it is there");
            pulse.assert_it_goes_on();
            soon(|| if steps_out() > before { Ok(()) } else { Err("it has not noticed".into()) });
            daemon.is_in_again();
        }
        assert!(
            daemon.log().contains("stepped out, because the device lasthop0 is down"),
            "{}",
            daemon.log()
        );
        assert!(daemon.log().contains("stepped in again"), "{}", daemon.log());
        daemon.is_in_the_path(&site);
        let beats = pulse.end();
        eprintln!("devices set down, {kind:?}: longest gap {:?}", beats.longest_gap);
    }
}
