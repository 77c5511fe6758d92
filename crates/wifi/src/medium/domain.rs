//! The frames that a sense domain hears, and which of them overlap.
//!
//! Stations that sense the same stations, and decode the same stations, themselves included, are one
//! domain. A station's own transmission occupies its domain like any other, so the station hears nothing
//! else meanwhile. The state of a domain is that of a bystander. A station that takes part in an exchange
//! ([`Domain::slots_from`]) has an interframe space of its own, and its own reservations do not bind it.

use std::collections::BTreeMap;

use lasthop_packet::Instant;

use super::contention::{Contention, Due};
use super::nav::Nav;
use crate::contender::Contender;
use crate::propagation::{Capture, Hearing, Position, Propagation};
use crate::times::Times;

/// A domain that senses the members of another, or of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audience {
    pub(super) domain: u32,
    pub(super) decodes: bool,
}

#[derive(Debug, Default)]
pub(super) struct Domain {
    members: Vec<u32>,
    /// The domains that sense its members, itself among them.
    audience: Vec<Audience>,
    contention: Contention,
    nav: Nav,
    idle_since: Instant,
    /// The interframe space of bystanders in this idle period, DIFS or EIFS, in nanoseconds.
    ifs: u64,
    /// The end of the last frame that its members decoded.
    decoded_at: Option<Instant>,
    on_air: Vec<OnAir>,
    /// The time of the next access event; events for other times are stale.
    scheduled: Option<Instant>,
    /// Whether its members and all other stations do not hear each other, and exchanges may be settled.
    is_clique: bool,
}

#[derive(Clone, Copy, Debug)]
struct OnAir {
    transmission: u32,
    start: Instant,
    power: f64,
    corrupted: bool,
}

impl Domain {
    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    pub(super) fn audience(&self) -> &[Audience] {
        &self.audience
    }

    #[inline]
    pub(super) const fn is_clique(&self) -> bool {
        self.is_clique
    }

    /// Exchanges are simulated frame by frame from now on.
    pub(super) const fn stop_settling(&mut self) {
        self.is_clique = false;
    }

    #[inline]
    pub(super) const fn contention(&self) -> &Contention {
        &self.contention
    }

    #[inline]
    pub(super) const fn contention_mut(&mut self) -> &mut Contention {
        &mut self.contention
    }

    pub(super) const fn nav_mut(&mut self) -> &mut Nav {
        &mut self.nav
    }

    pub(super) fn is_silent(&self) -> bool {
        self.on_air.is_empty()
    }

    /// Whether an access event is needed at this time: none is due before.
    pub(super) fn schedule(&mut self, at: Instant) -> bool {
        let is_earlier = self.scheduled.is_none_or(|scheduled| at < scheduled);
        if is_earlier {
            self.scheduled = Some(at);
        }
        is_earlier
    }

    /// An access event is due. Returns whether it is the one that was scheduled last.
    pub(super) fn unschedule(&mut self, at: Instant) -> bool {
        self.scheduled.take_if(|scheduled| *scheduled == at).is_some()
    }

    /// The contenders whose backoffs end now transmit.
    pub(super) fn access(
        &mut self,
        now: Instant,
        times: &Times,
        contenders: &mut [Contender],
        due: &mut Vec<Due>,
    ) {
        self.scheduled = None;
        self.turn_busy(now, times, contenders, due);
    }

    /// Starts with an idle medium: its members have heard nothing, so the first frame need not wait.
    pub(super) fn start(&mut self, times: &Times) {
        self.contention.resume(Instant::ZERO);
        self.ifs = times.difs;
    }

    /// The medium turns idle.
    pub(super) fn turn_idle(&mut self, now: Instant, times: &Times) {
        self.idle_since = now;
        //= IEEE 802.11-2020, 10.3.2.3.7: EIFS follows a frame that was not decoded, until one is decoded.
        self.ifs = if self.decoded_at == Some(now) { times.difs } else { times.eifs };
        self.contention.resume(times.slots_from(now, self.ifs, self.nav_of(None, times)));
    }

