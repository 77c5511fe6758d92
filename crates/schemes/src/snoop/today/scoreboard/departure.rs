//! What leaves: for the first time, or again.

use lasthop_packet::{Instant, Seq};

use super::transmission::NONE;
use super::{Range, Scoreboard, State};

/// What leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// New data, of which there is a copy here.
    New,
    /// New data of which there is none: the sender repairs it.
    NotKept,
    /// What may have left before: the sender sent it again.
    Again,
}

impl Scoreboard {
    /// Notes that `[seq, end)` leaves, as far as is known for the first time. Only what overlaps
    /// nothing that is here is taken in.
    pub fn transmit(&mut self, seq: Seq, end: Seq, now: Instant, what: Departure) {
        let at = self.ranges.first_behind(seq);
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

    /// Notes that the sender sent `[seq, end)` again and it passed: what is here of it is in flight
    /// anew. Whether there was any. `splits` is how many more ranges there may be.
    pub fn retransmitted_by_sender(&mut self, seq: Seq, end: Seq, now: Instant, splits: usize) -> bool {
        let mut at = self.ranges.first_behind(seq);
        let mut found = false;
        while let Some(range) = self.ranges.get(at).copied().filter(|range| range.seq.before(end)) {
            if range.seq.before(seq) && self.ranges.len() < splits {
                self.ranges.split(at, seq);
                at += 1;
                continue;
            }
            if range.end.after(end) && self.ranges.len() < splits {
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

    /// The sender sent `[seq, end)` again: if it arrives twice, that may be told.
    pub fn forget_copies(&mut self, seq: Seq, end: Seq) {
        self.copies.forget(seq, end);
    }

    /// Notes a copy of the range at `seq` that takes the place of what is lost.
    pub fn repaired(&mut self, seq: Seq, now: Instant) {
        let at = self.ranges.first_behind(seq);
        let Some(range) = self.ranges.get(at).copied() else { return };
        self.send_again(at, now);
        let range = Range { copies: range.copies + 1, probed: false, ..self.ranges[at] };
        self.ranges[at] = range;
        self.copies.remember(range.seq, range.end, true);
    }

    /// Acknowledgments may have passed unseen: what they come for now may have arrived long before.
    pub fn mark_times_ambiguous(&mut self) {
        for range in self.ranges.iter_mut() {
            range.ambiguous = true;
        }
    }

    /// Notes a copy of `[seq, end)` that a timer sent, of what may still be on its way: it has the
    /// place of the original.
    pub fn probed(&mut self, seq: Seq, end: Seq, now: Instant) {
        let mut at = self.ranges.first_behind(seq);
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

    /// The sender sent again what the receiver has, or had and has forgotten. A block that is said
    /// again proves nothing of this transmission, nor of any other: so it gets no serial number,
    /// and the timer looks after it.
    fn unsack(&mut self, at: usize) {
        let range = &mut self.ranges[at];
        (range.state, range.ambiguous, range.probed) = (State::InFlight, true, false);
        (range.serial, range.proves) = (NONE, NONE);
        let octets = range.octets();
        self.in_flight += octets;
        self.unsacked += octets;
    }

    /// Puts a transmission into the log; its serial number.
    fn log_transmission(&mut self, seq: Seq, end: Seq) -> u64 {
        self.trim_log();
        self.log.push(seq, end)
    }
}
