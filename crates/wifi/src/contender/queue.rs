//! A contender's queue: the frame at its head is in the hands of the MAC, the others wait.

use std::collections::VecDeque;

use lasthop_link::{FairQueue, Length, QueueLimit};
use lasthop_packet::Instant;

use super::Attempts;
use super::round::Round;
use crate::frame::{MacFrame, Receiver};
use crate::id::StationId;
use crate::station::Scheduler;

/// A frame that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) frame: MacFrame,
    pub(crate) arrived: Instant,
}

impl Length for Queued {
    fn octets(&self) -> u32 {
        self.frame.octets
    }
}

/// A frame that was transmitted, not acknowledged, and put aside for other receivers.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) queued: Queued,
    pub(super) attempts: Attempts,
    pub(super) sequence: u16,
}

/// A contender's queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(super) limit: QueueLimit,
    pub(super) frames: VecDeque<Queued>,
    pub(super) octets: u64,
    /// Frames behind the head that went before others.
    ahead: usize,
    /// Frames that wait behind those.
    pub(super) behind: Behind,
}

/// Frames that wait for their turn.
#[derive(Debug)]
pub(super) enum Behind {
    Nothing,
    Flows(Box<FairQueue<Queued>>),
    Receivers(Box<Round<Queued, Begun>>),
}

impl Queue {
    pub(super) fn new(limit: QueueLimit, scheduler: Scheduler) -> Self {
        let behind = match scheduler {
            Scheduler::Fifo => Behind::Nothing,
            Scheduler::PerFlow => Behind::Flows(Box::default()),
            Scheduler::PerReceiver => Behind::Receivers(Box::default()),
        };
        Self { limit, frames: VecDeque::new(), octets: 0, ahead: 0, behind }
    }

    #[inline]
    pub(crate) const fn scheduler(&self) -> Scheduler {
        match self.behind {
            Behind::Nothing => Scheduler::Fifo,
            Behind::Flows(_) => Scheduler::PerFlow,
            Behind::Receivers(_) => Scheduler::PerReceiver,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frame in the hands of the MAC, or behind one of its own.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Queued> {
        self.frames.front()
    }

    /// Puts a frame into the queue, if there is room.
    #[inline]
    pub(super) fn push(&mut self, frame: MacFrame, now: Instant) -> bool {
        let waiting = self.behind_head();
        if !self.is_empty() && !self.limit.has_room(waiting.0, waiting.1, frame.octets as usize) {
            return false;
        }
        self.put(Queued { frame, arrived: now });
        true
    }

    pub(super) fn put(&mut self, queued: Queued) {
        self.octets += u64::from(queued.frame.octets);
        self.frames.push_back(queued);
    }

    /// Packets and octets that wait, the frame in the hands of the MAC not counted.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        let (packets, octets) = self.behind_head();
        let (more, of_them) = match &self.behind {
            Behind::Nothing => (0, 0),
            Behind::Flows(flows) => flows.size(),
            Behind::Receivers(round) => round.size(),
        };
        (packets + more, octets + of_them)
    }

    /// Of these, those in the queue: the frame at its head is in the hands of the MAC.
    pub(super) fn behind_head(&self) -> (usize, u64) {
        match self.head() {
            Some(head) => (self.frames.len() - 1, self.octets - u64::from(head.frame.octets)),
            None => (0, 0),
        }
    }

    /// Takes out the frames for a station, but for the one at the head.
    pub(crate) fn withdraw(&mut self, to: StationId) -> Vec<MacFrame> {
        let is_gone = |queued: &Queued| queued.frame.to == Receiver::Station(to);
        self.ahead -= self.frames.iter().skip(1).take(self.ahead).filter(|queued| is_gone(queued)).count();
        let head = self.frames.pop_front();
        let (mut gone, left) = self.frames.drain(..).partition::<Vec<_>, _>(is_gone);
        self.frames.extend(head.into_iter().chain(left));
        self.octets -= gone.iter().map(|queued| u64::from(queued.frame.octets)).sum::<u64>();
        match &mut self.behind {
            Behind::Nothing => {}
            Behind::Flows(flows) => gone.extend(flows.withdraw(is_gone)),
            Behind::Receivers(round) => gone.extend(round.withdraw(Receiver::Station(to))),
        }
        gone.into_iter().map(|queued| queued.frame).collect()
    }

    /// The frame at the head is done with.
    #[inline]
    pub(super) fn pop(&mut self) {
        let Some(done) = self.frames.pop_front() else { return };
        self.octets -= u64::from(done.frame.octets);
        self.ahead = self.ahead.saturating_sub(1);
        if self.is_empty()
            && let Behind::Flows(flows) = &mut self.behind
            && let Some(next) = flows.pop()
        {
            self.put(next);
        }
    }

    /// Puts frames before others that wait: behind the one at the head, which is in the hands of the
    /// MAC, and behind those that went before others already, or before these, too.
    pub(super) fn push_ahead(&mut self, frames: impl ExactSizeIterator<Item = Queued>, first: bool) {
        let count = frames.len();
        let had_head = !self.is_empty();
        let place = if first { 0 } else { self.ahead } + usize::from(had_head);
        for (offset, queued) in frames.enumerate() {
            self.octets += u64::from(queued.frame.octets);
            self.frames.insert(place + offset, queued);
        }
        self.ahead += if had_head { count } else { count.saturating_sub(1) };
    }

    #[cfg(test)]
    pub(crate) const fn ahead(&self) -> usize {
        self.ahead
    }
}
