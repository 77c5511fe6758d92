//! When an ACK is owed, and what it says of gaps and duplicates.

use std::time::Duration;

use lasthop_packet::{Instant, SackBlocks, Seq};

use super::ReceiveSide;
use super::arrival::Arrival;
use crate::config::AckPolicy;

/// Of so many blocks the sender is expected to learn, although ACKs get lost
/// (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

impl ReceiveSide {
    #[inline]
    pub(super) fn owe_ack(&mut self, now: Instant) -> Option<Instant> {
        self.unacknowledged_segments += 1;
        match self.policy.longest_delay() {
            Some(delay) if self.unacknowledged_segments < self.policy.segments_an_ack(self.segments) => {
                Some(now + delay)
            }
            _ => {
                self.ack_now = true;
                None
            }
        }
    }

    /// The same where more is to be learned from what has arrived in order.
    pub(super) fn owe_ack_adaptively(&mut self, arrival: &Arrival<'_>) -> Option<Instant> {
        self.learn(arrival);
        if self.linux.is_none() {
            return self.owe_ack(arrival.now);
        }
        let due = if self.is_ack_due_to_linux() {
            None
        } else {
            self.linux.as_ref().and_then(|linux| linux.due(arrival))
        };
        self.ack_now = self.ack_now || due.is_none();
        due
    }

    /// Data arrived that is not plain data in order; `is_in_order` if some of it was.
    /// `is_urgent` if its ACK must not wait.
    pub(super) fn owe_ack_for_gap(
        &mut self,
        arrival: &Arrival<'_>,
        is_in_order: bool,
        is_urgent: bool,
    ) -> Option<Instant> {
        if is_in_order {
            self.learn(arrival);
        } else {
            self.learn_from_gap(arrival);
        }
        let round_trip = self.shortest_round_trip(arrival);
        let is_due = is_urgent || !self.has_gap() || self.is_ack_due_to_linux();
        let wait = self
            .compression
            .as_mut()
            .filter(|_| !is_due)
            .and_then(|compression| compression.hold_back(self.next, round_trip));
        self.ack_now = self.ack_now || wait.is_none();
        wait.map(|wait| arrival.now + wait)
    }

    /// Whether a block from `left` to `right` would push others towards the end of a report, of
    /// which some have not been reported (`tcp_sack_new_ofo_skb`).
    pub(super) fn would_hide_report(&self, left: Seq, right: Seq) -> bool {
        self.compression.as_ref().is_some_and(|compression| {
            compression.is_holding_back() && self.reassembly.would_be_new_behind(left, right, BLOCKS_EXPECTED)
        })
    }

    /// Whether Linux acknowledges at once what has arrived.
    fn is_ack_due_to_linux(&mut self) -> bool {
        let (unacknowledged, advertised) =
            (self.next - self.last_ack_sent, self.advertised - self.last_ack_sent);
        let holds_window = self.free() >= advertised;
        let is_half_full = self.unread > self.buffer / 2;
        self.linux.as_mut().is_some_and(|linux| {
            if is_half_full {
                linux.on_buffer_half_full();
            }
            linux.is_due(unacknowledged, holds_window)
        })
    }

    /// Learns from data in order.
    fn learn(&mut self, arrival: &Arrival<'_>) {
        let window = self.advertised - self.last_ack_sent;
        let first = self.next + self.unread.wrapping_neg();
        if let Some(round_trip) = &mut self.round_trip {
            let is_full = arrival.len() >= self.mss;
            if let Some(echo) = arrival.echo.filter(|_| is_full) {
                round_trip.on_echo(echo, self.unread <= arrival.len());
            }
            round_trip.on_data(self.next, window, arrival.now);
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.on_arrival(first, arrival.now);
        }
        if let Some(linux) = &mut self.linux {
            linux.on_data(arrival, window);
        }
        self.open_window_quickly(arrival);
    }

    /// Learns from data behind a gap.
    fn learn_from_gap(&mut self, arrival: &Arrival<'_>) {
        if let Some(linux) = &mut self.linux {
            linux.on_segment(arrival);
        }
        let behind_gap = self.reassembly.end().map_or(0, |end| end - self.next);
        if let Some(tuning) = &mut self.tuning {
            tuning.make_room_behind_gap(behind_gap);
            self.buffer = tuning.buffer();
        }
        // Without reports, a window that changes would hide a duplicate ACK.
        if self.reports_gaps {
            self.open_window_quickly(arrival);
        }
    }

    fn open_window_quickly(&mut self, arrival: &Arrival<'_>) {
        if self.open_window(arrival.len())
            && let Some(linux) = &mut self.linux
        {
            linux.on_window_opened();
        }
    }

    /// The round trip by what is known of it on either half; zero where nothing is.
    fn shortest_round_trip(&self, arrival: &Arrival<'_>) -> Duration {
        let received = self.round_trip.as_ref().and_then(|round_trip| round_trip.estimate());
        received.unwrap_or_default().min(arrival.rtt.srtt().unwrap_or(Duration::MAX))
    }

