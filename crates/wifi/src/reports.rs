//! Outputs that the caller has not taken yet.

use super::frame::Receiver;
use super::output::{Fate, Output};

/// The optional outputs that the caller has requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The outcome of each transmission.
    pub(crate) attempts: bool,
    /// All fates of unicast frames, not only [`Fate::GivenUp`].
    pub(crate) fates: bool,
    /// The times of each data frame that arrives.
    pub(crate) transmissions: bool,
}

impl Wanted {
    /// Whether a frame's fate is reported.
    #[inline]
    pub(crate) fn has(self, fate: Fate, to: Receiver) -> bool {
        self.fates || fate == Fate::GivenUp || to == Receiver::Broadcast
    }
}

/// Outputs that the caller has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    outputs: Vec<Output>,
    /// The number of outputs that the caller has taken.
    told: usize,
}

impl Reports {
    /// Whether there is a next output.
    pub(crate) const fn has_next(&self) -> bool {
        self.told < self.outputs.len()
    }

    /// Whether no output was added since the last [`Self::forget_told`].
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Takes the next output.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<&Output> {
        let next = self.outputs.get(self.told)?;
        self.told += 1;
        Some(next)
    }

    /// Frees the space if the caller has taken all outputs.
    pub(crate) fn forget_told(&mut self) {
        if !self.has_next() {
            self.outputs.clear();
            self.told = 0;
        }
    }

    #[inline]
    pub(crate) fn extend(&mut self, outputs: impl IntoIterator<Item = Output>) {
        self.outputs.extend(outputs);
    }
}
