//! One outstanding segment.

use lasthop_packet::{Instant, Seq};

use super::rate::Stamp;

/// A run of octets that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    /// Its first sequence number.
    pub seq: Seq,
    /// Behind its last one.
    pub end: Seq,
    /// When it left last.
    pub sent: Instant,
    /// When it left first.
    pub first_sent: Instant,
    /// The receiver has reported it (RFC 2018).
    pub is_sacked: bool,
    /// It counts as lost, or did when it was sent again.
    pub is_lost: bool,
    /// The timestamp with which it left last (RFC 7323).
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

    /// How many octets it has; SYN and FIN count for one each.
    #[inline]
    pub fn octets(&self) -> u32 {
        self.end - self.seq
    }

    /// How many of its octets are lost without a retransmission in the network: all or none.
    pub(super) fn due_octets(&self) -> u32 {
        if self.is_lost && !self.is_again { self.octets() } else { 0 }
    }
}
