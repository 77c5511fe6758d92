//! A registry that another access point serves.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_peering::{Channel, Error as ChannelError, Fingerprint, Identity, Settings, connect};

use super::client::Client;
use super::entry::{AccessPoint, Change, Entry, LeaseId, Snapshot};
use super::error::Error;
use super::registry::{Registry, Watch};
use super::wire::{Answer, IDLE, KEEP_ALIVE, Known, Request, SERVICE};

/// The maximum number of entries in an answer of several parts. More is no answer.
const MOST_ENTRIES: usize = 1 << 20;

/// After a connection failed, there is no other one for at least and at most this time.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A registry that another access point serves ([`Server`](super::Server)).
///
/// Each call is a request with an answer, and takes a channel for itself; those that are free are used again. `now` is
/// not used: the server judges leases by its own clock. A call that gets no answer in time fails
/// ([`Error::Failed`]), and whether it took place is open. While the server cannot be reached, calls fail at once, but
/// for an attempt now and then.
#[derive(Debug)]
pub struct Remote {
    server: Arc<Dial>,
    channels: Mutex<Channels>,
    freed: Condvar,
    most: usize,
}

/// How the server is reached.
#[derive(Debug)]
struct Dial {
    address: SocketAddr,
    identity: Identity,
    server: Fingerprint,
    settings: Settings,
    /// A call has its answer within this time.
    patience: Duration,
}

#[derive(Debug, Default)]
struct Channels {
    /// Each with the time of its last use.
    idle: Vec<(Channel, Instant)>,
    busy: usize,
    /// No connection is tried before this time.
    not_before: Option<Instant>,
    delay: Duration,
}

impl Remote {
    /// The registry of the access point with a key. Calls that take longer than `patience` fail. At most `most` calls
    /// have a channel at a time, and others wait; the server has a limit for each peer
    /// ([`Settings::channels_of_a_peer`]), which counts watches as well.
    pub fn new(
        address: SocketAddr,
        identity: &Identity,
        server: Fingerprint,
        settings: Settings,
        patience: Duration,
        most: usize,
    ) -> Self {
        let server = Arc::new(Dial { address, identity: identity.clone(), server, settings, patience });
        Self { server, channels: Mutex::default(), freed: Condvar::new(), most: most.max(1) }
    }

    fn change(&self, request: &Request) -> Result<u64, Error> {
        self.call(request, |channel| match self.server.answer(channel)? {
            Answer::Done(number) => Ok(Some(number)),
            answer => refused(answer),
        })
    }

    /// Sends a request, and calls `read` until it returns something.
    fn call<T>(
        &self,
        request: &Request,
        mut read: impl FnMut(&mut Channel) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let mut channel = self.take()?;
        let result = send(&channel, request).and_then(|()| {
            loop {
                if let Some(result) = read(&mut channel)? {
                    return Ok(result);
                }
            }
        });
        let mut channels = self.lock();
        channels.busy -= 1;
        match result {
            Err(Error::Failed(_)) => {
                // An answer that comes later must not be taken for that of another call, and the others have
                // probably failed as well.
                channels.idle.clear();
                channel.close();
            }
            _ => channels.idle.push((channel, clock::now())),
        }
        self.freed.notify_one();
        result
    }

