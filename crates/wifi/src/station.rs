//! A station: its configuration, and what it has received.

pub(crate) mod reordering;

use std::collections::BTreeMap;

use lasthop_link::QueueLimit;
use lasthop_packet::Instant;

use super::frame::MacFrame;
use super::knowledge::OptionsKnowledge;
use super::phy::Rate as DataRate;
use super::propagation::Position;
use reordering::Reordering;

/// A channel, by its number. Channels do not overlap: nobody hears a frame of another channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u16);

/// The configuration of a station.
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// Its position.
    pub position: Position,
    /// The channel that it is tuned to at first; `None`: it is off the air. Default channel 0.
    pub channel: Option<Channel>,
    /// The rate of its data frames; `None` for the cell's. A frame is sent at the lower of its
    /// sender's and its receiver's rate.
    pub rate: Option<DataRate>,
    /// The limit of its interface queue, in which the frame that is being transmitted does not
    /// count. Default 50 packets, as in ns-2; Linux has 1000.
    pub queue: QueueLimit,
    /// The order in which its queued frames are transmitted.
    pub scheduler: Scheduler,
    /// Its `dot11ShortRetryLimit`, at least 1; `None` for the cell's.
    pub short_retry_limit: Option<u32>,
    /// Whether it understands options in frames even if it has no agent that does. Default false.
    pub knows_options: bool,
}

impl Default for StationConfig {
    fn default() -> Self {
        Self {
            position: Position::default(),
            channel: Some(Channel::default()),
            rate: None,
            queue: QueueLimit::Packets(50),
            scheduler: Scheduler::Fifo,
            short_retry_limit: None,
            knows_options: false,
        }
    }
}

/// The order in which a station's queued frames are transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// First in, first out. A frame that finds the queue full is dropped.
    #[default]
    Fifo,
    /// Flows take turns such that each transmits the same number of octets. If the queue is full,
    /// the flow with the most octets loses its last frame.
    PerFlow,
    /// A queue for each receiver, served round robin, one transmission at a time. A frame that was
    /// not acknowledged waits for its receiver's next turn and keeps its retry counts (S. Goel,
    /// thesis of 1997, section 4.2, item 8, and `no_of_attempts` of section 4.3.1, item 5). A frame
    /// that finds the queue full is dropped.
    PerReceiver,
}

/// The state of a station that does not belong to one of its contenders.
#[derive(Debug)]
pub(crate) struct Station {
    refuses: bool,
    packets: DuplicateFilter,
    raw: DuplicateFilter,
    options: OptionsKnowledge,
    /// The block ack agreements of contenders with it.
    agreements: BTreeMap<u32, Agreement>,
    /// The initiator and the beginning of the exchange in which it answered last.
    answered: Option<(u32, Instant)>,
}

/// A block ack agreement, at its recipient.
#[derive(Debug)]
struct Agreement {
    reordering: Reordering,
    /// Whether it is known when frames that wait are to be released.
    is_watched: bool,
}

impl Station {
    pub(crate) fn new(config: &StationConfig) -> Self {
        let options = OptionsKnowledge::new(config.knows_options);
        Self {
            refuses: false,
            packets: DuplicateFilter::default(),
            raw: DuplicateFilter::default(),
            options,
            agreements: BTreeMap::new(),
            answered: None,
        }
    }

    /// Whether it neither accepts nor acknowledges data frames.
    #[inline]
    pub(crate) const fn refuses(&self) -> bool {
        self.refuses
    }

    /// Sets whether it refuses data frames.
    pub(crate) const fn refuse(&mut self, refuses: bool) {
        self.refuses = refuses;
    }

    /// Receives a data frame from a contender. Returns whether it is new.
    #[inline]
    pub(crate) fn receive(&mut self, from: u32, sequence: u16, is_retry: bool) -> bool {
        self.packets.receive(from, sequence, is_retry)
    }

    /// As [`Self::receive`], a raw frame. Its number is from a counter of its own: it may be sent
    /// between two transmissions of a packet.
    pub(crate) fn receive_raw(&mut self, from: u32, sequence: u16, is_retry: bool) -> bool {
        self.raw.receive(from, sequence, is_retry)
    }

    /// The reordering buffer for the frames of a contender. `window`: that of its agreement.
    pub(crate) fn reordering(&mut self, from: u32, window: u16) -> &mut Reordering {
        let new = || Agreement { reordering: Reordering::new(window), is_watched: false };
        &mut self.agreements.entry(from).or_insert_with(new).reordering
    }

    /// When the oldest frame of a contender arrived that waits for others; `None` if none does, or
    /// [`Self::give_up_gap`] follows already.
    pub(crate) fn watch_gap(&mut self, from: u32) -> Option<Instant> {
        let agreement = self.agreements.get_mut(&from).filter(|agreement| !agreement.is_watched)?;
        let since = agreement.reordering.waits_since()?;
        agreement.is_watched = true;
        Some(since)
    }

    /// Releases the frames of a contender that arrived at `latest` or earlier and wait for others.
    pub(crate) fn give_up_gap(&mut self, from: u32, latest: Instant, release: &mut impl FnMut(MacFrame)) {
        if let Some(agreement) = self.agreements.get_mut(&from) {
            agreement.is_watched = false;
            agreement.reordering.give_up(latest, release);
        }
    }

    /// It answers a frame of an exchange: its initiator and its beginning.
    pub(crate) const fn answer(&mut self, initiator: u32, began: Instant) {
        self.answered = Some((initiator, began));
    }

    /// The exchange in which it answered last, as in [`Self::answer`].
    pub(crate) const fn answered(&self) -> Option<(u32, Instant)> {
        self.answered
    }

    /// What it knows about options in frames.
    pub(crate) const fn options(&self) -> &OptionsKnowledge {
        &self.options
    }

    /// [`Self::options`], to be changed.
    pub(crate) const fn options_mut(&mut self) -> &mut OptionsKnowledge {
        &mut self.options
    }
}

/// The sequence number last received from each contender; 12 bits, or [`NOTHING_YET`].
#[derive(Debug, Default)]
struct DuplicateFilter(Vec<u16>);

const NOTHING_YET: u16 = u16::MAX;

impl DuplicateFilter {
    /// Receives a frame. Returns whether it is new.
    #[inline]
    fn receive(&mut self, from: u32, sequence: u16, is_retry: bool) -> bool {
        let index = from as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, NOTHING_YET);
        }
        //= IEEE 802.11-2020, 10.3.2.14: a retry with the sequence number of the last frame is discarded.
        let is_duplicate = is_retry && self.0[index] == sequence;
        self.0[index] = sequence;
        !is_duplicate
    }
}
