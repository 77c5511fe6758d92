//! Packets that are too large for a link behind the hop. Nothing can be done with our copies of them: the
//! sender sends that data again in smaller segments, and what we know of the hop and of the receiver is
//! all that is kept.
//!
//! A router's message passes here on its way to the sender, which acts on it. Where there is none, the
//! sender finds out by itself (RFC 4821), and its smaller segments tell us.

use lasthop_agent::{Context, Slot};
use lasthop_packet::{Packet, PacketTooBig};

use super::agent::Snoop;
use super::flow::{Recovery, SnoopFlow};

impl<R: Recovery> Snoop<R> {
    /// A router behind the hop cannot send a packet on.
    pub(super) fn on_too_big(&mut self, too_big: &PacketTooBig, cx: &mut Context<'_>) {
        let Some(slot) = self.flows.find(too_big.quotation.flow) else { return };
        if self.flows.get(slot).is_some_and(|flow| flow.has_too_large(too_big)) {
            self.forget_copies(slot, cx);
            self.permit(slot, cx);
        }
    }

    /// Leaves all that is outstanding to its sender, and sends on what waits.
    pub(super) fn forget_copies(&mut self, slot: Slot, cx: &mut Context<'_>) {
        self.flush(slot, cx);
        let Some(flow) = self.flows.get_mut(slot) else { return };
        if let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) {
            hop.recount(flow.in_flight(), 0);
        }
        flow.begin_anew(&self.settings);
        let hop = flow.hop;
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        self.flows.clear_timer_at(slot);
        self.send_held(hop, cx);
    }
}

impl<R: Recovery> SnoopFlow<R> {
    /// Whether the segment that a router's message is about is cached here in packets that it refuses.
    fn has_too_large(&self, too_big: &PacketTooBig) -> bool {
        self.cache.covering(too_big.quotation.seq).is_some_and(|cached| {
            let headers = cached.packet.len() - cached.packet.payload().len();
            headers as u32 + cached.packet.segment_payload() > too_big.mtu
        })
    }

    /// Whether a packet holds the beginning of a cached one, in smaller segments.
    pub fn is_segmented_anew_by(&self, packet: &Packet) -> bool {
        let Some(seq) = packet.tcp().map(|tcp| tcp.seq).filter(|seq| seq.before(self.highest)) else {
            return false;
        };
        self.cache.covering(seq).is_some_and(|cached| {
            cached.seq == seq
                && packet.segment_payload() < cached.packet.segment_payload()
                && (seq + packet.segment_len()).before(cached.end)
        })
    }
}