    /// A segment came that lies outside of the window. Data that is known already is reported
    /// (RFC 2883, section 4), and Linux takes it for a sign that ACKs were lost.
    #[cold]
    pub(crate) fn on_data_outside_window(&mut self, from: Seq, to: Seq) {
        self.note_duplicate(from, to);
        self.note_loss();
        let window = self.advertised - self.last_ack_sent;
        if let Some(linux) = &mut self.linux {
            linux.acknowledge_quickly(window);
        }
    }

    /// The path, or an ACK of ours, has lost something.
    pub(super) const fn note_loss(&mut self) {
        if matches!(self.policy, AckPolicy::EverySegmentAfterLoss(_)) {
            self.segments = 0;
        }
    }

    /// Remembers the first run of octets of a segment that was received before.
    ///
    //= RFC 2883, section 4: "the first block of the SACK option should be a D-SACK block
    //= specifying the sequence numbers for the duplicate segment that triggers the acknowledgement".
    pub(super) fn note_duplicate(&mut self, from: Seq, to: Seq) {
        if !self.reports_duplicates || from == to {
            return;
        }
        let known = if from.before(self.next) {
            Some((from, to.earlier(self.next)))
        } else {
            self.reassembly.first_known(from, to)
        };
        self.duplicate = known.or(self.duplicate);
    }

    /// When an ACK that waits leaves at the latest: [`Self::on_deadline`] is due then.
    pub(crate) const fn ack_timer(&self) -> Option<Instant> {
        self.ack_timer
    }

    /// Owes the ACK that has waited, if its time has come.
    pub(crate) fn on_deadline(&mut self, rto: Duration, now: Instant) {
        if self.ack_timer.is_none_or(|at| at > now) {
            return;
        }
        self.ack_timer = None;
        self.ack_now = true;
        let is_compressed =
            self.compression.as_ref().is_some_and(|compression| compression.is_holding_back());
        if let Some(linux) = self.linux.as_mut().filter(|_| !is_compressed) {
            linux.on_timer(rto);
        }
    }

    pub(crate) const fn owe_ack_now(&mut self) {
        self.ack_now = true;
    }

    pub(crate) const fn stop_timer(&mut self) {
        self.ack_timer = None;
    }

    pub(crate) const fn owe_nothing(&mut self) {
        (self.ack_now, self.ack_timer) = (false, None);
    }

    /// What is said to have been received: RCV.NXT, or what was acknowledged last.
    pub(crate) const fn acknowledges(&self) -> Seq {
        if self.withholds_acks { self.last_ack_sent } else { self.next }
    }

    /// Whether an ACK has to leave now.
    #[inline]
    pub(crate) fn is_ack_due(&self) -> bool {
        self.ack_now && !self.is_withheld()
    }

    /// Whether one would have to leave if it were not withheld.
    pub(crate) fn withholds_an_ack(&self) -> bool {
        self.ack_now && self.is_withheld()
    }

    #[inline]
    fn is_withheld(&self) -> bool {
        self.withholds_acks && self.says_more_than_last()
    }

    /// What asks for a loss acknowledges nothing, if it says no more than the last one.
    #[cold]
    fn says_more_than_last(&self) -> bool {
        !(self.has_gap() && self.next == self.last_ack_sent)
    }

    pub(crate) fn withhold_acks(&mut self, withholds: bool) {
        self.ack_now |= self.withholds_acks && !withholds && self.next != self.last_ack_sent;
        self.withholds_acks = withholds;
    }

    /// An ACK leaves: nothing more is owed, unless it says nothing new.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        self.ack_timer = None;
        if self.is_withheld() {
            self.ack_now |= self.next != self.last_ack_sent;
            return;
        }
        self.ack_now = false;
        self.unacknowledged_segments = 0;
        self.last_ack_sent = self.next;
    }

    /// At most `limit` SACK blocks.
    #[inline]
    pub(crate) fn sack_blocks(&self, limit: usize) -> SackBlocks {
        if self.has_report() { self.report(limit) } else { SackBlocks::NONE }
    }

    /// A duplicate first, if there is one to report, and then what lies behind a gap.
    #[cold]
    fn report(&self, limit: usize) -> SackBlocks {
        let Some((left, right)) = self.duplicate else { return self.reassembly.sack_blocks(limit) };
        let mut blocks = SackBlocks::NONE;
        blocks.push(left, right);
        for &(left, right) in self.reassembly.sack_blocks(limit - 1).as_slice() {
            blocks.push(left, right);
        }
        blocks
    }

    /// Whether there are SACK blocks to report.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        // With an ACK that is withheld, blocks would say that what lies between is lost.
        (self.has_gap() || self.duplicate.is_some()) && !self.is_withheld()
    }

    /// A segment leaves, with an ACK and a report, and perhaps with data of our own.
    #[inline]
    pub(crate) fn on_sent(&mut self, is_bare: bool, now: Instant) {
        if self.is_adaptive {
            self.adapt_to_sent(is_bare, now);
        }
    }

    //= RFC 2883, section 4: a duplicate is reported once.
    #[inline(never)]
    fn adapt_to_sent(&mut self, is_bare: bool, now: Instant) {
        self.duplicate = None;
        if let Some(compression) = &mut self.compression {
            compression.on_ack_sent();
        }
        if let Some(linux) = &mut self.linux {
            if !is_bare {
                linux.on_data_sent(now);
            }
            linux.on_ack_sent();
        }
    }
}
