//! One direction of a wired link with a plain queue: a FIFO queue, a transmitter and a propagation delay.
//!
//! Because the first two are first in, first out, a packet's arrival is known the moment it is queued:
//! one event per packet and hop. Only where packets overtake each other there may be two.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use crate::capacity::{Capacity, Pace, Remaining};
use crate::config::Direction;
use crate::delay::{Delay, Delays};
use crate::flight::Flight;
use crate::id::{LinkId, NodeId};
use crate::loss::{Loss, Losses};
use crate::packets::PacketKey;
use crate::queue::QueueLimit;
use lasthop_packet::time::nanos;

#[derive(Debug)]
pub(crate) struct Pipe {
    link: LinkId,
    /// The receiver, with the index of its interface there.
    to: (NodeId, usize),
    pace: Pace,
    delays: Delays,
    /// The delay in nanoseconds while it is constant and has never been changed: no packet can
    /// catch up with the one before it.
    always: Option<u64>,
    limit: QueueLimit,
    losses: Losses,
    /// When the transmitter is done with all that was queued; [`Instant::MAX`] while it is stalled.
    free_at: Instant,
    /// The packet whose transmission started last.
    sending: Waiting,
    /// Its delay, while there is no `always`.
    sending_delay: u64,
    /// What is left of its transmission, while that is stalled.
    rest: Option<Remaining>,
    /// Packets that may still wait; cleaned when asked.
    waiting: VecDeque<Waiting>,
    waiting_octets: u64,
    /// What each of them has drawn as its delay, in nanoseconds; empty while there is `always`.
    drawn: VecDeque<u64>,
    /// Packets on their way.
    in_flight: Flight<PacketKey>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its transmission starts.
    start: Instant,
    len: u32,
    /// [`LOST`] if it will not arrive.
    key: PacketKey,
}

/// The key of no packet.
const LOST: PacketKey = PacketKey(u32::MAX);

