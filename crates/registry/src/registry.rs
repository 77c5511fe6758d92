//! The registry as access points see it.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::Instant;

use super::client::Client;
use super::entry::{AccessPoint, Change, Entry, LeaseId, Snapshot};
use super::error::Error;

/// Which access point each client is at. All calls are linearizable: each takes place at one moment
/// between its start and its end, also for callers at other access points.
///
/// All revisions come from one counter that every change raises and that never falls. A lease's
/// number is the revision at which the access point joined, and a client's *epoch* is the revision
/// of the claim. So epochs of a client only rise, also after the client was nowhere for a while,
/// and no two claims have the same.
///
/// `now` is the caller's monotonic clock; it is used where the registry itself judges leases. A call
/// first ends the leases that have run out by then.
///
/// # With etcd
///
/// The trait fits etcd's JSON gateway (3.4 and later). Each client is a key, its epoch is the key's
/// `mod_revision`, and its value names the access point; only claims write it.
///
/// | call | request | notes |
/// |---|---|---|
/// | [`join`](Self::join) | `POST /v3/lease/grant` | `TTL` in whole seconds, rounded up; the back end remembers the access point of its own leases |
/// | [`renew`](Self::renew) | `/v3/lease/keepalive` | a `TTL` of 0 in the answer: [`Expired`](super::Refusal::Expired) |
/// | [`leave`](Self::leave) | `/v3/lease/revoke` | deletes the keys of the lease in one revision |
/// | [`claim`](Self::claim) | `/v3/kv/txn` | compares `mod_revision` with the expected epoch (0: no key); on success a put with the lease, and `header.revision` is the epoch; on failure a range of the key, for [`Stale`](super::Refusal::Stale) |
/// | [`release`](Self::release) | `/v3/kv/txn` | compares `mod_revision`, then deletes the key |
/// | [`access_points`](Self::access_points) | `/v3/kv/range` with `range_end` | one key for each lease, which ends with it |
/// | [`get`](Self::get) | `/v3/kv/range` | linearizable unless `serializable` is set |
/// | [`snapshot`](Self::snapshot) | `/v3/kv/range` with `range_end` | all pages at the `revision` of the first one's header |
/// | [`watch`](Self::watch) | `/v3/watch` | `start_revision` is one more than `after`; `compact_revision` in the answer: [`NotKept`](super::Refusal::NotKept) |
///
/// The crate `lasthop-etcd` is this back end. It learns only from the first changes of a watch that they are not kept. etcd
/// judges leases by its own clock, and `now` is not used. It bounds its own memory; of
/// [`Limits`](super::Limits), the back end applies the length of names.
pub trait Registry: Send + Sync {
    /// Begins an access point's lease, which lasts for `duration` unless it is renewed. An access
    /// point that starts again joins again; its earlier lease ends by itself.
    ///
    /// # Errors
    /// [`Full`](super::Refusal::Full), [`NameTooLong`](super::Refusal::NameTooLong).
    fn join(&self, access_point: &AccessPoint, duration: Duration, now: Instant) -> Result<LeaseId, Error>;

    /// Lets a lease last for its whole duration again, from now on. Where the registry starts again,
    /// it does the same for all leases.
    ///
    /// # Errors
    /// [`Expired`](super::Refusal::Expired): the clients of the access point are free, or elsewhere.
    fn renew(&self, lease: LeaseId, now: Instant) -> Result<(), Error>;

    /// Ends a lease: all clients of the access point are free.
    ///
    /// # Errors
    /// [`Expired`](super::Refusal::Expired).
    fn leave(&self, lease: LeaseId, now: Instant) -> Result<(), Error>;

    /// Moves a client to the access point of a lease, if it is still where the caller knows it to be:
    /// `expected` is its epoch, none if it is nowhere. Returns the new epoch.
    ///
    /// If the answer is lost, repeating the call is safe: [`Stale`](super::Refusal::Stale) then
    /// shows the caller's own lease.
    ///
    /// # Errors
    /// [`Stale`](super::Refusal::Stale), [`Expired`](super::Refusal::Expired),
    /// [`Full`](super::Refusal::Full).
    fn claim(
        &self,
        client: &Client,
        lease: LeaseId,
        expected: Option<u64>,
        now: Instant,
    ) -> Result<u64, Error>;

    /// Removes a client that has left the network, unless another claim came first.
    ///
    /// # Errors
    /// [`Stale`](super::Refusal::Stale).
    fn release(&self, client: &Client, epoch: u64, now: Instant) -> Result<(), Error>;

    /// The access points that have a lease, in the order of their leases: whose keys may be believed.
    fn access_points(&self, now: Instant) -> Result<Vec<(LeaseId, Arc<AccessPoint>)>, Error>;

    /// Where a client is; none if it is nowhere.
    fn get(&self, client: &Client, now: Instant) -> Result<Option<Entry>, Error>;

    /// Where all clients are, in the order of their keys, and the revision at which they are there.
    fn snapshot(&self, now: Instant) -> Result<Snapshot, Error>;

    /// The changes after a revision, as that of a [`snapshot`](Self::snapshot).
    ///
    /// # Errors
    /// [`NotKept`](super::Refusal::NotKept): take a snapshot, and watch from there.
    fn watch(&self, after: u64) -> Result<Box<dyn Watch>, Error>;
}

/// A place in the sequence of changes. It needs no memory in the registry, whose backlog of changes
/// is the same for all.
pub trait Watch: Send {
    /// The changes since the last call, each once, in the order of their revisions; those of one
    /// revision come together. If there is none, waits for one, at most for `wait`. May return none
    /// earlier than that.
    ///
    /// # Errors
    /// [`NotKept`](super::Refusal::NotKept): there were more changes than the registry keeps since
    /// the last call.
    fn next(&mut self, wait: Duration) -> Result<Vec<Change>, Error>;
}
