//! How a station gains access to the medium (IEEE 802.11-2012, 9.3.4.2): at once where it is idle,
//! else by a back-off.

use lasthop_packet::Instant;

use super::events::Event;
use super::frame::Receiver;
use super::plan::Plan;
use super::station::BackOff;
use super::wlan::Wlan;

impl Wlan {
    /// A frame has come to a station that had none (9.3.4.2).
    #[inline]
    pub(crate) fn contend(&mut self, now: Instant, index: u32) {
        let slot = self.times.slot;
        let station = &mut self.stations[index as usize];
        let domain_index = station.domain;
        let domain = &mut self.domains[domain_index as usize];
        if !domain.contention.continue_post_back_off(now, index, slot, station) {
            match self.slots_from(index) {
                Some(from) if self.nav_of(index) <= now => {
                    // An idle medium: no back-off, but for the rest of the inter-frame space.
                    let station = &mut self.stations[index as usize];
                    let domain = &mut self.domains[domain_index as usize];
                    domain.contention.stand_apart(index, from.max(now), 0, true, station);
                }
                from => {
                    let slots = self.stations[index as usize].draw();
                    self.back_off(index, slots, now, from);
                }
            }
        }
        self.schedule_access(domain_index);
    }

    /// The same for one that keeps a back-off even if the medium is idle.
    #[inline(never)]
    pub(crate) fn contend_with_back_off(&mut self, now: Instant, index: u32) {
        let slot = self.times.slot;
        let station = &mut self.stations[index as usize];
        let domain = station.domain;
        if !self.domains[domain as usize].contention.continue_post_back_off(now, index, slot, station) {
            let slots = station.draw();
            self.back_off(index, slots, now, self.slots_from(index));
        }
        self.schedule_access(domain);
    }

    /// The medium is idle for a domain: for its bystanders, and for those of its stations that are
    /// none.
    pub(crate) fn begin_idle(&mut self, index: u32, now: Instant) {
        let times = self.times;
        let domain = &mut self.domains[index as usize];
        domain.idle_since = now;
        domain.ifs = if domain.decoded_at == Some(now) { times.difs } else { times.eifs };
        let nav = domain.nav.ends(None, now, times.nav_reset);
        domain.contention.resume(times.slots_from(now, domain.ifs, nav));
        for reservation in 0..domain.nav.len() {
            let exempt = self.domains[index as usize].nav.exempt(reservation, now);
            for station in exempt.into_iter().flatten() {
                if self.stations[station as usize].domain == index {
                    self.part(station);
                }
            }
        }
    }

