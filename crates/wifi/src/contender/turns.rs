//! Flows or receivers that take turns: behind the frame in the hands of the MAC, and behind those that
//! went before others already.

use lasthop_packet::Instant;

use super::queue::{Begun, Behind, Queued};
use super::round::Turn;
use super::{Attempts, Contender};
use crate::frame::MacFrame;

impl Contender {
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
        let (limit, len, ahead) = (self.queue.limit, frame.octets as usize, self.queue.behind_head());
        let is_empty = self.queue.is_empty();
        let Behind::Flows(flows) = &mut self.queue.behind else { return self.push(frame, now) };
        if is_empty {
            return self.push(frame, now);
        }
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

    /// Puts a frame among those for its receiver, if there is room.
    #[cold]
    pub(super) fn push_in_round(&mut self, frame: MacFrame, now: Instant) -> bool {
        let (packets, octets) = self.queue.waiting();
        let is_free = self.queue.is_empty();
        if !is_free && !self.queue.limit.has_room(packets, octets, frame.octets as usize) {
            return false;
        }
        if let Behind::Receivers(round) = &mut self.queue.behind {
            round.push(frame.to, Queued { frame, arrived: now });
        }
        if is_free {
            self.take_from_round(now);
        }
        true
    }

    /// The frame whose turn it is comes to the head of the queue.
    fn take_from_round(&mut self, now: Instant) {
        let Behind::Receivers(round) = &mut self.queue.behind else { return };
        let next = match round.take() {
            None => return,
            Some(Turn::Again(begun)) => begun,
            Some(Turn::First(queued)) => {
                Begun { queued, attempts: Attempts::at_head(now), sequence: round.new_sequence() }
            }
        };
        self.queue.put(next.queued);
        self.sequence = next.sequence;
        *self.of_packet() = next.attempts;
    }

    /// A frame is done with, and gone from the queue.
    #[cold]
    pub(super) fn next_in_round(&mut self, now: Instant) {
        let Behind::Receivers(round) = &mut self.queue.behind else { return };
        round.done();
        // For a frame that goes before the round, now or later.
        self.sequence = round.new_sequence();
        if self.queue.is_empty() {
            self.take_from_round(now);
        }
    }

    /// The transmission of the packet in its hands has failed, and that of another receiver has its
    /// turn. Whether there is one.
    #[cold]
    pub(super) fn yield_turn(&mut self, now: Instant) -> bool {
        let Self { own: None, queue, attempts, sequence, .. } = self else { return false };
        let Behind::Receivers(round) = &mut queue.behind else { return false };
        if queue.frames.len() != 1 || !round.has_another() {
            return false;
        }
        let Some(queued) = queue.frames.pop_front() else { return false };
        queue.octets -= u64::from(queued.frame.octets);
        round.put_back(Begun { queued, attempts: *attempts, sequence: *sequence });
        self.take_from_round(now);
        true
    }
}
