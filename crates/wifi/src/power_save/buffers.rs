//! Frames that wait at the access point for stations that doze (10.2.1.6).

use lasthop_packet::Instant;

use super::PowerSave;
use super::buffer::Buffer;
use crate::contender::Queued;
use crate::frame::{MacFrame, Receiver};
use crate::id::StationId;

impl PowerSave {
    /// Whether frames for a receiver are buffered at the access point. Group frames are as soon as
    /// one station is in power-save mode.
    pub(crate) fn buffers(&self, from: u32, to: Receiver) -> bool {
        from == self.access_point
            && match to {
                Receiver::Station(to) => self.sleepers[to.index()].saves_power,
                Receiver::Broadcast => self.sleepers.iter().any(|sleeper| sleeper.saves_power),
            }
    }

    /// Buffers a frame for its receiver, if there is room.
    pub(crate) fn buffer(&mut self, frame: MacFrame, now: Instant) -> bool {
        let buffer = match frame.to {
            Receiver::Station(to) => &mut self.buffers[to.index()],
            Receiver::Broadcast => &mut self.group,
        };
        if !buffer.push(Queued { frame, arrived: now }, self.config.buffer) {
            return false;
        }
        self.waiting.0 += 1;
        self.waiting.1 += u64::from(frame.octets);
        true
    }

    /// Packets and octets that are buffered at a station for others.
    pub(crate) const fn waiting(&self, station: u32) -> (usize, u64) {
        if station == self.access_point { self.waiting } else { (0, 0) }
    }

    /// Removes and returns the frames that are buffered at a station for another. `with_response`:
    /// the response to a PS-Poll was removed from the queue, too.
    pub(crate) fn withdraw(&mut self, station: u32, to: StationId, with_response: bool) -> Vec<MacFrame> {
        let mut gone = Vec::new();
        if station == self.access_point {
            let buffer = &mut self.buffers[to.index()];
            buffer.is_responding &= !with_response;
            while let Some(queued) = self.buffers[to.index()].pop() {
                self.forget(queued.frame);
                gone.push(queued.frame);
            }
        }
        gone
    }

    /// Notes that a frame has left its buffer.
    fn forget(&mut self, frame: MacFrame) {
        self.waiting.0 -= 1;
        self.waiting.1 -= u64::from(frame.octets);
    }

    /// The access point has received a PS-Poll. Returns the next frame for that station, if there is one.
    /// Until it is delivered or given up, further PS-Polls of the station are acknowledged and ignored.
    pub(crate) fn on_ps_poll(&mut self, access_point: u32, from: u32) -> Option<Queued> {
        let buffer = &mut self.buffers[from as usize];
        if self.access_point != access_point || buffer.is_responding {
            return None;
        }
        let queued = buffer.pop()?;
        buffer.is_responding = true;
        self.forget(queued.frame);
        Some(queued)
    }

    /// A beacon was sent. Returns the group frames that follow it; it had a DTIM if there are any.
    pub(crate) fn take_group(&mut self) -> Vec<Queued> {
        if !self.announced.is_dtim {
            return Vec::new();
        }
        let frames: Vec<Queued> = std::iter::from_fn(|| self.group.pop()).collect();
        self.group_left += frames.len() as u32;
        for queued in &frames {
            self.forget(queued.frame);
        }
        frames
    }

    /// Takes out the next frame that is too old.
    pub(crate) fn pop_old(&mut self, now: Instant) -> Option<MacFrame> {
        let most = self.config.max_age();
        let is_old = |queued: &Queued| now.as_nanos() - queued.arrived.as_nanos() > most;
        let mut all = self.buffers.iter_mut();
        let old = all.find(|buffer| buffer.front().is_some_and(is_old)).and_then(Buffer::pop)?;
        self.forget(old.frame);
        Some(old.frame)
    }
}
