//! How connections open, with packets by hand.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::{Agent as _, Context, Outbox, Owed, Side, Verdict};
use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags};

use super::{Itcp, Settings};

const SERVER: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);
const PHONE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 5000);
/// The ends' own initial numbers.
const SERVER_ISS: u32 = 1000;
const PHONE_ISS: u32 = 5000;

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;

struct Bench {
    agent: Itcp,
    /// Its number towards the server.
    onward: u32,
    may_owe: bool,
    rng: Rng,
}

impl Bench {
    /// An agent to which a phone's SYN has come.
    fn asked() -> Self {
        let (agent, rng) = (Itcp::new(Settings::default()), Rng::named(1, "i-tcp"));
        let mut bench = Self { agent, onward: 0, may_owe: true, rng };
        let (verdict, sent) = bench.pass(&phone(SYN, PHONE_ISS, 0), Side::Radio);
        assert_eq!(verdict, Verdict::Absorb);
        let [(Side::Core, onward)] = &sent[..] else { panic!("{sent:?}") };
        bench.onward = onward.tcp().expect("a SYN").seq.0;
        assert_ne!(bench.onward, PHONE_ISS, "it has a number of its own");
        bench
    }

    /// What becomes of a packet, and what the agent sends.
    fn pass(&mut self, packet: &Packet, from: Side) -> (Verdict, Vec<(Side, Packet)>) {
        let (mut packet, mut outbox) = (packet.clone(), Outbox::default());
        let cx = Context::new(Instant::from_secs(1), &mut self.rng, &mut outbox);
        let mut cx = cx.with_obligations(self.may_owe);
        let verdict = self.agent.on_packet(&mut packet, from, &mut cx);
        (verdict, outbox.packets)
    }

    fn assert_it_passes(&mut self, packet: &Packet, from: Side) {
        assert_eq!(self.pass(packet, from), (Verdict::Forward, Vec::new()));
        assert_eq!(self.agent.owed(), Owed::default());
    }
}

fn segment(from: (IpAddr, u16), to: (IpAddr, u16), flags: TcpFlags, seq: u32, ack: u32) -> Packet {
    let tcp = Tcp {
        source_port: from.1,
        destination_port: to.1,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 65_535,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(from.0, to.0), tcp, Payload::EMPTY)
}

fn server(flags: TcpFlags, seq: u32, ack: u32) -> Packet {
    segment(SERVER, PHONE, flags, seq, ack)
}

fn phone(flags: TcpFlags, seq: u32, ack: u32) -> Packet {
    segment(PHONE, SERVER, flags, seq, ack)
}

/// What bounds the segments of one end may lie on our way to it, too.
#[test]
fn no_larger_segments_are_asked_for_than_the_end_that_opens_takes_or_ipv6_carries() {
    let v6 = |host: u16| -> (IpAddr, u16) {
        (std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host).into(), host)
    };
    for (from, to, option, expected) in [
        (PHONE, SERVER, Some(1460), 1460),
        (PHONE, SERVER, Some(9000), 1460),
        (PHONE, SERVER, Some(1260), 1260),
        (PHONE, SERVER, None, 536),
        (v6(1), v6(2), Some(1440), 1440),
        (v6(1), v6(2), Some(9000), 1440),
    ] {
        let (agent, rng) = (Itcp::new(Settings::default()), Rng::named(1, "i-tcp"));
        let mut bench = Bench { agent, onward: 0, may_owe: true, rng };
        let mut syn = segment(from, to, SYN, PHONE_ISS, 0);
        syn.tcp_mut().expect("a SYN").options.maximum_segment_size = option;
        let (_, sent) = bench.pass(&syn, Side::Radio);
        let offered = sent[0].1.tcp().and_then(|tcp| tcp.options.maximum_segment_size);
        assert_eq!(offered, Some(expected), "{option:?}");
    }
}

