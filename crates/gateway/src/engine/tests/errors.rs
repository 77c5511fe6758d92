//! Tests of ICMP error messages.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lasthop_packet::quote;
use portable_atomic::AtomicU64;

use super::support::*;
use crate::engine::*;

/// A router's error message about a packet that is too large.
fn refusal(packet: &Packet) -> Packet {
    quote::too_big(packet, "203.0.113.9".parse().expect("an address"), 500).expect("it is about TCP")
}

#[test]
fn an_agent_sees_error_messages_about_its_connections() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut bench = Bench::with_agent(move || Watcher(Arc::clone(&count)));
    bench.shake_hands(1);
    let before = seen.load(Ordering::Relaxed);
    let about_download = frame(&FROM_CLIENT, &refusal(&down(1, 1, 1000, ACK)));
    assert_eq!(bench.push(RADIO, about_download.clone()), [(RADIO, about_download.clone())]);
    let about_upload = frame(&FROM_SERVER, &refusal(&up(1, 1, 1000, ACK)));
    assert_eq!(bench.push(CORE, about_upload.clone()), [(CORE, about_upload)]);
    assert_eq!(seen.load(Ordering::Relaxed), before + 2);

    // About an unknown connection: other ports, or the other side.
    let unknown = frame(&FROM_CLIENT, &refusal(&down(2, 1, 1000, ACK)));
    assert_eq!(bench.push(RADIO, unknown.clone()), [(RADIO, unknown)]);
    assert_eq!(bench.push(CORE, about_download.clone()), [(CORE, about_download)]);
    assert_eq!(seen.load(Ordering::Relaxed), before + 2);
    assert_eq!(bench.counters().passed.not_tcp, 2);
    assert_eq!(bench.engine.report().connections, 1, "none begins with a message");
}

#[test]
fn no_agent_sees_error_messages_about_a_connection_that_is_set_aside() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut bench = Bench::with_agent(move || Watcher(Arc::clone(&count)));
    bench.shake_hands(1);
    assert!(bench.engine.set_aside(key(1), bench.now, &mut bench.out));
    let before = seen.load(Ordering::Relaxed);
    let message = frame(&FROM_CLIENT, &refusal(&down(1, 1, 1000, ACK)));
    assert_eq!(bench.push(RADIO, message.clone()), [(RADIO, message)]);
    assert_eq!(seen.load(Ordering::Relaxed), before);
}
