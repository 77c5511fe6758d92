//! The translations of clients at an access point.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, UdpSocket};

use lasthop_linux::conntrack::{Conntrack, Tuple};
use lasthop_linux::neighbours::{Neighbour, Neighbours};
use lasthop_packet::Prefix;
use tracing::{debug, warn};

use super::guard::Guard;
use super::mapping::{MAX_MAPPINGS, Mapping, Moved};
use crate::frame::MacAddress;

/// How many other ports are tried for a connection whose own port another one has here.
const TRIES: u16 = 64;

/// How many of them are tried for all connections of a state together.
const TRIES_FOR_ALL: usize = 1024;

/// How many addresses of a client are looked for at most: each takes a walk through the kernel's table.
const MAX_ADDRESSES: usize = 8;

/// The first of these ports.
const FIRST_PORT: u16 = 1024;

/// The translations of clients at an access point.
#[derive(Debug)]
pub struct Translations {
    conntrack: Conntrack,
    neighbours: Neighbours,
    guard: Guard,
    /// The clients' addresses.
    clients: Prefix,
    /// The address to which they are translated.
    outside: Ipv4Addr,
    /// The translations of clients that were given, until these are released: until then no other connection gets their ports.
    given: BTreeMap<MacAddress, Vec<(Tuple, u16)>>,
}

/// What became of translations that another access point has given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenUp {
    /// Translations that go on here.
    pub taken: u64,
    /// Translations that are not the client's, are impossible, or found no port.
    pub refused: u64,
    /// Connections that have another outside end from now on.
    pub moved: Vec<Moved>,
}

impl Translations {
    pub(super) const fn new(
        conntrack: Conntrack,
        neighbours: Neighbours,
        guard: Guard,
        clients: Prefix,
        outside: Ipv4Addr,
    ) -> Self {
        Self { conntrack, neighbours, guard, clients, outside, given: BTreeMap::new() }
    }

    /// The translations of a client that is served elsewhere from now on. They stay here until they are released, but
    /// the client's packets are dropped.
    pub fn give(&mut self, client: MacAddress) -> Vec<Mapping> {
        self.guard.hold(client);
        let mappings = self.of(client).unwrap_or_else(|error| {
            warn!(%client, %error, "a client's translations are not given");
            Vec::new()
        });
        let given = mappings.iter().map(|mapping| (mapping.original(), mapping.outside().port()));
        self.given.insert(client, given.collect());
        mappings
    }

    /// Goes on with translations that another access point has given, which are not trusted.
    pub fn take_up(&mut self, client: MacAddress, mappings: &[Mapping]) -> TakenUp {
        // The kernel knows its connections from here on, and the central translator does not yet.
        self.guard.hold(client);
        let mut outcome = TakenUp::default();
        let others: BTreeSet<Ipv4Addr> = match self.neighbours.list() {
            Ok(all) => {
                let of_others = all.into_iter().filter(|it| it.mac != client.0 && !it.is_stale);
                of_others.map(|it| it.ip).collect()
            }
            Err(error) => {
                warn!(%client, %error, "translations are refused: whose address is whose is not known");
                return TakenUp { refused: mappings.len() as u64, ..outcome };
            }
        };
        let addresses: BTreeSet<Ipv4Addr> = mappings.iter().map(|mapping| *mapping.inside().ip()).collect();
        let own: BTreeSet<Ipv4Addr> = addresses
            .into_iter()
            .filter(|address| self.clients.contains((*address).into()) && !others.contains(address))
            .filter(|address| !is_of_this_machine(*address))
            .collect();
        let is_its_own = |mapping: &Mapping| own.contains(mapping.inside().ip());
        let moving = mappings.iter().filter(|mapping| is_its_own(mapping));
        let ports: Vec<u16> = moving.map(|mapping| mapping.outside().port()).collect();
        self.guard.shield(&ports);
        // Others may have all ports that a state asks for.
        let mut tries = mappings.len() + TRIES_FOR_ALL;
        for mapping in mappings {
            match self.create(mapping, is_its_own(mapping), &mut tries) {
                Ok(outside) => {
                    outcome.taken += 1;
                    outcome.moved.extend(mapping.moved(outside));
                }
                Err(why) => {
                    debug!(%client, ?mapping, %why, "a translation is refused");
                    outcome.refused += 1;
                }
            }
        }
        outcome
    }

    /// The client is served here.
    pub fn serve(&mut self, client: MacAddress) {
        self.given.remove(&client);
        self.guard.admit(client);
    }

    /// The client is served elsewhere: removes its translations that were given.
    pub fn release(&mut self, client: MacAddress) {
        self.guard.forget(client);
        let given = self.given.remove(&client).unwrap_or_default();
        // Late packets of the servers are not answered.
        let ports: Vec<u16> = given.iter().map(|(_, port)| *port).collect();
        self.guard.shield(&ports);
        for (original, _) in given {
            if let Err(error) = self.conntrack.delete(&original) {
                warn!(%client, %error, "a translation of a client that has gone remains");
            }
        }
    }

    fn of(&mut self, client: MacAddress) -> io::Result<Vec<Mapping>> {
        let mut mappings = Vec::new();
        let is_its_own = |it: &Neighbour| it.mac == client.0 && self.clients.contains(IpAddr::V4(it.ip));
        let addresses: Vec<_> = self.neighbours.list()?.into_iter().filter(is_its_own).collect();
        if addresses.is_empty() || addresses.len() > MAX_ADDRESSES {
            warn!(%client, addresses = addresses.len(), "not all addresses of a client are known here, so not all translations are given");
        }
        for Neighbour { ip, .. } in addresses.into_iter().take(MAX_ADDRESSES) {
            let entries = self.conntrack.opened_by(ip)?;
            mappings.extend(entries.iter().filter_map(|entry| Mapping::of(entry, self.outside)));
        }
        if mappings.len() > MAX_MAPPINGS {
            warn!(%client, translations = mappings.len(), "not all translations of a client are given");
            mappings.truncate(MAX_MAPPINGS);
        }
        Ok(mappings)
    }

    /// Creates a translation, with the port that it had if that is free. Returns its outside end.
    fn create(&mut self, mapping: &Mapping, is_its_own: bool, tries: &mut usize) -> io::Result<SocketAddrV4> {
        let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
        if !is_its_own {
            return Err(refused("it is another host's"));
        }
        // Its own former one, or one that was made before the client's state came.
        self.conntrack.delete(&mapping.original())?;
        let port = mapping.outside().port();
        let others = (0..TRIES).map(|index| port.wrapping_add(1 + index).max(FIRST_PORT + index));
        for port in std::iter::once(port).chain(others) {
            *tries = tries.checked_sub(1).ok_or(io::ErrorKind::AddrInUse)?;
            let outside = SocketAddrV4::new(self.outside, port);
            let entry = mapping.entry(outside).ok_or_else(|| refused("it is impossible"))?;
            match self.conntrack.create(&entry) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => return outcome.map(|()| outside),
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }
}

/// Whether an interface of this machine has the address.
fn is_of_this_machine(address: Ipv4Addr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}
