//! A connection that a guest makes, from before to after.

use std::io;
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
    /// The stream, which is there after something has come over it.
    pub fn stream(&self) -> io::Result<&Stream> {
        match self {
            Self::Open(stream) => Ok(stream),
            Self::Awaited(_) | Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Accepts the connection, which is then `opened`, or receives what is there; returns whether it has ended.
    pub fn proceed(
        &mut self,
        longest: usize,
        opened: impl FnOnce(&Stream) -> io::Result<()>,
    ) -> io::Result<bool> {
        match self {
            Self::Awaited(listener) => {
                let stream = Stream::new(listener.accept()?.0.into(), longest);
                opened(&stream)?;
                *self = Self::Open(stream);
                Ok(false)
            }
            Self::Open(stream) => stream.receive(),
            Self::Closed => Ok(true),
        }
    }
}
