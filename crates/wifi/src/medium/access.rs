//! Inter-frame spaces, and back-offs that begin.

use lasthop_packet::Instant;

use super::{Due, Medium};
use crate::contender::Contender;

impl Medium {
    /// A frame has come to a contender that had none: it transmits at once where the medium is idle,
    /// `with_back_off` or where it is busy after a back-off.
    #[inline]
    pub(crate) fn contend(&mut self, index: u32, now: Instant, with_back_off: bool, at: &mut Contender) {
        let station = Contender::station_of(index);
        let contention = &mut self.domains[self.places[station as usize].domain as usize].contention;
        if contention.continue_post_back_off(now, index, self.times.slot, at) {
            return;
        }
        if !with_back_off
            && let Some(from) = self.slots_from(station)
            && self.nav_of(station) <= now
        {
            //= IEEE 802.11-2020, 10.3.4.2: where the medium has been idle for the inter-frame space, without
            // a back-off.
            let contention = &mut self.domains[self.places[station as usize].domain as usize].contention;
            contention.stand_apart(index, from.max(now), 0, true, at);
        } else {
            self.back_off(index, now, now, at);
        }
    }

    /// A contender draws a back-off, which counts from a moment or once the medium is idle.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn back_off(&mut self, index: u32, now: Instant, earliest: Instant, at: &mut Contender) {
        let station = Contender::station_of(index);
        let slots = at.back_off.draw();
        let from = self.slots_from(station).map(|from| from.max(earliest));
        let contention = &mut self.domains[self.places[station as usize].domain as usize].contention;
        match from {
            Some(from) if contention.slots_from() != Some(from) => {
                contention.stand_apart(index, from, slots, false, at);
            }
            _ => contention.enter(now, index, slots, self.times.slot, at),
        }
    }

    /// The medium is idle for a domain: for its bystanders, and for those of its stations that are
    /// none.
    pub(super) fn begin_idle(&mut self, index: u32, now: Instant, contenders: &mut [Contender]) {
        let times = &self.times;
        let domain = &mut self.domains[index as usize];
        domain.idle_since = now;
        //= IEEE 802.11-2020, 10.3.2.3.7: EIFS follows what was not decoded, until a frame is.
        domain.ifs = if domain.decoded_at == Some(now) { times.difs } else { times.eifs };
        let nav = domain.nav.ends(None, now, times.nav_reset);
        domain.contention.resume(times.slots_from(now, domain.ifs, nav));
        for reservation in 0..domain.nav.len() {
            let exempt = self.domains[index as usize].nav.exempt(reservation, now);
            for station in exempt.into_iter().flatten() {
                if self.home(station) == index {
                    self.part(station, contenders);
                }
            }
        }
    }

    /// From when a station's slots count in this idle period, if the medium is idle: its own frames
    /// and those that were for it set it no NAV, and after a frame of its own it knows of nothing
    /// that was not decoded.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn slots_from(&self, station: u32) -> Option<Instant> {
        let place = &self.places[station as usize];
        let domain = &self.domains[place.domain as usize];
        let common = domain.contention.slots_from()?;
        let own_ifs = place.own_ifs.filter(|(since, _)| *since == domain.idle_since);
        if own_ifs.is_none() && !domain.nav.exempts(station) {
            return Some(common);
        }
        let ifs = own_ifs.map_or(domain.ifs, |(_, ifs)| ifs);
        Some(self.times.slots_from(domain.idle_since, ifs, self.nav_of(station)))
    }

    /// When the NAV of a station ends, or has ended.
    #[inline]
    pub(crate) fn nav_of(&self, station: u32) -> Instant {
        let domain = &self.domains[self.home(station) as usize];
        domain.nav.ends(Some(station), domain.idle_since, self.times.nav_reset)
    }

    /// A station's contenders that count with its domain count from its own moment, if that is another.
    pub(crate) fn part(&mut self, station: u32, contenders: &mut [Contender]) {
        let Some(from) = self.slots_from(station) else { return };
        let domain = self.home(station);
        let contention = &mut self.domains[domain as usize].contention;
        if contention.slots_from() != Some(from) {
            for index in Contender::all_of(station) {
                contention.part(index, from, &mut contenders[index as usize]);
            }
        }
    }

    /// A station's frame has ended, or will have by then: it keeps DIFS from then.
    pub(crate) fn sent(&mut self, station: u32, end: Instant) {
        self.places[station as usize].own_ifs = Some((end, self.times.difs));
    }

    /// A frame has ended that a station has not decoded: it keeps EIFS from then.
    pub(crate) fn missed(&mut self, station: u32, end: Instant) {
        self.places[station as usize].own_ifs = Some((end, self.times.eifs));
    }

    /// When somebody in a domain transmits if its medium stays idle.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn next_access(&mut self, domain: u32, contenders: &[Contender]) -> Option<Instant> {
        self.domains[domain as usize].contention.next_access(self.times.slot, contenders)
    }

    /// Whether an access event is needed at this moment: none is to come before.
    pub(crate) fn schedule(&mut self, domain: u32, at: Instant) -> bool {
        let scheduled = &mut self.domains[domain as usize].scheduled;
        let is_earlier = scheduled.is_none_or(|scheduled| at < scheduled);
        if is_earlier {
            *scheduled = Some(at);
        }
        is_earlier
    }

    /// An access event is due: whether it is the one that counts.
    pub(crate) fn unschedule(&mut self, domain: u32, at: Instant) -> bool {
        // One from before stations moved may be of a domain that is no more.
        let domain = self.domains.get_mut(domain as usize);
        domain.and_then(|it| it.scheduled.take_if(|scheduled| *scheduled == at)).is_some()
    }

    /// The contenders transmit whose back-offs end now.
    pub(crate) fn access(&mut self, domain: u32, now: Instant, contenders: &mut [Contender]) {
        let domain = &mut self.domains[domain as usize];
        domain.scheduled = None;
        domain.turn_busy(now, &self.times, contenders, &mut self.due);
    }

    /// The contenders that transmit and have not been taken.
    #[inline]
    pub(crate) fn due(&self) -> &[Due] {
        &self.due
    }

    /// Takes them.
    pub(crate) fn take_due(&mut self) -> impl Iterator<Item = Due> {
        self.due.drain(..)
    }
}
