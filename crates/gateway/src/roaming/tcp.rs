//! A channel over TCP without protection: any host that reaches the port can send messages in any name, and any host that
//! sees the packets can read them. For tests, and for networks that are trusted.
//!
//! A connection carries messages in one direction: the name of its sender and where it is reached, then each message,
//! each after its length.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use lasthop_registry::AccessPoint;
use rustix::net::{Shutdown, shutdown};
use tracing::{debug, warn};

use super::access_points::MAX_NAME;
use super::channel::{Channel, Inbox};
use super::handoffs::Destination;
use super::message::MAX_MESSAGE;

/// The maximum number of connections from other access points at a time.
const MAX_CONNECTIONS: usize = 128;

/// The maximum number of messages that wait for a connection to another access point. Further ones are lost.
const MAX_QUEUED: usize = 64;

/// The maximum length of what a sender says first.
const MAX_HELLO: usize = MAX_NAME + 64;

/// How long an access point may take for a connection, or for accepting octets.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a connection may be idle.
const IDLE: Duration = Duration::from_secs(60);

/// How long a receiver waits for the rest of what it has received a part of.
const REST: Duration = Duration::from_secs(5);

/// A channel over TCP.
pub struct Tcp {
    to: SyncSender<(SocketAddr, Vec<u8>)>,
    listener: Arc<TcpListener>,
}

/// No further connections are accepted.
impl Drop for Tcp {
    fn drop(&mut self) {
        let _ = shutdown(&*self.listener, Shutdown::Both);
    }
}

impl Tcp {
    /// Opens a channel for this access point, in the network namespace of the calling thread. It is reached at its
    /// address, and `listener` has it, perhaps behind a translation.
    pub fn open(access_point: &AccessPoint, listener: TcpListener, inbox: Inbox) -> io::Result<Self> {
        let open = Arc::new(AtomicUsize::new(0));
        let listener = Arc::new(listener);
        let accepts_at = Arc::clone(&listener);
        #[expect(clippy::disallowed_methods, reason = "this thread has nothing else to do")]
        let accept = move || {
            for stream in accepts_at.incoming() {
                let stream = match stream {
                    Ok(stream) => stream,
                    // It was shut down.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
                    Err(_) => {
                        thread::sleep(PATIENCE);
                        continue;
                    }
                };
                if open.load(Relaxed) >= MAX_CONNECTIONS {
                    continue;
                }
                open.fetch_add(1, Relaxed);
                let (inbox, counted) = (inbox.clone(), Counted(Arc::clone(&open)));
                let receive = move || {
                    let _counted = counted;
                    if let Err(error) = receive(stream, &inbox) {
                        debug!(%error, "a connection of another access point has ended");
                    }
                };
                if let Err(error) = thread::Builder::new().name("from peer".into()).spawn(receive) {
                    warn!(%error, "cannot receive from another access point");
                }
            }
        };
        thread::Builder::new().name("peers".into()).spawn(accept)?;
        // Threads are in the network namespace of the one that starts them.
        let (to, messages) = sync_channel(MAX_QUEUED);
        let senders = Senders { hello: Arc::from(hello(access_point)), queues: BTreeMap::new() };
        thread::Builder::new().name("to peers".into()).spawn(move || senders.run(&messages))?;
        Ok(Self { to, listener })
    }
}

impl Channel for Tcp {
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) {
        if let Some(address) = to.address {
            let _ = self.to.try_send((address, octets));
        }
    }
}

/// A thread for each access point to which messages are sent: one that is not reached does not hold up others.
struct Senders {
    hello: Arc<str>,
    queues: BTreeMap<SocketAddr, SyncSender<Vec<u8>>>,
}

impl Senders {
    fn run(mut self, messages: &Receiver<(SocketAddr, Vec<u8>)>) {
        for (address, octets) in messages {
            let Some(queue) = self.queues.get(&address) else {
                self.start(address, octets);
                continue;
            };
            // Its thread has ended, if it was idle.
            if let Err(TrySendError::Disconnected(octets)) = queue.try_send(octets) {
                self.start(address, octets);
            }
        }
    }

    fn start(&mut self, address: SocketAddr, first: Vec<u8>) {
        let (to, queue) = sync_channel(MAX_QUEUED);
        let hello = Arc::clone(&self.hello);
        let send = move || send(address, &hello, &queue);
        match thread::Builder::new().name("to peer".into()).spawn(send) {
            Ok(_) => {
                let _ = to.try_send(first);
                self.queues.insert(address, to);
            }
            Err(error) => warn!(%error, "cannot send to another access point"),
        }
    }
}

