//! What is known of one connection: a constant number of octets.

use lasthop_agent::Limits;
use lasthop_hop::plain_ack::{PlainAck, is_plain};
use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};

/// Duplicates that go on at once: one below the sender's threshold (RFC 5681, section 3.2).
const FIRST: u32 = 2;

/// Duplicates that are held at most. With more of them, all go on.
pub(super) const MOST_HELD: u32 = 256;

/// A connection with data on its way to a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// The number behind all data that passed.
    pub(super) highest: Seq,
    /// What the receiver has acknowledged, and what else it has said with that last; no blocks.
    pub(super) said: Option<PlainAck>,
    /// Duplicates of it so far.
    pub(super) duplicates: u32,
    /// How many of them are held.
    pub(super) held: u32,
    /// Whether those to come go on at once, because the sender has been told.
    pub(super) is_told: bool,
    /// What may pass without asking, as last said.
    pub(super) limits: Option<Limits>,
}

/// What becomes of a packet from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckFate {
    /// It goes on.
    Passes,
    /// It acknowledges more: it goes on, and what is held is needless.
    Advances,
    /// It is a duplicate that is held.
    Held,
    /// It is a duplicate that goes on, together with all that are held.
    Tells,
}

impl Flow {
    /// A flow of which data up to `highest` has passed.
    pub(super) fn new(highest: Seq) -> Self {
        Self { highest, said: None, duplicates: 0, held: 0, is_told: false, limits: None }
    }

    /// Whether data belongs to another connection on the same ports, whose SYN went another way.
    pub(super) fn is_another(&self, end: Seq) -> bool {
        end.is_out_of_reach(self.highest)
    }

    /// Decides on a packet from the receiver by the acknowledgment in it.
    pub(super) fn on_ack(&mut self, packet: &Packet, tcp: &Tcp) -> AckFate {
        let is_old = self.said.is_some_and(|said| tcp.ack.before(said.ack));
        if !tcp.flags.has(TcpFlags::ACK) || tcp.ack.after(self.highest) || is_old {
            // No acknowledgment, or of data that took another way, or late.
            return AckFate::Passes;
        }
        let said = PlainAck::of(packet, tcp);
        let Some(last) = self.said.filter(|last| last.ack == tcp.ack) else {
            let said = self.said.map_or(said, |last| said.after(last));
            *self = Self { said: Some(said), limits: self.limits, ..Self::new(self.highest) };
            return AckFate::Advances;
        };
        // RFC 5681, section 2. What an ACK says in SACK blocks, it may be the only one to say.
        let is_duplicate = is_plain(packet, tcp)
            && tcp.options.sack.is_empty()
            && (tcp.window, tcp.ack.before(self.highest)) == (last.window, true)
            && tcp.window != 0;
        self.said = Some(said.after(last));
        if !is_duplicate {
            return AckFate::Passes;
        }
        self.duplicates = self.duplicates.saturating_add(1);
        if self.is_told || self.duplicates <= FIRST {
            return AckFate::Passes;
        }
        if self.held >= MOST_HELD {
            return AckFate::Tells;
        }
        self.held += 1;
        AckFate::Held
    }

    /// The duplicates that are held, to be sent on: each of them, and how many.
    pub(super) fn take_held(&mut self) -> Option<(PlainAck, u32)> {
        let held = std::mem::take(&mut self.held);
        let said = self.said.filter(|_| held > 0)?;
        self.is_told = true;
        Some((said, held))
    }

    /// What may pass without asking: new data and new ACKs.
    pub(super) fn permitted(&self) -> Option<Limits> {
        let acknowledged = self.said?.ack;
        Some(Limits::as_far_as_numbers_go(acknowledged, self.highest, self.limits))
    }
}