#[test]
fn what_a_router_behind_the_hop_refuses_goes_again_in_smaller_segments() {
    let mut bench = Bench::asked();
    let (_, sent) = bench.pass(&server(SYN.with(ACK), SERVER_ISS, bench.onward + 1), Side::Core);
    let answer = sent.iter().find(|(to, _)| *to == Side::Radio).and_then(|(_, packet)| packet.tcp());
    let answered = answer.expect("the phone is answered").seq.0;
    let _ = bench.pass(&phone(ACK, PHONE_ISS + 1, answered + 1), Side::Radio);
    let mut data = server(ACK, SERVER_ISS + 1, bench.onward + 1);
    data.set_payload(Payload::Stream { stream: 2, offset: 0, len: 536 });
    let (_, sent) = bench.pass(&data, Side::Core);
    let (_, large) = sent.iter().find(|(to, _)| *to == Side::Radio).expect("it goes on");
    let message = lasthop_packet::quote::too_big(large, SERVER.0, 560).expect("it is about TCP");
    let (verdict, sent) = bench.pass(&message, Side::Radio);
    let sizes: Vec<usize> = sent.iter().map(|(_, packet)| packet.payload().len()).collect();
    assert_eq!((verdict, sizes), (Verdict::Forward, vec![520, 16]));
}

// The phone's SYN came before, and passed: before the gateway was there, or while another scheme was.

#[test]
fn a_server_that_knows_the_phones_own_number_is_left_to_it() {
    // RFC 9293, section 3.10.7.4: in SYN-RECEIVED a SYN with another number is answered with an ACK.
    for flags in [ACK, SYN.with(ACK)] {
        let mut bench = Bench::asked();
        bench.assert_it_passes(&server(flags, SERVER_ISS, PHONE_ISS + 1), Side::Core);
        bench.assert_it_passes(&phone(ACK, PHONE_ISS + 1, SERVER_ISS + 1), Side::Radio);
    }
}

#[test]
fn a_phone_that_was_answered_already_is_left_to_the_server() {
    let mut bench = Bench::asked();
    bench.assert_it_passes(&phone(ACK, PHONE_ISS + 1, SERVER_ISS + 1), Side::Radio);
    bench.assert_it_passes(&server(ACK, SERVER_ISS + 1, PHONE_ISS + 1), Side::Core);
}

#[test]
fn a_phone_that_opens_another_connection_ends_the_one_onward() {
    let mut bench = Bench::asked();
    let (verdict, _) = bench.pass(&phone(SYN, PHONE_ISS + 77, 0), Side::Radio);
    assert_eq!(verdict, Verdict::Forward);
    assert_eq!(bench.agent.owed(), Owed::default());
}

/// An agent that is drained, is late, or goes at a reload may not owe more. These connections cannot do
/// without it: only their ends end that.
#[test]
fn a_connection_is_served_to_its_end_even_if_the_agent_may_not_owe_more() {
    let mut bench = Bench::asked();
    let (_, sent) = bench.pass(&server(SYN.with(ACK), SERVER_ISS, bench.onward + 1), Side::Core);
    let answer = sent.iter().find(|(to, _)| *to == Side::Radio).and_then(|(_, packet)| packet.tcp());
    let answered = answer.expect("the phone is answered").seq.0;
    let (verdict, _) = bench.pass(&phone(ACK, PHONE_ISS + 1, answered + 1), Side::Radio);
    assert_eq!(verdict, Verdict::Absorb);
    bench.may_owe = false;
    // More than what the phone was allowed before.
    for segment in 0..100 {
        let mut data = phone(ACK, PHONE_ISS + 1 + 1000 * segment, answered + 1);
        data.set_payload(Payload::Stream { stream: 1, offset: u64::from(1000 * segment), len: 1000 });
        let (_, sent) = bench.pass(&data, Side::Radio);
        for (_, packet) in sent.iter().filter(|(to, _)| *to == Side::Radio) {
            assert!(packet.tcp().is_some_and(|tcp| tcp.window > 30_000), "{segment}: {packet:?}");
        }
        let delivered = server(ACK, SERVER_ISS + 1, bench.onward + 1 + 1000 * (segment + 1));
        assert_eq!(bench.pass(&delivered, Side::Core).0, Verdict::Absorb);
    }
}

