//! What packets from the core side do.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Context, Report, Verdict};
use lasthop_packet::{FlowKey, Packet};

use super::Snoop;

impl Snoop {
    /// Decides what becomes of a packet from the core side.
    pub(super) fn on_core(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let Some(tcp) = packet.tcp() else { return Verdict::Forward };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        if seq != end && self.flows.peek(key).is_some_and(|flow| flow.is_another(seq, end)) {
            self.forget(key, cx);
        }
        if self.flows.peek(key).is_none() && (packet.payload().is_empty() || !self.admit(key, seq, cx)) {
            return Verdict::Forward;
        }
        let Some(flow) = self.flows.touch(key, cx.now()).filter(|flow| !flow.is_left_alone) else {
            return Verdict::Forward;
        };
        if packet.segment_len() == 0 {
            // At once, whatever waits: it acknowledges data of the other direction.
            if let Some(tcp) = packet.tcp() {
                flow.note_timestamp(tcp);
            }
            return Verdict::Forward;
        }
        self.hold_or_pass(packet, key, cx)
    }

    /// Caches data that leaves towards the radio side.
    pub(super) fn on_leaving(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) {
        let now = cx.now();
        let Some(room) = self.charge(key, cx.budget()) else { return };
        let Some(flow) = self.flows.peek_mut(key).filter(|flow| !flow.is_left_alone) else { return };
        let was_in_flight = flow.in_flight();
        let effect = flow.on_data(packet, &self.settings, room, now);
        let in_flight = flow.in_flight();
        self.charge(key, cx.budget());
        self.count_in_flight(key, was_in_flight, in_flight);
        if let Some(hop) = self.hops.get_mut(&key.destination.0).filter(|_| effect.is_overdue) {
            hop.on_silent_loss(&mut self.trust);
        }
        if let Some(bound) = effect.at_bound {
            cx.report(Report::of(&AT_BOUND).which(bound));
        }
        if effect.restart_timer || self.flows.timer(key).is_none() {
            self.restart_timer(key, now);
        }
    }
}
