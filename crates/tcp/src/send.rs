//! The sending half: the send variables, what is outstanding, and when what leaves.
//!
//! | module | what is in it |
//! |---|---|
//! | `stream` | what the application sends, and how far its end has come; `urgent`: ends of urgent data |
//! | `transmission` | what leaves next |
//! | `acknowledgment` | what an ACK does |
//! | `expiry` | what happens when a timer expires |
//! | `recovering`, `model` | what loss recovery, and a model of the path, learn and decide |
//! | `peer_window` | the window that the peer offers, and the probes of a closed one |
//! | `path_mtu` | how large segments may be |
//! | `pacing`; `pacer`, `super_packet` | when segments leave, and how many at once |
//! | `validation` | how much of the window is in use |
//! | `silence` | for how long the peer has been silent |
//! | `timestamp_clock` | where TSval comes from |
//! | `saved` | what of it goes on elsewhere |

mod acknowledgment;
mod expiry;
mod model;
mod pacer;
mod pacing;
mod path_mtu;
mod peer_window;
mod recovering;
mod saved;
mod silence;
mod stream;
mod super_packet;
mod timestamp_clock;
mod transmission;
mod urgent;
mod validation;

use std::num::NonZeroU16;

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Payload, Seq, Tcp};

use crate::config::{Config, PacingRule};
use crate::congestion::{Congestion, CongestionControl};
use crate::extension::{SenderControl, SenderExtension};
use crate::flight::Flight;
use crate::negotiation::Negotiated;
use crate::recovery::LossRecovery;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::stats::Stats;
use pacer::Pacer;
use path_mtu::PathMtu;
use peer_window::PeerWindow;
use silence::Silence;
use stream::Stream;
use super_packet::SuperPacket;
use timestamp_clock::TimestampClock;
use validation::Validation;

pub(crate) use acknowledgment::AckKind;
pub(crate) use saved::{Saved, is_rtt_sound};
pub(crate) use stream::End;
pub(crate) use transmission::Segment;

/// The sender of a connection.
///
/// - SND.UNA is not behind SND.NXT, nor that behind SND.MAX. The stream begins at SND.UNA once the SYN is
///   acknowledged.
/// - There is one retransmission timer, for the oldest outstanding segment. While anything is outstanding, it
///   runs, or something else does that lets a segment leave (`keep_timer`).
/// - What waits to be sent again lies from SND.UNA to SND.MAX when it leaves.
pub(crate) struct SendSide {
    flight: Flight,
    stream: Stream,
    /// Initial send sequence number.
    iss: Seq,
    /// The receiver reports what it has (RFC 2018).
    has_reports: bool,
    /// Segments have timestamps (RFC 7323).
    has_timestamps: bool,
    timestamp_clock: TimestampClock,
    peer_window: PeerWindow,
    path_mtu: PathMtu,
    silence: Silence,
    rtt: RttEstimator,

    congestion: Box<dyn CongestionControl>,
    /// Nothing but the owner sets the congestion window.
    is_ruled_from_outside: bool,
    recovery: Box<dyn LossRecovery>,
    /// What recovery said last of whether it goes on: asked for with every packet, changed by few.
    is_recovering: bool,
    tracking: Tracking,
    /// Kept unless [`Tracking::Numbers`] are enough.
    queue: RetransmissionQueue,
    duplicate_acks: u32,
    /// ACKs of new data for which congestion control is asked whether it suspects another loss.
    suspicious_acks: u32,
    /// Segments to send again ahead of everything else.
    retransmit: Vec<Seq>,
    /// Recovery has just begun: new data waits for the next input.
    retransmission_goes_alone: bool,

    pacer: Option<Pacer>,
    /// Where segments leave in super-packets.
    super_packet: Option<SuperPacket>,
    /// Segments that may leave as one packet.
    most_segments: u32,
    validation: Option<Validation>,
    /// Octets of the application's send buffer.
    send_window: u32,
    has_limited_transmit: bool,
    /// In segments.
    initial_window: u32,

    retransmission_timer: Option<Instant>,
    /// Loss recovery's own.
    recovery_timer: Option<Deadline>,
    extension: Option<Box<dyn SenderExtension>>,
    stats: Stats,
}

/// What recovery and congestion control go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tracking {
    /// Sequence numbers.
    Numbers,
    /// Single segments.
    Segments,
    /// A model of the path, which goes by single segments too.
    Model,
}

