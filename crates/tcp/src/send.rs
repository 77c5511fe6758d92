//! The sending half: the send variables, the outstanding data, and the time of each transmission.
//!
//! | module | what is in it |
//! |---|---|
//! | `stream` | the data that the application sends, and its end; `urgent`: ends of urgent data |
//! | `handshake` | our SYN |
//! | `transmission` | the next segment, and its accounting |
//! | `acknowledgment` | processing of ACKs |
//! | `expiry` | expiry of timers |
//! | `control` | congestion control, loss recovery, and the retransmission queue |
//! | `peer_window` | the peer's window, and the probes of a closed one |
//! | `path_mtu` | path MTU discovery |
//! | `departure`, `pacing`, `pacer` | when segments are sent, and how many at once |
//! | `validation` | window validation |
//! | `silence` | time-outs without an answer of the peer |
//! | `timestamp_clock` | the clock of TSval |
//! | `saved` | its state in a snapshot |

mod acknowledgment;
mod control;
mod departure;
mod expiry;
mod handshake;
mod pacer;
mod pacing;
mod path_mtu;
mod peer_window;
mod saved;
mod silence;
mod stream;
mod timestamp_clock;
mod transmission;
mod urgent;
mod validation;

use std::num::NonZeroU16;

use lasthop_packet::{Instant, Payload, Seq, Tcp};

use crate::config::{Config, PacingRule};
use crate::extension::{SenderControl, SenderExtension};
use crate::flight::Flight;
use crate::negotiation::Negotiated;
use crate::recovery::{LossRecovery, Sender};
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::stats::Stats;
use control::{Control, View};
use departure::{Departure, SuperPacket};
use pacer::Pacer;
use path_mtu::PathMtu;
use peer_window::PeerWindow;
use silence::Silence;
use stream::Stream;
use timestamp_clock::TimestampClock;
use validation::Validation;

pub(crate) use acknowledgment::AckKind;
pub(crate) use saved::{Saved, is_rtt_sound};
pub(crate) use stream::End;
pub(crate) use transmission::Segment;

