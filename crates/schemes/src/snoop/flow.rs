//! One direction of a connection, from the core to the radio side: the state that both methods of
//! loss detection share, and the trait between it and them.

use std::fmt::Debug;
use std::hint::black_box;
use std::time::Duration;

use lasthop_agent::{Budget, Context, Limits, Room, SegmentCache, Slot};
use lasthop_hop::last_hop::{LastHop, Pace, Targets};
use lasthop_packet::{Instant, Packet, Seq, Sizes, Tcp, TcpFlags};

use super::core_path::CorePath;
use super::effects::{AckEffect, DataEffect, TimerEffect};
use super::rtt::HopRtt;
use super::saved::SavedRecovery;
use super::segmentation::stamp;
use super::settings::Settings;
use super::waiting::{Portion, Waiting};

/// A method to detect and repair losses on the hop: as published, or for current TCP.
pub trait Recovery: Debug + Send + Sized + 'static {
    /// Whether headers suffice of packets that pass over a hop without losses.
    const HEADERS_SUFFICE: bool;

    /// The state of a flow whose first seen packet starts at `seq`.
    fn new(settings: &Settings, seq: Seq) -> Self;

    /// A new state that keeps only what is known of the receiver.
    #[must_use]
    fn restarted(&self, settings: &Settings, seq: Seq) -> Self;

    /// Processes a packet with sequence space on its way to the radio side. `room` is the remaining
    /// memory.
    fn on_data(
        flow: &mut SnoopFlow<Self>,
        packet: &Packet,
        settings: &Settings,
        room: Room,
        now: Instant,
    ) -> DataEffect;

    /// Processes a packet from the radio side, by the acknowledgment in it: sends copies of lost
    /// data, and edits the packet.
    fn on_ack(
        flow: &mut SnoopFlow<Self>,
        packet: &mut Packet,
        settings: &Settings,
        cx: &mut Context<'_>,
    ) -> AckEffect;

    /// Processes the expiry of the local timer.
    fn on_timer(flow: &mut SnoopFlow<Self>, settings: &Settings, cx: &mut Context<'_>) -> TimerEffect;

    /// When a loss is detected by time alone; `None` if only the time-out detects it.
    fn loss_due(_flow: &SnoopFlow<Self>) -> Option<Instant> {
        None
    }

    /// Whether at most one segment is outstanding, whose ACK may be delayed.
    fn is_single(flow: &SnoopFlow<Self>) -> bool;

    /// Whether an acknowledgment is outstanding that the timer waits for.
    fn waits_for_ack(flow: &SnoopFlow<Self>) -> bool;

    /// Octets that were sent and are neither acknowledged nor known to be lost.
    fn outstanding(flow: &SnoopFlow<Self>) -> u64;

    /// Whether the receiver has reported no missing data.
    fn is_complete(&self) -> bool;

    /// Whether the receiver has sent SACK blocks.
    fn has_seen_sack(&self) -> bool {
        false
    }

    /// Whether a packet contains the data of a cached one in smaller segments, so that copies of
    /// the cached one are useless.
    fn is_resegmented(_flow: &SnoopFlow<Self>, _packet: &Packet) -> bool {
        false
    }

    /// Excludes all packets sent so far from round-trip measurements.
    fn mark_times_ambiguous(&mut self) {}

    /// Octets of allocated memory, without the fixed state.
    fn allocated(&self) -> usize {
        0
    }

    /// Reads a field of each cache line: see [`lasthop_agent::Agent::prefetch`].
    fn prefetch(&self) {}

    /// The state to export with the flow.
    fn save(flow: &SnoopFlow<Self>) -> SavedRecovery;

    /// When the data at `seq` was last sent, and whether it was sent more than once, if the cache
    /// does not record that.
    fn departure(&self, _seq: Seq) -> Option<(Instant, bool)> {
        None
    }

    /// Restores imported state.
    fn restore(&mut self, saved: &SavedRecovery);

    /// Octets of memory that one more cached packet adds.
    fn cost_of_one(&self) -> usize {
        0
    }

    /// Records that an imported packet is in the cache, with these notes.
    fn on_restored(&mut self, _packet: &Packet, _notes: &Notes) {}
}

