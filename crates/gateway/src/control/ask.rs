//! The client of the control socket.

use std::io::{self, BufRead, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::Command;
use lasthop_linux::control::Answer;
use lasthop_linux::control::client::PATIENCE;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// The client cannot connect.
    #[error(
        "no gateway answers at {path}: {error}; {}", to_reach(.error)
    )]
    Connect {
        /// The socket.
        path: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The answer did not arrive in time.
    #[error("the gateway did not answer within {} s; it may be stopped", ANSWERED.as_secs())]
    Late,
    /// There was no answer, or an incomplete one.
    #[error("the gateway did not answer: {0}")]
    Io(io::Error),
    /// The answer is truncated, or lacks a key that this version of the command needs.
    #[error("the gateway sent a malformed reply (its version may differ from this command's): {0}")]
    Malformed(serde_json::Error),
    /// The gateway refused the command.
    #[error("{0}")]
    Refused(String),
}

/// Advice on how to reach the gateway.
fn to_reach(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "run it with sudo, or as a user that may access this socket",
        _ => "check that a gateway is running, and with this socket",
    }
}

/// The maximum time to wait for an answer.
const ANSWERED: Duration = PATIENCE.saturating_mul(5);

/// Sends a command to the gateway at this socket. [`Command`] documents the type of each answer; a
/// [`serde_json::Value`] holds any answer unchanged, including keys of a newer gateway.
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
        Answer::Ok(answer) => Ok(answer),
        Answer::Error(why) => Err(AskError::Refused(why)),
    }
}
