//! Queries on a connection, for another scheme's agent that works on Snoop's cache.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::Today;
use super::scoreboard::State;
use crate::snoop::flow::SnoopFlow;

/// A silence of the receiver: no acknowledgment since the local timer expired.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    /// The number of expiries.
    pub expiries: u32,
    /// The time of the last expiry.
    pub since: Instant,
}

impl SnoopFlow<Today> {
    /// Whether all unacknowledged octets of `[seq, end)` are cached or waiting here.
    pub fn keeps(&self, seq: Seq, end: Seq) -> bool {
        let mut at = self.last_ack.map_or(seq, |ack| ack.later(seq));
        while at.before(end) {
            let cached = self.cache.covering(at).map(|cached| cached.end);
            let Some(reached) = cached.or_else(|| self.waiting_end(at)) else { return false };
            at = reached;
        }
        self.last_ack.is_none_or(|ack| end.after(ack))
    }

    /// The end of the waiting packet that contains the octet `at`.
    fn waiting_end(&self, at: Seq) -> Option<Seq> {
        self.waiting.packets().iter().find_map(|packet| {
            let seq = packet.tcp()?.seq;
            let end = seq + packet.segment_len();
            at.within(seq, end).then_some(end)
        })
    }

    /// Whether the receiver's window is zero: then only the sender probes it.
    pub const fn is_closed(&self) -> bool {
        self.window == 0 && self.last_ack.is_some()
    }

    /// The highest acknowledgment number from the receiver.
    pub const fn acknowledged(&self) -> Option<Seq> {
        self.last_ack
    }

    /// The end of all data that came from the core side.
    pub const fn arrived(&self) -> Seq {
        self.arrived
    }

    /// When `seq` was last sent to the receiver, and whether it was sent more than once; a copy by
    /// the timer was sent when it expired, or a little earlier.
    pub fn last_departure(&self, seq: Seq) -> Option<(Instant, bool)> {
        let scoreboard = &self.recovery.scoreboard;
        let (sent, is_again) = scoreboard.last_departure(seq)?;
        Some(if scoreboard.is_probed(seq) { (self.timing_since.max(sent), true) } else { (sent, is_again) })
    }

    /// The minimum round-trip time over the hop measured so far.
    pub fn min_round_trip(&self) -> Duration {
        self.rtt.min()
    }

    /// Whether the hop reorders, as far as is known.
    pub fn is_reordering(&self) -> bool {
        self.recovery.scoreboard.is_reordering()
    }

    /// Whether the range at `seq` is lost although it was retransmitted as often as allowed.
    pub fn has_given_up(&self, seq: Seq, local_retransmissions: u32) -> bool {
        let range = self.recovery.scoreboard.range_at(seq);
        range.is_some_and(|range| range.state == State::Lost && range.copies >= local_retransmissions)
    }

    /// The receiver's silence, if its ACKs are overdue.
    pub fn silence(&self) -> Option<Silence> {
        (self.expiries > 0).then_some(Silence { expiries: self.expiries, since: self.timing_since })
    }
}
