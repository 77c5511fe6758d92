//! Tests of link-layer events.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Stateless, Verdict};
use lasthop_packet::Packet;
use portable_atomic::AtomicU64;

use super::support::*;
use crate::engine::*;

/// Counts the events that it receives.
struct Listener(Arc<AtomicU64>, LinkSenses);

impl Agent for Listener {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, _event: &LinkEvent<'_>, _cx: &mut Context<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn needs(&self) -> LinkSenses {
        self.1
    }
}

impl Stateless for Listener {}

fn listening(needs: LinkSenses) -> (Bench, impl Fn() -> u64) {
    let received = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&received);
    let mut bench = Bench::with_agent(move || Listener(Arc::clone(&count), needs));
    bench.shake_hands(1);
    (bench, move || received.load(Ordering::Relaxed))
}

fn report(bench: &mut Bench, packet: &Packet) {
    let event = LinkEvent::Frame {
        packet,
        fate: Fate::Delivered,
        transmissions: 1,
        queueing: Duration::ZERO,
        access: None,
        air_time: Duration::from_millis(1),
    };
    bench.engine.on_link(&event, bench.now, &mut bench.out);
}

#[test]
fn the_agent_of_a_connection_receives_fates_if_it_needs_them() {
    let (mut bench, received) = listening(LinkSenses::FRAME_FATE);
    report(&mut bench, &down(1, 1, 100, ACK));
    assert_eq!(received(), 1);
    report(&mut bench, &down(2, 1, 100, ACK));
    assert_eq!(received(), 1, "the connection is unknown");

    let (mut bench, received) = listening(LinkSenses::empty());
    report(&mut bench, &down(1, 1, 100, ACK));
    assert_eq!(received(), 0);
}

#[test]
fn the_agent_of_a_drained_gateway_receives_no_fate() {
    let (mut bench, received) = listening(LinkSenses::FRAME_FATE);
    bench.engine.drain(bench.now, &mut bench.out);
    report(&mut bench, &down(1, 1, 100, ACK));
    assert_eq!(received(), 0);
}
