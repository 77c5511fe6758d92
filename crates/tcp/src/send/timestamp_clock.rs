//! The clock that TSval is taken from (RFC 7323, section 5.4).

use lasthop_packet::Instant;

use crate::retransmission_queue::Echoed;

/// Where TSval comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum TimestampClock {
    /// Milliseconds since the start of time, plus an offset: 1, so that an echo of 0 means none; or
    /// what continues the clock of the end whose place was taken.
    Running {
        /// In milliseconds.
        offset: u32,
    },
    /// The clock of the end whose place was taken, as far as it was seen.
    Told(u32),
}

impl TimestampClock {
    /// One that runs on from what another stood at `then`.
    pub(super) const fn from(value: u32, then: Instant) -> Self {
        Self::Running { offset: value.wrapping_sub(then.as_millis() as u32) }
    }

    /// Whether it runs, so that what the peer echoes measures the round trip.
    #[inline]
    pub(super) const fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }

    /// What it says now.
    #[inline]
    pub(super) const fn reads(self, now: Instant) -> u32 {
        match self {
            Self::Running { offset } => (now.as_millis() as u32).wrapping_add(offset),
            Self::Told(value) => value,
        }
    }

    /// How old a reading is, in milliseconds; `None` where that cannot be told.
    #[inline]
    pub(super) const fn age(self, reading: u32, now: Instant) -> Option<u32> {
        match self {
            Self::Running { .. } => Some(self.reads(now).wrapping_sub(reading)),
            Self::Told(_) => None,
        }
    }

    /// What the echo of a reading says; `None` if the clock never read so. An echo of 0 is none.
    pub(super) fn echo(self, reading: u32, now: Instant) -> Option<Echoed> {
        if reading == 0 {
            return None;
        }
        let Some(age) = self.age(reading, now) else { return Some(Echoed { value: reading, sent: None }) };
        // What was never sent was echoed by nothing.
        let sent = now.as_millis().checked_sub(u64::from(age)).map(Instant::from_millis)?;
        Some(Echoed { value: reading, sent: Some(sent) })
    }
}
