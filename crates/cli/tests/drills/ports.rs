//! Interfaces that go down, and that vanish.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, echo};

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
        let before = daemon.received();
        pulse.assert_it_goes_on();
        assert!(daemon.received() > before, "it is in the path still");
        let beats = pulse.end();
        eprintln!("down for 200 ms, {kind:?}: longest gap {:?}", beats.longest_gap);
    }
}

pub fn when_a_radio_interface_vanishes_the_daemon_ends_and_says_so_and_may_come_back_with_it() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut daemon = Daemon::start(&site.gateway, "");
    echo(&site, 1, 10_000);
    site.gateway.ip(&["link delete radio"]).expect("it is there");
    assert_eq!(daemon.wait().code(), Some(1), "{}", daemon.log());
    assert!(daemon.log().contains("the interface radio has disappeared"), "{}", daemon.log());
    site.assert_no_traces();

    site.join("radio", &site.client);
    site.gateway.ip(&["address add 10.77.2.1/24 dev radio"]).expect("an address");
    site.client.ip(&["address add 10.77.2.2/24 dev eth"]).expect("an address");
    site.client.ip(&["route add default via 10.77.2.1"]).expect("a route");
    daemon.start_again(&site.gateway);
    echo(&site, 1, 10_000);
    assert!(daemon.received() > 0);
}

pub fn when_a_core_interface_vanishes_the_daemon_ends_and_says_so_or_goes_on() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut daemon = Daemon::start(&site.gateway, "");
    echo(&site, 1, 10_000);
    site.gateway.ip(&["link delete core"]).expect("it is there");
    thread::sleep(Duration::from_millis(1_300));
    // Whether it has something there is the backend's business.
    if daemon.is_running() {
        daemon.status();
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0), "{}", daemon.log());
    } else {
        assert_eq!(daemon.wait().code(), Some(1), "{}", daemon.log());
        assert!(daemon.log().contains("the interface core has disappeared"), "{}", daemon.log());
    }
    site.assert_no_traces();
}
