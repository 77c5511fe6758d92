//! The transmissions of a frame so far.

use lasthop_packet::Instant;

use crate::frame::{MacFrame, Queued, StationId};
use crate::output::{Fate, Output, Used};

/// The transmissions so far of the frame at the head of a queue, or of one that the MAC generates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempts {
    /// The number of exchanges begun: transmissions of the data frame, or of its RTS alone.
    transmissions: u32,
    /// Short retry count (SRC).
    short: u32,
    /// Long retry count (LRC).
    long: u32,
    /// Nanoseconds for which its sender has transmitted for it.
    air_time: u64,
    /// When it came to the head of the queue.
    head: Instant,
    /// When its first transmission began.
    first: Instant,
    /// Whether any transmission has arrived.
    delivered: bool,
    /// Octets of options in the frame's MAC header; 0 for a standard frame.
    options: u16,
}

/// A frame that has a sequence number: it was or is being transmitted, and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) queued: Queued,
    pub(super) attempts: Attempts,
    pub(super) sequence: u16,
}

impl Attempts {
    /// Those of a frame that has just come to the head of the queue: none.
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

    /// Nanoseconds for which its sender has transmitted for it.
    pub(crate) const fn air_time(&self) -> u64 {
        self.air_time
    }

    pub(crate) const fn set_options(&mut self, octets: u16) {
        self.options = octets;
    }

    pub(super) const fn head(&self) -> Instant {
        self.head
    }

    /// Counts a transmission that begins.
    #[inline]
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.transmissions += 1;
        if self.transmissions == 1 {
            self.first = now;
        }
    }

    /// Adds nanoseconds for which its sender transmits for it.
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

    /// Counts a failed transmission; `was_long`: it was the data frame after an RTS. Returns
    /// whether the frame is given up, by the limits of the short and the long retry count.
    pub(crate) const fn fail(&mut self, was_long: bool, limits: (u32, u32)) -> bool {
        //= IEEE 802.11, recovery procedures and retransmit limits: a short and a long retry count,
        //= each with its limit.
        *(if was_long { &mut self.long } else { &mut self.short }) += 1;
        self.short >= limits.0 || self.long >= limits.1
    }

    /// The report of a packet's fate.
    #[inline]
    pub(crate) fn fate(&self, from: StationId, queued: &Queued, fate: Fate) -> Output {
        Output::Fate {
            from,
            frame: queued.frame,
            fate,
            arrived: self.delivered,
            transmissions: self.transmissions,
            queueing: self.first.as_nanos() - queued.arrived.as_nanos(),
            access: self.first.as_nanos() - self.head.as_nanos(),
            air_time: self.air_time,
        }
    }

    /// The report of the last transmission of a packet.
    pub(crate) const fn attempt(
        &self,
        (from, frame): (StationId, MacFrame),
        began: Instant,
        lost: bool,
        acknowledged: bool,
    ) -> Output {
        Output::Attempt { from, frame, began, transmission: self.transmissions, lost, acknowledged }
    }

    /// Adds a packet that is delivered or given up to its station's use of the medium.
    #[inline]
    pub(super) fn account(&self, used: &mut Used, is_given_up: bool) {
        used.frames += 1;
        used.transmissions += u64::from(self.transmissions);
        used.given_up += u64::from(is_given_up);
        used.air_time += self.air_time;
        used.access += self.first.as_nanos() - self.head.as_nanos();
    }
}
