//! When a station in power-save mode is awake, and why (10.2.1.8).
//!
//! A station is awake while it has a frame or an ACK to send, or expects a beacon, the response to its
//! PS-Poll, or group frames. It dozes as soon as none of these is left.

use lasthop_packet::Instant;

use super::PowerSave;
use super::sleeper::{ACK, BEACON, GROUP, RESPONSE};
use crate::frame::OwnFrame;
use crate::id::StationId;

impl PowerSave {
    /// A TBTT: the stations that listen to this beacon wake.
    pub(super) fn wake_for_beacon(&mut self, now: Instant, number: u64, is_dtim: bool) {
        let is_listened_to = number.is_multiple_of(u64::from(self.config.listen_interval.max(1)));
        if !(is_listened_to || is_dtim && self.config.receive_dtims) {
            return;
        }
        for sleeper in self.sleepers.iter_mut().filter(|sleeper| sleeper.saves_power) {
            sleeper.set(BEACON, true);
            sleeper.awake_since.get_or_insert(now);
        }
    }

    /// Nanoseconds that a station has been awake up to now; `None` if it is not in power-save mode.
    pub(crate) fn awake_time(&self, station: u32, now: Instant) -> Option<u64> {
        let sleeper = &self.sleepers[station as usize];
        let until_now = sleeper.awake_since.map_or(0, |since| now.as_nanos() - since.as_nanos());
        sleeper.saves_power.then_some(sleeper.awake + until_now)
    }

    /// Whether a station's receiver has been on from `start` to now.
    pub(crate) fn listens_since(&self, station: u32, start: Instant) -> bool {
        self.sleepers[station as usize].awake_since.is_some_and(|since| since <= start)
    }

    /// The same, for a station in power-save mode only.
    pub(crate) fn heeds_beacon_since(&self, station: u32, start: Instant) -> bool {
        self.sleepers[station as usize].saves_power && self.listens_since(station, start)
    }

    /// A station has a frame to send.
    pub(crate) fn wake(&mut self, station: u32, now: Instant) {
        self.sleepers[station as usize].awake_since.get_or_insert(now);
    }

    /// A station in power-save mode dozes, unless it has a reason to be awake or a frame to send.
    pub(crate) fn doze(&mut self, station: u32, now: Instant, has_frame: impl FnOnce() -> bool) {
        let sleeper = &mut self.sleepers[station as usize];
        if sleeper.saves_power
            && sleeper.reasons == 0
            && !has_frame()
            && let Some(since) = sleeper.awake_since.take()
        {
            sleeper.awake += now.as_nanos() - since.as_nanos();
        }
    }

    /// A station that was awake has received a beacon. Returns the PS-Poll that it sends; `None`: nothing is
    /// left to poll for.
    pub(crate) fn receive_beacon(&mut self, station: u32) -> Option<OwnFrame> {
        let sleeper = &mut self.sleepers[station as usize];
        sleeper.set(BEACON, false);
        sleeper.set(RESPONSE, false);
        sleeper.set(GROUP, self.announced.group);
        self.buffers[station as usize].is_announced.then_some(self.ps_poll())
    }

    /// A station has received a frame that was addressed to it alone, and will acknowledge it. Returns whether
    /// that was a response.
    pub(crate) fn receive_response(&mut self, station: u32, from: u32) -> bool {
        let sleeper = &mut self.sleepers[station as usize];
        if !sleeper.saves_power {
            return false;
        }
        sleeper.set(ACK, true);
        let is_response = from == self.access_point;
        if is_response {
            sleeper.set(RESPONSE, false);
        }
        is_response
    }

    /// The PS-Poll that follows a response.
    pub(crate) fn next_poll(&self) -> Option<OwnFrame> {
        self.more_data.then_some(self.ps_poll())
    }

    const fn ps_poll(&self) -> OwnFrame {
        OwnFrame::PsPoll { to: StationId(self.access_point) }
    }

    /// A station has sent its ACK.
    pub(crate) fn ack_sent(&mut self, station: u32) {
        self.sleepers[station as usize].set(ACK, false);
    }

    /// A station has received a group frame. Returns whether the access point has sent it.
    pub(crate) fn receive_group_frame(&mut self, station: u32, from: u32) -> bool {
        let is_expected = from == self.access_point;
        if is_expected {
            self.sleepers[station as usize].set(GROUP, self.more_data);
        }
        is_expected
    }
}
