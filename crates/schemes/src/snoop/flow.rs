//! One direction of a connection, from the core to the radio side: what is known of it whichever way its losses
//! are detected, and what it leaves to that way.

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

/// How losses on the hop are detected, and what is done about them: as published, or for today's TCP.
pub trait Recovery: Debug + Send + Sized + 'static {
    /// Whether headers are enough of what passes over a hop that loses nothing.
    const HEADERS_SUFFICE: bool;

    /// What is known of a flow whose first packet seen starts at `seq`.
    fn new(settings: &Settings, seq: Seq) -> Self;

    /// The same where only what is known of the receiver stays.
    #[must_use]
    fn anew(&self, settings: &Settings, seq: Seq) -> Self;

    /// Takes note of a packet with sequence space that goes to the radio side. `room` is the memory that may still
    /// be taken.
    fn on_data(
        flow: &mut SnoopFlow<Self>,
        packet: &Packet,
        settings: &Settings,
        room: Room,
        now: Instant,
    ) -> DataEffect;

    /// Takes note of a packet from the radio side, by the acknowledgment in it: sends copies of what is lost, and
    /// edits it.
    fn on_ack(
        flow: &mut SnoopFlow<Self>,
        packet: &mut Packet,
        settings: &Settings,
        cx: &mut Context<'_>,
    ) -> AckEffect;

    /// The local timer expired.
    fn on_timer(flow: &mut SnoopFlow<Self>, settings: &Settings, cx: &mut Context<'_>) -> TimerEffect;

    /// When a loss shows by time alone; `None`: by the time-out only.
    fn loss_due(_flow: &SnoopFlow<Self>) -> Option<Instant> {
        None
    }

    /// Whether at most one segment is outstanding, whose ACK may be delayed.
    fn is_single(flow: &SnoopFlow<Self>) -> bool;

    /// Whether the timer has an acknowledgment to wait for.
    fn waits_for_ack(flow: &SnoopFlow<Self>) -> bool;

    /// Octets that left and are neither acknowledged nor known to be lost.
    fn outstanding(flow: &SnoopFlow<Self>) -> u64;

    /// Whether the receiver has reported nothing to be missing.
    fn is_complete(&self) -> bool;

    /// Whether the receiver has sent SACK blocks.
    fn has_seen_sack(&self) -> bool {
        false
    }

    /// Whether a packet has the data of a cached one in smaller segments, so that copies of that are of no use.
    fn is_segmented_anew(_flow: &SnoopFlow<Self>, _packet: &Packet) -> bool {
        false
    }

    /// Nothing that has left measures a round-trip time.
    fn mark_times_ambiguous(&mut self) {}

    /// Octets of memory that it takes, beside its fixed state.
    fn allocated(&self) -> usize {
        0
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::prefetch`].
    fn look(&self) {}

    /// What moves with the flow of it.
    fn save(flow: &SnoopFlow<Self>) -> SavedRecovery;

    /// When what starts at `seq` last left, and whether it left more than once, where that is not noted in the
    /// cache.
    fn departure(&self, _seq: Seq) -> Option<(Instant, bool)> {
        None
    }

    /// Goes on from what moved here.
    fn restore(&mut self, saved: &SavedRecovery);

    /// Octets of memory that it takes more for one more cached packet.
    fn cost_of_one(&self) -> usize {
        0
    }

    /// A packet that moved here is in the cache, with these notes.
    fn on_restored(&mut self, _packet: &Packet, _notes: &Notes) {}
}

/// What Snoop knows of data on its way to one mobile host.
#[derive(Debug)]
pub struct SnoopFlow<R> {
    /// How its losses are detected and repaired.
    pub(super) recovery: R,
    /// Data that passed and is not acknowledged.
    pub(super) cache: SegmentCache<Notes>,
    /// The highest acknowledgment number that passed; `None` until one did.
    pub(super) last_ack: Option<Seq>,
    /// The window that came with it, unscaled.
    pub(super) window: u16,
    /// Where the receiver's first hole ends, as far as its SACK blocks have said since `last_ack`.
    pub(super) hole_end: Option<Seq>,
    /// The number behind all data that passed, cached or not.
    pub(super) highest: Seq,
    /// The number behind the sender's FIN.
    pub(super) fin: Option<Seq>,
    pub(super) rtt: HopRtt,
    /// When the timer was last started: what it waits for.
    pub(super) timing_since: Instant,
    /// How often the timer expired since the last progress.
    pub(super) expiries: u32,
    /// Whether the receiver answers.
    pub(super) receiver: Receiver,
    /// Packets that wait for room in the local window.
    pub(super) waiting: Waiting,
    /// The number behind what waits, or the highest that passed.
    pub(super) arrived: Seq,
    /// The hop that it goes over, where it has a local window.
    pub(super) hop: Option<Slot>,
    /// How much of it arrives in a round trip over the hop.
    pub(super) pace: Pace,
    /// Whether it is in the line of those that wait for room.
    pub(super) is_in_line: bool,
    /// Octets of memory that the agent's account has for this flow.
    charged: usize,
    /// Octets of memory that were left for it when its memory was last counted.
    pub(super) spare: usize,
    /// What bypasses the agent, as it was last allowed.
    pub(super) limits: Option<Limits>,
    /// The latest TSval that the receiver may have taken over.
    pub(super) highest_tsval: Option<Seq>,
    /// Whether copies carry it.
    pub(super) monotone_timestamps: bool,
    /// The path to the sender.
    pub(super) beyond: CorePath,
    /// Its sender does as well without us: all of it passes untouched.
    pub(super) is_left_to_sender: bool,
}

/// Whether a receiver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// It does, or that is not known yet.
    Answers,
    /// The local timer has expired since it last acknowledged something.
    Silent {
        /// Octets that had left by then and were not acknowledged.
        overdue: u64,
    },
    /// It did so as often as retransmissions are allowed: nothing waits for it any more.
    GivenUp,
}

/// What is noted on a cached packet.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    /// When it last left towards the receiver.
    pub(super) sent: Instant,
    /// Local retransmissions since the sender last sent it.
    pub(super) local: u32,
    /// Whether the sender retransmitted it.
    pub(super) by_sender: bool,
    /// Whether it left more than once, or may have: it measures no round-trip time (Karn's rule).
    pub(super) ambiguous: bool,
}

/// A packet with sequence space that passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    pub(super) seq: Seq,
    pub(super) end: Seq,
    /// It starts below what passed before.
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
            beyond: CorePath::default(),
            is_left_to_sender: false,
        }
    }

    /// Forgets what it has of the data, as if the connection came here only now.
    pub(super) fn begin_anew(&mut self, settings: &Settings) {
        let recovery = self.recovery.anew(settings, self.highest);
        let Self { last_ack, window, fin, rtt, highest_tsval, hop, charged, limits, beyond, .. } = *self;
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
            beyond,
            ..Self::new(settings, self.highest)
        };
    }

    /// Forgets all but the memory that it has taken and where it goes: its sender does as well without us.
    pub(super) fn leave_to_sender(&mut self, settings: &Settings) {
        let Self { charged, limits, hop, highest, .. } = *self;
        *self = Self { charged, limits, hop, is_left_to_sender: true, ..Self::new(settings, highest) };
    }

    /// Takes note of a packet with sequence space that goes to the radio side.
    pub(super) fn note_passing(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) -> Passing {
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        self.note_timestamp(tcp);
        self.beyond.on_down(tcp, now);
        if tcp.flags.has(TcpFlags::FIN) {
            self.fin = Some(end);
        }
        let is_late = seq.before(self.highest);
        self.highest = self.highest.later(end);
        self.arrived = self.arrived.later(end);
        // The receiver has it; its own duplicate ACK will tell the sender.
        let is_acknowledged = self.last_ack.is_some_and(|ack| !end.after(ack));
        Passing { seq, end, is_late, is_acknowledged }
    }

    /// The bound that keeps a packet out of the cache, if there is one.
    pub(super) fn bound_on(&self, sizes: Sizes, settings: &Settings, room: Room) -> Option<&'static str> {
        if self.cache.is_full() {
            Some("cached packets of a connection")
        } else if self.octets().saturating_add(sizes.octets) > settings.cached_octets {
            Some("cached octets of a connection")
        } else {
            room.lacks(self.cache.cost_of(sizes) + self.recovery.cost_of_one())
        }
    }

    /// Takes note of the timestamp of a packet from the core side.
    ///
    /// Only of one that the receiver may take over as TS.Recent (RFC 7323, section 4.3): one that
    /// starts within what is outstanding. So nobody outside the path can make us stamp copies with
    /// a TSval from the future, after which the receiver would refuse the true sender for good.
    pub fn note_timestamp(&mut self, tcp: &Tcp) {
        let outstanding =
            !tcp.seq.after(self.highest) && self.last_ack.is_none_or(|ack| !tcp.seq.before(ack));
        if let Some(timestamps) = tcp.options.timestamps
            && outstanding
        {
            let value = Seq(timestamps.value);
            self.highest_tsval = Some(self.highest_tsval.map_or(value, |highest| highest.later(value)));
        }
    }

    /// Gives a packet that others may have overtaken the highest TSval that went to the receiver.
    pub(super) fn stamp(&self, packet: &mut Packet) {
        if let Some(highest) = self.highest_tsval.filter(|_| self.monotone_timestamps) {
            stamp(packet, highest);
        }
    }

    /// Nothing that has left measures a round-trip time.
    pub(super) fn mark_times_ambiguous(&mut self) {
        for cached in self.cache.iter_mut() {
            cached.notes.ambiguous = true;
        }
        self.recovery.mark_times_ambiguous();
    }

    /// When the local timer has something to do.
    pub fn due(&self, settings: &Settings) -> Instant {
        let timeout = self.timing_since + self.timeout(settings);
        R::loss_due(self).map_or(timeout, |at| at.min(timeout))
    }

    /// It is not due before this: no time-out is shorter than the least.
    pub(super) fn due_at_the_earliest(&self, settings: &Settings) -> Instant {
        R::loss_due(self).map_or(self.timing_since + settings.minimum_timeout, |_| Instant::ZERO)
    }

    /// The local time-out now.
    pub fn timeout(&self, settings: &Settings) -> Duration {
        self.rtt.timeout(settings, self.expiries, R::is_single(self))
    }

    /// Octets that are taken to be on the hop. What is overdue is not, as in RFC 6298 and RFC 5681: it
    /// would keep others from being sent for as long as this receiver is silent.
    pub fn in_flight(&self) -> u64 {
        match self.receiver {
            Receiver::Answers => R::outstanding(self),
            Receiver::Silent { overdue } => R::outstanding(self).saturating_sub(overdue),
            Receiver::GivenUp => 0,
        }
    }

    /// Whether nothing waits here, the receiver answers, and it has reported nothing to be missing.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_left_to_sender
            && self.recovery.is_complete()
            && self.waiting.is_empty()
            && self.hole_end.is_none()
            && self.expiries == 0
            && self.receiver == Receiver::Answers
    }

    /// Whether something waits for room. To a silent receiver nothing new is sent.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.receiver == Receiver::Answers
    }

    /// Octets that it may send though others have left no room.
    pub(super) fn reserved(&self, hop: &LastHop, targets: &Targets) -> u64 {
        self.pace.reserved(self.in_flight(), hop, targets)
    }

    /// Takes this portion of what waits; see [`Waiting::take`].
    pub(super) fn take_waiting(&mut self, portion: Portion) -> Option<(Packet, bool)> {
        let (mut packet, is_whole) = self.waiting.take(portion)?;
        self.stamp(&mut packet);
        Some((packet, is_whole))
    }

    /// Whether the timer has something to wait for.
    pub fn needs_timer(&self) -> bool {
        R::waits_for_ack(self) || !self.waiting.is_empty()
    }

    /// Whether the sender's FIN is acknowledged: there is nothing left to repair, ever.
    pub fn is_finished(&self) -> bool {
        self.fin.zip(self.last_ack).is_some_and(|(fin, ack)| !fin.after(ack))
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn look(&self) {
        black_box((
            self.cache.octets(),
            self.last_ack,
            self.highest,
            self.rtt.least(),
            self.waiting.packets().octets(),
            self.waiting.signalled_at(),
            self.timing_since,
            self.highest_tsval,
        ));
        self.recovery.look();
    }

    /// Brings the account of memory, `in_all` for all flows, up to date with what it takes now. Returns
    /// what is left.
    pub(super) fn charge(&mut self, in_all: &mut usize, budget: Budget) -> Room {
        let allocated = self.allocated();
        *in_all = *in_all - self.charged + allocated;
        self.charged = allocated;
        let room = budget.room(allocated, *in_all);
        self.spare = room.of_flow.min(room.in_all);
        room
    }

    /// Octets of memory that the agent's account has for this flow.
    pub(super) const fn charged(&self) -> usize {
        self.charged
    }

    /// Octets of memory that it takes, beside its fixed state.
    pub fn allocated(&self) -> usize {
        self.cache.allocated() + self.waiting.packets().allocated() + self.recovery.allocated()
    }

    /// Octets in the cache.
    pub const fn octets(&self) -> usize {
        self.cache.octets()
    }

    /// Whether a packet belongs to another connection on the same ports, whose SYN went another
    /// way.
    pub fn is_another(&self, seq: Seq, end: Seq) -> bool {
        self.is_out_of_reach(seq) || self.is_out_of_reach(end)
    }

    /// Whether a number is so far from the data seen and cached that it cannot belong to it.
    fn is_out_of_reach(&self, seq: Seq) -> bool {
        let first = self.cache.first().map(|first| first.seq);
        seq.is_out_of_reach(self.highest) || first.is_some_and(|first| seq.is_out_of_reach(first))
    }
}
