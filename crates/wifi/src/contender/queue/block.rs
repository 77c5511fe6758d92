//! The packets of an A-MPDU, from the first exchange that carries them to their acknowledgment.
//!
//! The first of them is the head of the queue. The others wait here.

use std::collections::VecDeque;

use lasthop_packet::Instant;

use super::behind::Supply;
use super::psdu::{Length, Limits, Psdu};
use crate::contender::attempts::{Attempts, Begun};
use crate::frame::{DataOverhead, MacFrame, Queued, StationId};
use crate::station::reordering::{ahead, next};

/// The packets behind the head that have sequence numbers: they were or are being transmitted with it.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// In order of their numbers; to the receiver of the head.
    further: VecDeque<Begun>,
    /// What the exchange carries that is about to begin or under way.
    gathered: Option<Psdu>,
    /// The number of packets behind the head that are in it.
    in_psdu: usize,
    /// By station: the sequence numbers of each receiver.
    numbers: Vec<Numbers>,
}

/// The sequence numbers of frames to a receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    next: u16,
    /// How many were used since it has answered.
    unanswered: u16,
}

/// Numbers that a receiver has not answered before the agreement with it counts as ended: a quarter of all. To a receiver, half
/// of them are old.
const OUT_OF_TOUCH: u16 = 1 << 10;

/// The packet at the head of a queue.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) sequence: u16,
    pub(super) octets: u32,
    /// Whether it was not transmitted.
    pub(super) is_fresh: bool,
}

impl Block {
    /// What the exchange carries; `None`: it is not chosen yet.
    pub(super) const fn gathered(&self) -> Option<Psdu> {
        self.gathered
    }

    /// The next sequence number for a receiver, which is used then.
    pub(super) fn number(&mut self, to: StationId) -> u16 {
        if self.numbers.len() <= to.index() {
            self.numbers.resize(to.index() + 1, Numbers::default());
        }
        let numbers = &mut self.numbers[to.index()];
        let number = numbers.next;
        numbers.next = next(number);
        numbers.unanswered = numbers.unanswered.saturating_add(1);
        number
    }

    /// A receiver has answered.
    pub(super) fn answered(&mut self, by: StationId) {
        if let Some(numbers) = self.numbers.get_mut(by.index()) {
            numbers.unanswered = 0;
        }
    }

    /// Whether a receiver has not answered for so many numbers that it may take new ones for old; it has then.
    pub(super) fn has_lost_touch(&mut self, with: StationId) -> bool {
        let numbers = self.numbers.get_mut(with.index()).filter(|it| it.unanswered >= OUT_OF_TOUCH);
        numbers.is_some_and(|numbers| std::mem::take(&mut numbers.unanswered) > 0)
    }

    /// The sequence number of the next packet to a receiver.
    pub(super) fn next_number(&self, to: StationId) -> u16 {
        self.numbers.get(to.index()).copied().unwrap_or_default().next
    }

    /// Chooses what an exchange carries that has the head alone.
    pub(super) fn choose_single(&mut self, overhead: DataOverhead, octets: u32) -> Psdu {
        let psdu = Length::new(overhead, octets).psdu();
        (self.gathered, self.in_psdu) = (Some(psdu), 0);
        psdu
    }

    /// Chooses what an exchange carries: the head, the packets that were transmitted with it, and new ones from `supply`, as
    /// far as they fit. Without limits these are only the packets of the head's MPDU. The new ones are passed to `depart`.
    pub(super) fn choose(
        &mut self,
        (to, head): (StationId, Head),
        limits: Option<&Limits>,
        overhead: DataOverhead,
        mut supply: Supply<'_>,
        (now, mut depart): (Instant, impl FnMut(&Queued)),
    ) -> Psdu {
        let (mut length, mut further) = self.outstanding(head, Length::new(overhead, head.octets), limits);
        if let Some(limits) = limits.filter(|_| further == self.further.len()) {
            length = self.take_new((to, head), length, limits, &mut supply, now);
            self.further.iter().skip(further).for_each(|begun| depart(&begun.queued));
            further = self.further.len();
        }
        (self.gathered, self.in_psdu) = (Some(length.psdu()), further);
        length.psdu()
    }