/// What a server that closed first has sent, and the phone has not read, is not lost with the agent's
/// leg to the server, which has ended well.
#[test]
fn what_waits_behind_a_leg_that_has_ended_moves_too() {
    for moves in [false, true] {
        let mut bench = Bench::asked();
        let (_, sent) = bench.pass(&server(SYN.with(ACK), SERVER_ISS, bench.onward + 1), Side::Core);
        let answer = sent.iter().find(|(to, _)| *to == Side::Radio).and_then(|(_, packet)| packet.tcp());
        let answered = answer.expect("the phone is answered").seq.0;
        let _ = bench.pass(&phone(ACK, PHONE_ISS + 1, answered + 1), Side::Radio);
        let (mut next, mut edge, mut acked) = (SERVER_ISS + 1, SERVER_ISS + 1 + 60_000, 0);
        while next + 1000 <= edge && next < SERVER_ISS + 1 + 120_000 {
            let mut data = server(ACK, next, bench.onward + 1);
            data.set_payload(Payload::Stream {
                stream: 2,
                offset: u64::from(next - SERVER_ISS - 1),
                len: 1000,
            });
            next += 1000;
            for (_, packet) in bench.pass(&data, Side::Core).1.iter().filter(|(to, _)| *to == Side::Core) {
                let tcp = packet.tcp().unwrap();
                (acked, edge) = (tcp.ack.0, edge.max(tcp.ack.0 + u32::from(tcp.window)));
            }
        }
        let all = next - SERVER_ISS - 1;
        assert!(all > 80_000, "{all} {acked}");
        let _ = bench.pass(&server(ACK.with(TcpFlags::FIN), next, bench.onward + 1), Side::Core);
        let _ = bench.pass(&phone(ACK.with(TcpFlags::FIN), PHONE_ISS + 1, answered + 1), Side::Radio);
        let _ = bench.pass(&server(ACK, next + 1, bench.onward + 2), Side::Core);
        if moves {
            let mut outbox = Outbox::default();
            let mut rng = Rng::named(2, "i-tcp");
            let mut cx = Context::new(Instant::from_secs(1), &mut rng, &mut outbox);
            let states = bench.agent.export(lasthop_agent::Whose::All, &mut cx);
            bench.agent = Itcp::new(Settings::default());
            for state in &states {
                bench.agent.import(state, &mut cx).expect("it fits");
            }
        }
        let (mut got, mut flags) = (0, TcpFlags(0));
        for _ in 0..2000 {
            let ack = phone(ACK, PHONE_ISS + 2, answered + 1 + got + u32::from(flags.has(TcpFlags::FIN)));
            for (_, packet) in bench.pass(&ack, Side::Radio).1.iter().filter(|(to, _)| *to == Side::Radio) {
                let tcp = packet.tcp().unwrap();
                flags = flags.with(tcp.flags);
                got = got.max(tcp.seq.0 + packet.payload().len() as u32 - answered - 1);
            }
        }
        assert_eq!((got, flags.has(TcpFlags::RST), flags.has(TcpFlags::FIN)), (all, false, true), "{moves}");
    }
}

/// Both hosts have gone without a word.
#[test]
fn a_connection_whose_ends_have_gone_is_forgotten_some_day() {
    let mut bench = Bench::asked();
    let (_, sent) = bench.pass(&server(SYN.with(ACK), SERVER_ISS, bench.onward + 1), Side::Core);
    let answer = sent.iter().find(|(to, _)| *to == Side::Radio).and_then(|(_, packet)| packet.tcp());
    let answered = answer.expect("the phone is answered").seq.0;
    let _ = bench.pass(&phone(ACK, PHONE_ISS + 1, answered + 1), Side::Radio);
    let mut deadlines = 0;
    while let Some(deadline) = bench.agent.deadline().filter(|at| at.at < Instant::from_secs(30 * 86_400)) {
        let mut outbox = Outbox::default();
        let mut cx = Context::new(deadline.at, &mut bench.rng, &mut outbox);
        bench.agent.on_deadline(&mut cx);
        deadlines += 1;
    }
    assert_eq!(bench.agent.owed(), Owed::default(), "after a month, and {deadlines} deadlines");
}

#[test]
fn a_syn_that_is_not_answered_keeps_no_data() {
    let allocated = |data: usize| {
        let mut bench = Bench::asked();
        let allocated = allocation_counter::measure(|| {
            for port in 0..1000 {
                let mut syn = segment((PHONE.0, 10_000 + port), SERVER, SYN, PHONE_ISS, 0);
                syn.set_payload(Payload::Bytes(vec![7; data].into()));
                assert_eq!(bench.pass(&syn, Side::Radio).0, Verdict::Absorb);
            }
        });
        assert_eq!(bench.agent.octets(), 0, "nothing is charged");
        allocated.bytes_current
    };
    let (without, with) = (allocated(0), allocated(1400));
    assert!(with < without + 100_000, "{without}, {with}");
}