/// The state of data on its way to one mobile host.
#[derive(Debug)]
pub struct SnoopFlow<R> {
    /// The state of loss detection and repair.
    pub(super) recovery: R,
    /// Data that passed and is not acknowledged.
    pub(super) cache: SegmentCache<Notes>,
    /// The highest acknowledgment number that passed, if any.
    pub(super) last_ack: Option<Seq>,
    /// The window of that acknowledgment, unscaled.
    pub(super) window: u16,
    /// The end of the receiver's first hole, according to its SACK blocks since `last_ack`.
    pub(super) hole_end: Option<Seq>,
    /// The end of all data that passed, cached or not.
    pub(super) highest: Seq,
    /// The sequence number after the sender's FIN.
    pub(super) fin: Option<Seq>,
    pub(super) rtt: HopRtt,
    /// The start of the current timer period.
    pub(super) timing_since: Instant,
    /// The number of timer expiries since the last progress.
    pub(super) expiries: u32,
    /// Whether the receiver answers.
    pub(super) receiver: Receiver,
    /// Packets that wait for room in the local window.
    pub(super) waiting: Waiting,
    /// The end of the waiting data, or `highest` if none waits.
    pub(super) arrived: Seq,
    /// The flow's hop, if it has a local window.
    pub(super) hop: Option<Slot>,
    /// How much of its data arrives in a round trip over the hop.
    pub(super) pace: Pace,
    /// Whether it is queued for room on the hop.
    pub(super) is_in_line: bool,
    /// Octets of memory charged to this flow in the agent's account.
    charged: usize,
    /// Octets of memory that remained for it when its memory was last counted.
    pub(super) spare: usize,
    /// The last allowed bypass limits.
    pub(super) limits: Option<Limits>,
    /// The latest TSval that the receiver may have stored as TS.Recent.
    pub(super) highest_tsval: Option<Seq>,
    /// Whether copies carry `highest_tsval`.
    pub(super) monotone_timestamps: bool,
    /// The path to the sender.
    pub(super) core_path: CorePath,
    /// Whether its sender does as well without the agent, so that all of its packets pass
    /// unchanged.
    pub(super) is_left_to_sender: bool,
}

/// Whether a receiver responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// It does, or this is not known yet.
    Answers,
    /// The local timer has expired since it last acknowledged something.
    Silent {
        /// Octets that had been sent by then and were not acknowledged.
        overdue: u64,
    },
    /// The timer expired as often as retransmissions are allowed: no packets wait for this
    /// receiver.
    GivenUp,
}

/// The notes on a cached packet.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    /// When it was last sent towards the receiver.
    pub(super) sent: Instant,
    /// Local retransmissions since the sender last sent it.
    pub(super) local: u32,
    /// Whether the sender retransmitted it.
    pub(super) by_sender: bool,
    /// Whether it was, or may have been, sent more than once: then it gives no round-trip time
    /// (Karn's rule).
    pub(super) ambiguous: bool,
}

/// A packet with sequence space that passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    pub(super) seq: Seq,
    pub(super) end: Seq,
    /// It starts below the end of the data that passed before.
    pub(super) is_late: bool,
    /// The receiver has all of it.
    pub(super) is_acknowledged: bool,
}

impl<R: Recovery> SnoopFlow<R> {
    /// A flow whose first packet seen starts at `seq`.
    pub fn new(settings: &Settings, seq: Seq) -> Self {
        Self {
            recovery: R::new(settings, seq),
            cache: SegmentCache::new(settings.cached_packets),
            last_ack: None,
            window: 0,
            hole_end: None,
            highest: seq,
            fin: None,
            rtt: HopRtt::new(settings.initial_srtt, settings.initial_rttvar),
            timing_since: Instant::ZERO,
            expiries: 0,
            receiver: Receiver::Answers,
            waiting: Waiting::default(),
            arrived: seq,
            hop: None,
            pace: Pace::default(),
            is_in_line: false,
            charged: 0,
            spare: 0,
            limits: None,
            highest_tsval: None,
            monotone_timestamps: settings.monotone_timestamps,
            core_path: CorePath::default(),
            is_left_to_sender: false,
        }
    }