impl SendSide {
    /// Before the handshake.
    pub(crate) fn new(config: &Config, iss: Seq, is_ipv4: bool) -> Self {
        let flight = Flight {
            una: iss,
            nxt: iss,
            max: iss,
            peer_window: 0,
            mss: config.mss,
            cwnd: config.mss,
            ssthresh: config.initial_ssthresh,
        };
        Self {
            flight,
            stream: Stream::default(),
            iss,
            has_reports: false,
            has_timestamps: false,
            timestamp_clock: TimestampClock::Running { offset: 1 },
            peer_window: PeerWindow::new(),
            path_mtu: PathMtu::new(config.mss, is_ipv4, config.mtu_probing),
            silence: Silence::new(config),
            rtt: RttEstimator::new(config.rto),
            congestion: config.slow_start.before(config.congestion.begin(config.slow_start_limit)),
            is_ruled_from_outside: config.congestion == Congestion::Outside,
            recovery: config.recovery.begin(false),
            is_recovering: false,
            tracking: Tracking::Numbers,
            queue: RetransmissionQueue::default(),
            duplicate_acks: 0,
            suspicious_acks: 0,
            retransmit: Vec::new(),
            retransmission_goes_alone: false,
            pacer: None,
            super_packet: None,
            most_segments: 1,
            validation: config.window_validation.then(Validation::default),
            send_window: config.send_window.unwrap_or(u32::MAX),
            has_limited_transmit: config.limited_transmit,
            initial_window: config.initial_window.max(1),
            retransmission_timer: None,
            recovery_timer: None,
            extension: None,
            stats: Stats::default(),
        }
    }

    /// With a scheme's part of the sender.
    pub(crate) fn set_extension(&mut self, extension: Option<Box<dyn SenderExtension>>) {
        self.extension = extension;
    }

    #[inline]
    pub(crate) const fn has_extension(&self) -> bool {
        self.extension.is_some()
    }

    /// TSval goes on from what the clock of the end whose place is taken read at `then`.
    pub(crate) const fn continue_clock(&mut self, value: u32, then: Instant) {
        self.timestamp_clock = TimestampClock::from(value, then);
    }

    /// TSval is this from now on.
    pub(crate) const fn set_timestamp(&mut self, value: u32) {
        self.timestamp_clock = TimestampClock::Told(value);
    }

    /// Both sides know each other's maximum segment size: sets what depends on it.
    pub(crate) fn begin(&mut self, config: &Config, mss: u32, negotiated: Negotiated) {
        self.has_reports = negotiated.sack();
        self.has_timestamps = negotiated.timestamps();
        self.peer_window.set_shift(negotiated.peer_shift());
        // RFC 6691: options come out of the segment's payload.
        let options = negotiated.fixed_options();
        self.flight.mss = mss.saturating_sub(options).max(1);
        self.path_mtu.begin(self.flight.mss, options);
        // No larger than the largest window that TCP can advertise (RFC 7323, section 2.3).
        self.flight.cwnd = self.initial_cwnd().min(1 << 30);
        self.recovery = config.recovery.begin(self.has_reports);
        self.tracking = if self.congestion.rules_recovery() {
            self.queue.note_in_network();
            Tracking::Model
        } else if self.recovery.goes_by_segments() || self.congestion.goes_by_segments() {
            Tracking::Segments
        } else {
            Tracking::Numbers
        };
        let is_paced = self.congestion.is_paced() || config.pacing == PacingRule::Fq;
        self.pacer = is_paced.then(Pacer::default);
        let is_offloaded = config.segmentation_offload && self.recovery.goes_by_segments() && !is_paced;
        self.super_packet = is_offloaded.then(SuperPacket::default);
    }

    /// In octets.
    const fn initial_cwnd(&self) -> u32 {
        self.flight.mss.saturating_mul(self.initial_window)
    }

    /// Our SYN was sent by another end, at `sent` if that times its answer.
    pub(crate) fn on_syn_sent_elsewhere(&mut self, sent: Option<Instant>) {
        self.flight.nxt = self.iss + 1;
        self.flight.max = self.iss + 1;
        if let Some(sent) = sent {
            self.rtt.time_segment(self.iss, sent);
        }
    }

    /// There was no handshake, but our SYN counts as acknowledged.
    pub(crate) fn skip_syn(&mut self) {
        self.flight.una = self.iss + 1;
        self.flight.nxt = self.flight.una;
        self.flight.max = self.flight.una;
    }

