//! A daemon that is killed, that hangs, that is told to end.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::alone;
use crate::hosts::{Daemon, Kind, Pulse, Site, echo};

/// Until a connection is under way, and after something happened to it.
const WHILE: Duration = Duration::from_millis(400);

/// What was sent just before is lost with the daemon, or lies in its queue. Its sender's own TCP finds out.
const LONGEST_AFTER_DEATH: Duration = Duration::from_millis(200);
/// A heartbeat of 100 ms goes stale, and a sender whose window is in the queue waits for its timer: 200 ms at least on Linux.
const LONGEST_AFTER_STOP: Duration = Duration::from_millis(400);

/// The longest gap of a connection while nothing happens is the machine's own.
fn assert_gap(what: &str, kind: Kind, pulse: Pulse, most: Duration) {
    let beats = pulse.end();
    eprintln!("{what}, {kind:?}: longest gap {:?} in {} octets", beats.longest_gap, beats.down);
    assert!(beats.longest_gap < most, "{what}, {kind:?}: {beats:?}");
}

#[test]
fn connections_go_on_when_the_daemon_is_killed_and_nothing_is_left_of_it() {
    let _alone = alone();
    for kind in Kind::ALL {
        let Some(site) = Site::new(kind) else { continue };
        let mut daemon = Daemon::start(&site.gateway, "");
        let pulse = Pulse::start(&site);
        thread::sleep(WHILE);
        assert!(daemon.received() > 100, "it is in the path");
        daemon.end(Signal::KILL);
        pulse.assert_it_goes_on();
        thread::sleep(WHILE);
        assert_gap("killed", kind, pulse, LONGEST_AFTER_DEATH);
        site.assert_no_traces();
        echo(&site, 3, 100_000);

        daemon.start_again(&site.gateway);
        echo(&site, 3, 100_000);
        assert!(daemon.received() > 0, "the next one is in the path");
    }
}

#[test]
fn connections_go_on_when_the_daemon_hangs_and_through_it_when_it_comes_to() {
    let _alone = alone();
    for kind in Kind::ALL {
        let Some(site) = Site::new(kind) else { continue };
        let daemon = Daemon::start(&site.gateway, "");
        let pulse = Pulse::start(&site);
        thread::sleep(WHILE);
        let before = daemon.received();
        assert!(before > 100, "it is in the path");
        daemon.signal(Signal::STOP);
        pulse.assert_it_goes_on();
        thread::sleep(WHILE);
        daemon.signal(Signal::CONT);
        pulse.assert_it_goes_on();
        thread::sleep(WHILE);
        assert_gap("stopped and continued", kind, pulse, LONGEST_AFTER_STOP);

        // A connection of its own: one that is left alone goes past the daemon.
        let before = daemon.received();
        echo(&site, 1, 10_000);
        daemon.sees_more_than(before);

        daemon.signal(Signal::STOP);
        thread::sleep(WHILE / 2);
        echo(&site, 3, 100_000);
        daemon.signal(Signal::CONT);
        assert_eq!(daemon.count("/lost"), 0);
    }
}

#[test]
fn a_hang_that_is_shorter_than_the_heartbeat_costs_nothing_but_time() {
    let _alone = alone();
    let Some(site) = Site::new(Kind::Routed) else { return };
    let daemon = Daemon::start(&site.gateway, "");
    let pulse = Pulse::start(&site);
    for _ in 0..8 {
        thread::sleep(Duration::from_millis(30));
        daemon.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(40));
        daemon.signal(Signal::CONT);
    }
    pulse.assert_it_goes_on();
    assert_gap("stopped again and again", Kind::Routed, pulse, LONGEST_AFTER_STOP);
    assert_eq!(daemon.count("/lost"), 0);
}

#[test]
fn with_the_tun_backend_connections_go_on_when_it_is_killed_and_the_next_one_clears_up() {
    let _alone = alone();
    let Some(site) = Site::new(Kind::Routed) else { return };
    let mut daemon = Daemon::start_with(&site.gateway, "backend = \"tun\"", "");
    let pulse = Pulse::start(&site);
    thread::sleep(WHILE);
    assert!(daemon.received() > 100, "it is in the path");
    daemon.end(Signal::KILL);
    pulse.assert_it_goes_on();
    assert_gap("killed, tun", Kind::Routed, pulse, LONGEST_AFTER_DEATH);
    let devices = site.run("ip", &["link"]).expect("iproute2");
    assert!(!devices.contains("lasthop"), "{devices}");
    // Its rules lead nowhere, and the next one takes them over.
    echo(&site, 3, 100_000);
    daemon.start_again(&site.gateway);
    echo(&site, 3, 100_000);
    assert!(daemon.received() > 0, "the next one is in the path");
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0));
    site.assert_no_traces();
}

#[test]
fn a_daemon_that_is_told_to_end_ends_well_and_another_starts_at_once() {
    let _alone = alone();
    for kind in Kind::ALL {
        let Some(site) = Site::new(kind) else { continue };
        let mut daemon = Daemon::start(&site.gateway, "");
        let pulse = Pulse::start(&site);
        for signal in [Signal::TERM, Signal::INT] {
            thread::sleep(WHILE / 2);
            assert_eq!(daemon.end(signal).code(), Some(0), "{}", daemon.log());
            assert!(!daemon.socket().exists(), "the socket is removed");
            assert!(daemon.log().contains("drained"), "{}", daemon.log());
            assert!(!site.traces().contains("lasthop"), "{}", site.traces());
            daemon.start_again(&site.gateway);
            echo(&site, 1, 10_000);
            assert!(daemon.received() > 0, "it is in the path again");
        }
        assert_gap("told to end", kind, pulse, LONGEST_AFTER_DEATH);
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0));
        site.assert_no_traces();
    }
}
