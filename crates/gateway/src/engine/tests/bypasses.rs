//! Tests of packets that bypass the engine because an agent allows it.

use std::num::NonZeroU16;

use lasthop_agent::{Agent, Context, Limits, Shown, Stateless};
use lasthop_packet::Seq;

use super::support::*;
use crate::counters::EngineCounters;
use crate::engine::*;
use crate::frame::Headers;

const COPIES: PortId = PortId(2);

/// Allows the next thousand octets to bypass it, and sends an empty segment back for each packet
/// that it is shown.
struct Generous;

impl Agent for Generous {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if let (Side::Core, Some(flow), Some(tcp)) = (from, packet.flow_key(), packet.tcp()) {
            let next = tcp.seq + packet.segment_len();
            let limits = Limits { acknowledged: Seq(1), from: next, until: next + 1000, shown: Shown::Whole };
            cx.allow_bypass(Bypass { flow, limits: Some(limits) });
        }
        Verdict::Forward
    }

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        if from == Side::Radio {
            return;
        }
        let ack = packet.tcp().map_or(0, |tcp| tcp.seq.0);
        cx.send(Side::Core, up(1, ack, 0, ACK));
    }
}

impl Stateless for Generous {}

fn bench() -> Bench {
    let mut bench = Bench::with_agent(|| Generous);
    let port = |side, copies_of| Port { name: "wlan0".into(), side, ethernet: true, copies_of };
    let ports = [port(Side::Core, None), port(Side::Radio, None), port(Side::Core, Some([CORE, RADIO]))];
    bench.engine = Engine::new(&ports, &plan(vec![rule("test", || Generous)]));
    bench.shake_hands(1);
    bench
}

fn bypasses(bench: &mut Bench) -> Vec<Bypass> {
    std::mem::take(&mut bench.out.bypasses)
}

#[test]
fn a_bypass_is_passed_to_the_backend_and_copies_are_shown_to_the_agent() {
    let mut bench = bench();
    bypasses(&mut bench);
    bench.on_core(&down(1, 1, 100, ACK));
    let limits = Some(Limits { acknowledged: Seq(1), from: Seq(101), until: Seq(1101), shown: Shown::Whole });
    assert_eq!(bypasses(&mut bench), [Bypass { flow: key(1), limits }]);
    let before = bench.counters();
    let out = bench.push(COPIES, frame(&FROM_SERVER, &down(1, 101, 100, ACK)));
    assert_eq!(out.len(), 1, "a copy does not go on, what the agent makes of it does");
    assert_eq!(out[0].0, RADIO);
    assert_eq!(
        bench.counters(),
        Counters { counts: EngineCounters { copies: before.counts.copies + 1, ..before.counts }, ..before }
    );
    assert_eq!(bench.engine.report().agents.packets.shown, 1);
    let out = bench.push(COPIES, frame(&FROM_CLIENT, &up(1, 201, 0, ACK)));
    assert_eq!(out, []);
    assert_eq!(bench.engine.report().agents.packets.shown, 2, "of the way up, an acknowledgment");
}

/// Delivers the headers of a segment that the kernel forwarded; `segment_size` is that of a
/// super-packet.
fn pass(bench: &mut Bench, packet: &Packet, segment_size: Option<u16>) {
    let whole = frame(&FROM_SERVER, packet);
    let len = whole.octets.len();
    let octets = &whole.octets[..len - packet.payload().len()];
    let headers = Headers { octets, len, segment_size: segment_size.and_then(NonZeroU16::new) };
    bench.engine.on_passed(CORE, &headers, bench.now, &mut bench.out);
}

#[test]
fn headers_of_forwarded_packets_are_shown_with_all_lengths_and_not_sent() {
    let mut bench = bench();
    bench.on_core(&down(1, 1, 100, ACK));
    let before = bench.counters();
    pass(&mut bench, &down(1, 101, 100, ACK), None);
    pass(&mut bench, &down(1, 201, 3000, ACK), Some(1000));
    let acks = bench
        .take()
        .iter()
        .map(|(port, frame)| (*port, frame.parse(true).expect("TCP").1))
        .collect::<Vec<_>>();
    assert_eq!(
        acks.iter().map(|(port, packet)| (*port, packet.tcp().map(|tcp| tcp.ack.0))).collect::<Vec<_>>(),
        [(RADIO, Some(101)), (RADIO, Some(201))],
        "what the agent makes of them, and not they themselves"
    );
    let counts = EngineCounters { copies: before.counts.copies + 2, ..before.counts };
    assert_eq!(bench.counters(), Counters { counts, ..before });
    let flow = &bench.engine.flows(0, bench.now).flows[0];
    // A SYN, a segment, the forwarded segment, and a super-packet of three.
    assert_eq!(flow.packets_from_core, 1 + 1 + 1 + 3);
    assert_eq!(flow.octets_from_core, 4 * 40 + 100 + 100 + 3000);
}

#[test]
fn headers_of_an_unknown_connection_end_its_bypass() {
    let mut bench = bench();
    bypasses(&mut bench);
    pass(&mut bench, &down(2, 101, 100, ACK), None);
    assert_eq!(bypasses(&mut bench), [Bypass { flow: key(2), limits: None }]);
    assert_eq!(bench.engine.report().agents.packets.shown, 0);
}

#[test]
fn a_bypass_ends_when_another_agent_takes_over_the_connection() {
    let mut bench = bench();
    bench.on_core(&down(1, 1, 100, ACK));
    bypasses(&mut bench);
    let mut other = rule("test", || Generous);
    other.spec = "test with other settings".into();
    bench.engine.reload(&plan(vec![other]), bench.now, &mut bench.out);
    assert_eq!(bypasses(&mut bench), [Bypass { flow: key(1), limits: None }]);
}

#[test]
fn a_copy_for_which_there_is_no_agent_ends_the_bypass() {
    let copy = frame(&FROM_SERVER, &down(1, 101, 100, ACK));
    let assert_restored = |bench: &mut Bench| {
        bypasses(bench);
        assert_eq!(bench.push(COPIES, copy.clone()), []);
        assert!(bypasses(bench).contains(&Bypass { flow: key(1), limits: None }));
    };
    let mut unknown = bench();
    unknown.engine = Engine::new(&unknown.engine.ports, &plan(vec![]));
    assert_restored(&mut unknown);
    let mut drained = bench();
    drained.engine.drain(drained.now, &mut drained.out);
    assert_restored(&mut drained);
    let mut aside = bench();
    assert!(aside.engine.set_aside(key(1), aside.now, &mut aside.out));
    assert_restored(&mut aside);
}

#[test]
fn a_damaged_copy_is_not_shown() {
    let mut bench = bench();
    let mut octets = frame(&FROM_SERVER, &down(1, 101, 100, ACK)).octets.to_vec();
    octets[60] ^= 1;
    assert_eq!(bench.push(COPIES, Frame::plain(octets.into())), []);
    assert_eq!(bench.engine.report().agents.packets.shown, 0);
}

#[test]
fn copies_prevent_a_connection_from_expiring() {
    let mut bench = bench();
    bench.on_core(&down(1, 1, 100, ACK));
    bench.on_radio(&up(1, 101, 0, ACK));
    for second in 0..20 {
        bench.later(std::time::Duration::from_secs(60));
        bench.push(COPIES, frame(&FROM_SERVER, &down(1, 101 + 10 * second, 10, ACK)));
    }
    assert_eq!(bench.counters().counts.expired, 0);
}
