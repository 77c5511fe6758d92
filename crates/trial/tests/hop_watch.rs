//! The gateway's measurements of a hop, checked by scripts of segments and by worlds with known
//! losses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lasthop_agent::{Accounts, Agent, Context, Deadline, LinkSenses, Outbox, Side, Transfer, Verdict};
use lasthop_gateway::engine::FlowReport;
use lasthop_gateway::frame::{Frame, Headers};
use lasthop_gateway::hop_watch::{HopCounters, HopWatch};
use lasthop_gateway::io::{Port, PortId};
use lasthop_gateway::{Engine, Outgoing, config};
use lasthop_packet::wire::emit;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Rng, Seq, Tcp, TcpFlags, Timestamps};
use lasthop_scenario::file;
use lasthop_schemes::catalog::find;
use lasthop_schemes::{Role, Seat};
use lasthop_sim::{DropCause, Interest, LinkId, NodeId, Observer, TraceEvent};

const MSS: u32 = 1000;

/// A watched connection, and a clock.
struct Script {
    watch: HopWatch,
    now: Instant,
    timestamp: Option<u32>,
}

impl Script {
    /// A connection after its handshake, with 40 ms over the wire and 10 ms over the hop; data
    /// begin at 1.
    fn opened() -> Self {
        let mut script = Self::unseen();
        let both = TcpFlags::SYN.with(TcpFlags::ACK);
        script.passes(Side::Radio, &segment(0, 0, 0, TcpFlags::SYN));
        script.after(40);
        script.passes(Side::Core, &segment(0, 0, 1, both));
        script.after(10);
        script.passes(Side::Radio, &segment(1, 0, 1, TcpFlags::ACK));
        script
    }

