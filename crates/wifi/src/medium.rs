//! The medium as each station senses it: which stations hear each other, which frames are in the air,
//! and who transmits next.
//!
//! | module | what is in it |
//! |---|---|
//! | `domain` | sense domains; frames that overlap there |
//! | `contention` | the time at which each contender of a domain transmits |
//! | `nav` | reservations of the medium |
//! | `access` | interframe spaces, and the start of backoffs |
//! | `division`, `changes` | the division into domains, at first and when stations move or are tuned |
//! | `grid` | stations by place and channel |

mod access;
mod changes;
mod contention;
mod division;
mod domain;
mod grid;
mod nav;
#[cfg(test)]
mod tests;

use lasthop_packet::Instant;

use super::contender::Contender;
use super::frame::Kind;
use super::propagation::{Capture, Position, Propagation};
use super::station::{Channel, StationConfig};
use super::times::Times;
use changes::Changes;
pub(crate) use contention::Due;
use domain::Domain;
use grid::{Grid, Square};
use nav::Reservation;

/// A transmission in the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) from: u32,
    /// The addressee; `None` for a broadcast.
    pub(crate) to: Option<u32>,
    pub(crate) kind: Kind,
    /// The contender whose exchange it belongs to.
    pub(crate) initiator: u32,
    pub(crate) start: Instant,
    /// Its Duration field: nanoseconds from its end to the end of the exchange.
    pub(crate) reserves: u64,
}

/// A station's position, channel and sense domain.
#[derive(Debug)]
struct Place {
    position: Position,
    /// The channel that it is tuned to; `None`: it is off the air.
    channel: Option<Channel>,
    /// Where the grid has it.
    square: Option<Square>,
    /// The number of its sense domain. Stations of different domains never share one again, even if they
    /// come to hear the same frames: each knows only what it has heard.
    domain: u32,
    /// The start of an idle period, and its interframe space in that period, in nanoseconds, if it differs
    /// from its domain's: after a frame that it sent, and after one for it that it did not decode.
    own_ifs: Option<(Instant, u64)>,
}

/// The medium of a cell.
#[derive(Debug)]
pub(crate) struct Medium {
    times: Times,
    propagation: Propagation,
    capture: Option<Capture>,
    /// Whether exchanges may be settled when they begin.
    settles: bool,
    places: Vec<Place>,
    /// Empty until the first frame: stations are added before.
    domains: Vec<Domain>,
    /// The number of settled exchanges under way.
    settling: u32,
    grid: Grid,
    /// Since stations were last divided into domains.
    changes: Changes,
    transmissions: Vec<Transmission>,
    vacant: Vec<u32>,
    /// The contenders whose backoffs have ended, and that have not begun to transmit.
    due: Vec<Due>,
}

impl Medium {
    pub(crate) fn new(
        times: Times,
        propagation: Propagation,
        capture: Option<Capture>,
        settles: bool,
    ) -> Self {
        Self {
            times,
            propagation,
            capture,
            settles,
            places: Vec::new(),
            domains: Vec::new(),
            settling: 0,
            grid: Grid::new(propagation.carrier_sense_range()),
            changes: Changes::default(),
            transmissions: Vec::new(),
            vacant: Vec::new(),
            due: Vec::new(),
        }
    }

    /// Adds a station, before stations are divided into domains.
    pub(crate) fn add(&mut self, config: &StationConfig) {
        let StationConfig { position, channel, .. } = *config;
        self.places.push(Place { position, channel, square: None, domain: 0, own_ifs: None });
    }

    pub(crate) fn position(&self, station: u32) -> Position {
        self.places[station as usize].position
    }

    /// The power of a station's frames at another station, in watts, if the propagation model has powers.
    pub(crate) fn received_power(&self, from: u32, at: u32) -> Option<f64> {
        self.propagation.received_power(self.position(from), self.position(at))
    }

    /// The channel that a station is tuned to.
    pub(crate) fn channel(&self, station: u32) -> Option<Channel> {
        self.places[station as usize].channel
    }

    fn is_on_air(&self, station: u32) -> bool {
        self.channel(station).is_some()
    }

    /// The domain that a station is a member of.
    #[inline]
    pub(crate) fn home(&self, station: u32) -> u32 {
        self.places[station as usize].domain
    }

    /// The number of sense domains; 0 before stations are divided.
    pub(crate) fn domains(&self) -> usize {
        self.domains.len()
    }

    pub(crate) fn members(&self, domain: u32) -> &[u32] {
        self.domains[domain as usize].members()
    }

