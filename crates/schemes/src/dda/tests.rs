//! Tests of DDA's rules with hand-made packets.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::counter::DUPLICATE_ACK;
use lasthop_agent::{
    Agent as _, Budget, Bypass, Context, FlowState, Limits, Outbox, Scope, Side, Transfer as _, Verdict,
};
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags};

use super::flow::MAX_HELD;
use super::{Dda, DdaSeat, SCHEME, Settings};
use crate::edits::But;
use crate::scheme::{Placement as _, Role, Seat};

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const MOBILE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// Wraps within the first segments.
const FIRST: u32 = u32::MAX - 450;
const SEGMENT: u32 = 100;
const PASSES: Verdict = Verdict::Forward;
const HELD: Verdict = Verdict::Drop(&DUPLICATE_ACK);

/// An agent with a clock in milliseconds, between a sender and a receiver.
struct Bench {
    agent: Dda,
    receiver: Side,
    now: Instant,
    rng: Rng,
    bypasses: Vec<Bypass>,
}

impl Bench {
    /// Ten segments were sent to the receiver, which has acknowledged one.
    fn new(receiver: Side) -> Self {
        let mut bench = Self::empty(receiver);
        for n in 0..10 {
            bench.data(&data(n));
        }
        assert_eq!(bench.ack(&ack(1)), PASSES);
        bench
    }

    fn empty(receiver: Side) -> Self {
        let (now, rng) = (Instant::from_secs(1), Rng::named(1, "dda"));
        Self { agent: Dda::new(Settings::default(), receiver), receiver, now, rng, bypasses: Vec::new() }
    }

    /// With three more duplicates, the last of which is held.
    fn holding(receiver: Side) -> Self {
        let mut bench = Self::new(receiver);
        assert_eq!([0; 3].map(|_| bench.ack(&ack(1))), [PASSES, PASSES, HELD]);
        bench
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut Dda, &mut Context<'_>) -> R) -> (R, Vec<Packet>) {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(self.now, &mut self.rng, &mut outbox);
        let result = f(&mut self.agent, &mut cx);
        self.bypasses.extend(outbox.bypasses);
        let sent = outbox.packets.into_iter().map(|(to, packet)| {
            assert_eq!(to, self.receiver.opposite(), "it sends to the sender only");
            packet
        });
        (result, sent.collect())
    }

    fn pass(&mut self, packet: &Packet, from: Side) -> (Verdict, Vec<Packet>) {
        let mut passing = packet.clone();
        let done = self.call(|agent, cx| agent.on_packet(&mut passing, from, cx));
        assert_eq!(passing, *packet, "nothing is edited");
        done
    }

    fn data(&mut self, packet: &Packet) {
        assert_eq!(self.pass(packet, self.receiver.opposite()), (PASSES, vec![]));
    }

    /// A packet from the receiver that triggers no other packet.
    fn ack(&mut self, packet: &Packet) -> Verdict {
        let (verdict, sent) = self.pass(packet, self.receiver);
        assert_eq!(sent, []);
        verdict
    }

    fn after(&mut self, millis: u64) -> Vec<Packet> {
        self.now += Duration::from_millis(millis);
        self.call(Dda::on_deadline).1
    }

    /// By the direction from the core to the radio side.
    fn key(&self) -> FlowKey {
        self.receiver.connection(ack(0).flow_key().expect("it is TCP"))
    }
}

fn segment((from, to): (IpAddr, IpAddr), ports: (u16, u16), len: u32) -> Packet {
    let (source_port, destination_port) = ports;
    let tcp = Tcp { source_port, destination_port, flags: TcpFlags::ACK, window: 1000, ..Tcp::default() };
    Packet::tcp_segment(Ip::new(from, to), tcp, Payload::Stream { stream: 1, offset: 0, len })
}

fn data(n: u32) -> Packet {
    segment((SERVER, MOBILE), (80, 4000), SEGMENT).but(|tcp| tcp.seq = number(n))
}

/// Acknowledges the first `n` segments.
fn ack(n: u32) -> Packet {
    segment((MOBILE, SERVER), (4000, 80), 0).but(|tcp| (tcp.seq, tcp.ack) = (Seq(7), number(n)))
}

fn number(n: u32) -> Seq {
    Seq(FIRST) + n * SEGMENT
}

#[test]
fn two_duplicates_pass_and_later_ones_are_held() {
    for receiver in [Side::Core, Side::Radio] {
        let mut bench = Bench::holding(receiver);
        assert_eq!(bench.ack(&ack(1)), HELD);
        assert_eq!(bench.agent.deadline().map(|due| due.at), Some(bench.now + Duration::from_millis(50)));
    }
}

