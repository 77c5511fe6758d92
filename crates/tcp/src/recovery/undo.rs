//! What a reduction of the window took, and what would show that it was needless: the receiver
//! reports all that was sent again as received twice (RFC 3708), or acknowledges what was sent
//! before it was sent again (Eifel, RFC 3522).

use lasthop_packet::Seq;

use crate::retransmission_queue::{Echoed, RetransmissionQueue};

/// The sender before a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    /// SND.UNA at that time.
    una: Seq,
    /// Whether anything was sent again since.
    is_sent_again: bool,
    /// Segments that were sent again and that the receiver has not reported as duplicates.
    unreported: u32,
}

impl Undo {
    /// `under_way`: segments that were sent again before and are in the network: a duplicate may be
    /// of these.
    pub(super) const fn new(cwnd: u32, ssthresh: u32, una: Seq, under_way: u32) -> Self {
        Self { cwnd, ssthresh, una, is_sent_again: false, unreported: under_way }
    }

    pub(super) const fn on_retransmission(&mut self) {
        self.is_sent_again = true;
        self.unreported += 1;
    }

    /// The receiver got a segment twice that ends at `right`.
    pub(super) const fn on_duplicate(&mut self, right: Seq) {
        if right.after(self.una) {
            self.unreported = self.unreported.saturating_sub(1);
        }
    }

    //= RFC 3708, section 3: all that was sent again was received twice: nothing had been lost.
    pub(super) const fn is_all_reported(&self) -> bool {
        self.is_sent_again && self.unreported == 0
    }
}

/// The timestamp of the first of the retransmissions that are outstanding, and of those that left before
/// them while others were (`retrans_stamp` in Linux): it lasts from one recovery to the next where
/// they pass into each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstRetransmission(Option<u32>);

impl FirstRetransmission {
    pub(super) fn on_retransmission(&mut self, timestamp: u32) {
        self.0.get_or_insert(timestamp);
    }

    /// A recovery begins (`tcp_retrans_stamp_cleanup`).
    pub(super) fn on_recovery_begins(&mut self, queue: &RetransmissionQueue) {
        if queue.again() == 0 && !queue.first().is_some_and(|first| first.was_sent_again) {
            self.0 = None;
        }
    }

    /// Whether an ACK is for a segment from before it, by the timestamp that it echoes.
    ///
    //= RFC 3522, section 3.2, step 5: the timestamp echoed is smaller than that of the retransmission.
    pub(super) fn is_after(self, echo: Option<Echoed>) -> bool {
        self.0.zip(echo).is_some_and(|(again, echo)| echo.is_before(again))
    }
}
