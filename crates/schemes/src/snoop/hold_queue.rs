//! Packets that wait for room in the local window: taken over, let go, and dropped where too many
//! wait.
//!
//! With the default `held-delay` of 80 ms, a sender that halves its window keeps the hop busy where
//! its round trip is no longer than that, and CUBIC, which takes off 30%, where it is twice as
//! long. The delay also has to bridge the time for which a repair keeps ACKs back: at 5% loss both
//! ways and a round trip of 54 ms, 60 ms did not always suffice.
//!
//! A drop that is to slow a sender down costs ACKs: until the segment comes again, the receiver acknowledges
//! each one, and where the way back is narrow those ACKs set the pace. So there is one drop a window at most,
//! and ever fewer where the sender does not slow down for them, such as BBR.

use lasthop_agent::counter::{AT_BOUND, FULL};
use lasthop_agent::{Context, Report, Side, Slot, Verdict};
use lasthop_packet::Packet;

use super::agent::Snoop;
use super::flow::{Receiver, Recovery};
use super::segmentation::{is_repairable, take_front};

/// Packets of a connection may wait so many times as long as it takes until one is dropped: a
/// sender in slow start goes on doubling for a round trip after the drop, and to lose the better
/// part of that window would cost it a time-out.
const AT_MOST: usize = 4;

impl<R: Recovery> Snoop<R> {
    /// Lets a packet with sequence space pass, or takes it over until there is room.
    pub(super) fn hold_or_pass(&mut self, packet: &mut Packet, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let octets = packet.payload().len() as u32;
        let segment = packet.segment_payload();
        let Some(flow) = self.flows.get_mut(slot) else { return Verdict::Forward };
        let hop_at = flow.hop;
        let Some(hop) = hop_at.and_then(|at| self.hops.get_mut(at)) else {
            self.on_leaving(packet, slot, cx);
            return Verdict::Forward;
        };
        let Some(tcp) = packet.tcp() else { return Verdict::Forward };
        // What the sender sends again keeps its turn, unlike our repairs: had it come back before
        // what left the sender earlier and waits here, RACK would take all of that for lost (RFC
        // 8985, section 6.2). Where the receiver tells of no blocks, RACK has nothing to go by, and
        // we do not see what frees the window: only what the receiver waits for can. Of a receiver that
        // is silent the sender knows as much as we do.
        let is_late = tcp.seq.before(flow.arrived);
        let is_alone = flow.receiver != Receiver::Answers || !flow.recovery.has_seen_sack();
        let overtakes = (is_late && is_alone) || flow.receiver == Receiver::GivenUp;
        hop.note_segment(segment, &self.targets);
        let end = tcp.seq + packet.segment_len();
        if is_late {
            flow.waiting.on_sent_again(tcp.seq, end, flow.arrived, cx.now());
        }
        if !is_repairable(tcp) {
            // What waits is stamped when it leaves, and this may not be. It passes, behind what waits.
            self.flush(slot, cx);
            self.on_leaving(packet, slot, cx);
            return Verdict::Forward;
        }
        let may_go = || {
            u64::from(octets) <= hop.room_to_pass(&self.trust)
                && (hop.turns.is_empty() || u64::from(octets) <= flow.pace.allowance(flow.in_flight(), hop))
                || u64::from(octets) <= flow.reserved(hop, &self.targets)
        };
        if overtakes || (flow.waiting.is_empty() && (is_late || may_go())) {
            self.on_leaving(packet, slot, cx);
            return Verdict::Forward;
        }
        let patience = hop.patience(&self.targets);
        let now = cx.now();
        // Nor is it dropped as long as there is any room at all: its loss would cost a time-out.
        let at_most = if is_late { usize::MAX } else { patience.saturating_mul(AT_MOST) };
        let room = at_most.min(self.settings.held_octets).saturating_sub(flow.waiting.packets().octets());
        let mut sizes = packet.sizes();
        if sizes.octets > room {
            let headers = sizes.octets - packet.payload().len();
            let fits = (room.saturating_sub(headers) as u32).checked_div(segment).unwrap_or(0) * segment;
            let Some(front) = take_front(packet, fits) else { return Verdict::Drop(&FULL) };
            cx.report_dropped(packet, (octets - fits) as usize, &FULL);
            *packet = front;
            sizes = packet.sizes();
        }
        let memory = cx.budget().room(flow.charged(), self.octets + self.beside);
        if let Some(bound) = memory.lacks(flow.waiting.packets().cost_of(sizes)) {
            // It passes, behind what waits.
            cx.report(Report::of(&AT_BOUND).which(bound));
            self.flush(slot, cx);
            self.on_leaving(packet, slot, cx);
            return Verdict::Forward;
        }
        if let Some(tcp) = packet.tcp() {
            flow.arrived = flow.arrived.later(tcp.seq + packet.segment_len());
        }
        flow.waiting.push(packet.take(), sizes);
        self.held += 1;
        flow.waiting.judge_signal();
        let is_signal_due = flow.waiting.packets().octets() > patience && flow.waiting.may_signal(now);
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        // Usually only packets of this connection wait, and there is still no room for the first of them.
        let waits = flow.waiting.packets().len() > 1
            && hop.turns.len() == 1
            && flow.waiting.portion(hop, &self.trust).is_none();
        self.follow_line(slot);
        if is_signal_due {
            self.signal(slot, cx);
            self.charge(slot, cx.budget());
        }
        if is_signal_due || !waits {
            self.send_reserved(slot, cx);
            self.send_held(hop_at, cx);
        }
        self.follow_timer(slot);
        Verdict::Absorb
    }

