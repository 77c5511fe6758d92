//! One station in power-save mode.

use lasthop_packet::Instant;

/// A station as power save knows it.
#[derive(Debug)]
pub(super) struct Sleeper {
    /// Whether it is in power-save mode.
    pub(super) saves_power: bool,
    /// Why it is awake, apart from frames to send: some of the constants below.
    pub(super) reasons: u8,
    /// `None` while it dozes.
    pub(super) awake_since: Option<Instant>,
    /// Nanoseconds awake, without those since `awake_since`.
    pub(super) awake: u64,
}

/// It expects a beacon.
pub(super) const BEACON: u8 = 1;
/// It has sent a PS-Poll and expects the response.
pub(super) const RESPONSE: u8 = 2;
/// It expects group frames.
pub(super) const GROUP: u8 = 4;
/// It has received a frame and has not sent the ACK yet.
pub(super) const ACK: u8 = 8;

impl Sleeper {
    /// A station that dozes, or one that is always awake.
    pub(super) fn new(saves_power: bool) -> Self {
        let awake_since = (!saves_power).then_some(Instant::ZERO);
        Self { saves_power, reasons: 0, awake_since, awake: 0 }
    }

    pub(super) const fn awaits_response(&mut self) {
        self.set(RESPONSE, true);
    }

    pub(super) const fn set(&mut self, reason: u8, holds: bool) {
        self.reasons = if holds { self.reasons | reason } else { self.reasons & !reason };
    }
}
