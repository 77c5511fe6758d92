//! The packets of an A-MPDU, from the first exchange that carries them to their acknowledgment.
//!
//! The first of them is the head of the queue. The others wait here.

use std::collections::VecDeque;

use lasthop_packet::Instant;

use super::psdu::{Length, Limits, Psdu};
use super::{Attempts, Begun, Behind, Queue};
use crate::frame::{DataOverhead, MacFrame, Queued, Receiver, StationId};
use crate::station::reordering::{ahead, next};

/// The packets behind the head that have sequence numbers: they were or are being transmitted with it.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// In order of their numbers; to the receiver of the head.
    pub(super) further: VecDeque<Begun>,
    /// What the exchange carries that is about to begin or under way.
    gathered: Option<Psdu>,
    /// The number of packets behind the head that are in it.
    in_psdu: usize,
    /// The next sequence number of each receiver, by station.
    numbers: Vec<u16>,
    /// The starting sequence number of the last block ack request.
    requested: u16,
}

/// An MPDU of a PSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mpdu {
    pub(crate) sequence: u16,
    /// The number of its packets.
    pub(crate) packets: usize,
    /// Its length.
    pub(crate) octets: u32,
}

impl Block {
    /// The exchange is over, or will not begin.
    #[inline]
    pub(super) const fn forget_psdu(&mut self) {
        (self.gathered, self.in_psdu) = (None, 0);
    }

    fn number(&mut self, to: StationId) -> u16 {
        let number = self.next_number(to);
        if self.numbers.len() <= to.index() {
            self.numbers.resize(to.index() + 1, 0);
        }
        self.numbers[to.index()] = next(number);
        number
    }

    /// The sequence number of the next packet to a receiver.
    fn next_number(&self, to: StationId) -> u16 {
        self.numbers.get(to.index()).copied().unwrap_or_default()
    }
}

impl Queue {
    /// The PSDU of the next exchange, which carries the head and, with `limits`, what else may go with it. The packets
    /// that have left the queue for that are passed to `depart`. It does not change until the exchange is over. `None`:
    /// the queue is empty.
    pub(crate) fn gather(
        &mut self,
        limits: Option<&Limits>,
        overhead: DataOverhead,
        now: Instant,
        mut depart: impl FnMut(&Queued),
    ) -> Option<Psdu> {
        if self.block.gathered.is_some() {
            return self.block.gathered;
        }
        let head = self.frames.first()?.frame;
        let mut length = Length::new(overhead, head.octets);
        let mut further = 0;
        if let Receiver::Station(to) = head.to {
            let is_fresh = self.attempts.transmissions() == 0;
            if is_fresh {
                self.sequence = self.block.number(to);
            }
            (length, further) = self.take_outstanding(length, limits);
            if let Some(limits) = limits.filter(|_| further == self.block.further.len()) {
                let before = further;
                length = self.take_new((to, is_fresh), length, limits, now);
                further = self.block.further.len();
                self.block.further.iter().skip(before).for_each(|begun| depart(&begun.queued));
            }
        }
        (self.block.gathered, self.block.in_psdu) = (Some(length.psdu()), further);
        self.block.gathered
    }

    /// Adds packets that were transmitted with the head, as far as they fit; without limits, those of its MPDU. Returns the
    /// length then, and the number of these packets.
    fn take_outstanding(&self, mut length: Length, limits: Option<&Limits>) -> (Length, usize) {
        let further = &self.block.further;
        let mut count = 0;
        while let Some(first) = further.get(count) {
            let is_of_head = first.sequence == self.sequence;
            let mut with = if is_of_head { length } else { length.add(first.queued.frame.octets) };
            let of_mpdu = further.range(count..).take_while(|begun| begun.sequence == first.sequence);
            let mut packets = 0;
            for begun in of_mpdu {
                if is_of_head || packets > 0 {
                    with = with.join(begun.queued.frame.octets);
                }
                packets += 1;
            }
            let is_within = limits.is_some_and(|limits| {
                with.is_within(limits) && ahead(first.sequence, self.sequence) < limits.window
            });
            if !is_of_head && !is_within {
                break;
            }
            (length, count) = (with, count + packets);
        }
        (length, count)
    }

