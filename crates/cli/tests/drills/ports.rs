//! Interfaces that go down, and that vanish.

use std::thread;
use std::time::{Duration, Instant};

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, echo};

#[test]
fn a_port_that_goes_down_and_up_again_costs_that_time() {
    let _alone = alone();
    for kind in [Kind::Routed, Kind::Bridged] {
        let Some(site) = Site::new(kind) else { return };
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

#[test]
fn when_a_port_vanishes_the_daemon_ends_or_says_so_and_nothing_hangs() {
    let _alone = alone();
    for port in ["radio", "core"] {
        let Some(site) = Site::new(Kind::Routed) else { return };
        let mut daemon = Daemon::start(&site.gateway, "");
        echo(&site, 1, 10_000);
        let delete = format!("link delete {port}");
        site.gateway.ip(&[&delete]).expect("it is there");
        let began = Instant::now();
        while daemon.is_running() && began.elapsed() < Duration::from_secs(2) {
            thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{port} deleted: running {}, {}", daemon.is_running(), daemon.log());
        assert_eq!(daemon.wait().code(), Some(1), "{}", daemon.log());
        assert!(daemon.log().contains(port), "{}", daemon.log());
        site.assert_no_traces();

        // It comes back, as it does when a driver is loaded again, and so may the daemon.
        let peer = if port == "radio" { &site.client } else { &site.server };
        site.join(port, peer);
        site.configure(Kind::Routed);
        daemon.start_again(&site.gateway);
        echo(&site, 1, 10_000);
        assert!(daemon.received() > 0);
    }
}
