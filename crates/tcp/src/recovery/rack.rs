//! Loss recovery by time (RACK-TLP, RFC 8985), as implemented in Linux.
//!
//! A segment is lost if a segment sent later has arrived, and it has had enough time to arrive out
//! of order. This detects lost retransmissions too, and does not need three duplicate ACKs. The
//! retransmission queue ([`crate::RetransmissionQueue`]) tracks each segment in the network; cwnd
//! limits their octets.
//!
//! All of these but the first two can be switched off ([`RackConfig`]):
//!
//! | file | what |
//! |---|---|
//! | `loss_detection` | detection of lost segments |
//! | `reordering_window` | how long an overtaken segment may be late before it counts as lost |
//! | `tail_loss_probe` | a probe if no ACK arrives that could reveal a loss |
//! | `proportional_reduction` | reduction of the window over a round trip (RFC 9937) |
//! | `f_rto` | detection of spurious time-outs (RFC 5682) |
//! | `undo` | undo of a reduction if nothing was lost (RFC 3522, 3708, 4015) |
//!
//! What the RFCs leave open, and what we chose, as in Linux 6.18:
//! - A retransmission that is lost after a time-out begins a recovery with its own reduction.
//! - On a time-out, the oldest segment and all segments that have been in the network for a round
//!   trip count as lost; cwnd becomes one segment more than the rest.
//! - A D-SACK widens the reordering window only if reordering was seen, and not if it is for a tail
//!   loss probe.
//! - A time-out in recovery, or a second one for the same segment, does not reduce ssthresh again.

use std::ops::ControlFlow::{Break, Continue};

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Seq};

use super::f_rto::FRto;
use super::loss_detection::LossDetection;
use super::loss_recovery::{
    AfterAck, AfterDeadline, AfterDuplicate, AfterTimeout, Chance, LossRecovery, Next, Report, Sender,
};
use super::proportional_reduction::ProportionalReduction;
use super::tail_loss_probe::{AfterProbe, TailLossProbe};
use super::undo::{FirstRetransmission, Undo};
use crate::congestion::{SentSegment, Stage};
use crate::flight::Flight;

/// The options of RACK besides loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackConfig {
    /// Send a probe if no ACK arrives (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Reduce the window over a round trip (RFC 9937), not at once.
    pub proportional_reduction: bool,
    /// Detect spurious time-outs (RFC 5682).
    pub f_rto: bool,
    /// Undo spurious reductions (RFC 3522, 3708, 4015).
    pub undo: bool,
}

impl RackConfig {
    /// All options.
    pub const ALL: Self =
        Self { tail_loss_probe: true, proportional_reduction: true, f_rto: true, undo: true };
}

impl Default for RackConfig {
    fn default() -> Self {
        Self::ALL
    }
}

/// Detects losses by time, and repairs them.
#[derive(Clone, Debug)]
pub struct Rack {
    config: RackConfig,
    phase: Phase,
    detection: LossDetection,
    probe: TailLossProbe,
    undo: Option<Undo>,
    first_retransmission: FirstRetransmission,
    /// Time-outs since an ACK of new data.
    timeouts: u32,
    /// An outstanding segment is reported, lost or retransmitted: the octets in the network decide
    /// what may be sent.
    is_disordered: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No loss is being repaired.
    Open,
    /// Losses are being repaired until all data below `end` is acknowledged.
    Recovery { end: Seq, reduction: Option<ProportionalReduction>, cwnd_afterwards: u32, is_first_due: bool },
    /// The same after a time-out: the window grows as in slow start.
    Loss { end: Seq, f_rto: FRto },
}

impl Rack {
    /// Creates a recovery with these options.
    pub fn new(config: RackConfig) -> Self {
        Self {
            config,
            phase: Phase::Open,
            detection: LossDetection::default(),
            probe: TailLossProbe::default(),
            undo: None,
            first_retransmission: FirstRetransmission::default(),
            timeouts: 0,
            is_disordered: false,
        }
    }

