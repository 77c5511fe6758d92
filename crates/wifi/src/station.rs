//! A station's own part of the distributed coordination function: its retry counters, its contention
//! window, its sequence numbers (IEEE 802.11-2012, 9.3.3, 9.3.4.4, 9.3.2.11).

use std::collections::VecDeque;

use lasthop_link::{FairQueue, Length, QueueLimit};
use lasthop_packet::{Instant, Rng};

use super::frame::{Kind, MacFrame, OwnFrame};
use super::knowledge::Knowledge;
use super::phy::Rate as DataRate;
use super::plan::Plan;
use super::propagation::Position;
use super::round::Round;
use super::used::Used;
use crate::id::StationId;

/// A station.
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// Where it stands.
    pub position: Position,
    /// The rate of its data frames; the cell's if `None`. A frame goes at the lower of its sender's
    /// and its receiver's rate.
    pub rate: Option<DataRate>,
    /// How much may wait in its interface queue, the frame that is being transmitted not counted.
    /// ns-2's and Linux's customs are 50 and 1000 packets.
    pub queue: QueueLimit,
    /// Which frame of its queue is next.
    pub scheduler: Scheduler,
    /// Its `dot11ShortRetryLimit`, which is above zero; the cell's if `None`.
    pub short_retry_limit: Option<u32>,
    /// Whether it knows options in frames without an agent that does; default false.
    pub knows_options: bool,
}

impl Default for StationConfig {
    fn default() -> Self {
        Self {
            position: Position::default(),
            rate: None,
            queue: QueueLimit::Packets(50),
            scheduler: Scheduler::Fifo,
            short_retry_limit: None,
            knows_options: false,
        }
    }
}

/// In which order the frames of a station's queue go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// First in, first out; what finds no room is dropped.
    #[default]
    Fifo,
    /// The flows take turns, octet for octet; where there is no room, the flow with most octets loses
    /// its last frame.
    PerFlow,
    /// Each receiver has a queue, and they are served round robin: a turn is one transmission. A
    /// frame that was not acknowledged waits for its next turn, with the attempts that it has left
    /// (S. Goel, thesis of 1997, section 4.2, item 8, and `no_of_attempts` of section 4.3.1, item 5).
    /// What finds no room is dropped.
    PerReceiver,
}

/// Where a station's back-off stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackOff {
    /// Over, and nothing to send.
    None,
    /// It counts down with its domain and transmits when the domain's slot counter reaches this.
    Counting(u64),
    /// The same with nothing to send: post-back-off. No event comes of it.
    Post(u64),
    /// It counts down at its own pace for this idle period.
    Apart,
    /// Over: it transmits at a moment that is set, and does not sense what has begun since.
    Committed,
    /// It transmits, or waits for a response.
    Exchanging,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: MacFrame,
    pub(crate) arrived: Instant,
}

impl Length for Queued {
    fn octets(&self) -> u32 {
        self.frame.octets
    }
}

/// What became of the frame in a station's hands so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempts {
    /// Transmissions of the data frame or, if that failed, of its RTS.
    pub(crate) transmissions: u32,
    /// Short retry count.
    pub(crate) short: u32,
    /// Long retry count.
    pub(crate) long: u32,
    /// Nanoseconds of its sender's frames for it.
    pub(crate) air_time: u64,
    /// When it came to the head of the queue.
    pub(crate) head: Instant,
    /// When its first transmission began.
    pub(crate) first: Instant,
    /// When the present one began.
    pub(crate) began: Instant,
    /// Whether the present one has come to the data frame.
    pub(crate) data_sent: bool,
    /// Whether that frame has arrived.
    pub(crate) arrived: bool,
    /// Whether that of any transmission has.
    pub(crate) delivered: bool,
    /// Whether the receiver of the present one refused frames when it began.
    pub(crate) is_refused: bool,
    /// Octets of options in the frame's MAC header; 0 for a standard frame.
    pub(crate) options: u16,
    /// The frame of the present one that errors will take, where that was drawn when it began.
    pub(crate) to_be_lost: Option<Kind>,
}

/// A frame that was transmitted, not acknowledged, and put aside for other receivers.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) queued: Queued,
    pub(crate) attempts: Attempts,
    pub(crate) sequence: u16,
}

