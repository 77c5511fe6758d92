//! The state of one inside host as a value, which moves to another translator when the host roams.
//!
//! With two levels, the move takes these steps. The station keeps its address in its cell; the access points
//! have other addresses outside of it.
//!
//! 1. The new access point [holds](Nat::hold) the host, so that none of its packets gets a mapping of its
//!    own.
//! 2. The old one holds it, too, and [exports](Nat::export) its mappings. It holds the host for some time
//!    more: packets that are still in the air, or in its queues, would get new mappings.
//! 3. The new one [imports](Nat::import) them. Each gets an outside endpoint there, with the same port if
//!    that is free; the result says which one became which.
//! 4. The central translator [redirects](Nat::redirect) these: its mappings keep their own outside
//!    endpoints, so the connections' peers notice nothing.
//! 5. The new one [resumes](Nat::resume) the host; the old one [removes](Nat::remove) it.
//!
//! Packets that arrive on either side meanwhile are dropped, and never answered with a reset.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::endpoint::Endpoint;
use crate::nat::Nat;
use crate::session::{Seen, Session};
use crate::table::Removed;

/// The version of the form in which mappings are written.
const VERSION: u8 = 1;

/// The maximum octets of a written mapping without its sessions, and of a session.
const MAPPING_OCTETS: usize = 32;
const SESSION_OCTETS: usize = 24;

/// A mapping of an inside host, with its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    inside: Endpoint,
    outside: Endpoint,
    is_static: bool,
    sessions: Vec<SessionState>,
}

impl Mapping {
    /// The endpoint of the host.
    pub const fn inside(&self) -> Endpoint {
        self.inside
    }

    /// The endpoint that it had outside of the translator that exported it.
    pub const fn outside(&self) -> Endpoint {
        self.outside
    }

    /// Whether it is a static forwarding.
    pub const fn is_static(&self) -> bool {
        self.is_static
    }

    /// The number of its sessions.
    pub const fn sessions(&self) -> usize {
        self.sessions.len()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SessionState {
    remote: SocketAddrV4,
    /// The bits of [`Seen`].
    seen: u8,
    /// The time until it expires, which is relative, so that it holds on another machine's clock.
    left: Duration,
}

/// An inside endpoint of an outer translator is another one from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redirect {
    /// Where it was.
    pub from: Endpoint,
    /// Where it is.
    pub to: Endpoint,
}

/// Why state is refused. The translator is then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// It was written in another version of the form.
    #[error("the state has version {found}; expected version {VERSION}")]
    Version {
        /// Its version.
        found: u8,
    },
    /// It is invalid.
    #[error("the state is malformed: {0}")]
    Malformed(&'static str),
    /// An endpoint has a mapping here already, or occurs twice.
    #[error("{0} has a mapping already")]
    Known(Endpoint),
    /// There is no room for it, or no port.
    #[error("no room for the state")]
    Full,
}

/// Mappings as octets, for another machine.
pub fn write(mappings: &[Mapping]) -> Vec<u8> {
    // Writing plain structs to memory does not fail.
    postcard::to_extend(mappings, vec![VERSION]).unwrap_or_default()
}

impl Nat {
    /// The mappings of an inside host. They stay here.
    pub fn export(&mut self, host: Ipv4Addr, now: Instant) -> Vec<Mapping> {
        self.expire(now);
        let table = self.table();
        let state = |(remote, session): (SocketAddrV4, Session)| SessionState {
            remote,
            seen: session.seen().bits(),
            left: session.expires().since(now),
        };
        let mappings = table.mappings_of(host).map(|(inside, entry)| Mapping {
            inside,
            outside: entry.outside,
            is_static: entry.is_static,
            sessions: table.sessions_of(inside).map(state).collect(),
        });
        mappings.collect()
    }

    /// Reads what [`write()`] wrote. More octets than the state of a host can have here are refused unread;
    /// less takes at most a few times its octets in memory.
    pub fn read(&self, octets: &[u8]) -> Result<Vec<Mapping>, ImportError> {
        let (&found, rest) = octets.split_first().ok_or(ImportError::Malformed("it is empty"))?;
        if found != VERSION {
            return Err(ImportError::Version { found });
        }
        let limits = self.config().limits;
        let largest = (limits.mappings_per_host as usize).saturating_mul(MAPPING_OCTETS)
            + (limits.sessions_per_host as usize).saturating_mul(SESSION_OCTETS);
        if rest.len() > largest {
            return Err(ImportError::Full);
        }
        postcard::from_bytes(rest).map_err(|_| ImportError::Malformed("fields are missing or out of range"))
    }

    /// Continues the mappings of an inside host that another translator had, which are not trusted: all of
    /// them, or none. Returns what each outside endpoint there has become here, for an outer translator.
    pub fn import(&mut self, mappings: &[Mapping], now: Instant) -> Result<Vec<Redirect>, ImportError> {
        self.expire(now);
        self.check(mappings)?;
        let mut redirects: Vec<Redirect> = Vec::with_capacity(mappings.len());
        for (index, mapping) in mappings.iter().enumerate() {
            let Some(to) = self.free_endpoint_like(mapping) else {
                for added in &mappings[..index] {
                    self.table_mut().remove_mapping(added.inside);
                }
                return Err(ImportError::Full);
            };
            self.table_mut().add_mapping(mapping.inside, to, mapping.is_static);
            redirects.push(Redirect { from: mapping.outside, to });
        }
        let timeouts = self.config().timeouts;
        for Mapping { inside, sessions, .. } in mappings {
            for &SessionState { remote, seen, left } in sessions {
                let seen = Seen::from_bits_truncate(seen);
                let session = Session::restored((inside.protocol, seen), left, &timeouts, now);
                self.table_mut().set_session(*inside, remote, session);
            }
        }
        Ok(redirects)
    }

