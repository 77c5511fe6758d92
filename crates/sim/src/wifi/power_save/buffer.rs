//! What waits for one station.

use std::collections::VecDeque;

use crate::wifi::station::Queued;

/// The frames for one station.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) frames: VecDeque<Queued>,
    pub(super) octets: u64,
    /// The station has sent a PS-Poll, and the fate of the frame that answers it is not known.
    pub(super) is_responding: bool,
    /// Its bit in the latest beacon's TIM.
    pub(super) is_announced: bool,
}

impl Buffer {
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether its station's bit is set in a TIM.
    pub(super) fn has_traffic(&self) -> bool {
        self.is_responding || !self.frames.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        let queued = self.frames.pop_front()?;
        self.octets -= u64::from(queued.frame.octets);
        Some(queued)
    }
}
