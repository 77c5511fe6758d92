//! Frames that wait at the access point for stations that doze (10.2.1.6).

use lasthop_packet::Instant;

use super::state::PowerSave;
use crate::frame::{MacFrame, Receiver};
use crate::id::StationId;
use crate::output::Output;
use crate::station::Queued;
use crate::wlan::Wlan;

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
}

impl Wlan {
    /// The access point has received a PS-Poll: it contends for the medium to send the next frame for
    /// that station. Until that frame is delivered or given up, further PS-Polls of the station are
    /// acknowledged and ignored.
    #[cold]
    pub(crate) fn receive_ps_poll(&mut self, index: u32, from: u32, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut().filter(|it| it.access_point == index) else {
            return;
        };
        let buffer = &mut power_save.buffers[from as usize];
        if buffer.is_responding {
            return;
        }
        let Some(queued) = buffer.pop() else { return };
        buffer.is_responding = true;
        power_save.forget(queued.frame);
        self.move_ahead(index, [queued].into_iter(), false, now);
    }

    /// A beacon was sent; if it had a DTIM, the group frames follow it.
    #[cold]
    pub(crate) fn release_group(&mut self, index: u32, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        if !power_save.announced.is_dtim || power_save.group.is_empty() {
            return;
        }
        let frames: Vec<Queued> = std::iter::from_fn(|| power_save.group.pop()).collect();
        power_save.group_left += frames.len() as u32;
        for queued in &frames {
            power_save.forget(queued.frame);
        }
        self.move_ahead(index, frames.into_iter(), true, now);
    }

    /// Puts frames ahead of a station's queue; with `first`, also ahead of frames put there before.
    fn move_ahead(
        &mut self,
        index: u32,
        frames: impl ExactSizeIterator<Item = Queued>,
        first: bool,
        now: Instant,
    ) {
        let station = &mut self.stations[index as usize];
        let (had_frame, had_packet) = (station.has_frame(), !station.queue.is_empty());
        station.push_ahead(frames, first, now);
        if !had_packet {
            self.outputs.push(Output::Departs { from: StationId(index) });
        }
        if !had_frame {
            self.contend(now, index);
        }
    }

    /// Drops frames that are too old.
    pub(super) fn drop_old_frames(&mut self, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        let (most, from) = (power_save.config.most_age(), StationId(power_save.access_point));
        let is_old = |queued: &Queued| now.as_nanos() - queued.arrived.as_nanos() > most;
        for index in 0..power_save.buffers.len() {
            while power_save.buffers[index].front().is_some_and(is_old)
                && let Some(Queued { frame, .. }) = power_save.buffers[index].pop()
            {
                power_save.forget(frame);
                self.counters.aged += 1;
                self.outputs.push(Output::TooOld { from, frame });
            }
        }
    }
}
