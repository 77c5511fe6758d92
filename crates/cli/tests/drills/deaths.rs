//! A daemon that is killed, that hangs, that is told to end.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::alone;
use crate::hosts::{Beats, Daemon, Kind, Pulse, Site, echo};

/// Until a connection is under way, and after something happened to it.
const WHILE: Duration = Duration::from_millis(400);

/// Connections of which the agents let packets pass go past a daemon that is late within 5 ms,
/// sooner than a sender loses patience. Of others, frames are lost until the kernel has taken the
/// dead daemon's programs out or the heartbeat is stale, for tens of milliseconds.
const LONGEST: Duration = Duration::from_millis(200);
/// With policy routing, where nothing passes unasked, a sender may have to wait for its own timer:
/// 200 ms at least on Linux.
const LONGEST_WITH_TIMER: Duration = Duration::from_millis(400);

fn assert_gap(what: &str, kind: Kind, most: Duration, drill: impl Fn() -> Beats) {
    lasthop_needs::assert_in_time(&format!("{what}, {kind:?}: longest gap"), most, || drill().longest_gap);
}

/// Whether the sender has quick timers, in words, and the longest gap that it may have.
fn sender(is_quick: bool) -> (&'static str, Duration) {
    (if is_quick { "timers of 5 ms" } else { "timers of 200 ms" }, LONGEST)
}

fn site(kind: Kind, is_quick: bool) -> Site {
    let site = Site::new(kind);
    if is_quick {
        site.quicken_timers();
    }
    site
}

pub fn connections_go_on_when_the_daemon_is_killed_and_nothing_is_left_of_it() {
    killed(&Kind::PLAIN);
}

pub fn behind_address_translation_connections_go_on_when_the_daemon_is_killed() {
    killed(&[Kind::Masqueraded]);
}

fn killed(kinds: &[Kind]) {
    let _alone = alone();
    for (kind, is_quick) in kinds.iter().flat_map(|&kind| [(kind, false), (kind, true)]) {
        let site = site(kind, is_quick);
        let (what, most) = sender(is_quick);
        assert_gap(&format!("killed, {what}"), kind, most, || {
            let mut daemon = Daemon::start(&site.gateway, "");
            let pulse = Pulse::start(&site);
            thread::sleep(WHILE);
            daemon.sees_more_than(100);
            daemon.end(Signal::KILL);
            pulse.assert_it_goes_on();
            thread::sleep(WHILE / 2);
            site.assert_no_traces();
            echo(&site, 3, 100_000);
            daemon.start_again(&site.gateway);
            let beats = pulse.end();
            daemon.is_in_the_path(&site);
            assert_eq!(daemon.end(Signal::TERM).code(), Some(0));
            beats
        });
    }
}

pub fn connections_go_on_when_the_daemon_hangs_and_through_it_when_it_comes_to() {
    hanging(&Kind::PLAIN);
}

pub fn behind_address_translation_connections_go_on_when_the_daemon_hangs() {
    hanging(&[Kind::Masqueraded]);
}

fn hanging(kinds: &[Kind]) {
    let _alone = alone();
    for (kind, is_quick) in kinds.iter().flat_map(|&kind| [(kind, false), (kind, true)]) {
        let site = site(kind, is_quick);
        let (what, most) = sender(is_quick);
        let daemon = Daemon::start(&site.gateway, "");
        assert_gap(&format!("stopped and continued, {what}"), kind, most, || {
            let before = daemon.received();
            let pulse = Pulse::start(&site);
            thread::sleep(WHILE);
            daemon.sees_more_than(before + 100);
            daemon.signal(Signal::STOP);
            pulse.assert_it_goes_on();
            thread::sleep(WHILE / 2);
            daemon.signal(Signal::CONT);
            pulse.assert_it_goes_on();
            pulse.end()
        });
        daemon.is_in_again();
        daemon.is_in_the_path(&site);

        daemon.signal(Signal::STOP);
        thread::sleep(WHILE / 2);
        echo(&site, 3, 100_000);
        daemon.signal(Signal::CONT);
        assert_eq!(daemon.count("/lost"), 0);
    }
}

