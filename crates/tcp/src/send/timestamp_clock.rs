//! The timestamp clock (RFC 7323, section 5.4), and its echoes.

use lasthop_packet::{Instant, Tcp};

use crate::retransmission_queue::Echoed;

/// The source of TSval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    source: Source,
    /// Timestamps were negotiated.
    is_used: bool,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// Milliseconds since the start of time, plus an offset: 1, so that an echo of 0 means none; or one that
    /// continues the clock of the end whose place was taken.
    Running {
        /// In milliseconds.
        offset: u32,
    },
    /// The last timestamp seen of the end whose place was taken.
    Seen(u32),
}

impl TimestampClock {
    pub(super) const fn new() -> Self {
        Self { source: Source::Running { offset: 1 }, is_used: false }
    }

    /// Sets whether timestamps were negotiated.
    pub(super) const fn begin(&mut self, is_used: bool) {
        self.is_used = is_used;
    }

    /// Continues another clock, whose value was `value` at `then`.
    pub(super) const fn continue_from(&mut self, value: u32, then: Instant) {
        self.source = Source::Running { offset: value.wrapping_sub(then.as_millis() as u32) };
    }

    /// Sets a fixed value.
    pub(super) const fn set(&mut self, value: u32) {
        self.source = Source::Seen(value);
    }

    /// The current value.
    #[inline]
    pub(crate) const fn reads(self, now: Instant) -> u32 {
        match self.source {
            Source::Running { offset } => (now.as_millis() as u32).wrapping_add(offset),
            Source::Seen(value) => value,
        }
    }

    /// The age of a value in milliseconds; `None` if unknown.
    #[inline]
    pub(crate) const fn age(self, reading: u32, now: Instant) -> Option<u32> {
        match self.source {
            Source::Running { .. } => Some(self.reads(now).wrapping_sub(reading)),
            Source::Seen(_) => None,
        }
    }

    /// Whether a segment has an echo that measures the round trip. An echo of 0 is none.
    #[inline]
    pub(super) fn is_timed_by(self, tcp: &Tcp) -> bool {
        self.is_used
            && matches!(self.source, Source::Running { .. })
            && tcp.options.timestamps.is_some_and(|timestamps| timestamps.echo_reply != 0)
    }

    /// The echo in a segment; `None` if the clock never had this value.
    pub(super) fn echo(self, tcp: &Tcp, now: Instant) -> Option<Echoed> {
        let value = tcp.options.timestamps.filter(|_| self.is_used)?.echo_reply;
        if value == 0 {
            return None;
        }
        let Some(age) = self.age(value, now) else { return Some(Echoed { value, sent: None }) };
        // An echo from before the start of time is none.
        let sent = now.as_millis().checked_sub(u64::from(age)).map(Instant::from_millis)?;
        Some(Echoed { value, sent: Some(sent) })
    }
}
