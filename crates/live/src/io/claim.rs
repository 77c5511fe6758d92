//! Which gateway has an interface: at most one. Two would send each frame to one another for ever, and take each other's rules away.
//!
//! A claim is an abstract Unix socket named after the interface's number. Such a name belongs to one network namespace, can be bound once,
//! and is free again when its process has ended in whatever way, so that there is nothing to clean up. Whoever asks learns which process it is.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use thiserror::Error;

use crate::clock;
use crate::device::Interface;
use crate::peer::Peer;

/// How long a gateway that is just ending may take to let go.
pub(super) const ENDING: Duration = Duration::from_millis(500);

/// The interfaces that this process has claimed, in the network namespace of the thread that did. They are free again when the last clone is
/// dropped: to be kept longer than whatever uses the interfaces.
#[derive(Clone, Debug)]
pub struct Claims(Vec<Arc<Claim>>);

#[derive(Debug)]
struct Claim {
    interface: String,
    _socket: OwnedFd,
}

/// Why an interface cannot be had.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// There is none of this name.
    #[error("there is no interface {name}: {error}")]
    NoInterface {
        /// The name.
        name: String,
        /// What the kernel said.
        #[source]
        error: io::Error,
    },
    /// Another gateway has it.
    #[error("another gateway has the interface {name}: {holder}; stop it first")]
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
    /// Claims these interfaces, all of them or none. A gateway that is just ending is waited for.
    pub fn take(interfaces: &[String]) -> Result<Self, ClaimError> {
        Self(Vec::new()).and(interfaces)
    }

    /// These and others.
    pub(crate) fn and(&self, interfaces: &[String]) -> Result<Self, ClaimError> {
        let more = interfaces.iter().map(|name| Claim::take(name).map(Arc::new));
        self.0.iter().cloned().map(Ok).chain(more).collect::<Result<_, _>>().map(Self)
    }

    /// Whether this interface is among them.
    pub(super) fn has(&self, interface: &str) -> bool {
        self.0.iter().any(|claim| claim.interface == interface)
    }
}

/// The process that has claimed the interface of this name, in words; `None` if none has.
pub(crate) fn holder(interface: &str) -> Option<String> {
    let index = Interface::named(interface).ok()?.index();
    claim(index).is_err().then(|| holder_of(index))
}

impl Claim {
    #[expect(clippy::disallowed_methods, reason = "before there are packets, nobody waits for us")]
    fn take(name: &str) -> Result<Self, ClaimError> {
        let name = name.to_owned();
        let index = match Interface::named(&name) {
            Ok(interface) => interface.index(),
            Err(error) => return Err(ClaimError::NoInterface { name, error }),
        };
        let asked = clock::now();
        loop {
            match claim(index) {
                Ok(socket) => return Ok(Self { interface: name, _socket: socket }),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    return Err(ClaimError::Socket { name, error });
                }
                Err(_) if clock::now().since(asked) > ENDING => {
                    return Err(ClaimError::Taken { name, holder: holder_of(index) });
                }
                Err(_) => thread::sleep(ENDING / 50),
            }
        }
    }
}

fn claim(index: u32) -> io::Result<OwnedFd> {
    let socket = unix_socket()?;
    bind(&socket, &address(index)?)?;
    // Nobody is answered. Those who connect only look who listens; each takes one of these places for good.
    listen(&socket, 4096)?;
    Ok(socket)
}

fn holder_of(index: u32) -> String {
    let look = || -> io::Result<Peer> {
        let socket = unix_socket()?;
        connect(&socket, &address(index)?)?;
        Peer::of(&socket)
    };
    look().map_or_else(|error| format!("its process cannot be found ({error})"), |peer| peer.to_string())
}

/// One that does not wait, neither for room where many have asked.
fn unix_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

fn address(index: u32) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(format!("lasthop/gateway/{index}").as_bytes())?)
}
