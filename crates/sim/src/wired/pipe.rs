//! One direction of a wired link with a plain queue: a FIFO queue, a transmitter and a propagation delay.
//!
//! Because all three are first in, first out, a packet's arrival is known the moment it is queued:
//! one event a packet and hop.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::{Instant, Probability, Rng};

use crate::capacity::{Capacity, Pace, nanos};
use crate::config::{Direction, Jitter};
use crate::id::{LinkId, NodeId};
use crate::parcel::ParcelKey;
use crate::queue::QueueLimit;

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) link: LinkId,
    /// The receiver, with the index of its interface there.
    pub(crate) to: (NodeId, usize),
    pace: Pace,
    /// Propagation, in nanoseconds.
    delay: u64,
    jitter: Jitter,
    /// Its own stream, so that jitter changes nothing about which packets are lost.
    variations: Rng,
    /// Whether the delay varies, or was changed: only then can a packet catch up with the one
    /// before it.
    has_varied: bool,
    limit: QueueLimit,
    loss: Probability,
    rng: Rng,
    /// When the transmitter is done with all that was queued.
    free_at: Instant,
    /// Packets that may still wait; cleaned when asked.
    waiting: VecDeque<Waiting>,
    waiting_octets: u64,
    /// Arrival and key of packets on their way.
    in_flight: VecDeque<(Instant, ParcelKey)>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its transmission starts.
    start: Instant,
    len: u32,
    /// It will not arrive.
    lost: bool,
}

/// What becomes of a packet that is put into a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It arrives; if it is the first in the pipe, at this time an event is due.
    Arrives(Option<Instant>),
    /// The queue is full.
    Full,
    /// It takes up its time, and is lost.
    Lost,
}

impl Pipe {
    pub(crate) fn new(
        link: LinkId,
        to: (NodeId, usize),
        direction: &Direction,
        (delay, jitter): (Duration, Jitter),
        clock: Duration,
        [rng, variations]: [Rng; 2],
    ) -> Self {
        Self {
            link,
            to,
            pace: Pace::new(&direction.capacity, clock),
            delay: nanos(delay),
            jitter,
            variations,
            has_varied: jitter != Jitter::None,
            limit: direction.queue.limit,
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

    /// When the transmitter is done with all that was put in.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When there is room in the queue again: the first that waits is transmitted, or where nothing
    /// may wait, all is done.
    pub(crate) fn moves_at(&mut self, now: Instant) -> Instant {
        self.forget_started(now);
        self.waiting.front().map_or(self.free_at, |first| first.start)
    }

    /// The time that a packet of `len` octets takes, whatever the clock makes of it.
    pub(crate) fn exact_time(&self, len: usize) -> Duration {
        self.pace.exact_time(len)
    }

    /// Packets and octets that wait for transmission.
    pub(crate) fn queue(&mut self, now: Instant) -> (usize, u64) {
        self.forget_started(now);
        (self.waiting.len(), self.waiting_octets)
    }

    #[inline]
    pub(crate) fn push(&mut self, key: ParcelKey, len: usize, now: Instant) -> Entry {
        let start = self.free_at.max(now);
        if start > now {
            self.forget_started(now);
            if !self.limit.has_room(self.waiting.len(), self.waiting_octets, len) {
                return Entry::Full;
            }
            self.waiting.push_back(Waiting { start, len: len as u32, lost: false });
            self.waiting_octets += len as u64;
        }
        self.free_at = self.pace.finish(start, len);
        if self.rng.happens(self.loss) {
            if start > now
                && let Some(waiting) = self.waiting.back_mut()
            {
                waiting.lost = true;
            }
            return Entry::Lost;
        }
        let mut arrival = self.free_at.after_nanos(self.delay);
        if self.has_varied {
            arrival = self.vary();
        }
        self.in_flight.push_back((arrival, key));
        Entry::Arrives((self.in_flight.len() == 1).then_some(arrival))
    }

    /// The arrival of what leaves at `free_at`: not before what is on its way.
    #[cold]
    fn vary(&mut self) -> Instant {
        let arrival = self.free_at.after_nanos(self.jitter.draw(self.delay, &mut self.variations));
        self.in_flight.back().map_or(arrival, |(last, _)| arrival.max(*last))
    }

    /// When the first packet arrives.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|(arrival, _)| *arrival)
    }

    /// What is put in from now on may be lost with this probability.
    pub(crate) const fn set_loss(&mut self, loss: Probability) {
        self.loss = loss;
    }

    /// From now on so much may wait; what waits already stays.
    pub(crate) const fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    /// What starts its transmission from now on takes this pace.
    pub(crate) fn set_capacity(&mut self, capacity: &Capacity, now: Instant) {
        self.pace = self.pace.replaced(capacity);
        self.repeat_queueing(self.delay, now);
    }

    /// What starts its transmission from now on has this delay, and what is put in from now on this
    /// jitter.
    pub(crate) fn set_delay(&mut self, delay: Duration, jitter: Jitter, now: Instant) {
        let old = std::mem::replace(&mut self.delay, nanos(delay));
        self.jitter = jitter;
        self.has_varied = true;
        self.repeat_queueing(old, now);
    }

    /// Computes starts and arrivals of what waits once more. What varied in a packet's delay before
    /// does so again.
    fn repeat_queueing(&mut self, old_delay: u64, now: Instant) {
        self.forget_started(now);
        let finishes: Vec<Instant> =
            self.waiting.iter().skip(1).map(|next| next.start).chain([self.free_at]).collect();
        let arriving = self.waiting.iter().filter(|waiting| !waiting.lost).count();
        let mut index = self.in_flight.len() - arriving;
        let Some(mut start) = self.waiting.front().map(|first| first.start) else { return };
        for (waiting, old_finish) in self.waiting.iter_mut().zip(finishes) {
            waiting.start = start;
            start = self.pace.finish(start, waiting.len as usize);
            if waiting.lost {
                continue;
            }
            let delayed = self.in_flight[index].0.since(old_finish);
            let own = self.delay.saturating_add(nanos(delayed)).saturating_sub(old_delay);
            let before = index.checked_sub(1).map_or(Instant::ZERO, |before| self.in_flight[before].0);
            self.in_flight[index].0 = start.after_nanos(own).max(before);
            index += 1;
        }
        self.free_at = start;
    }

    /// The first packet arrives: its key, and when the next one does.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(ParcelKey, Option<Instant>)> {
        let (_, key) = self.in_flight.pop_front()?;
        Some((key, self.in_flight.front().map(|(arrival, _)| *arrival)))
    }

