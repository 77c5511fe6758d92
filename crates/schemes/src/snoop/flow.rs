//! One direction of a connection, from the core to the radio side: its cache, and what its packets
//! and its timer do.

use std::hint::black_box;
use std::time::Duration;

use lasthop_agent::{Budget, Limits, PacketQueue, Room, SegmentCache, Slot};
use lasthop_hop::last_hop::{Pace, WayBack};
use lasthop_packet::{Instant, Packet, Seq};

use super::expectation::Duplicates;
use super::path_beyond::PathBeyond;
use super::rtt::HopRtt;
use super::scoreboard::Scoreboard;
use super::segmentation::{cut, stamp};
use super::settings::{LossDetection, Settings};

/// What Snoop knows of data on its way to one mobile host.
#[derive(Debug)]
pub struct SnoopFlow {
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
    /// What is to be done with the next duplicate ACK.
    pub(super) duplicates: Duplicates,
    /// Cached packets from here on are counted as those that elicit duplicate ACKs (snoop.cc,
    /// `expNextAck_`).
    pub(super) count_from: Seq,
    pub(super) rtt: HopRtt,
    /// When what measured the round-trip time last had left.
    pub(super) sample: Option<Instant>,
    /// What was delivered and what was lost, where that is to be told by SACK.
    pub(super) board: Option<Scoreboard>,
    /// Packets that wait for room in the local window, in order.
    pub(super) held: PacketQueue,
    /// The hop that it goes over, where it has a local window.
    pub(super) hop: Option<Slot>,
    /// How much of it arrives in a round trip over the hop.
    pub(super) pace: Pace,
    /// How late ACKs come.
    pub(super) way_back: WayBack,
    /// Octets of memory that the agent's account has for this flow.
    pub(super) charged: usize,
    /// Octets of memory that it might take more, when that was last counted.
    pub(super) spare: usize,
    /// The number behind what is held, or the highest that passed.
    pub(super) arrived: Seq,
    /// The last packet that was dropped to slow the sender down.
    pub(super) signal: Option<Signal>,
    /// When the timer was last started: what it waits for.
    pub(super) timing_since: Instant,
    /// How often the timer expired since the last progress.
    pub(super) expiries: u32,
    /// The TSval of the first copy that the timer has sent since the last ACK; `None` where copies have that
    /// of the original.
    pub(super) copied: Option<Seq>,
    /// Whether the receiver answers.
    pub(super) receiver: Receiver,
    /// What the sender sent again first since the receiver fell silent.
    pub(super) overdue: Option<Overdue>,
    /// Whether it is in the line of those that wait for room.
    pub(super) is_in_line: bool,
    /// What may pass without asking, as last said.
    pub(super) limits: Option<Limits>,
    /// The latest TSval that the receiver may have taken over.
    pub(super) highest_tsval: Option<Seq>,
    /// Whether copies carry it.
    pub(super) monotone_timestamps: bool,
    /// The path to the sender.
    pub(super) beyond: PathBeyond,
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

/// A segment that the sender sent again while its ACK was overdue.
#[derive(Clone, Copy, Debug)]
pub struct Overdue {
    pub(super) seq: Seq,
    /// The TSval that it had then.
    pub(super) tsval: Option<Seq>,
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

/// A packet that was dropped to slow the sender down.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Its number.
    pub(super) seq: Seq,
    /// When it was dropped.
    pub(super) at: Instant,
    /// Octets that waited then.
    pub(super) waiting: usize,
    /// Less has waited since the sender answered.
    pub(super) is_heeded: bool,
    /// How many signals in a row before this one were not heeded.
    pub(super) unheeded: u32,
    /// When the sender sent it again, and the number behind all that it had sent before: it slows down from
    /// there on.
    pub(super) answered: Option<(Instant, Seq)>,
}

impl SnoopFlow {
    /// A flow whose first packet seen starts at `seq`.
    pub fn new(settings: &Settings, seq: Seq) -> Self {
        Self {
            cache: SegmentCache::new(settings.cached_packets),
            last_ack: None,
            window: 0,
            hole_end: None,
            highest: seq,
            fin: None,
            duplicates: Duplicates::default(),
            count_from: seq,
            rtt: HopRtt::new(settings.initial_srtt, settings.initial_rttvar),
            sample: None,
            board: match settings.loss_detection {
                LossDetection::DuplicateAcks => None,
                LossDetection::Sack => Some(Scoreboard::new(settings.reordering)),
            },
            held: PacketQueue::new(),
            hop: None,
            pace: Pace::default(),
            way_back: WayBack::default(),
            charged: 0,
            spare: 0,
            arrived: seq,
            signal: None,
            timing_since: Instant::ZERO,
            expiries: 0,
            copied: None,
            receiver: Receiver::Answers,
            overdue: None,
            is_in_line: false,
            limits: None,
            highest_tsval: None,
            monotone_timestamps: settings.monotone_timestamps,
            beyond: PathBeyond::default(),
            is_left_to_sender: false,
        }
    }

