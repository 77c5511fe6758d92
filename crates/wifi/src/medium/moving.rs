//! Stations that move: sense domains are divided anew, and what each station knows goes with it.
//!
//! What is in the air while stations move is heard on by those that have heard it from its
//! beginning and stay in range. Stations of several domains do not come together in one, whatever
//! they hear from now on: domains are only ever divided.

use lasthop_packet::Instant;

use super::Medium;
use super::domain::Domain;
use crate::contender::Contender;
use crate::propagation::Position;

impl Medium {
    /// Exchanges go frame by frame from now on.
    pub(crate) fn stop_settling(&mut self) {
        self.settles = false;
        for domain in &mut self.domains {
            domain.stop_settling();
        }
    }

    /// A station is at another place from now on, for its domain once that is divided anew.
    pub(crate) fn move_to(&mut self, station: u32, position: Position) {
        self.places[station as usize].position = position;
        self.has_moved = !self.domains.is_empty();
    }

    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Divides domains anew, if stations have moved and no exchange is under way that was settled for
    /// their old places. Returns whether it has.
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
                // In the middle of a frame that is out of range now: it is lost.
                (true, true) => self.begin_idle(index, now, contenders),
                // Into the middle of a frame.
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
