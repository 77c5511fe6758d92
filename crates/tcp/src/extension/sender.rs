//! The hooks for schemes in a TCP sender.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Seq};

use crate::flight::Flight;
use crate::rtt::RttEstimator;

/// A scheme's part of the sender. By default, hooks do what TCP does without them.
pub trait SenderExtension: Send {
    /// An ICMP error message arrived about an outstanding segment of this connection. Not called for
    /// other messages: of another connection, with a sequence number that is not outstanding, or
    /// malformed (RFC 5927, section 4.1).
    fn on_icmp(&mut self, notice: IcmpNotice, sender: &mut SenderControl<'_>) {
        let _ = (notice, sender);
    }

    /// A valid acknowledgment arrived: its segment has passed the checks of RFC 9293, section 3.10.7.4,
    /// or its data is a duplicate and its ACK does not exceed SND.MAX (as in 4.3BSD). It is not
    /// processed yet: `sender` is in the state before it, and [`Self::on_new_ack`] or
    /// [`Self::on_duplicate_ack`] follows. Of the handshake, called only for the ACK that completes a
    /// passive open.
    ///
    /// For reports of the receiver, or of an agent on the path, in ACKs: ELN's bit (Balakrishnan and
    /// Katz, "Explicit loss notification and wireless web performance", Globecom 1998).
    fn on_ack(&mut self, ack: &Packet, sender: &mut SenderControl<'_>) {
        let _ = (ack, sender);
    }

    /// New data was acknowledged; `sender.flight().una` is the new value.
    fn on_new_ack(&mut self, sender: &mut SenderControl<'_>) {
        let _ = sender;
    }

    /// The `count`-th consecutive duplicate ACK arrived.
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

/// An ICMP error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpNotice {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// Whether the message is `ICMPv6`.
    pub is_v6: bool,
    /// The first sequence number of the segment, which is outstanding.
    pub seq: Seq,
}

/// The reaction to a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateAckResponse {
    /// That of the sender's loss recovery.
    Standard,
    /// None: the ACK does not count, because it is not from the receiver.
    Ignore,
    /// Enter fast recovery, but not because of congestion: ssthresh is unchanged, and cwnd is restored
    /// afterwards.
    RecoverWithoutReduction {
        /// cwnd in recovery, before inflation by further duplicate ACKs; in octets.
        cwnd: u32,
        /// Whether the first outstanding segment is to be retransmitted now.
        retransmit: bool,
    },
}

/// The reaction to a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutResponse {
    /// That of TCP: back-off, slow start, and retransmission of everything from SND.UNA on.
    Standard,
    /// Retransmit only the first outstanding segment; cwnd, ssthresh and RTO are unchanged. Such a
    /// time-out does not count towards aborting the connection: the scheme knows that the path works.
    RetransmitOnly,
}

/// The part of the sender that an extension reads and changes.
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

    /// Whether the retransmission timer is running for the segment at `seq`: the only timer is that of
    /// the oldest outstanding segment.
    pub fn timer_runs_for(&self, seq: Seq) -> bool {
        self.timer.is_some() && seq == self.flight.una
    }

    /// Restarts the retransmission timer with one RTO from now, if anything is outstanding.
    pub fn restart_timer(&mut self) {
        if self.flight.max != self.flight.una {
            *self.timer = Some(self.rtt.expiry(self.now));
        }
    }

    /// Retransmits the segment at `seq` before new data, but only once if called several times before it
    /// is sent.
    pub fn retransmit(&mut self, seq: Seq) {
        if self.flight.is_outstanding(seq) && !self.retransmit.contains(&seq) {
            self.retransmit.push(seq);
        }
    }
}