    /// Forgets what it has of the data, as if the connection came here only now.
    pub(super) fn begin_anew(&mut self, settings: &Settings) {
        let Self {
            last_ack, window, fin, rtt, highest_tsval, hop, way_back, charged, limits, beyond, ..
        } = *self;
        let has_blocks = self.board.as_ref().is_some_and(|board| board.sack_seen);
        *self = Self {
            last_ack,
            window,
            fin,
            rtt,
            hop,
            way_back,
            charged,
            limits,
            highest_tsval,
            beyond,
            ..Self::new(settings, self.highest)
        };
        if let Some(board) = &mut self.board {
            board.sack_seen = has_blocks;
        }
    }

    /// Nothing that has left measures a round-trip time.
    pub(super) fn doubt_times(&mut self) {
        for cached in self.cache.iter_mut() {
            cached.notes.ambiguous = true;
        }
        if let Some(board) = &mut self.board {
            board.doubt_times();
        }
    }

    /// What the local timer retransmits: the packet that the receiver waits for, if it is cached
    /// and the window is open.
    pub fn on_timer(&mut self, limit: u32, now: Instant) -> Option<Packet> {
        self.expiries = self.expiries.saturating_add(1);
        let first = self.cache.first()?;
        if self.last_ack.is_some_and(|ack| first.seq.after(ack) || self.window == 0) {
            return None;
        }
        self.repair(limit, now)
    }

    /// A copy of what the receiver misses of the first cached packet; `None` if it was
    /// retransmitted `limit` times.
    pub fn repair(&mut self, limit: u32, now: Instant) -> Option<Packet> {
        let first = self.cache.first_mut()?;
        if first.notes.local >= limit {
            return None;
        }
        first.notes.local += 1;
        first.notes.ambiguous = true;
        first.notes.sent = now;
        self.count_from = first.end;

        let mut copy = first.packet.clone();
        let from = self.last_ack.map_or(first.seq, |ack| ack.later(first.seq));
        let to = self.hole_end.filter(|end| end.after(from)).map_or(first.end, |end| end.earlier(first.end));
        if from != first.seq || to != first.end {
            cut(&mut copy, from, to, first.end);
        }
        self.stamp(&mut copy);
        Some(copy)
    }

    /// Gives a packet that others may have overtaken the highest TSval that went to the receiver.
    pub(super) fn stamp(&self, packet: &mut Packet) {
        if let Some(highest) = self.highest_tsval.filter(|_| self.monotone_timestamps) {
            stamp(packet, highest);
        }
    }

    /// When the local timer has something to do: at the time-out, or where a segment has been
    /// overtaken by few, when it has had its time to come.
    pub fn due(&self, settings: &Settings) -> Instant {
        let timeout = self.timing_since + self.timeout(settings);
        self.doubt_ends().map_or(timeout, |at| at.min(timeout))
    }

