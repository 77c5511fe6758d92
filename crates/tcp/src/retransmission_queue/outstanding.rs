//! One outstanding segment.

use lasthop_packet::{Instant, Seq};

use super::rate::Stamp;

/// A contiguous range of octets that was sent and is unacknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    /// Its first sequence number.
    pub seq: Seq,
    /// The sequence number after its last one.
    pub end: Seq,
    /// When it was last sent.
    pub sent: Instant,
    /// When it was first sent.
    pub first_sent: Instant,
    /// The receiver has reported it (RFC 2018).
    pub is_sacked: bool,
    /// It is marked as lost, or was when it was retransmitted.
    pub is_lost: bool,
    /// The timestamp with which it was last sent (RFC 7323).
    pub(super) timestamp: u32,
    /// A retransmission of it is in the network.
    pub is_again: bool,
    /// It was sent more than once.
    pub was_sent_again: bool,
    pub(super) stamp: Stamp,
}

impl Outstanding {
    pub(super) const fn new(seq: Seq, end: Seq, (sent, timestamp): (Instant, u32), stamp: Stamp) -> Self {
        Self {
            seq,
            end,
            sent,
            first_sent: sent,
            timestamp,
            is_sacked: false,
            is_lost: false,
            is_again: false,
            was_sent_again: false,
            stamp,
        }
    }

    /// Its length in octets; SYN and FIN count as one each.
    #[inline]
    pub fn octets(&self) -> u32 {
        self.end - self.seq
    }

    /// Octets that are lost and have no retransmission in the network: all or none.
    pub(super) fn due_octets(&self) -> u32 {
        if self.is_lost && !self.is_again { self.octets() } else { 0 }
    }
}
