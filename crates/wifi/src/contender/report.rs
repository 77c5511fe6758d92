//! What is told of the packet in a contender's hands.

use lasthop_packet::Instant;

use super::Contender;
use crate::id::StationId;
use crate::output::{Fate, FrameTimes, Output};

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