    /// A connection whose handshake has not been seen.
    fn unseen() -> Self {
        Self { watch: HopWatch::default(), now: Instant::from_secs(1), timestamp: None }
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn arrives(&mut self, from: Side, packet: &Packet) -> &mut Self {
        self.watch.arrived(packet, from, self.now);
        self
    }

    fn leaves(&mut self, to: Side, packet: &Packet, by_agent: bool) -> &mut Self {
        self.watch.departed(packet, to, by_agent, self.now);
        self
    }

    fn passes(&mut self, from: Side, packet: &Packet) -> &mut Self {
        self.arrives(from, packet).leaves(from.opposite(), packet, false)
    }

    /// Passes the numbered segments of data.
    fn data(&mut self, from: Side, numbers: impl IntoIterator<Item = u32>) -> &mut Self {
        for number in numbers {
            let mut packet = data(number);
            if let Some(value) = self.timestamp {
                let timestamps = Timestamps { value, echo_reply: 0 };
                packet.tcp_mut().expect("a segment").options.timestamps = Some(timestamps);
            }
            self.passes(from, &packet);
        }
        self
    }

    /// Passes an ACK of all segments before the numbered one.
    fn ack(&mut self, from: Side, number: u32) -> &mut Self {
        self.passes(from, &segment(1, 0, 1 + number * MSS, TcpFlags::ACK))
    }

    fn sacked(&mut self, number: u32, blocks: &[(u32, u32)]) -> &mut Self {
        let mut ack = segment(1, 0, 1 + number * MSS, TcpFlags::ACK);
        let sack = &mut ack.tcp_mut().expect("a segment").options.sack;
        for (left, right) in blocks {
            sack.push(Seq(1 + left * MSS), Seq(1 + right * MSS));
        }
        self.passes(Side::Radio, &ack)
    }

    fn counters(&self) -> HopCounters {
        *self.watch.counters()
    }
}

fn segment(seq: u32, len: u32, ack: u32, flags: TcpFlags) -> Packet {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let tcp = Tcp { seq: Seq(seq), ack: Seq(ack), flags, window: 1000, ..Tcp::default() };
    Packet::tcp_segment(Ip::new(address, address), tcp, Payload::Stream { stream: 1, offset: 0, len })
}

fn data(number: u32) -> Packet {
    segment(1 + number * MSS, MSS, 1, TcpFlags::ACK)
}

fn down(segments: u64, lost: u64) -> HopCounters {
    // The server's SYN is the first.
    HopCounters { segments_down: 1 + segments, lost_down: lost, segments_up: 1, ..HopCounters::default() }
}

#[test]
fn a_retransmission_to_the_client_counts_as_a_loss_on_the_hop() {
    let mut script = Script::opened();
    script.data(Side::Core, 0..5).after(30).data(Side::Core, [2]).ack(Side::Radio, 5);
    assert_eq!(script.counters(), down(6, 1));
}

#[test]
fn a_retransmission_by_an_agent_counts_as_a_repair() {
    let mut script = Script::opened();
    script.data(Side::Core, 0..5).after(10).leaves(Side::Radio, &data(2), true);
    assert_eq!(script.counters(), HopCounters { repairs: 1, ..down(6, 1) });
}

#[test]
fn a_first_transmission_by_an_agent_is_not_a_repair() {
    let mut script = Script::opened();
    script.arrives(Side::Core, &data(0)).after(5).leaves(Side::Radio, &data(0), true);
    assert_eq!(script.counters(), down(1, 0));
}

#[test]
fn a_missing_segment_that_passes_later_counts_as_a_loss_on_the_wire() {
    let mut script = Script::opened();
    script.data(Side::Core, [0, 1, 3, 4, 6, 7]).after(50).data(Side::Core, [2, 5]).ack(Side::Radio, 8);
    assert_eq!(script.counters(), HopCounters { lost_before: 2, ..down(8, 0) });
}

#[test]
fn losses_of_wire_and_hop_in_one_window_are_counted_separately() {
    let mut script = Script::opened();
    // 2 and 8 are lost before the gateway; 5 is lost after it.
    script.data(Side::Core, [0, 1, 3, 4, 5, 6, 7, 9, 10, 11]);
    script.after(50).data(Side::Core, [2, 5, 8]).ack(Side::Radio, 12);
    assert_eq!(script.counters(), HopCounters { lost_before: 2, ..down(13, 1) });
}

#[test]
fn a_missing_segment_from_the_client_counts_as_a_loss_up() {
    let mut script = Script::opened();
    script.data(Side::Radio, [0, 1, 4, 5, 6, 7]).after(50).data(Side::Radio, [2, 3]).ack(Side::Core, 8);
    let counters = HopCounters { segments_up: 9, lost_up: 2, ..down(0, 0) };
    assert_eq!(script.counters(), counters);
}

#[test]
fn a_reordered_segment_is_not_lost() {
    // Overtaken by fewer than three, at once.
    let mut script = Script::opened();
    script.data(Side::Radio, [0, 2, 3]).after(1).data(Side::Radio, [1]);
    assert_eq!(script.counters().lost_up, 0);
    // Overtaken by many, with its own timestamp.
    let mut script = Script::opened();
    script.timestamp = Some(u32::MAX);
    script.data(Side::Radio, [0]);
    script.timestamp = Some(3);
    script.data(Side::Radio, 2..40).after(30);
    script.timestamp = Some(u32::MAX);
    script.data(Side::Radio, [1]);
    assert_eq!(script.counters().lost_up, 0);
}

#[test]
fn a_segment_that_is_late_or_after_three_others_is_a_retransmission() {
    for (between, millis) in [(1, 9), (3, 0)] {
        let mut script = Script::opened();
        script.data(Side::Radio, [0]).data(Side::Radio, 2..2 + between);
        script.after(millis).data(Side::Radio, [1]);
        assert_eq!(script.counters().lost_up, 1, "{between} in between, {millis} ms");
    }
    let mut script = Script::opened();
    script.timestamp = Some(7);
    script.data(Side::Radio, [0, 2]).after(1);
    script.timestamp = Some(8);
    script.data(Side::Radio, [1]);
    assert_eq!(script.counters().lost_up, 1, "it was sent after the later segment");
}

#[test]
fn probes_and_keepalives_do_not_count_as_losses() {
    let mut script = Script::opened();
    script.data(Side::Core, [0]).ack(Side::Radio, 1);
    // A keepalive without and with an acknowledged octet.
    script.passes(Side::Core, &segment(MSS, 0, 1, TcpFlags::ACK));
    script.passes(Side::Core, &segment(MSS, 1, 1, TcpFlags::ACK));
    // The window closes, and one octet is probed repeatedly.
    let mut closed = segment(1, 0, 1 + MSS, TcpFlags::ACK);
    closed.tcp_mut().expect("a segment").window = 0;
    script.passes(Side::Radio, &closed);
    for _ in 0..3 {
        script.after(300).passes(Side::Core, &segment(1 + MSS, 1, 1, TcpFlags::ACK));
        script.passes(Side::Radio, &closed);
    }
    script.ack(Side::Radio, 1).data(Side::Core, 1..3).ack(Side::Radio, 3);
    assert_eq!(script.counters().lost_down, 0);
    // A lost octet in an open window counts.
    let mut script = Script::opened();
    let octet = segment(1, 1, 1, TcpFlags::ACK);
    script.passes(Side::Core, &octet).after(300).passes(Side::Core, &octet);
    assert_eq!(script.counters().lost_down, 1);
}

#[test]
fn a_copy_is_needless_if_reported_by_dsack_or_already_acknowledged() {
    let mut script = Script::opened();
    script.data(Side::Core, 0..5).after(300).data(Side::Core, [0, 1]);
    script.sacked(5, &[(0, 1)]).sacked(5, &[(1, 2)]);
    assert_eq!(script.counters(), HopCounters { needless: 2, ..down(7, 2) });
    // A first block within the second one also reports a copy; another does not.
    let mut script = Script::opened();
    script.data(Side::Core, 0..5).data(Side::Core, [3]).sacked(2, &[(3, 4), (3, 5)]).sacked(2, &[(3, 5)]);
    assert_eq!(script.counters().needless, 1);
    // A copy that was acknowledged before it passed and is also reported counts once.
    let mut script = Script::opened();
    script.data(Side::Core, 0..5).ack(Side::Radio, 5).data(Side::Core, [0]).sacked(5, &[(0, 1)]);
    assert_eq!(script.counters(), HopCounters { needless: 1, ..down(6, 1) });
    // No more than the retransmitted segments can be needless.
    script.sacked(5, &[(0, 5)]);
    assert_eq!(script.counters().needless, 1);
}

#[test]
fn a_super_packet_counts_as_its_segments() {
    let large = |number: u32, segments: u32| {
        let mut packet = segment(1 + number * MSS, segments * MSS, 1, TcpFlags::ACK);
        packet.set_segment_size(NonZeroU16::new(MSS as u16));
        packet
    };
    let mut script = Script::opened();
    script.passes(Side::Core, &large(0, 10)).passes(Side::Core, &large(12, 8));
    // Two of the first super-packet are lost after the gateway, and two before it.
    script.after(50).passes(Side::Core, &large(8, 4)).ack(Side::Radio, 20);
    assert_eq!(script.counters(), HopCounters { lost_before: 2, ..down(22, 2) });
}

#[test]
fn sequence_numbers_may_wrap_around() {
    let at = |number: u32| segment((Seq(u32::MAX - 2 * MSS) + number * MSS).0, MSS, 1, TcpFlags::ACK);
    let mut script = Script::unseen();
    for number in [0, 1, 3, 4, 5, 6] {
        script.passes(Side::Core, &at(number));
    }
    script.after(50).passes(Side::Core, &at(2)).passes(Side::Core, &at(0));
    let counters = HopCounters { segments_down: 8, lost_down: 1, lost_before: 1, ..HopCounters::default() };
    assert_eq!(script.counters(), counters);
}

#[test]
fn a_connection_without_a_seen_handshake_counts_from_its_first_segment() {
    let mut script = Script::unseen();
    // The first segment may be a copy and gives no round-trip time. Later ones did not pass here.
    script.data(Side::Core, [7]).after(5).ack(Side::Radio, 8);
    assert_eq!(script.watch.rtt_hop(), None);
    script.ack(Side::Radio, 9).data(Side::Core, 20..25).after(20).ack(Side::Radio, 25);
    let counters = HopCounters { segments_down: 6, ..HopCounters::default() };
    let rtt = Some(Duration::from_millis(20));
    assert_eq!((script.counters(), script.watch.rtt_hop()), (counters, rtt));
    // Beyond any window: the watch starts again.
    script.data(Side::Core, [100_000, 100_001]).after(9).data(Side::Core, [100_000]);
    assert_eq!(script.counters(), HopCounters { segments_down: 9, lost_down: 1, ..counters });
}

#[test]
fn round_trip_times_are_smoothed_and_exclude_retransmissions() {
    let hop = |script: &Script| script.watch.rtt_hop().map(|time| time.as_micros());
    let mut script = Script::opened();
    assert_eq!(hop(&script), Some(10_000), "of the handshake");
    assert_eq!(script.watch.rtt_wire(), Some(Duration::from_millis(40)));
    script.data(Side::Core, [0]).after(18).ack(Side::Radio, 1);
    assert_eq!(hop(&script), Some(11_000));
    // Sent twice: the ACK may be of either copy.
    script.data(Side::Core, [1]).after(300).data(Side::Core, [1]).after(1).ack(Side::Radio, 2);
    // After a segment that was sent twice: the ACK waits for its copy.
    script.data(Side::Core, [2]).after(1).ack(Side::Radio, 3);
    script.data(Side::Core, 3..6).after(300).data(Side::Core, [3]).after(1).ack(Side::Radio, 6);
    assert!(hop(&script) < Some(11_000));
    assert_eq!(script.watch.rtt_min_hop(), Some(Duration::from_millis(1)));
    // An ACK of data that was not sent, and one after too long a time, are ignored.
    let before = hop(&script);
    script.data(Side::Core, [6]).ack(Side::Radio, 90).after(61_000).ack(Side::Radio, 7);
    assert_eq!(hop(&script), before);
}

/// An engine without devices, between a server and a client.
struct Gateway {
    engine: Engine,
    out: Outgoing,
    now: Instant,
}

impl Gateway {
    fn new(configuration: &str) -> Self {
        let config = config::parse(configuration, "gateway.toml", LinkSenses::empty()).expect("it is right");
        let port = |name: &str, side| Port { name: name.into(), side, ethernet: false, copies_of: None };
        let engine = Engine::new(&[port("core", Side::Core), port("radio", Side::Radio)], &config.plan);
        Self { engine, out: Outgoing::default(), now: Instant::from_secs(1) }
    }

