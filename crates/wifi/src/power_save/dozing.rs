//! When a station in power-save mode is awake, and why (10.2.1.8).
//!
//! A station is awake while it has a frame or an ACK to send, or expects a beacon, the response to its
//! PS-Poll, or group frames. It dozes as soon as none of these is left.

use lasthop_packet::Instant;

use super::sleeper::Reasons;
use super::state::PowerSave;
use crate::frame::OwnFrame;
use crate::id::StationId;
use crate::wlan::Wlan;

impl PowerSave {
    /// A TBTT: the stations that listen to this beacon wake.
    pub(super) fn wake_for_beacon(&mut self, now: Instant, number: u64, is_dtim: bool) {
        let is_listened_to = number.is_multiple_of(u64::from(self.config.listen_interval.max(1)));
        if !(is_listened_to || is_dtim && self.config.receive_dtims) {
            return;
        }
        for sleeper in self.sleepers.iter_mut().filter(|sleeper| sleeper.saves_power) {
            sleeper.set(Reasons::BEACON, true);
            sleeper.wake(now);
        }
    }
}

impl Wlan {
    /// Nanoseconds that a station has been awake up to now; `None` if it is not in power-save mode.
    pub fn awake_time(&self, station: StationId, now: Instant) -> Option<u64> {
        let sleeper = &self.power_save.as_deref()?.sleepers[station.index()];
        sleeper.saves_power.then(|| sleeper.awake_until(now))
    }

    /// Whether a station's receiver has been on from `start` to now.
    #[inline]
    pub(crate) fn listens_since(&self, index: u32, start: Instant) -> bool {
        self.power_save.as_deref().is_none_or(|it| it.sleepers[index as usize].is_awake_since(start))
    }

    /// The same, for a station in power-save mode only.
    pub(super) fn heeds_beacon_since(&self, index: u32, start: Instant) -> bool {
        self.power_save.as_deref().is_some_and(|it| {
            let sleeper = &it.sleepers[index as usize];
            sleeper.saves_power && sleeper.is_awake_since(start)
        })
    }

    /// A station has a frame to send.
    #[inline]
    pub(crate) fn wake(&mut self, index: u32, now: Instant) {
        if let Some(power_save) = self.power_save.as_deref_mut() {
            power_save.sleepers[index as usize].wake(now);
        }
    }

    /// A station in power-save mode dozes, unless it has a reason to be awake.
    #[inline(never)]
    pub(crate) fn doze(&mut self, index: u32, now: Instant) {
        let has_frame = self.stations[index as usize].has_frame();
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        let sleeper = &mut power_save.sleepers[index as usize];
        if sleeper.saves_power && !sleeper.has_reason() && !has_frame {
            sleeper.doze(now);
        }
    }

    /// A station that was awake has received a beacon.
    pub(super) fn hear_beacon(&mut self, index: u32, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        let sleeper = &mut power_save.sleepers[index as usize];
        let (access_point, has_bit) =
            (power_save.access_point, power_save.buffers[index as usize].is_announced);
        sleeper.set(Reasons::BEACON, false);
        sleeper.set(Reasons::RESPONSE, false);
        sleeper.set(Reasons::GROUP, power_save.announced.group);
        if has_bit {
            self.poll_for_frame(index, access_point, now);
        } else if self.stations[index as usize].has_frame() {
            self.cancel_poll(index);
            self.doze(index, now);
        } else if !sleeper.has_reason() {
            sleeper.doze(now);
        }
    }

    /// A station has received a frame that was addressed to it alone, and will acknowledge it.
    #[cold]
    pub(crate) fn hear_response(&mut self, index: u32, from: u32, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        let sleeper = &mut power_save.sleepers[index as usize];
        if !sleeper.saves_power {
            return;
        }
        sleeper.set(Reasons::ACK, true);
        if from != power_save.access_point {
            return;
        }
        let (access_point, more_data) = (power_save.access_point, power_save.more_data);
        sleeper.set(Reasons::RESPONSE, false);
        if more_data {
            self.poll_for_frame(index, access_point, now);
        } else {
            self.cancel_poll(index);
        }
    }

    /// A station has sent its ACK.
    #[cold]
    pub(crate) fn ack_sent(&mut self, index: u32, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        let sleeper = &mut power_save.sleepers[index as usize];
        if sleeper.saves_power {
            sleeper.set(Reasons::ACK, false);
            self.doze(index, now);
        }
    }

    /// A station has received a group frame.
    pub(crate) fn hear_group_frame(&mut self, index: u32, from: u32, now: Instant) {
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        let sleeper = &mut power_save.sleepers[index as usize];
        if sleeper.saves_power && from == power_save.access_point {
            sleeper.set(Reasons::GROUP, power_save.more_data);
            self.doze(index, now);
        }
    }

    fn poll_for_frame(&mut self, index: u32, access_point: u32, now: Instant) {
        self.send_own(now, index, OwnFrame::PsPoll { to: StationId(access_point) }, true);
    }

    /// Nothing is left to poll for. A PS-Poll that is already being sent is not stopped.
    fn cancel_poll(&mut self, index: u32) {
        let station = &mut self.stations[index as usize];
        station.next_own = None;
        if !station.is_transmitting() {
            station.withdraw_own();
        }
    }
}
