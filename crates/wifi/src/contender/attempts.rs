//! What became of a frame so far, and what is told of it.

use lasthop_packet::Instant;

use super::Contender;
use crate::id::StationId;
use crate::output::{Fate, FrameTimes, Output};

/// What became of the frame in a contender's hands so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempts {
    /// Transmissions of the data frame or, if that failed, of its RTS.
    transmissions: u32,
    /// Short retry count.
    pub(super) short: u32,
    /// Long retry count.
    pub(super) long: u32,
    /// Nanoseconds of its sender's frames for it.
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

impl Contender {
    /// The outcome of a transmission of the packet in its hands.
    pub(crate) fn attempt(&self, from: StationId, acknowledged: bool) -> Option<Output> {
        Some(Output::Attempt {
            from,
            frame: self.packet()?,
            began: self.exchange.began(),
            transmission: self.attempts.transmissions,
            lost: !self.exchange.has_arrived(),
            acknowledged,
        })
    }

    /// The times of its data frame, which has just ended, and has arrived.
    pub(crate) fn transmission(&self, from: StationId, now: Instant, difs: u64) -> Option<Output> {
        let (head, plan) = (self.queue.head()?, self.exchange.plan()?);
        let times = FrameTimes {
            queued: head.arrived,
            departed: self.attempts.head,
            began: Instant::from_nanos(now.as_nanos() - plan.data.duration),
            over: now.after_nanos(plan.duration - plan.to_data_end + difs),
        };
        let has_options = self.attempts.options > 0;
        Some(Output::Transmission { from, frame: head.frame, has_options, times })
    }

    /// The fate of the packet in its hands.
    #[inline]
    pub(crate) fn fate(&self, from: StationId, fate: Fate) -> Option<Output> {
        let head = self.queue.head().filter(|_| self.own.is_none())?;
        Some(Output::Fate {
            from,
            frame: head.frame,
            fate,
            arrived: self.attempts.delivered,
            transmissions: self.attempts.transmissions,
            queueing: self.attempts.first.as_nanos() - head.arrived.as_nanos(),
            access: self.attempts.first.as_nanos() - self.attempts.head.as_nanos(),
            air_time: self.attempts.air_time,
        })
    }

    /// The packet in its hands is delivered or given up.
    #[inline]
    pub(super) fn account(&mut self, is_given_up: bool) {
        let Self { used, attempts, .. } = self;
        used.frames += 1;
        used.transmissions += u64::from(attempts.transmissions);
        used.given_up += u64::from(is_given_up);
        used.air_time += attempts.air_time;
        used.access += attempts.first.as_nanos() - attempts.head.as_nanos();
    }
}
