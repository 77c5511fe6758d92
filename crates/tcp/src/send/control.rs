//! Congestion control and loss recovery, with the retransmission queue.

mod before_ack;

use std::time::Duration;

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Seq, Tcp};

use crate::config::Config;
use crate::congestion::{Congestion, CongestionControl, Pacing, SentSegment};
use crate::flight::Flight;
use crate::recovery::{AfterAck, LossRecovery, Missing, Report, Sender};
use crate::retransmission_queue::{Delivery, Echoed, RateSample, RetransmissionQueue};
use crate::rtt::RttEstimator;
use before_ack::BeforeAck;

/// Decides how much may be in the network, and detects losses.
///
/// - Whether loss recovery is active, and its deadline, are needed with every packet: they are kept from the
///   last call that may have changed them.
/// - The queue has the outstanding segments, unless only sequence numbers are tracked.
pub(super) struct Control {
    congestion: Box<dyn CongestionControl>,
    /// Only the owner sets the congestion window.
    has_external_window: bool,
    recovery: Box<dyn LossRecovery>,
    is_recovering: bool,
    deadline: Option<Deadline>,
    tracking: Tracking,
    queue: RetransmissionQueue,
    /// The receiver sends SACK blocks (RFC 2018).
    has_reports: bool,
    /// Consecutive duplicate ACKs.
    duplicate_acks: u32,
    has_limited_transmit: bool,
    /// Number of next ACKs of new data at which congestion control may suspect another loss.
    suspicious_acks: u32,
    /// Undone reductions of the window.
    undone: u64,
}

/// The data that recovery and congestion control need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tracking {
    /// Sequence numbers.
    Numbers,
    /// Single segments.
    Segments,
    /// Single segments, for a model of the path.
    Model,
}

/// The part of the sender that they read and change.
pub(super) struct View<'a> {
    now: Instant,
    flight: &'a mut Flight,
    rtt: &'a RttEstimator,
    timer: Option<Instant>,
}

impl<'a> View<'a> {
    /// `timer`: when the retransmission timer expires.
    #[inline]
    pub(super) const fn new(
        flight: &'a mut Flight,
        rtt: &'a RttEstimator,
        timer: Option<Instant>,
        now: Instant,
    ) -> Self {
        Self { now, flight, rtt, timer }
    }
}

