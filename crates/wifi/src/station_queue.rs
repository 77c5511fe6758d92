//! A station's queue: the frame at its head is in the hands of the MAC, the others wait.

use lasthop_packet::Instant;

use super::frame::{MacFrame, Receiver};
use super::station::{Attempts, Queued, Station};
use crate::id::StationId;

impl Station {
    /// Puts a frame into the queue, if there is room.
    #[inline]
    pub(crate) fn push(&mut self, frame: MacFrame, now: Instant) -> bool {
        let waiting = self.behind_head();
        if !self.queue.is_empty() && !self.limit.has_room(waiting.0, waiting.1, frame.octets as usize) {
            return false;
        }
        if self.queue.is_empty() {
            self.is_new_head(now);
        }
        self.queue.push_back(Queued { frame, arrived: now });
        self.has_frame = true;
        self.queued_octets += u64::from(frame.octets);
        true
    }

    /// A frame has come to the head of the queue.
    pub(crate) fn is_new_head(&mut self, now: Instant) {
        let attempts = if self.own.is_some() { &mut self.set_aside } else { &mut self.attempts };
        *attempts = Attempts { head: now, ..Attempts::default() };
    }

    /// The packet in its hands.
    pub(crate) fn packet(&self) -> Option<MacFrame> {
        self.queue.front().filter(|_| self.own.is_none()).map(|head| head.frame)
    }

    /// Whom the frame in its hands is for.
    pub(crate) fn receiver(&self) -> Option<Receiver> {
        match self.own {
            None => self.queue.front().map(|head| head.frame.to),
            Some(own) => Some(own.receiver()),
        }
    }

    /// Packets and octets that wait, the frame in the hands of the MAC not counted.
    pub(crate) fn waiting(&self) -> (usize, u64) {
        let (packets, octets) = self.behind_head();
        let in_turn = self.flows.as_ref().map_or((0, 0), |flows| flows.size());
        let in_round = self.receivers.as_ref().map_or((0, 0), |round| round.size());
        (packets + in_turn.0 + in_round.0, octets + in_turn.1 + in_round.1)
    }

    /// Of these, those in the queue: the frame at its head is in the hands of the MAC.
    pub(crate) fn behind_head(&self) -> (usize, u64) {
        match self.queue.front() {
            Some(head) => (self.queue.len() - 1, self.queued_octets - u64::from(head.frame.octets)),
            None => (0, 0),
        }
    }

    /// Takes out the frames for a station, but for the one at the head.
    pub(crate) fn withdraw(&mut self, to: StationId) -> Vec<MacFrame> {
        let is_gone = |queued: &Queued| queued.frame.to == Receiver::Station(to);
        self.ahead -= self.queue.iter().skip(1).take(self.ahead).filter(|queued| is_gone(queued)).count();
        let head = self.queue.pop_front();
        let (mut gone, left) = self.queue.drain(..).partition::<Vec<_>, _>(is_gone);
        self.queue.extend(head.into_iter().chain(left));
        self.queued_octets -= gone.iter().map(|queued| u64::from(queued.frame.octets)).sum::<u64>();
        if let Some(flows) = &mut self.flows {
            gone.extend(flows.withdraw(is_gone));
        }
        if let Some(round) = &mut self.receivers {
            gone.extend(round.withdraw(Receiver::Station(to)));
        }
        gone.into_iter().map(|queued| queued.frame).collect()
    }

    /// The frame in its hands is done with.
    pub(crate) fn pop(&mut self, now: Instant) {
        if self.own.is_some() {
            self.pop_own();
        } else if let Some(done) = self.queue.pop_front() {
            self.queued_octets -= u64::from(done.frame.octets);
            self.ahead = self.ahead.saturating_sub(1);
            if self.queue.is_empty() && self.flows.is_some() {
                self.take_turn();
            }
            self.has_frame = !self.queue.is_empty();
            self.attempts = Attempts { head: now, ..Attempts::default() };
            self.sequence = (self.sequence + 1) & 0x0fff;
            if self.receivers.is_some() {
                self.next_in_round(now);
            }
        }
    }
}
