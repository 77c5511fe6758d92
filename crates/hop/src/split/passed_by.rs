//! Packets that bypassed the agent, because its process was suspended for a while, or was replaced
//! by another.
//!
//! Meanwhile the ends have exchanged packets with their own sequence numbers. Data that one end has
//! sent and the other has acknowledged then is missing in the legs, and neither end will send it
//! again: the legs would wait for it.
//!
//! So all pairs are uncertain after that. A pair that owes nothing, and whose ends have the same
//! sequence numbers as the legs, becomes certain again. A pair whose end is ahead only serves its
//! obligations: its packets pass, and their acknowledgments count. Once nothing is owed, the pair
//! is removed. A segment that was lost on the wire may look the same; then the ends retransmit it,
//! as without an agent.

use std::time::Duration;

use lasthop_agent::{Context, Side, Verdict};
use lasthop_packet::{FlowKey, Instant, Packet, Seq, TcpFlags};
use lasthop_tcp::State;

use super::knowledge::{Knowledge, SavedKnowledge};
use super::pair::Pair;
use super::sleep::Entry;
use super::table::Splits;

/// Maximum distance of plausible numbers in an end's packet from those of its leg.
const MAX_DISTANCE: u32 = 1 << 24;

/// Packets sent before the uncertainty have arrived, or are lost, after this time.
const SETTLING_TIME: Duration = Duration::from_secs(2);

impl Splits {
    /// Marks all pairs with the ends' numbers as uncertain.
    pub(super) fn mark_all_uncertain(&mut self, now: Instant) {
        let keys: Vec<FlowKey> = self.pairs.keys().collect();
        for key in keys {
            match self.pairs.peek_mut(key) {
                Some(Entry::Awake(pair)) if pair.keeps_numbers() && !pair.is_passed_by() => {
                    pair.knowledge = Knowledge::uncertain(now);
                }
                Some(Entry::Asleep(saved)) if saved.knowledge == SavedKnowledge::Complete => {
                    saved.knowledge = SavedKnowledge::Uncertain;
                }
                Some(_) | None => {}
            }
        }
    }

    /// Processes a packet of a pair that only serves its obligations: it passes.
    pub(super) fn observe(
        &mut self,
        key: FlowKey,
        packet: &Packet,
        from: Side,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return Verdict::Forward };
        if pair.is_reset_by(packet, from) {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        if let Some(tcp) = packet.tcp().filter(|_| pair.is_near(packet, from)) {
            pair.leg_mut(from).overhear(packet, cx.now());
            pair.leg_mut(from.opposite()).acknowledged_elsewhere(tcp.ack);
            pair.on_passed(packet, from, cx.now());
        }
        self.work(key, cx);
        Verdict::Forward
    }
}

impl Pair {
    /// Whether the pair only serves its obligations.
    pub(super) fn is_passed_by(&self) -> bool {
        self.knowledge == Knowledge::Incomplete
    }

    /// While the pair is uncertain, compares the numbers in a packet with those of the legs.
    pub(super) fn compare(&mut self, packet: &Packet, from: Side, now: Instant) {
        let Knowledge::Uncertain { since, mut matches } = self.knowledge else { return };
        let Some(tcp) = packet.tcp().filter(|_| self.is_near(packet, from)) else { return };
        let (next, max) = (self.leg(from).next_expected(), self.leg(from).flight().max);
        if tcp.seq.after(next) || tcp.ack.after(max) {
            self.knowledge = Knowledge::Incomplete;
            // The data may have been reported in SACK blocks, but was never acknowledged: the end
            // sends it again.
            self.core.discard_after_gap();
            self.radio.discard_after_gap();
        } else if self.is_free()
            && (tcp.seq, tcp.ack, packet.segment_len()) == (next, max, 0)
            && now.since(since) >= SETTLING_TIME
        {
            // A segment with data may be a retransmission, and later data may have bypassed the
            // agent.
            matches[from as usize] = true;
            let is_certain = matches == [true; 2];
            self.knowledge =
                if is_certain { Knowledge::Complete } else { Knowledge::Uncertain { since, matches } };
        }
    }

    /// Moves the data that has arrived on each leg, for pairs that only serve their obligations: no
    /// more data will come.
    pub(super) fn hand_over(&mut self) {
        for from in [Side::Core, Side::Radio] {
            if self.awaited.towards(from.opposite()) > 0 {
                continue;
            }
            while let Some(payload) = self.leg_mut(from).read() {
                self.leg_mut(from.opposite()).write(payload);
            }
        }
    }

    /// Whether to send a leg's packet. Of a pair that only serves its obligations, only data is
    /// sent; the ends send everything else themselves.
    pub(super) fn may_send(&self, packet: &Packet) -> bool {
        !self.is_passed_by() || packet.segment_len() > 0
    }

    /// Whether a pair that only serves its obligations has done so, or cannot.
    pub(super) fn has_served(&self) -> bool {
        self.is_free()
            || [&self.core, &self.radio]
                .iter()
                .any(|leg| leg.state() == State::Closed && leg.unacknowledged() > 0)
    }

    /// Whether a packet can belong to this connection, by its numbers.
    fn is_near(&self, packet: &Packet, from: Side) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let is_near =
            |number: Seq, known: Seq| number - known < MAX_DISTANCE || known - number < MAX_DISTANCE;
        let leg = self.leg(from);
        tcp.flags.has(TcpFlags::ACK)
            && !tcp.flags.has(TcpFlags::SYN)
            && !tcp.flags.has(TcpFlags::RST)
            && is_near(tcp.seq, leg.next_expected())
            && is_near(tcp.ack, leg.flight().max)
    }

    /// Whether an end answers the leg's packets with a reset: it is gone.
    fn is_reset_by(&self, packet: &Packet, from: Side) -> bool {
        packet
            .tcp()
            .is_some_and(|tcp| tcp.flags.has(TcpFlags::RST) && tcp.seq == self.leg(from).next_expected())
    }
}