    /// Processes an ACK, whose delivered data is recorded in the queue. `advanced` if it
    /// acknowledged new data.
    fn on_ack(&mut self, advanced: bool, sender: &mut Sender<'_>) -> AfterAck {
        let delivery = *sender.queue.delivery();
        self.on_delivery(sender);
        if self.probe.on_ack(&delivery, advanced, sender.flight.una) == AfterProbe::RepairedLoss {
            self.reduce_at_once(sender);
        }
        let (lost, entered) = match self.phase {
            Phase::Open => self.on_ack_in_order(sender),
            Phase::Recovery { end, .. } => self.on_ack_in_recovery(end, advanced, sender),
            Phase::Loss { end, f_rto } => self.on_ack_after_timeout(end, f_rto, advanced, sender),
        };
        self.is_disordered = !sender.queue.is_in_order();
        if advanced {
            self.timeouts = 0;
            self.schedule_probe(sender);
        } else if !self.may_probe(sender) {
            self.probe.cancel();
        }
        if sender.congestion.rules_recovery() {
            return if entered { AfterAck::Recover } else { AfterAck::Open };
        }
        if !matches!(self.phase, Phase::Recovery { .. }) {
            return AfterAck::Open;
        }
        if delivery.octets() > 0 {
            self.reduce(delivery.octets(), advanced && lost == 0, sender);
        }
        if entered { AfterAck::Recover } else { AfterAck::WindowSet }
    }

    fn on_delivery(&mut self, sender: &Sender<'_>) {
        let delivery = sender.queue.delivery();
        self.detection.on_delivery(self.probe.was_duplicate(delivery), sender);
        // The network may have duplicated a segment that was sent only once.
        if let (Some(undo), Some((_, right))) = (&mut self.undo, delivery.duplicate)
            && sender.queue.may_be_sent_again(right)
        {
            undo.on_duplicate(right);
        }
    }

    /// Returns the number of newly lost octets, and whether a recovery has begun.
    fn on_ack_in_order(&mut self, sender: &mut Sender<'_>) -> (u32, bool) {
        if sender.queue.delivery().duplicate.is_some() {
            self.undo_if_reported(sender);
        }
        let lost = self.detect_losses(sender);
        // A segment sent in a recovery and found lost before the recovery ended is a separate loss
        // (`tcp_time_to_recover`).
        let is_loss_open = sender.queue.lost() > 0;
        if is_loss_open {
            self.begin(sender);
        }
        (lost, is_loss_open)
    }

    fn on_ack_in_recovery(&mut self, end: Seq, advanced: bool, sender: &mut Sender<'_>) -> (u32, bool) {
        if !sender.flight.una.before(end) {
            if !self.undo_if_spurious(sender) {
                self.end_recovery(sender);
            }
            return self.on_ack_in_order(sender);
        }
        if advanced && self.acknowledges_original(sender) {
            // The first partial ACK is for an original: nothing was lost. The retransmissions in
            // the network must arrive before the reduction is undone.
            self.detection.on_late_original();
            if sender.queue.again() == 0 {
                self.undo_reduction(sender);
            }
            return (0, false);
        }
        if sender.queue.delivery().duplicate.is_some() && self.undo_if_reported(sender) {
            return self.on_ack_in_order(sender);
        }
        (self.detect_losses(sender), false)
    }

    fn on_ack_after_timeout(
        &mut self,
        end: Seq,
        mut f_rto: FRto,
        advanced: bool,
        sender: &mut Sender<'_>,
    ) -> (u32, bool) {
        let is_over = !sender.flight.una.before(end);
        let is_undone = (advanced && self.undo_if_spurious(sender))
            || (f_rto.shows_original(end, sender) && self.config.undo && self.undo_reduction(sender));
        if is_undone || is_over {
            self.phase = Phase::Open;
            if !is_undone {
                self.detection.on_recovery_end();
            }
            return self.on_ack_in_order(sender);
        }
        let end = f_rto.on_ack(end, advanced, sender);
        self.phase = Phase::Loss { end, f_rto };
        let again = sender.queue.again();
        let lost = self.detect_losses(sender);
        let is_retransmission_lost = lost > 0 && sender.queue.again() < again;
        if is_retransmission_lost {
            self.begin(sender);
        }
        (lost, is_retransmission_lost)
    }

    fn detect_losses(&mut self, sender: &mut Sender<'_>) -> u32 {
        self.detection.detect(!matches!(self.phase, Phase::Open), sender)
    }

    fn retransmissions_under_way(&self, sender: &Sender<'_>) -> u32 {
        sender.queue.retransmissions_under_way().max(u32::from(self.probe.is_retransmission_under_way()))
    }

    /// Enters recovery after a loss.
    fn begin(&mut self, sender: &mut Sender<'_>) {
        self.undo = Some(Undo::new(sender.flight, self.retransmissions_under_way(sender)));
        self.first_retransmission.on_recovery_begins(sender.queue);
        self.shrink(sender);
    }

