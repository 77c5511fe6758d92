//! The agent, at the receiver of the data or at the base station. It needs no link-layer
//! information.

use std::time::Duration;

use lasthop_agent::counter::{ACKS_GENERATED, AT_BOUND, DUPLICATE_ACK, DUPLICATE_ACKS_SUPPRESSED};
use lasthop_agent::{
    Accounts, Agent, Bypass, Context, Deadline, FlowState, FlowTable, ImportError, Limits, Report, Scope,
    Side, Transfer, Verdict,
};
use lasthop_packet::{FlowKey, Packet, Tcp, TcpFlags};

use super::flow::{AckFate, Flow};
use super::settings::Settings;

/// A connection used within this time is not evicted for another.
const GRACE: Duration = Duration::from_secs(60);

/// Delayed duplicate ACKs.
#[derive(Debug)]
pub struct Dda {
    settings: Settings,
    /// The side of the data's receivers.
    receiver: Side,
    /// The flows, keyed by the direction from the core to the radio side; the timer of each runs
    /// while duplicates of it are held.
    pub(super) flows: FlowTable<Flow>,
}

impl Dda {
    /// An agent without flows, between senders and the receivers on one side.
    pub fn new(settings: Settings, receiver: Side) -> Self {
        Self { settings, receiver, flows: FlowTable::new(GRACE) }
    }

    /// Records data on its way to the receiver.
    fn on_data(&mut self, packet: &Packet, tcp: &Tcp, key: FlowKey, cx: &mut Context<'_>) {
        if packet.segment_len() == 0 {
            return;
        }
        let end = tcp.seq + packet.segment_len();
        if let Some(flow) = self.flows.touch(key, cx.now()) {
            if !flow.is_another(end) {
                flow.highest = flow.highest.later(end);
                return;
            }
            self.forget(key, cx);
        }
        self.admit(key, Flow::new(end), cx);
    }

    fn on_ack(&mut self, packet: &Packet, tcp: &Tcp, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let Some(slot) = self.flows.find(key) else { return Verdict::Forward };
        let Some(flow) = self.flows.touch_at(slot, cx.now()) else { return Verdict::Forward };
        match flow.on_ack(packet, tcp) {
            AckFate::Passes => {}
            AckFate::Advances => self.flows.clear_timer_at(slot),
            AckFate::Releases => self.release_held(key, cx),
            AckFate::Held => {
                if flow.held == 1 {
                    self.flows.set_timer_at(slot, cx.now() + self.settings.delay);
                }
                cx.report(Report::new(&DUPLICATE_ACKS_SUPPRESSED));
                return Verdict::Drop(&DUPLICATE_ACK);
            }
        }
        Verdict::Forward
    }

    /// Creates a flow; `false` if there is no memory for it.
    pub(super) fn admit(&mut self, key: FlowKey, flow: Flow, cx: &mut Context<'_>) -> bool {
        let max_flows = self.flows.max_flows(cx.budget(), self.flows.octets(), 0);
        if let Some(idlest) = self.flows.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.forget(idlest, cx);
        }
        let is_admitted = self.flows.insert(key, flow, max_flows, cx.now()).is_ok();
        if is_admitted && flow.held > 0 {
            self.flows.set_timer(key, cx.now() + self.settings.delay);
        }
        if !is_admitted {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        is_admitted
    }

    /// Sends the held duplicates of a flow.
    fn release_held(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.flows.clear_timer(key);
        let Some((ack, held)) = self.flows.peek_mut(key).and_then(Flow::take_held) else { return };
        for _ in 0..held {
            cx.report(Report::new(&ACKS_GENERATED).at(ack.ack));
            cx.send(self.receiver.opposite(), ack.packet(self.of_data(key)));
        }
    }

    /// Forgets a flow; its held duplicates are sent.
    fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.release_held(key, cx);
        self.drop_flow(key, cx);
    }

    fn drop_flow(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if self.flows.remove(key).is_some_and(|flow| flow.limits.is_some()) {
            cx.allow_bypass(Bypass { flow: key, limits: None });
        }
    }

    /// The direction of a connection's data.
    pub(super) fn of_data(&self, connection: FlowKey) -> FlowKey {
        match self.receiver {
            Side::Radio => connection,
            Side::Core => connection.reversed(),
        }
    }

    /// Reports the bypass limits of a flow. On a host there are none: no world uses them.
    fn update_bypass(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if self.receiver == Side::Core {
            return;
        }
        let Some(flow) = self.flows.peek_mut(key) else { return };
        let limits = flow.permitted();
        if limits != flow.limits {
            flow.limits = limits;
            cx.allow_bypass(Bypass { flow: key, limits });
        }
    }
}

impl Agent for Dda {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return Verdict::Forward };
        let key = from.connection(key);
        if tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            // The held duplicates belong to a connection that is over.
            self.drop_flow(key, cx);
            return Verdict::Forward;
        }
        let verdict = if from == self.receiver {
            self.on_ack(packet, tcp, key, cx)
        } else {
            self.on_data(packet, tcp, key, cx);
            Verdict::Forward
        };
        self.update_bypass(key, cx);
        verdict
    }

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let key = from.connection(key);
        if self.flows.touch(key, cx.now()).is_none() {
            cx.allow_bypass(Bypass { flow: key, limits: None });
            return;
        }
        if from == self.receiver {
            // Duplicates do not bypass the agent.
            let (Verdict::Forward | Verdict::Drop(_) | Verdict::Absorb) = self.on_ack(packet, tcp, key, cx);
        } else {
            self.on_data(packet, tcp, key, cx);
        }
        // Bypassing packets continue to pass; only a new limit has to be reported.
        let until = |limits: Option<Limits>| limits.map(|limits| limits.until);
        if self.flows.peek(key).is_some_and(|flow| until(flow.permitted()) != until(flow.limits)) {
            self.update_bypass(key, cx);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.flows.next_timer().map(|at| Deadline { at, reason: "held duplicate ACKs" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.flows.pop_timer(cx.now()) {
            self.release_held(key, cx);
        }
    }
}

impl Accounts for Dda {
    fn octets(&self) -> usize {
        self.flows.octets()
    }
}

impl Transfer for Dda {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        let holds = |key: &FlowKey| self.flows.timer(*key).is_some();
        for key in self.flows.keys().filter(holds).collect::<Vec<_>>() {
            self.release_held(key, cx);
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.forget(connection, cx);
    }
}
