//! The base station's part: a message for each attempt that failed.

use std::net::IpAddr;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{
    Accounts, Agent, Context, FlowState, FlowTable, LinkEvent, LinkSenses, Report, Scope, Side, Transfer,
    Verdict,
};
use lasthop_hop::control_message::ControlMessage;
use lasthop_packet::{FlowKey, Instant, Packet};

use super::Settings;

/// Sits where data goes onto the wireless link.
#[derive(Debug)]
pub struct BadStateNotifier {
    settings: Settings,
    address: IpAddr,
    /// When each connection's sender was last told; none where there is no least interval.
    told: FlowTable<Instant>,
}

impl BadStateNotifier {
    /// An agent at the node with this address.
    pub fn new(settings: Settings, address: IpAddr) -> Self {
        let told = FlowTable::new(settings.least_interval);
        Self { settings, address, told }
    }

    /// Whether the sender of a connection may be told now; if so, it is.
    fn is_due(&mut self, connection: FlowKey, cx: &mut Context<'_>) -> bool {
        let (now, interval) = (cx.now(), self.settings.least_interval);
        if interval.is_zero() {
            return true;
        }
        if let Some(told) = self.told.touch(connection, now) {
            let is_due = now >= *told + interval;
            if is_due {
                *told = now;
            }
            return is_due;
        }
        let most = self.told.most(cx.budget(), self.told.octets(), 0);
        // What was told longer ago than the interval says nothing more.
        if let Some(idlest) = self.told.next_to_go(most, now, |told| now >= *told + interval) {
            self.told.remove(idlest);
        }
        let has_room = self.told.insert(connection, now, most, now).is_ok();
        if !has_room {
            cx.report(Report::of(&AT_BOUND).which(cx.budget().bound_at(most)));
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
            ControlMessage::BadState.tell_of(packet, self.address, cx);
        }
    }

    fn needs(&self) -> LinkSenses {
        LinkSenses::ATTEMPTS
    }
}

impl Accounts for BadStateNotifier {
    fn octets(&self) -> usize {
        self.told.octets()
    }
}

impl Transfer for BadStateNotifier {
    /// Exports nothing: the agent that takes over notifies the senders again.
    fn export(&mut self, scope: Scope, _cx: &mut Context<'_>) -> Vec<FlowState> {
        for key in scope.of(&self.told) {
            self.told.remove(key);
        }
        Vec::new()
    }

    fn release(&mut self, connection: FlowKey, _cx: &mut Context<'_>) {
        self.told.remove(connection);
    }
}
