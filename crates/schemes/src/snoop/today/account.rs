//! What another scheme's agent that works on Snoop's cache may ask of a connection.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::Today;
use super::scoreboard::State;
use crate::snoop::flow::SnoopFlow;

/// Nothing has been acknowledged since the local timer expired.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    /// How often it expired.
    pub expiries: u32,
    /// When it expired last.
    pub since: Instant,
}

impl SnoopFlow<Today> {
    /// Whether all of `[seq, end)` that is not acknowledged is here, cached or waiting.
    pub fn keeps(&self, seq: Seq, end: Seq) -> bool {
        let mut at = self.last_ack.map_or(seq, |ack| ack.later(seq));
        while at.before(end) {
            let cached = self.cache.covering(at).map(|cached| cached.end);
            let Some(behind) = cached.or_else(|| self.held_behind(at)) else { return false };
            at = behind;
        }
        self.last_ack.is_none_or(|ack| end.after(ack))
    }

    /// Where the packet that waits with the octet `at` ends.
    fn held_behind(&self, at: Seq) -> Option<Seq> {
        self.waiting.packets().iter().find_map(|packet| {
            let seq = packet.tcp()?.seq;
            let end = seq + packet.segment_len();
            at.within(seq, end).then_some(end)
        })
    }

    /// Whether the receiver takes nothing: then only the sender asks for its window.
    pub const fn is_closed(&self) -> bool {
        self.window == 0 && self.last_ack.is_some()
    }

    /// The highest acknowledgment number from the receiver.
    pub const fn acknowledged(&self) -> Option<Seq> {
        self.last_ack
    }

    /// The number behind all that came from the core side.
    pub const fn arrived(&self) -> Seq {
        self.arrived
    }

    /// When `seq` last left for the receiver, and whether it left more than once; a copy of the
    /// timer's left when that expired, or a little earlier.
    pub fn last_departure(&self, seq: Seq) -> Option<(Instant, bool)> {
        let scoreboard = &self.recovery.scoreboard;
        let (sent, is_again) = scoreboard.last_departure(seq)?;
        Some(if scoreboard.is_probed(seq) { (self.timing_since.max(sent), true) } else { (sent, is_again) })
    }

    /// The least round-trip time over the hop that was measured.
    pub fn least_round_trip(&self) -> Duration {
        self.rtt.least()
    }

    /// Whether the hop was seen to reorder.
    pub fn is_reordering(&self) -> bool {
        self.recovery.scoreboard.is_reordering()
    }

    /// Whether what is at `seq` was copied as often as it may be, and is lost all the same.
    pub fn has_given_up(&self, seq: Seq, local_retransmissions: u32) -> bool {
        let range = self.recovery.scoreboard.range_at(seq);
        range.is_some_and(|range| range.state == State::Lost && range.copies >= local_retransmissions)
    }

    /// The receiver's silence, if its ACKs are overdue.
    pub fn silence(&self) -> Option<Silence> {
        (self.expiries > 0).then_some(Silence { expiries: self.expiries, since: self.timing_since })
    }
}