#[test]
fn held_duplicates_are_discarded_by_a_new_ack() {
    let mut bench = Bench::holding(Side::Core);
    assert_eq!(bench.ack(&ack(2)), PASSES);
    assert_eq!(bench.agent.deadline(), None);
    assert_eq!(bench.after(1000), []);
    assert_eq!([0; 3].map(|_| bench.ack(&ack(2))), [PASSES, PASSES, HELD], "the count begins again");
}

#[test]
fn held_duplicates_are_released_after_the_delay_of_the_first() {
    let mut bench = Bench::holding(Side::Core);
    assert_eq!(bench.after(49), []);
    assert_eq!(bench.ack(&ack(1)), HELD);
    assert_eq!(bench.after(1), [ack(1), ack(1)]);
    assert_eq!(bench.agent.deadline(), None);
    assert_eq!(bench.ack(&ack(1)), PASSES, "the sender is in recovery and counts");
    assert_eq!(bench.after(1000), []);
}

#[test]
fn released_duplicates_have_the_receivers_latest_fields() {
    let mut bench = Bench::new(Side::Core);
    let stamped = |value| ack(1).stamped(value, 3);
    for value in [10, 11, 12, 13] {
        assert_eq!(bench.ack(&stamped(value)) == HELD, value >= 12);
    }
    assert_eq!(bench.ack(&stamped(12)), HELD, "it comes late");
    assert_eq!(bench.after(50), [stamped(13), stamped(13), stamped(13)]);
}

#[test]
fn an_ack_with_unique_information_passes_and_does_not_count() {
    let mut bench = Bench::holding(Side::Core);
    let news = [
        ack(1).window(999),
        ack(1).window(0),
        ack(1).flags(TcpFlags::FIN),
        ack(1).flags(TcpFlags::ECE),
        ack(1).flags(TcpFlags::CWR),
        ack(1).unknown_option(),
        // A hole, and duplicate data.
        ack(1).sack(&[(number(3).0, number(4).0)]),
        ack(1).sack(&[(number(0).0, number(1).0)]),
        segment((MOBILE, SERVER), (4000, 80), 10).but(|tcp| (tcp.seq, tcp.ack) = (Seq(7), number(1))),
    ];
    for packet in news {
        assert_eq!(bench.ack(&packet), PASSES, "{packet:?}");
    }
    let mut counted = Bench::new(Side::Core);
    for _ in 0..9 {
        assert_eq!(counted.ack(&ack(1).sack(&[(number(3).0, number(4).0)])), PASSES);
    }
    assert_eq!([0; 3].map(|_| counted.ack(&ack(1))), [PASSES, PASSES, HELD]);
}

#[test]
fn acks_of_all_sent_data_pass() {
    let mut bench = Bench::new(Side::Core);
    for _ in 0..9 {
        assert_eq!(bench.ack(&ack(10)), PASSES, "keep-alives are answered so");
    }
}

#[test]
fn acks_that_are_late_or_of_data_that_never_passed_change_nothing() {
    let mut bench = Bench::holding(Side::Core);
    for n in [0, 11] {
        assert_eq!(bench.ack(&ack(n)), PASSES);
    }
    assert_eq!(bench.ack(&ack(1)), HELD);
    assert_eq!(bench.after(50).len(), 2);
}

#[test]
fn no_more_are_held_than_the_bound() {
    let mut bench = Bench::new(Side::Core);
    let held = (0..MAX_HELD + 2).filter(|_| bench.ack(&ack(1)) == HELD).count();
    assert_eq!(held as u32, MAX_HELD);
    let (verdict, sent) = bench.pass(&ack(1), Side::Core);
    assert_eq!((verdict, sent.len() as u32), (PASSES, MAX_HELD));
}

#[test]
fn a_closed_or_released_connection_leaves_no_state() {
    for (end, receiver) in [
        (TcpFlags::SYN, Side::Core),
        (TcpFlags::RST, Side::Core),
        (TcpFlags::SYN, Side::Radio),
        (TcpFlags::RST, Side::Radio),
    ] {
        let mut bench = Bench::new(receiver);
        for _ in 0..MAX_HELD + 2 {
            let _ = bench.ack(&ack(1));
        }
        let (verdict, sent) = bench.pass(&data(10).flags(end), receiver.opposite());
        assert_eq!((verdict, sent), (PASSES, vec![]), "each of them would be answered by a RST: {end:?}");
        assert_eq!(bench.agent.flows.keys().count(), 0);
    }
    let mut bench = Bench::holding(Side::Radio);
    let key = bench.key();
    assert_eq!(bench.call(|agent, cx| agent.release(key, cx)).1, [ack(1)]);
    assert_eq!(bench.agent.flows.keys().count(), 0);
    let mut bench = Bench::holding(Side::Radio);
    assert_eq!(bench.call(Dda::drain).1, [ack(1)]);
    assert_eq!(bench.ack(&ack(1)), PASSES);
}

