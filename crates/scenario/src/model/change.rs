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
    /// The keys that make it so, such as `links.air.loss`, and their values.
    pub set: Vec<(String, toml::Value)>,
}

/// A change of a link that ends again.
#[derive(Clone, Debug)]
pub struct LinkInterval {
    /// Index of the link.
    pub link: usize,
    /// The link with nothing but this change.
    pub within: LinkModel,
    /// The properties that it changes.
    pub properties: BTreeSet<Property>,
    /// When it begins for the first time, from the start of the run.
    pub first: Duration,
    /// How long it lasts.
    pub length: Duration,
    /// From one beginning to the next, if there are several.
    pub period: Option<Duration>,
}

/// A property of a link as a whole that can change.
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
    /// Delay, its variation, and order.
    Delay,
    /// The error process.
    Channel,
    /// Which packets it impairs.
    Selection,
    /// Which TCP connections it resets or refuses.
    Cut,
}
