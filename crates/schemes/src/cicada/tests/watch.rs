//! An independent check of an agent's reports and packets.

use lasthop_agent::Side;
use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};
use proptest::prelude::*;

use super::ranges::Ranges;

/// The observed state of the end on one side, and the packets to it.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The initial number of its SYN, and the window and the shift there.
    iss: Option<Seq>,
    window: u32,
    shift: Option<u8>,
    /// The received part of its sequence space, counted from its SYN.
    received: Ranges,
    /// The end of the window that it has offered.
    edge: Option<Seq>,
    /// The end of the window that it was offered in the other end's name.
    offered: Option<Seq>,
    /// Its acknowledgments, and those to it, both without the SYN.
    has_acknowledged: Option<Seq>,
    was_acknowledged: Option<Seq>,
}

/// Both sides of one agent.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    sides: [Seen; 2],
    /// Whether a reset has passed: earlier data at risk does not count any more.
    is_reset: bool,
}

const fn index(side: Side) -> usize {
    match side {
        Side::Core => 0,
        Side::Radio => 1,
    }
}

impl Watch {
    /// The data at risk is given up now.
    pub const fn forget(&mut self) {
        self.is_reset = true;
    }

    /// Records a packet that an end sent, from a side.
    pub fn on_arrival(&mut self, packet: &Packet, from: Side) {
        let Some(tcp) = packet.tcp() else { return };
        if tcp.flags.has(TcpFlags::RST) {
            self.is_reset = true;
            return;
        }
        let is_syn = tcp.flags.has(TcpFlags::SYN);
        let is_scaled = self.sides.iter().all(|seen| seen.shift.is_some()) && !is_syn;
        let seen = &mut self.sides[index(from)];
        if is_syn {
            (seen.iss, seen.window) = (Some(tcp.seq), u32::from(tcp.window));
            seen.shift = tcp.options.window_scale.map(|shift| shift.min(14));
        }
        let Some(iss) = seen.iss else { return };
        let first = tcp.seq - iss;
        seen.received.add(first, first + packet.segment_len());
        if tcp.flags.has(TcpFlags::ACK) {
            let shift = if is_scaled { seen.shift.unwrap_or(0) } else { 0 };
            let edge = tcp.ack + (u32::from(tcp.window) << shift);
            seen.edge = Some(seen.edge.map_or(edge, |known| known.later(edge)));
            seen.has_acknowledged = Some(seen.has_acknowledged.map_or(tcp.ack, |known| known.later(tcp.ack)));
        }
        self.record_syn_windows();
    }

    /// Records a forged packet whose contents become true later.
    pub fn on_forged(&mut self, from: Side, received: Seq) {
        let known = &mut self.sides[index(from)].has_acknowledged;
        *known = Some(known.map_or(received, |known| known.later(received)));
    }

    /// A SYN's window counts from the other SYN on.
    fn record_syn_windows(&mut self) {
        for (here, there) in [(0, 1), (1, 0)] {
            let (Some(other), Some(_)) = (self.sides[there].iss, self.sides[here].iss) else { continue };
            let edge = other + 1 + self.sides[here].window;
            self.sides[here].edge.get_or_insert(edge);
            self.sides[there].offered.get_or_insert(edge);
        }
    }

    /// Checks a packet sent by the agent.
    pub fn on_departure(&mut self, packet: &Packet, to: Side) -> Result<(), TestCaseError> {
        let Some(tcp) = packet.tcp() else { return Ok(()) };
        if tcp.flags.has(TcpFlags::RST) {
            self.is_reset = true;
            return Ok(());
        }
        let shift = match self.sides.each_ref().map(|seen| seen.shift) {
            [Some(_), Some(_)] if !tcp.flags.has(TcpFlags::SYN) => {
                self.sides[index(to.opposite())].shift.unwrap_or(0)
            }
            _ => 0,
        };
        let seen = &mut self.sides[index(to)];
        if let Some(edge) = seen.edge {
            // A probe, or a FIN, may be above it.
            let end = tcp.seq + packet.segment_len();
            prop_assert!(!end.after(edge + 1), "beyond the window that ends at {edge}: {tcp:?} {packet:?}");
        }
        if tcp.flags.has(TcpFlags::ACK) {
            Self::check_reports(seen, tcp)?;
            let edge = tcp.ack + (u32::from(tcp.window) << shift);
            if let Some(before) = seen.offered {
                prop_assert!(!edge.before(before), "the window moves back from {before} to {edge}: {tcp:?}");
            }
            seen.offered = Some(edge);
            let before = seen.was_acknowledged;
            seen.was_acknowledged = Some(before.map_or(tcp.ack, |known| known.later(tcp.ack)));
        }
        Ok(())
    }

    /// Only received data may be acknowledged or reported.
    fn check_reports(seen: &Seen, tcp: &Tcp) -> Result<(), TestCaseError> {
        let Some(iss) = seen.iss else { return Ok(()) };
        prop_assert!(tcp.ack - iss <= seen.received.prefix(), "it acknowledges what has not come: {tcp:?}");
        for (left, right) in tcp.options.sack.as_slice() {
            prop_assert!(left.before(*right));
            prop_assert!(
                seen.received.has(*left - iss, *right - iss),
                "it reports what has not come: {tcp:?}"
            );
        }
        Ok(())
    }

    /// The minimum and maximum of octets at risk, as seen from outside.
    pub fn at_risk(&self) -> (u64, u64) {
        let (mut min, mut max) = (0, 0);
        if self.is_reset {
            return (0, u64::MAX);
        }
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let (Some(iss), Some(delivered)) =
                (self.sides[sender].iss, self.sides[receiver].has_acknowledged)
            else {
                continue;
            };
            let missing = |number: Seq| u64::from(number.offset_from(delivered).max(0).unsigned_abs());
            min += self.sides[sender].was_acknowledged.map_or(0, missing);
            max += missing(iss + self.sides[sender].received.prefix());
        }
        (min, max)
    }
}
