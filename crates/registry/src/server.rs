//! An [`Embedded`] registry that is served to other access points.
//!
//! # Who may do what
//!
//! A [`Listener`](lasthop_peering::Listener) opens channels only for keys that it knows, each for one name. Of the
//! registry, such a peer may
//!
//! - join for its name only, with the key of its channel, for at most [`LONGEST_LEASE`]. If it has
//!   [`LEASES_OF_A_NAME`] leases, the oldest one ends;
//! - renew, leave and claim with leases of its name only;
//! - release clients that are at an access point of its name only;
//! - read everything.
//!
//! Everything else is refused ([`Refusal::Forbidden`]), changes nothing and is counted. So is a request that comes from
//! an older epoch ([`Refusal::Stale`]); one that is recorded and sent again does not get through the channel. An access
//! point that lies can still claim a client that is not there, as the radio is all that says where a client is. It
//! gains the client's connections, until the access point that has the client claims it again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_peering::Channel;
use portable_atomic::AtomicU64;

use super::embedded::Embedded;
use super::entry::{AccessPoint, LeaseId};
use super::error::{Error, Refusal};
use super::registry::Registry as _;
use super::wire::{Answer, IDLE, KEEP_ALIVE, Place, Request, parts};

/// The service for which a listener opens channels to a registry.
pub const SERVICE: &str = super::wire::SERVICE;

/// The maximum number of leases that an access point has at a time: it may have started several times.
pub const LEASES_OF_A_NAME: u32 = 4;

/// The maximum duration of a lease.
pub const LONGEST_LEASE: Duration = Duration::from_secs(600);

/// How often leases that have run out are ended at least.
const EXPIRY: Duration = Duration::from_secs(1);

/// A registry that is served. It ends leases that have run out, also where nobody calls.
#[derive(Debug)]
pub struct Server {
    registry: Arc<Embedded>,
    counters: Counters,
    is_over: Arc<AtomicBool>,
    expiry: Option<JoinHandle<()>>,
}

/// What a server was asked for since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Requests.
    pub requests: u64,
    /// Requests that the registry refused, without those of another access point: most often from an older epoch.
    pub refused: u64,
    /// Requests that are another access point's.
    pub forbidden: u64,
    /// Messages that are no requests.
    pub malformed: u64,
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    refused: AtomicU64,
    forbidden: AtomicU64,
    malformed: AtomicU64,
}