    fn packet(from: Side, seq: u32, len: u32, ack: u32, flags: TcpFlags) -> Vec<u8> {
        let ends = [(Ipv4Addr::new(192, 0, 2, 1), 443), (Ipv4Addr::new(10, 0, 0, 7), 50_000)];
        let (source, destination) = if from == Side::Core { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        let mut tcp = Tcp { seq: Seq(seq), ack: Seq(ack), flags, window: 60_000, ..Tcp::default() };
        (tcp.source_port, tcp.destination_port) = (source.1, destination.1);
        let ip = Ip::new(source.0.into(), destination.0.into());
        emit(&Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 1, offset: 0, len })).to_vec()
    }

    /// A download with the fifth of ten segments lost on the hop, and three duplicate ACKs for it.
    fn lossy_download(&mut self, pass: fn(&mut Self, Side, Vec<u8>)) {
        let both = TcpFlags::SYN.with(TcpFlags::ACK);
        let mut at = |from, seq, len, ack, flags, millis| {
            self.now += Duration::from_millis(millis);
            pass(self, from, Self::packet(from, seq, len, ack, flags));
        };
        at(Side::Radio, 0, 0, 0, TcpFlags::SYN, 0);
        at(Side::Core, 0, 0, 1, both, 30);
        at(Side::Radio, 1, 0, 1, TcpFlags::ACK, 10);
        at(Side::Radio, 1, 100, 1, TcpFlags::ACK, 0);
        for number in 0..10 {
            at(Side::Core, 1 + number * MSS, MSS, 101, TcpFlags::ACK, 1);
        }
        for _ in 0..5 {
            at(Side::Radio, 101, 0, 1 + 4 * MSS, TcpFlags::ACK, 2);
        }
    }

