//! Stations that move: sense domains are divided anew, and what each station knows goes with it.
//!
//! What is in the air while stations move is heard on by those that have heard it from its
//! beginning and stay in range. Stations of several domains do not come together in one, whatever
//! they hear from now on: domains are only ever divided.

use lasthop_packet::Instant;

use super::medium::Domain;
use super::propagation::Position;
use super::station::Station;
use super::wlan::Wlan;
use crate::id::StationId;

impl Wlan {
    /// Where a station stands.
    pub fn position(&self, station: StationId) -> Position {
        self.stations[station.index()].position
    }

    /// Stations will move: exchanges go frame by frame from now on.
    pub fn expect_moves(&mut self) {
        self.settles = false;
        for domain in &mut self.domains {
            domain.is_clique = false;
        }
    }

    /// Stations are at other places from now on. If an exchange is under way where nobody could
    /// have interfered, their old places count until it is over, a few milliseconds at most; later
    /// exchanges go frame by frame.
    pub fn move_stations(&mut self, now: Instant, positions: &[(StationId, Position)]) {
        for (station, position) in positions {
            self.stations[station.index()].position = *position;
        }
        if self.domains.is_empty() {
            return;
        }
        self.expect_moves();
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
        self.group();
        self.keep_transmissions(&old, &home);
        for index in 0..self.domains.len() as u32 {
            let domain = &mut self.domains[index as usize];
            domain.goes_on(&old[home[domain.members[0] as usize] as usize]);
            match (domain.contention.is_busy(), domain.is_silent()) {
                // In the middle of a frame that is out of range now: it is lost.
                (true, true) => self.begin_idle(index, now),
                // Into the middle of a frame.
                (false, false) => domain.turn_busy(now, &self.times, &mut self.stations, &mut self.due),
                _ => {}
            }
            self.schedule_access(index);
        }
        self.commit_due();
    }

    fn keep_transmissions(&mut self, old: &[Domain], home: &[u32]) {
        for key in 0..self.transmissions.len() as u32 {
            if self.vacant.contains(&key) {
                continue;
            }
            let sent = self.transmissions[key as usize];
            let Station { domain: sender, position, .. } = self.stations[sent.from as usize];
            for audience in 0..self.domains[sender as usize].audience.len() {
                let index = self.domains[sender as usize].audience[audience].domain;
                let power = self.power_at(index, sent.from, position);
                let domain = &mut self.domains[index as usize];
                let before = &old[home[domain.members[0] as usize] as usize];
                domain.hears_on(key, sent.start, power, before);
            }
        }
        for domain in &mut self.domains {
            domain.corrupt_overlaps(self.capture);
        }
    }
}
