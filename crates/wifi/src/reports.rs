//! What is told: each transmission, each arrival, what became of frames.

use super::frame::Receiver;
use super::output::{Fate, Output};

/// What waits to be told, and what is wanted.
#[derive(Debug)]
pub(crate) struct Reports {
    outputs: Vec<Output>,
    /// Of them, those that were told.
    told: usize,
    attempts: bool,
    fates: bool,
    transmissions: bool,
}

impl Reports {
    pub(crate) const fn new() -> Self {
        Self { outputs: Vec::new(), told: 0, attempts: false, fates: true, transmissions: false }
    }

    pub(crate) const fn tell_attempts(&mut self, tell: bool) {
        self.attempts = tell;
    }

    pub(crate) const fn tell_fates(&mut self, tell: bool) {
        self.fates = tell;
    }

    pub(crate) const fn tells_fates(&self) -> bool {
        self.fates
    }

    pub(crate) const fn tells_attempts(&self) -> bool {
        self.attempts
    }

    /// Whether a frame's fate is told.
    #[inline]
    pub(crate) fn tells(&self, fate: Fate, to: Receiver) -> bool {
        self.fates || fate == Fate::GivenUp || to == Receiver::Broadcast
    }

    pub(crate) const fn tell_transmissions(&mut self, tell: bool) {
        self.transmissions = tell;
    }

    pub(crate) const fn tells_transmissions(&self) -> bool {
        self.transmissions
    }

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
    pub(crate) fn push(&mut self, output: Output) {
        self.outputs.push(output);
    }

    #[inline]
    pub(crate) fn extend(&mut self, outputs: impl IntoIterator<Item = Output>) {
        self.outputs.extend(outputs);
    }
}
