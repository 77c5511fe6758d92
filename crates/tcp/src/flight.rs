//! The send variables.

use lasthop_packet::Seq;

/// The send variables of RFC 9293, section 3.3.1, and of RFC 5681, section 2.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// SND.UNA: the oldest unacknowledged sequence number.
    pub una: Seq,
    /// SND.NXT: the next sequence number to send; after a time-out `una` again (4.3BSD's go-back-N).
    pub nxt: Seq,
    /// The end of all data sent: one above the highest sequence number sent.
    pub max: Seq,
    /// SND.WND: the window that the receiver advertises, in octets.
    pub peer_window: u32,
    /// Payload of a full segment, without options, in octets.
    pub mss: u32,
    /// The congestion window, in octets.
    pub cwnd: u32,
    /// The slow start threshold, in octets.
    pub ssthresh: u32,
}

impl Flight {
    /// The smaller of congestion window and advertised window, in octets.
    #[inline]
    pub fn window(&self) -> u32 {
        self.cwnd.min(self.peer_window)
    }

    /// Octets from SND.UNA to SND.NXT.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.nxt - self.una
    }

    /// Whether `seq` was sent and is unacknowledged.
    #[inline]
    pub fn is_outstanding(&self, seq: Seq) -> bool {
        seq.within(self.una, self.max)
    }

    /// cwnd, opened by this number of octets, up to the largest window that TCP can advertise (RFC 7323,
    /// section 2.3).
    #[inline]
    pub fn opened(&self, octets: u32) -> u32 {
        self.cwnd.saturating_add(octets).min(1 << 30)
    }

    /// The variables with segments of `mss` octets. The window has as many segments as before, as in
    /// Linux, because some congestion controls count segments.
    pub(crate) fn with_mss(self, mss: u32) -> Self {
        let scaled = |octets: u32| {
            let octets = u64::from(octets) * u64::from(mss) / u64::from(self.mss);
            octets.min(1 << 30) as u32
        };
        let (cwnd, ssthresh) = (scaled(self.cwnd).max(mss), scaled(self.ssthresh).max(2 * mss));
        Self { mss, cwnd, ssthresh, ..self }
    }

    /// Octets by which slow start may open cwnd: up to ssthresh, and a segment in any case.
    #[inline]
    pub fn below_ssthresh(&self) -> u32 {
        self.ssthresh.saturating_sub(self.cwnd).max(self.mss)
    }

    /// Octets sent and unacknowledged: `FlightSize` of RFC 5681, section 2.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.max - self.una
    }

    /// Half of the current window in full segments, at least two: ssthresh after a loss in 4.3BSD
    /// Reno.
    pub fn half_window(&self) -> u32 {
        (self.window() / 2 / self.mss).max(2) * self.mss
    }
}
