//! Flows that take turns at a station, or receivers: behind the frame in the hands of the MAC, and
//! behind those that went before others already (`own_frames`).

use lasthop_link::FairQueue;
use lasthop_packet::Instant;

use super::frame::MacFrame;
use super::round::Turn;
use super::station::{Attempts, Begun, Queued, Station};

impl Station {
    /// Puts a frame among those of its flow. Where there is no room, flows with more octets lose their
    /// last frames until there is some, which `displaced` is told. `false`: the frame does not go, and no
    /// other is dropped for it.
    pub(crate) fn push_in_turn(
        &mut self,
        flow: u64,
        frame: MacFrame,
        now: Instant,
        mut displaced: impl FnMut(MacFrame),
    ) -> bool {
        let (limit, len, ahead) = (self.limit, frame.octets as usize, self.behind_head());
        let Some(flows) = self.flows.as_deref_mut().filter(|_| !self.queue.is_empty()) else {
            return self.push(frame, now);
        };
        let has_room = |(packets, octets)| limit.has_room(ahead.0 + packets, ahead.1 + octets, len);
        // None is dropped in vain: mostly the next one is enough.
        let (packets, octets) = flows.size();
        let makes_room = |in_all| {
            let gone = flows.displaceable(flow, frame.octets, in_all);
            has_room((packets - gone.0, octets - gone.1))
        };
        if !has_room((packets, octets)) && !makes_room(false) && !makes_room(true) {
            return false;
        }
        while !has_room(flows.size()) {
            let Some(lost) = flows.displace(flow, frame.octets) else { return false };
            displaced(lost.frame);
        }
        flows.push(flow, Queued { frame, arrived: now });
        true
    }

    /// The queue is empty: the frame whose turn it is comes to its head.
    #[cold]
    pub(crate) fn take_turn(&mut self) {
        if let Some(next) = self.flows.as_deref_mut().and_then(FairQueue::pop) {
            self.queued_octets += u64::from(next.frame.octets);
            self.queue.push_back(next);
        }
    }
}

impl Station {
    /// Puts a frame among those for its receiver, if there is room.
    #[cold]
    pub(crate) fn push_in_round(&mut self, frame: MacFrame, now: Instant) -> bool {
        let waiting = self.waiting();
        let is_free = self.queue.is_empty();
        if !is_free && !self.limit.has_room(waiting.0, waiting.1, frame.octets as usize) {
            return false;
        }
        if let Some(round) = &mut self.receivers {
            round.push(frame.to, Queued { frame, arrived: now });
        }
        if is_free {
            self.take_from_round(now);
        }
        true
    }

    /// The frame whose turn it is comes to the head of the queue.
    fn take_from_round(&mut self, now: Instant) {
        let Some(round) = &mut self.receivers else { return };
        let next = match round.take() {
            None => return,
            Some(Turn::Again(begun)) => begun,
            Some(Turn::First(queued)) => {
                let attempts = Attempts { head: now, ..Attempts::default() };
                Begun { queued, attempts, sequence: round.new_sequence() }
            }
        };
        self.queued_octets += u64::from(next.queued.frame.octets);
        self.queue.push_back(next.queued);
        self.has_frame = true;
        self.sequence = next.sequence;
        *(if self.own.is_some() { &mut self.set_aside } else { &mut self.attempts }) = next.attempts;
    }

    /// The frame in its hands is done with, and gone from the queue.
    #[cold]
    pub(crate) fn next_in_round(&mut self, now: Instant) {
        let Some(round) = &mut self.receivers else { return };
        round.done();
        // For a frame that goes before the round, now or later.
        self.sequence = round.new_sequence();
        if self.queue.is_empty() {
            self.take_from_round(now);
        }
    }

    /// The transmission of the packet in its hands has failed, and that of another receiver has its
    /// turn. Whether there is one.
    pub(crate) fn yield_turn(&mut self, now: Instant) -> bool {
        let Self { own: None, queue, receivers: Some(round), attempts, sequence, queued_octets, .. } = self
        else {
            return false;
        };
        if queue.len() != 1 || !round.has_another() {
            return false;
        }
        let Some(queued) = queue.pop_front() else { return false };
        *queued_octets -= u64::from(queued.frame.octets);
        round.put_back(Begun { queued, attempts: *attempts, sequence: *sequence });
        self.take_from_round(now);
        true
    }
}
