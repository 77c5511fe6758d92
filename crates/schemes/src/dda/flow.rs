//! The state of one connection, of constant size.

use lasthop_agent::Limits;
use lasthop_hop::plain_ack::{PlainAck, is_plain};
use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};

/// Duplicates that pass at once: one below the sender's threshold (RFC 5681, section 3.2).
const PASSED_AT_ONCE: u32 = 2;

/// The maximum number of held duplicates. With more, all are released.
pub(super) const MAX_HELD: u32 = 256;

/// A connection with data on its way to a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// The end of all data that passed.
    pub(super) highest: Seq,
    /// The receiver's last ACK with the highest number, without blocks.
    pub(super) last_ack: Option<PlainAck>,
    /// Duplicates of it so far.
    pub(super) duplicates: u32,
    /// The number of held duplicates.
    pub(super) held: u32,
    /// Whether later duplicates pass at once, because the sender has received some.
    pub(super) is_released: bool,
    /// The last reported bypass limits.
    pub(super) limits: Option<Limits>,
}

/// The action on a packet from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckFate {
    /// It passes.
    Passes,
    /// It acknowledges more: it passes, and the held duplicates are discarded.
    Advances,
    /// It is a duplicate, which is held.
    Held,
    /// It is a duplicate, which passes together with all held ones.
    Releases,
}

impl Flow {
    /// A flow whose data up to `highest` has passed.
    pub(super) fn new(highest: Seq) -> Self {
        Self { highest, last_ack: None, duplicates: 0, held: 0, is_released: false, limits: None }
    }

    /// Whether data belongs to another connection on the same ports, whose SYN took another path.
    pub(super) fn is_another(&self, end: Seq) -> bool {
        end.is_out_of_reach(self.highest)
    }

    /// Processes the acknowledgment in a packet from the receiver.
    pub(super) fn on_ack(&mut self, packet: &Packet, tcp: &Tcp) -> AckFate {
        let is_old = self.last_ack.is_some_and(|last_ack| tcp.ack.before(last_ack.ack));
        if !tcp.flags.has(TcpFlags::ACK) || tcp.ack.after(self.highest) || is_old {
            // No acknowledgment, or of data that took another path, or late.
            return AckFate::Passes;
        }
        let ack = PlainAck::from_packet(packet, tcp);
        let Some(last) = self.last_ack.filter(|last| last.ack == tcp.ack) else {
            let ack = self.last_ack.map_or(ack, |last| ack.after(last));
            *self = Self { last_ack: Some(ack), limits: self.limits, ..Self::new(self.highest) };
            return AckFate::Advances;
        };
        // RFC 5681, section 2. An ACK may be the only one with its SACK blocks.
        let is_duplicate = is_plain(packet, tcp)
            && tcp.options.sack.is_empty()
            && (tcp.window, tcp.ack.before(self.highest)) == (last.window, true)
            && tcp.window != 0;
        self.last_ack = Some(ack.after(last));
        if !is_duplicate {
            return AckFate::Passes;
        }
        self.duplicates = self.duplicates.saturating_add(1);
        if self.is_released || self.duplicates <= PASSED_AT_ONCE {
            return AckFate::Passes;
        }
        if self.held >= MAX_HELD {
            return AckFate::Releases;
        }
        self.held += 1;
        AckFate::Held
    }

    /// Takes the held duplicates, to send them: one of them, and their number.
    pub(super) fn take_held(&mut self) -> Option<(PlainAck, u32)> {
        let held = std::mem::take(&mut self.held);
        let last_ack = self.last_ack.filter(|_| held > 0)?;
        self.is_released = true;
        Some((last_ack, held))
    }

    /// The bypass limits: new data and new ACKs pass.
    pub(super) fn permitted(&self) -> Option<Limits> {
        let acknowledged = self.last_ack?.ack;
        Some(Limits::unlimited(acknowledged, self.highest, self.limits))
    }
}
