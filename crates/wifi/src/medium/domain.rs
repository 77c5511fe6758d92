//! What a sense domain hears: frames in the air, and which of them overlap.
//!
//! Stations with the same closed neighbourhoods, of sensing and of decoding, are one domain: each
//! hears what the others hear, itself included. A station's own transmission occupies its domain
//! like any other, which also makes it deaf meanwhile. What a domain knows is what a bystander
//! knows; a station that is none (`Medium::slots_from`) keeps its own inter-frame space and is not
//! bound by its own NAV.

use std::collections::BTreeMap;

use lasthop_packet::Instant;

use super::contention::{Contention, Due};
use super::nav::Nav;
use crate::contender::Contender;
use crate::propagation::{Capture, Hearing, Position, Propagation};
use crate::times::Times;

/// Who hears a domain's members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audience {
    pub(super) domain: u32,
    pub(super) decodes: bool,
}

#[derive(Debug, Default)]
pub(super) struct Domain {
    pub(super) members: Vec<u32>,
    /// The domains that sense its members, itself among them.
    pub(super) audience: Vec<Audience>,
    pub(super) contention: Contention,
    pub(super) nav: Nav,
    pub(super) idle_since: Instant,
    /// Nanoseconds of the inter-frame space that bystanders keep in this idle period: DIFS or EIFS.
    pub(super) ifs: u64,
    /// When the last frame ended that its members decoded.
    pub(super) decoded_at: Option<Instant>,
    on_air: Vec<OnAir>,
    /// The access event that counts.
    pub(super) scheduled: Option<Instant>,
    /// Nobody outside hears it, and it hears nobody outside.
    pub(super) is_clique: bool,
}

#[derive(Clone, Copy, Debug)]
struct OnAir {
    transmission: u32,
    start: Instant,
    power: f64,
    corrupted: bool,
}

impl Domain {
    pub(super) fn is_silent(&self) -> bool {
        self.on_air.is_empty()
    }

    /// The medium turns busy.
    pub(super) fn turn_busy(
        &mut self,
        now: Instant,
        times: &Times,
        contenders: &mut [Contender],
        due: &mut Vec<Due>,
    ) {
        if !self.contention.is_busy() {
            self.nav.turn_busy(self.idle_since, now, times.nav_reset);
            self.contention.freeze(now, times, contenders, due);
        }
    }

    /// A transmission begins that the domain senses.
    pub(super) fn begins(&mut self, transmission: u32, start: Instant, power: f64, capture: Option<Capture>) {
        // Of frames that begin together none is the later one.
        let is_later = self.on_air.iter().any(|other| other.start < start);
        let corrupted = is_later && !capture.is_some_and(|capture| capture.later_frames);
        self.on_air.push(OnAir { transmission, start, power, corrupted });
        self.corrupt_overlaps(capture);
    }

    /// Its members have been of another domain, and know what that knew.
    pub(super) fn goes_on(&mut self, before: &Self) {
        self.contention = before.contention.part_of(&self.members);
        self.nav = before.nav.clone();
        (self.idle_since, self.ifs, self.decoded_at) = (before.idle_since, before.ifs, before.decoded_at);
    }

    /// What becomes of a transmission that is in the air while stations move: heard on by who has
    /// heard it from its beginning.
    pub(super) fn hears_on(&mut self, transmission: u32, start: Instant, power: f64, before: &Self) {
        let is_intact = |heard: &OnAir| heard.transmission == transmission && !heard.corrupted;
        let corrupted = !before.on_air.iter().any(is_intact);
        self.on_air.push(OnAir { transmission, start, power, corrupted });
    }

    /// Of frames that overlap those survive that are so much stronger than all others together.
    pub(super) fn corrupt_overlaps(&mut self, capture: Option<Capture>) {
        if self.on_air.len() < 2 {
            return;
        }
        let all: f64 = self.on_air.iter().map(|on_air| on_air.power).sum();
        let survives = |power: f64| capture.is_some_and(|it| power >= it.threshold * (all - power));
        for on_air in &mut self.on_air {
            on_air.corrupted |= !survives(on_air.power);
        }
    }

    /// A transmission ends. Whether it was intact here.
    pub(super) fn ends(&mut self, transmission: u32) -> bool {
        let Some(index) = self.on_air.iter().position(|on_air| on_air.transmission == transmission) else {
            return false;
        };
        !self.on_air.swap_remove(index).corrupted
    }
}

/// The power of a station's own frame at its own place: nothing survives it there, nor does it
/// survive anything.
pub(super) const OWN_POWER: f64 = f64::INFINITY;

/// Divides stations into domains: those that hear the same, of those that are `kin`. See
/// `Place::domain`.
pub(super) fn divide(positions: &[Position], kin: &[u32], propagation: &Propagation) -> Vec<Domain> {
    let heard = |at: usize| -> Vec<(u32, Hearing)> {
        let all = positions.iter().enumerate().map(|(other, position)| {
            let hearing = propagation.hearing(*position, positions[at]);
            (other as u32, if other == at { Hearing::Decodes } else { hearing })
        });
        all.filter(|(_, hearing)| *hearing != Hearing::Nothing).collect()
    };
    let mut by_neighbourhood: BTreeMap<_, u32> = BTreeMap::new();
    let mut domains: Vec<Domain> = Vec::new();
    let mut neighbourhoods: Vec<Vec<(u32, Hearing)>> = Vec::new();
    let mut domain_of = vec![0; positions.len()];
    for (station, kin) in kin.iter().enumerate() {
        let neighbourhood = heard(station);
        let key = (neighbourhood.clone(), *kin);
        let index = *by_neighbourhood.entry(key).or_insert_with(|| {
            domains.push(Domain::default());
            neighbourhoods.push(neighbourhood);
            domains.len() as u32 - 1
        });
        domains[index as usize].members.push(station as u32);
        domain_of[station] = index;
    }
    for (index, neighbourhood) in neighbourhoods.iter().enumerate() {
        // Hearing is mutual: whom a domain hears, by whom it is heard.
        let mut audience = BTreeMap::new();
        for (station, hearing) in neighbourhood {
            audience.insert(domain_of[*station as usize], *hearing == Hearing::Decodes);
        }
        let domain = &mut domains[index];
        domain.audience =
            audience.into_iter().map(|(domain, decodes)| Audience { domain, decodes }).collect();
        domain.is_clique = matches!(domain.audience[..], [Audience { decodes: true, .. }]);
    }
    domains
}