    /// Adds packets that wait, as far as they fit. `is_fresh`: whether packets may join the last MPDU, because that was not
    /// transmitted. Returns the length then.
    fn take_new(
        &mut self,
        (to, mut is_fresh): (StationId, bool),
        mut length: Length,
        limits: &Limits,
        now: Instant,
    ) -> Length {
        let (mut place, mut sequence) = (1, self.sequence);
        is_fresh &= self.block.further.is_empty();
        loop {
            let in_window = ahead(self.block.next_number(to), self.sequence) < limits.window;
            let longer = |queued: &Queued| {
                let octets = queued.frame.octets;
                let joined = length.join(octets);
                if is_fresh && joined.is_amsdu_within(limits) && joined.is_within(limits) {
                    return Some((joined, false));
                }
                let added = length.add(octets);
                (in_window && added.is_within(limits)).then_some((added, true))
            };
            let Some((queued, (with, is_new_mpdu))) = self.take_next(to, &mut place, longer) else {
                return length;
            };
            if is_new_mpdu {
                sequence = self.block.number(to);
                is_fresh = true;
            }
            length = with;
            self.block.further.push_back(Begun { queued, attempts: Attempts::at_head(now), sequence });
        }
    }

    /// Takes the next packet to this receiver if it fits. `place`: that of the first packet in `frames` that may be it.
    fn take_next<T>(
        &mut self,
        to: StationId,
        place: &mut usize,
        fits: impl Fn(&Queued) -> Option<T>,
    ) -> Option<(Queued, T)> {
        let is_wanted = |queued: &Queued| queued.frame.to == Receiver::Station(to);
        while let Some(queued) = self.frames.get(*place) {
            if is_wanted(queued) {
                let fit = fits(queued)?;
                return Some((self.frames.remove(*place)?, fit));
            }
            *place += 1;
        }
        match &mut self.behind {
            Behind::Nothing => None,
            Behind::Flows(flows) => {
                let next = flows.pop()?;
                if is_wanted(&next)
                    && let Some(fit) = fits(&next)
                {
                    return Some((next, fit));
                }
                // It is the turn of its flow, after this exchange.
                self.frames.push(next);
                None
            }
            Behind::Receivers(round) => {
                let fit = fits(round.next_in_hand()?)?;
                Some((round.take_in_hand()?, fit))
            }
        }
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
        if number == 0 {
            return Some((self.sequence, self.frames.first()?.frame));
        }
        let begun = self.block.further.get(number - 1).filter(|_| number <= self.further())?;
        Some((begun.sequence, begun.queued.frame))
    }

    /// The transmissions of the packets of the exchange.
    pub(crate) fn all_attempts_mut(&mut self) -> impl Iterator<Item = &mut Attempts> {
        let further = self.further();
        let others = self.block.further.iter_mut().take(further).map(|begun| &mut begun.attempts);
        std::iter::once(&mut self.attempts).chain(others)
    }

    /// A transmission of the packets behind the head begins.
    #[inline(never)]
    pub(crate) fn begin_further(&mut self, now: Instant) {
        self.all_attempts_mut().skip(1).for_each(|attempts| attempts.begin(now));
    }

    /// The number of packets of the exchange behind the head.
    #[inline]
    pub(crate) const fn further(&self) -> usize {
        self.block.in_psdu
    }

    /// Packets to this receiver were given up: its window is to begin with the first one that is not done with.
    pub(crate) fn request_block_ack(&mut self, to: StationId) {
        let head = self.frames.first().filter(|head| head.frame.to == Receiver::Station(to));
        let is_outstanding = head.is_some() && self.attempts.transmissions() > 0;
        self.block.requested = if is_outstanding { self.sequence } else { self.block.next_number(to) };
    }

    /// The starting sequence number of the last block ack request.
    pub(crate) const fn requested(&self) -> u16 {
        self.block.requested
    }

    /// The exchange is over. `is_done` says of each of its packets, in order, whether it is delivered or given up; it
    /// receives the sequence number, too. These packets are removed.
    pub(in crate::contender) fn conclude(
        &mut self,
        now: Instant,
        mut is_done: impl FnMut(u16, &Queued, &mut Attempts) -> bool,
    ) {
        let further = self.further();
        self.block.forget_psdu();
        let Some(head) = self.frames.first() else { return };
        let is_head_done = is_done(self.sequence, head, &mut self.attempts);
        for number in 0..self.block.further.len() {
            let Some(mut begun) = self.block.further.pop_front() else { break };
            let Begun { sequence, queued, attempts } = &mut begun;
            if number >= further || !is_done(*sequence, queued, attempts) {
                self.block.further.push_back(begun);
            }
        }
        if is_head_done {
            self.remove_head(now);
        }
    }

    /// Removes the frame at the head, between exchanges: the next one that was transmitted with it takes its place, or one
    /// that waits.
    pub(in crate::contender) fn remove_head(&mut self, now: Instant) {
        self.block.forget_psdu();
        if let Some(Begun { queued, attempts, sequence }) = self.block.further.pop_front() {
            self.frames.pop();
            self.frames.insert(0, queued);
            (self.attempts, self.sequence) = (attempts, sequence);
        } else {
            self.pop(now);
        }
    }
}
