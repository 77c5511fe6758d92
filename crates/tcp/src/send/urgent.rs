//! Where urgent data ends in what is sent (RFC 9293, section 3.8.5; RFC 6093), for an owner that passes
//! a stream on.
//!
//! The urgent pointer is taken as every implementation has it: it names the octet behind the last urgent
//! one (RFC 6093, section 3.1).

use lasthop_packet::{Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

/// Ends of urgent data that are remembered at a time. A later one takes the place of the last: RFC 9293
/// has one urgent pointer at a time.
const MOST: usize = 8;

/// The numbers behind the urgent data that is to be sent, or was sent and is not acknowledged. There are at
/// most [`MOST`], and no two are the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct UrgentMarks(Vec<Seq>);

impl UrgentMarks {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a connection can have these, and not only a file.
    pub(super) const fn is_sound(&self) -> bool {
        self.0.len() <= MOST
    }

    /// For how many ends there is memory.
    pub(super) const fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Urgent data ends before this number.
    pub(super) fn add(&mut self, end: Seq) {
        if !self.0.contains(&end) {
            self.0.truncate(MOST - 1);
            self.0.push(end);
        }
    }

    /// Forgets urgent data that ended before this number, because it was acknowledged.
    #[inline]
    pub(super) fn forget_before(&mut self, una: Seq) {
        if !self.0.is_empty() {
            self.0.retain(|end| end.after(una));
        }
    }

    /// Octets from a number to the next end of urgent data: no segment extends beyond it, so that each has
    /// one to point to.
    #[inline]
    pub(super) fn distance_from(&self, seq: Seq) -> u32 {
        let ahead = self.0.iter().filter(|end| end.after(seq)).map(|end| *end - seq);
        ahead.min().unwrap_or(u32::MAX)
    }

    /// Has a header point to the urgent data ahead of it, once that is near enough for the field.
    pub(crate) fn write_pointer(&self, tcp: &mut Tcp) {
        if let Ok(pointer) = u16::try_from(self.distance_from(tcp.seq)) {
            tcp.flags = tcp.flags.with(TcpFlags::URG);
            tcp.urgent_pointer = pointer;
        }
    }
}