    /// Reduces the window and enters recovery.
    fn shrink(&mut self, sender: &mut Sender<'_>) {
        let reduction = sender.congestion.on_loss(sender.flight);
        //= RFC 9937, section 6: RecoverFS is what was in the network before this ACK.
        let in_network = sender.queue.in_network() + sender.queue.lost() - sender.queue.again();
        let recover_fs = in_network + sender.queue.delivery().octets();
        let rules_recovery = sender.congestion.rules_recovery();
        let proportional = (self.config.proportional_reduction && !rules_recovery)
            .then(|| ProportionalReduction::new(recover_fs, reduction.ssthresh));
        if !rules_recovery {
            sender.flight.ssthresh = reduction.ssthresh;
            if proportional.is_none() {
                sender.flight.cwnd = reduction.cwnd;
            }
        }
        self.enter(proportional, reduction.cwnd, true, sender);
    }

    fn enter(
        &mut self,
        reduction: Option<ProportionalReduction>,
        cwnd_afterwards: u32,
        is_first_due: bool,
        sender: &Sender<'_>,
    ) {
        self.probe.on_recovery_begins();
        self.phase = Phase::Recovery { end: sender.flight.max, reduction, cwnd_afterwards, is_first_due };
    }

    fn end_recovery(&mut self, sender: &mut Sender<'_>) {
        if let Phase::Recovery { cwnd_afterwards, .. } = self.phase
            && !sender.congestion.rules_recovery()
        {
            sender.flight.cwnd = cwnd_afterwards;
        }
        self.phase = Phase::Open;
        self.detection.on_recovery_end();
    }

    /// Sets cwnd for an ACK that delivered octets in recovery.
    fn reduce(&mut self, delivered: u32, is_safe: bool, sender: &mut Sender<'_>) {
        if let Phase::Recovery { reduction: Some(reduction), .. } = &mut self.phase {
            let (in_network, mss) = (sender.queue.in_network(), sender.flight.mss);
            sender.flight.cwnd = reduction.on_ack(delivered, is_safe, in_network, mss);
        }
    }

    /// A tail loss probe has repaired a loss that no ACK had revealed: it counts as congestion.
    fn reduce_at_once(&mut self, sender: &mut Sender<'_>) {
        if matches!(self.phase, Phase::Open) && !sender.congestion.rules_recovery() {
            let reduction = sender.congestion.on_loss(sender.flight);
            (sender.flight.ssthresh, sender.flight.cwnd) = (reduction.ssthresh, reduction.cwnd);
        }
    }

    /// Whether the ACK echoes a timestamp from before the first retransmission.
    fn acknowledges_original(&self, sender: &Sender<'_>) -> bool {
        self.config.undo
            && self.undo.is_some()
            && self.first_retransmission.is_after(sender.queue.delivery().echo)
    }

    /// Undoes the reduction if the receiver has reported all retransmissions as duplicates, or
    /// acknowledges an original.
    fn undo_if_spurious(&mut self, sender: &mut Sender<'_>) -> bool {
        self.acknowledges_original(sender) && self.undo_reduction(sender) || self.undo_if_reported(sender)
    }

    fn undo_if_reported(&mut self, sender: &mut Sender<'_>) -> bool {
        self.config.undo
            && self.undo.is_some_and(|undo| undo.is_all_reported())
            && self.undo_reduction(sender)
    }

    fn undo_reduction(&mut self, sender: &mut Sender<'_>) -> bool {
        let Some(undo) = self.undo.take() else { return false };
        sender.queue.unmark_lost();
        if !sender.congestion.rules_recovery() {
            undo.restore(sender.flight);
        }
        sender.congestion.on_undo(sender.flight);
        sender.undone = true;
        self.phase = Phase::Open;
        true
    }

    /// Marks as lost the oldest segment, and all that have been in the network for a round trip.
    fn mark_lost_by_timeout(&self, sender: &mut Sender<'_>) {
        // A receiver that still held the oldest segment would have acknowledged it.
        if sender.queue.first().is_some_and(|first| first.is_sacked) {
            sender.queue.forget_reports();
        }
        let (una, now) = (sender.flight.una, sender.now);
        let round_trip = self.detection.round_trip();
        sender.queue.mark_lost(
            |segment| Continue(segment.seq == una || segment.sent + round_trip <= now),
            |lost| sender.congestion.on_segment_lost(lost, now, sender.flight),
        );
    }

