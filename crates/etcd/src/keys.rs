//! What is in etcd: the keys, and their values.
//!
//! ```text
//! PREFIX clients/ KEY           JSON: name, address, key, number of the claim      with the lease
//! PREFIX access-points/ LEASE   JSON: name, address, key                           with the lease
//! ```

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use lasthop_peering::Fingerprint;
use lasthop_registry::{AccessPoint, Client, Entry, Error, LeaseId};
use serde::{Deserialize, Serialize};

use super::gateway::not_an_answer;
use super::messages::KeyValue;

/// Which keys are whose.
#[derive(Clone, Debug)]
pub struct Keys {
    clients: Vec<u8>,
    access_points: Vec<u8>,
}

/// The value of a key.
#[derive(Debug, Serialize, Deserialize)]
pub struct Place {
    name: Box<str>,
    address: SocketAddr,
    key: Option<Box<str>>,
    /// The number of the claim: of its lease, each has another one.
    #[serde(default)]
    claim: u32,
}

impl Keys {
    pub fn new(prefix: &str) -> Self {
        let below = |name: &str| format!("{prefix}{name}/").into_bytes();
        Self { clients: below("clients"), access_points: below("access-points") }
    }

    pub fn client(&self, client: &Client) -> Vec<u8> {
        [&self.clients, client.key()].concat()
    }

    pub fn client_of(&self, key: &[u8]) -> Result<Client, Error> {
        let client = key.strip_prefix(&*self.clients).and_then(|key| Client::new(key).ok());
        client.ok_or_else(|| not_ours("a key"))
    }

    /// All clients: where they begin, and end.
    pub fn clients(&self) -> [Vec<u8>; 2] {
        [self.clients.clone(), end_of(&self.clients)]
    }

    /// All access points.
    pub fn access_points(&self) -> [Vec<u8>; 2] {
        [self.access_points.clone(), end_of(&self.access_points)]
    }

    /// In the order of the leases.
    pub fn access_point(&self, lease: LeaseId) -> Vec<u8> {
        [&*self.access_points, format!("{:016x}", lease.number()).as_bytes()].concat()
    }
}

impl Place {
    pub fn of(access_point: &AccessPoint, claim: u32) -> Self {
        let key = access_point.key().map(|key| key.to_string().into());
        Self { name: access_point.name().into(), address: access_point.address(), key, claim }
    }

    pub fn read(value: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(value).map_err(|error| not_an_answer(&error))
    }

    pub fn write(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(|error| not_an_answer(&error))
    }

    pub fn access_point(&self) -> Result<AccessPoint, Error> {
        let access_point = AccessPoint::new(&self.name, self.address);
        let Some(key) = &self.key else { return Ok(access_point) };
        let key: Fingerprint = key.parse().map_err(|_| not_ours("a fingerprint"))?;
        Ok(access_point.with_key(key))
    }
}

/// Where the client of a key is.
pub fn entry(found: &KeyValue) -> Result<Entry, Error> {
    let access_point = Arc::new(Place::read(&found.value)?.access_point()?);
    Ok(Entry { access_point, lease: LeaseId::new(found.lease), epoch: found.mod_revision })
}

/// The first key after those with a prefix, whose last octet is no `0xff`.
fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

fn not_ours(what: &str) -> Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} in etcd that no access point wrote")).into()
}
