//! A scheme's agent does the same in the simulator and in the gateway, octet for octet.
//!
//! A scenario runs in the simulator, with the agent at the access point wrapped in a recorder of
//! each call: its time, its packet, and the packets that the agent sends. Then every recorded
//! packet arrives at the gateway's ports as an Ethernet frame, at the same time. The gateway must
//! send the same packets, in the same order.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{
    Accounts, Agent, Budget, Context, Deadline, LinkEvent, LinkSenses, Outbox, Side, Transfer, Verdict,
};
use lasthop_gateway::frame::{Checksum, Frame};
use lasthop_gateway::io::{Port, PortId};
use lasthop_gateway::plan::{AgentMaker, RulePlan, SteppingAside};
use lasthop_gateway::table::IdleTimes;
use lasthop_gateway::{Engine, Outgoing, Plan, Selector};
use lasthop_packet::wire::{checksums_are_right, emit};
use lasthop_packet::{FlowKey, Instant, Packet, Rng};
use lasthop_scenario::file;
use lasthop_schemes::catalog::find;
use lasthop_schemes::{Role, Seat};

const PORTS: [PortId; 2] = [PortId(0), PortId(1)];
const LINKS: [[u8; 14]; 2] =
    [[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], [2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4, 8, 0]];

/// A call of the agent, and the resulting packets as octets, each with the side to which it was
/// sent.
#[derive(Debug)]
struct Call {
    at: Instant,
    input: Option<(Side, Bytes)>,
    out: Vec<(Side, Bytes)>,
}

/// Forwards every call to an agent, and records it.
struct Recorder {
    agent: Box<dyn Agent>,
    tape: Arc<Mutex<Vec<Call>>>,
}

impl Recorder {
    fn record<R>(
        &mut self,
        cx: &mut Context<'_>,
        input: Option<(Side, Bytes)>,
        f: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> (R, Call) {
        let mut outbox = Outbox::default();
        let mut rng = Rng::named(1, "test");
        let result = f(self.agent.as_mut(), &mut Context::new(cx.now(), &mut rng, &mut outbox));
        let out = outbox.packets.iter().map(|(to, packet)| (*to, emit(packet))).collect();
        for (to, packet) in outbox.packets {
            cx.send(to, packet);
        }
        outbox.reports.into_iter().for_each(|report| cx.report(report));
        (result, Call { at: cx.now(), input, out })
    }

    fn keep(&self, call: Call) {
        self.tape.lock().expect("no panic while it was locked").push(call);
    }
}

impl Agent for Recorder {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let input = Some((from, emit(packet)));
        let (verdict, mut call) = self.record(cx, input, |agent, cx| agent.on_packet(packet, from, cx));
        if verdict == Verdict::Forward {
            call.out.push((from.opposite(), emit(packet)));
        }
        self.keep(call);
        verdict
    }

    fn on_link(&mut self, _event: &LinkEvent<'_>, _cx: &mut Context<'_>) {
        unreachable!("it is not asked for");
    }

    fn deadline(&self) -> Option<Deadline> {
        self.agent.deadline()
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let ((), call) = self.record(cx, None, |agent, cx| agent.on_deadline(cx));
        self.keep(call);
    }

    fn needs(&self) -> LinkSenses {
        self.agent.needs()
    }
}

impl Accounts for Recorder {
    fn held(&self) -> u64 {
        self.agent.held()
    }
}

impl Transfer for Recorder {
    fn drain(&mut self, cx: &mut Context<'_>) {
        self.agent.drain(cx);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.agent.release(connection, cx);
    }
}

