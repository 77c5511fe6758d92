//! What a link layer saw, on its way to an agent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Stateless, Verdict};
use lasthop_packet::Packet;
use portable_atomic::AtomicU64;

use super::support::*;
use crate::engine::*;

/// Counts what it hears.
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
    let heard = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&heard);
    let mut bench = Bench::with_agent(move || Listener(Arc::clone(&count), needs));
    bench.shake_hands(1);
    (bench, move || heard.load(Ordering::Relaxed))
}

fn tell(bench: &mut Bench, packet: &Packet) {
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
fn a_fate_is_heard_by_the_agent_of_its_connection_if_that_asks_for_fates() {
    let (mut bench, heard) = listening(LinkSenses::FRAME_FATE);
    tell(&mut bench, &down(1, 1, 100, ACK));
    assert_eq!(heard(), 1);
    tell(&mut bench, &down(2, 1, 100, ACK));
    assert_eq!(heard(), 1, "nobody knows that connection");

    let (mut bench, heard) = listening(LinkSenses::empty());
    tell(&mut bench, &down(1, 1, 100, ACK));
    assert_eq!(heard(), 0);
}

#[test]
fn an_agent_that_is_out_of_the_path_hears_of_no_fate() {
    let (mut bench, heard) = listening(LinkSenses::FRAME_FATE);
    bench.engine.drain(bench.now, &mut bench.out);
    tell(&mut bench, &down(1, 1, 100, ACK));
    assert_eq!(heard(), 0);
}
