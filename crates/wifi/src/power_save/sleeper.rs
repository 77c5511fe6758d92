//! One station in power-save mode.

use lasthop_packet::Instant;

/// Why a station is awake, apart from frames to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasons(u8);

impl Reasons {
    /// It expects a beacon.
    pub(super) const BEACON: Self = Self(1);
    /// It has sent a PS-Poll and expects the response.
    pub(super) const RESPONSE: Self = Self(2);
    /// It expects group frames.
    pub(super) const GROUP: Self = Self(4);
    /// It has received a frame and has not sent the ACK yet.
    pub(super) const ACK: Self = Self(8);
}

/// A station as power save knows it.
#[derive(Debug)]
pub(super) struct Sleeper {
    /// Whether it is in power-save mode.
    pub(super) saves_power: bool,
    reasons: Reasons,
    /// `None` while it dozes.
    awake_since: Option<Instant>,
    /// Nanoseconds awake, without those since `awake_since`.
    awake: u64,
}

impl Sleeper {
    /// A station that dozes, or one that is always awake.
    pub(super) fn new(saves_power: bool) -> Self {
        let awake_since = (!saves_power).then_some(Instant::ZERO);
        Self { saves_power, reasons: Reasons(0), awake_since, awake: 0 }
    }

    pub(super) const fn awaits_response(&mut self) {
        self.set(Reasons::RESPONSE, true);
    }

    pub(super) const fn set(&mut self, reason: Reasons, holds: bool) {
        if holds {
            self.reasons.0 |= reason.0;
        } else {
            self.reasons.0 &= !reason.0;
        }
    }

    /// Whether it has a reason to be awake.
    pub(super) const fn has_reason(&self) -> bool {
        self.reasons.0 != 0
    }

    pub(super) fn wake(&mut self, now: Instant) {
        self.awake_since.get_or_insert(now);
    }

    pub(super) fn doze(&mut self, now: Instant) {
        if let Some(since) = self.awake_since.take() {
            self.awake += now.as_nanos() - since.as_nanos();
        }
    }

    /// Whether it has been awake since `start` at the latest.
    pub(super) fn is_awake_since(&self, start: Instant) -> bool {
        self.awake_since.is_some_and(|since| since <= start)
    }

    /// Nanoseconds that it has been awake.
    pub(super) fn awake_until(&self, now: Instant) -> u64 {
        self.awake + self.awake_since.map_or(0, |since| now.as_nanos() - since.as_nanos())
    }
}
