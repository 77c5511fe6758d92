//! What an agent is told to come, and what is made of an agent that fails at it.

use std::sync::{Arc, Mutex};

use lasthop_agent::{Agent, Context, Stateless};

use super::support::*;
use crate::engine::*;

/// Remembers what it was told; fails at nothing at all.
struct Prophet(Arc<Mutex<Vec<FlowKey>>>);

impl Agent for Prophet {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        assert!(!connections.is_empty(), "nothing comes");
        self.0.lock().expect("nobody else failed").extend(connections);
    }
}

impl Stateless for Prophet {}

#[test]
fn an_agent_of_many_connections_is_told_which_come_and_nothing_changes() {
    const MANY: u16 = 2000;
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let mut plan = plan(vec![rule("test", move || Prophet(Arc::clone(&tell)))]);
    plan.budget.flows = usize::from(MANY);
    let mut bench = Bench::new(&plan);
    let coming = [
        (CORE, frame(&FROM_SERVER, &down(7, 1, 100, ACK))),
        (RADIO, frame(&FROM_CLIENT, &up(7, 1, 101, ACK))),
        (RADIO, frame(&FROM_CLIENT, &up(MANY, 1, 101, ACK))),
        (CORE, Frame::plain(vec![0xff; 60].into())),
        (PortId(9), frame(&FROM_SERVER, &down(8, 1, 100, ACK))),
    ];
    for client in 1..=MANY {
        bench.engine.prefetch(&coming);
        assert!(told.lock().expect("it did not fail").is_empty(), "with few it is not worth it");
        bench.on_radio(&up(client, 0, 0, TcpFlags::SYN));
    }
    let before = bench.engine.report();
    bench.engine.prefetch(&coming);
    // Now nothing comes that is known, at which the agent fails.
    bench.engine.prefetch(&coming[3..]);
    assert_eq!(*told.lock().expect("it did not fail"), [key(7), key(MANY)]);
    assert_eq!(bench.engine.report(), before);
    assert!(bench.take().is_empty());
}