    fn flow(&self) -> FlowReport {
        self.engine.flows(0, self.now).flows.pop().expect("a connection")
    }
}

#[test]
fn the_engine_counts_an_agents_retransmission_as_a_repair() {
    let mut gateway = Gateway::new("[[rule]]\nscheme = \"snoop\"\n");
    gateway.lossy_download(|gateway, from, octets| {
        let frame = Frame::plain(octets.into());
        gateway.engine.on_frame(PortId(u16::from(from == Side::Radio)), frame, gateway.now, &mut gateway.out);
    });
    let flow = gateway.flow();
    let hop =
        HopCounters { segments_down: 12, lost_down: 1, repairs: 1, segments_up: 2, ..HopCounters::default() };
    assert_eq!((flow.hop, gateway.engine.report().hop), (hop, hop));
    assert_eq!((flow.rtt_hop_s, flow.rtt_wire_s.is_some()), (Some(0.010_125), true));
}

#[test]
fn a_passive_engine_measures_by_headers_and_sends_nothing() {
    let mut gateway = Gateway::new("passive = true\n[[rule]]\nscheme = \"snoop\"\n");
    let pass = |gateway: &mut Gateway, from, octets: Vec<u8>| {
        let headers = Headers { octets: &octets[..40], len: octets.len(), segment_size: None };
        let port = PortId(u16::from(from == Side::Radio));
        gateway.engine.on_passed(port, &headers, gateway.now, &mut gateway.out);
    };
    gateway.lossy_download(pass);
    gateway.now += Duration::from_millis(40);
    pass(&mut gateway, Side::Core, Gateway::packet(Side::Core, 1 + 4 * MSS, MSS, 101, TcpFlags::ACK));
    // A reload does not change this.
    let active = config::parse("[[rule]]\nscheme = \"snoop\"\n", "gateway.toml", LinkSenses::empty());
    gateway.engine.reload(&active.expect("it is right").plan, gateway.now, &mut gateway.out);
    pass(&mut gateway, Side::Radio, Gateway::packet(Side::Radio, 101, 0, 1 + 10 * MSS, TcpFlags::ACK));
    let flow = gateway.flow();
    let hop = HopCounters { segments_down: 12, lost_down: 1, segments_up: 2, ..HopCounters::default() };
    assert_eq!((flow.hop, flow.rule.as_str(), flow.packets_from_radio), (hop, "", 9));
    let report = gateway.engine.report();
    assert!(report.passive && report.rules.is_empty() && report.counters.counts.received == 0);
    let Outgoing { frames, bypasses, set_aside, diverted_again } = &gateway.out;
    assert!(frames.is_empty() && bypasses.is_empty() && set_aside.is_empty() && diverted_again.is_empty());
}