pub fn a_daemon_with_real_time_scheduling_that_hangs_is_passed_by_like_any_other() {
    let _alone = alone();
    let site = site(Kind::Routed, true);
    let (what, most) = sender(true);
    let daemon = Daemon::start(&site.gateway, "[process]\nrealtime = true\n");
    assert_eq!(daemon.status()["report"]["notes"], serde_json::json!([]), "root is refused nothing");
    assert_gap(&format!("real time, stopped and continued, {what}"), Kind::Routed, most, || {
        let before = daemon.received();
        let pulse = Pulse::start(&site);
        thread::sleep(WHILE);
        daemon.sees_more_than(before + 100);
        daemon.signal(Signal::STOP);
        pulse.assert_it_goes_on();
        thread::sleep(WHILE / 2);
        daemon.signal(Signal::CONT);
        pulse.assert_it_goes_on();
        pulse.end()
    });
    let away = daemon.status()["report"]["punctuality"]["longest_absence_s"].as_f64();
    assert!(away >= Some((WHILE / 2).as_secs_f64() - 0.05), "it knows that it was away: {away:?}");
}

pub fn a_hang_that_is_shorter_than_the_heartbeat_costs_nothing_but_time() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let daemon = Daemon::start(&site.gateway, "");
    assert_gap("stopped again and again", Kind::Routed, LONGEST, || {
        let pulse = Pulse::start(&site);
        for _ in 0..8 {
            thread::sleep(Duration::from_millis(30));
            daemon.signal(Signal::STOP);
            thread::sleep(Duration::from_millis(40));
            daemon.signal(Signal::CONT);
        }
        pulse.assert_it_goes_on();
        pulse.end()
    });
    assert_eq!(daemon.count("/lost"), 0);
}

pub fn with_the_tun_backend_connections_go_on_when_it_is_killed_and_the_next_one_clears_up() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    assert_gap("killed, tun", Kind::Routed, LONGEST_WITH_TIMER, || {
        let mut daemon = Daemon::start_with(&site.gateway, "backend = \"tun\"", "");
        let pulse = Pulse::start(&site);
        thread::sleep(WHILE);
        daemon.sees_more_than(100);
        daemon.end(Signal::KILL);
        pulse.assert_it_goes_on();
        let devices = site.run("ip", &["link"]).expect("iproute2");
        assert!(!devices.contains("lasthop"), "{devices}");
        // Its rules lead nowhere, and the next one takes them over.
        echo(&site, 3, 100_000);
        let beats = pulse.end();
        daemon.start_again(&site.gateway);
        daemon.is_in_the_path(&site);
        assert_eq!(daemon.end(Signal::TERM).code(), Some(0));
        site.assert_no_traces();
        beats
    });
}

/// A full disk, or a pipe whose reader has gone.
pub fn a_daemon_whose_log_cannot_be_written_runs_on_and_can_be_stopped() {
    let _alone = alone();
    let site = Site::new(Kind::Routed);
    let mut daemon = Daemon::start_without_a_log(&site.gateway);
    daemon.signal(Signal::HUP);
    daemon.is_in_the_path(&site);
    assert_eq!(daemon.end(Signal::TERM).code(), Some(0));
    assert!(!site.traces().contains("lasthop"), "{}", site.traces());
}

pub fn a_daemon_that_is_told_to_end_ends_well_and_another_starts_at_once() {
    told_to_end(&Kind::PLAIN);
}

pub fn behind_address_translation_a_daemon_that_is_told_to_end_ends_well() {
    told_to_end(&[Kind::Masqueraded]);
}

fn told_to_end(kinds: &[Kind]) {
    let _alone = alone();
    for &kind in kinds {
        let site = Site::new(kind);
        assert_gap("told to end", kind, LONGEST, || {
            let mut daemon = Daemon::start(&site.gateway, "");
            let pulse = Pulse::start(&site);
            for signal in [Signal::TERM, Signal::INT] {
                thread::sleep(WHILE / 2);
                assert_eq!(daemon.end(signal).code(), Some(0), "{}", daemon.log());
                assert!(!daemon.socket().exists(), "the socket is removed");
                assert!(daemon.log().contains("drained"), "{}", daemon.log());
                assert!(!site.traces().contains("lasthop"), "{}", site.traces());
                daemon.start_again(&site.gateway);
                let taken_over = daemon.count("/engine/counters/taken_over");
                assert!(taken_over > 0, "the next one goes on with what this one knew: {}", daemon.log());
                assert!(!daemon.socket().with_extension("sock.state").exists(), "once");
                daemon.is_in_the_path(&site);
            }
            let beats = pulse.end();
            assert_eq!(daemon.end(Signal::TERM).code(), Some(0));
            site.assert_no_traces();
            beats
        });
    }
}
