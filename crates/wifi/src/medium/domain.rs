//! The frames that a sense domain hears, and which of them overlap.
//!
//! Stations that sense the same stations, and decode the same stations, themselves included, are one
//! domain. A station's own transmission occupies its domain like any other, so the station hears nothing
//! else meanwhile. The state of a domain is that of a bystander. A station that takes part in an exchange
//! ([`Domain::slots_from`]) has an interframe space of its own, and its own reservations do not bind it.

use lasthop_packet::Instant;

use super::contention::{Contention, Due};
use super::nav::Nav;
use crate::contender::Contender;
use crate::propagation::Capture;
use crate::times::Times;

/// A domain that senses the members of another, or of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Audience {
    pub(super) domain: u32,
    pub(super) decodes: bool,
}

#[derive(Debug, Default)]
pub(super) struct Domain {
    members: Vec<u32>,
    /// The domains that sense its members, itself among them; these are also the domains that it senses. In
    /// order of their numbers.
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
    /// A domain of stations that hear each other, and that these domains sense. `settles`: whether exchanges
    /// may be settled when they begin.
    pub(super) fn new(members: Vec<u32>, audience: Vec<Audience>, settles: bool) -> Self {
        let is_clique = settles && matches!(audience[..], [Audience { decodes: true, .. }]);
        Self { members, audience, is_clique, ..Self::default() }
    }

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

    /// Starts with an idle medium if its members are on the air: they have heard nothing, so the first frame
    /// need not wait.
    pub(super) fn start(&mut self, is_on_air: bool, times: &Times) {
        if is_on_air {
            self.contention.resume(Instant::ZERO);
        }
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

    /// A domain of some of its members, which leave it. They keep what they know.
    pub(super) fn part(&mut self, members: Vec<u32>) -> Self {
        Self {
            audience: self.audience.clone(),
            contention: self.contention.part_of(&members),
            nav: self.nav.clone(),
            on_air: self.on_air.clone(),
            members,
            scheduled: None,
            ..*self
        }
    }

    /// All but these members have left it.
    pub(super) fn keep(&mut self, members: Vec<u32>) {
        self.contention = self.contention.part_of(&members);
        self.members = members;
    }

    /// Whether it senses the members of a domain.
    pub(super) fn senses(&self, domain: u32) -> bool {
        self.place_of(domain).is_ok()
    }

    fn place_of(&self, domain: u32) -> Result<usize, usize> {
        self.audience.binary_search_by_key(&domain, |audience| audience.domain)
    }

    /// Puts a domain into its audience, or changes what that decodes.
    pub(super) fn set_heard_by(&mut self, audience: Audience) {
        match self.place_of(audience.domain) {
            Ok(place) => self.audience[place] = audience,
            Err(place) => self.audience.insert(place, audience),
        }
    }

    /// Removes a domain from its audience.
    pub(super) fn set_unheard_by(&mut self, domain: u32) {
        if let Ok(place) = self.place_of(domain) {
            self.audience.remove(place);
        }
    }

    /// Sets its audience, which is in order. Returns the one before.
    pub(super) fn replace_audience(&mut self, audience: Vec<Audience>) -> Vec<Audience> {
        std::mem::replace(&mut self.audience, audience)
    }

    /// These transmissions are in the air where its members are now: number, start and power. One stays
    /// intact if they have heard it from its beginning.
    pub(super) fn hear_on(&mut self, transmissions: Vec<(u32, Instant, f64)>, capture: Option<Capture>) {
        let before = std::mem::take(&mut self.on_air);
        self.on_air.extend(transmissions.into_iter().map(|(transmission, start, power)| {
            let is_intact = |heard: &OnAir| heard.transmission == transmission && !heard.corrupted;
            OnAir { transmission, start, power, corrupted: !before.iter().any(is_intact) }
        }));
        self.corrupt_overlaps(capture);
    }

    /// Whether its members are receiving a transmission that is intact so far.
    pub(super) fn receives(&self, is_it: impl Fn(u32) -> bool) -> bool {
        self.on_air.iter().any(|on_air| !on_air.corrupted && is_it(on_air.transmission))
    }

    /// Its only member was tuned: its backoffs stop, and it knows of no reservation and of no frame that it
    /// did not decode.
    pub(super) fn tune(&mut self, now: Instant, times: &Times, contenders: &mut [Contender]) {
        self.contention.suspend(now, times.slot, contenders);
        //= IEEE 802.11-2020, 10.3.2.4: a NAV is what a station has learned from the frames that it received.
        self.nav = Nav::default();
        //= IEEE 802.11-2020, 10.3.2.3.7: EIFS follows a frame that was not received correctly. There was none.
        self.decoded_at = Some(now);
    }

    /// Marks frames that overlap as corrupted, except one that is stronger than all others together by the
    /// threshold of capture.
    fn corrupt_overlaps(&mut self, capture: Option<Capture>) {
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