#[test]
fn another_connection_on_the_same_ports_resets_the_state() {
    let mut bench = Bench::holding(Side::Core);
    let far = data(0).but(|tcp| tcp.seq = number(0) + (1 << 31));
    assert_eq!(bench.pass(&far, Side::Radio), (PASSES, vec![ack(1)]), "the old one gets what was held");
    assert_eq!(bench.agent.flows.peek(bench.key()).and_then(|flow| flow.last_ack), None);
}

#[test]
fn without_room_every_packet_passes() {
    let mut bench = Bench::empty(Side::Core);
    let none = Budget { flows: 0, ..Budget::default() };
    let mut outbox = Outbox::default();
    let mut cx = Context::new(bench.now, &mut bench.rng, &mut outbox).within(none);
    assert_eq!(bench.agent.on_packet(&mut data(0), Side::Radio, &mut cx), PASSES);
    for _ in 0..9 {
        assert_eq!(bench.ack(&ack(0)), PASSES);
    }
}

#[test]
fn new_data_and_new_acks_may_bypass_the_agent_at_the_edge() {
    let mut bench = Bench::holding(Side::Radio);
    let limits = bench.bypasses.last().and_then(|bypass| bypass.limits);
    let Some(Limits { acknowledged, from, .. }) = limits else { panic!("none") };
    assert_eq!((acknowledged, from), (number(1), number(10)));
    // A new ACK that has passed makes the held ones needless.
    bench.call(|agent, cx| agent.on_bypass(&ack(4), Side::Radio, cx));
    assert_eq!((bench.after(1000), bench.agent.deadline()), (vec![], None));
}

#[test]
fn another_agent_continues_with_the_state() {
    for receiver in [Side::Core, Side::Radio] {
        let mut bench = Bench::holding(receiver);
        let (states, sent) = bench.call(|agent, cx| agent.export(Scope::All, cx));
        assert_eq!(sent, []);
        let mut other = Bench::empty(receiver);
        let import = |bench: &mut Bench, state: &FlowState| bench.call(|agent, cx| agent.import(state, cx)).0;
        assert_eq!(import(&mut other, &states[0]), Ok(()));
        assert_eq!(other.ack(&ack(1)), HELD);
        assert_eq!(other.after(50), [ack(1), ack(1)]);
        // The same octets as the state of a connection that does not match them.
        let mut wrong = states[0].clone();
        wrong.connection = wrong.connection.reversed();
        import(&mut Bench::empty(receiver), &wrong).expect_err("its ACK is of another connection");
    }
}

#[test]
fn one_node_of_a_path_has_an_agent() {
    let agents = |seat| {
        let settings = Settings { seat, ..Settings::default() };
        Role::ALL.map(|(role, _)| settings.agent(Seat { role, address: MOBILE }).map(|_| role))
    };
    assert_eq!(agents(DdaSeat::MobileHost).into_iter().flatten().collect::<Vec<_>>(), [Role::MobileHost]);
    assert_eq!(agents(DdaSeat::Edge).into_iter().flatten().collect::<Vec<_>>(), [Role::Edge]);
    let text = "delay = '0 ms'".parse().expect("it is TOML");
    let Err(error) = SCHEME.configure(text) else { panic!("no delay is no DDA") };
    assert!(error.to_string().contains("1 ms to 1 min"), "{error}");
}

#[test]
fn a_late_ack_does_not_close_the_window_that_a_later_one_opened() {
    let mut bench = Bench::new(Side::Radio);
    let window_update = |value, window| ack(1).stamped(value, 3).window(window);
    for value in [10, 11] {
        assert_eq!(bench.ack(&window_update(value, 0)), PASSES);
    }
    // The receiver opens its window with 13; 12, with a zero window, is late on a reordering hop.
    assert_eq!(bench.ack(&window_update(13, 1000)), PASSES);
    let verdicts: Vec<_> = [14, 15, 16].map(|value| bench.ack(&window_update(value, 1000))).into();
    assert_eq!(verdicts, [PASSES, PASSES, HELD]);
    assert_eq!(bench.ack(&window_update(12, 0)), PASSES);
    let windows: Vec<u16> = bench.after(50).iter().filter_map(|ack| Some(ack.tcp()?.window)).collect();
    assert_eq!(windows, [1000], "what the receiver said last");
}
