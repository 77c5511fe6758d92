//! The agent, for an access point or a base station. It needs no link-layer information.

use std::time::Duration;

use lasthop_agent::counter::{ACKS_GENERATED, AT_BOUND, DUPLICATE_ACK, DUPLICATE_ACKS_SUPPRESSED};
use lasthop_agent::{
    Accounts, Agent, Bypass, Context, Counter, Deadline, FlowState, FlowTable, ImportError, Limits, Report,
    Scope, Side, Transfer, Verdict,
};
use lasthop_hop::plain_ack::PlainAck;
use lasthop_packet::{FlowKey, Packet, SackBlocks, Tcp, TcpFlags};

use super::ack_filter::AckFate;
use super::data_filter::DataFate;
use super::flow::Flow;
use super::settings::Settings;

/// An ACK that was overtaken by a later one that acknowledged more (paper, section 3.B.1).
pub static OLD_ACK: Counter = Counter::new("dropped_old_ack", "old ACK");
/// Data whose acknowledgment the sender has received (paper, section 3.B.2).
pub static REPEATED_DATA: Counter = Counter::new("dropped_repeated_data", "repeated data");

/// A connection used within this time is not evicted for another.
const GRACE: Duration = Duration::from_secs(60);

/// Packet control.
#[derive(Debug)]
pub struct PacketControl {
    settings: Settings,
    /// The flows, keyed by the direction from the core to the radio side; the timer of each runs
    /// while an ACK of it is withheld.
    pub(super) flows: FlowTable<Flow>,
}

impl PacketControl {
    /// An agent without flows.
    pub fn new(settings: Settings) -> Self {
        Self { settings, flows: FlowTable::new(GRACE) }
    }

    fn on_core(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let Some(tcp) = packet.tcp() else { return Verdict::Forward };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        let mut known = self.flows.find(key);
        if let Some(flow) = known.and_then(|slot| self.flows.touch_at(slot, cx.now())) {
            if seq == end {
                flow.advertised = flow.advertised_with(tcp);
            } else if flow.is_another(seq, end) {
                self.forget(key, cx);
                known = None;
            }
        }
        if seq == end || (known.is_none() && !self.admit(key, Flow::new(seq), cx)) {
            return Verdict::Forward;
        }
        let slot = known.or_else(|| self.flows.find(key));
        let Some(flow) = slot.and_then(|slot| self.flows.get_mut(slot)) else { return Verdict::Forward };
        let fate = if self.settings.data_filter {
            flow.filter_data(packet, &self.settings)
        } else {
            flow.pass_data(packet)
        };
        match fate {
            DataFate::Passes => {
                flow.record_data(packet, cx.now());
                Verdict::Forward
            }
            DataFate::Repeated(answer) => {
                if let Some(ack) = answer {
                    send(&ack, key, cx);
                }
                Verdict::Drop(&REPEATED_DATA)
            }
            DataFate::Persists => {
                self.forget(key, cx);
                Verdict::Forward
            }
        }
    }

    fn on_radio(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let Some(slot) = self.flows.find(key) else { return Verdict::Forward };
        let Some(flow) = self.flows.touch_at(slot, cx.now()) else { return Verdict::Forward };
        let number = flow.acknowledged();
        let fate = flow.filter_ack(packet, &self.settings, cx.now());
        let (advanced, withholds) = (flow.acknowledged() != number, flow.withholds);
        if !self.settings.ack_filter {
            // The data filter needs the ACKs that the sender received.
            flow.withholds = false;
            return Verdict::Forward;
        }
        if advanced || !withholds {
            self.flows.clear_timer_at(slot);
        }
        if withholds && self.flows.timer_at(slot).is_none() {
            self.set_withholding_timer(key, cx);
        }
        match fate {
            AckFate::Passes => Verdict::Forward,
            AckFate::Releases => {
                let reported = packet.tcp().map_or(SackBlocks::NONE, |tcp| tcp.options.sack);
                self.release_withheld(key, reported, cx);
                Verdict::Forward
            }
            AckFate::Old => Verdict::Drop(&OLD_ACK),
            AckFate::Stripped => {
                strip(packet);
                Verdict::Forward
            }
            AckFate::Duplicate => {
                cx.report(Report::new(&DUPLICATE_ACKS_SUPPRESSED));
                Verdict::Drop(&DUPLICATE_ACK)
            }
        }
    }

    /// Starts the timer of a flow with withheld ACKs.
    pub(super) fn set_withholding_timer(&mut self, key: FlowKey, cx: &Context<'_>) {
        let expected = self.flows.peek(key).map_or(Duration::ZERO, |flow| flow.lateness.expected());
        self.flows.set_timer(key, cx.now() + expected.min(self.settings.longest_withholding));
    }

