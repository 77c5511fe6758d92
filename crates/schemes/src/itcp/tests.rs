//! The opening of connections, with hand-made packets.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::{Accounts, Agent, Budget, Context, Outbox, Owed, Side, Transfer, Verdict};
use lasthop_packet::quote::{Quotation, error_about, too_big};
use lasthop_packet::{Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags};

use super::settings::{LegAcks, LegCongestion};
use super::{Itcp, Settings};
use lasthop_config::preset::Presets as _;

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
    /// Its number towards the phone, once that is answered.
    back: u32,
    may_owe: bool,
    budget: Budget,
    now: Instant,
    rng: Rng,
}

impl Bench {
    /// A bench with a new agent.
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        Self {
            agent: Itcp::new(settings),
            onward: 0,
            back: 0,
            may_owe: true,
            budget: Budget::default(),
            now: Instant::from_secs(1),
            rng: Rng::named(1, "i-tcp"),
        }
    }

    /// A bench whose agent has received a phone's SYN.
    fn after_syn() -> Self {
        Self::new().ask()
    }

    fn ask(self) -> Self {
        let mut bench = self;
        let (verdict, sent) = bench.pass(&phone(SYN, PHONE_ISS, 0), Side::Radio);
        assert_eq!(verdict, Verdict::Absorb);
        let [(Side::Core, onward)] = &sent[..] else { panic!("{sent:?}") };
        bench.onward = onward.tcp().expect("a SYN").seq.0;
        assert_ne!(bench.onward, PHONE_ISS, "it has a number of its own");
        bench
    }

    /// A bench with a connection that both ends have established.
    fn opened() -> Self {
        Self::after_syn().open()
    }

    fn open(self) -> Self {
        let mut bench = self;
        let (_, sent) = bench.pass(&server(SYN.with(ACK), SERVER_ISS, bench.onward + 1), Side::Core);
        let answer = sent.iter().find(|(to, _)| *to == Side::Radio).and_then(|(_, packet)| packet.tcp());
        bench.back = answer.expect("the phone is answered").seq.0;
        let _ = bench.pass(&phone(ACK, PHONE_ISS + 1, bench.back + 1), Side::Radio);
        bench
    }

    fn call<R>(&mut self, ask: impl FnOnce(&mut Itcp, &mut Context<'_>) -> R) -> (R, Vec<(Side, Packet)>) {
        let mut outbox = Outbox::default();
        let cx = Context::new(self.now, &mut self.rng, &mut outbox).within(self.budget);
        let result = ask(&mut self.agent, &mut cx.with_obligations(self.may_owe));
        (result, outbox.packets)
    }

    /// The verdict on a packet, and the agent's packets.
    fn pass(&mut self, packet: &Packet, from: Side) -> (Verdict, Vec<(Side, Packet)>) {
        let mut packet = packet.clone();
        self.call(|agent, cx| agent.on_packet(&mut packet, from, cx))
    }

    /// Time passes until an instant. Returns the agent's packets meanwhile.
    fn wait_until(&mut self, end: Instant) -> Vec<(Side, Packet)> {
        let mut sent = Vec::new();
        while let Some(due) = self.agent.deadline().filter(|due| due.at <= end) {
            self.now = self.now.max(due.at);
            sent.extend(self.call(Agent::on_deadline).1);
        }
        self.now = end;
        sent
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

/// No host answers such a segment by opening a connection, so the agent must not do so in a host's
/// name.
#[test]
fn a_segment_that_opens_and_closes_at_once_is_left_alone() {
    for flag in [TcpFlags::RST, TcpFlags::FIN] {
        Bench::new().assert_it_passes(&phone(SYN.with(flag), PHONE_ISS, 0), Side::Radio);
    }
}

/// RFC 5082: an end may reject packets that have crossed more hops than the other end is away.
#[test]
fn both_handshakes_have_the_marks_of_the_apparent_sender() {
    let marked = |packet: Packet, hop_limit: u8, dscp: u8| {
        let ip = Ip { hop_limit, traffic_class: dscp << 2, ..*packet.ip() };
        Packet::new(ip, packet.transport().clone(), packet.payload().clone())
    };
    let marks = |sent: &[(Side, Packet)], side: Side| -> Vec<(u8, u8)> {
        let sent = sent.iter().filter(|(to, _)| *to == side);
        sent.map(|(_, packet)| (packet.ip().hop_limit, packet.ip().dscp())).collect()
    };
    for (flags, answers) in [(SYN.with(ACK), 1), (TcpFlags::RST.with(ACK), 1)] {
        let mut bench = Bench::new();
        let (_, sent) = bench.pass(&marked(phone(SYN, PHONE_ISS, 0), 255, 46), Side::Radio);
        assert_eq!(marks(&sent, Side::Core), [(255, 46)]);
        let onward = sent[0].1.tcp().expect("a SYN").seq.0;
        let answer = marked(server(flags, SERVER_ISS, onward + 1), 250, 34);
        let (_, sent) = bench.pass(&answer, Side::Core);
        assert_eq!(marks(&sent, Side::Radio), vec![(250, 34); answers]);
    }
}

/// A limit on the segments of one end may be on the path to it, too.
#[test]
fn the_offered_segment_size_fits_the_opener_and_ipv6() {
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
        let mut bench = Bench::new();
        let mut syn = segment(from, to, SYN, PHONE_ISS, 0);
        syn.tcp_mut().expect("a SYN").options.maximum_segment_size = option;
        let (_, sent) = bench.pass(&syn, Side::Radio);
        let offered = sent[0].1.tcp().and_then(|tcp| tcp.options.maximum_segment_size);
        assert_eq!(offered, Some(expected), "{option:?}");
    }
}

#[test]
fn a_packet_too_big_beyond_the_hop_is_resent_in_smaller_segments() {
    let mut bench = Bench::opened();
    let mut data = server(ACK, SERVER_ISS + 1, bench.onward + 1);
    data.set_payload(Payload::Stream { stream: 2, offset: 0, len: 536 });
    let (_, sent) = bench.pass(&data, Side::Core);
    let (_, large) = sent.iter().find(|(to, _)| *to == Side::Radio).expect("it goes on");
    let message = too_big(large, SERVER.0, 560).expect("it is about TCP");
    let (verdict, sent) = bench.pass(&message, Side::Radio);
    let sizes: Vec<usize> = sent.iter().map(|(_, packet)| packet.payload().len()).collect();
    assert_eq!((verdict, sizes), (Verdict::Forward, vec![520, 16]));
}

// The phone's SYN passed earlier: before the gateway was started, or under another scheme.

#[test]
fn a_connection_with_the_phones_own_number_at_the_server_is_left_alone() {
    // RFC 9293, section 3.10.7.4: in SYN-RECEIVED a SYN with another number is answered with an ACK.
    for flags in [ACK, SYN.with(ACK)] {
        let mut bench = Bench::after_syn();
        bench.assert_it_passes(&server(flags, SERVER_ISS, PHONE_ISS + 1), Side::Core);
        bench.assert_it_passes(&phone(ACK, PHONE_ISS + 1, SERVER_ISS + 1), Side::Radio);
    }
}

/// RFC 5961, section 4.2: a server answers a SYN within a connection with an ACK. A reset with the
/// number of that ACK would end a connection of which only the ports were known.
#[test]
fn a_forged_syn_ends_no_connection_that_passes() {
    let mut bench = Bench::after_syn();
    bench.assert_it_passes(&server(ACK, SERVER_ISS + 7777, PHONE_ISS + 123_456), Side::Core);
    bench.assert_it_passes(&phone(ACK, PHONE_ISS + 123_456, SERVER_ISS + 7777), Side::Radio);
}

#[test]
fn a_phone_that_lost_a_connections_state_resets_it_and_opens_the_next() {
    let mut bench = Bench::after_syn();
    bench.assert_it_passes(&server(ACK, SERVER_ISS + 7777, PHONE_ISS + 123_456), Side::Core);
    bench.assert_it_passes(&phone(TcpFlags::RST, PHONE_ISS + 123_456, 0), Side::Radio);
    let (verdict, sent) = bench.pass(&phone(SYN, PHONE_ISS, 0), Side::Radio);
    assert_eq!((verdict, sent.len()), (Verdict::Absorb, 1));
}

#[test]
fn a_phone_with_an_answer_from_the_server_is_left_alone() {
    let mut bench = Bench::after_syn();
    bench.assert_it_passes(&phone(ACK, PHONE_ISS + 1, SERVER_ISS + 1), Side::Radio);
    bench.assert_it_passes(&server(ACK, SERVER_ISS + 1, PHONE_ISS + 1), Side::Core);
}

#[test]
fn a_new_connection_of_the_phone_aborts_the_onward_leg() {
    let mut bench = Bench::after_syn();
    let (verdict, _) = bench.pass(&phone(SYN, PHONE_ISS + 77, 0), Side::Radio);
    assert_eq!(verdict, Verdict::Forward);
    assert_eq!(bench.agent.owed(), Owed::default());
}

/// An agent that is drained, is late, or stops at a reload may not take more obligations. These
/// connections need it until their ends close them.
#[test]
fn a_connection_is_served_to_its_end_without_new_obligations() {
    let mut bench = Bench::after_syn();
    let (_, sent) = bench.pass(&server(SYN.with(ACK), SERVER_ISS, bench.onward + 1), Side::Core);
    let answer = sent.iter().find(|(to, _)| *to == Side::Radio).and_then(|(_, packet)| packet.tcp());
    let answered = answer.expect("the phone is answered").seq.0;
    let (verdict, _) = bench.pass(&phone(ACK, PHONE_ISS + 1, answered + 1), Side::Radio);
    assert_eq!(verdict, Verdict::Absorb);
    bench.may_owe = false;
    // More than the phone was allowed before.
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

/// Data of a server that closed first, which the phone has not read, is not lost with the agent's
/// leg to the server, which has closed.
#[test]
fn data_of_a_closed_leg_moves_too() {
    for moves in [false, true] {
        let mut bench = Bench::after_syn();
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
            let states = bench.agent.export(lasthop_agent::Scope::All, &mut cx);
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

/// Both hosts are gone without a reset.
#[test]
fn a_connection_whose_ends_are_gone_is_eventually_forgotten() {
    let mut bench = Bench::after_syn();
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

/// An idle connection stays the same connection.
#[test]
fn an_idle_connection_whose_ends_answer_stays() {
    let mut bench = Bench::opened();
    for _ in 0..20 {
        for (side, question) in bench.wait_until(bench.now + Settings::default().idle_timeout) {
            let question = question.tcp().expect("TCP");
            let answer = match side {
                Side::Core => server(ACK, SERVER_ISS + 1, question.seq.0 + 1),
                Side::Radio => phone(ACK, PHONE_ISS + 1, question.seq.0 + 1),
            };
            assert_eq!(bench.pass(&answer, side).0, Verdict::Absorb);
        }
    }
    let mut data = phone(ACK, PHONE_ISS + 1, bench.back + 1);
    data.set_payload(Payload::Stream { stream: 1, offset: 0, len: 100 });
    let (verdict, sent) = bench.pass(&data, Side::Radio);
    assert_eq!(verdict, Verdict::Absorb);
    let onward = sent.iter().find(|(to, packet)| *to == Side::Core && packet.payload().len() == 100);
    let (_, onward) = onward.expect("it goes on");
    assert_eq!(onward.tcp().map(|tcp| tcp.seq), Some(Seq(bench.onward + 1)));
}

#[test]
fn an_idle_connection_without_one_end_is_reset_at_both_ends() {
    let mut bench = Bench::opened();
    let idle = Settings::default().idle_timeout;
    let mut resets = Vec::new();
    // The server answers, the phone does not.
    for _ in 0..20 {
        for (side, packet) in bench.wait_until(bench.now + idle / 2) {
            let tcp = packet.tcp().expect("TCP");
            if tcp.flags.has(TcpFlags::RST) {
                resets.push((side, bench.now));
            } else if side == Side::Core {
                let _ = bench.pass(&server(ACK, SERVER_ISS + 1, tcp.seq.0 + 1), Side::Core);
            }
        }
    }
    let sides: Vec<Side> = resets.iter().map(|(side, _)| *side).collect();
    assert_eq!(sides, [Side::Core, Side::Radio]);
    assert_eq!(bench.agent.owed(), Owed::default());
}

#[test]
fn a_released_connection_is_reset_at_both_ends() {
    let mut bench = Bench::opened();
    let key = Side::Core.connection(server(ACK, 0, 0).flow_key().expect("TCP"));
    let ((), sent) = bench.call(|agent, cx| agent.release(key, cx));
    let resets: Vec<_> = sent
        .iter()
        .filter_map(|(side, packet)| {
            Some((*side, packet.tcp()?.flags.has(TcpFlags::RST), packet.tcp()?.seq.0))
        })
        .collect();
    assert_eq!(resets, [(Side::Core, true, bench.onward + 1), (Side::Radio, true, bench.back + 1)]);
}

/// At the bound on connections a SYN passes: no existing one is evicted for it, and none is opened
/// without room.
#[test]
fn at_the_bound_new_connections_pass_and_the_others_stay() {
    let mut bench = Bench::opened();
    bench.budget.flows = 1;
    bench.now += Duration::from_secs(3600);
    let other = segment((PHONE.0, 6000), SERVER, SYN, 77, 0);
    let (verdict, sent) = bench.pass(&other, Side::Radio);
    assert_eq!((verdict, sent), (Verdict::Forward, Vec::new()));
    assert_eq!(bench.agent.owed().connections, 1);
}

#[test]
fn a_syn_with_options_that_no_leg_can_answer_passes() {
    let plain = phone(SYN, PHONE_ISS, 0);
    let with_option = |kind: u8, len: u8| {
        let mut syn = plain.clone();
        let mut option = vec![0; usize::from(len)];
        (option[0], option[1]) = (kind, len);
        syn.tcp_mut().expect("TCP").options.unknown = Some(option.into());
        syn
    };
    let mut with_data = plain.clone();
    with_data.set_payload(Payload::Bytes(b"early".as_slice().into()));
    let to = |address: &str| segment(PHONE, (address.parse().expect("an address"), 80), SYN, PHONE_ISS, 0);
    for (what, syn) in [
        ("MD5", with_option(19, 18)),
        ("AO", with_option(29, 16)),
        ("Multipath", with_option(30, 12)),
        ("Fast Open without a cookie", with_option(34, 2)),
        ("Fast Open with a cookie", with_option(34, 10)),
        ("nobody knows it yet", with_option(200, 4)),
        ("data", with_data),
        ("multicast", to("224.0.0.251")),
        ("broadcast", to("255.255.255.255")),
    ] {
        let mut bench = Bench::new();
        assert_eq!(bench.pass(&syn, Side::Radio), (Verdict::Forward, Vec::new()), "{what}");
        let answer = server(SYN.with(ACK), SERVER_ISS, PHONE_ISS + 1);
        bench.assert_it_passes(&answer, Side::Core);
        bench.assert_it_passes(&phone(ACK, PHONE_ISS + 1, SERVER_ISS + 1), Side::Radio);
    }
    assert_eq!(Bench::new().pass(&plain, Side::Radio).0, Verdict::Absorb);
}

#[test]
fn a_syn_without_an_answer_is_not_answered() {
    let mut bench = Bench::after_syn();
    let sent = bench.wait_until(Instant::from_secs(86_400));
    assert!(sent.iter().all(|(to, _)| *to == Side::Core), "{sent:?}");
    assert_eq!(bench.agent.owed(), Owed::default());
}

/// Host unreachable, or prohibited by a firewall.
#[test]
fn an_icmp_error_about_the_onward_syn_is_rewritten_for_the_phone() {
    let mut bench = Bench::after_syn();
    let router = [192, 0, 2, 254].into();
    for (about, number) in [(bench.onward, PHONE_ISS), (bench.onward + 1, bench.onward + 1)] {
        let refused = segment(PHONE, SERVER, SYN, about, 0);
        let mut message = error_about(&refused, router, 3, 13).expect("it is about TCP");
        let (verdict, sent) = bench.call(|agent, cx| agent.on_packet(&mut message, Side::Core, cx));
        let quoted = Quotation::from_message(&message).expect("it is about TCP");
        assert_eq!((verdict, quoted.seq, message.ip().source), (Verdict::Forward, Seq(number), router));
        assert!(sent.is_empty());
    }
}

/// The leg to the server, which closed last, is in TIME-WAIT; the phone's own is not.
#[test]
fn a_phone_that_closed_first_opens_the_next_connection_from_the_same_port() {
    let mut bench = Bench::opened();
    let fin = ACK.with(TcpFlags::FIN);
    let _ = bench.pass(&phone(fin, PHONE_ISS + 1, bench.back + 1), Side::Radio);
    let _ = bench.pass(&server(fin, SERVER_ISS + 1, bench.onward + 2), Side::Core);
    let _ = bench.pass(&phone(ACK, PHONE_ISS + 2, bench.back + 2), Side::Radio);
    let (verdict, sent) = bench.pass(&phone(SYN, PHONE_ISS + 70_000, 0), Side::Radio);
    assert_eq!(verdict, Verdict::Absorb);
    let [(Side::Core, onward)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(onward.tcp().map(|tcp| tcp.flags), Some(SYN));
}

/// A keepalive becomes a probe of the other end: the agent does not answer in its name.
#[test]
fn a_keepalive_goes_to_the_other_end_and_its_answer_comes_back() {
    let mut bench = Bench::opened();
    bench.wait_until(bench.now + Duration::from_secs(60));
    let ask = phone(ACK, PHONE_ISS, bench.back + 1);
    let (verdict, sent) = bench.pass(&ask, Side::Radio);
    assert_eq!(verdict, Verdict::Absorb);
    let [(Side::Core, question)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(question.tcp().map(|tcp| tcp.seq), Some(Seq(bench.onward)));
    bench.wait_until(bench.now + Duration::from_secs(1));
    let (_, sent) = bench.pass(&server(ACK, SERVER_ISS + 1, bench.onward + 1), Side::Core);
    let [(Side::Radio, answer)] = &sent[..] else { panic!("{sent:?}") };
    let answer = answer.tcp().map(|tcp| (tcp.seq, tcp.ack));
    assert_eq!(answer, Some((Seq(bench.back + 1), Seq(PHONE_ISS + 1))));
}

#[test]
fn a_keepalive_to_a_host_that_is_gone_is_not_answered() {
    let mut bench = Bench::opened();
    for _ in 0..100 {
        let sent = bench.wait_until(bench.now + Duration::from_secs(10));
        assert_eq!(sent, []);
        let ask = phone(ACK, PHONE_ISS, bench.back + 1);
        let (_, sent) = bench.pass(&ask, Side::Radio);
        assert!(sent.iter().all(|(to, _)| *to == Side::Core), "{sent:?}");
    }
}

/// A segment of the server, 536 octets long.
fn data(bench: &Bench, n: u32) -> Packet {
    let mut data = server(ACK, SERVER_ISS + 1 + n * 536, bench.onward + 1);
    data.set_payload(Payload::Stream { stream: 2, offset: u64::from(n * 536), len: 536 });
    data
}

/// The number of packets to a side.
fn number(sent: &[(Side, Packet)], side: Side) -> usize {
    sent.iter().filter(|(to, _)| *to == side).count()
}

#[test]
fn a_leg_follows_its_acknowledgment_setting() {
    for (acks, expected) in
        [(LegAcks::EverySegment, [1, 1, 1]), (LegAcks::Delayed, [0, 1, 0]), (LegAcks::Linux, [1, 1, 1])]
    {
        let mut bench = Bench::with(Settings { acks, ..Settings::default() }).ask().open();
        let sent = [0, 1, 2].map(|n| bench.pass(&data(&bench, n), Side::Core).1);
        assert_eq!(sent.map(|sent| number(&sent, Side::Core)), expected, "{acks:?}");
    }
    // A single waiting segment is acknowledged in the end.
    let settings = Settings { acks: LegAcks::Delayed, ..Settings::default() };
    let mut bench = Bench::with(settings).ask().open();
    let _ = bench.pass(&data(&bench, 0), Side::Core);
    let later = bench.now + Duration::from_millis(200);
    assert_eq!(number(&bench.wait_until(later), Side::Core), 1);
}

#[test]
fn as_published_the_legs_are_of_4_3bsd() {
    let mut bench = Bench::with(Settings::published()).ask().open();
    let over_hop: usize =
        (0..10).map(|n| number(&bench.pass(&data(&bench, n), Side::Core).1, Side::Radio)).sum();
    assert_eq!(over_hop, 1, "an initial window of one segment");
    let acknowledged = phone(ACK, PHONE_ISS + 1, bench.back + 1 + 536);
    assert_eq!(number(&bench.pass(&acknowledged, Side::Radio).1, Side::Radio), 2);
    let mut bench = Bench::opened();
    let over_hop: usize =
        (0..10).map(|n| number(&bench.pass(&data(&bench, n), Side::Core).1, Side::Radio)).sum();
    assert_eq!(over_hop, 10, "today");
}

#[test]
fn as_published_a_syn_has_only_the_mss_option_and_only_a_phone_opens() {
    let mut bench = Bench::with(Settings::published());
    let (_, sent) = bench.pass(&phone(SYN, PHONE_ISS, 0), Side::Radio);
    let tcp = sent[0].1.tcp().expect("a SYN");
    let options = &tcp.options;
    assert_eq!((options.window_scale, options.timestamps, options.sack_permitted), (None, None, false));
    assert_eq!(tcp.window, 65_535);
    let mut bench = Bench::with(Settings::published());
    bench.assert_it_passes(&server(SYN, SERVER_ISS, 0), Side::Core);
}

#[test]
fn the_preset_sets_the_values_in_the_schema_and_given_keys_override_it() {
    let read = |text: &str| Settings::read(toml::from_str(text).expect("well formed")).expect("it reads");
    assert_eq!(read("preset = 'published'"), Settings::published());
    let every = Settings { acks: LegAcks::EverySegment, ..Settings::published() };
    assert_eq!(read("preset = 'published'\nacks = 'every-segment'"), every);
    assert_eq!(read("congestion = '4.3bsd'").congestion, LegCongestion::Bsd);
}
