//! What a scheme changes in a TCP sender.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Seq};

use crate::flight::Flight;
use crate::rtt::RttEstimator;

/// A scheme's part of the sender. Every hook defaults to what TCP does without it.
pub trait SenderExtension: Send {
    /// An ICMP error message came about a segment of this connection that was sent and is not
    /// acknowledged. What does not fit (another connection, a sequence number that is not
    /// outstanding, nothing that parses) never gets here (RFC 5927, section 4.1).
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        let _ = (notice, sender);
    }

    /// An acknowledgment came that counts: its segment has passed the checks of RFC 9293, section
    /// 3.10.7.4, or its data is a duplicate and its ACK does not exceed SND.MAX (as in
    /// 4.3BSD). It is about to be processed, so that `sender` is as it was before, and
    /// what the segment says beside its number (a bit in the header, say) is known when
    /// [`Self::on_new_ack`] or [`Self::on_duplicate_ack`] is called for it. Of the handshake's
    /// segments, only the ACK that ends it in the end that was opened passively is shown.
    ///
    /// For what the receiver, or an agent on the way, says in ACKs: ELN's bit (Balakrishnan and
    /// Katz, "Explicit loss notification and wireless web performance", Globecom 1998).
    fn on_ack(&mut self, ack: &Packet, sender: &mut SenderControl<'_>) {
        let _ = (ack, sender);
    }

    /// New data was acknowledged; `sender.flight().una` is the new value.
    fn on_new_ack(&mut self, sender: &mut SenderControl<'_>) {
        let _ = sender;
    }

    /// The `count`-th duplicate ACK in a row came.
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut SenderControl<'_>) -> DuplicateAckResponse {
        let _ = (count, sender);
        DuplicateAckResponse::Standard
    }

    /// The retransmission timer expired.
    fn on_timeout(&mut self, sender: &mut SenderControl<'_>) -> TimeoutResponse {
        let _ = sender;
        TimeoutResponse::Standard
    }
}

/// What an ICMP error message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpNotice {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// Whether it came as `ICMPv6`.
    pub is_v6: bool,
    /// The segment that it is about; outstanding.
    pub seq: Seq,
}

/// What to do about a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateAckResponse {
    /// What the sender's loss recovery does by itself.
    Standard,
    /// Nothing: it is not from the receiver, and does not count.
    Ignore,
    /// Go into fast recovery without taking it for congestion: ssthresh stays, and cwnd is
    /// afterwards what it was before.
    RecoverWithoutReduction {
        /// cwnd in recovery, before inflation by further duplicate ACKs; in octets.
        cwnd: u32,
        /// Whether the first outstanding segment is to be retransmitted now.
        retransmit: bool,
    },
}

/// What to do about a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutResponse {
    /// What TCP does: back-off, slow start, everything from SND.UNA on is sent again.
    Standard,
    /// Retransmit the first outstanding segment alone; cwnd, ssthresh and RTO stay. Such a time-out
    /// does not count towards giving the connection up: the scheme knows that the path is there.
    RetransmitOnly,
}

/// The sender as an extension may see and steer it.
#[derive(Debug)]
pub struct SenderControl<'a> {
    now: Instant,
    flight: &'a mut Flight,
    rtt: &'a RttEstimator,
    /// When the retransmission timer expires.
    timer: &'a mut Option<Instant>,
    retransmit: &'a mut Vec<Seq>,
}

impl<'a> SenderControl<'a> {
    pub(crate) const fn new(
        (flight, rtt): (&'a mut Flight, &'a RttEstimator),
        timer: &'a mut Option<Instant>,
        retransmit: &'a mut Vec<Seq>,
        now: Instant,
    ) -> Self {
        Self { now, flight, rtt, timer, retransmit }
    }

    /// The time of this call.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The send variables.
    pub const fn flight(&self) -> &Flight {
        self.flight
    }

    /// The retransmission time-out.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Whether the retransmission timer is running for the segment at `seq`. There is one timer,
    /// and it is always for the oldest outstanding segment.
    pub fn timer_runs_for(&self, seq: Seq) -> bool {
        self.timer.is_some() && seq == self.flight.una
    }

    /// Sets the retransmission timer to expire one RTO from now. Without anything outstanding there
    /// is nothing to time.
    pub fn restart_timer(&mut self) {
        if self.flight.max != self.flight.una {
            *self.timer = Some(self.rtt.expiry(self.now));
        }
    }

    /// Retransmits the segment at `seq`, ahead of new data; once, however often it is asked for
    /// before it leaves.
    pub fn retransmit(&mut self, seq: Seq) {
        if self.flight.is_outstanding(seq) && !self.retransmit.contains(&seq) {
            self.retransmit.push(seq);
        }
    }
}
