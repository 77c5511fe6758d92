//! Packets that wait for room in the local window: queued, sent, and dropped if the queue is too
//! long.
//!
//! With the default `held-delay` of 80 ms, a sender that halves its window keeps the hop busy if
//! its round trip is no longer than that, and CUBIC, which reduces by 30%, if it is twice as long.
//! The delay also has to bridge the time for which a repair delays ACKs: at 5% loss both ways and a
//! round trip of 54 ms, 60 ms did not always suffice.
//!
//! A drop as a congestion signal costs ACKs: until the segment is retransmitted, the receiver
//! acknowledges each segment, and on a narrow return path those ACKs limit the rate. So there is at
//! most one drop per window, and drops become rarer if the sender does not slow down for them, such
//! as BBR.

use lasthop_agent::counter::{AT_BOUND, FULL};
use lasthop_agent::{Context, Report, Side, Slot, Verdict};
use lasthop_packet::Packet;

use super::agent::Snoop;
use super::flow::{Receiver, Recovery};
use super::segmentation::{is_repairable, take_front};

/// The maximum delay of waiting packets, as a multiple of the delay at which one is dropped: a
/// sender in slow start keeps doubling for a round trip after the drop, and to lose most of that
/// window would cost it a time-out.
const MAX_DELAY_FACTOR: usize = 4;

impl<R: Recovery> Snoop<R> {
    /// Lets a packet with sequence space pass, or queues it until there is room.
    pub(super) fn hold_or_pass(&mut self, packet: &mut Packet, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let octets = packet.payload().len() as u32;
        let segment = packet.segment_payload();
        let Some(flow) = self.flows.get_mut(slot) else { return Verdict::Forward };
        let hop_at = flow.hop;
        let Some(hop) = hop_at.and_then(|at| self.hops.get_mut(at)) else {
            self.on_transmit(packet, slot, cx);
            return Verdict::Forward;
        };
        let Some(tcp) = packet.tcp() else { return Verdict::Forward };
        // The sender's retransmission keeps its place in the order, unlike the agent's repairs: if
        // it were delivered before packets that left the sender earlier and wait here, RACK would
        // mark all of those as lost (RFC 8985, section 6.2). If the receiver sends no SACK blocks,
        // RACK has no information, and the agent does not see which segments arrived: only the one
        // that the receiver waits for can open the window. About a silent receiver the sender knows
        // as much as the agent.
        let is_late = tcp.seq.before(flow.arrived);
        let is_alone = flow.receiver != Receiver::Answers || !flow.recovery.has_seen_sack();
        let overtakes = (is_late && is_alone) || flow.receiver == Receiver::GivenUp;
        hop.record_segment(segment, &self.targets);
        let end = tcp.seq + packet.segment_len();
        if is_late {
            flow.waiting.on_retransmission(tcp.seq, end, flow.arrived, cx.now());
        }
        if !is_repairable(tcp) {
            // Waiting packets are stamped when they leave, and this one must not be stamped. It
            // passes after them.
            self.flush(slot, cx);
            self.on_transmit(packet, slot, cx);
            return Verdict::Forward;
        }
        let may_go = || {
            u64::from(octets) <= hop.room_to_pass(&self.loss_free_run)
                && (hop.turns.is_empty() || u64::from(octets) <= flow.pace.allowance(flow.in_flight(), hop))
                || u64::from(octets) <= flow.reserved(hop, &self.targets)
        };
        if overtakes || (flow.waiting.is_empty() && (is_late || may_go())) {
            self.on_transmit(packet, slot, cx);
            return Verdict::Forward;
        }
        let patience = hop.max_waiting(&self.targets);
        let now = cx.now();
        // A retransmission is not dropped while there is any room: its loss would cost a time-out.
        let limit = if is_late { usize::MAX } else { patience.saturating_mul(MAX_DELAY_FACTOR) };
        let room = limit.min(self.settings.held_octets).saturating_sub(flow.waiting.packets().octets());
        let mut sizes = packet.sizes();
        if sizes.octets > room {
            let headers = sizes.octets - packet.payload().len();
            let fits = (room.saturating_sub(headers) as u32).checked_div(segment).unwrap_or(0) * segment;
            let Some(front) = take_front(packet, fits) else { return Verdict::Drop(&FULL) };
            cx.report_dropped(packet, (octets - fits) as usize, &FULL);
            *packet = front;
            sizes = packet.sizes();
        }
        let memory = cx.budget().room(flow.charged(), self.octets + self.other_octets);
        if let Some(bound) = memory.lacks(flow.waiting.packets().cost_of(sizes)) {
            // It passes, after the waiting packets.
            cx.report(Report::new(&AT_BOUND).which(bound));
            self.flush(slot, cx);
            self.on_transmit(packet, slot, cx);
            return Verdict::Forward;
        }
        if let Some(tcp) = packet.tcp() {
            flow.arrived = flow.arrived.later(tcp.seq + packet.segment_len());
        }
        flow.waiting.push(packet.take(), sizes);
        self.held += 1;
        flow.waiting.judge_signal();
        let is_signal_due = flow.waiting.packets().octets() > patience && flow.waiting.may_signal(now);
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        // Usually only packets of this connection wait, and there is still no room for the first of
        // them.
        let waits = flow.waiting.packets().len() > 1
            && hop.turns.len() == 1
            && flow.waiting.portion(hop, &self.loss_free_run).is_none();
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

    /// Drops the segment that has waited longest, uncached, so that the sender detects the loss as
    /// soon as possible and slows down. The sender's retransmissions are exempt: it has slowed down
    /// for them.
    fn signal(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        let Some((dropped, is_whole)) = flow.waiting.signal(flow.highest, cx.now()) else { return };
        self.held -= u64::from(is_whole);
        cx.report_dropped(&dropped, dropped.payload().len(), &FULL);
    }

    /// Sends packets that wait for a hop, in turn by connection, while there is room.
    pub(super) fn send_held(&mut self, hop: Option<Slot>, cx: &mut Context<'_>) {
        self.send_waiting(hop, cx);
        self.charge_hop(hop);
    }

    fn send_waiting(&mut self, hop: Option<Slot>, cx: &mut Context<'_>) {
        // The number of connections in a row that already have their share.
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
            let Some(portion) = flow.waiting.portion(hop, &self.loss_free_run) else { return };
            let Some((packet, is_whole)) = flow.take_waiting(portion) else { return };
            self.held -= u64::from(is_whole);
            if flow.waiting.is_empty() {
                flow.is_in_line = false;
                hop.turns.take_next();
            } else {
                hop.turns.pass_on();
            }
            self.on_transmit(&packet, slot, cx);
            cx.send(Side::Radio, packet);
        }
    }

