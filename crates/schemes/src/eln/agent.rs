//! The agent at the base station.

use std::time::Duration;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{
    Accounts, Agent, Context, Counter, Deadline, FlowState, FlowTable, ImportError, Report, Scope, Side,
    Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Packet, Payload, SackBlocks, Seq, TcpFlags};

use super::flow::{AckEffect, ElnFlow};
use super::recovery::Repairs;
use super::sender::ELN;
use super::settings::{Settings, Undo};

/// Counts the reports to a sender that its reduction was unnecessary.
pub static TOLD: Counter = Counter::new(
    "repairs_told",
    "ACKs that report to a sender that all repaired losses occurred on the hop.",
);
/// Counts the cases without a report.
pub static LEFT: Counter = Counter::new(
    "repairs_left",
    "ACKs of repairs that report nothing, because of congestion, a loss elsewhere or an unknown cause.",
);
/// Counts the duplicate ACKs that are marked.
pub static MARKED: Counter =
    Counter::new("acks_marked", "Duplicate ACKs marked to report a loss on the hop.");

/// The time without packets after which a connection is forgotten.
const IDLE: Duration = Duration::from_secs(300);
/// A connection used within this time is not evicted for another.
const GRACE: Duration = Duration::from_secs(10);

/// ELN's agent, for a base station. It needs no link-layer information.
#[derive(Debug)]
pub struct Eln {
    pub(super) settings: Settings,
    /// The flows, keyed by the direction from the core to the radio side.
    pub(super) flows: FlowTable<ElnFlow>,
}

impl Eln {
    /// An agent without flows.
    pub fn new(settings: Settings) -> Self {
        Self { settings, flows: FlowTable::new(GRACE) }
    }

    fn on_data(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) {
        let Some(tcp) = packet.tcp() else { return };
        if let Some(flow) = self.flows.touch(key, cx.now()) {
            if !flow.is_another(tcp.seq) {
                flow.on_data(packet, tcp, cx.now());
                return;
            }
            self.flows.remove(key);
        }
        if self.admit(key, ElnFlow::new(tcp.seq, &self.settings), cx)
            && let Some(flow) = self.flows.peek_mut(key)
        {
            flow.on_data(packet, tcp, cx.now());
        }
    }

    /// Creates a flow; `false` if there is no memory for it.
    pub(super) fn admit(&mut self, key: FlowKey, flow: ElnFlow, cx: &mut Context<'_>) -> bool {
        let max_flows = self.flows.max_flows(cx.budget(), self.flows.octets(), 0);
        if let Some(idlest) = self.flows.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.flows.remove(idlest);
        }
        let admitted = self.flows.insert(key, flow, max_flows, cx.now()).is_ok();
        if !admitted {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        admitted
    }

    fn on_ack(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.touch(key, cx.now()) else { return };
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.options.unknown.is_none()) else { return };
        let ack = tcp.ack;
        match flow.on_ack(packet, tcp, cx.now()) {
            AckEffect::Missing if self.settings.mark => {
                cx.report(Report::new(&MARKED).at(ack));
                packet.set_tcp_reserved_bits(packet.tcp_reserved_bits() | ELN);
            }
            AckEffect::New(part) => {
                let verdict = match self.settings.undo {
                    Undo::Timestamp => flow.recovery.conclude(part, ack, &flow.holes),
                    Undo::Dsack | Undo::None => part,
                };
                let is_reported = match (verdict, self.settings.undo) {
                    (Repairs::Needless(Some(echo)), Undo::Timestamp) => flow.start_report(echo, tcp),
                    (Repairs::Needless(_), Undo::Dsack) => {
                        report_duplicates(packet, flow, cx);
                        true
                    }
                    _ => false,
                };
                if verdict != Repairs::None && !is_reported {
                    // A pending report must not cover possible congestion.
                    flow.report = None;
                }
                flow.holes.on_ack(ack);
                let is_settled = !matches!(verdict, Repairs::None | Repairs::Unfinished);
                if self.settings.undo != Undo::None && is_settled {
                    cx.report(Report::new(if is_reported { &TOLD } else { &LEFT }).at(ack));
                }
            }
            AckEffect::None | AckEffect::Missing => {}
        }
        if let Some(report) = flow.report {
            echo(packet, report.echo);
        }
    }
}

/// Sets the echo of a packet to `echo`, unless it echoes an older timestamp.
fn echo(packet: &mut Packet, echo: Seq) {
    let is_newer = |packet: &Packet| {
        packet
            .tcp()
            .and_then(|tcp| tcp.options.timestamps)
            .is_some_and(|timestamps| Seq(timestamps.echo_reply).after(echo))
    };
    if is_newer(packet)
        && let Some(timestamps) = packet.tcp_mut().and_then(|tcp| tcp.options.timestamps.as_mut())
    {
        timestamps.echo_reply = echo.0;
    }
}

/// Sends ACKs with the number of `packet` before it, each of which reports a repair that it covers
/// as received twice.
fn report_duplicates(packet: &Packet, flow: &ElnFlow, cx: &mut Context<'_>) {
    let Some(ack) = packet.tcp().map(|tcp| tcp.ack) else { return };
    for hole in flow.holes.as_slice().iter().filter(|hole| hole.is_repaired && !hole.end.after(ack)) {
        let mut report = packet.clone();
        report.set_payload(Payload::EMPTY);
        if let Some(tcp) = report.tcp_mut() {
            tcp.flags = TcpFlags::ACK;
            tcp.options.sack = SackBlocks::NONE;
            tcp.options.sack.push(hole.seq, hole.end);
        }
        cx.send(Side::Radio, report);
    }
}

impl Agent for Eln {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return Verdict::Forward };
        let key = from.connection(key);
        if tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            self.flows.remove(key);
            return Verdict::Forward;
        }
        match from {
            Side::Radio if packet.segment_len() > 0 => self.on_data(packet, key, cx),
            Side::Radio => {
                if let Some(flow) = self.flows.peek_mut(key) {
                    flow.on_echo(tcp);
                }
            }
            Side::Core if tcp.flags.has(TcpFlags::ACK) => self.on_ack(packet, key, cx),
            Side::Core => {}
        }
        Verdict::Forward
    }

    fn deadline(&self) -> Option<Deadline> {
        let since = self.flows.idle_since()?;
        Some(Deadline { at: since + IDLE, reason: "idle connection" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some((_, key)) = self.flows.idlest().filter(|(at, _)| *at + IDLE <= cx.now()) {
            self.flows.remove(key);
        }
    }
}

impl Accounts for Eln {
    fn octets(&self) -> usize {
        self.flows.octets()
    }
}

impl Transfer for Eln {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn release(&mut self, connection: FlowKey, _cx: &mut Context<'_>) {
        self.flows.remove(connection);
    }
}