    /// Resets the state of the data, as if the connection were new here.
    pub(super) fn reset(&mut self, settings: &Settings) {
        let recovery = self.recovery.restarted(settings, self.highest);
        let Self { last_ack, window, fin, rtt, highest_tsval, hop, charged, limits, core_path, .. } = *self;
        *self = Self {
            recovery,
            last_ack,
            window,
            fin,
            rtt,
            hop,
            charged,
            limits,
            highest_tsval,
            core_path,
            ..Self::new(settings, self.highest)
        };
    }

    /// Resets all but the memory account and the hop: its sender does as well without the agent.
    pub(super) fn leave_to_sender(&mut self, settings: &Settings) {
        let Self { charged, limits, hop, highest, .. } = *self;
        *self = Self { charged, limits, hop, is_left_to_sender: true, ..Self::new(settings, highest) };
    }

    /// Records a packet with sequence space on its way to the radio side.
    pub(super) fn record_passing(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) -> Passing {
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        self.record_timestamp(tcp);
        self.core_path.on_down(tcp, now);
        if tcp.flags.has(TcpFlags::FIN) {
            self.fin = Some(end);
        }
        let is_late = seq.before(self.highest);
        self.highest = self.highest.later(end);
        self.arrived = self.arrived.later(end);
        // The receiver has it; its own duplicate ACK will inform the sender.
        let is_acknowledged = self.last_ack.is_some_and(|ack| !end.after(ack));
        Passing { seq, end, is_late, is_acknowledged }
    }

