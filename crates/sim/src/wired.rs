//! One direction of a wired link: a FIFO queue, a transmitter and a propagation delay.
//!
//! Because all three are first in, first out, a packet's arrival is known the moment it is queued: one event a packet and hop.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Instant, Probability, Rng};

use crate::capacity::{Pace, nanos};
use crate::config::{Direction, QueueLimit};
use crate::id::{LinkId, NodeId};
use crate::parcel::ParcelKey;

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) link: LinkId,
    pub(crate) to: NodeId,
    pace: Pace,
    /// Propagation, in nanoseconds.
    delay: u64,
    limit: QueueLimit,
    loss: Probability,
    rng: Rng,
    /// When the transmitter is done with all that was queued.
    free_at: Instant,
    /// When transmission starts, and the length, of packets that may still wait; cleaned when asked.
    waiting: VecDeque<(Instant, u32)>,
    waiting_octets: u64,
    /// Arrival and key of packets on their way.
    in_flight: VecDeque<(Instant, ParcelKey)>,
}

/// What becomes of a packet that is put into a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It arrives; if it is the first in the pipe, at this time an event is due.
    Accepted(Option<Instant>),
    /// The queue is full.
    Full,
    /// It takes up its time, and is lost.
    Lost,
}

impl Pipe {
    pub(crate) fn new(
        link: LinkId,
        to: NodeId,
        direction: &Direction,
        delay: Duration,
        clock: Duration,
        rng: Rng,
    ) -> Self {
        Self {
            link,
            to,
            pace: Pace::new(&direction.capacity, clock),
            delay: nanos(delay),
            limit: direction.queue,
            loss: direction.loss,
            rng,
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            in_flight: VecDeque::new(),
        }
    }

    /// Whether the transmitter has something to do.
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.free_at > now
    }

    /// Packets and octets that wait for transmission.
    pub(crate) fn queue(&mut self, now: Instant) -> (usize, u64) {
        self.forget_started(now);
        (self.waiting.len(), self.waiting_octets)
    }

    #[inline]
    pub(crate) fn push(&mut self, key: ParcelKey, len: usize, now: Instant) -> Admission {
        let start = self.free_at.max(now);
        if start > now {
            self.forget_started(now);
            if !self.limit.has_room(self.waiting.len(), self.waiting_octets, len) {
                return Admission::Full;
            }
            self.waiting.push_back((start, len as u32));
            self.waiting_octets += len as u64;
        }
        self.free_at = self.pace.finish(start, len);
        if self.rng.happens(self.loss) {
            return Admission::Lost;
        }
        let arrival = self.free_at.after_nanos(self.delay);
        self.in_flight.push_back((arrival, key));
        Admission::Accepted((self.in_flight.len() == 1).then_some(arrival))
    }

    /// The first packet arrives: its key, and when the next one does.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(ParcelKey, Option<Instant>)> {
        let (_, key) = self.in_flight.pop_front()?;
        Some((key, self.in_flight.front().map(|(arrival, _)| *arrival)))
    }

    #[inline]
    fn forget_started(&mut self, now: Instant) {
        while let Some(&(start, len)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_octets -= u64::from(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Bitrate;

    use super::*;
    use crate::capacity::Capacity;

    fn pipe(queue: QueueLimit) -> Pipe {
        let direction =
            Direction { capacity: Capacity::Fixed(Bitrate::mbps(8)), queue, loss: Probability::ZERO };
        Pipe::new(
            LinkId(0),
            NodeId(1),
            &direction,
            Duration::from_millis(5),
            Duration::ZERO,
            Rng::named(1, "pipe"),
        )
    }

    #[test]
    fn packets_arrive_after_queueing_transmission_and_propagation() {
        let mut pipe = pipe(QueueLimit::Unlimited);
        assert_eq!(
            pipe.push(ParcelKey(0), 1000, Instant::ZERO),
            Admission::Accepted(Some(Instant::from_millis(6)))
        );
        assert_eq!(pipe.push(ParcelKey(1), 1000, Instant::ZERO), Admission::Accepted(None));
        assert_eq!(pipe.pop(), Some((ParcelKey(0), Some(Instant::from_millis(7)))));
        assert_eq!(pipe.pop(), Some((ParcelKey(1), None)));
    }

    #[test]
    fn the_limit_counts_what_waits_and_not_what_is_being_sent() {
        let mut pipe = pipe(QueueLimit::Packets(2));
        let admitted =
            (0..5).filter(|key| pipe.push(ParcelKey(*key), 1000, Instant::ZERO) != Admission::Full).count();
        assert_eq!(admitted, 3);
        assert_eq!(pipe.queue(Instant::ZERO), (2, 2000));
        assert_eq!(pipe.queue(Instant::from_millis(1)), (1, 1000));
        assert!(pipe.push(ParcelKey(9), 1000, Instant::from_millis(1)) != Admission::Full);
    }
}
