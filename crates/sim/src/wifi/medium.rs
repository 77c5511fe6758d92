//! What a sense domain hears: frames in the air, overlaps, the NAV.
//!
//! Stations with the same closed neighbourhoods, of sensing and of decoding, are one domain: each hears what the others hear, itself
//! included. A station's own transmission occupies its domain like any other, which also makes it deaf meanwhile.

use std::collections::BTreeMap;

use lasthop_packet::Instant;

use super::contention::Contention;
use super::frame::Kind;
use super::propagation::{Capture, Hearing, Position, Propagation};

/// A transmission in the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) from: u32,
    /// `None` for everybody.
    pub(crate) to: Option<u32>,
    pub(crate) kind: Kind,
    /// Whose exchange it belongs to.
    pub(crate) initiator: u32,
    pub(crate) start: Instant,
    /// What its Duration field says: nanoseconds from its end to the end of the exchange.
    pub(crate) reserves: u64,
}

/// The network allocation vector of a domain (9.3.2.4). Neither the initiator of an exchange nor the station that it addresses is
/// bound by that exchange's own frames, so the latest end is kept for one initiator and for all others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nav {
    until: Instant,
    initiator: u32,
    addressee: u32,
    others_until: Instant,
    /// When it was set.
    set_at: Instant,
    /// An RTS did it.
    by_rts: bool,
}

impl Nav {
    /// The one that ends later.
    pub(crate) fn later(self, other: Self) -> Self {
        if other.until > self.until { other } else { self }
    }

    pub(crate) fn update(
        &mut self,
        now: Instant,
        until: Instant,
        (initiator, addressee): (u32, u32),
        by_rts: bool,
    ) {
        if initiator == self.initiator {
            if until > self.until {
                (self.until, self.addressee) = (until, addressee);
                (self.set_at, self.by_rts) = (now, by_rts);
            }
        } else if until > self.until {
            self.others_until = self.until.max(self.others_until);
            (self.initiator, self.addressee) = (initiator, addressee);
            (self.until, self.set_at, self.by_rts) = (until, now, by_rts);
        } else {
            self.others_until = self.others_until.max(until);
        }
    }

    /// When it ends for those whom it binds, if the medium has been idle since `idle_since` and stays so: a station may reset a NAV
    /// that an RTS has set when nothing follows the RTS for `reset_after` nanoseconds (9.3.2.4).
    pub(crate) fn ends(&self, idle_since: Instant, reset_after: Option<u64>) -> Instant {
        match reset_after {
            Some(after) if self.by_rts && self.set_at == idle_since => {
                self.until.min(self.set_at.after_nanos(after)).max(self.others_until)
            }
            _ => self.until,
        }
    }

    /// Who set it before now, and whom that station addressed: it does not bind either.
    pub(crate) fn participants(&self, now: Instant) -> Option<[u32; 2]> {
        (self.until > now && self.set_at < now).then_some([self.initiator, self.addressee])
    }

    /// When it ends for the participants in an exchange.
    pub(crate) fn ends_without(&self, initiator: u32) -> Instant {
        if self.initiator == initiator { self.others_until } else { self.until }
    }
}

/// Who hears a domain's members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Audience {
    pub(crate) domain: u32,
    pub(crate) decodes: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Domain {
    pub(crate) members: Vec<u32>,
    /// The domains that sense its members, itself among them.
    pub(crate) audience: Vec<Audience>,
    /// Where its members stand, as far as capture asks.
    position: Position,
    pub(crate) contention: Contention,
    pub(crate) nav: Nav,
    pub(crate) idle_since: Instant,
    /// Nanoseconds of the inter-frame space that bystanders keep in this idle period: DIFS or EIFS.
    pub(crate) ifs: u64,
    on_air: Vec<OnAir>,
    /// The access event that counts.
    pub(crate) scheduled: Option<Instant>,
    /// Nobody outside hears it, and it hears nobody outside: its exchanges are settled when they begin.
    pub(crate) is_clique: bool,
}