    //= RFC 8985, section 7.2: no probe in recovery, nor where the receiver reports data behind a gap.
    fn may_probe(&self, sender: &Sender<'_>) -> bool {
        matches!(self.phase, Phase::Open) && sender.queue.is_in_order()
    }

    fn schedule_probe(&mut self, sender: &Sender<'_>) {
        if self.config.tail_loss_probe && self.may_probe(sender) {
            self.probe.schedule(sender);
        } else {
            self.probe.cancel();
        }
    }
}

impl LossRecovery for Rack {
    fn goes_by_segments(&self) -> bool {
        true
    }

    fn on_report(&mut self, _blocks: &[(Seq, Seq)], sender: &Sender<'_>) -> Report {
        let delivery = sender.queue.delivery();
        if delivery.sacked > 0 || delivery.duplicate.is_some() { Report::New } else { Report::Unused }
    }

    fn on_duplicate_ack(&mut self, _count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        // An ACK of new data that also reports data above a gap was already processed.
        if sender.queue.delivery().acked > 0 {
            return AfterDuplicate::Wait;
        }
        match self.on_ack(false, sender) {
            AfterAck::Recover => AfterDuplicate::Recover,
            _ => AfterDuplicate::Wait,
        }
    }

    fn on_loss(&mut self, _count: u32, sender: &mut Sender<'_>) -> AfterDuplicate {
        let una = sender.flight.una;
        let lost = sender.queue.mark_lost(
            |segment| if segment.seq == una { Continue(true) } else { Break(()) },
            |lost| sender.congestion.on_segment_lost(lost, sender.now, sender.flight),
        );
        if lost > 0 {
            self.begin(sender);
        }
        AfterDuplicate::Recover
    }

    fn on_new_ack(&mut self, _acked: u32, sender: &mut Sender<'_>) -> AfterAck {
        self.on_ack(true, sender)
    }

    fn on_sent(&mut self, segment: &SentSegment, sender: &mut Sender<'_>) {
        if let Phase::Recovery { reduction, is_first_due, .. } = &mut self.phase {
            *is_first_due &= !segment.is_retransmission;
            if let Some(reduction) = reduction {
                reduction.on_sent(segment.end - segment.seq);
            }
        }
        let is_probe = self.probe.on_sent(segment, sender.flight.max);
        if segment.is_retransmission {
            if !is_probe {
                self.first_retransmission.on_retransmission(sender.queue.timestamp());
            }
            if let Some(undo) = &mut self.undo {
                undo.on_retransmission();
            }
        }
        if !is_probe {
            self.schedule_probe(sender);
        }
        self.is_disordered = !sender.queue.is_in_order();
    }

    fn next(&mut self, sender: &Sender<'_>, chance: Chance) -> Next {
        if self.probe.is_due() {
            return TailLossProbe::next(sender, chance);
        }
        //= RFC 6675, section 5, step C: while cwnd - pipe is a segment or more. With nothing in the network, always: nothing
        //= else would bring an ACK.
        let (in_network, lost) = (sender.queue.in_network(), sender.queue.next_lost(chance.room));
        let segment = lost.map_or(sender.flight.mss, |(_, len)| len);
        //= RFC 6675, section 5, step 4.3: the first retransmission of a recovery leaves whatever cwnd says.
        let is_forced = lost.is_some() && matches!(self.phase, Phase::Recovery { is_first_due: true, .. });
        if in_network > 0 && !is_forced && sender.flight.cwnd < in_network.saturating_add(segment) {
            return Next::Nothing;
        }
        if let Phase::Loss { end, f_rto } = &mut self.phase
            && let Some(next) = f_rto.next(*end, sender.flight.max, chance.is_new_data)
        {
            return next;
        }
        match lost {
            Some((seq, len)) => Next::Again(seq, len),
            None if chance.is_new_data => Next::New,
            None => Next::Nothing,
        }
    }

    /// Reduces the window as after a loss, but the reduction cannot be undone.
    fn on_congestion_mark(&mut self, sender: &mut Sender<'_>) {
        if matches!(self.phase, Phase::Open) && !sender.congestion.rules_recovery() {
            self.undo = None;
            // The mark is processed before the ACK that echoes it: nothing is delivered yet.
            sender.queue.begin_ack(None);
            self.shrink(sender);
        }
    }

