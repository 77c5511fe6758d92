//! A connection that a guest makes, from before to after.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;

use crate::socket::Stream;

/// A connection that the guest makes.
#[derive(Debug)]
pub enum Channel {
    /// The guest has not connected.
    Awaited(UnixListener),
    /// It has.
    Open(Stream),
    /// It has disconnected.
    Closed,
}

impl Channel {
    /// What to wait for.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Awaited(listener) => Some(listener.as_fd()),
            Self::Open(stream) => Some(stream.as_fd()),
            Self::Closed => None,
        }
    }

    /// The stream, which is there after something has come over it.
    pub fn stream(&self) -> io::Result<&Stream> {
        match self {
            Self::Open(stream) => Ok(stream),
            Self::Awaited(_) | Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Accepts the connection, or receives what is there; returns whether it has ended.
    pub fn proceed(&mut self, longest: usize) -> io::Result<bool> {
        match self {
            Self::Awaited(listener) => {
                *self = Self::Open(Stream::new(listener.accept()?.0.into(), longest));
                Ok(false)
            }
            Self::Open(stream) => stream.receive(),
            Self::Closed => Ok(true),
        }
    }
}
