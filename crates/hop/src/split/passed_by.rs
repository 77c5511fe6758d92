//! Packets that went past the agent, because its process was away for a while, or had gone and
//! another took its place.
//!
//! The ends have spoken to each other meanwhile, in their own numbers. What one has sent and the other
//! has acknowledged then is in no leg's account, and neither end will ever send it again: legs that
//! went on as before would wait for it.
//!
//! So all pairs are in doubt after that. One of which nothing is owed, and whose ends stand where the
//! legs do, is in doubt no longer. One whose end is further on only serves what it owes: its packets
//! pass, and what they acknowledge counts. Once nothing is owed the ends are by themselves. A segment
//! that was lost on the wire may look the same; then the ends repair it, as they would without an
//! agent.

use std::time::Duration;

use lasthop_agent::{Context, Side, Verdict};
use lasthop_packet::{FlowKey, Instant, Packet, Seq, TcpFlags};
use lasthop_tcp::State;

use super::knowledge::{Knowledge, SavedKnowledge};
use super::pair::Pair;
use super::sleep::Entry;
use super::table::Splits;

/// What an end says is not believed if it is further than this from where its leg is.
const FURTHEST: u32 = 1 << 24;

/// What was sent before a doubt has arrived, or is lost, after this time.
const SETTLES_IN: Duration = Duration::from_secs(2);

impl Splits {
    /// From now on no pair in the ends' numbers is certain to know all that they have said.
    pub(super) fn mark_all_uncertain(&mut self, now: Instant) {
        let keys: Vec<FlowKey> = self.pairs.keys().collect();
        for key in keys {
            match self.pairs.peek_mut(key) {
                Some(Entry::Awake(pair)) if pair.keeps_numbers() && !pair.is_passed_by() => {
                    pair.knowledge = Knowledge::uncertain(now);
                }
                Some(Entry::Asleep(saved)) if saved.knowledge == SavedKnowledge::Whole => {
                    saved.knowledge = SavedKnowledge::Uncertain;
                }
                Some(_) | None => {}
            }
        }
    }

    /// A packet of a pair that only serves what it owes: it passes.
    pub(super) fn overhear(
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
    /// Whether it only serves what it owes.
    pub(super) fn is_passed_by(&self) -> bool {
        self.knowledge == Knowledge::Lacking
    }

    /// While it is in doubt: takes note of where a packet shows its sender to stand.
    pub(super) fn compare(&mut self, packet: &Packet, from: Side, now: Instant) {
        let Knowledge::Uncertain { since, mut in_step } = self.knowledge else { return };
        let Some(tcp) = packet.tcp().filter(|_| self.is_near(packet, from)) else { return };
        let (next, max) = (self.leg(from).next_expected(), self.leg(from).flight().max);
        if tcp.seq.after(next) || tcp.ack.after(max) {
            self.knowledge = Knowledge::Lacking;
            // It was reported, perhaps, but never acknowledged: the end sends it again.
            self.core.discard_behind_gap();
            self.radio.discard_behind_gap();
        } else if self.is_free()
            && (tcp.seq, tcp.ack, packet.segment_len()) == (next, max, 0)
            && now.since(since) >= SETTLES_IN
        {
            // Data with this number may be sent again, with more behind it that went past.
            in_step[from as usize] = true;
            let is_certain = in_step == [true; 2];
            self.knowledge =
                if is_certain { Knowledge::Whole } else { Knowledge::Uncertain { since, in_step } };
        }
    }

    /// Moves on what has arrived on each leg, for pairs that only serve what they owe: nothing more
    /// comes.
    pub(super) fn hand_over(&mut self) {
        for from in [Side::Core, Side::Radio] {
            while let Some(payload) = self.leg_mut(from).read() {
                self.leg_mut(from.opposite()).write(payload);
            }
        }
    }

    /// Whether a leg's packet is to leave. What a pair that only serves what it owes would say beside
    /// data, the ends say themselves.
    pub(super) fn may_say(&self, packet: &Packet) -> bool {
        !self.is_passed_by() || packet.segment_len() > 0
    }

    /// Whether a pair that only serves what it owes has done so, or cannot.
    pub(super) fn has_served(&self) -> bool {
        self.is_free()
            || [&self.core, &self.radio]
                .iter()
                .any(|leg| leg.state() == State::Closed && leg.unacknowledged() > 0)
    }

    /// Whether a packet can be of this connection, by its numbers.
    fn is_near(&self, packet: &Packet, from: Side) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let is_near = |number: Seq, known: Seq| number - known < FURTHEST || known - number < FURTHEST;
        let leg = self.leg(from);
        tcp.flags.has(TcpFlags::ACK)
            && !tcp.flags.has(TcpFlags::SYN)
            && !tcp.flags.has(TcpFlags::RST)
            && is_near(tcp.seq, leg.next_expected())
            && is_near(tcp.ack, leg.flight().max)
    }

    /// Whether an end answers with a reset what the leg has sent: it is gone.
    fn is_reset_by(&self, packet: &Packet, from: Side) -> bool {
        packet
            .tcp()
            .is_some_and(|tcp| tcp.flags.has(TcpFlags::RST) && tcp.seq == self.leg(from).next_expected())
    }
}
