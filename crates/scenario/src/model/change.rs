//! A change of a link at a given time.

use std::collections::BTreeSet;
use std::time::Duration;

use super::link::LinkModel;

/// A change of a link at a given time.
#[derive(Clone, Debug)]
pub struct LinkChange {
    /// When, from the start of the run.
    pub at: Duration,
    /// Index of the link.
    pub link: usize,
    /// The link from then on.
    pub model: LinkModel,
    /// The keys that the change sets, such as `links.air.loss`, and their values.
    pub set: Vec<(String, toml::Value)>,
}

/// A change of a link that ends again, once or periodically.
#[derive(Clone, Debug)]
pub struct LinkInterval {
    /// Index of the link.
    pub link: usize,
    /// The link of the file with this change only.
    pub within: LinkModel,
    /// The properties that it changes.
    pub properties: BTreeSet<Property>,
    /// The time of its first beginning, from the start of the run.
    pub first: Duration,
    /// How long it lasts.
    pub length: Duration,
    /// The time from one beginning to the next; `None` if it begins once.
    pub period: Option<Duration>,
}

/// A property of a link that can change during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Rate or trace.
    Capacity,
    /// Queue.
    Queue,
    /// Loss.
    Loss,
    /// Duplicates and wrong bits.
    Faults,
    /// Delay, its variation, and whether packets may overtake each other.
    Delay,
    /// The error process.
    Channel,
    /// Which packets it impairs.
    Selection,
    /// Which TCP connections it resets or refuses.
    Cut,
}
