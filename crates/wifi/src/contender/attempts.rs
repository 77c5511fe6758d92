//! What became of a frame so far.

use lasthop_packet::Instant;

/// What became of the frame in a contender's hands so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempts {
    /// Transmissions of the data frame or, if that failed, of its RTS.
    pub(super) transmissions: u32,
    /// Short retry count.
    pub(super) short: u32,
    /// Long retry count.
    pub(super) long: u32,
    /// Nanoseconds of its sender's frames for it.
    pub(super) air_time: u64,
    /// When it came to the head of the queue.
    pub(super) head: Instant,
    /// When its first transmission began.
    pub(super) first: Instant,
    /// Whether any transmission has arrived.
    pub(super) delivered: bool,
    /// Octets of options in the frame's MAC header; 0 for a standard frame.
    pub(super) options: u16,
}

impl Attempts {
    /// None, of a frame that has come to the head of the queue.
    pub(super) fn at_head(now: Instant) -> Self {
        Self { head: now, ..Self::default() }
    }

    #[inline]
    pub(crate) const fn transmissions(&self) -> u32 {
        self.transmissions
    }

    #[inline]
    pub(crate) const fn options(&self) -> u16 {
        self.options
    }

    pub(crate) const fn set_options(&mut self, octets: u16) {
        self.options = octets;
    }

    /// A transmission begins.
    #[inline]
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.transmissions += 1;
        if self.transmissions == 1 {
            self.first = now;
        }
    }

    /// Its sender is on the air for it for so many nanoseconds.
    #[inline]
    pub(crate) const fn transmit(&mut self, nanos: u64) {
        self.air_time += nanos;
    }

    #[inline]
    pub(crate) const fn deliver(&mut self) {
        self.delivered = true;
    }

    pub(crate) const fn is_delivered(&self) -> bool {
        self.delivered
    }
}
