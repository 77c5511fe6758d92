//! When ACKs are sent, and their SACK blocks.

use std::time::Duration;

use lasthop_packet::{Instant, SackBlocks, Seq};

use super::ReceiveSide;
use super::arrival::Arrival;
use crate::config::AckPolicy;

/// Number of SACK blocks expected to reach the sender although ACKs get lost (`TCP_SACK_BLOCKS_EXPECTED`).
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

    /// The same if data in order must be measured.
    pub(super) fn owe_ack_adaptively(&mut self, arrival: &Arrival<'_>) -> Option<Instant> {
        self.measure(arrival);
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

    /// Data other than plain data in order arrived; `is_in_order` if some of it was in order, `is_urgent` if its
    /// ACK must not wait.
    pub(super) fn owe_ack_for_gap(
        &mut self,
        arrival: &Arrival<'_>,
        is_in_order: bool,
        is_urgent: bool,
    ) -> Option<Instant> {
        if is_in_order {
            self.measure(arrival);
        } else {
            self.measure_above_gap(arrival);
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

    /// Whether a new block from `left` to `right` would move others, which may be unreported, towards the end
    /// of a report (`tcp_sack_new_ofo_skb`).
    pub(super) fn would_hide_report(&self, left: Seq, right: Seq) -> bool {
        self.compression.as_ref().is_some_and(|compression| {
            compression.is_holding_back() && self.reassembly.would_be_new_after(left, right, BLOCKS_EXPECTED)
        })
    }

    /// Whether Linux acknowledges at once.
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

    /// Measures data in order.
    fn measure(&mut self, arrival: &Arrival<'_>) {
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

    /// Measures data above a gap.
    fn measure_above_gap(&mut self, arrival: &Arrival<'_>) {
        if let Some(linux) = &mut self.linux {
            linux.on_segment(arrival);
        }
        let behind_gap = self.reassembly.end().map_or(0, |end| end - self.next);
        if let Some(tuning) = &mut self.tuning {
            tuning.make_room_after_gap(behind_gap);
            self.buffer = tuning.buffer();
        }
        // Without SACK, a change of the window would hide a duplicate ACK.
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

    /// The shorter of the round-trip times measured by receiver and sender; zero if unknown.
    fn shortest_round_trip(&self, arrival: &Arrival<'_>) -> Duration {
        let received = self.round_trip.as_ref().and_then(|round_trip| round_trip.estimate());
        received.unwrap_or_default().min(arrival.rtt.srtt().unwrap_or(Duration::MAX))
    }

    /// A segment outside the window arrived. Duplicate data is reported (RFC 2883, section 4), and Linux treats
    /// it as a sign that ACKs were lost.
    #[cold]
    pub(crate) fn on_data_outside_window(&mut self, from: Seq, to: Seq) {
        self.record_duplicate(from, to);
        self.record_loss();
        let window = self.advertised - self.last_ack_sent;
        if let Some(linux) = &mut self.linux {
            linux.acknowledge_quickly(window);
        }
    }

    /// A segment or an ACK was lost.
    pub(super) const fn record_loss(&mut self) {
        if matches!(self.policy, AckPolicy::EverySegmentAfterLoss(_)) {
            self.segments = 0;
        }
    }

    /// Records the first range of a segment that was received before.
    ///
    //= RFC 2883, section 4: "the first block of the SACK option should be a D-SACK block
    //= specifying the sequence numbers for the duplicate segment that triggers the acknowledgement".
    pub(super) fn record_duplicate(&mut self, from: Seq, to: Seq) {
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

    /// The deadline of a delayed ACK.
    pub(crate) const fn ack_timer(&self) -> Option<Instant> {
        self.ack_timer
    }

    /// Owes the delayed ACK, if its timer has expired.
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

    /// The acknowledgment number: RCV.NXT, or the last one sent.
    pub(crate) const fn acknowledges(&self) -> Seq {
        if self.withholds_acks { self.last_ack_sent } else { self.next }
    }

    /// Whether an ACK must be sent now.
    #[inline]
    pub(crate) fn is_ack_due(&self) -> bool {
        self.ack_now && !self.is_withheld()
    }

    /// Whether an ACK would be sent now if it were not withheld.
    pub(crate) fn withholds_an_ack(&self) -> bool {
        self.ack_now && self.is_withheld()
    }

    #[inline]
    fn is_withheld(&self) -> bool {
        self.withholds_acks && !self.reports_only_loss()
    }

    /// Whether an ACK reports a loss, and acknowledges no more than the last one.
    #[cold]
    fn reports_only_loss(&self) -> bool {
        self.has_gap() && self.next == self.last_ack_sent
    }

    pub(crate) fn withhold_acks(&mut self, withholds: bool) {
        self.ack_now |= self.withholds_acks && !withholds && self.next != self.last_ack_sent;
        self.withholds_acks = withholds;
    }

    /// An ACK is sent: nothing more is owed, unless it is withheld.
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

    /// Up to `limit` SACK blocks.
    #[inline]
    pub(crate) fn sack_blocks(&self, limit: usize) -> SackBlocks {
        if self.has_report() { self.report(limit) } else { SackBlocks::NONE }
    }

    /// The duplicate to report, if any, and then the blocks above a gap.
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
        // While ACKs are withheld, blocks would report the octets between as lost.
        (self.has_gap() || self.duplicate.is_some()) && !self.is_withheld()
    }

    /// A segment is sent, with an ACK and SACK blocks; `is_bare` if without data.
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
