//! The division of stations into sense domains: at first, and when stations move or are tuned.
//!
//! A station that comes to hear other stations than before leaves its domain. A domain whose members come to
//! hear that station differently is divided. Each part keeps what its members know. A frame that is in the
//! air meanwhile is still heard by the stations that have heard it from its beginning and can hear it now.
//! Domains are divided, never joined, whatever their stations come to hear. What this costs depends on the
//! number of stations nearby, not on the number of all stations.

use std::collections::{BTreeMap, BTreeSet};

use lasthop_packet::Instant;

use super::Medium;
use super::changes::Changes;
use super::domain::{Audience, Domain};
use crate::contender::Contender;
use crate::propagation::{Hearing, Position};
use crate::station::Channel;

/// Stations that a station hears, and how well, in order of their numbers.
type Heard = Vec<(u32, Hearing)>;

/// What stations hear differently after changes.
#[derive(Debug, Default)]
struct Differences {
    /// The stations that hear others than before or were tuned, and what they hear.
    changed: BTreeMap<u32, Heard>,
    /// By station: those of `changed` that it hears differently, and how well.
    of: BTreeMap<u32, Heard>,
}

impl Medium {
    /// Divides stations into domains, unless that has been done: before the first frame.
    #[inline]
    pub(crate) fn divide(&mut self) {
        if self.domains.is_empty() {
            self.divide_at_first();
        }
    }

    #[cold]
    fn divide_at_first(&mut self) {
        let stations = 0..self.places.len() as u32;
        stations.clone().for_each(|station| self.update_grid(station));
        let heard: Vec<Heard> = stations.map(|station| self.heard(station)).collect();
        // With capture, reception depends on the power at each station: each has a domain of its own.
        let own = |station: usize| self.capture.map(|_| station);
        let mut numbers: BTreeMap<(&Heard, Option<usize>), usize> = BTreeMap::new();
        let mut domains: Vec<(Vec<u32>, &Heard)> = Vec::new();
        for (station, heard) in heard.iter().enumerate() {
            let number = *numbers.entry((heard, own(station))).or_insert(domains.len());
            if number == domains.len() {
                domains.push((Vec::new(), heard));
            }
            domains[number].0.push(station as u32);
            self.places[station].domain = number as u32;
        }
        for (members, heard) in domains {
            let mut domain = Domain::new(members, self.homes(heard), self.settles);
            domain.start(self.is_on_air(domain.members()[0]), &self.times);
            self.domains.push(domain);
        }
    }

    /// From now on exchanges are simulated frame by frame.
    pub(crate) fn stop_settling(&mut self) {
        if std::mem::replace(&mut self.settles, false) {
            self.domains.iter_mut().for_each(Domain::stop_settling);
        }
    }

    /// Moves a station. What it hears changes when stations are divided anew.
    pub(crate) fn move_to(&mut self, station: u32, position: Position) {
        self.places[station as usize].position = position;
        if !self.domains.is_empty() {
            self.changes.moved(station);
        }
    }

    /// Tunes a station to a channel or, with `None`, takes it off the air. What it hears changes when stations
    /// are divided anew.
    pub(crate) fn tune(&mut self, station: u32, channel: Option<Channel>) {
        self.places[station as usize].channel = channel;
        if !self.domains.is_empty() {
            self.changes.tuned(station);
        }
    }

    /// Whether stations have changed since they were last divided.
    pub(crate) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Divides stations anew if some of them have changed and no settled exchange is under way, to which the
    /// old positions apply. Returns the domains whose next access may have changed.
    pub(crate) fn divide_anew(&mut self, now: Instant, contenders: &mut [Contender]) -> BTreeSet<u32> {
        if !self.has_changes() || self.is_settling() {
            return BTreeSet::new();
        }
        let changes = std::mem::take(&mut self.changes);
        changes.iter().for_each(|(station, _)| self.update_grid(station));
        let differences = self.differences(&changes);
        let domains: BTreeSet<u32> = differences.of.keys().map(|station| self.home(*station)).collect();
        for domain in domains {
            self.split(domain, &differences);
        }
        for (station, heard) in &differences.changed {
            self.set_audience(self.home(*station), self.homes(heard));
        }
        let mut affected: BTreeSet<u32> = differences.of.keys().map(|station| self.home(*station)).collect();
        if self.capture.is_some() {
            // The power of the frames in the air has changed.
            let near = changes.iter().flat_map(|(it, _)| self.domains[self.home(it) as usize].audience());
            affected.extend(near.map(|audience| audience.domain));
        }
        self.keep_transmissions(&affected);
        for (station, _) in changes.iter().filter(|(_, is_tuned)| *is_tuned) {
            self.places[station as usize].own_ifs = None;
            let home = self.home(station);
            self.domains[home as usize].tune(now, &self.times, contenders);
        }
        for index in &affected {
            self.sense_anew(*index, now, contenders);
        }
        affected
    }

    /// Puts a station where it is now.
    fn update_grid(&mut self, station: u32) {
        let place = &mut self.places[station as usize];
        let square = place.channel.map(|channel| self.grid.square(channel, place.position));
        let before = std::mem::replace(&mut place.square, square);
        if before == square {
            return;
        }
        if let Some(before) = before {
            self.grid.remove(station, before);
        }
        if let Some(square) = square {
            self.grid.add(station, square);
        }
    }