    /// Sends what a connection may send though others have left no room and come first.
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
            self.on_transmit(&packet, slot, cx);
            cx.send(Side::Radio, packet);
        }
    }

    /// Sends all waiting packets of a connection, regardless of room.
    pub(super) fn flush(&mut self, slot: Slot, cx: &mut Context<'_>) {
        while let Some(flow) = self.flows.get_mut(slot) {
            let Some(mut packet) = flow.waiting.pop() else { break };
            self.held -= 1;
            flow.stamp(&mut packet);
            self.on_transmit(&packet, slot, cx);
            cx.send(Side::Radio, packet);
        }
        self.follow_line(slot);
    }

    /// Adds a flow to the queue of its hop, or removes it, by its current state.
    pub(super) fn follow_line(&mut self, slot: Slot) {
        let (Some(key), Some(flow)) = (self.flows.key(slot), self.flows.get_mut(slot)) else { return };
        let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) else { return };
        let is_waiting = flow.is_waiting();
        match (std::mem::replace(&mut flow.is_in_line, is_waiting), is_waiting) {
            (false, true) => hop.turns.wait(key),
            (true, false) => hop.turns.leave(key),
            _ => {}
        }
        hop.update_memory(&mut self.other_octets);
    }

    /// Ends the wait for a silent receiver. Its waiting packets are dropped: by now the sender
    /// treats them as lost, and to send them all at once would delay packets to others. A receiver
    /// without any ACK may be one whose ACKs take another path; it gets all of them.
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