/// The watch at the gateway's place: it sees every packet before and after an agent, if there is
/// one.
struct Watched {
    agent: Option<Box<dyn Agent>>,
    seen: Arc<Mutex<Seen>>,
}

/// The watched connections, by their keys from the core side to the radio side.
#[derive(Default)]
struct Seen {
    watches: BTreeMap<FlowKey, HopWatch>,
}

impl Seen {
    fn watch(&mut self, packet: &Packet, side: Side) -> Option<&mut HopWatch> {
        let key = side.connection(packet.flow_key()?);
        Some(self.watches.entry(key).or_default())
    }

    /// The sum over all connections.
    fn total(&self) -> HopCounters {
        self.watches.values().fold(HopCounters::default(), |total, watch| total.plus(*watch.counters()))
    }

    fn arrived(&mut self, packet: &Packet, from: Side, now: Instant) {
        if let Some(watch) = self.watch(packet, from) {
            watch.arrived(packet, from, now);
        }
    }

    fn departed(&mut self, packet: &Packet, to: Side, by_agent: bool, now: Instant) {
        if let Some(watch) = self.watch(packet, to.opposite()) {
            watch.departed(packet, to, by_agent, now);
        }
    }
}

impl Watched {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<R>(
        &mut self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let mut outbox = Outbox::default();
        let mut rng = Rng::named(1, "test");
        let result = self
            .agent
            .as_mut()
            .map(|agent| f(agent.as_mut(), &mut Context::new(cx.now(), &mut rng, &mut outbox)));
        for (to, packet) in outbox.packets {
            self.seen().departed(&packet, to, true, cx.now());
            cx.send(to, packet);
        }
        result
    }
}

