//! Frames that wait for one station, or for all.

use std::collections::VecDeque;

use lasthop_link::QueueLimit;

use crate::contender::Queued;

/// Frames that wait at the access point.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    frames: VecDeque<Queued>,
    octets: u64,
    /// The station has sent a PS-Poll, and the frame that answers it is not yet delivered or given up.
    pub(super) is_responding: bool,
    /// The station's bit in the latest beacon's TIM.
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

    pub(super) fn front(&self) -> Option<&Queued> {
        self.frames.front()
    }

    /// Appends a frame, if there is room.
    pub(super) fn push(&mut self, queued: Queued, limit: QueueLimit) -> bool {
        let octets = queued.frame.octets;
        if !limit.has_room(self.frames.len(), self.octets, octets as usize) {
            return false;
        }
        self.frames.push_back(queued);
        self.octets += u64::from(octets);
        true
    }

    pub(super) fn pop(&mut self) -> Option<Queued> {
        let queued = self.frames.pop_front()?;
        self.octets -= u64::from(queued.frame.octets);
        Some(queued)
    }
}
