//! Octets over TCP, with deadlines.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::error::Error;

/// The shortest time that a socket waits; zero would be without end.
const SHORTEST: Duration = Duration::from_millis(1);

/// A moment until which something has to be done.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn after(time: Duration) -> Self {
        Self(now() + time)
    }

    pub fn earlier(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self(self.0.min(other.0)))
    }

    /// How long it is until then; zero if it is over.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(now())
    }

    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

/// The time since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(now())
    }

    pub fn now(self) -> Duration {
        now().saturating_duration_since(self.0)
    }
}

#[expect(clippy::disallowed_methods, reason = "the times of connections are real ones")]
fn now() -> Instant {
    Instant::now()
}

/// Writes all octets.
///
/// # Errors
/// Also [`Error::TimedOut`]. Some octets may have been written.
pub fn write_all(mut stream: &TcpStream, mut octets: &[u8], deadline: Deadline) -> Result<(), Error> {
    while !octets.is_empty() {
        if deadline.is_over() {
            return Err(Error::TimedOut);
        }
        stream.set_write_timeout(Some(deadline.left().max(SHORTEST)))?;
        match stream.write(octets) {
            Ok(0) => return Err(Error::Closed),
            Ok(written) => octets = &octets[written..],
            Err(error) if is_no_failure(&error) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(())
}

/// Reads what there is, and waits for it at most as long as this. None if nothing came; 0 octets at the end.
pub fn read(mut stream: &TcpStream, into: &mut [u8], wait: Duration) -> Result<Option<usize>, Error> {
    stream.set_read_timeout(Some(wait.max(SHORTEST)))?;
    match stream.read(into) {
        Ok(octets) => Ok(Some(octets)),
        Err(error) if is_no_failure(&error) => Ok(None),
        Err(error) => Err(failure(error)),
    }
}

fn is_no_failure(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn failure(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Error::Closed,
        _ => Error::Network(error),
    }
}