impl Agent for Watched {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        self.seen().arrived(packet, from, cx.now());
        let verdict =
            self.call(cx, |agent, cx| agent.on_packet(packet, from, cx)).unwrap_or(Verdict::Forward);
        if verdict == Verdict::Forward {
            self.seen().departed(packet, from.opposite(), false, cx.now());
        }
        verdict
    }

    fn deadline(&self) -> Option<Deadline> {
        self.agent.as_ref()?.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let _ = self.call(cx, |agent, cx| agent.on_deadline(cx));
    }

    fn needs(&self) -> LinkSenses {
        self.agent.as_ref().map_or(LinkSenses::empty(), |agent| agent.needs())
    }
}

impl Accounts for Watched {
    fn held(&self) -> u64 {
        self.agent.as_ref().map_or(0, |agent| agent.held())
    }
}

impl Transfer for Watched {}

/// The number of segments lost on the wire to the gateway, and down and up on the hop.
#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    wire: u64,
    down: u64,
    up: u64,
}

struct Losses {
    places: [(NodeId, LinkId); 3],
    truth: Arc<Mutex<Truth>>,
}

impl Observer for Losses {
    fn interest(&self) -> Interest {
        Interest::DROPS
    }

    fn on_event(&mut self, _: Instant, event: &TraceEvent<'_>) {
        let TraceEvent::Dropped { node, link: Some(link), cause, packet } = *event else { return };
        if packet.segment_len() == 0 || matches!(cause, DropCause::Agent(_)) {
            return;
        }
        let mut truth = self.truth.lock().unwrap_or_else(PoisonError::into_inner);
        let Truth { wire, down, up } = &mut *truth;
        if let Some(at) = self.places.iter().position(|place| *place == (node, link)) {
            *[wire, down, up][at] += 1;
        }
    }
}

