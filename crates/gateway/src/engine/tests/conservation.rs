//! Tests that the counters balance.

use std::time::Duration;

use lasthop_agent::counter::{DUPLICATE_ACK, FULL};
use lasthop_agent::{Accounts, Agent, Context, Deadline, Transfer};
use proptest::prelude::*;

use super::support::*;
use crate::engine::*;

/// Acts at random: forwards, edits, drops, absorbs, sends, panics, sets deadlines.
struct Fool {
    held: Vec<(Side, Packet)>,
    due: Option<Instant>,
}

impl Agent for Fool {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        match cx.rng().below(40) {
            0..10 => {
                if let Some(tcp) = packet.tcp_mut() {
                    tcp.window ^= 1;
                }
            }
            10..14 => cx.send(from, packet.clone()),
            14..16 => cx.send(from.opposite(), packet.clone()),
            16..20 => return Verdict::Drop(&DUPLICATE_ACK),
            20..22 => return Verdict::Drop(&FULL),
            22..30 => {
                self.held.push((from.opposite(), packet.clone()));
                self.due = Some(cx.now() + Duration::from_millis(cx.rng().below(50)));
                return Verdict::Absorb;
            }
            30 => assert!(cx.rng().below(100) > 0, "a panic that the test wants"),
            _ => {}
        }
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, reason: "folly" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        // Sometimes it does not move its deadline.
        if cx.rng().below(4) > 0 {
            self.due = None;
            self.drain(cx);
        }
    }
}

impl Accounts for Fool {
    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}

impl Transfer for Fool {
    fn drain(&mut self, cx: &mut Context<'_>) {
        for (to, packet) in self.held.drain(..) {
            cx.send(to, packet);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn each_received_packet_is_passed_forwarded_dropped_or_absorbed(
        steps in prop::collection::vec((0_u16..40, any::<bool>(), 0_u32..3000, any::<u8>(), 0_u64..30_000_000), 1..300),
    ) {
        let mut bench = Bench::new(&Plan { budget: Budget { flows: 20, ..Budget::default() }, ..plan(vec![rule("fool", || Fool { held: Vec::new(), due: None })]) });
        let (mut received, mut sent) = (0, 0);
        for (client, is_down, number, flags, nanos) in steps {
            bench.now = bench.now.after_nanos(nanos);
            if bench.engine.deadline().is_some_and(|deadline| deadline <= bench.now) {
                bench.engine.on_deadline(bench.now, &mut bench.out);
                sent += bench.take().len() as u64;
            }
            // Fewer SYNs: half of all packets would be too many.
            let flags = TcpFlags(if flags & 0xc0 == 0 { flags } else { flags & !0x02 });
            let out = if is_down {
                bench.on_core(&down(client, number, number % 500, flags))
            } else {
                bench.on_radio(&up(client, number, number % 300, flags))
            };
            received += 1;
            sent += out.len() as u64;
        }
        let report = bench.engine.report();
        let agents = report.agents;
        prop_assert_eq!(report.counters.counts.received, received);
        prop_assert_eq!(report.counters.passed.sum() + agents.packets.seen, received);
        let dropped = agents.dropped.sum();
        prop_assert_eq!(agents.packets.forwarded + dropped + agents.packets.absorbed, agents.packets.seen);
        let lost = report.counters.counts.unaddressed + report.counters.counts.too_large;
        prop_assert_eq!(sent, report.counters.passed.sum() + agents.packets.forwarded + agents.packets.sent - lost);

        bench.engine.drain(bench.now, &mut bench.out);
        prop_assert_eq!(bench.engine.report().held, 0);
        let data = frame(&FROM_SERVER, &down(1, 1, 10, ACK));
        bench.take();
        prop_assert_eq!(bench.push(CORE, data.clone()), [(CORE, data)], "drained, it passes everything");
    }

    #[test]
    fn frames_of_arbitrary_octets_are_forwarded_once(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..40)) {
        let mut bench = Bench::with_agent(Watcher::default);
        for octets in frames {
            let frame = Frame::plain(octets.into());
            prop_assert_eq!(bench.push(RADIO, frame.clone()), [(RADIO, frame)]);
        }
    }
}
