//! Counters of a connection.

/// The counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, pure ACKs included.
    pub segments_sent: u64,
    /// Retransmissions of segments with data, SYN or FIN, without window probes.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Expiries after which a scheme kept the window.
    pub timeouts_spared: u64,
    /// Losses inferred without a time-out, by TCP, or by a scheme on the third duplicate ACK.
    pub fast_retransmits: u64,
    /// Tail loss probes: segments sent because no ACK arrived for two round trips.
    pub tail_loss_probes: u64,
    /// Reductions of the window that were undone, because they were spurious.
    pub undone: u64,
    /// Reductions of the window because of echoed congestion marks (RFC 3168).
    pub congestion_echoes: u64,
    /// Retransmissions requested by a scheme on a control message.
    pub scheme_retransmits: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// ICMP messages accepted for the connection.
    pub icmp_accepted: u64,
    /// Octets acknowledged by the peer.
    pub octets_acknowledged: u64,
    /// Octets received in order.
    pub octets_received: u64,
    /// Segments received that were refused.
    pub refused: Refused,
}

/// Why a segment was refused: it was dropped, and in some cases answered. The acknowledgment of a segment
/// outside the window is processed nevertheless, and so is a SYN that completes a simultaneous open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no connection: "An incoming segment not containing a RST causes a RST to be sent in response"
    /// (RFC 9293, section 3.10.7.1).
    Closed,
    /// A reset that does not acknowledge our SYN: it "could not have been sent in response to anything sent by
    /// this incarnation of the connection" (RFC 9293, section 3.10.7.2; SYN-SENT: section 3.10.7.3).
    ResetOfNoSyn,
    /// It does not acknowledge our SYN: "Any acknowledgment is bad if it arrives on a connection still in the
    /// LISTEN state" (RFC 9293, section 3.10.7.2; SYN-SENT and SYN-RECEIVED: sections 3.10.7.3 and 3.10.7.4).
    AckOfNoSyn,
    /// "if neither of the SYN or RST bits is set, then drop the segment and return" (RFC 9293, section 3.10.7.3;
    /// LISTEN: section 3.10.7.2).
    NoSyn,
    /// "If the RST bit is set and the sequence number is outside the current receive window, silently drop the
    /// segment" (RFC 5961, section 3.2).
    ResetOutsideWindow,
    /// "If the RST bit is set and the sequence number does not exactly match the next expected sequence value,
    /// yet is within the current receive window, TCP MUST send an acknowledgment" (RFC 5961, section 3.2).
    ResetNotExpected,
    /// SEG.TSval < TS.Recent: "treat the arriving segment as not acceptable" (PAWS; RFC 7323, section 5.3).
    OldTimestamp,
    /// "If an incoming segment is not acceptable, an acknowledgment should be sent in reply" (RFC 9293, section
    /// 3.10.7.4).
    OutsideWindow,
    /// "If the SYN bit is set, irrespective of the sequence number, TCP MUST send an ACK" (RFC 5961, section
    /// 4.2).
    Syn,
    /// "if the ACK bit is off, drop the segment and return" (RFC 9293, section 3.10.7.4).
    NoAck,
    /// "If the ACK acks something not yet sent (SEG.ACK > SND.NXT), then send an ACK, drop the segment, and
    /// return" (RFC 9293, section 3.10.7.4).
    AckOfUnsent,
    /// It is before "((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT)": "All incoming segments whose ACK value
    /// doesn't satisfy the above condition MUST be discarded and an ACK sent back" (RFC 5961, section 5.2).
    AckTooOld,
}

impl Refusal {
    /// All reasons, in the order of the checks.
    pub const ALL: [Self; 12] = [
        Self::Closed,
        Self::ResetOfNoSyn,
        Self::AckOfNoSyn,
        Self::NoSyn,
        Self::ResetOutsideWindow,
        Self::ResetNotExpected,
        Self::OldTimestamp,
        Self::OutsideWindow,
        Self::Syn,
        Self::NoAck,
        Self::AckOfUnsent,
        Self::AckTooOld,
    ];
}

/// The number of refused segments by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused([u32; Refusal::ALL.len()]);

impl Refused {
    /// Segments refused for this reason, at most 2^32 - 1.
    pub const fn by(&self, reason: Refusal) -> u32 {
        self.0[reason as usize]
    }

    /// Segments refused for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    pub(crate) const fn add(&mut self, reason: Refusal) {
        let count = &mut self.0[reason as usize];
        *count = count.saturating_add(1);
    }

    /// Refusals since `earlier`.
    const fn since(mut self, earlier: &Self) -> Self {
        let mut reason = 0;
        while reason < self.0.len() {
            self.0[reason] -= earlier.0[reason];
            reason += 1;
        }
        self
    }
}

impl Stats {
    /// The counts since `earlier`.
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
            refused: self.refused.since(&earlier.refused),
        }
    }
}