    /// Creates a flow; `false` if there is no memory for it.
    pub(super) fn admit(&mut self, key: FlowKey, flow: Flow, cx: &mut Context<'_>) -> bool {
        let max_flows = self.flows.max_flows(cx.budget(), self.flows.octets(), 0);
        if let Some(idlest) = self.flows.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.forget(idlest, cx);
        }
        let is_admitted = self.flows.insert(key, flow, max_flows, cx.now()).is_ok();
        if !is_admitted {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        is_admitted
    }

    /// Forgets a flow; its withheld ACKs are sent.
    fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.release_withheld(key, SackBlocks::NONE, cx);
        if self.flows.remove(key).is_some_and(|flow| flow.limits.is_some()) {
            cx.allow_bypass(Bypass { flow: key, limits: None });
        }
    }

    /// Sends a flow's withheld ACKs, except for the blocks of an ACK that passes now.
    fn release_withheld(&mut self, key: FlowKey, reported: SackBlocks, cx: &mut Context<'_>) {
        self.flows.clear_timer(key);
        if let Some(flow) = self.flows.peek_mut(key) {
            flow.release_withheld(reported.as_slice(), |ack| send(&ack, key, cx));
        }
    }

    /// Forgets a finished flow, or updates the bypass limits of another.
    fn update_bypass(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.peek_mut(key) else { return };
        if flow.is_finished() {
            self.forget(key, cx);
            return;
        }
        let limits = flow.permitted();
        if limits != flow.limits {
            flow.limits = limits;
            cx.allow_bypass(Bypass { flow: key, limits });
        }
    }
}

impl Agent for PacketControl {
    fn on_packet(&mut self, packet: &mut Packet, from: Side, cx: &mut Context<'_>) -> Verdict {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return Verdict::Forward };
        let key = from.connection(key);
        if begins_or_ends(tcp) {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        let verdict = match from {
            Side::Core => self.on_core(packet, key, cx),
            Side::Radio => self.on_radio(packet, key, cx),
        };
        self.update_bypass(key, cx);
        verdict
    }

    fn on_bypass(&mut self, packet: &Packet, from: Side, cx: &mut Context<'_>) {
        let (Some(tcp), Some(key)) = (packet.tcp(), packet.flow_key()) else { return };
        let key = from.connection(key);
        if begins_or_ends(tcp) {
            self.forget(key, cx);
            return;
        }
        // It has passed, regardless of the filters.
        let Some(flow) = self.flows.touch(key, cx.now()) else {
            cx.allow_bypass(Bypass { flow: key, limits: None });
            return;
        };
        match from {
            Side::Core => {
                flow.advertised = flow.advertised_with(tcp);
                if packet.segment_len() > 0 {
                    flow.record_data(packet, cx.now());
                }
            }
            Side::Radio => {
                let (Verdict::Forward | Verdict::Drop(_) | Verdict::Absorb) =
                    self.on_radio(&mut packet.clone(), key, cx);
            }
        }
        // Bypassing packets continue to pass; only a new limit has to be reported.
        let until = |limits: Option<Limits>| limits.map(|limits| limits.until);
        let is_news = |flow: &Flow| flow.is_finished() || until(flow.permitted()) != until(flow.limits);
        if self.flows.peek(key).is_some_and(is_news) {
            self.update_bypass(key, cx);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.flows.next_timer().map(|at| Deadline { at, reason: "withheld ACK" })
    }

    fn on_deadline(&mut self, cx: &mut Context<'_>) {
        while let Some(key) = self.flows.pop_timer(cx.now()) {
            self.release_withheld(key, SackBlocks::NONE, cx);
        }
    }
}

impl Accounts for PacketControl {
    fn octets(&self) -> usize {
        self.flows.octets()
    }
}

impl Transfer for PacketControl {
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.export_flows(scope, cx)
    }

    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.import_flow(state, cx)
    }

    fn drain(&mut self, cx: &mut Context<'_>) {
        let withholds = |key: &FlowKey| self.flows.timer(*key).is_some();
        for key in self.flows.keys().filter(withholds).collect::<Vec<_>>() {
            self.release_withheld(key, SackBlocks::NONE, cx);
        }
    }

    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        self.forget(connection, cx);
    }
}

/// Whether a segment opens or aborts a connection.
const fn begins_or_ends(tcp: &Tcp) -> bool {
    tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST)
}

fn send(ack: &PlainAck, connection: FlowKey, cx: &mut Context<'_>) {
    cx.report(Report::new(&ACKS_GENERATED).at(ack.ack));
    cx.send(Side::Core, ack.packet(connection));
}

/// Removes the reports of data above a hole from an ACK. A report of duplicate data stays.
fn strip(packet: &mut Packet) {
    let Some(tcp) = packet.tcp_mut() else { return };
    let (duplicate, _) = tcp.sack_reports();
    let mut left = SackBlocks::NONE;
    if let Some((begin, end)) = duplicate {
        left.push(begin, end);
    }
    tcp.options.sack = left;
}
