//! The interface between the connection and a loss recovery.

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Seq};

use crate::congestion::{CongestionControl, SentSegment, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;

/// Number of duplicate ACKs that indicates a loss (RFC 5681, section 3.2; `DupThresh` of RFC 6675).
pub const DUPLICATE_ACK_THRESHOLD: u32 = 3;

/// A loss recovery: derives retransmissions from ACKs, and decides which segments are sent while it
/// lasts.
///
/// For each ACK the connection calls, in this order: [`Self::on_report`] if the peers negotiated
/// SACK, then [`Self::on_new_ack`] or [`Self::on_duplicate_ack`] (or both, if an ACK of new data
/// also reports data above a gap). Whenever a segment could be sent while
/// [`Self::is_recovering`], the connection calls [`Self::next`]. A recovery that uses times
/// learns of each segment sent ([`Self::on_sent`]) and has a deadline.
pub trait LossRecovery: Send {
    /// Octets of heap memory in use.
    fn memory(&self) -> usize {
        0
    }

    /// Whether the connection keeps [`Sender::queue`] for it, and calls [`Self::on_sent`].
    fn goes_by_segments(&self) -> bool {
        false
    }

    /// Processes the SACK blocks of an ACK, which may be none. Returns how the ACK counts.
    fn on_report(&mut self, blocks: &[(Seq, Seq)], sender: &Sender<'_>) -> Report {
        let _ = (blocks, sender);
        Report::Unused
    }

    /// Whether an ACK with data, or with another window, ends the count of duplicate ACKs, as in 4.3BSD.
    ///
    //= RFC 5681, section 3.2: "The fast retransmit algorithm uses the arrival of 3 duplicate ACKs (as defined in section 2,
    //= without any intervening ACKs which move SND.UNA)"
    fn counts_duplicates_in_a_row(&self) -> bool {
        false
    }

    /// Processes the `count`-th duplicate ACK since the last ACK of new data.
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate;

    /// The first outstanding segment is lost, for another reason than the number of duplicate ACKs,
    /// which is `count` so far. Never called in recovery.
    fn on_loss(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate;

    /// Processes an ACK of `acked` octets of new data; `flight.una` already has the new value.
    fn on_new_ack(&mut self, acked: u32, sender: &mut Sender<'_>) -> AfterAck;

    /// A segment was sent; called only if [`Self::goes_by_segments`].
    fn on_sent(&mut self, segment: &SentSegment, sender: &mut Sender<'_>) {
        let _ = (segment, sender);
    }

    /// The next segment to send in recovery; called until nothing may be sent.
    fn next(&mut self, sender: &Sender<'_>, chance: Chance) -> Next {
        let _ = (sender, chance);
        Next::ByWindow
    }

    /// After a time-out, the first range from `flight.nxt` on to retransmit.
    fn missing(&self, flight: &Flight) -> Missing {
        Missing { from: flight.nxt, to: flight.max, left: 0 }
    }

    /// Processes the first ECN echo for a window of data (RFC 3168, section 6.1.2): the window
    /// shrinks as after a loss, unless it is already shrinking.
    fn on_congestion_mark(&mut self, sender: &mut Sender<'_>) {
        if !self.is_recovering() {
            sender.congestion.reduce(sender.flight);
        }
    }

    /// Enters recovery for a scheme that knows that the loss is not due to congestion: cwnd is
    /// `cwnd` during recovery and has its present value again afterwards; ssthresh is unchanged.
    /// The first outstanding segment is retransmitted now, or the scheme has retransmitted it. A
    /// recovery that does not inflate cwnd ignores `cwnd`.
    fn enter_without_reduction(&mut self, cwnd: u32, sender: &mut Sender<'_>);

    /// The retransmission timer expired: recovery ends, and congestion control sets the window.
    /// Returns how the outstanding data is retransmitted.
    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout;

    /// The retransmission timer expired, but a scheme spares the window: cwnd becomes what it would
    /// have been after recovery. The scheme has the first outstanding segment retransmitted.
    fn on_spared_timeout(&mut self, flight: &mut Flight);

    /// `flight.mss` has become smaller, because the path carries no larger segments: larger
    /// outstanding segments are retransmitted. This is not congestion (RFC 1191, section 6.5):
    /// recovery ends, and the window is unchanged.
    fn on_smaller_segments(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        self.on_spared_timeout(sender.flight);
        AfterTimeout::GoBack
    }

    /// The stage of recovery, for a congestion control that sets the window in recovery too.
    fn stage(&self) -> Stage {
        if self.is_recovering() { Stage::Recovery } else { Stage::Open }
    }

    /// Whether it decides which segments are sent: losses are being repaired, or may have occurred.
    fn is_recovering(&self) -> bool;

    /// The time and reason of the next [`Self::on_deadline`].
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// Handles an expired deadline.
    fn on_deadline(&mut self, sender: &mut Sender<'_>) -> AfterDeadline {
        let _ = sender;
        AfterDeadline::Nothing
    }
}

/// The part of the sender that a loss recovery reads and changes.
pub struct Sender<'a> {
    /// The time of this call.
    pub now: Instant,
    /// The send variables.
    pub flight: &'a mut Flight,
    /// The congestion control, which sets cwnd and ssthresh.
    pub congestion: &'a mut dyn CongestionControl,
    /// The outstanding segments, and those that the ACK delivered. If neither loss recovery nor
    /// congestion control tracks segments, it holds only the timestamp that the ACK echoes.
    pub queue: &'a mut RetransmissionQueue,
    /// Round-trip time and RTO.
    pub rtt: &'a RttEstimator,
    /// When the retransmission timer expires.
    pub timer: Option<Instant>,
    /// Set if a reduction of the window was undone.
    pub undone: bool,
}

/// How an ACK counts because of its SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The blocks have no influence: RFC 5681, section 2, defines a duplicate ACK.
    Unused,
    /// The blocks report new data: the ACK is a duplicate ACK, whatever its other fields (RFC 6675,
    /// section 2).
    New,
    /// The blocks report no new data: the ACK is not a duplicate.
    Known,
}

/// What the connection does after a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDuplicate {
    /// Sends what the window allows.
    Wait,
    /// Retransmits this segment, which is lost, and sends no new data before the next ACK.
    Retransmit(Seq),
    /// Recovery has begun: sends what [`LossRecovery::next`] returns.
    Recover,
    /// Retransmits everything from the oldest outstanding segment on.
    GoBack,
}

/// What the connection does after an ACK of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAck {
    /// Congestion control opens the window.
    Open,
    /// Nothing: recovery has set the window.
    WindowSet,
    /// Retransmits this segment, which is lost too (a partial ACK). Recovery continues and has set
    /// the window.
    Retransmit(Seq),
    /// Recovery has found a loss and set the window: sends what [`LossRecovery::next`] returns.
    Recover,
}

/// What the connection does after a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterTimeout {
    /// Retransmits everything from the oldest outstanding segment on (4.3BSD).
    GoBack,
    /// Sends what [`LossRecovery::next`] returns.
    Recover,
}

/// What the connection does after a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDeadline {
    /// Nothing.
    Nothing,
    /// A loss was found: sends what [`LossRecovery::next`] returns.
    Recover,
    /// Sends a probe, which [`LossRecovery::next`] returns, and restarts the retransmission timer.
    Probe,
}

/// What the connection could send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// Octets that fit into a segment.
    pub room: u32,
    /// There is unsent data (or a FIN), and the receiver's window has room for it.
    pub is_new_data: bool,
}

/// What the connection sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// What cwnd and the receiver's window allow, from SND.NXT on.
    ByWindow,
    /// A segment of new data, within the receiver's window.
    New,
    /// A retransmission: up to this number of octets, from this sequence number on.
    Again(Seq, u32),
    /// Nothing.
    Nothing,
}

/// A range to retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The first sequence number.
    pub from: Seq,
    /// The end of the outstanding data, or the beginning of the next reported block.
    pub to: Seq,
    /// Octets between SND.UNA and `from` that have left the network, because the receiver reported
    /// them.
    pub left: u32,
}
