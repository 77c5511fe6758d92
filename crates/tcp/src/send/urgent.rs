//! The ends of urgent data in the stream sent (RFC 9293, section 3.8.5; RFC 6093), for an owner that
//! forwards a stream.
//!
//! As in all implementations, the urgent pointer is the number of the octet after the last urgent one (RFC
//! 6093, section 3.1).

use lasthop_packet::{Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

/// Maximum number of ends of urgent data. A further one replaces the last: RFC 9293 has one urgent pointer
/// at a time.
const MAX_MARKS: usize = 8;

/// The ends of unacknowledged urgent data: at most [`MAX_MARKS`], without duplicates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct UrgentMarks(Vec<Seq>);

impl UrgentMarks {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a connection can have these.
    pub(super) const fn is_sound(&self) -> bool {
        self.0.len() <= MAX_MARKS
    }

    /// The number of ends that memory is allocated for.
    pub(super) const fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Urgent data ends before this number.
    pub(super) fn add(&mut self, end: Seq) {
        if !self.0.contains(&end) {
            self.0.truncate(MAX_MARKS - 1);
            self.0.push(end);
        }
    }

    /// Removes the ends of acknowledged urgent data.
    #[inline]
    pub(super) fn forget_before(&mut self, una: Seq) {
        if !self.0.is_empty() {
            self.0.retain(|end| end.after(una));
        }
    }

    /// Octets from a number to the next end of urgent data. No segment extends beyond an end, so that each
    /// segment can point to one.
    #[inline]
    pub(super) fn distance_from(&self, seq: Seq) -> u32 {
        let ahead = self.0.iter().filter(|end| end.after(seq)).map(|end| *end - seq);
        ahead.min().unwrap_or(u32::MAX)
    }

    /// Writes the urgent pointer of a header, if the next end is near enough for the field.
    pub(crate) fn write_pointer(&self, tcp: &mut Tcp) {
        if let Ok(pointer) = u16::try_from(self.distance_from(tcp.seq)) {
            tcp.flags = tcp.flags.with(TcpFlags::URG);
            tcp.urgent_pointer = pointer;
        }
    }
}