    #[inline]
    fn forget_started(&mut self, now: Instant) {
        while let Some(&Waiting { start, len, .. }) = self.waiting.front()
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

    fn pipe(queue: QueueLimit) -> Pipe {
        let direction = Direction {
            capacity: Capacity::Fixed(Bitrate::mbps(8)),
            queue: queue.into(),
            loss: Probability::ZERO,
        };
        Pipe::new(
            LinkId(0),
            (NodeId(1), 0),
            &direction,
            (Duration::from_millis(5), Jitter::None),
            Duration::ZERO,
            [Rng::named(1, "pipe"), Rng::named(1, "jitter")],
        )
    }

    #[test]
    fn packets_arrive_after_queueing_transmission_and_propagation() {
        let mut pipe = pipe(QueueLimit::Unlimited);
        assert_eq!(
            pipe.push(ParcelKey(0), 1000, Instant::ZERO),
            Entry::Arrives(Some(Instant::from_millis(6)))
        );
        assert_eq!(pipe.push(ParcelKey(1), 1000, Instant::ZERO), Entry::Arrives(None));
        assert_eq!(pipe.pop(), Some((ParcelKey(0), Some(Instant::from_millis(7)))));
        assert_eq!(pipe.pop(), Some((ParcelKey(1), None)));
    }

    #[test]
    fn the_limit_counts_what_waits_and_not_what_is_being_sent() {
        let mut pipe = pipe(QueueLimit::Packets(2));
        let admitted =
            (0..5).filter(|key| pipe.push(ParcelKey(*key), 1000, Instant::ZERO) != Entry::Full).count();
        assert_eq!(admitted, 3);
        assert_eq!(pipe.queue(Instant::ZERO), (2, 2000));
        assert_eq!(pipe.queue(Instant::from_millis(1)), (1, 1000));
        assert!(pipe.push(ParcelKey(9), 1000, Instant::from_millis(1)) != Entry::Full);
    }
}
