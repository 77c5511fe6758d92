//! Claims on interfaces: at most one gateway uses an interface. Two would redirect each frame to
//! each other forever, and remove each other's rules.
//!
//! A claim is an abstract Unix socket named after the interface's index. Such a name belongs to one
//! network namespace, can be bound once, and is released when the process ends, however it ends, so
//! nothing has to be cleaned up. A process that connects learns the holder's process ID; the holder
//! accepts such connections only to close them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with,
};
use thiserror::Error;

use crate::clock;
use crate::device::Interface;
use crate::peer::Peer;

/// How long to wait for a gateway that is shutting down.
/// With many workers it takes a second: the kernel removes one device after another.
pub(super) const ENDING: Duration = Duration::from_secs(2);

/// The interfaces that this process has claimed, in the network namespace of the calling thread.
/// They are released when the last clone is dropped; keep a clone for longer than anything that
/// uses the interfaces.
#[derive(Clone, Debug, Default)]
pub struct Claims(Vec<Arc<Claim>>);

#[derive(Debug)]
struct Claim {
    interface: String,
    socket: OwnedFd,
}

/// Why an interface cannot be claimed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// There is none of this name.
    #[error("unknown interface {name}: {error}")]
    NoInterface {
        /// The name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// Another gateway has it.
    #[error("another gateway is using the interface {name}: {holder}; stop it first")]
    Taken {
        /// The interface.
        name: String,
        /// Which process it is, as far as that can be found.
        holder: String,
    },
    /// A socket.
    #[error("cannot claim the interface {name}: {error}")]
    Socket {
        /// The interface.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
}

impl Claims {
    /// Claims all of these interfaces or none. Waits for a gateway that is shutting down.
    pub fn take(interfaces: &[String]) -> Result<Self, ClaimError> {
        Self(Vec::new()).and(interfaces)
    }

    /// Claims further interfaces in addition to these.
    pub(crate) fn and(&self, interfaces: &[String]) -> Result<Self, ClaimError> {
        let more = interfaces.iter().map(|name| Claim::take(name).map(Arc::new));
        self.0.iter().cloned().map(Ok).chain(more).collect::<Result<_, _>>().map(Self)
    }

    /// Whether this interface is claimed here.
    pub(super) fn has(&self, interface: &str) -> bool {
        self.0.iter().any(|claim| claim.interface == interface)
    }

    /// The claims' sockets: readable when a process has connected to learn who the holder is.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|claim| claim.socket.as_fd())
    }

    /// Closes the connections of processes that have learned who the holder is, at most
    /// [`DISMISSED`] of each claim. It does not wait for any.
    pub(crate) fn dismiss_callers(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|claim| claim.dismiss_callers())
    }
}

/// A process that has claimed an interface, as far as it can be found.
#[derive(Debug)]
pub(crate) struct Holder(io::Result<Peer>);

impl Holder {
    /// Its number; `None` if it cannot be seen from here.
    pub(crate) fn pid(&self) -> Option<NonZeroU32> {
        self.0.as_ref().ok()?.pid
    }
}

/// Such as `process 1234 (lasthop)`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ok(peer) => peer.fmt(f),
            Err(error) => write!(f, "process unknown ({error})"),
        }
    }
}

/// The process that has claimed the interface of this name; `None` if none has.
pub(crate) fn holder(interface: &str) -> Option<Holder> {
    let index = Interface::named(interface).ok()?.index();
    claim(index).is_err().then(|| holder_of(index))
}

/// All claims in the network namespace of the calling thread: the interfaces' names, and who has
/// claimed them.
pub(crate) fn holders() -> io::Result<Vec<(String, Holder)>> {
    let sockets = fs::read_to_string("/proc/thread-self/net/unix")?;
    let names = sockets.lines().filter_map(|line| line.split_whitespace().next_back());
    let indices = names.filter_map(|name| name.strip_prefix('@')?.strip_prefix(NAME)?.parse().ok());
    // A connection that is not dismissed yet has the same name.
    let indices: BTreeSet<u32> = indices.collect();
    let named = |index| {
        let name =
            Interface::name_of(index).unwrap_or_else(|_| format!("an interface that is gone ({index})"));
        (name, holder_of(index))
    };
    Ok(indices.into_iter().map(named).collect())
}

/// How many connections to a claim are closed at a time.
const DISMISSED: usize = 64;

impl Claim {
    fn dismiss_callers(&self) -> io::Result<()> {
        for _ in 0..DISMISSED {
            match accept_with(&self.socket, SocketFlags::CLOEXEC) {
                Ok(caller) => drop(caller),
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "no packet waits at this point")]
    fn take(name: &str) -> Result<Self, ClaimError> {
        let name = name.to_owned();
        let index = match Interface::named(&name) {
            Ok(interface) => interface.index(),
            Err(error) => return Err(ClaimError::NoInterface { name, error }),
        };
        let asked = clock::now();
        loop {
            match claim(index) {
                Ok(socket) => return Ok(Self { interface: name, socket }),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    return Err(ClaimError::Socket { name, error });
                }
                Err(_) if clock::now().since(asked) > ENDING => {
                    return Err(ClaimError::Taken { name, holder: holder_of(index).to_string() });
                }
                Err(_) => thread::sleep(ENDING / 50),
            }
        }
    }
}

fn claim(index: u32) -> io::Result<OwnedFd> {
    let socket = unix_socket()?;
    bind(&socket, &address(index)?)?;
    // Connections only serve to find the holder. Each one has a place in the backlog until the holder
    // dismisses it.
    listen(&socket, 4096)?;
    Ok(socket)
}

fn holder_of(index: u32) -> Holder {
    let look = || -> io::Result<Peer> {
        let socket = unix_socket()?;
        connect(&socket, &address(index)?)?;
        Peer::of(&socket)
    };
    Holder(look())
}

/// A non-blocking socket: connecting fails, rather than waits, when the backlog is full.
fn unix_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// What a claim's name begins with; the interface's index follows.
const NAME: &str = "lasthop/gateway/";

fn address(index: u32) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(format!("{NAME}{index}").as_bytes())?)
}
