//! Acknowledgments: the delivered data, and what that proves.

use std::mem;
use std::time::Duration;

use lasthop_hop::last_hop::Progress;
use lasthop_packet::{Instant, Seq};

use super::{Range, Scoreboard, State};

impl Scoreboard {
    /// Processes a cumulative acknowledgment and SACK blocks above it. `hop` is the minimum
    /// round-trip time known: data that is acknowledged sooner after its copy was sent was not
    /// lost. `max_ranges` is the maximum number of ranges.
    pub fn acknowledge(
        &mut self,
        ack: Seq,
        blocks: &[(Seq, Seq)],
        now: Instant,
        hop: Duration,
        max_ranges: usize,
    ) -> Progress {
        let mut progress = Progress { lost: mem::take(&mut self.lost), ..Progress::default() };
        let mut fills_hole = false;
        while let Some(front) = self.ranges.front().copied().filter(|front| front.seq.before(ack)) {
            let reaches_further = front.end.after(ack);
            let range = if reaches_further { self.ranges.cut_front(ack) } else { self.ranges.pop_front() };
            let Some(range) = range else { break };
            if range.state != State::Sacked {
                fills_hole |= range.ambiguous;
                self.deliver(&range, now, hop, &mut progress);
            }
        }
        if fills_hole {
            // Data above the hole may have arrived long ago, and the ACK of it was lost.
            progress.sent = None;
        }
        for (left, right) in blocks {
            if left.after(ack) && right.after(*left) {
                self.sack(*left, *right, now, hop, max_ranges, &mut progress);
            }
        }
        self.shrink();
        progress
    }

    /// Whether `[left, right)` was delivered twice because of a copy by the agent.
    pub fn is_our_copy(&self, left: Seq, right: Seq) -> bool {
        self.copies.of(left, right).is_some()
    }

    /// Records that `[left, right)` was delivered twice: a repair that was judged as needed was
    /// needless. Returns whether it was a copy by the timer instead.
    pub fn delivered_twice(&mut self, left: Seq, right: Seq) -> bool {
        let called_for = self.copies.of(left, right);
        if called_for == Some(true) {
            self.tolerance.judge_again();
        }
        called_for == Some(false)
    }

    fn sack(
        &mut self,
        left: Seq,
        right: Seq,
        now: Instant,
        hop: Duration,
        max_ranges: usize,
        progress: &mut Progress,
    ) {
        let mut at = self.ranges.first_ending_after(left);
        while let Some(range) = self.ranges.get(at).copied().filter(|range| range.seq.before(right)) {
            if range.state != State::Sacked {
                // At the maximum number of ranges, a partly covered range does not count as
                // delivered.
                let cut = range.seq.before(left) || range.end.after(right);
                if cut && self.ranges.len() >= max_ranges {
                    at += 1;
                    continue;
                }
                if range.seq.before(left) {
                    self.ranges.split(at, left);
                    at += 1;
                    continue;
                }
                if range.end.after(right) {
                    self.ranges.split(at, right);
                }
                let range = self.ranges[at];
                self.deliver(&range, now, hop, progress);
                self.ranges[at].state = State::Sacked;
                at = self.ranges.merge(at);
            }
            at += 1;
        }
    }

    /// Accounts for a range that was delivered.
    fn deliver(&mut self, range: &Range, now: Instant, hop: Duration, progress: &mut Progress) {
        if range.state == State::InFlight {
            self.in_flight -= range.octets();
        }
        self.unsacked -= range.octets();
        progress.delivered += range.octets();
        if range.copies > 0 && now.since(range.sent) < hop / 8 * 7 {
            // The time is too short for the copy: the original arrived late. Its serial number is
            // unknown by now.
            self.tolerance.judge(true);
            return;
        }
        if range.copies > 0 {
            self.tolerance.judge(false);
        }
        self.proved = self.proved.max(range.proves_end());
        if range.probed {
            self.proved_for_certain = self.proved_for_certain.max(range.proves);
        }
        if !range.ambiguous {
            progress.sent = progress.sent.max(Some(range.sent));
        }
    }
}
