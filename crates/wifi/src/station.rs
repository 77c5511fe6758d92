//! A station.

use lasthop_link::QueueLimit;

use super::knowledge::OptionsKnowledge;
use super::phy::Rate as DataRate;
use super::propagation::Position;

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

/// What belongs to a station whatever it contends for.
#[derive(Debug)]
pub(crate) struct Station {
    refuses: bool,
    /// The sequence number last received from each contender; 12 bits, or [`NOTHING_YET`].
    heard: Vec<u16>,
    options: OptionsKnowledge,
}

const NOTHING_YET: u16 = u16::MAX;

impl Station {
    pub(crate) fn new(config: &StationConfig) -> Self {
        let options = OptionsKnowledge::new(config.knows_options);
        Self { refuses: false, heard: Vec::new(), options }
    }

    /// Whether it neither takes nor acknowledges data frames.
    #[inline]
    pub(crate) const fn refuses(&self) -> bool {
        self.refuses
    }

    /// Sets that.
    pub(crate) const fn refuse(&mut self, refuses: bool) {
        self.refuses = refuses;
    }

    /// Receives a data frame from a contender. Returns whether it is new.
    #[inline]
    pub(crate) fn receive(&mut self, from: u32, sequence: u16, is_retry: bool) -> bool {
        let index = from as usize;
        if self.heard.len() <= index {
            self.heard.resize(index + 1, NOTHING_YET);
        }
        //= IEEE 802.11-2020, 10.3.2.14: a retry with the sequence number of the last frame is discarded.
        let is_duplicate = is_retry && self.heard[index] == sequence;
        self.heard[index] = sequence;
        !is_duplicate
    }

    /// What it knows of options in frames.
    pub(crate) const fn options(&self) -> &OptionsKnowledge {
        &self.options
    }

    /// As [`Self::options`].
    pub(crate) const fn options_mut(&mut self) -> &mut OptionsKnowledge {
        &mut self.options
    }
}
