//! Stations that move: sense domains are divided anew, and each station keeps what it knows.
//!
//! A frame that is in the air while stations move is still heard by the stations that have heard it from
//! its beginning and stay in range. Domains are divided, never joined, whatever their stations come to
//! hear.

use lasthop_packet::Instant;

use super::Medium;
use super::domain::Domain;
use crate::contender::Contender;
use crate::propagation::Position;

impl Medium {
    /// From now on exchanges are simulated frame by frame.
    pub(crate) fn stop_settling(&mut self) {
        self.settles = false;
        for domain in &mut self.domains {
            domain.stop_settling();
        }
    }

    /// Moves a station. Its domain changes when the domains are divided anew.
    pub(crate) fn move_to(&mut self, station: u32, position: Position) {
        self.places[station as usize].position = position;
        self.has_moved = !self.domains.is_empty();
    }

    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Divides domains anew, if stations have moved and no settled exchange is under way, to which the old
    /// positions apply. Returns whether it has.
    pub(crate) fn divide_anew(&mut self, now: Instant, contenders: &mut [Contender]) -> bool {
        if !self.has_moved || self.settling > 0 {
            return false;
        }
        self.has_moved = false;
        let home: Vec<u32> = self.places.iter().map(|place| place.domain).collect();
        let old = std::mem::take(&mut self.domains);
        self.group();
        self.keep_transmissions(&old, &home);
        for index in 0..self.domains.len() as u32 {
            let domain = &mut self.domains[index as usize];
            domain.goes_on(&old[home[domain.members()[0] as usize] as usize]);
            match (domain.contention().is_busy(), domain.is_silent()) {
                // A frame that was being received is out of range now, and lost.
                (true, true) => self.begin_idle(index, now, contenders),
                // A frame came into range after its beginning.
                (false, false) => domain.turn_busy(now, &self.times, contenders, &mut self.due),
                _ => {}
            }
        }
        true
    }

    fn keep_transmissions(&mut self, old: &[Domain], home: &[u32]) {
        for key in 0..self.transmissions.len() as u32 {
            if self.vacant.contains(&key) {
                continue;
            }
            let sent = self.transmissions[key as usize];
            let sender = self.home(sent.from);
            for audience in 0..self.domains[sender as usize].audience().len() {
                let index = self.domains[sender as usize].audience()[audience].domain;
                let power = self.power_at(index, sent.from);
                let domain = &mut self.domains[index as usize];
                let before = &old[home[domain.members()[0] as usize] as usize];
                domain.hears_on(key, sent.start, power, before);
            }
        }
        for domain in &mut self.domains {
            domain.corrupt_overlaps(self.capture);
        }
    }
}