fn agent(scheme: &str, settings: &str) -> AgentMaker {
    let settings: toml::Table = settings.parse().expect("settings");
    let placement = find(scheme).and_then(|scheme| scheme.configure(settings)).expect("the catalog has it");
    let seat = Seat { role: Role::Edge, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
    Arc::new(move || placement.agent(seat).expect("it sits at the edge"))
}

/// Records the calls of the agent in the simulator.
fn record(scenario: &str, maker: &AgentMaker) -> Vec<Call> {
    let scenario = file::parse(scenario, "same-code.toml", Path::new(""), &file::Overrides::default())
        .expect("a scenario");
    let mut built = scenario.build(&scenario.schemes[0], 1).expect("it builds");
    let tape = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder { agent: maker(), tape: Arc::clone(&tape) };
    let (edge, air) = (built.nodes[1], built.links[1]);
    built.world.attach(edge, &[air], Box::new(recorder)).expect("it needs nothing");
    built.world.run(Instant::from_secs(600), true);
    drop(built);
    let mut tape = tape.lock().expect("no panic while it was locked");
    std::mem::take(&mut *tape)
}

/// Replays the calls to the same agent in the gateway, with the same packets at the same times.
fn replay(tape: &[Call], maker: &AgentMaker) {
    let plan = Plan {
        traffic: Selector::default(),
        rules: vec![RulePlan {
            name: "test".into(),
            traffic: Selector::default(),
            schemes: String::new(),
            spec: String::new(),
            agent: Some(Arc::clone(maker)),
        }],
        budget: Budget { flows: 100, ..Budget::default() },
        idle: IdleTimes { by_state: [Duration::from_secs(3600); 5], grace: Duration::from_secs(10) },
        // Only the agent decides here.
        stepping_aside: SteppingAside {
            one_way_packets: u64::MAX,
            one_way_time: Duration::MAX,
            unresponsive_losses: Some(8),
        },
        passive: false,
        max_clients: None,
        seed: 1,
    };
    let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
    let mut engine = Engine::new(&[port("eth0", Side::Core), port("wlan0", Side::Radio)], &plan);
    let mut out = Outgoing::default();
    for (index, call) in tape.iter().enumerate() {
        match &call.input {
            Some((from, octets)) => {
                let from = *from as usize;
                let frame = Frame::plain([&LINKS[from][..], octets].concat().into());
                engine.on_frame(PORTS[from], frame, call.at, &mut out);
            }
            None => engine.on_deadline(call.at, &mut out),
        }
        let sent: Vec<(Side, Bytes)> =
            out.frames.drain(..).map(|(port, frame)| leaves(port, &frame)).collect();
        assert_eq!(sent, call.out, "call {index} at {}", call.at);
    }
    let report = engine.report();
    let passed = report.counters.passed;
    assert_eq!(
        (passed.sum(), report.agents.packets.panics, report.counters.counts.unaddressed),
        (0, 0, 0),
        "{passed:?}"
    );
    assert_eq!(report.counters.counts.aside_unresponsive, 0, "the simulator's senders slow down on loss");
}

/// The side to which a frame is sent, and its IP packet as on the wire, with a checksum that was
/// left to the network card.
fn leaves(port: PortId, frame: &Frame) -> (Side, Bytes) {
    let (from, to) = if port == PORTS[0] { (0, Side::Radio) } else { (1, Side::Core) };
    assert!(frame.octets.starts_with(&LINKS[from]), "as if it came from the other side");
    let mut octets = frame.octets[14..].to_vec();
    if let Checksum::Partial { start, offset } = frame.checksum {
        let (start, at) = (usize::from(start) - 14, usize::from(start + offset) - 14);
        let sum: u32 = octets[start..]
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])))
            .sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        octets[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
    assert!(checksums_are_right(&octets));
    (to, octets.into())
}

/// Two downloads and an upload over a lossy hop.
const SCENARIO: &str = r#"
duration = "600 s"
schemes = ["none"]
nodes.server.kind = "host"
nodes.edge.kind = "router"
nodes.laptop.kind = "host"
links.internet = { between = ["server", "edge"], rate = "50 Mbit/s", delay = "25 ms", queue = "200 packets" }
flows.first = { from = "server", to = "laptop", size = "2 MB" }
flows.second = { from = "server", to = "laptop", size = "1 MB", start = "0.5 s" }
flows.upload = { from = "laptop", to = "server", size = "500 kB" }

[links.air]
kind = "wireless"
between = ["edge", "laptop"]
rate = "10 Mbit/s"
delay = "2 ms"
queue = "100 packets"
loss = "2%"
"#;

fn same_code(scheme: &str, settings: &str) {
    let maker = agent(scheme, settings);
    let tape = record(SCENARIO, &maker);
    let count = |what: fn(&Call) -> bool| tape.iter().filter(|call| what(call)).count();
    assert!(count(|call| call.input.is_some()) > 3000, "{} calls", tape.len());
    let active = count(|call| match &call.input {
        Some((from, octets)) => call.out != [(from.opposite(), octets.clone())],
        None => !call.out.is_empty(),
    });
    assert!(active > 40, "{active} calls in which the agent did more than forward the packet");
    replay(&tape, &maker);
}

#[test]
fn snoop_as_published_does_the_same_in_the_simulator_and_in_the_gateway() {
    same_code("snoop", "preset = \"published\"");
}

#[test]
fn snoop_for_the_tcp_of_today_does_the_same_in_the_simulator_and_in_the_gateway() {
    same_code("snoop", "");
}
