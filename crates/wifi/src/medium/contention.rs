//! Contention: who transmits when. It is computed, not simulated slot by slot.
//!
//! Stations that hear the same frames (a *sense domain*) count down together. The domain has a counter of
//! *virtual slots*, which advances by the whole slots of each idle period; a contender whose backoff
//! has `r` slots left enters a queue with the counter's value plus `r`, and never moves until it
//! transmits. So a busy medium freezes every backoff at the cost of one division.
//!
//! Contenders whose slots do not start with those of the domain in one idle period are in a short list
//! apart: those whose transmission failed (`ACKTimeout` plus DIFS), those that did not decode a frame for
//! them, and those that found the medium idle and need no backoff. When the medium turns busy they join
//! the others.
//!
//! A contender that is about to transmit senses a transmission only if it began at least
//! `carrier_sense_delay` ago, by default a slot. So contenders whose backoffs end together collide, and
//! so do those of the list whose backoffs end within a slot of each other.

use lasthop_link::Upcoming;
use lasthop_packet::Instant;

use crate::contender::{Contender, Stage};
use crate::times::Times;

#[derive(Debug, Default)]
pub(super) struct Contention {
    /// The start of the first slot of this idle period: an interframe space after the period's start, or
    /// DIFS after the end of a NAV. `None` while the medium is busy.
    slots_from: Option<Instant>,
    /// The number of virtual slots that have passed.
    slots: u64,
    counting: Upcoming<Counting>,
    apart: Vec<Apart>,
}

/// A contender that counts down with its domain.
#[derive(Clone, Copy, Debug)]
struct Counting {
    /// The virtual slot in which it transmits.
    end: u64,
    contender: u32,
    /// The stamp of the contender, unless this entry is stale.
    stamp: u32,
}

impl Counting {
    #[inline]
    fn is_stale(&self, contenders: &[Contender]) -> bool {
        contenders[self.contender as usize].back_off.stamp() != self.stamp
    }
}

impl lasthop_link::Due for Counting {
    /// Slot, contender and stamp as one number.
    type Turn = u128;

    #[inline]
    fn turn(&self) -> u128 {
        u128::from(self.end) << 64 | u128::from(self.contender) << 32 | u128::from(self.stamp)
    }
}

/// A contender that counts down by itself.
#[derive(Clone, Copy, Debug)]
struct Apart {
    contender: u32,
    slots_from: Instant,
    slots: u64,
    /// Whether it has no backoff, and draws one if the medium turns busy before it transmits.
    at_once: bool,
}

/// A contender that transmits at a certain time, whatever it hears until then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) contender: u32,
    pub(crate) at: Instant,
}

impl Contention {
    pub(super) const fn is_busy(&self) -> bool {
        self.slots_from.is_none()
    }

    pub(super) const fn slots_from(&self) -> Option<Instant> {
        self.slots_from
    }

    /// The medium is idle, and the first slot starts at `slots_from`.
    pub(super) fn resume(&mut self, slots_from: Instant) {
        self.slots_from = Some(slots_from);
    }

    /// A contender begins to count down this number of slots with its domain, from the present slot.
    pub(super) fn enter(&mut self, now: Instant, contender: u32, slots: u64, slot: u64, at: &mut Contender) {
        let end = self.slots_at(now, slot) + slots;
        self.count(contender, end, at);
    }

    /// A contender's backoff ends with this virtual slot.
    fn count(&mut self, contender: u32, end: u64, at: &mut Contender) {
        if at.has_frame() {
            at.back_off.set(Stage::Counting(end));
            self.counting.push(Counting { end, contender, stamp: at.back_off.stamp() });
        } else {
            at.back_off.set(Stage::Post(end));
        }
    }

    /// A contender counts down by itself, from a time of its own.
    pub(super) fn stand_apart(
        &mut self,
        contender: u32,
        slots_from: Instant,
        slots: u64,
        at_once: bool,
        at: &mut Contender,
    ) {
        at.back_off.set(Stage::Apart);
        self.apart.push(Apart { contender, slots_from, slots, at_once });
    }

    /// A contender that counts down with its domain does so by itself from now on.
    pub(super) fn part(&mut self, contender: u32, slots_from: Instant, at: &mut Contender) {
        let (Stage::Counting(end) | Stage::Post(end)) = at.back_off.stage() else { return };
        let slots = end.saturating_sub(self.slots);
        if slots == 0 && !at.has_frame() {
            return;
        }
        at.back_off.invalidate();
        self.stand_apart(contender, slots_from, slots, false, at);
    }