/// What becomes of a packet that is put into a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It arrives; if it is the first to do so, at this time, which is [`Instant::MAX`] while the
    /// transmitter is stalled.
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
        clock: Duration,
        [losses, variations]: [Rng; 2],
    ) -> Self {
        Self {
            link,
            to,
            pace: Pace::new(&direction.capacity, clock),
            delays: Delays::new(&direction.delay, variations),
            always: direction.delay.constant().map(nanos),
            limit: direction.queue.limit,
            losses: Losses::new(&direction.loss, losses),
            free_at: if direction.capacity == Capacity::Stalled { Instant::MAX } else { Instant::ZERO },
            sending: Waiting { start: Instant::ZERO, len: 0, key: LOST },
            sending_delay: 0,
            rest: None,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            drawn: VecDeque::new(),
            in_flight: Flight::default(),
        }
    }

    /// Its receiver, with the index of the interface there, and its link.
    #[inline]
    pub(crate) const fn exit(&self) -> ((NodeId, usize), LinkId) {
        (self.to, self.link)
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

    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    pub(crate) fn push(&mut self, key: PacketKey, len: usize, now: Instant) -> Entry {
        let start = self.free_at.max(now);
        self.forget_started(now);
        if start > now {
            if !self.limit.has_room(self.waiting.len(), self.waiting_octets, len) {
                return Entry::Full;
            }
            self.waiting.push_back(Waiting { start, len: len as u32, key });
            self.waiting_octets += len as u64;
        } else {
            self.sending = Waiting { start, len: len as u32, key };
        }
        self.free_at = self.pace.finish(start, len);
        let is_lost = self.losses.next();
        if is_lost {
            let lost = if start > now { self.waiting.back_mut() } else { None };
            lost.unwrap_or(&mut self.sending).key = LOST;
        }
        let Some(delay) = self.always else { return self.send(key, is_lost, start > now) };
        if is_lost {
            return Entry::Lost;
        }
        let arrival = self.free_at.after_nanos(delay);
        Entry::Arrives(self.in_flight.append(arrival, key).then_some(arrival))
    }

    /// A packet whose delay varies leaves at `free_at`. What is lost propagates nowhere, and draws
    /// nothing.
    #[cold]
    fn send(&mut self, key: PacketKey, is_lost: bool, waits: bool) -> Entry {
        let delay = if is_lost { 0 } else { self.delays.draw(self.free_at) };
        if waits {
            self.drawn.push_back(delay);
        } else {
            self.sending_delay = delay;
        }
        if is_lost {
            return Entry::Lost;
        }
        let arrival = self.delays.in_order(self.free_at.after_nanos(delay), self.in_flight.last());
        Entry::Arrives(self.in_flight.push(arrival, key).then_some(arrival))
    }

    /// When the first packet arrives; none that is stalled does.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.next().filter(|next| *next < Instant::MAX)
    }

    /// Loses what `loss` says of the packets that are put in from now on.
    pub(crate) fn set_loss(&mut self, loss: &Loss) {
        self.losses.set(loss);
    }

    /// From now on so much may wait; what waits already stays.
    pub(crate) const fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    /// What is transmitted from now on takes this pace, be it the rest of a packet. What a packet has
    /// drawn as its delay stays.
    pub(crate) fn set_capacity(&mut self, capacity: &Capacity, now: Instant) {
        self.forget_started(now);
        let end = self.end_of_sending();
        let Waiting { len, key, .. } = self.sending;
        let rest = match self.rest.take() {
            None if end > now && !self.pace.is_stalled() => Some(self.pace.rest(len as usize, end, now)),
            stalled => stalled,
        };
        self.pace = self.pace.replaced(capacity);
        let start = match rest {
            Some(rest) => self.pace.finish_remaining(now, len as usize, rest),
            None if self.pace.is_stalled() => Instant::MAX,
            None => now,
        };
        self.rest = rest.filter(|_| self.pace.is_stalled());
        self.repeat_queueing(start, rest.map(|_| key));
    }

    /// What starts its transmission from now on has this delay.
    pub(crate) fn set_delay(&mut self, delay: &Delay, now: Instant) {
        self.delays.set(delay);
        if let Some(before) = self.always.take() {
            self.sending_delay = before;
        }
        self.forget_started(now);
        self.drawn.clear();
        self.repeat_queueing(self.end_of_sending(), None);
    }

    /// When the transmission ends that started last.
    fn end_of_sending(&self) -> Instant {
        self.waiting.front().map_or(self.free_at, |first| first.start)
    }

    /// Computes starts and arrivals once more, and delays that have not been drawn: of what waits from
    /// `start` on, and of the packet in transmission, whose end that is, if its key is given.
    fn repeat_queueing(&mut self, mut start: Instant, sending: Option<PacketKey>) {
        let waiting: BTreeSet<u32> =
            self.waiting.iter().map(|waiting| waiting.key.0).chain(sending.map(|key| key.0)).collect();
        let mut in_flight = std::mem::take(&mut self.in_flight);
        while let Some((arrival, key)) = in_flight.pop() {
            if !waiting.contains(&key.0) {
                self.in_flight.append(arrival, key);
            }
        }
        if let Some(key) = sending.filter(|key| *key != LOST) {
            let delay = self.always.unwrap_or(self.sending_delay);
            let arrival = self.delays.in_order(start.after_nanos(delay), self.in_flight.last());
            self.in_flight.push(arrival, key);
        }
        let mut drawn = std::mem::take(&mut self.drawn);
        for waiting in &mut self.waiting {
            waiting.start = start;
            start = self.pace.finish(start, waiting.len as usize);
            let delay = match (self.always, drawn.pop_front()) {
                (Some(delay), _) | (None, Some(delay)) => delay,
                (None, None) if waiting.key == LOST => 0,
                (None, None) => self.delays.draw(start),
            };
            if self.always.is_none() {
                self.drawn.push_back(delay);
            }
            if waiting.key != LOST {
                let arrival = self.delays.in_order(start.after_nanos(delay), self.in_flight.last());
                self.in_flight.push(arrival, waiting.key);
            }
        }
        if sending.is_some() || !self.waiting.is_empty() {
            self.delays.set_last(start);
        }
        self.free_at = start;
    }

    /// The first packet arrives, if it does so by now: its key, and when the next one does.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(PacketKey, Option<Instant>)> {
        self.in_flight.pop_due(now)
    }

    #[inline]
    fn forget_started(&mut self, now: Instant) {
        while let Some(&first) = self.waiting.front()
            && first.start <= now
        {
            self.waiting.pop_front();
            self.sending = first;
            self.waiting_octets -= u64::from(first.len);
            if let Some(delay) = self.drawn.pop_front() {
                self.sending_delay = delay;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Bitrate;

    use super::*;
    use crate::faults::Faults;

    fn pipe(queue: QueueLimit) -> Pipe {
        let direction = Direction {
            capacity: Capacity::Fixed(Bitrate::mbps(8)),
            queue: queue.into(),
            loss: Loss::NONE,
            delay: Duration::from_millis(5).into(),
            faults: Faults::NONE,
        };
        Pipe::new(
            LinkId(0),
            (NodeId(1), 0),
            &direction,
            Duration::ZERO,
            [Rng::named(1, "pipe"), Rng::named(1, "jitter")],
        )
    }

    #[test]
    fn packets_arrive_after_queueing_transmission_and_propagation() {
        let mut pipe = pipe(QueueLimit::Unlimited);
        assert_eq!(
            pipe.push(PacketKey(0), 1000, Instant::ZERO),
            Entry::Arrives(Some(Instant::from_millis(6)))
        );
        assert_eq!(pipe.push(PacketKey(1), 1000, Instant::ZERO), Entry::Arrives(None));
        assert_eq!(pipe.pop(Instant::from_millis(5)), None);
        assert_eq!(pipe.pop(Instant::from_millis(6)), Some((PacketKey(0), Some(Instant::from_millis(7)))));
        assert_eq!(pipe.pop(Instant::from_millis(7)), Some((PacketKey(1), None)));
    }

    #[test]
    fn another_rate_moves_no_packet_that_has_arrived() {
        let mut pipe = pipe(QueueLimit::Unlimited);
        let _ = pipe.push(PacketKey(0), 1000, Instant::ZERO);
        let _ = pipe.push(PacketKey(1), 1000, Instant::ZERO);
        while pipe.pop(Instant::from_millis(10)).is_some() {}
        let _ = pipe.push(PacketKey(2), 1000, Instant::from_millis(10));
        let _ = pipe.push(PacketKey(3), 1000, Instant::from_millis(10));
        pipe.set_capacity(&Capacity::Fixed(Bitrate::mbps(4)), Instant::from_nanos(10_500_000));
        // Half of the first takes a millisecond, and the second two.
        let arrivals: Vec<_> = std::iter::from_fn(|| pipe.in_flight.pop()).collect();
        let at = Instant::from_nanos;
        assert_eq!(arrivals, [(at(16_500_000), PacketKey(2)), (at(18_500_000), PacketKey(3))]);
    }

    #[test]
    fn the_limit_counts_what_waits_and_not_what_is_being_sent() {
        let mut pipe = pipe(QueueLimit::Packets(2));
        let admitted =
            (0..5).filter(|key| pipe.push(PacketKey(*key), 1000, Instant::ZERO) != Entry::Full).count();
        assert_eq!(admitted, 3);
        assert_eq!(pipe.queue(Instant::ZERO), (2, 2000));
        assert_eq!(pipe.queue(Instant::from_millis(1)), (1, 1000));
        assert!(pipe.push(PacketKey(9), 1000, Instant::from_millis(1)) != Entry::Full);
    }
}
