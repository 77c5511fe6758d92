//! Transmissions: first or repeated.

use lasthop_packet::{Instant, Seq};

use super::transmission::NONE;
use super::{Range, Scoreboard, State};

/// The kind of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// New data with a cached copy.
    New,
    /// New data without a cached copy: the sender repairs it.
    NotKept,
    /// Data that may have been sent before: a retransmission by the sender.
    Again,
}

impl Scoreboard {
    /// Records the first known transmission of `[seq, end)`. Ignored if it overlaps a known range.
    pub fn transmit(&mut self, seq: Seq, end: Seq, now: Instant, what: Departure) {
        let at = self.ranges.first_ending_after(seq);
        if !end.after(seq) || self.ranges.get(at).is_some_and(|next| next.seq.before(end)) {
            return;
        }
        let serial = self.log_transmission(seq, end);
        let range = Range {
            seq,
            end,
            state: State::InFlight,
            copies: 0,
            by_sender: what != Departure::New,
            probed: false,
            ambiguous: what == Departure::Again,
            serial,
            proves: serial,
            sent: now,
            missing_since: None,
        };
        self.in_flight += range.octets();
        self.unsacked += range.octets();
        if at == self.ranges.len() {
            self.ranges.push_back(range);
        } else {
            self.ranges.insert(at, range);
        }
    }

    /// Records a retransmission of `[seq, end)` by the sender: its known ranges are in flight
    /// again. Returns whether there were any. `max_ranges` is the maximum number of ranges.
    pub fn retransmitted_by_sender(&mut self, seq: Seq, end: Seq, now: Instant, max_ranges: usize) -> bool {
        let mut at = self.ranges.first_ending_after(seq);
        let mut found = false;
        while let Some(range) = self.ranges.get(at).copied().filter(|range| range.seq.before(end)) {
            if range.seq.before(seq) && self.ranges.len() < max_ranges {
                self.ranges.split(at, seq);
                at += 1;
                continue;
            }
            if range.end.after(end) && self.ranges.len() < max_ranges {
                self.ranges.split(at, end);
            }
            found = true;
            if range.state == State::Sacked {
                self.unsack(at);
            } else {
                self.send_again(at, now);
            }
            let range = &mut self.ranges[at];
            (range.by_sender, range.copies, range.missing_since) = (true, 0, None);
            at += 1;
        }
        self.forget_copies(seq, end);
        found
    }

    /// Forgets copies in `[seq, end)`, which the sender retransmitted: a report of duplicates there
    /// may pass.
    pub fn forget_copies(&mut self, seq: Seq, end: Seq) {
        self.copies.forget(seq, end);
    }

    /// Records a copy of the lost range at `seq`, a new transmission.
    pub fn repaired(&mut self, seq: Seq, now: Instant) {
        let at = self.ranges.first_ending_after(seq);
        let Some(range) = self.ranges.get(at).copied() else { return };
        self.send_again(at, now);
        let range = Range { copies: range.copies + 1, probed: false, ..self.ranges[at] };
        self.ranges[at] = range;
        self.copies.remember(range.seq, range.end, true);
    }

    /// Excludes all ranges from round-trip measurements: acknowledgments may have passed unseen,
    /// and their data may have arrived long before.
    pub fn mark_times_ambiguous(&mut self) {
        for range in self.ranges.iter_mut() {
            range.ambiguous = true;
        }
    }

    /// Records a copy of `[seq, end)` that the timer sent while the original may be in flight: the
    /// ranges keep the serial numbers of the original.
    pub fn probed(&mut self, seq: Seq, end: Seq, now: Instant) {
        let mut at = self.ranges.first_ending_after(seq);
        while let Some(range) = self.ranges.get_mut(at).filter(|range| range.seq.before(end)) {
            (range.probed, range.ambiguous) = (true, true);
            range.missing_since.get_or_insert(now);
            at += 1;
        }
        self.copies.remember(seq, end, false);
    }

    fn send_again(&mut self, at: usize, now: Instant) {
        let range = self.ranges[at];
        match range.state {
            State::InFlight => self.in_flight -= range.octets(),
            State::Sacked => self.unsacked += range.octets(),
            State::Lost => {}
        }
        let serial = self.log_transmission(range.seq, range.end);
        let proves = if range.state == State::Lost { serial } else { range.proves };
        self.in_flight += range.octets();
        self.ranges[at] = Range {
            state: State::InFlight,
            ambiguous: true,
            probed: false,
            serial,
            proves,
            sent: now,
            ..range
        };
    }

    /// Marks a range in flight that the receiver has, or had and discarded, and that the sender
    /// retransmitted. A repeated block proves neither this nor another transmission: so it gets no
    /// serial number, and is left to the timer.
    fn unsack(&mut self, at: usize) {
        let range = &mut self.ranges[at];
        (range.state, range.ambiguous, range.probed) = (State::InFlight, true, false);
        (range.serial, range.proves) = (NONE, NONE);
        let octets = range.octets();
        self.in_flight += octets;
        self.unsacked += octets;
    }

    /// Adds a transmission to the log. Returns its serial number.
    fn log_transmission(&mut self, seq: Seq, end: Seq) -> u64 {
        self.trim_log();
        self.log.push(seq, end)
    }
}
