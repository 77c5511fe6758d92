//! Flows or receivers that take turns: behind the frame in the hands of the MAC, and behind those that
//! went before others already.

use lasthop_packet::Instant;

use super::Attempts;
use super::queue::{Begun, Behind, Queue, Queued};
use super::round::Turn;
use crate::frame::MacFrame;

impl Queue {
    /// As `Contender::push_in_turn`, where a frame is in the hands of the MAC.
    pub(super) fn push_in_turn(
        &mut self,
        flow: u64,
        frame: MacFrame,
        now: Instant,
        mut displaced: impl FnMut(MacFrame),
    ) -> bool {
        let (limit, len, ahead) = (self.limit, frame.octets as usize, self.behind_head());
        let Behind::Flows(flows) = &mut self.behind else { return self.push(frame, now) };
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

    /// The queue is empty: the frame of the flow whose turn it is comes to its head.
    #[inline]
    pub(super) fn take_turn(&mut self) {
        if let Behind::Flows(flows) = &mut self.behind
            && let Some(next) = flows.pop()
        {
            self.put(next);
        }
    }

    /// Puts a frame among those for its receiver, if there is room.
    pub(super) fn push_in_round(&mut self, frame: MacFrame, now: Instant) -> bool {
        let waiting = self.waiting();
        if !self.is_empty() && !self.limit.has_room(waiting.0, waiting.1, frame.octets as usize) {
            return false;
        }
        if let Behind::Receivers(round) = &mut self.behind {
            round.push(frame.to, Queued { frame, arrived: now });
        }
        true
    }

    /// The frame whose turn it is comes to the head of the queue. Returns what became of it so far, and its
    /// sequence number.
    pub(super) fn take_from_round(&mut self, now: Instant) -> Option<(Attempts, u16)> {
        let Behind::Receivers(round) = &mut self.behind else { return None };
        let Begun { queued, attempts, sequence } = match round.take()? {
            Turn::Again(begun) => begun,
            Turn::First(queued) => {
                Begun { queued, attempts: Attempts::at_head(now), sequence: round.new_sequence() }
            }
        };
        self.put(queued);
        Some((attempts, sequence))
    }

    /// A frame is done with, and gone from the queue. Returns the sequence number of the next one.
    pub(super) fn done_in_round(&mut self) -> Option<u16> {
        let Behind::Receivers(round) = &mut self.behind else { return None };
        round.done();
        Some(round.new_sequence())
    }

    /// Puts the frame at the head, which was transmitted, behind those of other receivers, if there are any
    /// and none went before them. Whether it has.
    pub(super) fn yield_turn(&mut self, attempts: Attempts, sequence: u16) -> bool {
        let Self { frames, octets, behind: Behind::Receivers(round), .. } = self else { return false };
        if frames.len() != 1 || !round.has_another() {
            return false;
        }
        let Some(queued) = frames.pop_front() else { return false };
        *octets -= u64::from(queued.frame.octets);
        round.put_back(Begun { queued, attempts, sequence });
        true
    }
}
