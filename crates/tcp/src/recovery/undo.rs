//! The window before a reduction, and the signs that the reduction was spurious: the receiver
//! reports all retransmissions as duplicates (RFC 3708), or acknowledges the original of a
//! retransmitted segment (Eifel, RFC 3522).

use lasthop_packet::Seq;

use crate::flight::Flight;
use crate::retransmission_queue::{Echoed, RetransmissionQueue};

/// The sender's state before a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    cwnd: u32,
    ssthresh: u32,
    /// SND.UNA at that time.
    una: Seq,
    /// Whether any segment was retransmitted since.
    has_retransmitted: bool,
    /// Retransmissions that the receiver has not reported as duplicates.
    unreported: u32,
}

impl Undo {
    /// Before the window is reduced. `under_way`: earlier retransmissions that are still in the network,
    /// and may cause duplicates too.
    pub(super) const fn new(flight: &Flight, under_way: u32) -> Self {
        let Flight { cwnd, ssthresh, una, .. } = *flight;
        Self { cwnd, ssthresh, una, has_retransmitted: false, unreported: under_way }
    }

    //= RFC 4015, section 3.2: the window is what it was before the reduction, or what it has become since.
    pub(super) fn restore(&self, flight: &mut Flight) {
        (flight.cwnd, flight.ssthresh) = (flight.cwnd.max(self.cwnd), flight.ssthresh.max(self.ssthresh));
    }

    pub(super) const fn on_retransmission(&mut self) {
        self.has_retransmitted = true;
        self.unreported += 1;
    }

    /// The receiver reports a duplicate that ends at `right`.
    pub(super) const fn on_duplicate(&mut self, right: Seq) {
        if right.after(self.una) {
            self.unreported = self.unreported.saturating_sub(1);
        }
    }

    //= RFC 3708, section 3: all that was sent again was received twice: nothing had been lost.
    pub(super) const fn is_all_reported(&self) -> bool {
        self.has_retransmitted && self.unreported == 0
    }
}

/// The timestamp of the first retransmission (`retrans_stamp` in Linux). It is kept from one
/// recovery to the next while retransmissions are outstanding.
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

    /// Whether the echoed timestamp shows that the ACK is for a segment sent before it.
    ///
    //= RFC 3522, section 3.2, step 5: the timestamp echoed is smaller than that of the retransmission.
    pub(super) fn is_after(self, echo: Option<Echoed>) -> bool {
        self.0.zip(echo).is_some_and(|(again, echo)| echo.is_before(again))
    }
}