    /// From when a station's slots count in this idle period, if the medium is idle: its own frames
    /// and those that were for it set it no NAV, and after a frame of its own it knows of nothing
    /// that was not decoded.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn slots_from(&self, index: u32) -> Option<Instant> {
        let station = &self.stations[index as usize];
        let domain = &self.domains[station.domain as usize];
        let common = domain.contention.slots_from()?;
        let own_ifs = station.own_ifs.filter(|(since, _)| *since == domain.idle_since);
        if own_ifs.is_none() && !domain.nav.exempts(index) {
            return Some(common);
        }
        let ifs = own_ifs.map_or(domain.ifs, |(_, ifs)| ifs);
        Some(self.times.slots_from(domain.idle_since, ifs, self.nav_of(index)))
    }

    /// When the NAV of a station ends, or has ended.
    #[inline]
    pub(crate) fn nav_of(&self, index: u32) -> Instant {
        let domain = &self.domains[self.stations[index as usize].domain as usize];
        domain.nav.ends(Some(index), domain.idle_since, self.times.nav_reset)
    }

    /// A station that counts with its domain counts from its own moment, if that is another.
    pub(crate) fn part(&mut self, index: u32) {
        let Some(from) = self.slots_from(index) else { return };
        let station = &mut self.stations[index as usize];
        let contention = &mut self.domains[station.domain as usize].contention;
        if contention.slots_from() != Some(from) {
            contention.part(index, from, station);
        }
    }

    /// A back-off that counts from a moment, but not from the past, or once the medium is idle.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn back_off(&mut self, index: u32, slots: u64, now: Instant, from: Option<Instant>) {
        let station = &mut self.stations[index as usize];
        let contention = &mut self.domains[station.domain as usize].contention;
        match from.map(|from| from.max(now)) {
            Some(from) if contention.slots_from() != Some(from) => {
                contention.stand_apart(index, from, slots, false, station);
            }
            _ => contention.enter(now, index, slots, self.times.slot, station),
        }
    }

    pub(crate) fn schedule_access(&mut self, index: u32) {
        let domain = &mut self.domains[index as usize];
        if let Some(at) = domain.contention.next_access(self.times.slot, &self.stations) {
            self.schedule_access_at(index, at);
        }
    }

    fn schedule_access_at(&mut self, index: u32, at: Instant) {
        let domain = &mut self.domains[index as usize];
        if domain.scheduled.is_none_or(|scheduled| at < scheduled) {
            domain.scheduled = Some(at);
            self.events.push(at, index, Event::Access(index));
        }
    }

    /// A domain's medium has turned idle. If its next access comes before `horizon` and before every
    /// other event here, nothing can change it: it takes place at once, and its time is returned. If
    /// not, it is scheduled.
    #[inline]
    pub(crate) fn access_at_once(&mut self, index: u32, horizon: Instant) -> Option<Instant> {
        let domain = &mut self.domains[index as usize];
        let at = domain.contention.next_access(self.times.slot, &self.stations)?;
        if at >= horizon || self.events.next_at().is_some_and(|next| next <= at) {
            self.schedule_access_at(index, at);
            return None;
        }
        domain.scheduled = None;
        self.access(index, at);
        Some(at)
    }

    pub(crate) fn on_access(&mut self, index: u32, now: Instant) {
        // An event from before stations moved may be of a domain that is no more.
        let Some(domain) = self.domains.get_mut(index as usize).filter(|at| at.scheduled == Some(now)) else {
            return;
        };
        domain.scheduled = None;
        if domain.contention.next_access(self.times.slot, &self.stations) == Some(now) {
            self.access(index, now);
        } else {
            self.schedule_access(index);
        }
    }

    /// The stations whose back-offs end now transmit.
    #[inline(never)]
    fn access(&mut self, index: u32, now: Instant) {
        let domain = &mut self.domains[index as usize];
        domain.turn_busy(now, &self.times, &mut self.stations, &mut self.due);
        if domain.is_clique {
            self.settle(index, now);
        }
        if !self.due.is_empty() {
            self.commit_due();
        }
    }

    /// An exchange of a station's frame begins, as its plan says.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn begin_attempt(&mut self, index: u32, now: Instant) -> Option<&Plan> {
        let to = self.plan(index)?.receiver();
        // A PS-Poll is answered all the same: it carries nothing.
        let is_refused = matches!(to, Some(Receiver::Station(to)) if self.stations[to.index()].refuses)
            && self.stations[index as usize].own.is_none();
        let station = &mut self.stations[index as usize];
        debug_assert!(
            matches!(station.back_off, BackOff::Counting(_) | BackOff::Apart | BackOff::Committed),
            "{:?}",
            station.back_off
        );
        station.stamp = station.stamp.wrapping_add(1);
        station.back_off = BackOff::Exchanging;
        let attempts = &mut station.attempts;
        attempts.transmissions += 1;
        attempts.began = now;
        attempts.arrived = false;
        attempts.data_sent = false;
        attempts.is_refused = is_refused;
        if attempts.transmissions == 1 {
            attempts.first = now;
        }
        self.counters.attempts += 1;
        if self.power_save.is_some() {
            self.power_save_begins(index);
        }
        self.stations[index as usize].plan.as_ref()
    }
}