    /// cwnd is not inflated: the octets in the network decide what may be sent.
    fn enter_without_reduction(&mut self, _cwnd: u32, sender: &mut Sender<'_>) {
        if !matches!(self.phase, Phase::Open) {
            return;
        }
        self.enter(None, sender.flight.cwnd, false, sender);
        // The sender or the scheme retransmits the oldest segment: it does not count as lost until
        // the retransmission has had time to arrive.
        if let Some((seq, end)) = sender.queue.first().map(|first| (first.seq, first.end)) {
            sender.queue.on_sent(seq, end, sender.now);
            self.is_disordered = true;
        }
    }

    fn on_timeout(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        let was_in_recovery = matches!(self.phase, Phase::Recovery { .. });
        let was_after_timeout = matches!(self.phase, Phase::Loss { .. });
        let is_first = self.timeouts == 0;
        self.mark_lost_by_timeout(sender);
        if is_first && !was_in_recovery {
            self.undo = Some(Undo::new(sender.flight, self.retransmissions_under_way(sender)));
            self.first_retransmission.on_recovery_begins(sender.queue);
            sender.congestion.on_timeout(sender.flight);
        } else if !sender.congestion.rules_recovery() {
            // As in Linux (`tcp_set_ca_state`), the control is notified of each time-out.
            let ssthresh = sender.flight.ssthresh;
            sender.congestion.on_timeout(sender.flight);
            sender.flight.ssthresh = ssthresh;
        }
        sender.flight.cwnd = sender.queue.in_network() + sender.flight.mss;
        if let Some(model) = sender.congestion.as_path_model() {
            model.on_loss_state(sender.now, sender.queue);
        }
        //= RFC 5682, section 3.1, step 1: not while a loss was being repaired already, but for a second time-out in a row.
        let may_be_spurious = !(was_in_recovery || was_after_timeout) || !is_first;
        let f_rto = if self.config.f_rto && may_be_spurious { FRto::Waiting } else { FRto::Off };
        self.phase = Phase::Loss { end: sender.flight.max, f_rto };
        self.timeouts += 1;
        self.detection.clear_deadline();
        self.probe.on_recovery_begins();
        self.is_disordered = true;
        AfterTimeout::Recover
    }

    fn on_spared_timeout(&mut self, flight: &mut Flight) {
        if let Phase::Recovery { cwnd_afterwards, .. } = self.phase {
            flight.cwnd = cwnd_afterwards;
        }
        self.phase = Phase::Open;
        self.probe.cancel();
    }

    fn on_smaller_segments(&mut self, sender: &mut Sender<'_>) -> AfterTimeout {
        let mss = sender.flight.mss;
        let lost = sender.queue.mark_lost(
            |segment| Continue(segment.octets() > mss),
            |lost| sender.congestion.on_segment_lost(lost, sender.now, sender.flight),
        );
        if lost > 0 {
            self.on_spared_timeout(sender.flight);
            self.undo = None;
            self.phase = Phase::Loss { end: sender.flight.max, f_rto: FRto::Off };
            self.detection.clear_deadline();
            self.probe.on_recovery_begins();
            self.is_disordered = true;
        }
        AfterTimeout::Recover
    }

    fn stage(&self) -> Stage {
        match self.phase {
            Phase::Open => Stage::Open,
            Phase::Recovery { .. } => Stage::Recovery,
            Phase::Loss { .. } => Stage::Loss,
        }
    }

    fn is_recovering(&self) -> bool {
        !matches!(self.phase, Phase::Open) || self.probe.is_due() || self.is_disordered
    }

    fn deadline(&self) -> Option<Deadline> {
        let deadline = |at: Option<Instant>, reason| at.map(|at| Deadline { at, reason });
        Deadline::earliest(
            deadline(self.detection.deadline(), "reordering window"),
            deadline(self.probe.at(), "tail loss probe"),
        )
    }

    fn on_deadline(&mut self, sender: &mut Sender<'_>) -> AfterDeadline {
        if self.probe.on_deadline(sender.now) {
            return AfterDeadline::Probe;
        }
        // No ACK, so no delivery.
        sender.queue.begin_ack(None);
        if self.detection.deadline().is_none_or(|at| at > sender.now) || self.detect_losses(sender) == 0 {
            return AfterDeadline::Nothing;
        }
        if matches!(self.phase, Phase::Recovery { .. }) {
            return AfterDeadline::Nothing;
        }
        self.begin(sender);
        self.reduce(0, false, sender);
        AfterDeadline::Recover
    }
}
