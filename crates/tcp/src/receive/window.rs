//! The advertised window.

use lasthop_packet::{Payload, Seq};

use super::ReceiveSide;

/// The smallest shift with which a window field can express this window (RFC 7323, section 2), at most 14.
pub(crate) const fn window_shift(window: u32) -> u8 {
    let mut shift = 0;
    while shift < 14 && window >> shift > u16::MAX as u32 {
        shift += 1;
    }
    shift
}

/// The largest window up to this one that a window field scaled by `shift` can express exactly, at least
/// its unit.
pub(crate) const fn expressible(window: u32, shift: u8) -> u32 {
    let field = window >> shift;
    let field = if field > u16::MAX as u32 { u16::MAX as u32 } else { field };
    (if field == 0 { 1 } else { field }) << shift
}

impl ReceiveSide {
    /// The window of a SYN, which is never scaled (RFC 7323, section 2.2).
    pub(crate) fn window_in_syn(&self) -> u16 {
        self.largest_window.min(u32::from(u16::MAX)) as u16
    }

    /// Windows are not scaled: limits the buffer to that expressible in a window field.
    pub(crate) fn forgo_scaling(&mut self) {
        self.buffer = self.buffer.min(u32::from(u16::MAX));
        if let Some(tuning) = &mut self.tuning {
            tuning.limit(u32::from(u16::MAX));
        }
        self.limit_window(self.window_limit);
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hint is not enough where there are several callers")]
    pub(crate) fn read(&mut self) -> Option<Payload> {
        let payload = self.delivered.pop_front()?;
        self.unread -= payload.len() as u32;
        if self.is_adaptive {
            self.adapt_to_read();
        }
        self.ack_now = self.ack_now || self.is_ack_worth_it();
        Some(payload)
    }

    /// Whether reading has opened the window enough for an ACK.
    #[inline]
    fn is_ack_worth_it(&self) -> bool {
        if self.linux.is_some() {
            return self.is_ack_worth_it_to_linux();
        }
        // An ACK is sent for two segments more, or half of the largest window, as in 4.3BSD; and at least for
        // the number of segments that one ACK is for.
        let opened = self.free().saturating_sub(self.window());
        let is_worth_it = |segments: u32| opened >= (segments * self.mss).min(self.largest_window / 2).max(1);
        is_worth_it(2) && !self.fin_received && is_worth_it(self.policy.segments_an_ack(self.segments))
    }

    /// The same in Linux 6.18 (`tcp_cleanup_rbuf`): an ACK is due on reading, or the window is twice the rest
    /// of the advertised one.
    #[cold]
    fn is_ack_worth_it_to_linux(&self) -> bool {
        let unacknowledged = self.next - self.last_ack_sent;
        let is_due =
            self.linux.as_ref().is_some_and(|linux| linux.is_due_on_read(unacknowledged, self.unread == 0));
        let (left, free) = (self.window(), self.free());
        let has_doubled = free / 2 >= left && free - left >= self.mss.min(self.largest_window / 2).max(1);
        is_due || (has_doubled && !self.fin_received)
    }

    #[cold]
    fn adapt_to_read(&mut self) {
        let Some(tuning) = &mut self.tuning else { return };
        let behind_gap = self.reassembly.end().map_or(0, |end| end - self.next);
        let round_trip = self.round_trip.as_ref().and_then(|round_trip| round_trip.estimate());
        let first = self.next + self.unread.wrapping_neg();
        tuning.on_read(first, self.unread, behind_gap, round_trip);
        self.buffer = tuning.buffer();
    }

    /// Opens the window for more segments like the one that arrived, if the buffer has grown. Returns whether
    /// it did.
    pub(super) fn open_window(&mut self, len: u32) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        let has_opened = tuning.open(len, self.mss, self.unread);
        if has_opened {
            self.limit_window(self.window_limit);
        }
        has_opened
    }

    /// The window field to send; records the advertised window.
    ///
    //= RFC 9293, section 3.8.6.2.2: the window opens by a segment or half of the largest window, or
    //= not at all.
    #[inline]
    pub(crate) fn advertise(&mut self, shift: u8) -> u16 {
        let acknowledged = self.acknowledges();
        let window = self.advertised - acknowledged;
        // Rounded up, because the window must not shrink; the buffer is overbooked by less than a unit.
        let mut field = (window + ((1 << shift) - 1)) >> shift;
        let free = self.free();
        if free >= window + self.mss.min(self.largest_window / 2) && !self.withholds_acks {
            field = field.max(free >> shift);
        }
        field = field.min(u32::from(u16::MAX));
        self.advertised = acknowledged + (field << shift);
        field as u16
    }

    /// The rest of the advertised window.
    pub(crate) fn window(&self) -> u32 {
        self.advertised - self.next
    }

    /// The largest window that may be advertised now.
    #[inline]
    pub(super) fn free(&self) -> u32 {
        self.buffer.saturating_sub(self.unread).min(self.largest_window)
    }

    /// Limits the window to this number of octets. The advertised window does not shrink: see
    /// [`Self::advertise`].
    pub(crate) fn limit_window(&mut self, octets: u32) {
        self.window_limit = octets;
        self.largest_window = octets.min(self.tuning.as_ref().map_or(self.buffer, |tuning| tuning.offered()));
    }

    /// Owes an ACK if the window has opened enough since the last one.
    pub(crate) fn owe_ack_if_opened(&mut self) {
        self.ack_now = self.ack_now || self.is_ack_worth_it();
    }

    /// The end of the advertised window.
    pub(crate) const fn promised(&self) -> Seq {
        self.advertised
    }

    /// Withdraws the windows written since [`Self::promised`], which were not sent.
    pub(crate) const fn withdraw_to(&mut self, promised: Seq) {
        self.advertised = promised;
    }
}
