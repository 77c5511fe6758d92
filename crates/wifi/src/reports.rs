//! What is told: each transmission, each arrival, what became of frames.

use super::frame::Receiver;
use super::output::{Fate, Output};

/// What is wanted of what need not be told.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Each transmission.
    pub(crate) attempts: bool,
    /// Of frames to one station more than their arrival and that they were given up.
    pub(crate) fates: bool,
    /// The times of each data frame that arrives.
    pub(crate) transmissions: bool,
}

impl Wanted {
    /// Whether a frame's fate is told.
    #[inline]
    pub(crate) fn has(&self, fate: Fate, to: Receiver) -> bool {
        self.fates || fate == Fate::GivenUp || to == Receiver::Broadcast
    }
}

/// What waits to be told.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    outputs: Vec<Output>,
    /// Of them, those that were told.
    told: usize,
}

impl Reports {
    /// Whether something waits.
    pub(crate) const fn has_next(&self) -> bool {
        self.told < self.outputs.len()
    }

    /// Whether nothing has come since [`Self::forget_told`].
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The next one.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<&Output> {
        let next = self.outputs.get(self.told)?;
        self.told += 1;
        Some(next)
    }

    /// Makes room, if all was told.
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
