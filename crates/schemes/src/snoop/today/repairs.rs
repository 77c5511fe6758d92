//! Local retransmissions: repairs of lost data, and probes by the timer.

use lasthop_agent::Context;
use lasthop_agent::report::Cause;
use lasthop_packet::{Instant, Packet, Seq};

use super::Today;
use super::scoreboard::{Range, State};
use crate::snoop::flow::SnoopFlow;
use crate::snoop::segmentation::{cut, send_copy};
use crate::snoop::settings::Settings;

impl SnoopFlow<Today> {
    /// Sends copies of all lost data that can be repaired.
    pub(super) fn repair_losses(&mut self, settings: &Settings, cause: Cause, cx: &mut Context<'_>) {
        while let Some(copy) = self.next_repair(settings, cx.now()) {
            send_copy(copy, cause, cx);
        }
    }

    /// Ends the reordering window: its overtaken segments count as lost.
    pub(super) fn end_reordering_window(&mut self, now: Instant) {
        self.timing_since = now;
        self.recovery.scoreboard.end_reordering_window();
        if let Some(first) = self.recovery.scoreboard.first_by_duplicates().copied() {
            self.lose_one_segment(first, now);
        }
    }

    /// Marks only the first segment of a range as lost: the rest of a super-packet may have
    /// arrived.
    pub(super) fn lose_one_segment(&mut self, range: Range, now: Instant) {
        let max_ranges = self.ranges_allowed();
        let scoreboard = &mut self.recovery.scoreboard;
        let end = range.end.earlier(range.seq + scoreboard.segment());
        scoreboard.split_at(end, max_ranges);
        scoreboard.mark_lost(range.seq, now);
    }

    /// The next copy of a lost range; `None` if all are repaired or cannot be.
    fn next_repair(&mut self, settings: &Settings, now: Instant) -> Option<Packet> {
        loop {
            let range = self.recovery.scoreboard.next_lost(now)?;
            let max_ranges = self.ranges_allowed();
            let scoreboard = &mut self.recovery.scoreboard;
            if range.copies >= settings.local_retransmissions {
                continue;
            }
            let Some(cached) = self.cache.covering(range.seq) else { continue };
            // A range spans packets only if a receiver has discarded data that it had SACKed.
            let end = range.end.earlier(cached.end);
            if !scoreboard.split_at(end, max_ranges) {
                continue;
            }
            scoreboard.repaired(range.seq, now);
            return self.copy(range.seq, end);
        }
    }

    /// The timer's probes: the first missing segment, and the last, whose SACK reports all in
    /// between.
    pub(super) fn probe(&mut self, settings: &Settings, now: Instant) -> [Option<Packet>; 2] {
        if self.expiries == 0 {
            self.recovery.copied = self.highest_tsval.filter(|_| self.monotone_timestamps);
        }
        self.expiries = self.expiries.saturating_add(1);
        self.timing_since = now;
        self.rtt.back_off();
        // Probes of a closed window are left to the sender.
        let is_closed = self.last_ack.is_some() && self.window == 0;
        if self.expiries > settings.local_retransmissions || is_closed {
            return [None, None];
        }
        let scoreboard = &mut self.recovery.scoreboard;
        let missing = |range: &&Range| range.state == State::InFlight;
        let segment = scoreboard.segment();
        let Some(first) = scoreboard.ranges().find(missing) else { return [None, None] };
        let front = (first.seq, first.end.earlier(first.seq + segment));
        let back = scoreboard.ranges().rev().find(missing).filter(|_| scoreboard.sack_seen).map(|last| {
            let tail = (last.end - last.seq).min(segment);
            (Seq(last.end.0.wrapping_sub(tail)), last.end)
        });
        let back = back.filter(|(seq, _)| !seq.before(front.1));
        [Some(front), back].map(|piece| {
            let (seq, end) = piece?;
            // Data that is not cached cannot be retransmitted, so no duplicate ACK of it may be
            // expected.
            let copy = self.copy(seq, end)?;
            let max_ranges = self.ranges_allowed();
            let scoreboard = &mut self.recovery.scoreboard;
            scoreboard.split_at(seq, max_ranges);
            scoreboard.split_at(end, max_ranges);
            scoreboard.probed(seq, end, now);
            scoreboard.expected += u32::from(!scoreboard.sack_seen);
            Some(copy)
        })
    }

    /// A copy of `[seq, end)` from the cache.
    fn copy(&self, seq: Seq, end: Seq) -> Option<Packet> {
        let cached = self.cache.covering(seq)?;
        let end = end.earlier(cached.end);
        let mut copy = cached.packet.clone();
        if seq != cached.seq || end != cached.end {
            cut(&mut copy, seq, end, cached.end);
        }
        self.stamp(&mut copy);
        Some(copy)
    }
}