impl Control {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            congestion: config.slow_start.before(config.congestion.begin(config.slow_start_limit)),
            has_external_window: config.congestion == Congestion::External,
            recovery: config.recovery.begin(false),
            is_recovering: false,
            deadline: None,
            tracking: Tracking::Numbers,
            queue: RetransmissionQueue::default(),
            has_reports: false,
            duplicate_acks: 0,
            has_limited_transmit: false,
            suspicious_acks: 0,
            undone: 0,
        }
    }

    /// It is known whether the receiver sends SACK blocks.
    pub(super) fn begin(&mut self, config: &Config, has_reports: bool) {
        self.has_reports = has_reports;
        self.recovery = config.recovery.begin(has_reports);
        // RACK counts the octets that have left the network itself. A window set from outside is its owner's.
        let counts_itself = self.recovery.goes_by_segments();
        self.has_limited_transmit = config.limited_transmit && !counts_itself && !self.has_external_window;
        self.tracking = if self.congestion.rules_recovery() {
            self.queue.record_in_network();
            Tracking::Model
        } else if self.recovery.goes_by_segments() || self.congestion.goes_by_segments() {
            Tracking::Segments
        } else {
            Tracking::Numbers
        };
    }

    pub(super) const fn has_external_window(&self) -> bool {
        self.has_external_window
    }

    pub(super) const fn has_reports(&self) -> bool {
        self.has_reports
    }

    pub(super) const fn is_recovering(&self) -> bool {
        self.is_recovering
    }

    pub(super) fn goes_by_segments(&self) -> bool {
        self.tracking >= Tracking::Segments
    }

    pub(super) fn has_model(&self) -> bool {
        self.tracking == Tracking::Model
    }

    /// Whether segmentation offload may delay segments.
    pub(super) fn allows_offload(&self) -> bool {
        self.recovery.goes_by_segments()
    }

    pub(super) const fn duplicate_acks(&self) -> u32 {
        self.duplicate_acks
    }

    pub(super) const fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    pub(super) const fn stop_timer(&mut self) {
        self.deadline = None;
    }

    pub(super) const fn undone(&self) -> u64 {
        self.undone
    }

    pub(super) fn congestion(&self) -> &dyn CongestionControl {
        &*self.congestion
    }

    pub(super) fn congestion_mut(&mut self) -> &mut dyn CongestionControl {
        &mut *self.congestion
    }

    pub(super) const fn queue(&self) -> &RetransmissionQueue {
        &self.queue
    }

    #[inline]
    pub(super) fn in_network(&self, flight: &Flight) -> u32 {
        if self.goes_by_segments() { self.queue.in_network() } else { flight.outstanding() }
    }

    /// The number of octets that may be outstanding, outside recovery.
    ///
    //= RFC 3042, section 2: "The amount of outstanding data would remain less than or equal to the congestion window plus 2
    //= segments."
    #[inline]
    pub(super) fn window(&self, flight: &Flight) -> u32 {
        let is_limited_transmit = self.duplicate_acks > 0
            && self.has_limited_transmit
            && flight.nxt == flight.max
            && !self.is_recovering;
        if !is_limited_transmit {
            return flight.window();
        }
        let beyond = self.duplicate_acks.min(2) * flight.mss;
        flight.cwnd.saturating_add(beyond).min(flight.peer_window)
    }

    /// The connection is established.
    pub(super) fn begin_model(&mut self, flight: &Flight, srtt: Option<Duration>) {
        if let Some(model) = self.congestion.as_path_model() {
            model.begin(flight, srtt, self.has_reports);
        }
    }

    /// Records that the application limits what is sent, if it does; `unsent` octets were written and not sent.
    /// To be called before the application writes, and before an ACK or a timer is processed, if there is a model.
    ///
    //= draft-ietf-ccwg-bbr, section 4.1.2.4: no unsent data, less in the network than cwnd, and all that is lost was sent
    //= again.
    pub(super) fn record_application_limit(&mut self, unsent: u64, flight: &Flight) {
        if unsent < u64::from(flight.mss)
            && self.queue.in_network() < flight.cwnd
            && self.queue.lost() <= self.queue.again()
        {
            self.queue.record_application_limited();
        }
    }

    pub(super) fn before_ack(&self, flight: &Flight) -> BeforeAck {
        BeforeAck::new(&self.queue, flight)
    }

    /// Loss recovery has processed an ACK. The next segment may be sent at `next_departure`.
    pub(super) fn update_model(
        &mut self,
        before: BeforeAck,
        flight: &mut Flight,
        srtt: Option<Duration>,
        next_departure: Instant,
        now: Instant,
    ) {
        if let Some(model) = self.congestion.as_path_model() {
            let stage = self.recovery.stage();
            model.update(&mut before.sample((&mut self.queue, flight), stage, srtt, next_departure, now));
        }
    }

    /// A segment is about to be sent: the model restarts if the network is empty because the application had
    /// nothing to send.
    pub(super) fn restart_model(&mut self, flight: &mut Flight, now: Instant) {
        if self.has_model()
            && self.queue.in_network() == 0
            && self.queue.is_application_limited()
            && let Some(model) = self.congestion.as_path_model()
        {
            model.on_restart(now, self.queue.delivered(), flight);
        }
    }

    /// The pacing rate; None: as fast as the window allows.
    pub(super) fn pacing(&self, flight: &Flight, rtt: &RttEstimator) -> Option<Pacing> {
        self.congestion.pacing().or_else(|| Pacing::fair_queueing(flight, rtt.srtt()))
    }

    /// Segments of a super-packet at the pacing rate.
    pub(super) fn super_packet(&self, flight: &Flight, rtt: &RttEstimator) -> u32 {
        let pacing = self.pacing(flight, rtt);
        pacing.map_or(u32::MAX, |pacing| pacing.super_packet(self.queue.min_rtt(), flight.mss))
    }

    /// Whether congestion control suspects that the oldest segment is lost. Not after a time-out: it is
    /// retransmitted then in any case.
    pub(super) fn suspects_loss(&self, flight: &Flight, now: Instant) -> bool {
        !self.is_recovering
            && flight.una != flight.max
            && flight.nxt == flight.max
            && self.congestion.suspects_loss(now, flight)
    }

    /// Whether congestion control may suspect another loss at this ACK of new data.
    #[inline]
    pub(super) const fn is_suspicious_ack(&mut self) -> bool {
        if self.suspicious_acks == 0 {
            return false;
        }
        self.suspicious_acks -= 1;
        true
    }

    /// A segment is retransmitted. Vegas checks the first two ACKs of new data after it (Brakmo and Peterson
    /// 1995, section III.A).
    pub(super) const fn on_retransmission(&mut self) {
        self.suspicious_acks = 2;
    }

    pub(super) const fn count_duplicate_ack(&mut self) {
        self.duplicate_acks += 1;
    }

    pub(super) const fn forget_duplicate_acks(&mut self) {
        self.duplicate_acks = 0;
    }

    /// An ACK that acknowledges nothing, and is no duplicate: it has data, or another window.
    pub(super) fn on_other_old_ack(&mut self) {
        if self.duplicate_acks > 0 && !self.is_recovering && self.recovery.counts_duplicates_in_a_row() {
            self.forget_duplicate_acks();
        }
    }

    /// Calls loss recovery, and keeps its new state.
    pub(super) fn call_recovery<R>(
        &mut self,
        view: View<'_>,
        call: impl FnOnce(&mut dyn LossRecovery, &mut Sender<'_>) -> R,
    ) -> R {
        let (recovery, mut sender) = self.recovery_and_sender(view);
        let answer = call(recovery, &mut sender);
        self.undone += u64::from(sender.undone);
        self.is_recovering = self.recovery.is_recovering();
        if self.goes_by_segments() {
            self.deadline = self.recovery.deadline();
        }
        answer
    }

    #[inline]
    fn recovery_and_sender<'a>(&'a mut self, view: View<'a>) -> (&'a mut dyn LossRecovery, Sender<'a>) {
        let View { now, flight, rtt, timer } = view;
        let (congestion, queue) = (&mut *self.congestion, &mut self.queue);
        (&mut *self.recovery, Sender { now, flight, congestion, queue, rtt, timer, undone: false })
    }

    /// Adds a segment that is sent to the queue, in pieces of this number of octets.
    pub(super) fn enter(&mut self, segment: &SentSegment, piece: u32, timestamp: u32) {
        self.queue.set_timestamp(timestamp);
        let mut seq = segment.seq;
        while seq != segment.end {
            let end = seq + piece.min(segment.end - seq);
            self.queue.on_sent(seq, end, segment.now);
            seq = end;
        }
    }

    /// Records the timestamp that an ACK echoes, if it has one. For a connection that does not track
    /// single segments.
    pub(super) const fn set_echo(&mut self, echo: Option<Echoed>) {
        self.queue.set_echo(echo);
    }

    /// Updates the queue by an ACK. `una` is SND.UNA before it.
    #[inline]
    pub(super) fn update_queue(&mut self, tcp: &Tcp, echo: Option<Echoed>, una: Seq, now: Instant) {
        self.queue.begin_ack(echo);
        if self.has_reports && !tcp.options.sack.as_slice().is_empty() {
            self.queue.on_sack(tcp.ack, tcp.options.sack.as_slice(), now);
        }
        if tcp.ack.after(una) {
            self.queue.on_cumulative_ack(tcp.ack, now);
        }
    }

    /// Passes the SACK blocks of an ACK to loss recovery.
    #[inline]
    pub(super) fn read_report(&mut self, blocks: &[(Seq, Seq)], view: View<'_>) -> Report {
        let (recovery, sender) = self.recovery_and_sender(view);
        recovery.on_report(blocks, &sender)
    }

    #[inline]
    pub(super) const fn delivery(&self) -> &Delivery {
        self.queue.delivery()
    }

    /// The delivery rate, for a congestion control that needs it but has no model.
    #[inline]
    pub(super) fn rate_sample(&mut self, now: Instant) -> Option<RateSample> {
        if self.tracking == Tracking::Segments { self.queue.rate_sample(now) } else { None }
    }

    /// `acked` octets are newly acknowledged, and only sequence numbers are tracked: then no recovery begins
    /// with an ACK of new data.
    #[inline]
    pub(super) fn advance(&mut self, acked: u32, view: View<'_>) -> AfterAck {
        let (recovery, mut sender) = self.recovery_and_sender(view);
        let after = recovery.on_new_ack(acked, &mut sender);
        self.undone += u64::from(sender.undone);
        self.is_recovering = self.is_recovering && self.recovery.is_recovering();
        after
    }

    /// A time-out after which a scheme keeps the window.
    pub(super) fn on_spared_timeout(&mut self, flight: &mut Flight) {
        self.recovery.on_spared_timeout(flight);
        self.is_recovering = self.recovery.is_recovering();
    }

    /// After a time-out, the next range to retransmit.
    pub(super) fn missing(&self, flight: &Flight) -> Missing {
        self.recovery.missing(flight)
    }

    pub(super) fn memory(&self) -> usize {
        self.queue.memory()
    }

    /// Octets of memory that congestion control and loss recovery have allocated.
    pub(super) fn overhead(&self) -> usize {
        size_of_val(&*self.congestion)
            + self.congestion.memory()
            + size_of_val(&*self.recovery)
            + self.recovery.memory()
    }
}
