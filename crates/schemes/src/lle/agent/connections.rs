//! The known connections: how they begin and end.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Accounts as _, Context, Report, Side};
use lasthop_packet::{FlowKey, Instant, Packet, Seq, TcpFlags};

use super::Lle;
use crate::lle::confirming::loss;
use crate::lle::control::Control;
use crate::lle::flow::LleFlow;
use crate::lle::shares::Account;

impl Lle {
    /// Begins a connection. The state of one with the same addresses and ports is void, unless it
    /// is the same connection and this is a copy of its SYN. `false` if there is no room. A
    /// connection with obligations is not evicted.
    pub(in crate::lle) fn begin(&mut self, key: FlowKey, opening: Option<Seq>, cx: &mut Context<'_>) -> bool {
        if opening.is_some() && self.flows.peek(key).is_some_and(|flow| flow.opening == opening) {
            return true;
        }
        self.abandon(key, cx);
        let max_flows = self.flows.max_flows(cx.budget(), self.octets(), size_of::<Control>());
        if let Some(idlest) =
            self.flows.eviction_candidate(max_flows, cx.now(), |flow| flow.obligation().is_free())
        {
            self.forget(idlest, cx);
        }
        let needs_control = self.receives() && self.settings.sender_buffer > 0;
        let control = needs_control && !self.is_last_hop(key.destination.0, cx);
        let control = control.then(|| Box::new(Control::new(self.settings.sender_buffer)));
        let flow = LleFlow::new(opening, control);
        let account = Account::from_flow(&flow);
        let begun = self.flows.insert(key, flow, max_flows, cx.now()).is_ok();
        if begun {
            self.update_totals(Account::default(), account);
        } else {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        begun
    }

    /// Whether a packet's connection is known here, or is added with it. A packet with unknown
    /// options, such as a signature, passes unchanged: no agent may acknowledge it.
    pub(super) fn find_or_begin(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) -> bool {
        if packet.tcp().is_none_or(|tcp| tcp.options.unknown.is_some()) {
            return false;
        }
        if self.flows.touch(key, cx.now()).is_some() {
            return true;
        }
        let is_under_way = packet.tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::SYN));
        if !self.settings.join_unscaled || !is_under_way || !self.begin(key, None, cx) {
            return false;
        }
        self.replace(key, LleFlow::unscaled(), cx.budget());
        true
    }

    /// Forgets a flow without a request: data that it has acknowledged and can no longer deliver is
    /// reported.
    pub(super) fn abandon(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if let Some(lost) = self.flows.peek(key).and_then(LleFlow::at_risk) {
            cx.report(loss(lost));
        }
        self.forget(key, cx);
    }

    /// Forgets a flow. The ACK that it owes passes: the host has sent it. After a reset both ends
    /// know that data may be missing, and a world that requests this counts the obligations itself.
    pub(super) fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(mut flow) = self.flows.remove(key) else { return };
        let before = Account::from_flow(&flow);
        if let Some(owed) = flow.receiving.take_owed(0) {
            cx.send(Side::Radio, owed);
        }
        self.update_totals(before, Account::default());
    }

    /// Leaves a connection that no longer ends at the hop: from now on none of its data is
    /// promised, acknowledged or suppressed. If octets were acknowledged for which no node has a
    /// copy, the receiver's duplicate ACKs are still observed, so that their loss is counted.
    /// Otherwise the connection is forgotten.
    pub(crate) fn leave(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if !self.flows.peek(key).is_some_and(LleFlow::awaits_proof) {
            return self.forget(key, cx);
        }
        let owed = self.with(key, cx.budget(), |flow, _, _| {
            flow.is_left = true;
            flow.confirming.stop_delaying();
            flow.receiving.take_owed(flow.core_shift().unwrap_or(0))
        });
        if let Some(owed) = owed.flatten() {
            cx.send(Side::Radio, owed);
        }
    }

    /// When the idlest flow is to be forgotten.
    pub(super) fn idle_deadline(&self) -> Option<Instant> {
        self.flows.idle_since().map(|since| since + self.settings.idle_timeout)
    }
}
