//! A contender's queue. The MAC transmits the frame at its head; the others wait. Depending on the
//! scheduler, flows or receivers take turns behind these.
//!
//! | module | what is in it |
//! |---|---|
//! | `block` | the packets that are transmitted with the head |
//! | `psdu` | the length of what they are transmitted in |
//! | `behind` | the packets that wait behind these, and may be added to them |

mod behind;
mod block;
mod psdu;

use lasthop_link::{Fifo, QueueLimit};
use lasthop_packet::Instant;

use super::attempts::{Attempts, Begun};
use super::round::Turn;
use crate::frame::{DataOverhead, MacFrame, Queued, Receiver, StationId};
use crate::station::Scheduler;
use behind::{Behind, Supply};
use block::{Block, Head};
pub use psdu::Aggregate;
use psdu::Length;
pub(crate) use psdu::{Limits, Psdu};

/// An MPDU of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mpdu {
    pub(crate) sequence: u16,
    /// The number of its packets.
    pub(crate) packets: usize,
    /// Its length.
    pub(crate) octets: u32,
}

/// A contender's queue.
#[derive(Debug)]
pub(crate) struct Queue {
    limit: QueueLimit,
    frames: Fifo<Queued>,
    /// The transmissions of the frame at the head.
    attempts: Attempts,
    /// The sequence number of the frame at the head, or of the next one.
    sequence: u16,
    /// The number of frames behind the head that were put before others.
    ahead: usize,
    /// Frames that are transmitted with the one at the head.
    block: Block,
    /// The starting sequence number of the last block ack request.
    requested: u16,
    /// Receivers that are to have a block ack request as soon as they answer: they did not answer the last one, or frames
    /// for them were taken back.
    owed: Vec<StationId>,
    /// Frames that wait behind `frames`.
    behind: Behind,
}

impl Queue {
    pub(super) fn new(limit: QueueLimit, scheduler: Scheduler) -> Self {
        let behind = match scheduler {
            Scheduler::Fifo => Behind::Nothing,
            Scheduler::PerFlow => Behind::Flows(Box::default()),
            Scheduler::PerReceiver => Behind::Receivers(Box::default()),
        };
        let attempts = Attempts::default();
        let (frames, block) = (Fifo::default(), Block::default());
        Self { limit, frames, attempts, sequence: 0, ahead: 0, block, requested: 0, owed: Vec::new(), behind }
    }

    /// Whether flows take turns.
    pub(crate) const fn is_per_flow(&self) -> bool {
        matches!(self.behind, Behind::Flows(_))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frame that the MAC transmits, now or after an own frame.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Queued> {
        self.frames.first()
    }

    /// The transmissions of the frame at the head.
    #[inline]
    pub(crate) const fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    #[inline]
    pub(crate) const fn attempts_mut(&mut self) -> &mut Attempts {
        &mut self.attempts
    }

    /// The sequence number of the frame at the head.
    pub(crate) const fn sequence(&self) -> u16 {
        self.sequence
    }

    /// Packets and octets that wait, without the frame at the head.
    #[inline]
    pub(crate) fn waiting(&self) -> (usize, u64) {
        let (packets, octets) = self.behind_head();
        let (more, of_them) = match &self.behind {
            Behind::Nothing => (0, 0),
            Behind::Flows(flows) => flows.size(),
            Behind::Receivers(round) => round.size(),
        };
        (packets + more, octets + of_them)
    }

    /// Of these, those that wait in `frames`.
    fn behind_head(&self) -> (usize, u64) {
        let (packets, octets) = self.frames.size();
        self.head().map_or((0, 0), |head| (packets - 1, octets - u64::from(head.frame.octets)))
    }

    /// Appends a frame if there is room. Returns whether there was.
    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: MacFrame, now: Instant) -> bool {
        let is_head = self.is_empty();
        if !is_head && !self.has_room(frame.octets) {
            return false;
        }
        let queued = Queued { frame, arrived: now };
        if let Behind::Receivers(round) = &mut self.behind {
            round.push(frame.to, queued);
            if is_head {
                self.take_turn(now);
            }
            return true;
        }
        if is_head {
            self.attempts = Attempts::at_head(now);
        }
        self.frames.push(queued);
        true
    }

    #[inline]
    fn has_room(&self, octets: u32) -> bool {
        let waiting = self.waiting();
        self.limit.has_room(waiting.0, waiting.1, octets as usize)
    }

