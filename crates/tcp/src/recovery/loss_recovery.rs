//! The input of a loss recovery, and its decisions.

use std::ops::ControlFlow;

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Seq};

use crate::congestion::{CongestionControl, SentSegment, Stage};
use crate::flight::Flight;
use crate::retransmission_queue::{Outstanding, RetransmissionQueue};
use crate::rtt::RttEstimator;

/// Duplicate ACKs in a row that mean a loss (RFC 5681, section 3.2; `DupThresh` of RFC 6675).
pub const DUPLICATE_ACK_THRESHOLD: u32 = 3;

/// A loss recovery: turns ACKs into retransmissions, and says what leaves while it goes on.
///
/// For each ACK the connection calls, in this order: [`Self::on_report`] where the peers agreed on
/// SACK, then [`Self::on_new_ack`] or [`Self::on_duplicate_ack`] (or both, where an ACK of new data
/// reports more behind a gap). Whenever something could leave while [`Self::is_recovering`], it
/// asks [`Self::next`]. A recovery that goes by time learns what is sent ([`Self::on_sent`]) and
/// has a deadline.
pub trait LossRecovery: Send {
    /// Octets of memory that it has allocated beside itself.
    fn memory(&self) -> usize {
        0
    }

    /// Whether the connection is to keep [`Sender::queue`] for it, and to report to it what is sent.
    fn goes_by_segments(&self) -> bool {
        false
    }

    /// An ACK came with these SACK blocks, or none. Returns what that makes of it.
    fn on_report(&mut self, blocks: &[(Seq, Seq)], sender: &Sender<'_>) -> Report {
        let _ = (blocks, sender);
        Report::Unused
    }