/// The sender of a connection.
///
/// - SND.UNA <= SND.NXT <= SND.MAX. The stream begins at SND.UNA once the SYN is acknowledged.
/// - There is one retransmission timer, for the oldest outstanding segment. While anything is outstanding,
///   this or another timer for it runs (`keep_timer`).
/// - Retransmissions are within SND.UNA to SND.MAX when they are sent.
pub(crate) struct SendSide {
    flight: Flight,
    stream: Stream,
    /// Initial send sequence number.
    iss: Seq,
    timestamp_clock: TimestampClock,
    peer_window: PeerWindow,
    path_mtu: PathMtu,
    silence: Silence,
    rtt: RttEstimator,
    /// For the oldest outstanding segment.
    retransmission_timer: Option<Instant>,
    control: Control,
    /// Segments to retransmit before everything else.
    retransmit: Vec<Seq>,
    /// Recovery has just begun: no new data is sent before the next input.
    retransmission_goes_alone: bool,
    departure: Departure,
    /// Maximum number of segments of a super-packet.
    max_segments: u32,
    validation: Option<Validation>,
    extension: Option<Box<dyn SenderExtension>>,
    stats: Stats,
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
            stream: Stream::new(config.send_window.unwrap_or(u32::MAX)),
            iss,
            timestamp_clock: TimestampClock::new(),
            peer_window: PeerWindow::new(),
            path_mtu: PathMtu::new(config.mss, is_ipv4, config.mtu_probing),
            silence: Silence::new(config),
            rtt: RttEstimator::new(config.rto),
            retransmission_timer: None,
            control: Control::new(config),
            retransmit: Vec::new(),
            retransmission_goes_alone: false,
            departure: Departure::AtOnce,
            max_segments: 1,
            validation: config.window_validation.then(|| Validation::new(config.initial_window.max(1))),
            extension: None,
            stats: Stats::default(),
        }
    }

    pub(crate) fn set_extension(&mut self, extension: Option<Box<dyn SenderExtension>>) {
        self.extension = extension;
    }

    pub(crate) const fn has_extension(&self) -> bool {
        self.extension.is_some()
    }

    /// TSval continues from the value at `then` of the clock of the end whose place is taken.
    pub(crate) const fn continue_clock(&mut self, value: u32, then: Instant) {
        self.timestamp_clock.continue_from(value, then);
    }

    pub(crate) const fn set_timestamp(&mut self, value: u32) {
        self.timestamp_clock.set(value);
    }

    /// Begins the transfer with the negotiated maximum segment size.
    pub(crate) fn begin(&mut self, config: &Config, mss: u32, negotiated: Negotiated) {
        self.timestamp_clock.begin(negotiated.timestamps);
        self.peer_window.set_shift(negotiated.peer_shift);
        // RFC 6691: options come out of the segment's payload.
        let options = negotiated.fixed_options();
        self.flight.mss = mss.saturating_sub(options).max(1);
        self.path_mtu.begin(self.flight.mss, options);
        // No larger than the largest window that TCP can advertise (RFC 7323, section 2.3).
        self.flight.cwnd = self.flight.mss.saturating_mul(config.initial_window.max(1)).min(1 << 30);
        self.control.begin(config, negotiated.sack);
        self.departure = if self.control.congestion().is_paced() || config.pacing == PacingRule::Fq {
            Departure::Paced(Pacer::default())
        } else if config.segmentation_offload && self.control.allows_offload() {
            Departure::InSuperPackets(SuperPacket::default())
        } else {
            Departure::AtOnce
        };
    }

    pub(crate) const fn end_elsewhere(&mut self) {
        self.stream.end_elsewhere();
    }

    /// The connection is established.
    pub(crate) fn begin_model(&mut self) {
        self.control.begin_model(&self.flight, self.rtt.srtt());
    }

    pub(crate) fn start_timer(&mut self, now: Instant) {
        self.retransmission_timer = Some(self.rtt.expiry(now));
    }

    /// Stops all timers: no more answers of the peer are needed.
    pub(crate) fn stop_timers(&mut self) {
        self.retransmission_timer = None;
        self.control.stop_timer();
        self.peer_window.stop_probing();
        if let Departure::Paced(pacer) = &mut self.departure {
            pacer.set_timer(false);
        }
    }

    /// The connection is over.
    pub(crate) fn stop(&mut self) {
        self.stop_timers();
        self.retransmit.clear();
    }

    /// The segment at `seq` advertises a window of this number of octets.
    #[inline]
    pub(crate) fn set_peer_window(&mut self, window: u32, seq: Seq) {
        self.flight.peer_window = window;
        self.peer_window.report(window, seq);
    }

    /// The same with the window field of a segment other than a SYN.
    pub(crate) fn read_peer_window(&mut self, tcp: &Tcp) {
        self.set_peer_window(self.peer_window.of(tcp), tcp.seq);
    }

    /// Appends data to the stream, unless it has ended.
    pub(crate) fn write(&mut self, payload: Payload) {
        if self.stream.end() == End::Open {
            self.record_application_limit();
            self.stream.push(payload);
        }
    }

    /// The next data that the stream was restored without. Returns what comes after it.
    pub(crate) fn supply(&mut self, payload: Payload) -> Payload {
        self.stream.supply(payload)
    }

    /// Appends `len` octets of simulated stream `stream` from `offset` on.
    pub(crate) fn write_stream(&mut self, stream: u32, offset: u64, len: u64) {
        if self.stream.end() == End::Open {
            self.record_application_limit();
            self.stream.push_stream(stream, offset, len);
        }
    }

    pub(crate) const fn expect_more(&mut self, more: bool) {
        self.stream.expect_more(more);
    }

    pub(crate) fn discard_unsent(&mut self) {
        self.stream.truncate(u64::from(self.flight.outstanding()));
    }

    pub(crate) fn close(&mut self) {
        self.stream.close();
    }

    /// Urgent data ends this number of octets after the data written so far. `first` is the number of the
    /// first octet of the stream.
    pub(crate) fn mark_urgent(&mut self, first: Seq, ahead: u32) {
        let end = first + (self.stream.len() as u32).wrapping_add(ahead);
        // Otherwise the octets were sent without the pointer, and may have been read.
        if end.after(self.flight.max) {
            self.stream.mark_urgent(end);
        }
    }

    /// Sets the window so that `octets` more may be in the network than now.
    pub(crate) fn allow(&mut self, octets: u32) {
        // Outside recovery, the window counts from SND.UNA on.
        let is_recovering = self.control.is_recovering();
        let there = if is_recovering { self.queue().in_network() } else { self.flight.in_flight() };
        // Without a timer for outstanding data, a retransmission must be possible: it starts one.
        let is_untimed = self.flight.una != self.flight.max && self.retransmission_timer.is_none();
        let least = if is_untimed { self.flight.mss } else { 0 };
        self.set_cwnd(there.saturating_add(octets.max(least)));
    }

    /// Sets the window so that no new data is sent.
    pub(crate) fn hold(&mut self) {
        self.allow(0);
        if self.flight.una == self.flight.max {
            self.flight.cwnd = 0;
        }
    }

    /// Sets the congestion window in octets, at least a segment.
    pub(crate) fn set_cwnd(&mut self, octets: u32) {
        self.flight.cwnd = octets.clamp(self.flight.mss, 1 << 30);
    }

    pub(crate) fn allow_super_packets(&mut self, segments: u32) {
        self.max_segments = segments.max(1);
    }

    /// The segment size of a packet at `seq` with `len` octets, if it is a super-packet.
    #[inline]
    pub(crate) fn segment_size(&self, seq: Seq, len: u32) -> Option<NonZeroU16> {
        if self.max_segments == 1 || len <= self.flight.mss || self.path_mtu.is_probe(seq) {
            return None;
        }
        u16::try_from(self.flight.mss).ok().and_then(NonZeroU16::new)
    }

    #[inline]
    pub(crate) const fn may_fragment(&self) -> bool {
        self.path_mtu.may_fragment()
    }

    pub(crate) const fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(crate) const fn timestamp_clock(&self) -> &TimestampClock {
        &self.timestamp_clock
    }

    pub(crate) const fn flight(&self) -> &Flight {
        &self.flight
    }

    pub(crate) const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) const fn queue(&self) -> &RetransmissionQueue {
        self.control.queue()
    }

    pub(crate) const fn is_unanswered(&self) -> bool {
        self.silence.expiries() > 0
    }

    pub(crate) const fn has_external_window(&self) -> bool {
        self.control.has_external_window()
    }

    /// Whether an acknowledgment number can be the peer's.
    ///
    //= RFC 9293, section 3.10.7.4: not one of something not yet sent.
    #[inline]
    pub(crate) fn accepts_ack(&self, ack: Seq) -> bool {
        let flight = &self.flight;
        !ack.after(flight.max)
            && (!ack.before(flight.una) || self.peer_window.may_be_below_by(flight.una - ack))
    }

    /// The counters of the sender.
    #[inline]
    pub(crate) const fn stats(&self) -> Stats {
        Stats { undone: self.control.undone(), ..self.stats }
    }

    /// Octets of memory for the data held, at most.
    pub(crate) fn memory(&self) -> usize {
        self.stream.buffer().memory() + self.control.memory()
    }

    /// Octets of memory allocated for its own state.
    pub(crate) fn overhead(&self) -> usize {
        let numbers = self.retransmit.capacity() + self.stream.urgent().capacity();
        let extension = self.extension.as_deref().map_or(0, size_of_val);
        self.control.overhead() + extension + numbers * size_of::<Seq>()
    }

    /// To be called before the application writes, and before an ACK or a timer is processed: a model of the
    /// path needs to know whether the application limits the sender.
    #[inline]
    fn record_application_limit(&mut self) {
        if self.control.has_model() {
            let unsent = self.stream.unsent(self.flight.outstanding());
            self.control.record_application_limit(unsent, &self.flight);
        }
    }

    /// Congestion control and loss recovery, with their view of the sender.
    #[inline]
    fn control(&mut self, now: Instant) -> (&mut Control, View<'_>) {
        (&mut self.control, View::new(&mut self.flight, &self.rtt, self.retransmission_timer, now))
    }

    /// Calls loss recovery.
    fn call_recovery<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn LossRecovery, &mut Sender<'_>) -> R,
    ) -> R {
        let (control, view) = self.control(now);
        control.call_recovery(view, call)
    }

    /// Calls a scheme's part of the sender, if any.
    pub(crate) fn call_extension<R>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut dyn SenderExtension, &mut SenderControl<'_>) -> R,
    ) -> Option<R> {
        let extension = self.extension.as_mut()?;
        let variables = (&mut self.flight, &self.rtt);
        let (timer, retransmit) = (&mut self.retransmission_timer, &mut self.retransmit);
        Some(call(extension.as_mut(), &mut SenderControl::new(variables, timer, retransmit, now)))
    }
}
