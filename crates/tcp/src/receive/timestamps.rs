//! The peer's timestamps (RFC 7323).

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::ReceiveSide;

/// How long TS.Recent is valid for PAWS. The sign of a microsecond clock wraps in 36 minutes (Linux
/// `TCP_PAWS_WRAP`); RFC 7323, section 5.5, has 24 days for the slowest clock.
const LASTS: Duration = Duration::from_secs(2147);

impl ReceiveSide {
    /// The timestamp to echo; 0 before the first one.
    pub(crate) fn ts_recent(&self) -> u32 {
        self.ts_recent.unwrap_or(0)
    }

    /// TS.Recent, if the peer sends timestamps.
    pub(crate) const fn peer_timestamp(&self) -> Option<u32> {
        self.ts_recent
    }

    /// Records a timestamp unless it is old, whatever the sequence number of its segment.
    pub(crate) fn record_later_timestamp(&mut self, value: u32, now: Instant) {
        if !self.is_old_timestamp(value, now) {
            (self.ts_recent, self.ts_recent_at) = (Some(value), Some(now));
        }
    }

    /// Records the peer's timestamp.
    ///
    //= RFC 7323, section 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then SEG.TSval is copied to TS.Recent".
    pub(crate) fn record_timestamp(&mut self, value: u32, seq: Seq, now: Instant) {
        if !seq.after(self.last_ack_sent) {
            self.record_later_timestamp(value, now);
        }
    }

    /// Whether the timestamp is older than TS.Recent (PAWS; RFC 7323, section 5.3).
    //= RFC 7323, section 5.5: after a long idle time TS.Recent is invalid, and any segment passes.
    pub(crate) fn is_old_timestamp(&self, value: u32, now: Instant) -> bool {
        self.ts_recent.is_some_and(|recent| value.wrapping_sub(recent).cast_signed() < 0)
            && self.ts_recent_at.is_some_and(|at| now.since(at) < LASTS)
    }
}