    /// One of the domains that sense a domain's members; `number` counts them from 0.
    pub(crate) fn audience(&self, domain: u32, number: usize) -> Option<u32> {
        self.domains[domain as usize].audience().get(number).map(|audience| audience.domain)
    }

    /// Begins a transmission in all domains that sense it. Returns its number.
    pub(crate) fn begin(&mut self, transmission: Transmission, contenders: &mut [Contender]) -> u32 {
        let Transmission { from, start, .. } = transmission;
        let key = if let Some(key) = self.vacant.pop() {
            self.transmissions[key as usize] = transmission;
            key
        } else {
            self.transmissions.push(transmission);
            self.transmissions.len() as u32 - 1
        };
        let home = self.home(from);
        for audience in 0..self.domains[home as usize].audience().len() {
            let at = self.domains[home as usize].audience()[audience].domain;
            let power = self.power_at(at, from);
            let domain = &mut self.domains[at as usize];
            domain.turn_busy(start, &self.times, contenders, &mut self.due);
            domain.begins(key, start, power, self.capture);
        }
        key
    }

    /// The power of a station's frames at a domain's members. With capture, a domain has one member.
    fn power_at(&self, domain: u32, from: u32) -> f64 {
        if self.capture.is_none() || self.home(from) == domain {
            return domain::OWN_POWER;
        }
        let listener = self.domains[domain as usize].members()[0];
        self.propagation.power(self.position(from), self.position(listener))
    }

    /// Ends a transmission in all domains that sense it. Returns it, and whether its addressee has decoded
    /// it. The stations that have decoded a broadcast are added to `receivers`.
    pub(crate) fn end(
        &mut self,
        key: u32,
        now: Instant,
        contenders: &mut [Contender],
        receivers: &mut Vec<u32>,
    ) -> (Transmission, bool) {
        let transmission = self.transmissions[key as usize];
        self.vacant.push(key);
        let Transmission { from, to, kind, initiator, reserves, .. } = transmission;
        self.sent(from, now);
        let home = self.home(from);
        let target = to.map(|to| self.home(to));
        let mut reached = false;
        for audience in 0..self.domains[home as usize].audience().len() {
            let at = self.domains[home as usize].audience()[audience];
            let domain = &mut self.domains[at.domain as usize];
            let decoded = domain.ends(key) && at.decodes;
            if decoded {
                domain.decodes(now);
                reached |= target == Some(at.domain);
                //= IEEE 802.11-2020, 10.3.2.4: the Duration field sets the NAV of all but the addressee.
                if reserves > 0 {
                    let initiator = Contender::station_of(initiator);
                    let addressee = if from == initiator { to.unwrap_or(from) } else { from };
                    let (until, may_be_reset) = (now.after_nanos(reserves), kind == Kind::Rts);
                    domain.nav_mut().reserve(Reservation {
                        initiator,
                        addressee,
                        until,
                        set_at: now,
                        may_be_reset,
                    });
                }
                if to.is_none() {
                    receivers.extend_from_slice(domain.members());
                }
            }
            if domain.is_silent() {
                self.begin_idle(at.domain, now, contenders);
                if at.domain == home {
                    self.part(from, contenders);
                }
            }
        }
        if to.is_none() {
            receivers.sort_unstable();
        }
        (transmission, reached)
    }

    /// Whether a domain and all other stations do not hear each other, and its exchanges may be settled when
    /// they begin.
    #[inline]
    pub(crate) fn is_clique(&self, domain: u32) -> bool {
        self.domains[domain as usize].is_clique()
    }

    /// Whether a frame for a station is in the air, which the station has heard from its beginning and still
    /// may decode.
    pub(crate) fn receives(&self, station: u32) -> bool {
        let is_for_it = |key: u32| self.transmissions[key as usize].to == Some(station);
        self.domains.get(self.home(station) as usize).is_some_and(|home| home.receives(is_for_it))
    }

    /// Whether a settled exchange or collision is under way.
    pub(crate) const fn is_settling(&self) -> bool {
        self.settling > 0
    }

    /// A settled exchange or collision begins.
    pub(crate) const fn begin_settled(&mut self) {
        self.settling += 1;
    }

    /// A domain's settled exchange or collision is over. `decoded`: whether its last frame was decoded.
    pub(crate) fn end_settled(
        &mut self,
        domain: u32,
        now: Instant,
        decoded: bool,
        contenders: &mut [Contender],
    ) {
        self.settling -= 1;
        if decoded {
            self.domains[domain as usize].decodes(now);
        }
        self.begin_idle(domain, now, contenders);
    }
}
