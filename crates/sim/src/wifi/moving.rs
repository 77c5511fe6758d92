//! Stations that move: sense domains are divided anew, and what each station knows goes with it.
//!
//! What is in the air while stations move is heard on by those that have heard it from its beginning and stay in range. Where stations
//! of several domains come together the strictest of what they know holds for all: the latest NAV, the longest wait. Back-offs go
//! on as they were.

use lasthop_packet::Instant;

use super::StationId;
use super::medium::{self, Domain};
use super::propagation::Position;
use super::wlan::Wlan;

impl Wlan {
    /// Where a station stands.
    pub fn position(&self, station: StationId) -> Position {
        self.stations[station.index()].position
    }

    /// Stations are at other places from now on. If an exchange is under way where nobody could have interfered, their old places
    /// count until it is over, a few milliseconds at most; later exchanges go frame by frame.
    pub fn move_stations(&mut self, now: Instant, positions: &[(StationId, Position)]) {
        for (station, position) in positions {
            self.stations[station.index()].position = *position;
        }
        if self.domains.is_empty() {
            return;
        }
        self.settles = false;
        for domain in &mut self.domains {
            domain.is_clique = false;
        }
        self.has_moved = true;
        self.divide_if_moved(now);
    }

    pub(crate) fn divide_if_moved(&mut self, now: Instant) {
        if !self.has_moved || self.settling > 0 {
            return;
        }
        self.has_moved = false;
        let home: Vec<u32> = self.stations.iter().map(|station| station.domain).collect();
        let old = std::mem::take(&mut self.domains);
        let mut released = Vec::new();
        for domain in &old {
            domain.contention.release(now, self.times.slot, &domain.members, &self.stations, &mut released);
        }
        self.group();
        self.keep_transmissions(&old, &home);
        for domain in &mut self.domains {
            let before = || domain.members.iter().map(|member| &old[home[*member as usize] as usize]);
            domain.nav = before().fold(domain.nav, |nav, old| nav.later(old.nav));
            // Whoever was in the middle of a frame that is out of range now has lost it.
            let lost = |old: &Domain| old.contention.is_busy();
            domain.ifs =
                before().map(|old| if lost(old) { self.times.eifs } else { old.ifs }).max().unwrap_or(0);
            domain.idle_since =
                before().map(|old| if lost(old) { now } else { old.idle_since }).max().unwrap_or(now);
            if domain.is_silent() {
                let slots_from = before()
                    .map(|old| old.contention.slots_from().unwrap_or(now.after_nanos(self.times.eifs)))
                    .max();
                domain.contention.resume(slots_from.unwrap_or(now));
            }
        }
        for newcomer in released {
            let station = &mut self.stations[newcomer.station as usize];
            let domain = &mut self.domains[station.domain as usize];
            domain.contention.take_in(now, self.times.slot, newcomer, station);
        }
        for domain in 0..self.domains.len() as u32 {
            self.schedule_access(domain);
        }
    }

    fn keep_transmissions(&mut self, old: &[Domain], home: &[u32]) {
        for key in 0..self.transmissions.len() as u32 {
            if self.vacant.contains(&key) {
                continue;
            }
            let sent = self.transmissions[key as usize];
            let from = &self.stations[sent.from as usize];
            let (position, audience) = (from.position, self.domains[from.domain as usize].audience.clone());
            for heard in audience {
                let domain = &mut self.domains[heard.domain as usize];
                let before: Vec<&Domain> =
                    domain.members.iter().map(|member| &old[home[*member as usize] as usize]).collect();
                let power = medium::power_at(&self.propagation, domain, (sent.from, position));
                domain.hears_on(key, sent.start, power, &before);
            }
        }
        if self.capture.is_none() {
            for domain in &mut self.domains {
                domain.corrupt_overlaps();
            }
        }
    }
}
