//! Tests of prefetching, and of an agent that panics in it.

use std::sync::{Arc, Mutex};

use lasthop_agent::{Agent, Context, Stateless};

use super::support::*;
use crate::engine::*;

/// Records the connections to prefetch; panics if there are none.
struct Recorder(Arc<Mutex<Vec<FlowKey>>>);

impl Agent for Recorder {
    fn on_packet(&mut self, _: &mut Packet, _: Side, _: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn prefetch(&self, connections: &[FlowKey]) {
        assert!(!connections.is_empty(), "nothing comes");
        self.0.lock().expect("nobody else failed").extend(connections);
    }
}

impl Stateless for Recorder {}

#[test]
fn an_agent_with_many_connections_prefetches_those_of_a_batch() {
    const MANY: u16 = 2000;
    let prefetched = Arc::new(Mutex::new(Vec::new()));
    let of_agent = Arc::clone(&prefetched);
    let mut plan = plan(vec![rule("test", move || Recorder(Arc::clone(&of_agent)))]);
    plan.budget.flows = usize::from(MANY);
    let mut bench = Bench::new(&plan);
    let batch = [
        (CORE, frame(&FROM_SERVER, &down(7, 1, 100, ACK))),
        (RADIO, frame(&FROM_CLIENT, &up(7, 1, 101, ACK))),
        (RADIO, frame(&FROM_CLIENT, &up(MANY, 1, 101, ACK))),
        (CORE, Frame::plain(vec![0xff; 60].into())),
        (PortId(9), frame(&FROM_SERVER, &down(8, 1, 100, ACK))),
    ];
    for client in 1..=MANY {
        bench.engine.prefetch(&batch);
        assert!(prefetched.lock().expect("it did not fail").is_empty(), "with few it is not worth it");
        bench.on_radio(&up(client, 0, 0, TcpFlags::SYN));
    }
    let before = bench.engine.report();
    bench.engine.prefetch(&batch);
    // A batch without known connections, at which the agent panics.
    bench.engine.prefetch(&batch[3..]);
    assert_eq!(*prefetched.lock().expect("it did not fail"), [key(7), key(MANY)]);
    assert_eq!(bench.engine.report(), before);
    assert!(bench.take().is_empty());
}