    /// The stream has ended, and the peer has acknowledged that to another end.
    pub(crate) const fn end_elsewhere(&mut self) {
        self.stream.end_elsewhere();
    }

    /// Our SYN goes again.
    pub(crate) const fn repeat_syn(&mut self) {
        self.flight.nxt = self.flight.una;
    }

    /// Whether this number acknowledges our SYN, and that has left.
    pub(crate) fn is_syn_acknowledged_by(&self, ack: Seq) -> bool {
        ack == self.iss + 1 && ack == self.flight.max
    }

    /// Our SYN is acknowledged.
    pub(crate) fn establish(&mut self, ack: Seq, now: Instant) {
        self.flight.una = ack;
        self.flight.nxt = self.flight.nxt.later(ack);
        self.retransmission_timer = None;
        self.rtt.on_ack(ack, now, &self.flight);
        //= RFC 5681, section 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly
        //= transmitted SYN MUST be one segment".
        if self.silence.expiries() > 0 {
            self.flight.cwnd = self.flight.mss;
        }
        self.silence.end();
        self.begin_model();
    }

    /// Starts the retransmission timer.
    pub(crate) fn start_timer(&mut self, now: Instant) {
        self.retransmission_timer = Some(self.rtt.expiry(now));
    }

    /// Nothing that was sent needs an answer any more.
    pub(crate) fn stop_timers(&mut self) {
        self.retransmission_timer = None;
        self.recovery_timer = None;
        self.peer_window.stop_probing();
        if let Some(pacer) = &mut self.pacer {
            pacer.set_timer(false);
        }
    }

    /// The connection is over.
    pub(crate) fn stop(&mut self) {
        self.stop_timers();
        self.retransmit.clear();
    }

    /// The segment at `seq` offers a window of so many octets.
    #[inline]
    pub(crate) fn set_peer_window(&mut self, window: u32, seq: Seq) {
        self.flight.peer_window = window;
        self.peer_window.report(window, seq);
    }

    /// The same with the window field of a segment that is no SYN.
    pub(crate) fn read_peer_window(&mut self, tcp: &Tcp) {
        self.set_peer_window(self.peer_window.of(tcp), tcp.seq);
    }

    /// Appends data to the stream, unless it has ended.
    pub(crate) fn write(&mut self, payload: Payload) {
        if self.stream.end() == End::Open {
            self.note_application_limit();
            self.stream.push(payload);
        }
    }

    /// Appends `len` octets of simulated stream `stream` from `offset` on.
    pub(crate) fn write_stream(&mut self, stream: u32, offset: u64, len: u64) {
        if self.stream.end() == End::Open {
            self.note_application_limit();
            self.stream.push_stream(stream, offset, len);
        }
    }

    /// Whether more will be written soon.
    pub(crate) const fn expect_more(&mut self, more: bool) {
        self.stream.expect_more(more);
    }

    /// Drops what was written and never sent.
    pub(crate) fn discard_unsent(&mut self) {
        self.stream.truncate(u64::from(self.flight.outstanding()));
    }

    /// The stream ends with what was written.
    pub(crate) fn close(&mut self) {
        self.stream.close();
    }

    /// Urgent data ends so many octets behind what was written so far. `first` is the number of the first
    /// octet of the stream.
    pub(crate) fn mark_urgent(&mut self, first: Seq, ahead: u32) {
        let end = first + (self.stream.len() as u32).wrapping_add(ahead);
        // Octets that were sent without the pointer may have been read.
        if end.after(self.flight.max) {
            self.stream.mark_urgent(end);
        }
    }

    /// Lets `octets` octets into the network beyond what is there now.
    pub(crate) fn allow(&mut self, octets: u32) {
        // Out of recovery the window counts from SND.UNA on.
        let there = if self.is_recovering { self.queue.in_network() } else { self.flight.in_flight() };
        // Where no timer runs for what is outstanding, what goes again has to leave: it starts one.
        let is_untimed = self.flight.una != self.flight.max && self.retransmission_timer.is_none();
        let least = if is_untimed { self.flight.mss } else { 0 };
        self.set_cwnd(there.saturating_add(octets.max(least)));
    }

    /// Lets nothing into the network for which nothing is there already.
    pub(crate) fn hold(&mut self) {
        self.allow(0);
        if self.flight.una == self.flight.max {
            self.flight.cwnd = 0;
        }
    }

    /// Sets the congestion window in octets, a segment at least.
    pub(crate) fn set_cwnd(&mut self, octets: u32) {
        self.flight.cwnd = octets.clamp(self.flight.mss, 1 << 30);
    }

