//! Wired links with managed queues as a technology.

use std::collections::VecDeque;

use lasthop_packet::Instant;

use super::managed::{InFlight, ManagedPipe, Start};
use crate::accounts::DropCause;
use crate::change::{Change, ChangeError};
use crate::id::ManagedPipeId;
use crate::packets::PacketKey;
use crate::queue::Pushed;
use crate::schedule::Event;
use crate::technology::{Addressee, Admission, LinkEnds, Output, Technology};
use crate::transit::Transit;

/// All wired links with managed queues, by direction.
#[derive(Default)]
pub(crate) struct ManagedWiredLinks {
    pipes: Vec<ManagedPipe>,
    /// What came of the latest event.
    outputs: VecDeque<Output>,
}

impl ManagedWiredLinks {
    pub(crate) fn add(&mut self, pipe: ManagedPipe) -> ManagedPipeId {
        self.pipes.push(pipe);
        ManagedPipeId::from_index(self.pipes.len() - 1)
    }

    /// The next transmission of a pipe whose transmitter is free.
    fn start_next(&mut self, port: usize, transit: &mut Transit) -> Option<Start> {
        let start = self.pipes[port].start(transit.now(), transit.packets_mut())?;
        if let Some(arrival) = start.first_arrival {
            transit.schedule(arrival, Event::ManagedArrival(ManagedPipeId::from_index(port)));
        }
        self.await_end(port, transit);
        Some(start)
    }

    fn await_end(&mut self, port: usize, transit: &mut Transit) {
        if let Some(end) = self.pipes[port].await_end() {
            transit.schedule(end.max(transit.now()), Event::TransmitterFree(ManagedPipeId::from_index(port)));
        }
    }

    /// If a pipe's transmitter has become free, the next packet's transmission starts.
    fn go_on(&mut self, port: usize, transit: &mut Transit) {
        if !self.pipes[port].take_end(transit.now()) {
            return;
        }
        let start = self.start_next(port, transit);
        let pipe = &mut self.pipes[port];
        let LinkEnds { link, from: at, .. } = pipe.ends();
        while let Some((key, cause)) = pipe.queue_mut().next_dropped() {
            self.outputs.push_back(Output::Dropped { node: at.0, link, key, cause });
        }
        if let Some(Start { key, time, .. }) = start {
            self.outputs.push_back(Output::Departs { at, to: Addressee::Peer, key, time });
        }
    }

    fn on_arrival(&mut self, port: usize, transit: &mut Transit) {
        let pipe = &mut self.pipes[port];
        let Some((InFlight { key, is_lost, .. }, next)) = pipe.arrive(transit.now()) else { return };
        let LinkEnds { link, from: (node, _), to: at } = pipe.ends();
        self.outputs.push_back(if is_lost {
            Output::Lost { node, link: Some(link), key, cause: DropCause::WiredLoss }
        } else {
            Output::Arrived { at, link, key }
        });
        if let Some(next) = next.filter(|next| *next < Instant::MAX) {
            transit.schedule(next, Event::ManagedArrival(ManagedPipeId::from_index(port)));
        }
    }
}

impl Technology for ManagedWiredLinks {
    fn enqueue(&mut self, port: usize, _to: Addressee, key: PacketKey, transit: &mut Transit) -> Admission {
        // What leaves now leaves before what comes now. The event for it, which is due at this moment,
        // tells what came of that.
        self.go_on(port, transit);
        let pipe = &mut self.pipes[port];
        let waits = pipe.is_busy(transit.now());
        match pipe.queue_mut().push(key, transit.now(), waits, transit.packets_mut()) {
            Pushed::Dropped(cause) => return Admission::Dropped(cause),
            Pushed::Displaces => {
                self.await_end(port, transit);
                return Admission::Displaces;
            }
            Pushed::Waits => {}
        }
        if waits {
            self.await_end(port, transit);
            return Admission::Queued;
        }
        match self.start_next(port, transit) {
            Some(Start { time, .. }) => Admission::Starts(time),
            None => Admission::Queued,
        }
    }

    fn on_event(&mut self, event: Event, transit: &mut Transit) {
        match event {
            Event::TransmitterFree(pipe) => self.go_on(pipe.index(), transit),
            Event::ManagedArrival(pipe) => self.on_arrival(pipe.index(), transit),
            _ => {}
        }
    }

    fn poll(&mut self, _transit: &mut Transit) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_displaced(&mut self, port: usize) -> Option<(PacketKey, DropCause)> {
        self.pipes[port].queue_mut().next_dropped()
    }

    fn would_wait(&self, port: usize, now: Instant) -> bool {
        self.pipes[port].is_busy(now)
    }

    fn queue(&mut self, port: usize, _now: Instant) -> (usize, u64) {
        self.pipes[port].queue().size()
    }

    fn marked(&self) -> Option<u64> {
        self.pipes.iter().map(|pipe| pipe.queue().marked()).reduce(|one, other| one + other)
    }

    fn can_change(&self, port: usize, change: &Change) -> Result<(), ChangeError> {
        self.pipes[port].can_change(change)
    }

    fn change(&mut self, port: usize, change: &Change, transit: &mut Transit) {
        let pipe = &mut self.pipes[port];
        let expected = pipe.next_arrival();
        pipe.change(change, transit.now());
        // Events that were scheduled find nothing to do unless they come at the right time.
        if let Some(next) = pipe.next_arrival().filter(|next| Some(*next) != expected) {
            transit.schedule(next, Event::ManagedArrival(ManagedPipeId::from_index(port)));
        }
        self.await_end(port, transit);
    }
}
