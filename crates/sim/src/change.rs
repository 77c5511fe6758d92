//! Changes of a link while packets are on it.

use std::time::Duration;

use lasthop_packet::Instant;
use thiserror::Error;

use crate::capacity::Capacity;
use crate::channel::ChannelConfig;
use crate::cut::Cut;
use crate::delay::Delay;
use crate::faults::Faults;
use crate::id::LinkId;
use crate::loss::Loss;
use crate::queue::QueueConfig;
use crate::selection::Selection;

/// Which directions of a link a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDirection {
    /// From its first node to its second.
    Forward,
    /// From its second node to its first.
    Backward,
    /// Both.
    Both,
}

/// A change of a link. It is for what starts its transmission from now on, unless it says
/// otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Its capacity; on a wired link also for the rest of the packet that it is transmitting.
    Capacity(Capacity),
    /// Propagation delay, and whether packets may overtake each other.
    Delay(Delay),
    /// Loss; on a wired link, of packets that are sent into it from now on.
    Loss(Loss),
    /// The limit of its queue, and the settings of the queue's discipline; packets that wait already stay.
    Queue(QueueConfig),
    /// Packets that arrive twice, or with a wrong bit, among those that arrive from now on.
    Faults(Faults),
    /// The error process, from its good state on; always for both directions.
    Channel(ChannelConfig),
    /// Which packets it impairs, among those that are sent into it from now on; always in both
    /// directions.
    Selection(Selection),
    /// Which TCP connections it resets or refuses; always in both directions.
    Cut(Cut),
}

impl Change {
    /// Whether it is of what both directions have in common.
    pub(crate) const fn is_of_both(&self) -> bool {
        matches!(self, Self::Channel(_) | Self::Selection(_) | Self::Cut(_))
    }

    /// Whether it is over as soon as it is made: what held before holds on.
    pub(crate) const fn is_momentary(&self) -> bool {
        matches!(self, Self::Cut(Cut::Standing))
    }
}

/// A change of a link that is to come.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// When.
    pub at: Instant,
    /// Of which link.
    pub link: LinkId,
    /// In which directions.
    pub way: LinkDirection,
    /// What.
    pub change: Change,
}

/// A change that ends again, once or time after time: an outage, for example. Where the same property of
/// the same direction has several at a time, the last of them holds.
#[derive(Clone, Debug)]
pub struct PlannedInterval {
    /// Of which link.
    pub link: LinkId,
    /// In which direction. What both directions have in common counts as forward.
    pub way: LinkDirection,
    /// The property within the interval.
    pub within: Change,
    /// The property outside, of the same kind, until another change of it is made.
    pub outside: Change,
    /// When it begins for the first time.
    pub first: Instant,
    /// How long it lasts; shorter than the period.
    pub length: Duration,
    /// From one beginning to the next; `None` if there is only one.
    pub period: Option<Duration>,
}

/// Why a link cannot be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// Only wireless links have channels.
    #[error("a wired link has no channel")]
    NoChannel,
    /// An agent waits for the fate of each frame, and packets that pass around the link are in none.
    #[error(
        "an agent that watches the link requires the fate of each frame: not together with only and except"
    )]
    Fates,
    /// An 802.11 cell has no such settings a link.
    #[error("a link of an 802.11 cell cannot be changed in this way")]
    Radio,
    /// The packets that wait would have to be sorted into the new one's queues.
    #[error(
        "the discipline of a queue and the number of flows of FQ-CoDel cannot be changed while the link is in use; the other settings can"
    )]
    Discipline,
    /// The sender would not know how long to wait.
    #[error(
        "a link layer with acknowledgments requires a constant delay, packets in order, and a rate that is fixed"
    )]
    Acknowledged,
}