    /// Data may leave in super-packets of up to `segments` segments.
    pub(crate) fn allow_super_packets(&mut self, segments: u32) {
        self.most_segments = segments.max(1);
    }

    /// The segment size of a packet at `seq` with `len` octets, if it is a super-packet.
    #[inline]
    pub(crate) fn segment_size(&self, seq: Seq, len: u32) -> Option<NonZeroU16> {
        if self.most_segments == 1 || len <= self.flight.mss || self.path_mtu.is_probe(seq) {
            return None;
        }
        u16::try_from(self.flight.mss).ok().and_then(NonZeroU16::new)
    }

    /// Whether routers may fragment what is sent.
    #[inline]
    pub(crate) const fn may_fragment(&self) -> bool {
        self.path_mtu.may_fragment()
    }

    /// What TSval is now.
    #[inline]
    pub(crate) const fn timestamp(&self, now: Instant) -> u32 {
        self.timestamp_clock.reads(now)
    }

    /// How old a timestamp of ours is, in milliseconds; `None` where that is not known.
    #[inline]
    pub(crate) const fn age_of_timestamp(&self, value: u32, now: Instant) -> Option<u32> {
        self.timestamp_clock.age(value, now)
    }

    /// Whether urgent data is ahead of what is acknowledged.
    #[inline]
    pub(crate) const fn has_urgent(&self) -> bool {
        !self.stream.urgent().is_empty()
    }

    /// Has a header point to the urgent data ahead of it.
    pub(crate) fn write_urgent_pointer(&self, tcp: &mut Tcp) {
        self.stream.urgent().write_pointer(tcp);
    }

    /// The send variables.
    #[inline]
    pub(crate) const fn flight(&self) -> &Flight {
        &self.flight
    }

    /// The round-trip time estimate.
    #[inline]
    pub(crate) const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// What is outstanding, segment by segment.
    pub(crate) const fn queue(&self) -> &RetransmissionQueue {
        &self.queue
    }

    pub(crate) const fn iss(&self) -> Seq {
        self.iss
    }

    /// How far the end of the stream has come.
    #[inline]
    pub(crate) const fn end(&self) -> End {
        self.stream.end()
    }

    /// Octets written and not acknowledged yet.
    pub(crate) const fn unacknowledged(&self) -> u64 {
        self.stream.len()
    }

    /// Whether the peer has not been heard from since a timer expired.
    pub(crate) const fn is_unanswered(&self) -> bool {
        self.silence.expiries() > 0
    }

    /// Whether nothing but the owner sets the congestion window.
    pub(crate) const fn is_ruled_from_outside(&self) -> bool {
        self.is_ruled_from_outside
    }

    /// Whether an acknowledgment number can be the peer's.
    ///
    //= RFC 9293, section 3.10.7.4: not one of something not yet sent.
    #[inline]
    pub(crate) fn accepts_ack(&self, ack: Seq) -> bool {
        let flight = &self.flight;
        !ack.after(flight.max)
            && (!ack.before(flight.una) || self.peer_window.may_be_behind_by(flight.una - ack))
    }

    /// What was done so far, as far as the sender counts it.
    pub(crate) const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Octets of memory that it takes for what it holds, at most.
    pub(crate) fn memory(&self) -> usize {
        self.stream.buffer().memory() + self.queue.memory()
    }

    /// Octets of memory that it takes beside that and itself.
    pub(crate) fn overhead(&self) -> usize {
        let numbers = self.retransmit.capacity() + self.stream.urgent().capacity();
        size_of_val(&*self.congestion)
            + self.congestion.memory()
            + size_of_val(&*self.recovery)
            + self.recovery.memory()
            + self.extension.as_deref().map_or(0, size_of_val)
            + numbers * size_of::<Seq>()
    }

    #[inline]
    fn goes_by_segments(&self) -> bool {
        self.tracking >= Tracking::Segments
    }

    /// Calls a scheme's part of the sender, if there is one.
    pub(crate) fn call_extension<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn SenderExtension, &mut SenderControl<'_>) -> R,
    ) -> Option<R> {
        let extension = self.extension.as_mut()?;
        let mut sender = SenderControl {
            now,
            flight: &mut self.flight,
            timer: &mut self.retransmission_timer,
            rtt: &self.rtt,
            retransmit: &mut self.retransmit,
        };
        Some(call(extension.as_mut(), &mut sender))
    }
}
