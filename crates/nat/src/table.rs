//! Mappings and sessions: found by either end, bounded, and removed when they expire.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};

use lasthop_packet::Instant;

use crate::endpoint::Endpoint;
use crate::session::Session;

/// What a translator may hold. All of it is known before memory is taken ([`Limits::memory`]). For an outer
/// translator, an access point with all its clients is one inside host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Mappings in all.
    pub mappings: u32,
    /// Mappings of an inside host.
    pub mappings_per_host: u32,
    /// Sessions in all.
    pub sessions: u32,
    /// Sessions of an inside host.
    pub sessions_per_host: u32,
    /// Hosts that are held.
    pub held: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            mappings: 32_768,
            mappings_per_host: 4_096,
            sessions: 65_536,
            sessions_per_host: 8_192,
            held: 4_096,
        }
    }
}

impl Limits {
    /// The maximum memory of the tables, in octets.
    pub fn memory(&self) -> u64 {
        // The nodes of a B-tree are at least half full, and have some words of their own.
        let map_entry = |octets: usize| 2 * octets as u64 + 16;
        let mapping = map_entry(size_of::<Endpoint>() + size_of::<Entry>())
            + map_entry(2 * size_of::<Endpoint>())
            + map_entry(size_of::<Ipv4Addr>() + size_of::<Host>());
        let session = map_entry(size_of::<Key>() + size_of::<Tracked>())
            + map_entry(size_of::<Instant>() + size_of::<Key>());
        u64::from(self.mappings) * mapping
            + u64::from(self.sessions) * session
            + u64::from(self.held) * map_entry(size_of::<Ipv4Addr>() + size_of::<Instant>())
    }
}

/// The mappings, their sessions, and the inside hosts that have them.
#[derive(Debug)]
pub(crate) struct Table {
    limits: Limits,
    /// By inside endpoint.
    mappings: BTreeMap<Endpoint, Entry>,
    /// The inside endpoint of each outside one.
    by_outside: BTreeMap<Endpoint, Endpoint>,
    /// By inside endpoint and remote end.
    sessions: BTreeMap<Key, Tracked>,
    /// Each session once, at the time at which it expires or earlier: most packets only move that time
    /// further away, and change nothing here.
    due: BTreeSet<(Instant, Key)>,
    hosts: BTreeMap<Ipv4Addr, Host>,
}

/// The inside endpoint and the remote end of a session.
type Key = (Endpoint, SocketAddrV4);

/// A session, and where it is in the order of expiry.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    session: Session,
    due: Instant,
}

/// A mapping of an inside endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) outside: Endpoint,
    /// Whether it stays without sessions, and admits all.
    pub(crate) is_static: bool,
    sessions: u32,
}

/// What an inside host has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    mappings: u32,
    sessions: u32,
    /// Its outside address.
    address: Ipv4Addr,
}