    /// Appends a frame to those of its flow. If there is no room, flows with more octets lose their
    /// last frames until there is; `displaced` receives these frames. Returns `false` if the new
    /// frame is dropped; then no other is.
    pub(crate) fn push_in_turn(
        &mut self,
        flow: u64,
        frame: MacFrame,
        now: Instant,
        mut displaced: impl FnMut(MacFrame),
    ) -> bool {
        let (limit, len, ahead) = (self.limit, frame.octets as usize, self.behind_head());
        let is_empty = self.is_empty();
        let Behind::Flows(flows) = &mut self.behind else { return self.push(frame, now) };
        if is_empty {
            return self.push(frame, now);
        }
        let has_room = |(packets, octets)| limit.has_room(ahead.0 + packets, ahead.1 + octets, len);
        // No frame is displaced in vain: mostly the next one makes enough room.
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

    /// Puts frames before others that wait: behind the frame at the head, and behind those that
    /// were put there earlier, or before these with `first`.
    pub(crate) fn push_ahead(
        &mut self,
        frames: impl ExactSizeIterator<Item = Queued>,
        first: bool,
        now: Instant,
    ) {
        let count = frames.len();
        let had_head = !self.is_empty();
        let place = if first { 0 } else { self.ahead } + usize::from(had_head);
        for (offset, queued) in frames.enumerate() {
            self.frames.insert(place + offset, queued);
        }
        if had_head {
            self.ahead += count;
        } else {
            self.ahead += count.saturating_sub(1);
            self.attempts = Attempts::at_head(now);
        }
    }

    /// Removes the frame at the head, which was delivered or given up.
    #[inline]
    pub(super) fn pop(&mut self, now: Instant) {
        self.frames.pop();
        self.ahead = self.ahead.saturating_sub(1);
        self.attempts = Attempts::at_head(now);
        self.sequence = (self.sequence + 1) & 0x0fff;
        match &mut self.behind {
            Behind::Nothing => {}
            Behind::Flows(flows) => {
                if self.frames.is_empty()
                    && let Some(next) = flows.pop()
                {
                    self.frames.push(next);
                }
            }
            Behind::Receivers(round) => {
                round.done();
                // For a frame that is put before the round, now or later.
                self.sequence = round.new_sequence();
                if self.frames.is_empty() {
                    self.take_turn(now);
                }
            }
        }
    }

    /// After a failed transmission of the frame at the head, brings the frame of another receiver
    /// to the head if one waits for its turn. Returns whether one did.
    #[inline]
    pub(super) fn yield_turn(&mut self, now: Instant) -> bool {
        matches!(self.behind, Behind::Receivers(_)) && self.yield_to_another(now)
    }

    #[cold]
    fn yield_to_another(&mut self, now: Instant) -> bool {
        let Behind::Receivers(round) = &mut self.behind else { return false };
        let has_begun = self.attempts.transmissions() > 0;
        if !has_begun || self.frames.size().0 != 1 || !round.has_another() {
            return false;
        }
        let Some(queued) = self.frames.pop() else { return false };
        let first = Begun { queued, attempts: self.attempts, sequence: self.sequence };
        round.put_back((first, self.block.yield_further()));
        self.take_turn(now);
        true
    }

    /// Brings the frame of the receiver whose turn it is to the head.
    #[cold]
    fn take_turn(&mut self, now: Instant) {
        let Behind::Receivers(round) = &mut self.behind else { return };
        let next = match round.take() {
            None => return,
            Some(Turn::Again((first, further))) => {
                self.block.resume(further);
                first
            }
            Some(Turn::First(queued)) => {
                Begun { queued, attempts: Attempts::at_head(now), sequence: round.new_sequence() }
            }
        };
        self.frames.push(next.queued);
        (self.attempts, self.sequence) = (next.attempts, next.sequence);
    }

    /// The PSDU of the next exchange, which carries the head and, with `limits`, what else may go with it. The packets
    /// that have left the queue for that are passed to `depart`. It does not change until the exchange is over. `None`:
    /// the queue is empty.
    pub(crate) fn gather(
        &mut self,
        limits: Option<&Limits>,
        overhead: DataOverhead,
        now: Instant,
        depart: impl FnMut(&Queued),
    ) -> Option<Psdu> {
        if self.block.gathered().is_some() {
            return self.block.gathered();
        }
        let MacFrame { to, octets, .. } = self.frames.first()?.frame;
        let Receiver::Station(to) = to else { return Some(self.block.choose_single(overhead, octets)) };
        let is_fresh = self.attempts.transmissions() == 0;
        if is_fresh {
            self.sequence = self.block.number(to);
        }
        let head = Head { sequence: self.sequence, octets, is_fresh };
        let supply = Supply::new(to, &mut self.frames, &mut self.behind);
        Some(self.block.choose((to, head), limits, overhead, supply, (now, depart)))
    }

    /// The length of the MPDU with the head.
    pub(crate) fn head_mpdu(&self, overhead: DataOverhead) -> Option<u32> {
        let octets = self.frames.first()?.frame.octets;
        let is_fresh = self.attempts.transmissions() == 0;
        Some(self.block.head_mpdu(Head { sequence: self.sequence, octets, is_fresh }, overhead))
    }

    /// The MPDU of the exchange whose first packet has this number, from 0.
    pub(crate) fn mpdu(&self, first: usize, overhead: DataOverhead) -> Option<Mpdu> {
        let (sequence, frame) = self.packet(first)?;
        let mut length = Length::new(overhead, frame.octets);
        let mut packets = 1;
        while let Some((_, next)) = self.packet(first + packets).filter(|next| next.0 == sequence) {
            length = length.join(next.octets);
            packets += 1;
        }
        Some(Mpdu { sequence, packets, octets: length.psdu().octets })
    }

    /// A packet of the exchange by its number, from 0, and its sequence number.
    pub(crate) fn packet(&self, number: usize) -> Option<(u16, MacFrame)> {
        match number.checked_sub(1) {
            None => Some((self.sequence, self.frames.first()?.frame)),
            Some(behind_head) => self.block.packet(behind_head),
        }
    }

    /// The transmissions of the packets of the exchange.
    pub(crate) fn all_attempts_mut(&mut self) -> impl Iterator<Item = &mut Attempts> {
        std::iter::once(&mut self.attempts).chain(self.block.attempts_mut())
    }

    /// A transmission of the packets behind the head begins.
    #[inline(never)]
    pub(crate) fn begin_further(&mut self, now: Instant) {
        self.block.attempts_mut().for_each(|attempts| attempts.begin(now));
    }

    /// The number of packets of the exchange behind the head.
    #[inline]
    pub(crate) const fn further(&self) -> usize {
        self.block.in_psdu()
    }

    /// Packets to this receiver were given up: its window is to begin with the first one that is not done with.
    pub(crate) fn request_block_ack(&mut self, to: StationId) {
        let head = self.frames.first().filter(|head| head.frame.to == Receiver::Station(to));
        let is_outstanding = head.is_some() && self.attempts.transmissions() > 0;
        self.requested = if is_outstanding { self.sequence } else { self.block.next_number(to) };
    }

    /// A receiver is to have a block ack request as soon as it answers.
    #[cold]
    pub(crate) fn owe_block_ack_request(&mut self, to: StationId) {
        if !self.owed.contains(&to) {
            self.owed.push(to);
        }
    }

    /// Whether the agreement with a receiver has ended, because it has not answered for long; a new one begins.
    pub(crate) fn has_lost_touch(&mut self, with: StationId) -> bool {
        self.block.has_lost_touch(with)
    }

    /// A receiver has answered. Whether it is to have a block ack request, which counts as sent then.
    pub(crate) fn answered(&mut self, by: StationId) -> bool {
        self.block.answered(by);
        let place = self.owed.iter().position(|owed| *owed == by);
        place.is_some_and(|place| {
            self.owed.swap_remove(place);
            true
        })
    }

    /// The starting sequence number of the last block ack request.
    pub(crate) const fn requested(&self) -> u16 {
        self.requested
    }

    /// The exchange is over. `is_done` says of each of its packets, in order, whether it is delivered or given up; it
    /// receives the sequence number, too. These packets are removed.
    pub(super) fn conclude(
        &mut self,
        now: Instant,
        mut is_done: impl FnMut(u16, &Queued, &mut Attempts) -> bool,
    ) {
        let Some(head) = self.frames.first() else { return };
        let is_head_done = is_done(self.sequence, head, &mut self.attempts);
        self.block.conclude(is_done);
        if is_head_done {
            self.remove_head(now);
        }
    }

    /// Removes the frame at the head, between exchanges: the next one that was transmitted with it takes its place, or one
    /// that waits.
    pub(super) fn remove_head(&mut self, now: Instant) {
        self.block.forget_psdu();
        if let Some(Begun { queued, attempts, sequence }) = self.block.take_first() {
            self.frames.pop();
            self.frames.insert(0, queued);
            (self.attempts, self.sequence) = (attempts, sequence);
        } else {
            self.pop(now);
        }
    }

    /// Removes and returns the frames for a station, except the one at the head.
    pub(crate) fn withdraw(&mut self, to: StationId) -> Vec<MacFrame> {
        let is_gone = |queued: &Queued| queued.frame.to == Receiver::Station(to);
        let (mut place, ahead) = (0, self.ahead);
        let mut gone = self.frames.withdraw(|queued| {
            place += 1;
            let is_gone = place > 1 && is_gone(queued);
            self.ahead -= usize::from(is_gone && place <= ahead + 1);
            is_gone
        });
        match &mut self.behind {
            Behind::Nothing => {}
            Behind::Flows(flows) => gone.extend(flows.withdraw(is_gone)),
            Behind::Receivers(round) => gone.extend(round.withdraw(Receiver::Station(to))),
        }
        gone.into_iter().map(|queued| queued.frame).collect()
    }

    #[cfg(test)]
    pub(crate) const fn ahead(&self) -> usize {
        self.ahead
    }
}
