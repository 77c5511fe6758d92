//! The registry in etcd.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_registry::{AccessPoint, Client, Entry, Error, LeaseId, Refusal, Registry, Snapshot, Watch};
use serde_json::{Value, json};

use super::config::Config;
use super::gateway::{Answer, Gateway};
use super::keys::{Keys, Place, entry};
use super::messages::{KeyValue, Lease, Range, Streamed, Txn, base64};
use super::watch;

/// The maximum length of an access point's name, in octets.
const LONGEST_NAME: u8 = 64;

/// Keys that are asked for at a time.
const PAGE: usize = 1_000;

/// A registry in etcd. etcd judges leases by its own clock, and `now` is not used. Clients can be claimed with leases that
/// were joined here.
pub struct Etcd {
    gateway: Arc<Gateway>,
    keys: Keys,
    /// The access points that have joined here.
    own: Mutex<BTreeMap<LeaseId, AccessPoint>>,
    /// The number of the next claim.
    claims: AtomicU32,
}

impl Etcd {
    /// The registry of a configuration. Nothing is sent yet.
    ///
    /// # Errors
    /// If the file of authorities cannot be read.
    pub fn new(config: &Config) -> Result<Self, Error> {
        Ok(Self {
            gateway: Arc::new(Gateway::new(config)?),
            keys: Keys::new(&config.prefix),
            own: Mutex::default(),
            claims: AtomicU32::new(0),
        })
    }

    fn txn(&self, request: &Value) -> Result<Answer<Txn>, Error> {
        self.gateway.ask("/v3/kv/txn", request)
    }

    /// The access point of a lease; none if the lease has ended, or if another one joined with it.
    fn access_point(&self, lease: LeaseId) -> Option<AccessPoint> {
        self.own().get(&lease).cloned()
    }

    fn own(&self) -> MutexGuard<'_, BTreeMap<LeaseId, AccessPoint>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No client has epoch 0, which would be that of one that is nowhere.
    fn stale(&self, client: &Client) -> Result<Error, Error> {
        Ok(Refusal::Stale(self.get(client, Instant::ZERO)?).into())
    }

    /// Forgets a lease that has ended.
    fn ended(&self, lease: LeaseId) -> Error {
        self.own().remove(&lease);
        Refusal::Expired.into()
    }

    /// All keys from one to another, at one revision.
    fn all(&self, [mut from, end]: [Vec<u8>; 2]) -> Result<(u64, Vec<KeyValue>), Error> {
        let (mut revision, mut found) = (0, Vec::new());
        loop {
            let request = json!({
                "key": base64(&from), "range_end": base64(&end), "limit": PAGE, "revision": revision,
            });
            let range: Range = given(self.gateway.ask("/v3/kv/range", &request)?)?;
            if revision == 0 {
                revision = range.header.revision;
            }
            let last = range.kvs.last().map(|last| last.key.clone());
            found.extend(range.kvs);
            match last {
                Some(last) if range.more => from = [&*last, &[0]].concat(),
                _ => return Ok((revision, found)),
            }
        }
    }
}

impl Registry for Etcd {
    fn join(&self, access_point: &AccessPoint, duration: Duration, _now: Instant) -> Result<LeaseId, Error> {
        if access_point.name().len() > usize::from(LONGEST_NAME) {
            return Err(Refusal::NameTooLong(LONGEST_NAME).into());
        }
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        let request = json!({ "TTL": seconds.to_string() });
        // A lease whose answer is lost ends by itself.
        let lease: Lease = given(self.gateway.ask("/v3/lease/grant", &request)?)?;
        let id = LeaseId::new(lease.id);
        let value = Place::of(access_point, 0).write()?;
        let put = put(&self.keys.access_point(id), &value, id);
        let _: Txn = given(self.txn(&json!({ "success": [put] }))?)?;
        self.own().insert(id, access_point.clone());
        Ok(id)
    }

    fn renew(&self, lease: LeaseId, _now: Instant) -> Result<(), Error> {
        let request = json!({ "ID": lease.number().to_string() });
        let answer: Answer<Streamed<Lease>> = self.gateway.ask("/v3/lease/keepalive", &request)?;
        match given(answer)?.result {
            Some(Lease { ttl: 1.., .. }) => Ok(()),
            _ => Err(self.ended(lease)),
        }
    }

    fn leave(&self, lease: LeaseId, _now: Instant) -> Result<(), Error> {
        let request = json!({ "ID": lease.number().to_string() });
        let answer = self.gateway.ask::<Value>("/v3/lease/revoke", &request)?;
        let ended = self.ended(lease);
        match answer {
            Answer::Given { .. } | Answer::NotFound { repeated: true } => Ok(()),
            Answer::NotFound { repeated: false } => Err(ended),
        }
    }