    /// A channel for one call.
    fn take(&self) -> Result<Channel, Error> {
        let end = clock::now() + self.server.patience;
        let mut channels = self.lock();
        while channels.busy >= self.most {
            let left = end.since(clock::now());
            if left.is_zero() {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            channels = self.freed.wait_timeout(channels, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // The server closes what is idle for long.
        let now = clock::now();
        channels.idle.retain(|(_, used)| now.since(*used) < IDLE / 2);
        let idle = channels.idle.pop();
        if idle.is_none() {
            channels.may_connect(now)?;
        }
        channels.busy += 1;
        if let Some((channel, _)) = idle {
            return Ok(channel);
        }
        drop(channels);
        let connected = self.server.connect();
        let mut channels = self.lock();
        channels.note(connected.is_ok(), clock::now());
        if connected.is_err() {
            channels.busy -= 1;
            self.freed.notify_one();
        }
        connected
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channels {
    fn may_connect(&self, now: Instant) -> Result<(), Error> {
        match self.not_before {
            Some(not_before) if now < not_before => {
                Err(io::Error::new(io::ErrorKind::NotConnected, "the server was not reached a moment ago")
                    .into())
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, is_connected: bool, now: Instant) {
        let (least, most) = RETRY;
        self.delay = if is_connected { Duration::ZERO } else { (self.delay * 2).clamp(least, most) };
        self.not_before = (!is_connected).then(|| now + self.delay);
    }
}

impl Dial {
    fn connect(&self) -> Result<Channel, Error> {
        connect(self.address, &self.identity, self.server, SERVICE, &self.settings).map_err(failed)
    }

    fn answer(&self, channel: &mut Channel) -> Result<Answer, Error> {
        answer(channel, self.patience)?.ok_or_else(|| failed(ChannelError::TimedOut))
    }
}

impl Registry for Remote {
    fn join(&self, access_point: &AccessPoint, duration: Duration, _now: Instant) -> Result<LeaseId, Error> {
        let request = Request::Join { access_point: access_point.clone(), duration };
        self.change(&request).map(LeaseId::new)
    }

    fn renew(&self, lease: LeaseId, _now: Instant) -> Result<(), Error> {
        self.change(&Request::Renew(lease)).map(drop)
    }

    fn leave(&self, lease: LeaseId, _now: Instant) -> Result<(), Error> {
        self.change(&Request::Leave(lease)).map(drop)
    }

    fn claim(
        &self,
        client: &Client,
        lease: LeaseId,
        expected: Option<u64>,
        _now: Instant,
    ) -> Result<u64, Error> {
        self.change(&Request::Claim { client: *client, lease, expected })
    }

    fn release(&self, client: &Client, epoch: u64, _now: Instant) -> Result<(), Error> {
        self.change(&Request::Release { client: *client, epoch }).map(drop)
    }

    fn access_points(&self, _now: Instant) -> Result<Vec<(LeaseId, Arc<AccessPoint>)>, Error> {
        let mut all = Vec::new();
        self.call(&Request::AccessPoints, |channel| match self.server.answer(channel)? {
            Answer::AccessPoints { access_points, is_last } => {
                all.extend(access_points.into_iter().map(|(lease, at)| (lease, Arc::new(at))));
                if is_last { Ok(Some(std::mem::take(&mut all))) } else { admit(all.len()) }
            }
            answer => refused(answer),
        })
    }

    fn get(&self, client: &Client, _now: Instant) -> Result<Option<Entry>, Error> {
        self.call(&Request::Get(*client), |channel| match self.server.answer(channel)? {
            Answer::Entry(place) => Ok(Some(place.map(|place| Known::default().entry(place)))),
            answer => refused(answer),
        })
    }

    fn snapshot(&self, _now: Instant) -> Result<Snapshot, Error> {
        let (mut all, mut known) = (Vec::new(), Known::default());
        self.call(&Request::Snapshot, |channel| match self.server.answer(channel)? {
            Answer::Snapshot { revision, entries, is_last } => {
                all.extend(entries.into_iter().map(|(client, place)| (client, known.entry(place))));
                if !is_last {
                    return admit(all.len());
                }
                Ok(Some(Snapshot { revision, entries: std::mem::take(&mut all) }))
            }
            answer => refused(answer),
        })
    }

    fn watch(&self, after: u64) -> Result<Box<dyn Watch>, Error> {
        let mut channel = self.server.connect()?;
        send(&channel, &Request::Watch { after })?;
        let first = self.server.answer(&mut channel)?;
        let mut changes = Changes { channel, heard: clock::now(), parts: Vec::new(), ready: Vec::new() };
        changes.take(first)?;
        Ok(Box::new(changes))
    }
}

/// A watch.
struct Changes {
    channel: Channel,
    /// When the server was heard last.
    heard: Instant,
    /// The beginning of an answer.
    parts: Vec<Change>,
    ready: Vec<Change>,
}

impl Watch for Changes {
    fn next(&mut self, wait: Duration) -> Result<Vec<Change>, Error> {
        let end = clock::now() + wait;
        while self.ready.is_empty() {
            let left = end.since(clock::now());
            match answer(&mut self.channel, left)? {
                Some(answer) => {
                    self.heard = clock::now();
                    self.take(answer)?;
                }
                None if clock::now().since(self.heard) > 3 * KEEP_ALIVE => {
                    return Err(failed(ChannelError::TimedOut));
                }
                None => break,
            }
        }
        Ok(std::mem::take(&mut self.ready))
    }
}

impl Changes {
    fn take(&mut self, answer: Answer) -> Result<(), Error> {
        let Answer::Changes { changes, is_last } = answer else { return refused::<()>(answer).map(drop) };
        let mut known = Known::default();
        self.parts.extend(changes.into_iter().map(|change| known.change(change)));
        if is_last {
            self.ready.append(&mut self.parts);
            return Ok(());
        }
        admit::<()>(self.parts.len()).map(drop)
    }
}

fn send(channel: &Channel, request: &Request) -> Result<(), Error> {
    let message = postcard::to_allocvec(request).map_err(io::Error::other)?;
    channel.send(&message).map_err(failed)
}

/// The next answer; none if there is none after this time.
fn answer(channel: &mut Channel, wait: Duration) -> Result<Option<Answer>, Error> {
    let Some(message) = channel.receive(wait).map_err(failed)? else { return Ok(None) };
    Ok(Some(postcard::from_bytes(&message).map_err(|_| not_an_answer())?))
}

/// None, if more parts may come after this number of entries.
fn admit<T>(entries: usize) -> Result<Option<T>, Error> {
    if entries > MOST_ENTRIES { Err(not_an_answer()) } else { Ok(None) }
}

/// The error of an answer that is not of the kind that was expected.
fn refused<T>(answer: Answer) -> Result<Option<T>, Error> {
    Err(match answer {
        Answer::Refused(reason) => Error::Refused(reason.into()),
        Answer::Failed => io::Error::other("the server's registry failed").into(),
        _ => not_an_answer(),
    })
}

fn not_an_answer() -> Error {
    io::Error::new(io::ErrorKind::InvalidData, "the server's answer is not one").into()
}

fn failed(error: ChannelError) -> Error {
    match error {
        ChannelError::Network(error) => error.into(),
        ChannelError::TimedOut => io::Error::new(io::ErrorKind::TimedOut, error).into(),
        error => io::Error::other(error).into(),
    }
}