    /// The length of the MPDU with the head, which alone may be transmitted again.
    pub(super) fn head_mpdu(&self, head: Head, overhead: DataOverhead) -> u32 {
        self.outstanding(head, Length::new(overhead, head.octets), None).0.psdu().octets
    }

    /// Adds packets that were transmitted with the head, as far as they fit; without limits, those of its MPDU. Returns the
    /// length then, and the number of these packets.
    fn outstanding(&self, head: Head, mut length: Length, limits: Option<&Limits>) -> (Length, usize) {
        let mut count = 0;
        while let Some(first) = self.further.get(count) {
            let is_of_head = first.sequence == head.sequence;
            let mut with = if is_of_head { length } else { length.add(first.queued.frame.octets) };
            let of_mpdu = self.further.range(count..).take_while(|begun| begun.sequence == first.sequence);
            let mut packets = 0;
            for begun in of_mpdu {
                if is_of_head || packets > 0 {
                    with = with.join(begun.queued.frame.octets);
                }
                packets += 1;
            }
            let is_within = limits.is_some_and(|limits| {
                with.is_within(limits) && ahead(first.sequence, head.sequence) < limits.window
            });
            if !is_of_head && !is_within {
                break;
            }
            (length, count) = (with, count + packets);
        }
        (length, count)
    }

    /// Adds packets that wait, as far as they fit. Returns the length then.
    fn take_new(
        &mut self,
        (to, head): (StationId, Head),
        mut length: Length,
        limits: &Limits,
        supply: &mut Supply<'_>,
        now: Instant,
    ) -> Length {
        let mut sequence = head.sequence;
        // A packet joins the last MPDU only if that was not transmitted.
        let mut is_fresh = head.is_fresh && self.further.is_empty();
        loop {
            let in_window = ahead(self.next_number(to), head.sequence) < limits.window;
            let longer = |queued: &Queued| length.extend(queued.frame.octets, limits, (is_fresh, in_window));
            let Some((queued, (with, is_new_mpdu))) = supply.take(longer) else { return length };
            if is_new_mpdu {
                sequence = self.number(to);
                is_fresh = true;
            }
            length = with;
            self.further.push_back(Begun { queued, attempts: Attempts::at_head(now), sequence });
        }
    }

    /// The exchange is over, or will not begin.
    #[inline]
    pub(super) const fn forget_psdu(&mut self) {
        (self.gathered, self.in_psdu) = (None, 0);
    }

    /// The number of packets of the exchange behind the head.
    #[inline]
    pub(super) const fn in_psdu(&self) -> usize {
        self.in_psdu
    }

    /// A packet of the exchange behind the head by its number, from 0, and its sequence number.
    pub(super) fn packet(&self, number: usize) -> Option<(u16, MacFrame)> {
        let begun = self.further.get(number).filter(|_| number < self.in_psdu)?;
        Some((begun.sequence, begun.queued.frame))
    }

    /// The transmissions of the packets of the exchange behind the head.
    pub(super) fn attempts_mut(&mut self) -> impl Iterator<Item = &mut Attempts> {
        self.further.iter_mut().take(self.in_psdu).map(|begun| &mut begun.attempts)
    }

    /// The exchange is over: removes those of its packets of which `is_done` says so.
    pub(super) fn conclude(&mut self, mut is_done: impl FnMut(u16, &Queued, &mut Attempts) -> bool) {
        for number in 0..self.further.len() {
            let Some(mut begun) = self.further.pop_front() else { break };
            let Begun { sequence, queued, attempts } = &mut begun;
            if number >= self.in_psdu || !is_done(*sequence, queued, attempts) {
                self.further.push_back(begun);
            }
        }
        self.forget_psdu();
    }

    /// Takes the first packet, which is to be the head.
    pub(super) fn take_first(&mut self) -> Option<Begun> {
        self.further.pop_front()
    }

    /// Takes all packets, which yield to those for another receiver together with the head.
    pub(super) fn yield_further(&mut self) -> VecDeque<Begun> {
        std::mem::take(&mut self.further)
    }

    /// Packets whose receiver's turn it is again, together with the head.
    pub(super) fn resume(&mut self, further: VecDeque<Begun>) {
        self.further = further;
    }
}