impl Table {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            mappings: BTreeMap::new(),
            by_outside: BTreeMap::new(),
            sessions: BTreeMap::new(),
            due: BTreeSet::new(),
            hosts: BTreeMap::new(),
        }
    }

    /// The mapping of an inside endpoint.
    pub(crate) fn mapping(&self, inside: Endpoint) -> Option<Entry> {
        self.mappings.get(&inside).copied()
    }

    /// The inside endpoint that has this outside endpoint.
    pub(crate) fn inside(&self, outside: Endpoint) -> Option<Endpoint> {
        self.by_outside.get(&outside).copied()
    }

    /// All mappings, in the order of their inside endpoints.
    pub(crate) fn mappings(&self) -> impl Iterator<Item = (Endpoint, Entry)> {
        self.mappings.iter().map(|(inside, entry)| (*inside, *entry))
    }

    /// The mappings of an inside host.
    pub(crate) fn mappings_of(&self, host: Ipv4Addr) -> impl Iterator<Item = (Endpoint, Entry)> {
        let [first, last] = Endpoint::all_of(host);
        self.mappings.range(first..=last).map(|(inside, entry)| (*inside, *entry))
    }

    /// The sessions of an inside endpoint, in the order of their remote ends.
    pub(crate) fn sessions_of(&self, inside: Endpoint) -> impl Iterator<Item = (SocketAddrV4, Session)> {
        let [first, last] = ends(inside);
        self.sessions.range(first..=last).map(|((_, remote), tracked)| (*remote, tracked.session))
    }

    /// The number of mappings and of sessions.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.mappings.len(), self.sessions.len())
    }

    pub(crate) fn session(&self, inside: Endpoint, remote: SocketAddrV4) -> Option<Session> {
        self.sessions.get(&(inside, remote)).map(|tracked| tracked.session)
    }

    /// Whether an inside endpoint has a session with any port of this address.
    pub(crate) fn knows(&self, inside: Endpoint, remote: Ipv4Addr) -> bool {
        let [first, last] = [0, u16::MAX].map(|port| (inside, SocketAddrV4::new(remote, port)));
        self.sessions.range(first..=last).next().is_some()
    }

    /// The outside address of a host that has mappings.
    pub(crate) fn address_of(&self, host: Ipv4Addr) -> Option<Ipv4Addr> {
        self.hosts.get(&host).map(|host| host.address)
    }

    /// The number of hosts with this outside address.
    pub(crate) fn hosts_with(&self, address: Ipv4Addr) -> usize {
        self.hosts.values().filter(|host| host.address == address).count()
    }

    /// Whether there is room for this number of mappings and sessions more, all of one host.
    pub(crate) fn has_room(&self, host: Ipv4Addr, mappings: usize, sessions: usize) -> bool {
        fits(self.mappings.len(), mappings, self.limits.mappings)
            && fits(self.sessions.len(), sessions, self.limits.sessions)
            && self.host_has_room(host, mappings, sessions)
    }

    /// The same by the limits of a host only: others have them now.
    pub(crate) fn host_has_room(&self, host: Ipv4Addr, mappings: usize, sessions: usize) -> bool {
        let Host { mappings: its_mappings, sessions: its_sessions, .. } =
            self.hosts.get(&host).copied().unwrap_or(Host { mappings: 0, sessions: 0, address: host });
        fits(its_mappings as usize, mappings, self.limits.mappings_per_host)
            && fits(its_sessions as usize, sessions, self.limits.sessions_per_host)
    }

    /// Adds a mapping; neither of its endpoints has one.
    pub(crate) fn add_mapping(&mut self, inside: Endpoint, outside: Endpoint, is_static: bool) {
        debug_assert!(!self.mappings.contains_key(&inside) && !self.by_outside.contains_key(&outside));
        self.mappings.insert(inside, Entry { outside, is_static, sessions: 0 });
        self.by_outside.insert(outside, inside);
        let none = Host { mappings: 0, sessions: 0, address: outside.address };
        self.hosts.entry(inside.address).or_insert(none).mappings += 1;
    }

    /// A mapping stays without sessions from now on, and admits all.
    pub(crate) fn make_static(&mut self, inside: Endpoint) {
        if let Some(entry) = self.mappings.get_mut(&inside) {
            entry.is_static = true;
        }
    }

    /// Sets a session of a mapping.
    pub(crate) fn set_session(&mut self, inside: Endpoint, remote: SocketAddrV4, session: Session) {
        let key = (inside, remote);
        if let Some(tracked) = self.sessions.get_mut(&key) {
            tracked.session = session;
            if session.expires() < tracked.due {
                self.due.remove(&(tracked.due, key));
                tracked.due = session.expires();
                self.due.insert((tracked.due, key));
            }
            return;
        }
        let host = self.hosts.get_mut(&inside.address);
        let (Some(entry), Some(host)) = (self.mappings.get_mut(&inside), host) else { return };
        entry.sessions += 1;
        host.sessions += 1;
        let due = session.expires();
        self.sessions.insert(key, Tracked { session, due });
        self.due.insert((due, key));
    }

    /// Removes the sessions that have expired, and the mappings that are left without one. Returns the number
    /// of these.
    pub(crate) fn expire(&mut self, now: Instant) -> u64 {
        let before = self.mappings.len();
        while let Some(&(due, key)) = self.due.first()
            && due <= now
        {
            let Some(tracked) = self.sessions.get_mut(&key) else { break };
            let expires = tracked.session.expires();
            if expires > now {
                self.due.remove(&(due, key));
                tracked.due = expires;
                self.due.insert((expires, key));
            } else {
                self.remove_session(key);
            }
        }
        (before - self.mappings.len()) as u64
    }

    fn remove_session(&mut self, key: Key) {
        let Some(tracked) = self.sessions.remove(&key) else { return };
        self.due.remove(&(tracked.due, key));
        let (inside, _) = key;
        if let Some(host) = self.hosts.get_mut(&inside.address) {
            host.sessions -= 1;
        }
        if let Some(entry) = self.mappings.get_mut(&inside) {
            entry.sessions -= 1;
            if entry.sessions == 0 && !entry.is_static {
                self.remove_mapping(inside);
            }
        }
    }

    /// Removes a mapping with its sessions; returns it.
    pub(crate) fn remove_mapping(&mut self, inside: Endpoint) -> Option<Removed> {
        let entry = self.mappings.remove(&inside)?;
        self.by_outside.remove(&entry.outside);
        let sessions: Vec<_> = self.sessions_of(inside).collect();
        for (remote, _) in &sessions {
            if let Some(tracked) = self.sessions.remove(&(inside, *remote)) {
                self.due.remove(&(tracked.due, (inside, *remote)));
            }
        }
        if let Some(host) = self.hosts.get_mut(&inside.address) {
            host.mappings -= 1;
            host.sessions -= sessions.len() as u32;
            if host.mappings == 0 {
                self.hosts.remove(&inside.address);
            }
        }
        Some(Removed { entry, sessions })
    }
}

/// A mapping that is in no table.
#[derive(Clone, Debug)]
pub(crate) struct Removed {
    pub(crate) entry: Entry,
    pub(crate) sessions: Vec<(SocketAddrV4, Session)>,
}

/// Whether this number of them does not exceed a limit.
const fn fits(now: usize, more: usize, limit: u32) -> bool {
    now.saturating_add(more) <= limit as usize
}

/// The first and the last key of the sessions of an inside endpoint, in order.
const fn ends(inside: Endpoint) -> [Key; 2] {
    [
        (inside, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
        (inside, SocketAddrV4::new(Ipv4Addr::BROADCAST, u16::MAX)),
    ]
}
