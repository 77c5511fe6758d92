//! What may pass without asking: data in order, while nothing waits here, nothing is missing, and the local window has room.
//!
//! A world that takes this up shows the packets afterwards, and they are cached as if they had been asked for. Whatever else a packet is, its
//! fate is decided here as ever. Late news has two small costs: a round-trip time is measured from when a packet was shown, and a
//! copy that left behind a packet not yet shown counts as having left before it.

use lasthop_agent::{Context, Passage};
use lasthop_packet::{FlowKey, Packet, Seq};

use super::Snoop;
use super::duplicates::Duplicates;
use super::flow::Flow;
use super::pieces::size_of_segments;

/// Less than half of the sequence space, so that before and behind stay apart.
const LONGEST: u64 = 1 << 30;

impl Snoop {
    /// Says what of a flow may pass, where that has changed.
    pub(super) fn permit(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.peek(key) else { return };
        let data = self.passage(flow, key);
        if flow.passage == data {
            return;
        }
        cx.let_pass(Passage { flow: key, data });
        if let Some(flow) = self.flows.peek_mut(key) {
            flow.passage = data;
        }
    }

    /// An even share of the window's room. Shares that others have not used yet are not taken off, so that connections which come to life at
    /// once exceed the window by as much again at most, for one round trip.
    fn passage(&self, flow: &Flow, key: FlowKey) -> Option<(Seq, Seq)> {
        if !flow.is_whole() {
            return None;
        }
        let room = match self.hops.get(&key.destination.0) {
            Some(hop) => hop.room(&self.settings) / hop.flows.max(1) as u64,
            None => LONGEST,
        };
        Some((flow.highest, flow.highest + room.min(LONGEST) as u32))
    }

    /// Takes note of data that has passed.
    pub(super) fn on_data_passed(&mut self, packet: &Packet, key: FlowKey, cx: &mut Context<'_>) {
        if self.flows.touch(key, cx.now()).is_none() {
            // Forgotten since.
            cx.let_pass(Passage { flow: key, data: None });
            return;
        }
        if let Some(hop) = self.hops.get_mut(&key.destination.0) {
            let segment = size_of_segments(packet).unwrap_or(packet.payload().len() as u32);
            hop.note_segment(segment, &self.settings);
        }
        self.on_leaving(packet, key, cx);
        // Who passes goes on passing: it is only to be said how far.
        let last = self.flows.peek(key).and_then(|flow| flow.passage);
        let next = self.flows.peek(key).and_then(|flow| self.passage(flow, key));
        if last.map(|(_, until)| until) != next.map(|(_, until)| until) {
            self.permit(key, cx);
        }
    }
}

impl Flow {
    /// Whether nothing waits here, the receiver answers, and it has not told of anything missing.
    fn is_whole(&self) -> bool {
        let is_complete = match &self.board {
            Some(board) => board.in_flight() == board.unsacked() && board.duplicates == 0,
            None => self.duplicates == Duplicates::Passed(0),
        };
        is_complete
            && self.held.is_empty()
            && self.hole_end.is_none()
            && self.last_ack.is_some()
            && self.expiries == 0
            && !self.is_stalled
    }
}
