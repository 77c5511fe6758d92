//! Where clients are.

use std::fmt;
use std::net::{SocketAddr, SocketAddrV6};
use std::sync::Arc;

use lasthop_peering::Fingerprint;
use serde::{Deserialize, Serialize};

use super::client::Client;

/// An access point: its name, the address at which others reach its gateway, and the key that it has
/// there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AccessPoint {
    name: Box<str>,
    address: SocketAddr,
    key: Option<Fingerprint>,
}

impl AccessPoint {
    /// An access point. The registry limits the length of its name
    /// ([`Limits::name_octets`](super::Limits::name_octets)). Of an IPv6 address, scope and flow
    /// label are dropped: they mean nothing to other machines.
    pub fn new(name: &str, address: SocketAddr) -> Self {
        let address = match address {
            SocketAddr::V4(_) => address,
            SocketAddr::V6(v6) => SocketAddrV6::new(*v6.ip(), v6.port(), 0, 0).into(),
        };
        Self { name: name.into(), address, key: None }
    }

    /// The same access point with the key by which others know its gateway.
    #[must_use]
    pub fn with_key(self, key: Fingerprint) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key by which others know its gateway; none if it speaks to no others.
    pub fn key(&self) -> Option<Fingerprint> {
        self.key
    }

    /// Where others reach its gateway.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The number of an access point's lease. No two leases of a registry have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeaseId(u64);

impl LeaseId {
    /// The lease with this number, as from a message.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The access point that has the client.
    pub access_point: Arc<AccessPoint>,
    /// The lease of the access point.
    pub lease: LeaseId,
    /// The revision of the claim. Every claim of the client raises it.
    pub epoch: u64,
}

/// A change of where one client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The registry's revision after the change. The clients of a lease that ended share one.
    pub revision: u64,
    /// Who moved.
    pub client: Client,
    /// Where the client is now; none if it is nowhere.
    pub entry: Option<Entry>,
}

/// Where all clients are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The registry's revision. A [`watch`](super::Registry::watch) after it continues the snapshot.
    pub revision: u64,
    /// In the order of the clients' keys.
    pub entries: Vec<(Client, Entry)>,
}