#[derive(Debug)]
pub(crate) struct Station {
    /// The number of its sense domain. Stations that come to hear the same stay apart if they have
    /// been so: each knows what it has heard.
    pub(crate) domain: u32,
    pub(crate) position: Position,
    pub(crate) rate: DataRate,
    pub(crate) limit: QueueLimit,
    pub(crate) queue: VecDeque<Queued>,
    pub(crate) queued_octets: u64,
    /// Frames that wait behind those, where flows take turns.
    pub(crate) flows: Option<Box<FairQueue<Queued>>>,
    /// Frames that wait behind those, where receivers take turns.
    pub(crate) receivers: Option<Box<Round<Queued, Begun>>>,
    /// Its `dot11ShortRetryLimit`.
    pub(crate) short_retry_limit: u32,
    /// Whether there is a frame, in the queue or of its own.
    pub(crate) has_frame: bool,
    /// Frames behind the head that went before others (`own_frames`).
    pub(crate) ahead: usize,
    /// A frame that it sends before that at the head of the queue, which it may have begun with.
    pub(crate) own: Option<OwnFrame>,
    /// The next one, while it transmits.
    pub(crate) next_own: Option<OwnFrame>,
    /// What became of the frame at the head of the queue, while there is one of its own.
    pub(crate) set_aside: Attempts,
    pub(crate) back_off: BackOff,
    /// Nanoseconds of its inter-frame space in the idle period that begins at a moment, where its
    /// domain's is not its own: after a frame that it has sent, and after one for it that it lost.
    pub(crate) own_ifs: Option<(Instant, u64)>,
    /// Entries of its contention with another stamp are not valid any more.
    pub(crate) stamp: u32,
    pub(crate) cw: u32,
    pub(crate) sequence: u16,
    pub(crate) attempts: Attempts,
    pub(crate) used: Used,
    /// The frames of the exchange that is under way, or of the last one.
    pub(crate) plan: Option<Plan>,
    /// It neither takes nor acknowledges data frames.
    pub(crate) refuses: bool,
    /// The sequence number last received from each station, as the duplicate filter has it; 12
    /// bits, or [`NOTHING_YET`].
    heard: Vec<u16>,
    /// Whether it knows options in frames.
    pub(crate) knows_options: bool,
    /// What it knows of each station that it has sent options to.
    pub(crate) neighbours: Vec<Knowledge>,
    pub(crate) rng: Rng,
}

const NOTHING_YET: u16 = u16::MAX;

/// What follows from a failed transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    Retry,
    GiveUp,
}

impl Station {
    pub(crate) fn new(
        config: &StationConfig,
        domain: u32,
        rate: DataRate,
        (cw_min, short_retry_limit): (u32, u32),
        rng: Rng,
    ) -> Self {
        Self {
            domain,
            position: config.position,
            rate,
            limit: config.queue,
            queue: VecDeque::new(),
            queued_octets: 0,
            flows: (config.scheduler == Scheduler::PerFlow).then(Box::default),
            receivers: (config.scheduler == Scheduler::PerReceiver).then(Box::default),
            short_retry_limit: config.short_retry_limit.unwrap_or(short_retry_limit),
            has_frame: false,
            ahead: 0,
            own: None,
            next_own: None,
            set_aside: Attempts::default(),
            back_off: BackOff::None,
            own_ifs: None,
            stamp: 0,
            cw: cw_min,
            sequence: 0,
            attempts: Attempts::default(),
            used: Used::default(),
            plan: None,
            refuses: false,
            heard: Vec::new(),
            knows_options: config.knows_options,
            neighbours: Vec::new(),
            rng,
        }
    }

    pub(crate) const fn has_frame(&self) -> bool {
        self.has_frame
    }

    /// Whether an exchange of its own is under way, or sure to begin.
    pub(crate) const fn is_transmitting(&self) -> bool {
        matches!(self.back_off, BackOff::Committed | BackOff::Exchanging)
    }

    /// A back-off of 0 to CW slots (9.3.3).
    pub(crate) fn draw(&mut self) -> u64 {
        self.rng.below(u64::from(self.cw) + 1)
    }

    /// No response came: counts it, and doubles CW up to CWmax (9.3.3, 9.3.4.4). `was_long`: it was
    /// the data frame after an RTS.
    pub(crate) fn failed(
        &mut self,
        was_long: bool,
        long_limit: u32,
        (cw_min, cw_max): (u32, u32),
    ) -> AfterFailure {
        let short_limit = self.short_retry_limit;
        let count = if was_long { &mut self.attempts.long } else { &mut self.attempts.short };
        *count += 1;
        if self.attempts.short >= short_limit || self.attempts.long >= long_limit {
            self.cw = cw_min;
            AfterFailure::GiveUp
        } else {
            self.cw = self.cw.saturating_mul(2).saturating_add(1).min(cw_max);
            AfterFailure::Retry
        }
    }

    /// Whether a frame is no copy of the one before it (9.3.2.11).
    pub(crate) fn is_new(&mut self, from: StationId, sequence: u16, is_retry: bool) -> bool {
        let index = from.index();
        if self.heard.len() <= index {
            self.heard.resize(index + 1, NOTHING_YET);
        }
        let is_copy = is_retry && self.heard[index] == sequence;
        self.heard[index] = sequence;
        !is_copy
    }
}