    /// What a station hears. It always hears itself.
    fn heard(&self, station: u32) -> Heard {
        let place = &self.places[station as usize];
        let near = place.square.into_iter().flat_map(|square| self.grid.near(square));
        let others = near
            .filter(|other| *other != station)
            .map(|other| (other, self.propagation.hearing(self.position(other), place.position)));
        let mut heard: Heard = others.filter(|(_, hearing)| *hearing != Hearing::Nothing).collect();
        heard.push((station, Hearing::Decodes));
        heard.sort_unstable();
        heard
    }

    /// What a station has heard since stations were last divided.
    fn heard_before(&self, station: u32) -> Heard {
        // Hearing is mutual: a domain hears those who hear it.
        let audience = self.domains[self.home(station) as usize].audience().iter();
        let mut heard: Heard = audience
            .flat_map(|&Audience { domain, decodes }| {
                let hearing = if decodes { Hearing::Decodes } else { Hearing::Senses };
                self.members(domain).iter().map(move |member| (*member, hearing))
            })
            .collect();
        heard.sort_unstable();
        heard
    }

    fn differences(&self, changes: &Changes) -> Differences {
        let mut differences = Differences::default();
        for (station, is_tuned) in changes.iter() {
            let (before, after) = (self.heard_before(station), self.heard(station));
            if before == after && !is_tuned {
                continue;
            }
            differences.of.entry(station).or_default();
            for (other, hearing) in &after {
                if before.binary_search(&(*other, *hearing)).is_err() {
                    differences.of.entry(*other).or_default().push((station, *hearing));
                }
            }
            for (other, _) in &before {
                if after.binary_search_by_key(other, |it| it.0).is_err() {
                    differences.of.entry(*other).or_default().push((station, Hearing::Nothing));
                }
            }
            differences.changed.insert(station, after);
        }
        differences
    }

    /// Divides a domain: each station that has changed leaves it, and the others stay together if they hear
    /// all of these alike.
    fn split(&mut self, index: u32, differences: &Differences) {
        let mut parts: BTreeMap<(Option<u32>, Option<&Heard>), Vec<u32>> = BTreeMap::new();
        for &member in self.members(index) {
            let part = if differences.changed.contains_key(&member) {
                (Some(member), None)
            } else {
                (None, differences.of.get(&member))
            };
            parts.entry(part).or_default().push(member);
        }
        if parts.len() < 2 {
            return;
        }
        // The first part stays.
        let mut parts = parts.into_values();
        let stays = parts.next().unwrap_or_default();
        for members in parts {
            let leaves = self.domains.len() as u32;
            for member in &members {
                self.places[*member as usize].domain = leaves;
            }
            let mut domain = self.domains[index as usize].part(members);
            for Audience { domain: other, decodes } in domain.audience() {
                self.domains[*other as usize].set_heard_by(Audience { domain: leaves, decodes: *decodes });
            }
            domain.set_heard_by(Audience { domain: leaves, decodes: true });
            self.domains.push(domain);
        }
        self.domains[index as usize].keep(stays);
    }

    /// The domains of stations that a domain hears.
    fn homes(&self, heard: &[(u32, Hearing)]) -> Vec<Audience> {
        let homes: BTreeMap<u32, bool> = heard
            .iter()
            .map(|(station, hearing)| (self.home(*station), *hearing == Hearing::Decodes))
            .collect();
        homes.into_iter().map(|(domain, decodes)| Audience { domain, decodes }).collect()
    }

    /// Sets the domains that sense a domain, and that it senses.
    fn set_audience(&mut self, index: u32, audience: Vec<Audience>) {
        for Audience { domain, decodes } in &audience {
            self.domains[*domain as usize].set_heard_by(Audience { domain: index, decodes: *decodes });
        }
        let before = self.domains[index as usize].replace_audience(audience);
        for Audience { domain, .. } in before {
            if !self.domains[index as usize].senses(domain) {
                self.domains[domain as usize].set_unheard_by(index);
            }
        }
    }

    /// The transmissions in the air are those that domains hear now.
    fn keep_transmissions(&mut self, domains: &BTreeSet<u32>) {
        let mut vacant = self.vacant.clone();
        vacant.sort_unstable();
        let in_air = (0..self.transmissions.len() as u32).filter(|key| vacant.binary_search(key).is_err());
        let in_air: Vec<(u32, u32, Instant)> = in_air
            .map(|key| (key, &self.transmissions[key as usize]))
            .map(|(key, sent)| (key, sent.from, sent.start))
            .collect();
        for index in domains {
            let senses = |from: u32| self.domains[*index as usize].senses(self.home(from));
            let heard = in_air.iter().filter(|(_, from, _)| senses(*from));
            let heard: Vec<(u32, Instant, f64)> =
                heard.map(|&(key, from, start)| (key, start, self.power_at(*index, from))).collect();
            self.domains[*index as usize].hear_on(heard, self.capture);
        }
    }

    /// The medium of a domain turns idle or busy if the frames that it hears have changed so.
    fn sense_anew(&mut self, index: u32, now: Instant, contenders: &mut [Contender]) {
        let is_on_air = self.is_on_air(self.members(index)[0]);
        let domain = &mut self.domains[index as usize];
        match (domain.contention().is_busy(), domain.is_silent()) {
            // A frame that was being received is not heard any more, and lost; or a station was tuned. Off
            // the air, it never senses that the medium is idle.
            (true, true) if is_on_air => self.begin_idle(index, now, contenders),
            // A frame is heard now that was not heard when it began.
            (false, false) => domain.turn_busy(now, &self.times, contenders, &mut self.due),
            _ => {}
        }
    }
}
