//! Frames that wait at the access point for one station in power-save mode, or for all stations
//! (IEEE 802.11-2020, 11.2.3.6).

use lasthop_link::{Fifo, QueueLimit};
use lasthop_packet::Instant;

use crate::frame::Queued;

/// Frames that wait at the access point for one receiver.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    frames: Fifo<Queued>,
    /// The response to the station's PS-Poll is not yet delivered or given up.
    is_responding: bool,
    /// The station's bit in the latest beacon's TIM.
    is_announced: bool,
}

impl Buffer {
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Packets and octets.
    pub(super) fn size(&self) -> (usize, u64) {
        self.frames.size()
    }

    /// Whether the station's bit is set in the TIM of a beacon that begins now.
    pub(super) fn has_traffic(&self) -> bool {
        self.is_responding || !self.is_empty()
    }

    /// Announces the station's traffic in a beacon that begins.
    pub(super) fn announce(&mut self) {
        self.is_announced = self.has_traffic();
    }

    pub(super) const fn is_announced(&self) -> bool {
        self.is_announced
    }

    /// Appends a frame if there is room. Returns whether there was.
    pub(super) fn push(&mut self, queued: Queued, limit: QueueLimit) -> bool {
        let (packets, octets) = self.size();
        let has_room = limit.has_room(packets, octets, queued.frame.octets as usize);
        if has_room {
            self.frames.push(queued);
        }
        has_room
    }

    /// Returns the response to a PS-Poll. Until the response is delivered or given up, further
    /// PS-Polls are acknowledged and ignored.
    pub(super) fn respond(&mut self) -> Option<Queued> {
        let response = if self.is_responding { None } else { self.frames.pop() };
        self.is_responding |= response.is_some();
        response
    }

    /// The response was delivered, given up or withdrawn.
    pub(super) const fn end_response(&mut self) {
        self.is_responding = false;
    }

    /// Removes and returns all frames.
    pub(super) fn take_all(&mut self) -> Vec<Queued> {
        self.frames.withdraw(|_| true)
    }

    /// Removes and returns the first frame, if it has waited for more than `age` nanoseconds.
    pub(super) fn pop_older(&mut self, age: u64, now: Instant) -> Option<Queued> {
        let first = self.frames.first()?;
        if now.as_nanos() - first.arrived.as_nanos() > age { self.frames.pop() } else { None }
    }
}