    /// Drops the segment that has waited longest, uncached: the sender is to hear of it as soon as
    /// can be, and to slow down. Not one that the sender sends again: it has slowed down for that.
    fn signal(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        let Some((dropped, is_whole)) = flow.waiting.signal(flow.highest, cx.now()) else { return };
        self.held -= u64::from(is_whole);
        cx.report_dropped(&dropped, dropped.payload().len(), &FULL);
    }

    /// Sends what waits for a hop, connection by connection, as long as there is room.
    pub(super) fn send_held(&mut self, hop: Option<Slot>, cx: &mut Context<'_>) {
        self.send_waiting(hop, cx);
        self.charge_hop(hop);
    }

    fn send_waiting(&mut self, hop: Option<Slot>, cx: &mut Context<'_>) {
        // In a row, because they have their share already.
        let mut passed_on = 0;
        loop {
            let Some(hop) = hop.and_then(|at| self.hops.get_mut(at)) else { return };
            let Some(key) = hop.turns.next() else { return };
            let found = self.flows.find(key);
            let Some((slot, flow)) = found
                .and_then(|slot| Some((slot, self.flows.get_mut(slot)?)))
                .filter(|(_, flow)| !flow.waiting.is_empty())
            else {
                hop.turns.take_next();
                continue;
            };
            if hop.turns.len() > 1 && flow.pace.allowance(flow.in_flight(), hop) == 0 {
                passed_on += 1;
                if passed_on >= hop.turns.len() {
                    return;
                }
                hop.turns.pass_on();
                continue;
            }
            passed_on = 0;
            let Some(portion) = flow.waiting.portion(hop, &self.trust) else { return };
            let Some((packet, is_whole)) = flow.take_waiting(portion) else { return };
            self.held -= u64::from(is_whole);
            if flow.waiting.is_empty() {
                flow.is_in_line = false;
                hop.turns.take_next();
            } else {
                hop.turns.pass_on();
            }
            self.on_leaving(&packet, slot, cx);
            cx.send(Side::Radio, packet);
        }
    }

    /// Sends what a connection may send though others have left no room, and have their turn first.
    pub(super) fn send_reserved(&mut self, slot: Slot, cx: &mut Context<'_>) {
        while let Some(flow) = self.flows.get_mut(slot) {
            let Some(hop) = flow.hop.and_then(|at| self.hops.get(at)) else { return };
            if !flow.is_waiting() {
                return;
            }
            let Some(portion) = flow.waiting.portion_within(flow.reserved(hop, &self.targets)) else {
                return;
            };
            let Some((packet, is_whole)) = flow.take_waiting(portion) else { return };
            self.held -= u64::from(is_whole);
            self.follow_line(slot);
            self.on_leaving(&packet, slot, cx);
            cx.send(Side::Radio, packet);
        }
    }

    /// Sends all that a connection holds, room or not.
    pub(super) fn flush(&mut self, slot: Slot, cx: &mut Context<'_>) {
        while let Some(flow) = self.flows.get_mut(slot) {
            let Some(mut packet) = flow.waiting.pop() else { break };
            self.held -= 1;
            flow.stamp(&mut packet);
            self.on_leaving(&packet, slot, cx);
            cx.send(Side::Radio, packet);
        }
        self.follow_line(slot);
    }

    /// Has a flow wait in line for room, or not, as it is now.
    pub(super) fn follow_line(&mut self, slot: Slot) {
        let (Some(key), Some(flow)) = (self.flows.key(slot), self.flows.get_mut(slot)) else { return };
        let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) else { return };
        let is_waiting = flow.is_waiting();
        match (std::mem::replace(&mut flow.is_in_line, is_waiting), is_waiting) {
            (false, true) => hop.turns.wait(key),
            (true, false) => hop.turns.leave(key),
            _ => {}
        }
        hop.charge(&mut self.beside);
    }

    /// Ends the wait for a receiver that does not answer any more. What waits is dropped: by now the
    /// sender takes it for lost, and so much at once would delay what goes to others. A receiver that was
    /// never heard may be one whose ACKs take another way; it gets all of it.
    pub(super) fn give_up_held(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        if flow.last_ack.is_none() {
            self.flush(slot, cx);
            return;
        }
        while let Some(dropped) = flow.waiting.pop() {
            self.held -= 1;
            cx.report_dropped(&dropped, dropped.payload().len(), &FULL);
        }
        flow.arrived = flow.highest;
        self.follow_line(slot);
    }
}
