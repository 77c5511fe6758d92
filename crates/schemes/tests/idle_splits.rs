//! The memory of a connection in an agent that splits it, with all allocations: at most two
//! kibibytes if it is idle, and seven if it was just used.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use allocation_counter::measure;
use lasthop_agent::{Agent, Budget, Context, Outbox, Side, Verdict};
use lasthop_packet::{
    FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, TcpOptions, Timestamps,
};
use lasthop_schemes::{Role, Seat, catalog};

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const CONNECTIONS: u32 = 20_000;
const MAX_OCTETS: u64 = 2048;
/// The connection that becomes active again.
const WOKEN: u32 = 7;
const MAX_AWAKE: u64 = 7168;

struct Bench {
    agent: Box<dyn Agent>,
    outbox: Outbox,
    rng: Rng,
    now: Instant,
}

/// A host with four connections.
fn client(number: u32) -> (IpAddr, u16) {
    (IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number / 4)), 40_000 + (number % 4) as u16)
}

fn segment(from: (IpAddr, u16), to: (IpAddr, u16), flags: TcpFlags, seq: u32, ack: u32) -> Packet {
    let is_syn = flags.has(TcpFlags::SYN);
    let options = TcpOptions {
        maximum_segment_size: is_syn.then_some(1460),
        window_scale: is_syn.then_some(7),
        sack_permitted: is_syn,
        timestamps: Some(Timestamps { value: 1, echo_reply: 1 }),
        ..TcpOptions::default()
    };
    let tcp = Tcp {
        source_port: from.1,
        destination_port: to.1,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 64_000,
        options,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(from.0, to.0), tcp, Payload::EMPTY)
}

impl Bench {
    fn call<R>(&mut self, ask: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R) -> R {
        let flows = 2 * CONNECTIONS as usize;
        let budget = Budget { flows, octets_in_all: 256 << 20, ..Budget::default() };
        self.outbox.packets.clear();
        self.outbox.reports.clear();
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.outbox).within(budget);
        ask(self.agent.as_mut(), &mut cx)
    }

    /// Passes a packet to the agent. Returns the number of the SYN that leaves, the packet's own or
    /// the agent's.
    fn show(&mut self, mut packet: Packet, from: Side) -> u32 {
        let verdict = self.call(|agent, cx| agent.on_packet(&mut packet, from, cx));
        let sent = self.outbox.packets.drain(..).map(|(_, sent)| sent);
        let mut syns = sent.chain((verdict == Verdict::Forward).then_some(packet));
        let number = syns.find_map(|syn| Some(syn.tcp().filter(|tcp| tcp.flags.has(TcpFlags::SYN))?.seq.0));
        number.unwrap_or(0)
    }

    /// Opens a connection. Returns the first number sent to the server.
    fn open(&mut self, number: u32) -> u32 {
        let (client, server) = (client(number), (SERVER, 443));
        let answer = TcpFlags::SYN.with(TcpFlags::ACK);
        let first = self.show(segment(client, server, TcpFlags::SYN, 100, 0), Side::Radio).wrapping_add(1);
        let answered = self.show(segment(server, client, answer, 500, first), Side::Core);
        self.show(segment(client, server, TcpFlags::ACK, 101, answered.wrapping_add(1)), Side::Radio);
        first
    }

    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(due) = self.agent.deadline().filter(|due| due.at <= until) {
            self.now = self.now.max(due.at);
            self.call(|agent, cx| agent.on_deadline(cx));
        }
        self.now = until;
    }
}

#[test]
fn an_idle_connection_costs_at_most_two_kibibytes_and_resumes() {
    for scheme in ["cicada", "as-tcp", "i-tcp"] {
        an_idle_connection_goes_on(scheme);
    }
}

#[allow(clippy::print_stdout, reason = "a figure for the documentation")]
fn an_idle_connection_goes_on(scheme: &str) {
    let scheme = catalog::find(scheme).expect("it is in the catalog");
    let placement = scheme.configure(toml::Table::new()).expect("defaults");
    let mut kept = None;
    let (mut awake, mut first) = (0, 0);
    let allocated = measure(|| {
        let agent = placement.agent(Seat { role: Role::Edge, address: SERVER }).expect("it has an agent");
        let mut bench = Bench {
            agent,
            outbox: Outbox::default(),
            rng: Rng::named(1, "idle"),
            now: Instant::from_secs(1),
        };
        let opened = measure(|| {
            for number in 0..CONNECTIONS {
                let opened = bench.open(number);
                first = if number == WOKEN { opened } else { first };
            }
        });
        awake = opened.bytes_current as u64 / u64::from(CONNECTIONS);
        bench.wait(Duration::from_secs(60));
        kept = Some(bench);
    });
    let each = allocated.bytes_current as u64 / u64::from(CONNECTIONS);
    println!("{}: {each} octets for each idle connection, {awake} for one in use", scheme.name);
    assert!(awake <= MAX_AWAKE, "{}: {awake} octets", scheme.name);
    assert!(each <= MAX_OCTETS, "{}: {each} octets", scheme.name);

    let mut bench = kept.expect("it was made");
    let (client, server) = (client(WOKEN), (SERVER, 443));
    let key = FlowKey::tcp(server, client);
    let mut packet = segment(server, client, TcpFlags::ACK, 501, first);
    packet.set_payload(Payload::Stream { stream: 1, offset: 0, len: 1000 });
    let verdict = bench.call(|agent, cx| agent.on_packet(&mut packet, Side::Core, cx));
    assert_eq!((verdict, bench.agent.obligation(key).octets()), (Verdict::Absorb, 1000));
}