    /// It is not due before this: no time-out is shorter than the least.
    pub fn due_at_the_earliest(&self, settings: &Settings) -> Instant {
        let is_doubtful = self.board.as_ref().is_some_and(|board| board.in_doubt_since().is_some());
        if is_doubtful { Instant::ZERO } else { self.timing_since + settings.minimum_timeout }
    }

    /// When what few segments have overtaken is lost.
    pub fn doubt_ends(&self) -> Option<Instant> {
        let board = self.board.as_ref()?;
        Some(board.in_doubt_since()? + self.rtt.reordering_window(board.tolerated()))
    }

    /// The local time-out now.
    pub fn timeout(&self, settings: &Settings) -> Duration {
        let is_single = match &self.board {
            Some(board) => board.is_single(),
            None => self.cache.len() <= 1,
        };
        self.rtt.timeout(settings, self.expiries, is_single)
    }

    /// Octets that left and are neither acknowledged nor known to be lost.
    pub(super) fn outstanding(&self) -> u64 {
        self.board.as_ref().map_or(self.cache.octets() as u64, Scoreboard::in_flight)
    }

    /// Octets that are taken to be on the hop. What is overdue is not, as in RFC 6298 and RFC 5681: it
    /// would keep others from being sent for as long as this receiver is silent.
    pub fn in_flight(&self) -> u64 {
        match self.receiver {
            Receiver::Answers => self.outstanding(),
            Receiver::Silent { overdue } => self.outstanding().saturating_sub(overdue),
            Receiver::GivenUp => 0,
        }
    }

    /// Whether something waits for room. To a silent receiver nothing new is sent.
    pub(super) fn is_waiting(&self) -> bool {
        !self.held.is_empty() && self.receiver == Receiver::Answers
    }

    /// Whether the timer has something to wait for.
    pub fn needs_timer(&self) -> bool {
        match &self.board {
            Some(board) => board.unsacked() > 0 || !self.held.is_empty(),
            None => !self.cache.is_empty() || !self.held.is_empty(),
        }
    }

    /// How many pieces the account may be divided into: in proportion to what is on its way, or a
    /// receiver that acknowledges single octets would make us keep more about the data than data;
    /// and no more than there is memory for.
    pub(super) fn ranges_allowed(&self) -> usize {
        let Some(board) = &self.board else { return 0 };
        let not_kept = (board.unsacked() as usize).saturating_sub(self.cache.octets());
        let not_kept = not_kept / board.segment().max(1) as usize;
        let allowed = 2 * self.cache.len() + self.cache.octets() / 512 + not_kept + 16;
        // One packet may lead to more than one division, and so to growth more than once.
        let is_short = self.spare < 4 * board.cost_of_growth();
        if is_short { allowed.min(board.spare_ranges()) } else { allowed }
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn look(&self) {
        black_box((
            self.cache.octets(),
            self.last_ack,
            self.highest,
            self.rtt.least(),
            self.sample,
            self.held.octets(),
            self.signal.map(|signal| signal.at),
            self.timing_since,
            self.highest_tsval,
        ));
        self.board.iter().for_each(Scoreboard::look);
    }

    /// Brings the account of memory, `in_all` for all flows, up to date with what it takes now. What
    /// it might take more.
    pub(super) fn charge(&mut self, in_all: &mut usize, budget: Budget) -> Room {
        let allocated = self.allocated();
        *in_all = *in_all - self.charged + allocated;
        self.charged = allocated;
        let room = budget.room(allocated, *in_all);
        self.spare = room.of_flow.min(room.in_all);
        room
    }

    /// Octets of memory that it takes, beside its fixed state.
    pub fn allocated(&self) -> usize {
        let board = self.board.as_ref().map_or(0, Scoreboard::allocated);
        self.cache.allocated() + self.held.allocated() + board
    }

    /// Octets in the cache.
    pub const fn octets(&self) -> usize {
        self.cache.octets()
    }

    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
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
