//! Proportional rate reduction (PRR, RFC 9937): the window shrinks evenly over one round trip; if
//! losses take the data in the network below ssthresh, it grows back as in slow start.

/// One reduction, from the window before it to ssthresh.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProportionalReduction {
    /// `RecoverFS`: octets in the network when it began, lost ones included.
    recover_fs: u64,
    ssthresh: u32,
    /// Octets delivered since (`prr_delivered`).
    delivered: u64,
    /// Octets sent since (`prr_out`).
    sent: u64,
}

impl ProportionalReduction {
    pub(super) fn new(recover_fs: u32, ssthresh: u32) -> Self {
        Self { recover_fs: u64::from(recover_fs.max(1)), ssthresh, delivered: 0, sent: 0 }
    }

    pub(super) fn on_sent(&mut self, octets: u32) {
        self.sent += u64::from(octets);
    }

    /// Processes an ACK that delivered octets; `is_safe` if it acknowledged new data and indicated
    /// no further loss (`SafeACK`). Returns cwnd.
    ///
    //= RFC 9937, section 6: the algorithm, with its names in parentheses.
    pub(super) fn on_ack(&mut self, delivered: u32, is_safe: bool, in_network: u32, mss: u32) -> u32 {
        self.delivered += u64::from(delivered);
        let to_send = if in_network > self.ssthresh {
            // In whole segments, as the examples of RFC 6937, section 4, and Linux have it.
            let share = (self.delivered * u64::from(self.ssthresh)).div_ceil(self.recover_fs);
            share.next_multiple_of(u64::from(mss)).saturating_sub(self.sent)
        } else {
            let growth = self.delivered.saturating_sub(self.sent).max(u64::from(delivered))
                + if is_safe { u64::from(mss) } else { 0 };
            growth.min(u64::from(self.ssthresh - in_network))
        };
        //= RFC 9937, section 6: the first retransmission of a recovery always leaves.
        let forced = if self.sent == 0 { u64::from(mss) } else { 0 };
        let cwnd = (u64::from(in_network) + to_send.max(forced)).min(u64::from(u32::MAX)) as u32;
        // Octets are counted, but segments differ in size: one full segment is always allowed.
        cwnd.max(mss)
    }
}