/// Sends the messages of a queue until it has been empty for a while. A message that cannot be sent is lost.
fn send(address: SocketAddr, hello: &str, queue: &Receiver<Vec<u8>>) {
    let mut stream = None;
    loop {
        let octets = match queue.recv_timeout(IDLE) {
            Ok(octets) => octets,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        };
        // A connection that the other one has closed fails: then there is another one.
        for _ in 0..2 {
            let known = match stream.take() {
                Some(known) => Ok(known),
                None => connect(address, hello),
            };
            match known.and_then(|mut open| write(&mut open, &octets).map(|()| open)) {
                Ok(open) => {
                    stream = Some(open);
                    break;
                }
                Err(error) => debug!(%address, %error, "another access point is not reached"),
            }
        }
    }
}

fn connect(address: SocketAddr, hello: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    write(&mut stream, hello.as_bytes())?;
    Ok(stream)
}

fn write(stream: &mut TcpStream, octets: &[u8]) -> io::Result<()> {
    stream.write_all(&[&(octets.len() as u32).to_be_bytes(), octets].concat())
}

fn receive(mut stream: TcpStream, inbox: &Inbox) -> io::Result<()> {
    stream.set_read_timeout(Some(REST))?;
    let hello = read(&mut stream, MAX_HELLO)?;
    let from = sender(&hello).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let from = Arc::new(from);
    loop {
        stream.set_read_timeout(Some(2 * IDLE))?;
        // Waits for the next message without a place for it.
        if stream.peek(&mut [0])? == 0 {
            return Ok(());
        }
        stream.set_read_timeout(Some(REST))?;
        let octets = read(&mut stream, MAX_MESSAGE)?;
        inbox.receive(&from, octets);
    }
}

/// What a sender says first: its address and its name.
fn hello(access_point: &AccessPoint) -> String {
    format!("{} {}", access_point.address(), access_point.name())
}

fn sender(hello: &[u8]) -> Option<AccessPoint> {
    let (address, name) = str::from_utf8(hello).ok()?.split_once(' ')?;
    Some(AccessPoint::new(name, address.parse().ok()?))
}

/// Reads a length, at most `max`, and what follows. Memory is taken as octets arrive.
fn read(stream: &mut TcpStream, max: usize) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len) as usize;
    if len > max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{len} octets; at most {max}")));
    }
    let mut octets = Vec::new();
    stream.take(len as u64).read_to_end(&mut octets)?;
    if octets.len() < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(octets) }
}

/// Counts a connection as long as it is open.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn listener() -> TcpListener {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port")
    }

    #[test]
    fn messages_arrive_in_order_with_the_name_of_their_sender() {
        let (to, events) = sync_channel(100);
        let (there, here) = (listener(), listener());
        let address = there.local_addr().expect("an address");
        let stairs = AccessPoint::new("stairs", address);
        let _other = Tcp::open(&stairs, there, Inbox::new(to)).expect("it opens");
        let (unused, _unused) = sync_channel(1);
        let access_point = AccessPoint::new("hall", here.local_addr().expect("an address"));
        let mut hall = Tcp::open(&access_point, here, Inbox::new(unused)).expect("it opens");
        let destination = Destination { name: "stairs", address: Some(address) };
        let sent: Vec<Vec<u8>> = [0, 1, 100_000].map(|len| vec![7; len]).to_vec();
        for octets in &sent {
            hall.send(&destination, octets.clone());
        }
        for octets in sent {
            let received = events.recv().expect("it arrives").into_message().expect("a message");
            assert_eq!((&*received.0, received.1), (&access_point, octets));
        }
    }

    #[test]
    fn too_long_a_message_ends_the_connection_without_taking_memory() {
        let (to, events) = sync_channel(100);
        let there = listener();
        let address = there.local_addr().expect("an address");
        let stairs = AccessPoint::new("stairs", address);
        let _other = Tcp::open(&stairs, there, Inbox::new(to)).expect("it opens");
        let mut stream = connect(address, &hello(&stairs)).expect("it accepts");
        stream.write_all(&u32::MAX.to_be_bytes()).expect("it is open");
        assert_eq!(stream.read(&mut [0]).expect("it is closed, not reset"), 0);
        assert!(events.try_recv().is_err());
    }
}
