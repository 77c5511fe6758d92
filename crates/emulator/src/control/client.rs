//! The client of control sockets.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::message::{Command, Status};
use crate::directory::Directory;
use lasthop_linux::control::Answer;

/// The maximum length of an answer, in octets: more than any emulation sends.
const LONGEST_ANSWER: u64 = 16 << 20;
/// The timeout for a status. An emulation that does not answer in time is assumed to be stopped.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The timeout for a change: the emulation may have to read files and to replan thousands of
/// changes.
const TIMEOUT_OF_CHANGES: Duration = Duration::from_secs(20);

/// Why a running emulation was not changed.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The socket cannot be reached, or was closed.
    #[error("cannot reach the emulation at {path}: {source}{}", hint(.source))]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The emulation ended, or closed the connection, before it answered: links may have changed,
    /// or not.
    #[error("the emulation at {path} does not answer")]
    NoAnswer {
        /// The socket.
        path: PathBuf,
    },
    /// The answer cannot be parsed.
    #[error(
        "the emulation at {path} sent a malformed reply (its version may differ from this command's): {error}"
    )]
    Malformed {
        /// The socket.
        path: PathBuf,
        /// The cause.
        error: serde_json::Error,
    },
    /// The emulation refused the request.
    #[error("{0}")]
    Refused(String),
}

/// A hint on how to reach the socket, if the error has one.
fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; it runs as another user: use sudo",
        _ => "",
    }
}

/// The sockets of the emulations in these directories, by path.
pub fn sockets(directories: &[Directory]) -> Vec<PathBuf> {
    let entries = directories.iter().flat_map(|directory| fs::read_dir(directory.path()));
    let mut sockets: Vec<PathBuf> = entries
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .filter(|path| is_alive(path))
        .collect();
    sockets.sort();
    sockets
}

/// Whether an emulation listens at this socket, or may listen.
pub(super) fn is_alive(socket: &Path) -> bool {
    connect(socket, TIMEOUT).err().is_none_or(|error| error.kind() != io::ErrorKind::ConnectionRefused)
}

/// Whether the emulation at this socket belongs to another user, and this process is not root.
pub fn is_another_user_s(socket: &Path) -> bool {
    connect(socket, TIMEOUT).err().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Connects to an emulation. `timeout` limits this and each later operation.
fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    for way in [Timeout::Send, Timeout::Recv] {
        set_socket_timeout(&socket, way, Some(timeout))?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Requests changes from the emulation at a socket, each `KEY=VALUE`; all are made, or none is.
pub fn change(path: &Path, assignments: &[String]) -> Result<(), ControlError> {
    request(path, &Command::Set { assignments: assignments.to_vec() }, TIMEOUT_OF_CHANGES)
}

/// Requests the status of the emulation at a socket.
pub fn status(path: &Path) -> Result<Status, ControlError> {
    request(path, &Command::Status {}, TIMEOUT)
}

fn request<T: DeserializeOwned>(
    path: &Path,
    command: &Command,
    timeout: Duration,
) -> Result<T, ControlError> {
    let path = path.to_owned();
    let exchange = || -> io::Result<String> {
        let mut stream = connect(&path, timeout)?;
        stream.write_all(&[serde_json::to_vec(command)?.as_slice(), b"\n"].concat())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.take(LONGEST_ANSWER).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = match exchange() {
        Ok(answer) if answer.is_empty() => return Err(ControlError::NoAnswer { path }),
        Ok(answer) => answer,
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            return Err(ControlError::NoAnswer { path });
        }
        Err(source) => return Err(ControlError::Unreachable { path, source }),
    };
    match serde_json::from_str(&answer).map_err(|error| ControlError::Malformed { path, error })? {
        Answer::Ok(value) => Ok(value),
        Answer::Error(why) => Err(ControlError::Refused(why)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_connection_closed_without_an_answer_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("emulate.sock");
        let listener = UnixListener::bind(&path).expect("it is free");
        let dying = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.read_to_string(&mut String::new()).expect("a request");
        });
        let outcome = change(&path, &["air.loss=2%".to_owned()]);
        dying.join().expect("it ends");
        assert!(matches!(outcome, Err(ControlError::NoAnswer { .. })), "{outcome:?}");
    }
}
