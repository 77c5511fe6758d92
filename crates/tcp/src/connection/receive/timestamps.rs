//! The peer's timestamps (RFC 7323).

use lasthop_packet::Seq;

use super::ReceiveSide;

impl ReceiveSide {
    /// What to echo: 0 before the peer has sent a timestamp.
    pub(in crate::connection) fn ts_recent(&self) -> u32 {
        self.ts_recent.unwrap_or(0)
    }

    /// The latest one, if the peer sends any.
    pub(in crate::connection) const fn peer_timestamp(&self) -> Option<u32> {
        self.ts_recent
    }

    /// The number up to which we have acknowledged: Last.ACK.sent.
    pub(in crate::connection) const fn next_to_acknowledge(&self) -> Seq {
        self.last_ack_sent
    }

    /// Remembers the peer's timestamp.
    ///
    //= RFC 7323, section 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then SEG.TSval is copied to TS.Recent".
    pub(in crate::connection) const fn note_timestamp(&mut self, value: u32, seq: Seq) {
        if !self.is_old_timestamp(value) && !seq.after(self.last_ack_sent) {
            self.ts_recent = Some(value);
        }
    }

    /// Whether the timestamp is older than what was seen (PAWS; RFC 7323, section 5.3).
    pub(in crate::connection) const fn is_old_timestamp(&self, value: u32) -> bool {
        match self.ts_recent {
            Some(recent) => value.wrapping_sub(recent).cast_signed() < 0,
            None => false,
        }
    }
}
