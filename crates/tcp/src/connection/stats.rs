//! What is counted of a connection.

/// What a connection has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, pure ACKs included.
    pub segments_sent: u64,
    /// Segments with data, SYN or FIN that were sent a second time or more often; window probes are
    /// none.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Those of them that a scheme spared the window.
    pub timeouts_spared: u64,
    /// Losses inferred without a time-out, by TCP, or on the third duplicate ACK by a scheme in its
    /// place.
    pub fast_retransmits: u64,
    /// Tail loss probes: what was sent because no ACK had come for two round trips.
    pub tail_loss_probes: u64,
    /// Reductions of the window taken back: what was sent again had arrived.
    pub undone: u64,
    /// Reductions of the window because the receiver echoed congestion marks (RFC 3168).
    pub congestion_echoes: u64,
    /// Retransmissions that a scheme asked for on a control message.
    pub scheme_retransmits: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// ICMP messages that fitted the connection.
    pub icmp_accepted: u64,
    /// Octets acknowledged by the peer.
    pub octets_acknowledged: u64,
    /// Octets received in order.
    pub octets_received: u64,
}

impl Stats {
    /// What the connection has done since it had done `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            segments_sent: self.segments_sent - earlier.segments_sent,
            retransmits: self.retransmits - earlier.retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            timeouts_spared: self.timeouts_spared - earlier.timeouts_spared,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            tail_loss_probes: self.tail_loss_probes - earlier.tail_loss_probes,
            undone: self.undone - earlier.undone,
            congestion_echoes: self.congestion_echoes - earlier.congestion_echoes,
            scheme_retransmits: self.scheme_retransmits - earlier.scheme_retransmits,
            duplicate_acks: self.duplicate_acks - earlier.duplicate_acks,
            icmp_accepted: self.icmp_accepted - earlier.icmp_accepted,
            octets_acknowledged: self.octets_acknowledged - earlier.octets_acknowledged,
            octets_received: self.octets_received - earlier.octets_received,
        }
    }
}
