//! The receiving half: RCV.NXT, reassembly, and when an ACK is owed.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Payload, SackBlocks, Seq};

use crate::config::AckPolicy;
use crate::reassembly::Reassembly;

/// The receive variables of RFC 9293, section 3.3.1, and what waits for the application.
#[derive(Debug)]
pub(crate) struct ReceiveSide {
    next: Seq,
    /// Receive buffer in octets; a window field can tell it exactly.
    buffer: u32,
    /// The largest window to offer: the buffer, or less where a scheme has set a limit.
    largest_window: u32,
    /// The largest segment of this connection, for silly window avoidance.
    mss: u32,
    reassembly: Reassembly,
    delivered: VecDeque<Payload>,
    unread: u32,
    /// Behind the window that the peer was told; it never moves back (RFC 9293, section 3.8.6).
    advertised: Seq,
    policy: AckPolicy,
    unacknowledged_segments: u32,
    /// Segments that arrived in order so far.
    segments: u32,
    pub(super) ack_now: bool,
    fin: Option<Seq>,
    fin_received: bool,
    /// TS.Recent and the number up to which we have acknowledged (RFC 7323, section 4.3).
    ts_recent: Option<u32>,
    last_ack_sent: Seq,
}

impl ReceiveSide {
    pub(super) fn new(buffer: u32, policy: AckPolicy) -> Self {
        Self {
            next: Seq(0),
            buffer,
            largest_window: buffer,
            mss: 1,
            reassembly: Reassembly::default(),
            delivered: VecDeque::new(),
            unread: 0,
            advertised: Seq(0),
            policy,
            unacknowledged_segments: 0,
            segments: 0,
            ack_now: false,
            fin: None,
            fin_received: false,
            ts_recent: None,
            last_ack_sent: Seq(0),
        }
    }

    /// The peer's initial sequence number is known, and the peer knows this window of ours.
    pub(super) fn synchronize(&mut self, irs: Seq, window: u32) {
        self.next = irs + 1;
        self.advertised = self.next + window;
        self.last_ack_sent = self.next;
    }

    /// The window of a SYN, which is never scaled (RFC 7323, section 2.2).
    pub(super) fn window_in_syn(&self) -> u16 {
        self.buffer.min(u32::from(u16::MAX)) as u16
    }

    /// Windows are not scaled on this connection: more buffer than a field can tell is of no use.
    pub(super) fn forgo_scaling(&mut self) {
        self.buffer = self.buffer.min(u32::from(u16::MAX));
        self.largest_window = self.largest_window.min(self.buffer);
    }

