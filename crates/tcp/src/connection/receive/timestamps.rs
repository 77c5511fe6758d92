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

    /// Remembers a timestamp, wherever its segment lies, unless it is old.
    pub(in crate::connection) const fn note_later_timestamp(&mut self, value: u32) {
        if !self.is_old_timestamp(value) {
            self.ts_recent = Some(value);
        }
    }

    /// Remembers the peer's timestamp.
    ///
    //= RFC 7323, section 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then SEG.TSval is copied to TS.Recent".
    pub(in crate::connection) const fn note_timestamp(&mut self, value: u32, seq: Seq) {
        if !seq.after(self.last_ack_sent) {
            self.note_later_timestamp(value);
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