#[derive(Clone, Copy, Debug)]
struct OnAir {
    transmission: u32,
    start: Instant,
    power: f64,
    corrupted: bool,
}

impl Domain {
    pub(crate) fn is_silent(&self) -> bool {
        self.on_air.is_empty()
    }

    /// A transmission begins that the domain senses.
    pub(crate) fn begins(&mut self, transmission: u32, start: Instant, power: f64, capture: Option<Capture>) {
        let mut new = OnAir { transmission, start, power, corrupted: !self.on_air.is_empty() };
        match capture {
            None => self.on_air.iter_mut().for_each(|other| other.corrupted = true),
            Some(capture) => {
                let all: f64 = power + self.on_air.iter().map(|other| other.power).sum::<f64>();
                let survives = |power: f64| power >= capture.threshold * (all - power);
                // Of frames that begin together none is the later one.
                let is_later = self.on_air.iter().any(|other| other.start < start);
                new.corrupted &= (is_later && !capture.later_frames) || !survives(power);
                for other in &mut self.on_air {
                    other.corrupted |= !survives(other.power);
                }
            }
        }
        self.on_air.push(new);
    }

    /// What becomes of a transmission that is in the air while stations move: heard on, if all that are here now have heard it from its
    /// beginning.
    pub(crate) fn hears_on(&mut self, transmission: u32, start: Instant, power: f64, before: &[&Self]) {
        let is_intact = |domain: &&Self| {
            domain.on_air.iter().any(|heard| heard.transmission == transmission && !heard.corrupted)
        };
        let corrupted = !before.iter().all(is_intact);
        self.on_air.push(OnAir { transmission, start, power, corrupted });
    }

    /// Without capture, frames that have come to overlap.
    pub(crate) fn corrupt_overlaps(&mut self) {
        if self.on_air.len() > 1 {
            self.on_air.iter_mut().for_each(|on_air| on_air.corrupted = true);
        }
    }

    /// A transmission ends. Whether it was intact here.
    pub(crate) fn ends(&mut self, transmission: u32) -> bool {
        let Some(index) = self.on_air.iter().position(|on_air| on_air.transmission == transmission) else {
            return false;
        };
        !self.on_air.swap_remove(index).corrupted
    }
}

/// A power that drowns all others: a station's own, at its own receiver.
const OWN_POWER: f64 = 1e30;

/// The power of a transmission from `from` at a domain.
pub(crate) fn power_at(propagation: &Propagation, domain: &Domain, from: (u32, Position)) -> f64 {
    if domain.members.contains(&from.0) { OWN_POWER } else { propagation.power(from.1, domain.position) }
}

/// Divides stations into domains. With capture, powers differ from place to place: only stations at one place are in one domain then.
pub(crate) fn divide(positions: &[Position], propagation: &Propagation, capture: bool) -> Vec<Domain> {
    let heard = |at: usize| -> Vec<(u32, Hearing)> {
        let all = positions.iter().enumerate().map(|(other, position)| {
            let hearing = propagation.hearing(*position, positions[at]);
            (other as u32, if other == at { Hearing::Decodes } else { hearing })
        });
        all.filter(|(_, hearing)| *hearing != Hearing::Nothing).collect()
    };
    let place = |at: Position| if capture { (at.x.to_bits(), at.y.to_bits()) } else { (0, 0) };
    let mut by_neighbourhood: BTreeMap<_, u32> = BTreeMap::new();
    let mut domains: Vec<Domain> = Vec::new();
    let mut neighbourhoods: Vec<Vec<(u32, Hearing)>> = Vec::new();
    let mut domain_of = vec![0; positions.len()];
    for (station, position) in positions.iter().enumerate() {
        let neighbourhood = heard(station);
        let key = (neighbourhood.clone(), place(*position));
        let index = *by_neighbourhood.entry(key).or_insert_with(|| {
            domains.push(Domain { position: *position, ..Domain::default() });
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
