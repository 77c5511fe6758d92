//! Tests of stepping aside.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lasthop_packet::Seq;
use portable_atomic::AtomicU64;

use super::support::*;
use crate::connection::Aside;
use crate::engine::*;
use std::time::Duration;

fn aside_of(bench: &Bench) -> String {
    bench.engine.flows(0, bench.now).flows[0].aside.clone()
}

#[test]
fn a_one_way_connection_is_not_shown_to_the_agent_and_is_set_aside() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut bench = Bench::with_agent(move || Watcher(Arc::clone(&count)));
    for packet in 0..40 {
        bench.on_core(&down(1, 1 + packet * 100, 100, ACK));
        bench.later(Duration::from_millis(20));
    }
    assert!(bench.out.set_aside.is_empty(), "not before it is a second old");
    bench.later(Duration::from_millis(500));
    bench.on_core(&down(1, 4001, 100, ACK));
    assert_eq!((seen.load(Ordering::Relaxed), aside_of(&bench)), (0, "one-way".to_owned()));
    assert_eq!(bench.out.set_aside, [key(1)]);
    assert_eq!(bench.counters().passed.one_way, 40);
    // If the other direction is seen after all, the agent sees the connection.
    bench.on_radio(&up(1, 4001, 0, ACK));
    bench.on_core(&down(1, 4101, 100, ACK));
    assert_eq!((seen.load(Ordering::Relaxed), aside_of(&bench)), (2, String::new()));
}

#[test]
fn a_connection_that_the_kernel_has_evicted_is_set_aside_again() {
    let mut bench = Bench::with_agent(Watcher::default);
    bench.shake_hands(1);
    assert!(bench.engine.set_aside(key(1), bench.now, &mut bench.out));
    bench.on_core(&down(1, 1, 100, ACK));
    assert_eq!(bench.out.set_aside, [key(1)], "this one was on its way");
    bench.later(Duration::from_secs(1));
    bench.on_core(&down(1, 101, 100, ACK));
    bench.on_core(&down(1, 201, 100, ACK));
    assert_eq!(bench.out.set_aside, [key(1), key(1)], "once, and not for each packet");
}

#[test]
fn an_agent_releases_the_packets_of_a_connection_that_is_set_aside() {
    let mut bench = Bench::with_agent(Keeper::default);
    bench.shake_hands(1);
    bench.shake_hands(2);
    let (first, other) = (down(1, 1, 100, ACK), down(2, 1, 100, ACK));
    assert!(bench.on_core(&first).is_empty() && bench.on_core(&other).is_empty());
    assert!(bench.engine.set_aside(key(1).reversed(), bench.now, &mut bench.out), "named from either end");
    assert_eq!(bench.take().len(), 1);
    assert_eq!((bench.engine.report().held, bench.counters().counts.aside_asked), (1, 1));
    assert_eq!(bench.on_core(&down(1, 101, 100, ACK)).len(), 1, "from now on it passes");
    assert!(!bench.engine.set_aside(key(3), bench.now, &mut bench.out));
    // A new connection between the same ports is not aside.
    bench.shake_hands(1);
    assert!(bench.on_core(&down(1, 1, 100, ACK)).is_empty());
}

/// A sender on a path of 40 ms, which retransmits a segment in every 20th round-trip time. Each
/// loss leaves the fraction `left` of its window, and each other round-trip time increases the
/// window by one segment, up to its initial size.
fn sender(bench: &mut Bench, rounds: u32, left: f64) {
    const MSS: u32 = 1448;
    const FULL: f64 = 60.0;
    let mut syn = up(1, 0, 0, TcpFlags::SYN);
    syn.tcp_mut().expect("a segment").seq = Seq(0);
    bench.on_radio(&syn);
    bench.later(Duration::from_millis(30));
    bench.on_core(&down(1, 0, 0, TcpFlags::SYN.with(ACK)));
    bench.later(Duration::from_millis(10));
    bench.on_radio(&up(1, 1, 0, ACK));
    let (mut window, mut next, mut acknowledged) = (FULL, 1, 1);
    for round in 0..rounds {
        let segments = window as u32;
        let step = Duration::from_millis(40) / segments;
        for _ in 0..segments {
            while next < acknowledged + segments * MSS {
                bench.on_core(&down(1, next, MSS, ACK));
                next += MSS;
            }
            bench.later(step);
            acknowledged += MSS;
            bench.on_radio(&up(1, acknowledged, 0, ACK));
        }
        if round % 20 == 10 {
            bench.on_core(&down(1, acknowledged, MSS, ACK));
            window *= left;
        } else {
            window = (window + 1.0).min(FULL);
        }
    }
}

#[test]
fn a_sender_that_does_not_slow_down_on_loss_is_set_aside() {
    let mut bench = Bench::with_agent(Watcher::default);
    sender(&mut bench, 250, 1.0);
    assert_eq!(aside_of(&bench), "unresponsive");
    // More than once: the bench continues to pass its packets to the engine.
    bench.out.set_aside.dedup();
    assert_eq!(
        (bench.out.set_aside.as_slice(), bench.counters().counts.aside_unresponsive),
        (&[key(1)][..], 1)
    );
}

#[test]
fn a_sender_that_slows_down_on_loss_is_not_set_aside() {
    for left in [0.5, 0.7] {
        let mut bench = Bench::with_agent(Watcher::default);
        sender(&mut bench, 1000, left);
        assert_eq!(
            (aside_of(&bench), bench.counters().counts.aside_unresponsive),
            (String::new(), 0),
            "{left}"
        );
    }
}

#[test]
fn the_reasons_have_names() {
    assert_eq!(
        [Aside::OneWay, Aside::Unresponsive, Aside::Asked].map(Aside::name),
        ["one-way", "unresponsive", "asked"]
    );
}
