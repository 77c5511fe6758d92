//! The segments that an ACK delivers.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

/// The effect of the last ACK on the outstanding segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Octets newly acknowledged, and not reported before.
    pub acked: u32,
    /// Octets newly reported.
    pub sacked: u32,
    /// The delivered segment that was sent last.
    pub newest: Option<Newest>,
    /// When the first delivered segment that was sent only once was sent: the time since then includes
    /// the delay of the receiver's ACK.
    pub first_sent: Option<Instant>,
    /// The same for the last one: the time since then does not include it.
    pub last_sent: Option<Instant>,
    /// When the last delivered segment that was sent more than once was first sent, if its ACK is for an
    /// earlier transmission than the last one, or no round trip was measured before.
    pub copied_since: Option<Instant>,
    /// The end of the first delivered segment that was sent only once.
    pub first_original: Option<Seq>,
    /// The timestamp echoed by the ACK.
    pub echo: Option<Echoed>,
    /// The range that the receiver got twice (RFC 2883).
    pub duplicate: Option<(Seq, Seq)>,
    /// A segment that was sent only once arrived after one that was sent later.
    pub is_reordered: bool,
}

/// An echoed timestamp (RFC 7323): that of the segment that triggered the ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echoed {
    /// Its value.
    pub value: u32,
    /// When that segment was sent, in whole milliseconds, if timestamps give the time.
    pub sent: Option<Instant>,
}

impl Echoed {
    /// Whether that segment was sent before those with this timestamp.
    #[inline]
    pub const fn is_before(self, timestamp: u32) -> bool {
        self.value.wrapping_sub(timestamp).cast_signed() < 0
    }
}

/// The segment delivered that was sent last (`RACK.segment` of RFC 8985).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// When it was last sent.
    pub sent: Instant,
    /// The sequence number after its last one.
    pub end: Seq,
    /// The round-trip time of the segment delivered last, which may be an older one (`RACK.rtt`).
    pub rtt: Duration,
}

impl Newest {
    /// Whether this was sent after the segment that was sent at `sent` and ends at `end`; of two segments
    /// of one instant, the one with the higher number was (RFC 8985, section 6.2, step 2).
    #[inline]
    pub fn is_after(&self, sent: Instant, end: Seq) -> bool {
        self.sent > sent || (self.sent == sent && self.end.after(end))
    }

    /// The newest segment after the next delivery.
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
