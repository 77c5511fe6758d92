//! Urgent data (RFC 9293, section 3.8.5; RFC 6093), for an owner that passes a stream on: where it ends
//! in what has arrived, and in what is sent.
//!
//! The urgent pointer is taken as every implementation has it: it names the octet behind the last urgent
//! one (RFC 6093, section 3.1).

use lasthop_packet::{Seq, Tcp, TcpFlags};

use super::Connection;

/// Ends of urgent data that are remembered at a time of what is to be sent. A later one takes the place
/// of the last: RFC 9293 has one urgent pointer at a time.
pub(super) const MOST: usize = 8;

impl Connection {
    /// How many octets the end of urgent data lies behind what was read; `None` where there is none
    /// ahead. What it ends may not have arrived yet.
    pub fn urgent_ahead(&mut self) -> Option<u32> {
        self.receive.urgent_ahead()
    }

    /// Urgent data ends this many octets behind what was written so far.
    pub fn mark_urgent(&mut self, ahead: u32) {
        let first = if self.is_handshaking() { self.flight.una + 1 } else { self.flight.una };
        let end = first + (self.buffer.len() as u32).wrapping_add(ahead);
        // Octets that were sent without the pointer may have been read.
        if self.close_requested || !end.after(self.flight.max) || self.urgent.contains(&end) {
            return;
        }
        self.urgent.truncate(MOST - 1);
        self.urgent.push(end);
    }

    /// A segment arrived that may point to urgent data. It counts whether or not there is room for data
    /// (RFC 9293, section 3.10.7.4).
    #[inline]
    pub(super) fn note_urgent(&mut self, tcp: &Tcp) {
        if tcp.flags.has(TcpFlags::URG) && tcp.urgent_pointer > 0 {
            self.receive.note_urgent(tcp.seq + u32::from(tcp.urgent_pointer));
        }
    }

    /// Forgets urgent data that ended before this number, because it was acknowledged.
    #[inline]
    pub(super) fn forget_urgent_before(&mut self, una: Seq) {
        if !self.urgent.is_empty() {
            self.urgent.retain(|end| end.after(una));
        }
    }

    /// Octets from a number to the next end of urgent data: no segment goes beyond it, so that each has
    /// one to point to.
    #[inline]
    pub(super) fn up_to_urgent_end(&self, seq: Seq) -> u32 {
        let ahead = self.urgent.iter().filter(|end| end.after(seq)).map(|end| *end - seq);
        ahead.min().unwrap_or(u32::MAX)
    }

    /// Has a header point to the urgent data ahead of it, once that is near enough for the field.
    pub(super) fn write_urgent_pointer(&self, tcp: &mut Tcp) {
        if let Ok(pointer) = u16::try_from(self.up_to_urgent_end(tcp.seq)) {
            tcp.flags = tcp.flags.with(TcpFlags::URG);
            tcp.urgent_pointer = pointer;
        }
    }
}