    /// The start of a member's slots in this idle period; `None` if the medium is busy. Its own frames and
    /// those for it do not set its NAV, and a frame that it could not decode while it sent one of its own
    /// does not cause EIFS. `own_ifs` as in `Place`.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn slots_from(
        &self,
        station: u32,
        own_ifs: Option<(Instant, u64)>,
        times: &Times,
    ) -> Option<Instant> {
        let common = self.contention.slots_from()?;
        let own_ifs = own_ifs.filter(|(since, _)| *since == self.idle_since);
        if own_ifs.is_none() && !self.nav.exempts(station) {
            return Some(common);
        }
        let ifs = own_ifs.map_or(self.ifs, |(_, ifs)| ifs);
        Some(times.slots_from(self.idle_since, ifs, self.nav_of(Some(station), times)))
    }

    /// The end of a member's NAV, which may be past; `None` for a bystander's.
    #[inline]
    pub(super) fn nav_of(&self, station: Option<u32>, times: &Times) -> Instant {
        self.nav.ends(station, self.idle_since, times.nav_reset)
    }

    /// Its members decode a frame that ends now.
    #[inline]
    pub(super) fn decodes(&mut self, now: Instant) {
        self.decoded_at = Some(now);
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

    /// Begins a transmission that the domain senses.
    pub(super) fn begins(&mut self, transmission: u32, start: Instant, power: f64, capture: Option<Capture>) {
        // A frame is later than another only if it began later.
        let is_later = self.on_air.iter().any(|other| other.start < start);
        let corrupted = is_later && !capture.is_some_and(|capture| capture.later_frames);
        self.on_air.push(OnAir { transmission, start, power, corrupted });
        self.corrupt_overlaps(capture);
    }

    /// Takes over the state of the domain that its members come from.
    pub(super) fn goes_on(&mut self, before: &Self) {
        self.contention = before.contention.part_of(&self.members);
        self.nav = before.nav.clone();
        (self.idle_since, self.ifs, self.decoded_at) = (before.idle_since, before.ifs, before.decoded_at);
    }

    /// Takes over a transmission that is in the air while stations move. It stays intact if the members have
    /// heard it from its beginning.
    pub(super) fn hears_on(&mut self, transmission: u32, start: Instant, power: f64, before: &Self) {
        let is_intact = |heard: &OnAir| heard.transmission == transmission && !heard.corrupted;
        let corrupted = !before.on_air.iter().any(is_intact);
        self.on_air.push(OnAir { transmission, start, power, corrupted });
    }

    /// Marks frames that overlap as corrupted, except one that is stronger than all others together by the
    /// threshold of capture.
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

    /// Ends a transmission. Returns whether it was intact here.
    pub(super) fn ends(&mut self, transmission: u32) -> bool {
        let Some(index) = self.on_air.iter().position(|on_air| on_air.transmission == transmission) else {
            return false;
        };
        !self.on_air.swap_remove(index).corrupted
    }
}

/// The power of a station's own frame at its own position. Neither it nor a frame that overlaps it is
/// received there.
pub(super) const OWN_POWER: f64 = f64::INFINITY;

/// Divides stations into domains: those that hear the same stations and have the same number in `kin`
/// (`Place::domain`). `settles`: whether exchanges may be settled when they begin.
pub(super) fn divide(
    positions: &[Position],
    kin: &[u32],
    propagation: &Propagation,
    settles: bool,
) -> Vec<Domain> {
    let heard = |at: usize| -> Vec<(u32, Hearing)> {
        let all = positions.iter().enumerate().map(|(other, position)| {
            let hearing = propagation.hearing(*position, positions[at]);
            (other as u32, if other == at { Hearing::Decodes } else { hearing })
        });
        all.filter(|(_, hearing)| *hearing != Hearing::Nothing).collect()
    };
    let mut by_neighborhood: BTreeMap<_, u32> = BTreeMap::new();
    let mut domains: Vec<Domain> = Vec::new();
    let mut neighborhoods: Vec<Vec<(u32, Hearing)>> = Vec::new();
    let mut domain_of = vec![0; positions.len()];
    for (station, kin) in kin.iter().enumerate() {
        let neighborhood = heard(station);
        let key = (neighborhood.clone(), *kin);
        let index = *by_neighborhood.entry(key).or_insert_with(|| {
            domains.push(Domain::default());
            neighborhoods.push(neighborhood);
            domains.len() as u32 - 1
        });
        domains[index as usize].members.push(station as u32);
        domain_of[station] = index;
    }
    for (index, neighborhood) in neighborhoods.iter().enumerate() {
        // Hearing is mutual: a domain hears those who hear it.
        let mut audience = BTreeMap::new();
        for (station, hearing) in neighborhood {
            audience.insert(domain_of[*station as usize], *hearing == Hearing::Decodes);
        }
        let domain = &mut domains[index];
        domain.audience =
            audience.into_iter().map(|(domain, decodes)| Audience { domain, decodes }).collect();
        domain.is_clique = settles && matches!(domain.audience[..], [Audience { decodes: true, .. }]);
    }
    domains
}
