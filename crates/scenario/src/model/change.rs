//! A change of a link at a given time.

use std::time::Duration;

use super::link::LinkModel;

/// A change of a link at a given time.
#[derive(Clone, Debug)]
pub struct LinkChange {
    /// When, from the start of the run.
    pub at: Duration,
    /// Index of the link.
    pub link: usize,
    /// What it is from then on.
    pub model: LinkModel,
    /// The keys that make it so, such as `links.air.loss`, and their values.
    pub set: Vec<(String, toml::Value)>,
}
