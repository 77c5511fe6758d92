//! The bypass: data in order and its acknowledgments pass without the agent while no packet waits,
//! none is missing, and the local window has room.
//!
//! The world shows these packets to the agent afterwards, and they are cached as if they had
//! passed through it. Over a hop that is only watched it shows headers, and no data is cached. All
//! other packets are processed as usual. The delay has two small costs: a round-trip time is
//! measured from when a packet was shown, and a copy that was sent after a packet not yet shown
//! counts as sent before it.

use lasthop_agent::{Bypass, Context, Limits, Shown, Side, Slot, Verdict};
use lasthop_packet::{FlowKey, LARGEST_WINDOW, Packet, TcpFlags};

use super::agent::Snoop;
use super::flow::{Recovery, SnoopFlow};

impl<R: Recovery> Snoop<R> {
    /// Reports the bypass limits of a flow, if they have changed.
    pub(super) fn permit(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get(slot) else { return };
        let limits = self.limits(flow);
        if flow.limits == limits {
            return;
        }
        if let Some(key) = self.flows.key(slot) {
            cx.allow_bypass(Bypass { flow: key, limits });
        }
        if let Some(flow) = self.flows.get_mut(slot) {
            flow.limits = limits;
        }
    }

    /// Lets data from a mobile host pass if no data was sent to it: the agent has no work there.
    /// The first data to the host does not bypass the agent.
    pub(super) fn permit_upload(&self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return };
        let is_upload = from == Side::Radio && !packet.payload().is_empty();
        if is_upload && self.uplink.is_none() && self.flows.peek(key).is_none() {
            let [acknowledged, from, until] = [tcp.ack; 3];
            let limits = Limits { acknowledged, from, until, shown: Shown::Headers };
            cx.allow_bypass(Bypass { flow: key, limits: Some(limits) });
        }
    }

    /// The bypass limits: an even share of the window's room. Shares that others have not used yet
    /// are not subtracted, so that connections that become active at once exceed the window at most
    /// twofold, for one round trip.
    fn limits(&self, flow: &SnoopFlow<R>) -> Option<Limits> {
        let (acknowledged, from) = (flow.last_ack.filter(|_| flow.is_intact())?, flow.highest);
        let room = match flow.hop.and_then(|hop| self.hops.get(hop)) {
            Some(hop) if R::HEADERS_SUFFICE && hop.is_only_watched(&self.loss_free_run) => {
                return Some(Limits::unlimited(acknowledged, from, flow.limits));
            }
            Some(hop) => hop.room() / hop.flows().max(1) as u64,
            None => LARGEST_WINDOW.into(),
        };
        let until = from + room.min(LARGEST_WINDOW.into()) as u32;
        Some(Limits { acknowledged, from, until, shown: Shown::Whole })
    }

    /// Processes a packet that has bypassed the agent.
    pub(super) fn on_bypassed(&mut self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        let Some(slot) = self.flows.find(key) else {
            // The flow was forgotten, unless this is an upload.
            if from == Side::Core && !packet.payload().is_empty() {
                cx.allow_bypass(Bypass { flow: key, limits: None });
            }
            return;
        };
        self.flows.touch_at(slot, cx.now());
        match from {
            Side::Core => self.on_bypassed_data(packet, slot, cx),
            // Data, and ACKs that acknowledge more and report no loss, passed as they came. When
            // the agent is late, so did the other ACKs: the sender then receives reports that would
            // have been withheld, which are correct, too.
            Side::Radio => {
                let (Verdict::Forward | Verdict::Drop(_) | Verdict::Absorb) =
                    self.on_radio(&mut packet.clone(), slot, cx);
            }
        }
        // A flow that bypasses the agent continues to. The world needs only a new end of the
        // limits, or a change in how much of each packet it is to show.
        let reported = |limits: Option<Limits>| limits.map(|limits| (limits.until, limits.shown));
        if self.flows.get(slot).is_some_and(|flow| reported(flow.limits) != reported(self.limits(flow))) {
            self.permit(slot, cx);
        }
        self.charge(slot, cx.budget());
    }

    fn on_bypassed_data(&mut self, packet: &Packet, slot: Slot, cx: &mut Context<'_>) {
        if packet.segment_len() == 0 {
            if let Some((flow, tcp)) = self.flows.get_mut(slot).zip(packet.tcp()) {
                flow.record_timestamp(tcp);
            }
            return;
        }
        let hop = self.flows.get(slot).and_then(|flow| flow.hop);
        if let Some(hop) = hop.and_then(|at| self.hops.get_mut(at)) {
            hop.record_segment(packet.segment_payload(), &self.targets);
        }
        self.on_transmit(packet, slot, cx);
    }
}
