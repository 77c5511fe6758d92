//! A test bench: a gateway with two ports, and frames of its connections.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lasthop_agent::{Accounts, Agent, Context, Deadline, Side, Stateless, Transfer, Verdict};
use lasthop_packet::wire::emit;
use lasthop_packet::{FlowKey, Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};
use portable_atomic::AtomicU64;

use super::super::*;
use crate::plan::{AgentMaker, RulePlan};
use crate::table::IdleTimes;

pub(super) const CORE: PortId = PortId(0);
pub(super) const RADIO: PortId = PortId(1);

/// The Ethernet headers of frames received on each side.
pub(super) const FROM_SERVER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
pub(super) const FROM_CLIENT: [u8; 18] = [2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4, 0x81, 0, 0, 7, 8, 0];

pub(super) struct Bench {
    pub(super) engine: Engine,
    pub(super) out: Outgoing,
    pub(super) now: Instant,
}

impl Bench {
    pub(super) fn new(plan: &Plan) -> Self {
        let port = |name: &str, side| Port { name: name.into(), side, ethernet: true, copies_of: None };
        let ports = [port("eth0", Side::Core), port("wlan0", Side::Radio)];
        Self { engine: Engine::new(&ports, plan), out: Outgoing::default(), now: Instant::from_secs(1) }
    }

    /// A gateway with one rule, whose agent `make` creates.
    pub(super) fn with_agent<A: Agent + 'static>(make: impl Fn() -> A + Send + Sync + 'static) -> Self {
        Self::new(&plan(vec![rule("test", make)]))
    }

    pub(super) fn later(&mut self, time: Duration) {
        self.now += time;
    }

    /// The frames that the engine sends for this frame.
    pub(super) fn push(&mut self, port: PortId, frame: Frame) -> Vec<(PortId, Frame)> {
        self.engine.on_frame(port, frame, self.now, &mut self.out);
        self.take()
    }

    pub(super) fn take(&mut self) -> Vec<(PortId, Frame)> {
        std::mem::take(&mut self.out.frames)
    }

    /// The frames that the engine sends for a packet from the server.
    pub(super) fn on_core(&mut self, packet: &Packet) -> Vec<(PortId, Frame)> {
        self.push(CORE, frame(&FROM_SERVER, packet))
    }

    pub(super) fn on_radio(&mut self, packet: &Packet) -> Vec<(PortId, Frame)> {
        self.push(RADIO, frame(&FROM_CLIENT, packet))
    }

    pub(super) fn shake_hands(&mut self, client: u16) {
        self.on_radio(&up(client, 0, 0, TcpFlags::SYN));
        self.on_core(&down(client, 0, 0, TcpFlags::SYN.with(TcpFlags::ACK)));
        self.on_radio(&up(client, 1, 0, TcpFlags::ACK));
    }

    pub(super) fn counters(&self) -> Counters {
        self.engine.counters
    }
}

pub(super) fn plan(rules: Vec<RulePlan>) -> Plan {
    Plan {
        traffic: Selector::default(),
        rules,
        budget: Budget { flows: 100, ..Budget::default() },
        idle: IdleTimes {
            by_state: [30, 600, 120, 10, 60].map(Duration::from_secs),
            grace: Duration::from_secs(10),
        },
        stepping_aside: SteppingAside {
            one_way_packets: 32,
            one_way_time: Duration::from_secs(1),
            unresponsive_losses: Some(8),
        },
        passive: false,
        max_clients: None,
        seed: 1,
    }
}

pub(super) fn rule<A: Agent + 'static>(name: &str, make: impl Fn() -> A + Send + Sync + 'static) -> RulePlan {
    let agent: AgentMaker = Arc::new(move || Box::new(make()));
    RulePlan {
        name: name.into(),
        traffic: Selector::default(),
        schemes: name.into(),
        spec: name.into(),
        agent: Some(agent),
    }
}

pub(super) fn frame(link: &[u8], packet: &Packet) -> Frame {
    Frame::plain(Bytes::from([link, &emit(packet)].concat()))
}

pub(super) const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 80);

pub(super) const fn client(client: u16) -> (Ipv4Addr, u16) {
    (Ipv4Addr::new(10, 0, 0, 7), client)
}

pub(super) fn key(port: u16) -> FlowKey {
    let (source, destination) = (SERVER, client(port));
    FlowKey::tcp((source.0.into(), source.1), (destination.0.into(), destination.1))
}

/// A segment from the server to a client; sequence numbers start at 1.
pub(super) fn down(port: u16, seq: u32, len: u32, flags: TcpFlags) -> Packet {
    segment(SERVER, client(port), Seq(seq), Seq(1), len, flags)
}

/// A segment from a client to the server with this acknowledgment.
pub(super) fn up(port: u16, ack: u32, len: u32, flags: TcpFlags) -> Packet {
    segment(client(port), SERVER, Seq(1), Seq(ack), len, flags)
}

fn segment(
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    seq: Seq,
    ack: Seq,
    len: u32,
    flags: TcpFlags,
) -> Packet {
    let ip = Ip::new(IpAddr::V4(from.0), IpAddr::V4(to.0));
    let tcp =
        Tcp { source_port: from.1, destination_port: to.1, seq, ack, flags, window: 1000, ..Tcp::default() };
    Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 1, offset: u64::from(seq.0), len })
}

pub(super) const ACK: TcpFlags = TcpFlags::ACK;

/// Forwards all packets and counts them.
#[derive(Default)]
pub(super) struct Watcher(pub(super) Arc<AtomicU64>);

impl Agent for Watcher {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        self.0.fetch_add(1, Ordering::Relaxed);
        Verdict::Forward
    }
}

impl Stateless for Watcher {}

/// Holds data from the core side until it is drained or released, or a second has passed.
#[derive(Default)]
pub(super) struct Keeper {
    held: Vec<Packet>,
    due: Option<Instant>,
}

impl Keeper {
    fn send_all(&mut self, cx: &mut Context<'_>, which: impl Fn(&Packet) -> bool) {
        for packet in std::mem::take(&mut self.held) {
            if which(&packet) { cx.send(Side::Radio, packet) } else { self.held.push(packet) }
        }
        if self.held.is_empty() {
            self.due = None;
        }
    }
}

impl Agent for Keeper {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        if from == Side::Radio || packet.payload().is_empty() {
            return Verdict::Forward;
        }
        self.held.push(packet.clone());
        self.due = self.due.or(Some(cx.now() + Duration::from_secs(1)));
        Verdict::Absorb
    }

    fn deadline(&self) -> Option<Deadline> {
        self.due.map(|at| Deadline { at, reason: "held for a second" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        if self.due.is_some_and(|due| due <= cx.now()) {
            self.send_all(cx, |_| true);
        }
    }
}

impl Accounts for Keeper {
    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}

impl Transfer for Keeper {
    fn drain(&mut self, cx: &mut Context<'_>) {
        self.send_all(cx, |_| true);
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.send_all(cx, |packet| packet.flow_key() == Some(connection));
    }
}