    /// The `count`-th duplicate ACK in a row came.
    fn on_duplicate_ack(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate;

    /// The first outstanding segment is lost for another reason than the number of duplicate ACKs,
    /// of which there were `count`. Never called in recovery.
    fn on_loss(&mut self, count: u32, sender: &mut Sender<'_>) -> AfterDuplicate;

    /// `acked` octets were newly acknowledged; `flight.una` is the new value already.
    fn on_new_ack(&mut self, acked: u32, sender: &mut Sender<'_>) -> AfterAck;

    /// A segment has left; called only where it [`goes by segments`](Self::goes_by_segments).
    fn on_sent(&mut self, segment: &SentSegment, sender: &mut Sender<'_>) {
        let _ = (segment, sender);
    }

    /// In recovery, what leaves next; called until nothing does.
    fn next(&mut self, sender: &Sender<'_>, chance: Chance) -> Next {
        let _ = (sender, chance);
        Next::ByWindow
    }

    /// After a time-out, what from `flight.nxt` on is to be sent again.
    fn missing(&self, flight: &Flight) -> Missing {
        Missing { from: flight.nxt, to: flight.max, left: 0 }
    }

    /// The receiver echoes a congestion mark, the first for this window of data (RFC 3168, section
    /// 6.1.2): the window shrinks as after a loss, unless it is shrinking already.
    fn on_congestion_mark(&mut self, sender: &mut Sender<'_>) {
        if !self.is_recovering() {
            sender.reduce();
        }
    }

    /// Goes into recovery on the word of a scheme that knows the loss was no congestion: cwnd
    /// becomes `cwnd` for its time and what it is now after it, ssthresh stays. The first
    /// outstanding segment is sent again now, or was by the scheme. A recovery that does not
    /// inflate cwnd has no use for `cwnd`.
    fn enter_without_reduction(&mut self, cwnd: u32, sender: &mut Sender<'_>);

    /// The retransmission timer expired: recovery is over, and congestion control sets the window.
    /// Returns how everything goes again that was outstanding.
    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout;

    /// The same, but a scheme spares the window: it becomes what it would have been after recovery.
    /// The scheme has the first outstanding segment sent again.
    fn on_spared_timeout(&mut self, flight: &mut Flight);

    /// `flight.mss` has become smaller, because the path takes no larger segments: what is outstanding in
    /// larger ones goes again. That is no congestion (RFC 1191, section 6.5): recovery is over, and the
    /// window stays.
    fn on_smaller_segments(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        self.on_spared_timeout(sender.flight);
        AfterTimeout::GoBack
    }

    /// What it is doing, for a congestion control that rules recovery.
    fn stage(&self) -> Stage {
        if self.is_recovering() { Stage::Recovery } else { Stage::Open }
    }

    /// Whether it decides what leaves: a loss is being recovered from, or nearly taken for one.
    fn is_recovering(&self) -> bool;

    /// When [`Self::on_deadline`] is next due, and why.
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// Does what is due.
    fn on_deadline(&mut self, sender: &mut Sender<'_>) -> AfterDeadline {
        let _ = sender;
        AfterDeadline::Nothing
    }
}

/// The sender as its loss recovery sees and steers it.
pub struct Sender<'a> {
    /// The time of this call.
    pub now: Instant,
    /// The send variables.
    pub flight: &'a mut Flight,
    /// How cwnd grows and shrinks.
    pub congestion: &'a mut dyn CongestionControl,
    /// What is outstanding, segment by segment, and what the ACK delivered of it; nothing but the timestamp that
    /// the ACK echoes if nothing goes by segments.
    pub queue: &'a mut RetransmissionQueue,
    /// Round-trip time and RTO.
    pub rtt: &'a RttEstimator,
    /// When the retransmission timer expires.
    pub timer: Option<Instant>,
    /// Set if a reduction of the window is taken back.
    pub undone: bool,
}

impl Sender<'_> {
    /// The window shrinks as after a loss.
    pub fn reduce(&mut self) {
        let reduction = self.congestion.on_loss(self.flight);
        (self.flight.ssthresh, self.flight.cwnd) = (reduction.ssthresh, reduction.cwnd);
    }

    /// Asks `is_lost` of each segment in the network, from the oldest on until it breaks off, and
    /// marks those as lost that are. Returns their octets.
    pub fn mark_lost(&mut self, is_lost: impl FnMut(&Outstanding) -> ControlFlow<(), bool>) -> u32 {
        match self.congestion.as_path_model() {
            None => self.queue.mark_lost(is_lost, |_| ()),
            Some(model) => {
                self.queue.mark_lost(is_lost, |lost| model.on_segment_lost(lost, self.now, self.flight))
            }
        }
    }
}

/// What SACK blocks make of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nothing: whether it is a duplicate is as in RFC 5681, section 2.
    Unused,
    /// They report something new: it counts as a duplicate ACK, whatever else it says (RFC 6675,
    /// section 2).
    New,
    /// They report nothing new: it is no duplicate.
    Known,
}

/// What follows from a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDuplicate {
    /// Nothing but what the window allows.
    Wait,
    /// This segment is lost: it goes again, and new data not before the next ACK.
    Retransmit(Seq),
    /// Recovery has begun, and [`LossRecovery::next`] says what leaves.
    Recover,
    /// Everything from the oldest outstanding segment on goes again.
    GoBack,
}

/// What follows from an ACK of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterAck {
    /// Nothing special: congestion control opens the window.
    Open,
    /// Recovery has set the window itself.
    WindowSet,
    /// Recovery goes on, has set the window, and this segment is lost too (a partial ACK).
    Retransmit(Seq),
    /// A loss was found and the window set: [`LossRecovery::next`] says what leaves.
    Recover,
}

/// What follows from a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterTimeout {
    /// Everything from the oldest outstanding segment on goes again (4.3BSD).
    GoBack,
    /// [`LossRecovery::next`] says what leaves.
    Recover,
}

/// What follows from a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDeadline {
    /// Nothing.
    Nothing,
    /// A loss was found: [`LossRecovery::next`] says what leaves.
    Recover,
    /// A probe leaves, by [`LossRecovery::next`], and the retransmission timer starts anew.
    Probe,
}

/// What could leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// Octets that fit into a segment.
    pub room: u32,
    /// There is data (or a FIN) that was never sent, and the receiver's window has room for it.
    pub is_new_data: bool,
}

/// What leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// What cwnd and the receiver's window allow, from SND.NXT on.
    ByWindow,
    /// A segment of new data, as far as the receiver's window allows.
    New,
    /// A segment that was sent before: up to so many octets from this number on.
    Again(Seq, u32),
    /// Nothing.
    Nothing,
}

/// What is to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Where it begins.
    pub from: Seq,
    /// Where it ends, or is reported again.
    pub to: Seq,
    /// Octets between SND.UNA and `from` that have left the network, because the receiver reported
    /// them.
    pub left: u32,
}