    fn claim(
        &self,
        client: &Client,
        lease: LeaseId,
        expected: Option<u64>,
        _now: Instant,
    ) -> Result<u64, Error> {
        let Some(access_point) = self.access_point(lease) else { return Err(Refusal::Expired.into()) };
        if expected == Some(0) {
            return Err(self.stale(client)?);
        }
        let value = Place::of(&access_point, self.claims.fetch_add(1, Relaxed)).write()?;
        let key = self.keys.client(client);
        let request = json!({
            "compare": [is_at(&key, expected.unwrap_or(0))],
            "success": [put(&key, &value, lease)],
            "failure": [range(&key)],
        });
        let (txn, repeated) = match self.txn(&request)? {
            Answer::NotFound { .. } => return Err(self.ended(lease)),
            Answer::Given { answer, repeated } => (answer, repeated),
        };
        if txn.succeeded {
            return Ok(txn.header.revision);
        }
        match found(txn) {
            // It is this claim that was made before, where its answer was lost.
            Some(there) if repeated && there.value == value && there.lease == lease.number() => {
                Ok(there.mod_revision)
            }
            there => Err(Refusal::Stale(there.map(|there| entry(&there)).transpose()?).into()),
        }
    }

    fn release(&self, client: &Client, epoch: u64, _now: Instant) -> Result<(), Error> {
        if epoch == 0 {
            return Err(self.stale(client)?);
        }
        let key = self.keys.client(client);
        let request = json!({
            "compare": [is_at(&key, epoch)],
            "success": [{ "requestDeleteRange": { "key": base64(&key) } }],
            "failure": [range(&key)],
        });
        let (txn, repeated) = match self.txn(&request)? {
            Answer::NotFound { .. } => return Err(Refusal::Stale(None).into()),
            Answer::Given { answer, repeated } => (answer, repeated),
        };
        if txn.succeeded {
            return Ok(());
        }
        match found(txn) {
            None if repeated => Ok(()),
            there => Err(Refusal::Stale(there.map(|there| entry(&there)).transpose()?).into()),
        }
    }

    fn access_points(&self, _now: Instant) -> Result<Vec<(LeaseId, Arc<AccessPoint>)>, Error> {
        let (_, found) = self.all(self.keys.access_points())?;
        let listed = found.iter().map(|found| {
            let access_point = Place::read(&found.value)?.access_point()?;
            Ok((LeaseId::new(found.lease), Arc::new(access_point)))
        });
        listed.collect()
    }

    fn get(&self, client: &Client, _now: Instant) -> Result<Option<Entry>, Error> {
        let request = json!({ "key": base64(&self.keys.client(client)) });
        let range: Range = given(self.gateway.ask("/v3/kv/range", &request)?)?;
        range.kvs.first().map(entry).transpose()
    }

    fn snapshot(&self, _now: Instant) -> Result<Snapshot, Error> {
        let (revision, found) = self.all(self.keys.clients())?;
        let entries = found.iter().map(|found| Ok((self.keys.client_of(&found.key)?, entry(found)?)));
        Ok(Snapshot { revision, entries: entries.collect::<Result<_, Error>>()? })
    }

    fn watch(&self, after: u64) -> Result<Box<dyn Watch>, Error> {
        watch::open(Arc::clone(&self.gateway), self.keys.clone(), after)
    }
}

/// What the range of a transaction found.
fn found(txn: Txn) -> Option<KeyValue> {
    txn.responses.into_iter().find_map(|response| response.response_range?.kvs.pop())
}

fn given<T>(answer: Answer<T>) -> Result<T, Error> {
    match answer {
        Answer::Given { answer, .. } => Ok(answer),
        Answer::NotFound { .. } => Err(Refusal::Expired.into()),
    }
}

/// Whether a key has a revision; 0: there is no key.
fn is_at(key: &[u8], revision: u64) -> Value {
    json!({
        "key": base64(key), "target": "MOD", "result": "EQUAL", "mod_revision": revision.to_string(),
    })
}

fn put(key: &[u8], value: &[u8], lease: LeaseId) -> Value {
    let lease = lease.number().to_string();
    json!({ "requestPut": { "key": base64(key), "value": base64(value), "lease": lease } })
}

fn range(key: &[u8]) -> Value {
    json!({ "requestRange": { "key": base64(key) } })
}
