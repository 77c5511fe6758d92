//! The open channels to other access points, and the threads that send.
//!
//! Two access points have one channel, in whichever direction it was opened, as long as they have something to say. A
//! thread for each access point to which messages are sent opens it, so that one which is not reached holds up no
//! others.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_peering::{Channel, Error, Identity, Sender, Settings, connect};
use portable_atomic::AtomicU64;
use tracing::{debug, warn};

use super::channel::{Destination, Pending};
use super::directory::Directory;
use super::inbox::Inbox;
use super::message::MAX_MESSAGE;

/// The service of these channels.
pub(super) const SERVICE: &str = "lasthop-handoff/1";

/// The maximum number of messages that wait for an access point. Further ones are lost.
const MAX_QUEUED: usize = 64;

/// The maximum number of octets of all messages that wait to be sent. Further ones are lost.
const MAX_QUEUED_OCTETS: usize = 4 * MAX_MESSAGE;

/// A channel on which nothing was received for this long is closed, and a thread that has nothing to send ends.
const IDLE: Duration = Duration::from_secs(600);

/// After an access point was not reached, no connection is tried for this time.
const RETRY: Duration = Duration::from_millis(200);

/// Limits and times of the channels of a site.
pub const SETTINGS: Settings = Settings {
    message_octets: MAX_MESSAGE as u32,
    handshake_time: Duration::from_secs(2),
    message_time: Duration::from_secs(5),
    half_open: 32,
    half_open_of_an_address: 8,
    channels: 512,
    channels_of_a_peer: 8,
    wrong_proofs: 10,
    wrong_proofs_time: Duration::from_secs(60),
};

/// The channels of an access point. The threads that send end when it is dropped.
pub(super) struct Links {
    queue: SyncSender<Outgoing>,
    shared: Arc<Shared>,
}

/// A message to an access point.
struct Outgoing {
    to: Box<str>,
    /// Where it is reached, unless the directory knows that.
    address: Option<SocketAddr>,
    octets: Vec<u8>,
    _room: Room,
    /// For [`Pending`].
    _message: Arc<()>,
}

/// The room that a message takes while it waits.
struct Room {
    octets: usize,
    taken: Arc<AtomicUsize>,
}

impl Room {
    fn take(octets: usize, taken: &Arc<AtomicUsize>) -> Option<Self> {
        let room = Self { octets, taken: Arc::clone(taken) };
        let before = taken.fetch_add(octets, Relaxed);
        (before + octets <= MAX_QUEUED_OCTETS).then_some(room)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.octets, Relaxed);
    }
}

/// What the threads of the channels share.
pub(super) struct Shared {
    identity: Identity,
    directory: Arc<Directory>,
    inbox: Inbox,
    open: Mutex<Open>,
    /// Octets that wait to be sent.
    queued: Arc<AtomicUsize>,
    counts: Counts,
}

/// For each access point the channel that was opened last, with a number, and its octets.
#[derive(Default)]
struct Open {
    channels: BTreeMap<Box<str>, (u64, Sender)>,
    opened: u64,
    /// Octets that came from each access point whose key is known, through all channels.
    arrived: BTreeMap<Box<str>, Arc<AtomicU64>>,
}

/// What was counted.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    undelivered: AtomicU64,
    no_room: AtomicU64,
}

impl Drop for Links {
    fn drop(&mut self) {
        for (_, sender) in self.shared.open().channels.values() {
            sender.close();
        }
    }
}

impl Links {
    /// Where the access point with this name is reached.
    pub fn address_of(&self, name: &str) -> Option<SocketAddr> {
        self.shared.directory.address(name)
    }

    /// Whether another access point is reached at this address.
    pub fn has_at(&self, address: IpAddr) -> bool {
        self.shared.directory.has_at(address)
    }

    /// Starts to send, in the network namespace of the calling thread.
    pub fn start(identity: Identity, directory: Arc<Directory>, inbox: Inbox) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            identity,
            directory,
            inbox,
            open: Mutex::default(),
            queued: Arc::default(),
            counts: Counts::default(),
        });
        // Threads are in the network namespace of the one that starts them.
        let (queue, messages) = sync_channel(MAX_QUEUED);
        let theirs = Arc::clone(&shared);
        thread::Builder::new().name("to peers".into()).spawn(move || distribute(&theirs, &messages))?;
        Ok(Self { queue, shared })
    }

    /// What receives the messages of channels that others open.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Sends a message, and does not wait for the network.
    pub fn send(&self, to: &Destination<'_>, octets: Vec<u8>) -> Pending {
        let (message, pending) = Pending::new();
        let sent = Room::take(octets.len(), &self.shared.queued).is_some_and(|room| {
            let (to, address) = (to.name.into(), to.address);
            let message = Outgoing { to, address, octets, _room: room, _message: message };
            self.queue.try_send(message).is_ok()
        });
        if !sent {
            self.shared.lose();
        }
        pending
    }

    /// Octets that came from the access point with this name so far, also those of a message that is not complete.
    pub fn arrived_from(&self, name: &str) -> u64 {
        self.shared.open().arrived.get(name).map_or(0, |arrived| arrived.load(Relaxed))
    }

    /// Messages that were sent, received, not delivered, and for which there was no room.
    pub fn counts(&self) -> [u64; 4] {
        let Counts { sent, received, undelivered, no_room } = &self.shared.counts;
        [sent, received, undelivered, no_room].map(|count| count.load(Relaxed))
    }
}

