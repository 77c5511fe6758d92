//! Wired links with plain queues as a technology.

use std::time::Duration;

use lasthop_packet::Instant;

use super::pipe::{Entry, Pipe};
use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::id::PipeId;
use crate::packets::PacketKey;
use crate::queue::Discipline;
use crate::schedule::Event;
use crate::technology::{Addressee, Admission, Output, Technology};
use crate::transit::Transit;

/// All wired links with plain queues, by direction.
#[derive(Default)]
pub(crate) struct WiredLinks {
    pipes: Vec<Pipe>,
}

impl WiredLinks {
    pub(crate) fn add(&mut self, pipe: Pipe) -> PipeId {
        self.pipes.push(pipe);
        PipeId::from_index(self.pipes.len() - 1)
    }

    /// When a pipe's transmitter is done with all that was put in.
    pub(crate) fn free_at(&self, id: PipeId) -> Instant {
        self.pipes[id.index()].free_at()
    }

    /// See [`Pipe::moves_at`].
    pub(crate) fn moves_at(&mut self, id: PipeId, now: Instant) -> Instant {
        self.pipes[id.index()].moves_at(now)
    }

    /// See [`Pipe::exact_time`].
    pub(crate) fn exact_time(&self, id: PipeId, len: usize) -> Duration {
        self.pipes[id.index()].exact_time(len)
    }

    /// When a source that saturates a pipe puts in its next packet. It has just put in one of `len` octets, before
    /// which the transmitter was free at `free_at`. [`Instant::MAX`] while the link is stalled.
    pub(crate) fn next_of_saturating(
        &mut self,
        id: PipeId,
        (free_at, len): (Instant, usize),
        now: Instant,
    ) -> Instant {
        let pipe = &mut self.pipes[id.index()];
        let start = free_at.max(now);
        match pipe.free_at() {
            // It is the last in the queue, or on its way already.
            after if after > start => start,
            // It was refused.
            after if after > now => pipe.moves_at(now),
            // It took no time, by a coarse clock: sending again at once would never end.
            _ => now + pipe.exact_time(len).max(Duration::from_nanos(1)),
        }
    }

    /// The first packet in a pipe reaches its end. Its arrival is the only thing that comes of an
    /// event, so that the event loop need not ask [`Technology::poll`].
    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    pub(crate) fn arrive(&mut self, id: PipeId, transit: &mut Transit) -> Option<Output> {
        let pipe = &mut self.pipes[id.index()];
        let (at, link) = pipe.exit();
        // None: the link was changed, and the packet comes later than was planned; or it was
        // overtaken, and has arrived since. There is an event for what comes next.
        let (key, next) = pipe.pop(transit.now())?;
        if let Some(next) = next.filter(|next| *next < Instant::MAX) {
            transit.schedule(next, Event::PipeArrival(id));
        }
        Some(Output::Arrived { at, link, key })
    }
}

impl Technology for WiredLinks {
    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    fn enqueue(&mut self, port: usize, _to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission {
        let len = transit.packets().len(key);
        match self.pipes[port].push(key, len, transit.now()) {
            Entry::Arrives(Some(arrival)) if arrival < Instant::MAX => {
                transit.schedule(arrival, Event::PipeArrival(PipeId::from_index(port)));
                Admission::Queued
            }
            Entry::Arrives(_) => Admission::Queued,
            Entry::Full => Admission::Dropped(DropCause::QueueFull),
            Entry::Lost => Admission::Dropped(DropCause::WiredLoss),
        }
    }

    fn would_wait(&self, port: usize, now: Instant) -> bool {
        self.pipes[port].is_busy(now)
    }

    fn queue(&mut self, port: usize, now: Instant) -> (usize, u64) {
        self.pipes[port].queue(now)
    }

    fn can_change(&self, _port: usize, change: &Change) -> Result<(), ChangeError> {
        match change {
            Change::Channel(_) => Err(ChangeError::NoChannel),
            Change::Queue(config) if config.discipline != Discipline::DropTail => {
                Err(ChangeError::Discipline)
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, port: usize, change: &Change, transit: &mut Transit) {
        let pipe = &mut self.pipes[port];
        let (expected, now) = (pipe.next_arrival(), transit.now());
        match change {
            Change::Capacity(capacity) => pipe.set_capacity(capacity, now),
            Change::Delay(delay) => pipe.set_delay(delay, now),
            Change::Loss(loss) => pipe.set_loss(loss),
            Change::Queue(config) => pipe.set_limit(config.limit),
            Change::Faults(_) | Change::Channel(_) | Change::Selection(_) | Change::Cut(_) => {}
        }
        // The event that was scheduled finds nothing to do unless it comes at the right time.
        if let Some(next) = pipe.next_arrival().filter(|next| Some(*next) != expected) {
            transit.schedule(next, Event::PipeArrival(PipeId::from_index(port)));
        }
    }
}