    /// The largest segment of this connection is known.
    pub(super) const fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }

    #[inline]
    pub(crate) const fn next(&self) -> Seq {
        self.next
    }

    pub(super) const fn fin_received(&self) -> bool {
        self.fin_received
    }

    #[inline]
    pub(super) fn read(&mut self) -> Option<Payload> {
        let payload = self.delivered.pop_front()?;
        self.unread -= payload.len() as u32;
        // Two segments more, or half of the largest window, are worth an ACK of their own, as in
        // 4.3BSD; or as many segments as one ACK is for.
        let opened = self.free().saturating_sub(self.window());
        let is_worth_it = |segments: u32| opened >= (segments * self.mss).min(self.largest_window / 2).max(1);
        if is_worth_it(2) && !self.fin_received && is_worth_it(self.policy.segments_an_ack(self.segments)) {
            self.ack_now = true;
        }
        Some(payload)
    }

    /// The window field to send, shifted; remembers what it promises.
    ///
    //= RFC 9293, section 3.8.6.2.2: the window opens by a segment or half of the largest window, or
    //= not at all.
    #[inline]
    pub(super) fn advertise(&mut self, shift: u8) -> u16 {
        let window = self.window();
        // Rounded up, because what was promised stays promised; the buffer is over-booked by less
        // than a unit.
        let mut field = (window + ((1 << shift) - 1)) >> shift;
        let free = self.free();
        if free >= window + self.mss.min(self.largest_window / 2) {
            field = field.max(free >> shift);
        }
        field = field.min(u32::from(u16::MAX));
        self.advertised = self.next + (field << shift);
        field as u16
    }

    /// What is left of the window that the peer was told.
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        self.advertised - self.next
    }

    /// What may be offered.
    #[inline]
    fn free(&self) -> u32 {
        self.buffer.saturating_sub(self.unread).min(self.largest_window)
    }

    /// No window above so many octets is offered from now on. What was offered stays so:
    /// [`Self::advertise`] begins with that.
    pub(crate) fn limit_window(&mut self, octets: u32) {
        self.largest_window = octets.min(self.buffer);
    }

    /// Behind the window that the peer was told.
    pub(super) const fn promised(&self) -> Seq {
        self.advertised
    }

    /// What was written since [`Self::promised`] was that has not left: it promises nothing.
    pub(super) const fn withdraw_to(&mut self, promised: Seq) {
        self.advertised = promised;
    }

    /// An ACK leaves: nothing more is owed.
    #[inline]
    pub(super) const fn acknowledged(&mut self) {
        self.ack_now = false;
        self.unacknowledged_segments = 0;
        self.last_ack_sent = self.next;
    }

    /// What to echo: 0 before the peer has sent a timestamp.
    pub(super) fn ts_recent(&self) -> u32 {
        self.ts_recent.unwrap_or(0)
    }

    /// Remembers the peer's timestamp.
    ///
    //= RFC 7323, section 4.3: "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, then SEG.TSval is copied to TS.Recent".
    pub(super) const fn note_timestamp(&mut self, value: u32, seq: Seq) {
        if !self.is_old_timestamp(value) && !seq.after(self.last_ack_sent) {
            self.ts_recent = Some(value);
        }
    }

    /// Whether the timestamp is older than what was seen (PAWS; RFC 7323, section 5.3).
    pub(super) const fn is_old_timestamp(&self, value: u32) -> bool {
        match self.ts_recent {
            Some(recent) => value.wrapping_sub(recent).cast_signed() < 0,
            None => false,
        }
    }

    pub(super) fn sack_blocks(&self, limit: usize) -> SackBlocks {
        self.reassembly.sack_blocks(limit)
    }

    /// Whether data waits for a gap to be filled, so that there are SACK blocks to tell.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.reassembly.is_empty()
    }

    /// Whether `seq` lies in the window, right edge excluded.
    pub(super) fn is_in_window(&self, seq: Seq) -> bool {
        seq == self.next || seq.within(self.next, self.advertised)
    }

    /// Whether a segment lies wholly beyond the window.
    pub(super) const fn is_beyond(&self, seq: Seq) -> bool {
        seq.after(self.advertised)
    }

    /// Whether any octet of a segment, or an empty one itself, lies in the window (RFC 9293,
    /// section 3.4).
    ///
    /// What carries no data is welcome up to the window's end, and one octet behind it: that is
    /// where the number of a peer stands that has filled the window, or probed a closed one, and
    /// its ACKs must get through.
    #[inline]
    pub(super) const fn accepts(&self, seq: Seq, payload_len: u32, segment_len: u32) -> bool {
        if payload_len > 0 {
            return seq.before(self.advertised)
                && self.next.offset_from(seq) < segment_len.cast_signed()
                && self.advertised.0 != self.next.0;
        }
        // A FIN takes up the number at `seq`, an empty segment none: either way it must not lie
        // before RCV.NXT.
        !seq.before(self.next) && seq.offset_from(self.advertised) <= 1 - segment_len.cast_signed()
    }

    /// Takes in data, and FIN behind it. Returns for how long the ACK may wait, if it may.
    #[inline]
    pub(super) fn take(&mut self, seq: Seq, payload: &Payload, fin: bool) -> Option<Duration> {
        if seq == self.next
            && !fin
            && self.fin.is_none()
            && self.reassembly.is_empty()
            && payload.len() as u32 <= self.window()
        {
            self.deliver(payload.clone());
            return self.owe_ack();
        }
        self.take_out_of_order(seq, payload, fin);
        None
    }

    /// Everything but plain data in order is acknowledged at once (RFC 5681, section 4.2).
    #[cold]
    fn take_out_of_order(&mut self, seq: Seq, payload: &Payload, fin: bool) {
        self.ack_now = true;
        if self.fin_received {
            return;
        }
        let fin_at = seq + payload.len() as u32;
        if fin && !fin_at.after(self.advertised) {
            self.fin.get_or_insert(fin_at);
        }
        // Cut to the window on both sides.
        let start = seq.later(self.next);
        let end = fin_at.earlier(self.advertised);
        if end.after(start) {
            self.reassembly.insert(start, payload.slice((start - seq) as usize, (end - seq) as usize));
        }
        while self.fin != Some(self.next)
            && let Some(piece) = self.reassembly.take_next(self.next)
        {
            // Nothing comes after a FIN.
            let end = self.fin.map_or(piece.len(), |fin| (fin - self.next) as usize);
            self.deliver(piece.slice(0, end));
        }
        if self.fin == Some(self.next) {
            self.fin_received = true;
            self.next += 1;
            self.advertised = self.advertised.later(self.next);
            self.reassembly.clear();
        }
    }

    #[inline]
    fn deliver(&mut self, payload: Payload) {
        let len = payload.len() as u32;
        self.next += len;
        self.segments = self.segments.saturating_add(1);
        self.unread += len;
        self.delivered.push_back(payload);
    }

    #[inline]
    fn owe_ack(&mut self) -> Option<Duration> {
        self.unacknowledged_segments += 1;
        match self.policy.longest_delay() {
            Some(delay) if self.unacknowledged_segments < self.policy.segments_an_ack(self.segments) => {
                Some(delay)
            }
            _ => {
                self.ack_now = true;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
