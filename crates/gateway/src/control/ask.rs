//! The client's end of the control socket.

use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::Command;
use lasthop_linux::answer::Answer;
use lasthop_linux::control::client::PATIENCE;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// Nobody is there.
    #[error(
        "no gateway answers at {path}: {error}; {}", to_reach(.error)
    )]
    Connect {
        /// The socket.
        path: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// It takes too long.
    #[error("the gateway did not answer within {} s; it may be stopped", ANSWERED.as_secs())]
    Late,
    /// It did not answer, or not to the end.
    #[error("the gateway did not answer: {0}")]
    Io(io::Error),
    /// The answer is cut off, or lacks what this version of the command has to know.
    #[error("the gateway sent a malformed reply (its version may differ from this command's): {0}")]
    Malformed(serde_json::Error),
    /// It would not.
    #[error("{0}")]
    Refused(String),
}

/// What makes a gateway answer.
fn to_reach(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "run it with sudo, or as a user that may access this socket",
        _ => "check that a gateway is running, and with this socket",
    }
}

/// An answer takes no longer, or there will be none.
const ANSWERED: Duration = PATIENCE.saturating_mul(5);

/// Asks the gateway at this socket. [`Command`] says which type each command is answered with; a
/// [`serde_json::Value`] takes any answer as it was sent, with all that a newer gateway may tell.
pub fn ask<T: DeserializeOwned>(socket: &Path, command: &Command) -> Result<T, AskError> {
    let connect = UnixStream::connect(socket);
    let mut stream =
        connect.map_err(|error| AskError::Connect { path: socket.display().to_string(), error })?;
    stream.set_read_timeout(Some(ANSWERED)).map_err(AskError::Io)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(AskError::Io)?;
    let question = serde_json::to_string(command).map_err(AskError::Malformed)?;
    stream.write_all((question + "\n").as_bytes()).map_err(AskError::Io)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => AskError::Late,
        _ => AskError::Io(error),
    })?;
    match serde_json::from_str(&line).map_err(AskError::Malformed)? {
        Answer::Ok(told) => Ok(told),
        Answer::Error(why) => Err(AskError::Refused(why)),
    }
}