    /// Whether the state can be that of a host here.
    fn check(&self, mappings: &[Mapping]) -> Result<(), ImportError> {
        let Some(first) = mappings.first() else { return Ok(()) };
        let host = first.inside.address;
        let sessions = mappings.iter().map(Mapping::sessions).sum();
        if !self.table().has_room(host, mappings.len(), sessions) {
            return Err(ImportError::Full);
        }
        let mut endpoints = BTreeSet::new();
        for mapping @ &Mapping { inside, outside, .. } in mappings {
            if inside.address != host {
                return Err(ImportError::Malformed("it is of several hosts"));
            }
            if !inside.is_possible() || self.has_address(host) || !outside.is_possible() {
                return Err(ImportError::Malformed("an endpoint is impossible"));
            }
            if inside.protocol != outside.protocol {
                return Err(ImportError::Malformed("a mapping is of two protocols"));
            }
            if self.table().mapping(inside).is_some() || !endpoints.insert(inside) {
                return Err(ImportError::Known(inside));
            }
            if mapping.sessions.is_empty() && !mapping.is_static {
                return Err(ImportError::Malformed("a mapping has no session"));
            }
            let remotes: BTreeSet<_> = mapping.sessions.iter().map(|session| session.remote).collect();
            if mapping.sessions.iter().any(|session| Seen::from_bits(session.seen).is_none()) {
                return Err(ImportError::Malformed("a session is in no known state"));
            }
            if remotes.len() < mapping.sessions.len() {
                return Err(ImportError::Malformed("a session occurs twice"));
            }
        }
        Ok(())
    }

    /// A free outside endpoint for a mapping from elsewhere: with the port that it had there, so that an
    /// outer translator sees as little change as possible.
    fn free_endpoint_like(&mut self, mapping: &Mapping) -> Option<Endpoint> {
        let address = self.free_endpoint(mapping.inside)?.address;
        let same = Endpoint { address, ..mapping.outside };
        let is_free = self.config().ports.contains(&same.port) && self.table().inside(same).is_none();
        if is_free { Some(same) } else { self.free_endpoint(mapping.inside) }
    }

    /// Removes all mappings of an inside host. Returns their number.
    pub fn remove(&mut self, host: Ipv4Addr) -> usize {
        let endpoints: Vec<Endpoint> = self.table().mappings_of(host).map(|(inside, _)| inside).collect();
        let removed = endpoints.iter().filter_map(|inside| self.table_mut().remove_mapping(*inside));
        removed.count()
    }

    /// Inside endpoints are elsewhere from now on: their mappings keep their outside endpoints and
    /// sessions. An endpoint without a mapping has none afterwards. A mapping that the new endpoint has is
    /// removed: it is of another host, to which the owner of the endpoint had given it before. After an
    /// error nothing has changed.
    ///
    /// The caller has verified that the request comes from the owner of the new addresses. Returns the
    /// number of mappings that moved.
    pub fn redirect(&mut self, redirects: &[Redirect], now: Instant) -> Result<usize, ImportError> {
        self.expire(now);
        self.check_redirects(redirects)?;
        let table = self.table_mut();
        // All are taken out first: a new endpoint may be another one's old one.
        let taken: Vec<Option<Removed>> = redirects.iter().map(|it| table.remove_mapping(it.from)).collect();
        let mut moved = 0;
        for (Redirect { to, .. }, taken) in redirects.iter().zip(taken) {
            table.remove_mapping(*to);
            let Some(Removed { entry, sessions }) = taken else { continue };
            table.add_mapping(*to, entry.outside, entry.is_static);
            for (remote, session) in sessions {
                table.set_session(*to, remote, session);
            }
            moved += 1;
        }
        Ok(moved)
    }

    fn check_redirects(&self, redirects: &[Redirect]) -> Result<(), ImportError> {
        let (mut origins, mut targets) = (BTreeSet::new(), BTreeSet::new());
        let mut growth = BTreeMap::<Ipv4Addr, (usize, usize)>::new();
        for &Redirect { from, to } in redirects {
            if !to.is_possible() || self.has_address(to.address) || from.protocol != to.protocol {
                return Err(ImportError::Malformed("an endpoint is impossible"));
            }
            if !origins.insert(from) || !targets.insert(to) {
                return Err(ImportError::Known(to));
            }
            if from.address != to.address && self.table().mapping(from).is_some() {
                let grown = growth.entry(to.address).or_default();
                *grown = (grown.0 + 1, grown.1 + self.table().sessions_of(from).count());
            }
        }
        let has_room = |(host, (mappings, sessions)): (&Ipv4Addr, &(usize, usize))| {
            self.table().host_has_room(*host, *mappings, *sessions)
        };
        if growth.iter().all(has_room) { Ok(()) } else { Err(ImportError::Full) }
    }
}
