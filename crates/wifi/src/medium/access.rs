//! Interframe spaces, and the start of backoffs.

use lasthop_packet::Instant;

use super::{Due, Medium};
use crate::contender::Contender;

impl Medium {
    /// A contender that had no frame has one. It transmits at once if the medium is idle, and after a
    /// backoff if the medium is busy or `with_back_off` is set.
    #[inline]
    pub(crate) fn contend(&mut self, index: u32, now: Instant, with_back_off: bool, at: &mut Contender) {
        let station = Contender::station_of(index);
        let contention = self.domains[self.places[station as usize].domain as usize].contention_mut();
        if contention.continue_post_back_off(now, index, self.times.slot, at) {
            return;
        }
        if !with_back_off
            && let Some(from) = self.slots_from(station)
            && self.nav_of(station) <= now
        {
            //= IEEE 802.11-2020, 10.3.4.2: no backoff if the medium has been idle for DIFS or EIFS.
            let contention = self.domains[self.places[station as usize].domain as usize].contention_mut();
            contention.stand_apart(index, from.max(now), 0, true, at);
        } else {
            self.back_off(index, now, now, at);
        }
    }

    /// A contender draws a backoff. It counts down from `earliest` at the earliest, while the medium is
    /// idle.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn back_off(&mut self, index: u32, now: Instant, earliest: Instant, at: &mut Contender) {
        let station = Contender::station_of(index);
        let slots = at.back_off.draw();
        let from = self.slots_from(station).map(|from| from.max(earliest));
        let contention = self.domains[self.places[station as usize].domain as usize].contention_mut();
        match from {
            Some(from) if contention.slots_from() != Some(from) => {
                contention.stand_apart(index, from, slots, false, at);
            }
            _ => contention.enter(now, index, slots, self.times.slot, at),
        }
    }

    /// The medium turns idle for the members of a domain: for bystanders, and for the stations that take
    /// part in an exchange.
    pub(super) fn begin_idle(&mut self, index: u32, now: Instant, contenders: &mut [Contender]) {
        let domain = &mut self.domains[index as usize];
        domain.turn_idle(now, &self.times);
        for reservation in 0..domain.nav_mut().len() {
            let exempt = self.domains[index as usize].nav_mut().exempt(reservation, now);
            for station in exempt.into_iter().flatten() {
                if self.home(station) == index {
                    self.part(station, contenders);
                }
            }
        }
    }

    /// The start of a station's slots in this idle period; `None` if the medium is busy.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn slots_from(&self, station: u32) -> Option<Instant> {
        let place = &self.places[station as usize];
        self.domains[place.domain as usize].slots_from(station, place.own_ifs, &self.times)
    }

    /// The end of a station's NAV, which may be past.
    #[inline]
    pub(crate) fn nav_of(&self, station: u32) -> Instant {
        self.domains[self.home(station) as usize].nav_of(Some(station), &self.times)
    }

    /// If a station's slots do not start with those of its domain, its contenders stop counting with the
    /// domain, and count by themselves.
    pub(crate) fn part(&mut self, station: u32, contenders: &mut [Contender]) {
        let Some(from) = self.slots_from(station) else { return };
        let domain = self.home(station);
        let contention = self.domains[domain as usize].contention_mut();
        if contention.slots_from() != Some(from) {
            for index in Contender::all_of(station) {
                contention.part(index, from, &mut contenders[index as usize]);
            }
        }
    }

    /// A station's frame ends at `end`: it waits for DIFS from then on.
    pub(crate) fn sent(&mut self, station: u32, end: Instant) {
        self.places[station as usize].own_ifs = Some((end, self.times.difs));
    }

    /// A frame that a station has not decoded ends at `end`: it waits for EIFS from then on.
    pub(crate) fn missed(&mut self, station: u32, end: Instant) {
        self.places[station as usize].own_ifs = Some((end, self.times.eifs));
    }

    /// The time of a domain's next transmission, if its medium stays idle.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn next_access(&mut self, domain: u32, contenders: &[Contender]) -> Option<Instant> {
        self.domains[domain as usize].contention_mut().next_access(self.times.slot, contenders)
    }

    /// Whether an access event is needed at this time: none is due before.
    pub(crate) fn schedule(&mut self, domain: u32, at: Instant) -> bool {
        self.domains[domain as usize].schedule(at)
    }

    /// An access event is due. Returns whether it is the one that was scheduled last.
    pub(crate) fn unschedule(&mut self, domain: u32, at: Instant) -> bool {
        self.domains[domain as usize].unschedule(at)
    }

    /// The contenders of a domain whose backoffs end now transmit.
    pub(crate) fn access(&mut self, domain: u32, now: Instant, contenders: &mut [Contender]) {
        self.domains[domain as usize].access(now, &self.times, contenders, &mut self.due);
    }

    /// The contenders that are to transmit, until they are taken.
    #[inline]
    pub(crate) fn due(&self) -> &[Due] {
        &self.due
    }

    /// Takes the contenders that are to transmit.
    pub(crate) fn take_due(&mut self) -> impl Iterator<Item = Due> {
        self.due.drain(..)
    }
}