impl Shared {
    /// Receives the messages of the access point with this name, until its channel ends.
    pub fn receive(&self, name: &Arc<str>, channel: Channel) {
        let (sender, mut receiver) = channel.split();
        let (number, arrived) = self.note(name, sender.clone());
        receiver.count_into(arrived);
        while let Ok(Some(octets)) = receiver.receive(IDLE) {
            self.counts.received.fetch_add(1, Relaxed);
            if !self.inbox.receive(name, octets) {
                self.counts.no_room.fetch_add(1, Relaxed);
            }
        }
        sender.close();
        let channels = &mut self.open().channels;
        if channels.get(&**name).is_some_and(|(there, _)| *there == number) {
            channels.remove(&**name);
        }
    }

    /// Sends through this channel from now on. Returns its number, and the count of the octets of its access point.
    fn note(&self, name: &str, sender: Sender) -> (u64, Arc<AtomicU64>) {
        let mut open = self.open();
        open.opened += 1;
        let number = open.opened;
        open.channels.insert(name.into(), (number, sender));
        let arrived = open.arrived.entry(name.into()).or_default();
        (number, Arc::clone(arrived))
    }

    /// The channel to an access point; one that is opened now, unless there is one.
    fn channel_to(self: &Arc<Self>, name: &str, address: Option<SocketAddr>) -> Result<Sender, Error> {
        if let Some((_, sender)) = self.open().channels.get(name) {
            return Ok(sender.clone());
        }
        let key = self.directory.key(name).ok_or(Error::UnknownKey)?;
        let address = self.directory.address(name).or(address);
        let address = address.ok_or_else(|| Error::Network(io::ErrorKind::HostUnreachable.into()))?;
        let channel = connect(address, &self.identity, key, SERVICE, &SETTINGS)?;
        let sender = channel.sender();
        let (theirs, name) = (Arc::clone(self), Arc::from(name));
        let receive = move || theirs.receive(&name, channel);
        thread::Builder::new().name("from peer".into()).spawn(receive)?;
        Ok(sender)
    }

    fn lose(&self) {
        self.counts.no_room.fetch_add(1, Relaxed);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands messages to the threads of their receivers.
fn distribute(shared: &Arc<Shared>, messages: &Receiver<Outgoing>) {
    let mut queues = BTreeMap::<Box<str>, SyncSender<Outgoing>>::new();
    for message in messages {
        // The names are those of hand-offs, of which there are at most MAX_ACCESS_POINTS.
        let name = message.to.clone();
        let queue = match queues.get(&name) {
            Some(queue) => queue.try_send(message),
            None => Err(TrySendError::Disconnected(message)),
        };
        match queue {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => shared.lose(),
            // There is no thread, or it has ended because it had nothing to do.
            Err(TrySendError::Disconnected(message)) => {
                let (to, queue) = sync_channel(MAX_QUEUED);
                let (theirs, peer) = (Arc::clone(shared), name.clone());
                let send = move || send_all(&theirs, &peer, &queue);
                if let Err(error) = thread::Builder::new().name("to peer".into()).spawn(send) {
                    warn!(%error, "cannot send to another access point");
                    shared.lose();
                } else if to.try_send(message).is_ok() {
                    queues.insert(name, to);
                }
            }
        }
    }
}

/// Sends the messages to one access point until there has been none for a while. What cannot be sent is lost: hand-offs
/// repeat what they need.
fn send_all(shared: &Arc<Shared>, name: &str, queue: &Receiver<Outgoing>) {
    let mut not_before: Option<Instant> = None;
    while let Ok(Outgoing { address, octets, _room, _message, .. }) = queue.recv_timeout(IDLE) {
        let mut outcome = Err(Error::Closed);
        // A channel may have ended since it was used last. Then there is another one.
        for _ in 0..2 {
            if not_before.is_some_and(|at| clock::now() < at) {
                break;
            }
            not_before = None;
            outcome = shared
                .channel_to(name, address)
                .and_then(|sender| sender.send(&octets).inspect_err(|_| sender.close()));
            match &outcome {
                Err(Error::Closed) => {}
                Err(_) => not_before = Some(clock::now() + RETRY),
                Ok(()) => break,
            }
        }
        let counts = &shared.counts;
        let count = if outcome.is_ok() { &counts.sent } else { &counts.undelivered };
        count.fetch_add(1, Relaxed);
        if let Err(error) = outcome {
            debug!(to = name, %error, "a message was not delivered");
        }
    }
}