/// Runs a world. Returns the losses, and the connections as the watch has seen them.
fn run(scenario: &str, scheme: &str, seed: u64) -> (Truth, Seen) {
    let scenario = file::parse(scenario, "hop-watch.toml", Path::new(""), &file::Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut built = scenario.build(&scenario.schemes[0], seed).expect("it builds");
    let seat = Seat { role: Role::Edge, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
    let placement =
        find(scheme).and_then(|scheme| scheme.configure(toml::Table::new())).expect("its defaults");
    let agent = placement.agent(seat);
    let (seen, truth) = (Arc::default(), Arc::default());
    let ([server, edge, laptop], [wire, air]) =
        ([0, 1, 2].map(|node| built.nodes[node]), [0, 1].map(|link| built.links[link]));
    let watched = Watched { agent, seen: Arc::clone(&seen) };
    built.world.attach(edge, &[air], Box::new(watched)).expect("it needs nothing");
    let places = [(server, wire), (edge, air), (laptop, air)];
    built.world.observe(Box::new(Losses { places, truth: Arc::clone(&truth) }));
    built.world.run(Instant::from_secs(600), true);
    for flow in built.flows {
        assert!(built.world.outcome(flow).completion.is_some(), "it is done");
    }
    drop(built.world);
    let truth = *truth.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    (truth, seen)
}

/// "none", and the schemes that run in a gateway without link events.
const SCHEMES: [&str; 7] = ["none", "snoop", "packet-control", "i-tcp", "wtcp", "eln", "cicada"];

/// A transfer over a wire and a hop, with the loss of each in the direction of the data.
fn world(is_upload: bool, size: &str, wire: &str, hop: &str, delays: [u64; 2]) -> String {
    let (from, to, way) =
        if is_upload { ("laptop", "server", "backward") } else { ("server", "laptop", "forward") };
    let [wire_ms, hop_ms] = delays;
    format!(
        r#"
duration = "600 s"
schemes = ["none"]
tcp = {{ recovery = "sack", dsack = true, timestamps = true, acks = "delayed", congestion = "cubic" }}
nodes.server.kind = "host"
nodes.edge.kind = "router"
nodes.laptop.kind = "host"
flows.transfer = {{ from = "{from}", to = "{to}", size = "{size}" }}

[links.internet]
between = ["server", "edge"]
rate = "50 Mbit/s"
delay = "{wire_ms} ms"
queue = "1000 packets"
{way} = {{ loss = "{wire}" }}

[links.air]
kind = "wireless"
between = ["edge", "laptop"]
rate = "10 Mbit/s"
delay = "{hop_ms} ms"
queue = "1000 packets"
{way} = {{ loss = "{hop}" }}
"#
    )
}

/// The scheme under which needless copies are not reported, because the agent's own sender ignores
/// SACK.
const WITHOUT_DSACK: &str = "i-tcp";

#[test]
fn single_losses_are_counted_exactly_under_every_scheme() {
    for scheme in SCHEMES {
        let (truth, seen) =
            run(&world(false, "1 MB", "packets 40, 90", "packets 60, 61, 120", [25, 3]), scheme, 1);
        let (counters, lost) = (seen.total(), (truth.wire, truth.down));
        assert_eq!(lost, (2, 3));
        assert_eq!(
            (counters.lost_before, counters.lost_down - counters.needless),
            lost,
            "{scheme}: {counters:?}"
        );
        let watch = seen.watches.values().next().expect("a connection");
        let least = watch.rtt_min_hop().expect("it is measured");
        let is_within = |time: Duration, from, to| (from..to).contains(&time.as_micros());
        assert!(is_within(least, 6000, 6200), "{scheme}: {least:?}");
        let wire = watch.rtt_wire().expect("it is measured");
        assert!(is_within(wire, 50_000, 51_000), "{scheme}: {wire:?}");
        let (truth, seen) = run(&world(true, "1 MB", "0%", "packets 80, 150, 151, 300", [25, 3]), scheme, 1);
        assert_eq!((truth.up, seen.total().lost_up), (4, 4), "{scheme}");
    }
}

#[test]
fn losses_of_random_worlds_are_counted_within_bounds() {
    for scheme in SCHEMES {
        let (mut lost, mut seen_of_them) = (0, 0);
        for seed in 0..60 {
            let mut rng = Rng::named(seed, "worlds");
            let is_upload = seed % 2 == 1;
            let bursts = if rng.below(2) == 0 { "" } else { " in bursts of 3" };
            let mut loss = |most| format!("{}%{bursts}", rng.below(most) as f64 / 100.0);
            let (wire, hop) = (loss(200), loss(800));
            let size = format!("{} kB", 100 + rng.below(900));
            let delays = [1 + rng.below(60), 1 + rng.below(40)];
            let world = world(is_upload, &size, &wire, &hop, delays);
            let (truth, seen) = run(&world, scheme, seed);
            let counters = seen.total();
            let about = format!("{scheme}, seed {seed}: {truth:?}, {counters:?}");
            if is_upload {
                assert!(counters.lost_up <= truth.up, "{about}");
                (lost, seen_of_them) = (lost + truth.up, seen_of_them + counters.lost_up);
            } else {
                // The last segment may be lost at the end of the run, and some copies are never
                // reported.
                let needed = counters.lost_down - counters.needless;
                assert!(needed + 1 >= truth.down, "{about}");
                assert!(needed <= truth.down + 4 + truth.down / 8 || scheme == WITHOUT_DSACK, "{about}");
                assert!(counters.lost_before <= truth.wire, "{about}");
            }
            let least = seen.watches.values().next().expect("a connection").rtt_min_hop();
            assert!(
                least.is_none_or(|least| least >= Duration::from_millis(2 * delays[1])),
                "{about}: {least:?}"
            );
        }
        // Losses without later segments, and repeated losses of a segment, are not detected.
        assert!(seen_of_them * 3 > lost * 2, "{scheme}: {seen_of_them} of {lost}");
    }
}

#[test]
fn a_watch_is_small() {
    assert!(size_of::<HopWatch>() <= 208, "{}", size_of::<HopWatch>());
}