impl Server {
    /// Serves a registry, whose other callers take their times from [`clock::now`] as well.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(registry: Arc<Embedded>) -> std::io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (theirs, ends) = (Arc::clone(&registry), Arc::clone(&is_over));
        let expire = move || {
            while !ends.load(Relaxed) {
                let next = theirs.expire(clock::now()).ok().flatten();
                let wait = next.map_or(EXPIRY, |next| next.since(clock::now()).min(EXPIRY));
                thread::park_timeout(wait.max(Duration::from_millis(1)));
            }
        };
        let expiry = thread::Builder::new().name("leases".to_owned()).spawn(expire)?;
        Ok(Self { registry, counters: Counters::default(), is_over, expiry: Some(expiry) })
    }

    /// What it was asked for so far.
    pub fn counts(&self) -> ServerCounts {
        let Counters { requests, refused, forbidden, malformed } = &self.counters;
        ServerCounts {
            requests: requests.load(Relaxed),
            refused: refused.load(Relaxed),
            forbidden: forbidden.load(Relaxed),
            malformed: malformed.load(Relaxed),
        }
    }

    /// Answers the requests of a channel that a listener has opened for [`SERVICE`], until it is closed.
    pub fn serve(&self, mut channel: Channel) {
        let Some(name) = channel.peer_name().cloned() else { return };
        while let Ok(Some(message)) = channel.receive(IDLE) {
            let Ok(request) = postcard::from_bytes(&message) else {
                self.counters.malformed.fetch_add(1, Relaxed);
                break;
            };
            self.counters.requests.fetch_add(1, Relaxed);
            let answered = match request {
                Request::Watch { after } => self.stream(&channel, after),
                request => self.answer(&channel, &name, request),
            };
            if answered.is_none() {
                break;
            }
        }
        channel.close();
    }

    /// None if the channel failed.
    fn answer(&self, channel: &Channel, name: &str, request: Request) -> Option<()> {
        let now = clock::now();
        let registry = &*self.registry;
        match request {
            Request::AccessPoints => match registry.access_points(now) {
                Ok(list) => parts(&list).try_for_each(|(part, is_last)| {
                    let access_points = part.iter().map(|(lease, at)| (*lease, (**at).clone())).collect();
                    send(channel, &Answer::AccessPoints { access_points, is_last })
                }),
                Err(error) => self.refuse(channel, error),
            },
            Request::Snapshot => match registry.snapshot(now) {
                Ok(snapshot) => parts(&snapshot.entries).try_for_each(|(part, is_last)| {
                    let entries = part.iter().map(|(client, entry)| (*client, Place::from(entry))).collect();
                    send(channel, &Answer::Snapshot { revision: snapshot.revision, entries, is_last })
                }),
                Err(error) => self.refuse(channel, error),
            },
            Request::Get(client) => match registry.get(&client, now) {
                Ok(entry) => send(channel, &Answer::Entry(entry.as_ref().map(Place::from))),
                Err(error) => self.refuse(channel, error),
            },
            request => match self.change(channel, name, request, now) {
                Ok(number) => send(channel, &Answer::Done(number)),
                Err(error) => self.refuse(channel, error),
            },
        }
    }

    fn change(&self, channel: &Channel, name: &str, request: Request, now: Instant) -> Result<u64, Error> {
        let registry = &*self.registry;
        match request {
            Request::Join { access_point, duration } => {
                if access_point.name() != name || duration > LONGEST_LEASE {
                    return Err(Refusal::Forbidden.into());
                }
                // It has started several times, and the leases of its former lives have not run out.
                let access_points = registry.access_points(now)?;
                let leases = access_points.iter().filter(|(_, there)| there.name() == name);
                let leases: Vec<LeaseId> = leases.map(|(lease, _)| *lease).collect();
                let too_many = (leases.len() + 1).saturating_sub(LEASES_OF_A_NAME as usize);
                for lease in &leases[..too_many] {
                    registry.leave(*lease, now)?;
                }
                let access_point: AccessPoint = access_point.with_key(channel.peer());
                registry.join(&access_point, duration, now).map(LeaseId::number)
            }
            Request::Renew(lease) => {
                self.must_be_of(lease, name, now)?;
                registry.renew(lease, now).map(|()| 0)
            }
            Request::Leave(lease) => {
                self.must_be_of(lease, name, now)?;
                registry.leave(lease, now).map(|()| 0)
            }
            Request::Claim { client, lease, expected } => {
                self.must_be_of(lease, name, now)?;
                registry.claim(&client, lease, expected, now)
            }
            Request::Release { client, epoch } => {
                // The epoch stands for one claim, so what is true of it here is true of what is released.
                let entry = registry.get(&client, now)?;
                if entry.is_some_and(|entry| entry.epoch == epoch && entry.access_point.name() != name) {
                    return Err(Refusal::Forbidden.into());
                }
                registry.release(&client, epoch, now).map(|()| 0)
            }
            Request::AccessPoints | Request::Get(_) | Request::Snapshot | Request::Watch { .. } => Ok(0),
        }
    }

    /// A lease is always of the same access point.
    fn must_be_of(&self, lease: LeaseId, name: &str, now: Instant) -> Result<(), Error> {
        match self.registry.access_point(lease, now)? {
            None => Err(Refusal::Expired.into()),
            Some(access_point) if access_point.name() != name => Err(Refusal::Forbidden.into()),
            Some(_) => Ok(()),
        }
    }

    fn refuse(&self, channel: &Channel, error: Error) -> Option<()> {
        let answer = match error {
            Error::Refused(refusal) => {
                let is_forbidden = refusal == Refusal::Forbidden;
                let counter = if is_forbidden { &self.counters.forbidden } else { &self.counters.refused };
                counter.fetch_add(1, Relaxed);
                Answer::Refused(refusal.into())
            }
            Error::Failed(_) => Answer::Failed,
        };
        send(channel, &answer)
    }

    /// Sends changes until the channel is closed. The first message comes at once. None at the end.
    fn stream(&self, channel: &Channel, after: u64) -> Option<()> {
        let mut wait = Duration::ZERO;
        let mut watch = match self.registry.watch(after) {
            Ok(watch) => watch,
            Err(error) => return self.refuse(channel, error),
        };
        loop {
            let changes = match watch.next(wait) {
                Ok(changes) => changes,
                Err(error) => return self.refuse(channel, error),
            };
            wait = KEEP_ALIVE;
            parts(&changes).try_for_each(|(part, is_last)| {
                let changes = part
                    .iter()
                    .map(|change| (change.revision, change.client, change.entry.as_ref().map(Place::from)));
                send(channel, &Answer::Changes { changes: changes.collect(), is_last })
            })?;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(expiry) = self.expiry.take() {
            expiry.thread().unpark();
            let _ = expiry.join();
        }
    }
}

/// None if the channel failed.
fn send(channel: &Channel, answer: &Answer) -> Option<()> {
    channel.send(&postcard::to_allocvec(answer).ok()?).ok()
}