    /// The bound that keeps a packet out of the cache, if any.
    pub(super) fn bound_on(&self, sizes: Sizes, settings: &Settings, room: Room) -> Option<&'static str> {
        if self.cache.is_full() {
            Some("cached packets of a connection")
        } else if self.octets().saturating_add(sizes.octets) > settings.cached_octets {
            Some("cached octets of a connection")
        } else {
            room.lacks(self.cache.cost_of(sizes) + self.recovery.cost_of_one())
        }
    }

    /// Records the timestamp of a packet from the core side.
    ///
    /// Only timestamps that the receiver may store as TS.Recent (RFC 7323, section 4.3) count:
    /// those of packets that start within the outstanding data. So an off-path host cannot make the
    /// agent stamp copies with a TSval from the future, after which the receiver would reject all
    /// packets of the true sender.
    pub fn record_timestamp(&mut self, tcp: &Tcp) {
        let outstanding =
            !tcp.seq.after(self.highest) && self.last_ack.is_none_or(|ack| !tcp.seq.before(ack));
        if let Some(timestamps) = tcp.options.timestamps
            && outstanding
        {
            let value = Seq(timestamps.value);
            self.highest_tsval = Some(self.highest_tsval.map_or(value, |highest| highest.later(value)));
        }
    }

    /// Stamps a packet that others may have overtaken with the highest TSval sent to the receiver.
    pub(super) fn stamp(&self, packet: &mut Packet) {
        if let Some(highest) = self.highest_tsval.filter(|_| self.monotone_timestamps) {
            stamp(packet, highest);
        }
    }

    /// Excludes all packets sent so far from round-trip measurements.
    pub(super) fn mark_times_ambiguous(&mut self) {
        for cached in self.cache.iter_mut() {
            cached.notes.ambiguous = true;
        }
        self.recovery.mark_times_ambiguous();
    }

    /// When the local timer is due.
    pub fn due(&self, settings: &Settings) -> Instant {
        let timeout = self.timing_since + self.timeout(settings);
        R::loss_due(self).map_or(timeout, |at| at.min(timeout))
    }

    /// A lower bound of the due time: no time-out is shorter than the minimum.
    pub(super) fn due_at_the_earliest(&self, settings: &Settings) -> Instant {
        R::loss_due(self).map_or(self.timing_since + settings.minimum_timeout, |_| Instant::ZERO)
    }

    /// The current local time-out.
    pub fn timeout(&self, settings: &Settings) -> Duration {
        self.rtt.timeout(settings, self.expiries, R::is_single(self))
    }

    /// Octets assumed to be on the hop. Overdue octets do not count, as in RFC 6298 and RFC 5681:
    /// they would block other connections for as long as this receiver is silent.
    pub fn in_flight(&self) -> u64 {
        match self.receiver {
            Receiver::Answers => R::outstanding(self),
            Receiver::Silent { overdue } => R::outstanding(self).saturating_sub(overdue),
            Receiver::GivenUp => 0,
        }
    }

    /// Whether no packet waits here, the receiver responds, and it has reported no missing data.
    pub(super) fn is_intact(&self) -> bool {
        !self.is_left_to_sender
            && self.recovery.is_complete()
            && self.waiting.is_empty()
            && self.hole_end.is_none()
            && self.expiries == 0
            && self.receiver == Receiver::Answers
    }

    /// Whether packets wait for room. No new data is sent to a silent receiver.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.receiver == Receiver::Answers
    }

    /// Octets that it may send though others have left no room on the hop.
    pub(super) fn reserved(&self, hop: &LastHop, targets: &Targets) -> u64 {
        self.pace.reserved(self.in_flight(), hop, targets)
    }

    /// Takes this portion of the waiting packets; see [`Waiting::take`].
    pub(super) fn take_waiting(&mut self, portion: Portion) -> Option<(Packet, bool)> {
        let (mut packet, is_whole) = self.waiting.take(portion)?;
        self.stamp(&mut packet);
        Some((packet, is_whole))
    }

    /// Whether an acknowledgment or a waiting packet needs the timer.
    pub fn needs_timer(&self) -> bool {
        R::waits_for_ack(self) || !self.waiting.is_empty()
    }

    /// Whether the sender's FIN is acknowledged, so that no more repairs are possible.
    pub fn is_finished(&self) -> bool {
        self.fin.zip(self.last_ack).is_some_and(|(fin, ack)| !fin.after(ack))
    }

    /// Reads a field of each cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn prefetch(&self) {
        black_box((
            self.cache.octets(),
            self.last_ack,
            self.highest,
            self.rtt.min(),
            self.waiting.packets().octets(),
            self.waiting.signaled_at(),
            self.timing_since,
            self.highest_tsval,
        ));
        self.recovery.prefetch();
    }

    /// Updates the memory account `in_all` of all flows for this flow. Returns the remaining
    /// memory.
    pub(super) fn charge(&mut self, in_all: &mut usize, budget: Budget) -> Room {
        let allocated = self.allocated();
        *in_all = *in_all - self.charged + allocated;
        self.charged = allocated;
        let room = budget.room(allocated, *in_all);
        self.spare = room.of_flow.min(room.in_all);
        room
    }

    /// Octets of memory charged to this flow in the agent's account.
    pub(super) const fn charged(&self) -> usize {
        self.charged
    }

    /// Octets of allocated memory, without the fixed state.
    pub fn allocated(&self) -> usize {
        self.cache.allocated() + self.waiting.packets().allocated() + self.recovery.allocated()
    }

    /// Octets in the cache.
    pub const fn octets(&self) -> usize {
        self.cache.octets()
    }

    /// Whether a packet belongs to another connection on the same ports, whose SYN took another
    /// path.
    pub fn is_another(&self, seq: Seq, end: Seq) -> bool {
        self.is_out_of_reach(seq) || self.is_out_of_reach(end)
    }

    /// Whether a sequence number is too far from the seen and cached data to belong to it.
    fn is_out_of_reach(&self, seq: Seq) -> bool {
        let first = self.cache.first().map(|first| first.seq);
        seq.is_out_of_reach(self.highest) || first.is_some_and(|first| seq.is_out_of_reach(first))
    }
}
