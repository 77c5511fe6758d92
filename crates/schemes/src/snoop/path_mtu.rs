//! Packets that exceed the MTU of a link downstream of the hop. The cached copies of them are
//! useless: the sender retransmits that data in smaller segments. Only the state of the hop and of
//! the receiver is kept.
//!
//! The agent sees a router's message on its way to the sender, which acts on it. Without such a
//! message, the sender detects the MTU itself (RFC 4821), and its smaller segments show it to the
//! agent.

use lasthop_agent::{Context, Slot};
use lasthop_packet::{Packet, PacketTooBig};

use super::agent::Snoop;
use super::flow::{Recovery, SnoopFlow};

impl<R: Recovery> Snoop<R> {
    /// A router downstream of the hop reports that a packet exceeds the next MTU.
    pub(super) fn on_too_big(&mut self, too_big: &PacketTooBig, cx: &mut Context<'_>) {
        let Some(slot) = self.flows.find(too_big.quotation.flow) else { return };
        if self.flows.get(slot).is_some_and(|flow| flow.has_too_large(too_big)) {
            self.forget_copies(slot, cx);
            self.permit(slot, cx);
        }
    }

    /// Leaves all outstanding data to its sender, and sends the waiting packets.
    pub(super) fn forget_copies(&mut self, slot: Slot, cx: &mut Context<'_>) {
        self.flush(slot, cx);
        let Some(flow) = self.flows.get_mut(slot) else { return };
        if let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) {
            hop.change_in_flight(flow.in_flight(), 0);
        }
        flow.reset(&self.settings);
        let hop = flow.hop;
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        self.flows.clear_timer_at(slot);
        self.send_held(hop, cx);
    }
}

impl<R: Recovery> SnoopFlow<R> {
    /// Whether the segment quoted in a router's message is cached in packets that exceed the
    /// reported MTU.
    fn has_too_large(&self, too_big: &PacketTooBig) -> bool {
        self.cache.covering(too_big.quotation.seq).is_some_and(|cached| {
            let headers = cached.packet.len() - cached.packet.payload().len();
            headers as u32 + cached.packet.segment_payload() > too_big.mtu
        })
    }

    /// Whether a packet contains the beginning of a cached packet in smaller segments.
    pub fn is_resegmented_by(&self, packet: &Packet) -> bool {
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
