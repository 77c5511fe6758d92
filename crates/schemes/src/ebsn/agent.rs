//! The base station's side: a message for each failed attempt.

use std::net::IpAddr;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{
    Accounts, Agent, Context, FlowState, FlowTable, LinkEvent, LinkSenses, Report, Scope, Side, Transfer,
    Verdict,
};
use lasthop_hop::control_message::ControlMessage;
use lasthop_packet::{FlowKey, Instant, Packet};

use super::Settings;

/// An agent for the node that sends data onto the wireless link.
#[derive(Debug)]
pub struct BadStateNotifier {
    settings: Settings,
    address: IpAddr,
    /// When each connection's sender was last notified; empty without a minimum interval.
    notified: FlowTable<Instant>,
}

impl BadStateNotifier {
    /// An agent at the node with this address.
    pub fn new(settings: Settings, address: IpAddr) -> Self {
        let notified = FlowTable::new(settings.least_interval);
        Self { settings, address, notified }
    }

    /// Whether a notification for a connection is due; if so, it is recorded as sent.
    fn is_due(&mut self, connection: FlowKey, cx: &mut Context<'_>) -> bool {
        let (now, interval) = (cx.now(), self.settings.least_interval);
        if interval.is_zero() {
            return true;
        }
        if let Some(notified) = self.notified.touch(connection, now) {
            let is_due = now >= *notified + interval;
            if is_due {
                *notified = now;
            }
            return is_due;
        }
        let max_flows = self.notified.max_flows(cx.budget(), self.notified.octets(), 0);
        // An entry older than the interval has no effect any more.
        if let Some(idlest) =
            self.notified.eviction_candidate(max_flows, now, |notified| now >= *notified + interval)
        {
            self.notified.remove(idlest);
        }
        let has_room = self.notified.insert(connection, now, max_flows, now).is_ok();
        if !has_room {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        has_room
    }
}

impl Agent for BadStateNotifier {
    fn on_packet(&mut self, _packet: &mut Packet, _from: Side, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Forward
    }

    fn on_link(&mut self, event: &LinkEvent<'_>, cx: &mut Context<'_>) {
        let LinkEvent::Attempt { packet, is_confirmed: false, .. } = event else { return };
        let has_data = packet.tcp().is_some() && !packet.payload().is_empty();
        let Some(connection) = packet.flow_key().filter(|_| has_data) else { return };
        if self.is_due(connection, cx) {
            ControlMessage::BadState.send_about(packet, self.address, cx);
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::ATTEMPTS
    }
}

impl Accounts for BadStateNotifier {
    fn octets(&self) -> usize {
        self.notified.octets()
    }
}

impl Transfer for BadStateNotifier {
    /// Exports nothing: the agent that takes over notifies the senders again.
    fn export(&mut self, scope: Scope, _cx: &mut Context<'_>) -> Vec<FlowState> {
        for key in scope.connections(&self.notified) {
            self.notified.remove(key);
        }
        Vec::new()
    }

    fn release(&mut self, connection: FlowKey, _cx: &mut Context<'_>) {
        self.notified.remove(connection);
    }
}
