//! The power state of a station: when it is awake, and why (IEEE 802.11-2020, 11.2.3).
//!
//! A station in power-save mode is awake while it has a frame or an ACK to send, or expects a
//! beacon, the response to its PS-Poll, or group frames. It dozes as soon as none of these is left.

use lasthop_packet::Instant;

/// The power state of a station.
#[derive(Debug)]
pub(crate) struct Sleeper {
    /// Whether it is in power-save mode.
    saves_power: bool,
    /// The reasons why it is awake, apart from frames to send: a set of the constants below.
    reasons: u8,
    /// `None` while it dozes.
    awake_since: Option<Instant>,
    /// Nanoseconds awake before `awake_since`.
    awake: u64,
}

/// It expects a beacon.
const BEACON: u8 = 1;
/// It has sent a PS-Poll and expects the response.
const RESPONSE: u8 = 2;
/// It expects group frames.
const GROUP: u8 = 4;
/// It has received a frame and has not sent the ACK yet.
const ACK: u8 = 8;

impl Sleeper {
    /// A station in power-save mode, which dozes at first, or one that is always awake.
    pub(super) fn new(saves_power: bool) -> Self {
        let awake_since = (!saves_power).then_some(Instant::ZERO);
        Self { saves_power, reasons: 0, awake_since, awake: 0 }
    }

    pub(crate) const fn saves_power(&self) -> bool {
        self.saves_power
    }

    /// Nanoseconds for which it has been awake; `None` if it is not in power-save mode.
    pub(crate) fn awake_time(&self, now: Instant) -> Option<u64> {
        let until_now = self.awake_since.map_or(0, |since| now.as_nanos() - since.as_nanos());
        self.saves_power.then_some(self.awake + until_now)
    }

    /// Whether its receiver has been on from `start` to now.
    pub(crate) fn listens_since(&self, start: Instant) -> bool {
        self.awake_since.is_some_and(|since| since <= start)
    }

    /// Wakes, to send a frame.
    pub(crate) fn wake(&mut self, now: Instant) {
        self.awake_since.get_or_insert(now);
    }

    /// Dozes if the station is in power-save mode and has neither a reason to be awake nor a frame
    /// to send.
    pub(crate) fn doze(&mut self, now: Instant, has_frame: impl FnOnce() -> bool) {
        if self.saves_power
            && self.reasons == 0
            && !has_frame()
            && let Some(since) = self.awake_since.take()
        {
            self.awake += now.as_nanos() - since.as_nanos();
        }
    }

    /// Wakes for a beacon, if the station is in power-save mode.
    pub(super) fn wake_for_beacon(&mut self, now: Instant) {
        if self.saves_power {
            self.set(BEACON, true);
            self.wake(now);
        }
    }

    /// The station has received a beacon; `group`: group frames follow it.
    pub(super) const fn receive_beacon(&mut self, group: bool) {
        self.set(BEACON, false);
        self.set(RESPONSE, false);
        self.set(GROUP, group);
    }

    /// It has sent a PS-Poll.
    pub(super) const fn await_response(&mut self) {
        self.set(RESPONSE, true);
    }

    /// It has received a frame that it will acknowledge.
    pub(super) const fn receive_frame(&mut self, is_response: bool) {
        self.set(ACK, true);
        if is_response {
            self.set(RESPONSE, false);
        }
    }

    /// It has sent its ACK.
    pub(crate) const fn ack_sent(&mut self) {
        self.set(ACK, false);
    }

    /// It has received a group frame; `more`: more of them follow.
    pub(super) const fn receive_group_frame(&mut self, more: bool) {
        self.set(GROUP, more);
    }

    const fn set(&mut self, reason: u8, holds: bool) {
        self.reasons = if holds { self.reasons | reason } else { self.reasons & !reason };
    }
}