    /// A contender whose queue was empty has a frame: continues its post-backoff. `false` if that is over.
    pub(super) fn continue_post_back_off(
        &mut self,
        now: Instant,
        contender: u32,
        slot: u64,
        at: &mut Contender,
    ) -> bool {
        match at.back_off.stage() {
            Stage::Post(end) if end > self.slots_at(now, slot) => {
                self.count(contender, end, at);
                true
            }
            Stage::Apart => {
                let Some(index) = self.apart.iter().position(|apart| apart.contender == contender) else {
                    return false;
                };
                let Apart { slots_from, slots, .. } = self.apart[index];
                let is_over = slots == 0 || slots_from.after_nanos(slots * slot) <= now;
                if is_over {
                    self.apart.remove(index);
                }
                !is_over
            }
            _ => false,
        }
    }

    /// The time of the next transmission, if the medium stays idle.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn next_access(&mut self, slot: u64, contenders: &[Contender]) -> Option<Instant> {
        let slots_from = self.slots_from?;
        self.drop_stale(contenders);
        let first = self.counting.next();
        let mut next = first.map(|first| slots_from.after_nanos(first.end.saturating_sub(self.slots) * slot));
        for apart in self.apart.iter().filter(|apart| contenders[apart.contender as usize].has_frame()) {
            let access = apart.slots_from.after_nanos(apart.slots * slot);
            next = Some(next.map_or(access, |next| next.min(access)));
        }
        next
    }

    /// The medium turns busy: all backoffs stop, except those that end before their contenders can sense
    /// that. These contenders transmit, and are added to `due`.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn freeze(
        &mut self,
        now: Instant,
        times: &Times,
        contenders: &mut [Contender],
        due: &mut Vec<Due>,
    ) {
        let is_unsensed = |at: Instant| at <= now || at < now.after_nanos(times.carrier_sense_delay);
        self.stop(now, times.slot, is_unsensed, contenders, due);
    }

    /// All backoffs stop, and nobody transmits.
    pub(super) fn suspend(&mut self, now: Instant, slot: u64, contenders: &mut [Contender]) {
        self.stop(now, slot, |_| false, contenders, &mut Vec::new());
    }

    /// All backoffs stop, except those whose end is unsensed.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn stop(
        &mut self,
        now: Instant,
        slot: u64,
        is_unsensed: impl Fn(Instant) -> bool,
        contenders: &mut [Contender],
        due: &mut Vec<Due>,
    ) {
        let Some(slots_from) = self.slots_from.take() else { return };
        let idle = now.as_nanos().saturating_sub(slots_from.as_nanos());
        self.slots += idle / slot;
        let begun = u64::from(!idle.is_multiple_of(slot));
        let next = slots_from.max(now.after_nanos(begun * (slot - idle % slot)));
        if is_unsensed(next) {
            self.take_due(self.slots + begun, next, contenders, due);
        }
        // In order of arrival; the result does not depend on the order.
        for index in 0..self.apart.len() {
            let Apart { contender, slots_from, slots, at_once } = self.apart[index];
            let at = &mut contenders[contender as usize];
            let access = slots_from.after_nanos(slots * slot);
            if at.has_frame() && is_unsensed(access) {
                due.push(Due { contender, at: access.max(now) });
                continue;
            }
            let passed = now.as_nanos().saturating_sub(slots_from.as_nanos()) / slot;
            let left = if at_once { at.back_off.draw() } else { slots.saturating_sub(passed) };
            let end = self.slots + left;
            self.count(contender, end, at);
        }
        self.apart.clear();
    }

    /// The contenders that transmit in this virtual slot, which starts at `at`.
    fn take_due(&mut self, slot: u64, at: Instant, contenders: &[Contender], due: &mut Vec<Due>) {
        while let Some(next) = self.counting.pop_if(|next| next.end <= slot || next.is_stale(contenders)) {
            if !next.is_stale(contenders) {
                due.push(Due { contender: next.contender, at });
            }
        }
    }

    fn drop_stale(&mut self, contenders: &[Contender]) {
        while self.counting.pop_if(|next| next.is_stale(contenders)).is_some() {}
    }

    /// The contention of some of its stations, which leave the domain; in order of their numbers.
    pub(super) fn part_of(&self, members: &[u32]) -> Self {
        let stays = |it: &u32| members.binary_search(&Contender::station_of(*it)).is_ok();
        Self {
            slots_from: self.slots_from,
            slots: self.slots,
            counting: self.counting.iter().filter(|counting| stays(&counting.contender)).copied().collect(),
            apart: self.apart.iter().filter(|apart| stays(&apart.contender)).copied().collect(),
        }
    }

    fn slots_at(&self, now: Instant, slot: u64) -> u64 {
        match self.slots_from {
            Some(from) if now > from => self.slots + (now.as_nanos() - from.as_nanos()) / slot,
            _ => self.slots,
        }
    }
}
