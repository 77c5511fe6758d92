//! What one ACK says about single segments.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

/// What the last ACK delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Octets that the acknowledgment number newly covers and that were not reported before.
    pub acked: u32,
    /// Octets that are newly reported.
    pub sacked: u32,
    /// The delivered segment that was sent last.
    pub newest: Option<Newest>,
    /// When the first segment delivered left that was sent once: the time since then includes what
    /// the receiver waited for before it acknowledged.
    pub first_sent: Option<Instant>,
    /// The same of the last one: the time since then does not.
    pub last_sent: Option<Instant>,
    /// When the last of the segments delivered left first that were sent more than once, and whose ACK
    /// is for what left before the last copy, or came before any round trip was measured.
    pub copied_since: Option<Instant>,
    /// Behind the first segment delivered that was sent once.
    pub first_original: Option<Seq>,
    /// The timestamp that the ACK echoes.
    pub echo: Option<Echoed>,
    /// What the receiver got a second time (RFC 2883).
    pub duplicate: Option<(Seq, Seq)>,
    /// A segment that was sent once came later than one that was sent after it.
    pub is_reordered: bool,
}

/// A timestamp that an ACK echoes (RFC 7323): that of the segment because of which it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echoed {
    /// What it says.
    pub value: u32,
    /// When that segment left, in whole milliseconds, where timestamps give the time.
    pub sent: Option<Instant>,
}

impl Echoed {
    /// Whether that segment left before those with this timestamp did.
    #[inline]
    pub const fn is_before(self, timestamp: u32) -> bool {
        self.value.wrapping_sub(timestamp).cast_signed() < 0
    }
}

/// The segment delivered that was sent last (`RACK.segment` of RFC 8985).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// When it left last.
    pub sent: Instant,
    /// Behind its last octet.
    pub end: Seq,
    /// The time from sending to the ACK of what was delivered last, be it this segment or an older
    /// one (`RACK.rtt`).
    pub rtt: Duration,
}

impl Newest {
    /// Whether this left after what left at `sent` and ends at `end`: of two segments of one
    /// instant the one with the higher number did (RFC 8985, section 6.2, step 2).
    #[inline]
    pub fn is_after(&self, sent: Instant, end: Seq) -> bool {
        self.sent > sent || (self.sent == sent && self.end.after(end))
    }

    /// What it becomes with what is delivered next.
    ///
    //= RFC 8985, section 6.2, step 2: RACK.rtt is updated with each segment delivered, the rest if it was sent after RACK.segment.
    #[inline]
    #[must_use]
    pub fn followed_by(self, next: Self) -> Self {
        if self.is_after(next.sent, next.end) { Self { rtt: next.rtt, ..self } } else { next }
    }
}

impl Delivery {
    /// Octets delivered (`DeliveredData` of RFC 9937).
    #[inline]
    pub const fn octets(&self) -> u32 {
        self.acked + self.sacked
    }
}
