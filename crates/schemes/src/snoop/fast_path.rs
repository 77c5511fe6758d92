//! What may pass without asking: data in order and its acknowledgments, while nothing waits here,
//! nothing is missing, and the local window has room.
//!
//! A world that takes this up shows the packets afterwards, and they are cached as if they had been
//! asked for. Over a hop that is only watched it shows headers, and nothing is cached. Whatever
//! else a packet is, its fate is decided here as ever. Late news has two small costs: a round-trip
//! time is measured from when a packet was shown, and a copy that left behind a packet not yet shown
//! counts as having left before it.

use lasthop_agent::{Bypass, Context, Limits, Shown, Side, Slot, Verdict};
use lasthop_packet::{FlowKey, LARGEST_WINDOW, Packet, TcpFlags};

use super::agent::Snoop;
use super::flow::{Recovery, SnoopFlow};

impl<R: Recovery> Snoop<R> {
    /// Says what of a flow may pass, where that has changed.
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

    /// Lets data from a mobile host pass where none has come to it: there is nothing to be done about
    /// that. The first data to it does not pass without asking.
    pub(super) fn permit_upload(&self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return };
        let is_upload = from == Side::Radio && !packet.payload().is_empty();
        if is_upload && self.uplink.is_none() && self.flows.peek(key).is_none() {
            let [acknowledged, from, until] = [tcp.ack; 3];
            let limits = Limits { acknowledged, from, until, shown: Shown::Headers };
            cx.allow_bypass(Bypass { flow: key, limits: Some(limits) });
        }
    }

    /// An even share of the window's room. Shares that others have not used yet are not taken off,
    /// so that connections which come to life at once exceed the window by as much again at most,
    /// for one round trip.
    fn limits(&self, flow: &SnoopFlow<R>) -> Option<Limits> {
        let (acknowledged, from) = (flow.last_ack.filter(|_| flow.is_whole())?, flow.highest);
        let room = match flow.hop.and_then(|hop| self.hops.get(hop)) {
            Some(hop) if R::HEADERS_SUFFICE && hop.is_only_watched(&self.trust) => {
                return Some(Limits::as_far_as_numbers_go(acknowledged, from, flow.limits));
            }
            Some(hop) => hop.room() / hop.flows().max(1) as u64,
            None => LARGEST_WINDOW.into(),
        };
        let until = from + room.min(LARGEST_WINDOW.into()) as u32;
        Some(Limits { acknowledged, from, until, shown: Shown::Whole })
    }

    /// Takes note of what has passed.
    pub(super) fn note_passed(&mut self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        let Some(slot) = self.flows.find(key) else {
            // Forgotten since, if it was more than an upload.
            if from == Side::Core && !packet.payload().is_empty() {
                cx.allow_bypass(Bypass { flow: key, limits: None });
            }
            return;
        };
        self.flows.touch_at(slot, cx.now());
        match from {
            Side::Core => self.note_data_passed(packet, slot, cx),
            // Data, and what acknowledges more and reports nothing, go on as they came. Past an
            // agent that is late so does the rest: then the sender hears of what would have been
            // kept from it, and is right, too.
            Side::Radio => {
                let (Verdict::Forward | Verdict::Drop(_) | Verdict::Absorb) =
                    self.on_radio(&mut packet.clone(), slot, cx);
            }
        }
        // A flow that bypasses the agent continues to. A world needs to know only a new end, or that it is
        // to show more or less of each packet.
        let said = |limits: Option<Limits>| limits.map(|limits| (limits.until, limits.shown));
        if self.flows.get(slot).is_some_and(|flow| said(flow.limits) != said(self.limits(flow))) {
            self.permit(slot, cx);
        }
        self.charge(slot, cx.budget());
    }

    fn note_data_passed(&mut self, packet: &Packet, slot: Slot, cx: &mut Context<'_>) {
        if packet.segment_len() == 0 {
            if let Some((flow, tcp)) = self.flows.get_mut(slot).zip(packet.tcp()) {
                flow.note_timestamp(tcp);
            }
            return;
        }
        let hop = self.flows.get(slot).and_then(|flow| flow.hop);
        if let Some(hop) = hop.and_then(|at| self.hops.get_mut(at)) {
            hop.note_segment(packet.segment_payload(), &self.targets);
        }
        self.on_leaving(packet, slot, cx);
    }
}
